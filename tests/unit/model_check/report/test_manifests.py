"""What a bundle signs: one signature, nothing beside it, and plain names of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from carnet_check.report.bundle import BundleRefusedError, check_bundle
from tests.unit.model_check.report.signing import PRIVATE, PUBLIC, seal


@pytest.mark.mends("H2")
@pytest.mark.parametrize("more", [{"note": "approved"}, {"keyid": "ab", "sig": "AAAA"}], ids=["field", "signature"])
def test_nothing_stands_beside_the_one_signature(folder: Path, more: dict[str, str]) -> None:
    import rfc8785

    envelope = json.loads(seal(folder))
    signatures = envelope["signatures"]
    if "sig" in more:
        signatures.append(more)
    else:
        signatures[0].update(more)
    with pytest.raises(BundleRefusedError, match="expected one signature, and nothing beside it"):
        check_bundle(bytes(rfc8785.dumps(envelope)), folder, PUBLIC)


def signed_about(subject: list[Any]) -> bytes:
    """Sign a statement as it is given; the key may be trusted and its owner careless."""
    import rfc8785
    from securesystemslib.dsse import Envelope

    from carnet_check.report import bundle

    said: dict[str, Any] = {"result": "PASSED", "passedTests": [], "warnedTests": [], "failedTests": []}
    statement: dict[str, Any] = {"_type": bundle.STATEMENT, "predicateType": bundle.PREDICATE, "subject": subject}
    envelope = Envelope(rfc8785.dumps({**statement, "predicate": said}), bundle.PAYLOAD, {})
    envelope.sign(bundle._signer(PRIVATE))
    return bytes(rfc8785.dumps(envelope.to_dict()))


@pytest.mark.mends("H2")
@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ([{"name": "../x"}], "no plain name"),
        ([{"name": "x"}, {"name": "x"}], "names one file twice"),
        ([{"name": "x"}, {"name": "X"}], "names one file twice"),
        ([{"name": 7}], "expected a text"),
        ([{"name": "x", "annotations": {}}], "expected 'size'"),
        ([{"name": "x", "digest": {}}], "expected 'sha256'"),
        ([7], "expected an object"),
        ([], "was not signed"),
    ],
)
def test_a_signed_manifest_is_checked_too(folder: Path, subject: list[Any], said: str) -> None:
    whole: dict[str, Any] = {"digest": {"sha256": "0" * 64}, "annotations": {"size": 1}}
    listed: list[Any] = [{**whole, **each} if isinstance(each, dict) else each for each in subject]
    with pytest.raises(BundleRefusedError, match=said):
        check_bundle(signed_about(listed), folder, PUBLIC)
