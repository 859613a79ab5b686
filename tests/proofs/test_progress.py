"""Each fairness that progress is claimed under is needed: without it, a lasso shows how somebody waits for ever."""

from dataclasses import replace
from functools import cache

import pytest

from carnet_check.engines.explicit.liveness import lassos
from carnet_check.engines.exploring.searches import decided_together
from carnet_check.engines.induction.induction import ProofResult, prove
from carnet_check.engines.induction.liveness import LivenessProofs, by_fairness
from carnet_check.engines.induction.solving import Workers
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import objection, with_rules_as_steps
from carnet_spec.language import Eventually, Formula, Instance, Profile, Protocol, exists, forall, implies
from carnet_spec.protocols.gpu_travelling.design import MAIN
from carnet_spec.protocols.ring_all_reduce import vocabulary as ring
from carnet_spec.protocols.teechain import vocabulary as chain

SOURCE = load("gpu-travelling")
#: For each protocol that says what happens in the end, where that is looked at: a threat model and a size.
PLACES = {
    "gpu-travelling": ("outsider", SOURCE.family.profiles["tiny"]),
    "ring-all-reduce": ("tenants", Profile("two ranks", {})),
    "teechain": ("platform", Profile("one next chain", {"rivals": 1})),
}
SOURCES = {id: load(id) for id in PLACES}
PROPERTIES = {
    (id, live.name): live for id, source in SOURCES.items() for live in source.protocol(source.family.main[0]).liveness
}
UNFAIR = [(*key, action) for key, live in PROPERTIES.items() for action in live.fair]


def _placed(id: str) -> tuple[Protocol, Instance]:
    source, (threat, size) = SOURCES[id], PLACES[id]
    protocol = source.protocol(source.family.main[0])
    return protocol, source.instance(protocol, threat, size)


@pytest.mark.parametrize(("id", "name", "action"), UNFAIR, ids=str)
def test_without_the_fairness_of_a_step_somebody_waits_for_ever(id: str, name: str, action: str) -> None:
    protocol, instance = _placed(id)
    live = PROPERTIES[id, name]
    less = live.fair_to(each for each in live.fair if each != action)
    trace = lassos(protocol, instance, [less]).violations[name]
    assert objection(Interpreter(with_rules_as_steps(protocol, [less]), instance), less, trace) == ""


@pytest.mark.parametrize("id", PLACES)
def test_with_it_nobody_does(id: str) -> None:
    protocol, instance = _placed(id)
    for names in decided_together(protocol, protocol.liveness):
        found = lassos(protocol, instance, [live for live in protocol.liveness if live.name in names])
        assert found.complete, names
        assert not found.violations, names
        assert not found.undecided, names


@cache
def liveness_proofs(id: str) -> LivenessProofs:
    """Return the proofs of a protocol's properties, which share what they have in common, as in a run."""
    return LivenessProofs(SOURCES[id].protocol(), (), Workers(1))


@pytest.mark.parametrize(("id", "name"), [key for key in PROPERTIES if key[0] != "gpu-travelling"], ids=str)
def test_each_property_of_a_ring_and_a_chain_is_proved_by_all_the_steps_that_it_names(id: str, name: str) -> None:
    proofs, live = liveness_proofs(id), PROPERTIES[id, name]
    assert proofs.answer(live).fair == live.fair
    for action in live.fair:
        assert not proofs.answer(live.fair_to(each for each in live.fair if each != action)).is_proved


# -- a whole round, which one property after the other brings about --------------------------------------------------

ROUND = ("contribute", "send_partial", "add", "send_total", "gather", "finish")
RINGS = (
    Profile("two ranks", {}),
    Profile("two chunks", {"chunks": 2, "vectors": 4, "outsiders": 0}),
    Profile("three ranks", {"ring_size": 3, "hop_keys": 3, "vectors": 3, "outsiders": 0}),
)


def _whole_ring() -> Protocol:
    """Return the ring, with what follows of its properties along the line of each chunk."""
    draft = SOURCES["ring-all-reduce"].family.draft(ring.MAIN)
    attested = forall(
        lambda f, h: implies(ring.follows(f, h), exists(lambda k: ring.outgoing(f, k, h), ring.Key)),
        *(ring.Endpoint, ring.Endpoint),
    )
    draft.eventually(
        "whole-round",
        lambda g, i: ring.sound(g) & attested,
        lambda g, i: ring.finished(g, i) | exists(ring.alarmed, ring.Endpoint),
        each=(ring.Endpoint, ring.Iteration),
        sentence="A ring whose hops are attested finishes, or a rank raises the alarm.",
        fair=ROUND,
    )
    return draft.protocol()


@pytest.mark.parametrize("size", RINGS, ids=lambda size: size.name)
@pytest.mark.parametrize("missing", ["", *ROUND])
def test_a_whole_ring_finishes_or_raises_the_alarm_if_every_step_is_fair(missing: str, size: Profile) -> None:
    protocol = _whole_ring()
    (live,) = (each for each in protocol.liveness if each.name == "whole-round")
    asked = live.fair_to(each for each in ROUND if each != missing)
    found = lassos(protocol, SOURCES["ring-all-reduce"].instance(protocol, "tenants", size), [asked])
    assert [*found.violations] == (["whole-round"] if missing else [])
    assert found.complete


CHAIN = ("log", "increment", "pass_on", "issue")


def _whole_chain() -> tuple[Protocol, Eventually]:
    """Return the chain, with what follows of its properties down the line, and that."""
    draft = SOURCES["teechain"].family.draft(chain.MAIN)

    def in_line(c: chain.Chain) -> Formula:
        def member(r: chain.Replica) -> Formula:
            return implies(chain.belongs(c, r), chain.joined(r, c) & chain.listed(c, r))

        return chain.opened(chain.head(c), c) & forall(member, chain.Replica)

    def given_up(c: chain.Chain, e: chain.Epoch, h: chain.Holder) -> Formula:
        def by(r: chain.Replica) -> Formula:
            later = ~chain.logged(r, c, e, h) & chain.upto(e, chain.last(r, c))
            return chain.belongs(c, r) & (chain.frozen(r, c) | later)

        return exists(by, chain.Replica) | ~chain.logged(chain.head(c), c, e, h)

    draft.eventually(
        "whole-chain",
        lambda c, e, h: in_line(c) & chain.logged(chain.head(c), c, e, h),
        lambda c, e, h: chain.issued(c, e, h) | given_up(c, e, h),
        each=(chain.Chain, chain.Epoch, chain.Holder),
        sentence="What the head has in its log is granted, or given up.",
        fair=CHAIN,
        strong=("increment",),
    )
    protocol = draft.protocol()
    return protocol, next(each for each in protocol.liveness if each.name == "whole-chain")


@pytest.mark.parametrize("backups", [1, 2])
@pytest.mark.parametrize("missing", ["", "strong", *CHAIN])
def test_an_epoch_goes_down_a_whole_chain_if_every_step_is_fair(missing: str, backups: int) -> None:
    """A replica that starts again before it counts, again and again, is weakly fair to its counter."""
    protocol, live = _whole_chain()
    asked = live.fair_to(each for each in CHAIN if each != missing)
    asked = replace(asked, strong=()) if missing == "strong" else asked
    size = Profile("chain", {"backups": backups, "holders": 1})
    found = lassos(protocol, SOURCES["teechain"].instance(protocol, "platform", size), [asked])
    assert [*found.violations] == (["whole-chain"] if missing else [])
    assert found.complete


@cache
def _proofs(variant: str) -> tuple[ProofResult, ...]:
    return (prove(SOURCE.protocol(variant)),)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("variant", MAIN)
def test_each_property_rests_on_all_that_it_names(variant: str) -> None:
    """It is proved, and not if any steps are to be taken fairly that are not those that are meant."""
    for live in SOURCE.protocol(variant).liveness:
        assert by_fairness(SOURCE.protocol(variant), live, _proofs(variant)).fair == live.fair
        if live.given:
            assert not by_fairness(SOURCE.protocol(variant), replace(live, given=()), _proofs(variant)).is_proved


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("threat", ["outsider", "holder", "hypervisor", "collusion", "past-keys"])
@pytest.mark.parametrize("variant", MAIN)
def test_what_is_proved_for_any_size_holds_in_every_state_of_the_smallest(variant: str, threat: str) -> None:
    protocol = SOURCE.protocol(variant)
    instance = SOURCE.instance(protocol, threat, SOURCE.family.profiles["tiny"])
    for names in decided_together(protocol, protocol.liveness):
        found = lassos(protocol, instance, [live for live in protocol.liveness if live.name in names])
        assert (found.complete, found.violations, found.undecided) == (True, {}, {})
