"""What is explored for a claim that reads what nobody wrote yet, and what is said of the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from carnet_check.loading.extent import fixed_values
from carnet_check.loading.families import Source, load
from carnet_check.loading.scope import MOST_FIRST_VALUES, Scope, scope_of
from carnet_spec.language import Draft, Family, Formula, Instance, Profile, Protocol, Scale, Step, Variant, implies
from tests.unit.model_check.small import Party, Phase, claimed, drafted, first, last, phase, seen


def see(step: Step, a: Party) -> None:
    step.set(last, a)
    step.insert(seen(a))


def begin(step: Step) -> None:
    step.insert(first)


def _draft(variant: str) -> Draft:
    draft = drafted(see, begin)
    claimed(draft, early=lambda: implies(first, seen(last)), late=lambda: implies(first, first))
    return draft


def _instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    return Instance({"Party": tuple(f"p{number}" for number in range(scale["parties"]))}, describes="some parties")


FAMILY = Family("small", "A few lines", _draft, _instance, {"main": Variant("main", "as written")}, ("main",))


def _scope(parties: int) -> Scope:
    source, profile = Source("small", FAMILY, "small"), Profile("tiny", {"parties": parties})
    return scope_of(source, source.protocol(), "unrestricted", profile, ("early", "late"))


@pytest.mark.parametrize("parties", [2, 3, MOST_FIRST_VALUES])
def test_a_claim_that_reads_early_is_explored_from_every_first_value(parties: int) -> None:
    found = _scope(parties)
    (shared, everyone), *more = found.instances
    assert (dict(shared.first), everyone) == ({}, None)
    assert {claims for _, claims in more} == {("early",)}
    assert {instance.first["last"][()] for instance, _ in more} == set(shared.elements["Party"])
    assert not found.left_out


def test_an_instance_that_nobody_describes_is_told_by_its_sizes() -> None:
    silent = replace(FAMILY, instance=lambda *wanted: replace(_instance(*wanted), describes=""))
    source, profile = Source("small", silent, "small"), Profile("tiny", {"parties": 2})
    assert scope_of(source, source.protocol(), "unrestricted", profile, ("late",)).explored.words == "2 Party"


def test_members_of_an_enumeration_are_no_elements_of_an_instance() -> None:
    """What an instance says of them is passed over, and so it is not announced."""

    def instance(*wanted: Any) -> Instance:
        made = _instance(*wanted)
        return replace(made, elements={**made.elements, "Phase": ("EARLY",)}, describes="")

    def phased(variant: str) -> Draft:
        draft = _draft(variant)
        draft.initially(phase, Phase.EARLY)
        draft.lemma(never_over)
        return draft

    source, profile = (
        Source("small", replace(FAMILY, draft=phased, instance=instance), "small"),
        Profile("tiny", {"parties": 2}),
    )
    assert scope_of(source, source.protocol(), "unrestricted", profile, ("late",)).explored.words == "2 Party"


def never_over() -> Formula:
    """It is early."""
    return phase == Phase.EARLY


def test_where_there_are_too_many_it_is_said_of_those_claims() -> None:
    found = _scope(MOST_FIRST_VALUES + 1)
    assert len(found.instances) == 1
    assert dict(found.left_out) == {
        "early": "it may read last before it is written, and was explored from one first value only"
    }


def test_it_is_told_of_how_many_elements_a_step_chooses_where_it_may_not_choose_all() -> None:
    """What is drawn is bounded by the sizes, which are told anyway."""
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "hypervisor", source.profile("tiny"))
    told = fixed_values(protocol, instance)
    assert told["v of write_buffer, code_writes"] == "1 of 6"
    assert not any("rotate_out" in what for what in told if what.startswith("k of"))
    free = replace(instance, pools={})
    assert not any(" of " in what for what in fixed_values(protocol, free))
