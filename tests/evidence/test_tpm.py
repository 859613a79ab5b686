"""Quotes of Azure's virtual TPMs, as real machines made them, traced to the hardware."""

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from carnet_ref.attestation.appraisal import Appraisal, default_anchors
from carnet_ref.attestation.formats import FORMATS, AppraisalContext, OptionKind, OptionValues, appraise_files
from carnet_ref.attestation.tpm.appraisal import DEFAULT_POLICY, parse_policy
from tests.fixtures.snp_evidence import AZURE_2, AZURE_3, AZURE_3_OTHER, FOLDER, MISSING, read

pytestmark = pytest.mark.skipif(FOLDER is None, reason=MISSING)
TD = "19-coco-trustee/deps/verifier/test_data/az-tdx-vtpm/evidence-v0.json"
CHALLENGE = b"challenge"
OF_A_TD = b'{"require": ["ak", "signature"], "tdx": {"require": ["quote-signature"], "require_sept_ve_disable": false}}'
TIMES = {path: datetime(2026, 6, 1, tzinfo=UTC) for path in (AZURE_2, AZURE_3, AZURE_3_OTHER)}
TIMES[TD] = datetime(2024, 12, 1, tzinfo=UTC)
NONCES = {AZURE_2: CHALLENGE, AZURE_3_OTHER: b"", TD: CHALLENGE}


def appraised(path: str, document: Any = None, nonce: bytes | None = None) -> Appraisal:
    nothing = {option.name: () if option.kind is OptionKind.FILES else None for option in FORMATS["tpm"].load().options}
    policy = parse_policy(OF_A_TD) if path == TD else DEFAULT_POLICY
    data = read(path) if document is None else json.dumps(document).encode()
    against = AppraisalContext(TIMES[path], policy, default_anchors())
    return appraise_files("tpm", [data], OptionValues({**nothing, "nonce": nonce}), against)


@pytest.mark.parametrize("path", TIMES, ids=lambda path: path.rpartition("/")[2])
def test_the_key_of_a_real_virtual_tpm_is_traced_to_its_hardware(path: str) -> None:
    appraisal = appraised(path, nonce=NONCES.get(path))
    assert appraisal.accepted, appraisal.steps[-1]
    assert {"ak", "signature", "pcr-digest"} <= {step.id for step in appraisal.steps if step.ok}
    assert appraised(path, nonce=b"another").failed_step == "nonce"


@pytest.mark.parametrize("path", TIMES, ids=lambda path: path.rpartition("/")[2])
def test_a_change_of_a_real_quote_its_signature_or_its_values_is_refused(path: str) -> None:
    whole, draw = json.loads(read(path)), random.Random(46)
    quote = whole.get("evidence", whole)["tpm_quote"]
    for name in ("message", "signature", "pcrs"):
        for _ in range(30):
            before = quote[name]
            place = draw.randrange(24)
            each = before[place] if name == "pcrs" else before
            octets = bytearray(bytes.fromhex(each) if isinstance(each, str) else bytes(each))
            octets[draw.randrange(len(octets))] ^= 1 << draw.randrange(8)
            changed = octets.hex() if isinstance(each, str) else list(octets)
            quote[name] = [*before[:place], changed, *before[place + 1 :]] if name == "pcrs" else changed
            assert appraised(path, whole).failed_step in {"parse", "signature", "pcr-digest"}
            quote[name] = before
