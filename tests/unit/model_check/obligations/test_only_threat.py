"""Where there is one threat model only, its axioms may be used for everything; where there are several, none may."""

from __future__ import annotations

from carnet_check.exports.systems import system
from carnet_check.obligations import layers
from carnet_spec.language import forall
from tests.unit.model_check.small import Party, alice, claimed, drafted, seen


def test_the_axioms_of_the_only_threat_model_may_be_used_for_everything() -> None:
    draft = drafted()
    draft.threat("closed", "nobody but alice", others=forall(lambda x: x == alice, Party))
    protocol = claimed(draft, it=lambda: seen(alice))
    general, closed = layers(protocol)
    assert (general.threat, general.claims, closed.known) == (None, (), ())
    assert [each.name for each in closed.claims] == ["it"]
    assert [each.name for each in closed.assumed if each.name.startswith("threat:")] == ["threat:closed: others"]
    read = system(protocol.encoded).layers
    assert [(each.threat, [claim.name for claim in each.claims]) for each in read] == [("", []), ("closed", ["it"])]


def test_the_only_threat_model_without_axioms_is_the_general_layer() -> None:
    draft = drafted()
    draft.threat("open", "anybody")
    assert [each.threat for each in layers(claimed(draft, it=lambda: seen(alice)))] == [None]


def test_no_axioms_are_used_for_what_is_claimed_under_several_threat_models() -> None:
    draft = drafted()
    draft.threat("closed", "nobody but alice", others=forall(lambda x: x == alice, Party))
    draft.threat("open", "anybody")
    protocol = claimed(draft, it=lambda: seen(alice))
    assert [(each.threat, [claim.name for claim in each.claims]) for each in layers(protocol)] == [(None, ["it"])]
    assert [(each.threat, each.axioms) for each in system(protocol.encoded).layers] == [("", ())]
