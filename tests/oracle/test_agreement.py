"""The two halves of the oracle agree on random protocols: compiled steps and tests, and plain ones."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import HealthCheck, assume, given, settings

from carnet_spec.language import Protocol, SpecificationError
from carnet_spec.language.terms import Not
from tests.fixtures.thorough import share
from tests.oracle import evaluate
from tests.oracle.enumerate import Answers, enumerate_at, worlds
from tests.oracle.machine import Layout, successors_of
from tests.oracle.protocols import recipes
from tests.oracle.recipe import Recipe
from tests.oracle.replay import NoSuchRunError, take

MOST = 300
relaxed = settings(max_examples=share(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def built(recipe: Recipe) -> Protocol:
    variant = "layer" if recipe.layer is not None else "main"
    try:
        return recipe.draft(variant).protocol()
    except SpecificationError:
        assume(False)
        raise


def enumerated(protocol: Protocol) -> Answers:
    """What is true with two elements of each sort, if that is little."""
    try:
        return enumerate_at(protocol, dict.fromkeys((sort.name for sort in evaluate.sorts_of(protocol)), 2), MOST)
    except (evaluate.TooBigError, evaluate.NotASpecificationError):
        assume(False)
        raise


def plain_successors(
    protocol: Protocol, structure: evaluate.Structure
) -> Iterator[tuple[str, tuple[int, ...], evaluate.Structure]]:
    """Every step from ``structure``, by trying all arguments."""
    for action in protocol.actions:
        for env in evaluate.extensions(action.params, {}, structure.sizes):
            try:
                yield action.name, tuple(env[var] for var in action.params), take(action, env, structure)
            except NoSuchRunError:
                continue


@given(recipes())
@relaxed
def test_compiled_steps_are_plain_steps(recipe: Recipe) -> None:
    protocol = built(recipe)
    layout = Layout.of(protocol, dict.fromkeys((sort.name for sort in evaluate.sorts_of(protocol)), 2))
    try:
        starts = [start for _, found in worlds(protocol, layout, MOST) for start in found][:10]
    except evaluate.TooBigError:
        starts = []
    assume(starts)
    for state in starts:
        after = {
            (action.name, args, after)
            for action in protocol.actions
            for args, after in successors_of(action, layout)(state)
            if after is not None
        }
        plain = plain_successors(protocol, layout.structure(state))
        assert after == {(name, args, layout.state(structure)) for name, args, structure in plain}


@given(recipes())
@relaxed
def test_every_witness_is_a_run_to_what_it_shows(recipe: Recipe) -> None:
    protocol = built(recipe)
    answers = enumerated(protocol)
    shown = {
        name: Not(formula) for name, formula in evaluate.always_asked(protocol).items()
    } | evaluate.somewhere_asked(protocol)
    assume(answers.violated or answers.reached)
    for (name, _), witness in (answers.violated | answers.reached).items():
        structure = witness.first
        for action, args in witness.steps:
            params = protocol.action(action).params
            structure = take(protocol.action(action), dict(zip(params, args, strict=True)), structure)
        assert structure == witness.last
        assert evaluate.value(shown[name], {}, structure)
