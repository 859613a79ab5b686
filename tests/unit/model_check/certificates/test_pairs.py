"""A claim is proved under a threat model if every obligation of its layers is, and one that no layer has never is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_check.certificates.folder import OF_NO_LAYER, UNDER_NONE, Pair, stated
from carnet_check.obligations import layers, obligations
from carnet_spec.language import Claim, Protocol
from tests.unit.model_check.obligations.lending import lending

PROTOCOL = lending().protocol()
"""'owned' is claimed under both threat models, 'a/lone' under 'one' alone."""


def judged(protocol: Protocol, *unproved: str) -> list[Pair]:
    return [each.judged(unproved) for each in stated(protocol) if not each.declared]


def proved(protocol: Protocol, *unproved: str) -> list[tuple[str, str]]:
    return [(each.claim, each.threat) for each in judged(protocol, *unproved) if not each.why]


def changed(name: str, **fields: object) -> Protocol:
    """Return the protocol with a claim changed in a way that the language does not let anybody write."""
    changed = replace(PROTOCOL.claim(name), **fields)  # type: ignore[arg-type]  # any field
    claims = tuple(changed if each.name == name else each for each in PROTOCOL.claims)
    return replace(PROTOCOL, claims=claims)


def test_every_claim_is_proved_under_each_of_its_threat_models() -> None:
    assert proved(PROTOCOL) == [("owned", "one"), ("owned", "any"), ("a/lone", "one")]


@pytest.mark.parametrize("obligation", [each.id for each in obligations(layers(PROTOCOL)[0])])
def test_an_open_obligation_of_every_threat_model_leaves_nothing_proved(obligation: str) -> None:
    assert proved(PROTOCOL, obligation) == []


@pytest.mark.parametrize("obligation", [each.id for each in obligations(layers(PROTOCOL)[1])])
def test_an_open_obligation_of_a_threat_model_leaves_its_own_claims_unproved(obligation: str) -> None:
    assert proved(PROTOCOL, obligation) == [("owned", "one"), ("owned", "any")]
    assert judged(PROTOCOL, obligation)[-1].why == "1 of the obligations that it rests on are not proved"


def test_a_claim_that_no_layer_has_is_not_proved() -> None:
    *_, last = judged(changed("a/lone", under=("another",)))
    assert (last.claim, last.threat, last.why) == ("a/lone", "another", OF_NO_LAYER)


def test_a_claim_under_no_threat_model_is_not_proved() -> None:
    *_, last = judged(changed("a/lone", under=()))
    assert (last.claim, last.threat, last.why) == ("a/lone", "", UNDER_NONE)


def test_what_is_expected_to_fall_is_no_pair() -> None:
    assert proved(changed("a/lone", under=(), fails_under=("any",))) == [("owned", "one"), ("owned", "any")]


def test_a_protocol_without_threat_models_claims_in_general() -> None:
    assert proved(replace(PROTOCOL, threats=())) == [("owned", ""), ("a/lone", "")]


def test_what_is_declared_is_apart() -> None:
    later = Claim("later", None, "It will hold.", "R-2", "tests", ("one",), declared=True)
    found = [each.pair.claim for each in stated(replace(PROTOCOL, claims=(*PROTOCOL.claims, later))) if each.declared]
    assert found == ["later"]
