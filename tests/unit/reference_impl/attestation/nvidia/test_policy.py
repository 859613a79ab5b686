"""Policies: data that is read strictly, and versions that compare as numbers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.nvidia.policy import HOUR, LARGEST, Policy, at_least, parse_policy
from carnet_ref.attestation.nvidia.report import Mode
from carnet_ref.wire import MalformedError


def test_a_policy_is_read_attribute_by_attribute() -> None:
    given = {
        "require": ["signature", "nonce"],
        "products": ["GH100"],
        "minimum_driver": "550.90.07",
        "minimum_vbios": "96.00.9F.00.01",
        "modes": ["SPT", "PPCIE"],
        "allow_debug": True,
        "result_ttl": 60,
    }
    read = parse_policy(json.dumps(given).encode())
    modes = frozenset({Mode.SINGLE_GPU, Mode.PROTECTED_PCIE})
    asked = frozenset({"signature", "nonce"})
    assert read == Policy(asked, frozenset({"GH100"}), "550.90.07", "96.00.9F.00.01", modes, True, 60)


def test_an_empty_policy_asks_for_nothing() -> None:
    assert parse_policy(b"{}") == Policy(result_ttl=HOUR)


WRONG: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"{", "a JSON object"),
    "a list": (b"[]", "a JSON object"),
    "a key that is half a character": (rb'{"\udafb": 1}', r"'\\udafb'"),
    "an unknown key": (b'{"requires": []}', "requires"),
    "an unknown step": (b'{"require": ["signatures"]}', "signatures"),
    "a step that is no string": (b'{"require": [1]}', "a list of strings"),
    "no list": (b'{"require": "signature"}', "a list of strings"),
    "an unknown mode": (b'{"modes": ["DEBUG"]}', "DEBUG"),
    "a driver that is no version": (b'{"minimum_driver": "new"}', "a version"),
    "a driver that is a number": (b'{"minimum_driver": 550}', "a version"),
    "a VBIOS that is no version": (b'{"minimum_vbios": "96.00"}', "a version"),
    "debugging that is no truth value": (b'{"allow_debug": 1}', "true or false"),
    "no time to live": (b'{"result_ttl": 0}', "seconds"),
    "a time to live that is no number": (b'{"result_ttl": true}', "seconds"),
    "a key that comes twice": (b'{"minimum_driver": "999.0", "minimum_driver": null}', "comes twice"),
    "a list of steps that comes twice": (b'{"require": ["nonce"], "require": ["chain"]}', "comes twice"),
    "too long": (b" " * (LARGEST + 1), "at most"),
    "too deep": (b"[" * 20_000, "a JSON object"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_policy_is_a_typed_error(what: str) -> None:
    data, reason = WRONG[what]
    with pytest.raises(MalformedError, match=reason):
        parse_policy(data)


@pytest.mark.parametrize(
    ("version", "minimum", "base", "enough"),
    [
        ("550.90.07", "550.90.07", 10, True),
        ("550.144.03", "550.90.07", 10, True),
        ("550.90", "550.90.07", 10, False),
        ("535.86.09", "550", 10, False),
        ("96.00.9F.00.01", "96.00.74.00.1C", 16, True),
        ("96.00.9f.00.01", "96.00.A0.00.00", 16, False),
        ("no version", "1", 10, False),
        (None, "1", 10, False),
    ],
)
def test_versions_compare_as_numbers(version: str | None, minimum: str, base: int, enough: bool) -> None:
    assert at_least(version, minimum, base) is enough


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5), st.text(max_size=20)
)
def test_any_json_is_a_policy_or_a_typed_error(value: object, key: str) -> None:
    for name in (key, *Policy.__dataclass_fields__):
        try:
            parse_policy(json.dumps({name: value}).encode())
        except MalformedError:
            continue


@given(st.binary(max_size=100))
def test_any_bytes_are_a_typed_error(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_policy(data)
