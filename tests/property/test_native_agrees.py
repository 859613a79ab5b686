"""Compiled code finds what the explicit search finds, on random protocols and however little room it has."""

from __future__ import annotations

import functools
import importlib
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.native.compiling import compiler
from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from carnet_spec.language import Profile, Protocol
from tests.fixtures.thorough import share
from tests.property.random_protocols import Sample, alike_samples, lengths, samples
from tests.property.random_protocols import explored as symmetric
from tests.property.rich_protocols import rich_samples
from tests.property.test_checkpoints_go_on import in_pieces

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
COMPILING, MACHINE, MODEL_CODE, SEARCH = (
    importlib.import_module(f"carnet_check.engines.native.{name}")
    for name in ("compiling", "machine", "model_code", "search")
)
TOO_MANY = 5_000


relaxed = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], max_examples=share(60))

several = st.one_of(samples(), rich_samples())

Room = dict[tuple[object, str], object]


def refuse(*_: object) -> None:
    """Have no folder in which anything could be kept."""
    raise UsageError("there is no folder")


#: Compiled in little time, each text once, and not kept.
QUICK: Room = {
    (COMPILING, "OPTIONS"): ("-O0", *COMPILING.OPTIONS[1:]),
    (MACHINE, "compile_c"): functools.cache(COMPILING.compile_c),
    (SEARCH, "open_folder"): refuse,
}
#: As little room as there may be: everything grows, and comes back as often as it can.
TIGHT: Room = {
    (MODEL_CODE, "BATCH"): 1,
    (MODEL_CODE, "MISSES"): 1,
    (MACHINE, "MISSES"): 1,
    (MODEL_CODE, "ROOM"): 1,
    (MODEL_CODE, "VALUES"): 2,
    (MODEL_CODE, "NUMBERS"): (1 << 32) - 1,
    (MACHINE, "STEPS_AT_ONCE"): 1,
    (SEARCH, "CHUNK"): 3,
    (SEARCH, "LOOKED_AHEAD"): 0,
    (SEARCH, "MOST_HERE"): 4,
}
#: Nothing is compiled anew, so all but the first steps are taken in Python, among others that are not.
APART: Room = {(SEARCH, "LOOKED_AHEAD"): 0, (SEARCH, "MOST_HERE"): 1 << 30}


@contextmanager
def within(room: Room) -> Iterator[None]:
    """Give compiled code so much room."""
    with ExitStack() as patches:
        for (module, name), value in (QUICK | room).items():
            patches.enter_context(patch.object(module, name, value))
        yield


def explored(
    sample: Sample, room: Room | None, *, reduction: bool, stop_at_first: bool = False, threads: int = 1
) -> Exploration:
    """Explore a sample by compiled code from the first state on, or, without any room, by the explicit search."""
    compiled = functools.partial(SEARCH.NativeSearch, hand_over_at=1, threads=threads)
    with within(room or {}):
        return explore(
            **sample.question,
            packed=PackedSearch if room is None else compiled,
            reduction=reduction,
            stop_at_first=stop_at_first,
            caps=Caps(states=TOO_MANY),
        )


def said(protocol: Protocol, found: Exploration) -> tuple[object, ...]:
    """Return everything that has to be the same for both searches: of traces how many steps are no deductions."""
    rules = [action.name for action in protocol.actions if action.deduction]
    counts = (found.states, found.represented, found.transitions, found.depth, found.stopped_by, found.fired)
    return (*counts, lengths(found.violations, rules), lengths(found.goals, rules))


@relaxed
@given(several, st.sampled_from([{}, TIGHT, APART]))
def test_compiled_code_agrees_in_every_number(sample: Sample, room: Room) -> None:
    """With reductions and without; one that stops at the first violation stops at a shortest one."""
    expected, reduced = (explored(sample, None, reduction=reduction) for reduction in (False, True))
    assume(expected.complete and reduced.complete)
    assert said(sample.protocol, explored(sample, room, reduction=False)) == said(sample.protocol, expected)
    assert said(sample.protocol, explored(sample, room, reduction=True)) == said(sample.protocol, reduced)
    first, second = (explored(sample, each, reduction=False, stop_at_first=True) for each in (None, room))
    assert sorted(lengths(second.violations).values())[:1] == sorted(lengths(first.violations).values())[:1]


@relaxed
@given(several, st.sampled_from([{}, TIGHT, APART]), st.booleans(), st.sampled_from([2, 3]))
def test_any_number_of_threads_finds_the_same(sample: Sample, room: Room, reduction: bool, threads: int) -> None:
    """Traces included: what is found first is found first."""
    expected = explored(sample, room, reduction=reduction)
    assume(expected.complete)
    found = explored(sample, room, reduction=reduction, threads=threads)
    assert said(sample.protocol, found) == said(sample.protocol, expected)
    assert (found.violations, found.goals, found.reduction) == (
        expected.violations,
        expected.goals,
        expected.reduction,
    )


#: Places get bits as late as may be, and the model is compiled anew in the middle of levels.
LATE: Room = {
    (MODEL_CODE, "NUMBERS"): (1 << 32) - 1,
    (MACHINE, "STEPS_AT_ONCE"): 1,
    (SEARCH, "LOOKED_AHEAD"): 0,
    (SEARCH, "MOST_HERE"): 20,
    (SEARCH, "CHUNK"): 50,
}


@pytest.mark.parametrize(
    ("name", "threat", "sizes", "hand_over_at", "room"),
    [
        ("gpu-travelling", "collusion", Profile("sizes", {"holders": 1, "corrupt": 1, "rounds": 1}, budget=2), 1, LATE),
        ("gpu-travelling", "collusion", Profile("sizes", {"holders": 1, "corrupt": 1, "rounds": 1}, budget=2), 500, {}),
        ("fastrack", "outsider", None, 1, LATE),
        ("ring-all-reduce", "tenants", None, 1, LATE),
    ],
)
def test_protocols_are_explored_as_far_however_late_places_get_bits(
    name: str, threat: str, sizes: Profile | None, hand_over_at: int, room: Room
) -> None:
    """The same is deduced, and the same states are left out because they are reached at less cost."""
    source = load(name)
    protocol = source.protocol()
    instance = source.instance(protocol, threat, sizes or source.profile("tiny"))
    compiled = functools.partial(SEARCH.NativeSearch, hand_over_at=hand_over_at)
    with within(room):
        expected, found = (
            explore(
                protocol,
                instance,
                invariants=[claim.checked for claim in protocol.claims if claim.invariant],
                goals=protocol.goals,
                packed=packed,
                stop_at_first=False,
            )
            for packed in (PackedSearch, compiled)
        )
    assert said(protocol, found) == said(protocol, expected)
    assert expected.reduction["states_dominated"] or sizes is None


class Restless(SEARCH.NativeSearch):  # type: ignore[name-defined,misc]  # its module is imported by name
    """Compiles the model anew before each chunk of which states are left out."""

    replaced = 0

    def _expand(self, begin: int, end: int) -> int:
        if self._machine is not None and any(True for _ in self._machine.left_out()):
            self._replace()
            Restless.replaced += 1
        return int(super()._expand(begin, end))


def test_what_is_left_out_of_a_level_stays_so_when_the_model_is_compiled_anew() -> None:
    source = load("gpu-travelling")
    protocol = source.protocol()
    sizes = Profile("sizes", {"holders": 1, "corrupt": 1, "rounds": 1}, budget=3)
    with within({(SEARCH, "CHUNK"): 700, (SEARCH, "WAITING"): 0}):
        expected, found = (
            explore(protocol, source.instance(protocol, "collusion", sizes), invariants=(), packed=packed)
            for packed in (PackedSearch, functools.partial(Restless, hand_over_at=3_000))
        )
    assert said(protocol, found) == said(protocol, expected)
    assert expected.reduction["states_dominated"]
    assert Restless.replaced


@relaxed
@given(alike_samples(), st.sampled_from([{}, TIGHT, APART]), st.booleans())
def test_with_symmetry_compiled_code_agrees_in_every_number(sample: Sample, room: Room, reduce: bool) -> None:
    """Both engines let the same states stand for the same others."""
    expected, represented = symmetric(sample, symmetric=True, reduce=reduce, most=TOO_MANY)
    assume(expected.complete)
    with within(room):
        packed = functools.partial(SEARCH.NativeSearch, hand_over_at=1)
        found = symmetric(sample, symmetric=True, reduce=reduce, packed=packed)
    assert said(sample.protocol, found.found) == said(sample.protocol, expected)
    assert found.represented == represented


@relaxed
@given(st.one_of(several, alike_samples()), st.integers(1, 400), st.sampled_from([{}, TIGHT]), st.booleans())
def test_in_pieces_it_finds_the_same(sample: Sample, more: int, room: Room, reduction: bool) -> None:
    search = functools.partial(
        explore,
        **sample.question,
        packed=functools.partial(SEARCH.NativeSearch, hand_over_at=1),
        reduction=reduction,
        stop_at_first=False,
    )
    with within(room), patch("os.fsync"):  # nobody takes the power away
        expected = search(caps=Caps(states=TOO_MANY))
        assume(expected.complete)
        with tempfile.TemporaryDirectory() as folder:
            found, _ = in_pieces(search, Path(folder), max(more, expected.states // 2))
    assert said(sample.protocol, found) == said(sample.protocol, expected)
