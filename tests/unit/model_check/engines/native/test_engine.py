"""The native engine beside the explicit one: what is compiled is kept while it is true, and nothing else needs that."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import carnet_check
import carnet_spec
from carnet_check.cache import source_digest
from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.exploration import Exploration
from carnet_check.engines.native import compiling, model_code, search
from carnet_check.engines.native.compiling import (
    CompilationError,
    compile_c,
    compiler,
    compiler_version,
    seconds_compiling,
)
from carnet_check.engines.native.engine import NATIVE, Native
from carnet_check.engines.native.lowering import Lowering
from carnet_check.engines.native.model_code import ModelCode, first_width
from carnet_check.engines.native.search import NativeSearch
from carnet_check.engines.registry import default_engines
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import Draft, Formula, Goal, Instance, Invariant, Role, Step, flag
from carnet_spec.language.terms import negation
from tests.unit.model_check.command import TOY, carnet

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
ANSWER = "int answer(void) { return 42; }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(compiling.FOLDER, str(tmp_path / "code"))
    return tmp_path / "code"


def test_it_is_compiled_once_and_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compile_c(ANSWER, quick=True).answer() == 42
    (kept,) = folder.iterdir()
    monkeypatch.setattr(compiling, "_compile_into", lambda *_: pytest.fail("it is compiled again"))
    assert compile_c(ANSWER, quick=True).answer() == 42
    assert [*folder.iterdir()] == [kept]
    seconds_compiling()
    assert seconds_compiling() == 0


def test_what_was_not_used_for_longest_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "KEPT", 2)
    folder.mkdir(mode=0o700)
    others = [folder / name for name in ("thesis.tex", "0" * 64, "a.json")]
    for file in others:
        file.write_text("of somebody else")
    texts = [ANSWER.replace("42", str(number)) for number in range(3)]
    for number, text in enumerate(texts[:2]):
        compile_c(text, quick=True)
        for file in folder.glob("*.so"):
            os.utime(file, (number, number))
    compile_c(texts[0], quick=True)
    compile_c(texts[2], quick=True)
    monkeypatch.setattr(compiling, "_compile_into", lambda *_: pytest.fail("it is compiled again"))
    assert [compile_c(text, quick=True).answer() for text in (texts[0], texts[2])] == [0, 2]
    assert len([*folder.glob("*.so")]) == 2
    assert all(file.exists() for file in others)


@pytest.mark.parametrize("damage", [lambda code: code[:-1], lambda code: code[:99] + b"x" + code[100:], lambda _: b""])
def test_what_is_damaged_is_compiled_anew(folder: Path, damage: object) -> None:
    compile_c(ANSWER, quick=True)
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    assert callable(damage)
    kept.unlink()  # what is loaded must not change
    kept.write_bytes(damage(whole))
    assert compile_c(ANSWER, quick=True).answer() == 42
    assert kept.read_bytes()[: -compiling.DIGEST] == whole[: -compiling.DIGEST]


def test_nothing_is_kept_where_others_may_write(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert compile_c(ANSWER, quick=True).answer() == 42
    assert not [*folder.iterdir()]


def test_what_does_not_compile_is_one_error_and_leaves_nothing(folder: Path) -> None:
    with pytest.raises(CompilationError, match=r"does not compile the model: .*error"):
        compile_c("int answer(void) { return ; ", quick=True)
    assert not [*folder.iterdir()]


def test_without_a_compiler_it_is_refused_and_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    ran = carnet("explore", TOY, "--engine", "native")
    assert (ran.code, "needs a C compiler" in ran.err) == (ExitCode.USAGE, True)
    assert "explicit" in [engine.name for engine in default_engines()]
    assert carnet("explore", TOY).code == ExitCode.EXPECTED


def test_it_runs_by_default_in_place_of_the_explicit_engine() -> None:
    names = [engine.name for engine in default_engines()]
    assert ("native" in names, "explicit" in names) == (True, False)


def test_an_interrupt_while_it_compiles_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_c(ANSWER.replace("42", "41"), quick=True)
    before = [*folder.iterdir()]
    monkeypatch.setattr(subprocess, "run", raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        compile_c(ANSWER, quick=True)
    monkeypatch.undo()
    monkeypatch.setenv(compiling.FOLDER, str(folder))
    assert [*folder.iterdir()] == before
    assert compile_c(ANSWER, quick=True).answer() == 42


def _exploration(threads: int = 1, hand_over_at: int = 1_000) -> Exploration:
    source = load("gpu-travelling")
    protocol = source.protocol()
    return explore(
        protocol,
        source.instance(protocol, "hypervisor", source.profile("tiny")),
        invariants=[claim.checked for claim in protocol.claims if claim.invariant],
        goals=protocol.goals,
        stop_at_first=False,
        packed=functools.partial(NativeSearch, hand_over_at=hand_over_at, threads=threads),
    )


def raising(error: type[BaseException]) -> Callable[..., None]:
    def raise_it(*_: object, **__: object) -> None:
        raise error

    return raise_it


def test_it_finds_in_many_states_what_the_explicit_engine_finds(folder: Path) -> None:
    """43,262 states, of more and more words; the second search begins with the code of the first."""
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "hypervisor", source.profile("tiny"))
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    expected = EXPLICIT.explore(protocol, instance, invariants=invariants, goals=protocol.goals)
    first = _exploration()
    again, in_threads = _exploration(), _exploration(threads=3)
    for found in (first, again, in_threads):
        assert (found.states, found.transitions, found.depth) == (
            expected.states,
            expected.transitions,
            expected.depth,
        )
        assert found.fired == expected.fired
        for mine, theirs in ((found.goals, expected.goals), (found.violations, expected.violations)):
            assert {name: len(trace.steps) for name, trace in mine.items()} == {
                name: len(trace.steps) for name, trace in theirs.items()
            }
    assert again.violations == in_threads.violations
    assert NATIVE.with_threads(3).threads == 3


def test_code_that_is_kept_of_another_model_is_not_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that names places which there are not would otherwise decide what states are like."""
    expected = _exploration().states
    (entry,) = folder.rglob("*.json")
    kept = json.loads(entry.read_text())
    kept["answer"]["fields"][0][0] = "no such symbol"
    entry.write_text(json.dumps(kept))
    assert _exploration().states == expected


def test_the_next_search_leaves_no_state_to_python_that_this_one_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is compiled once, so steps write bits that code does not know; what is kept in the end knows them."""
    monkeypatch.setattr(compiling, "OPTIONS", ("-O0", *compiling.OPTIONS[1:]))
    for name, value in (("LOOKED_AHEAD", 0), ("MOST_HERE", 1 << 30), ("MANY", 1)):
        monkeypatch.setattr(search, name, value)
    expand_here, left = NativeSearch._expand_here, [0]

    def counted(self: NativeSearch, *given: Any) -> None:
        left[0] += 1
        expand_here(self, *given)

    monkeypatch.setattr(NativeSearch, "_expand_here", counted)
    first = _exploration()
    assert left[0] > 0
    left[0] = 0
    again = _exploration()
    assert left[0] == 0
    assert (again.states, again.transitions, again.depth) == (first.states, first.transitions, first.depth)


def _states_in_python(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each further search appends how many states it had expanded without compiled code."""
    expanded: list[int] = []
    run = NativeSearch.run

    def counted(self: NativeSearch) -> str | None:
        stopped_by = run(self)
        expanded.append(self.expanded if self._machine is None else 0)
        return stopped_by

    monkeypatch.setattr(NativeSearch, "run", counted)
    return expanded


def test_a_small_model_is_compiled_once_python_worked_on_it_as_long_as_on_a_large_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """43,262 states are fewer than are expanded before a model is compiled, and those of three searches are enough."""
    monkeypatch.setattr(search, "PAYS_NEXT", 2)
    expanded = _states_in_python(monkeypatch)
    found = [_exploration(hand_over_at=50_000) for _ in range(4)]
    assert expanded == [43_262, 43_262, 43_262, 0]
    assert len({(each.states, each.transitions, each.depth, *sorted(each.fired.items())) for each in found}) == 1
    assert len({(*sorted((name, len(trace.steps)) for name, trace in each.goals.items()),) for each in found}) == 1


def test_a_search_of_which_many_states_wait_is_compiled_before_it_has_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 43,262 states a thirtieth of 50,000 wait at some time."""
    monkeypatch.setattr(search, "WAITING", 30)
    expanded = _states_in_python(monkeypatch)
    _exploration(hand_over_at=50_000)
    assert expanded == [0]


def test_searches_of_few_states_are_not_counted(folder: Path) -> None:
    source = load(TOY)
    protocol = source.protocol()
    explore(
        protocol, source.instance(protocol, "none", source.profile("tiny")), invariants=(), packed=search.NativeSearch
    )
    assert not [*folder.rglob("*.json")]


def test_code_is_bound_to_the_sources_that_write_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function that takes part in it is in one of the folders whose digest is a part of what code is found by."""
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "collusion", source.profile("tiny"))
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    packages = {each.__name__: Path(each.__file__ or "").parent for each in (carnet_check, carnet_spec)}
    used: set[str] = set()

    def note(frame: types.FrameType, event: str, _: object) -> None:
        if event == "call":
            used.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        model = build(Interpreter(protocol, instance), invariants, protocol.goals, reduce=True, symmetric=True)
        lowered = Lowering.of(model, [model.saturation.start()])
        ModelCode.of(lowered, first_width(lowered.words), model.layout.spent, quick=True)
    finally:
        sys.setprofile(None)
    ours = {Path(file) for file in used if any(Path(file).is_relative_to(folder) for folder in packages.values())}
    digested = [packages[part.partition("/")[0]].parent / part for part in search.WRITTEN_BY]
    assert len(ours) > 15
    assert [file for file in sorted(ours) if not any(file.is_relative_to(folder) for folder in digested)] == []
    assert source_digest(search.WRITTEN_BY) != source_digest()


def test_what_is_seen_before_its_level_is_complete_has_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "hypervisor", source.profile("tiny"))
    goal = protocol.goals[0]
    never = Invariant("never", goal.params, negation(goal.body), "It is not reached.")
    monkeypatch.setattr(search, "CHUNK", 1)
    monkeypatch.setattr(model_code, "BATCH", 1)
    expected, found = (
        explore(protocol, instance, invariants=[never], packed=packed)
        for packed in (PackedSearch, functools.partial(search.NativeSearch, hand_over_at=1))
    )
    assert (expected.stopped_by, found.stopped_by) == ("violation", "violation")
    assert len(found.violations["never"].steps) == len(expected.violations["never"].steps)
    assert found.states < expected.states


def test_memory_that_is_not_there_ends_a_search_with_what_was_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_code, "MOST_STATES", 5_000)
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "hypervisor", source.profile("tiny"))
    found = explore(
        protocol, instance, invariants=(), packed=functools.partial(search.NativeSearch, hand_over_at=1_000)
    )
    assert found.stopped_by == "memory"
    assert 10_000 < found.states <= 20_000, "a part has room for all that it is handed, whatever it has already"


def test_an_engine_in_threads_searches_by_what_it_is_told() -> None:
    class Mine(search.NativeSearch):
        """A search of somebody else's."""

    class Own(Native):
        packed = Mine

    made = Own().with_threads(3).searches_by()
    assert isinstance(made, functools.partial)
    assert (made.func, made.keywords) == (Mine, {"threads": 3})


def test_what_compiling_took_is_no_part_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million seconds are said to be none of its own; what was compiled before it began is none of them."""
    said = [1e6, 1e9]
    monkeypatch.setattr(search, "seconds_compiling", lambda: said.pop() if said else 0.0)
    source = load(TOY)
    protocol = source.protocol()
    instance = source.instance(protocol, "none", source.profile("tiny"))
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    at_once = functools.partial(search.NativeSearch, hand_over_at=1)
    found = explore(protocol, instance, invariants=invariants, packed=at_once, stop_at_first=False)
    assert not said
    assert found.stopped_by is None
    assert -1e6 < found.seconds < 3600 - 1e6


LAMPLIGHTER = Role("lamplighter")
LAMPS = 70


def lit_after(number: int, before: Formula | None, lamp: Formula) -> Callable[[Step], None]:
    """Return the action that lights a lamp, which has a number, after the one before it, if there is one."""

    def light(step: Step) -> None:
        if before is not None:
            step.require("the one before is lit", before)
        step.insert(lamp)

    light.__name__ = f"light_{number}"
    return light


@pytest.mark.parametrize("looked_ahead", [0, 10_000])
def test_more_is_looked_for_than_a_word_has_bits(
    looked_ahead: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lamps are lit one after the other, and each is looked for; without looking ahead, each gets its bit late."""
    monkeypatch.setattr(search, "LOOKED_AHEAD", looked_ahead)
    draft = Draft("street", "A street")
    draft.threat("none", "nobody puts lamps out")
    lamps = [flag(f"lamp_{number}", of=LAMPLIGHTER, says=f"lamp {number} is lit") for number in range(LAMPS)]
    for number, lamp in enumerate(lamps):
        light = lit_after(number, lamps[number - 1] if number else None, lamp)
        draft.action(by=LAMPLIGHTER, says="A lamp is lit.", source="tests")(light)
    goals = [Goal(f"lamp {number}", (), lamp.term, "it is lit") for number, lamp in enumerate(lamps)]
    at_once = functools.partial(NativeSearch, hand_over_at=1)
    found = explore(draft.protocol(), Instance(elements={}), invariants=(), goals=goals, packed=at_once)
    assert (found.states, found.depth) == (LAMPS + 1, LAMPS)
    assert [len(found.goals[goal.name].steps) for goal in goals] == [*range(1, LAMPS + 1)]


def test_a_way_takes_the_first_of_the_actions_that_lead_on(folder: Path) -> None:
    """Two actions light the lamp, and the explicit engine tries them in the order in which they are written."""
    draft = Draft("lamp", "A lamp")
    draft.threat("none", "nobody puts it out")
    lamp = flag("lamp", of=LAMPLIGHTER, says="the lamp is lit")
    for number in range(2):
        draft.action(by=LAMPLIGHTER, says="The lamp is lit.", source="tests")(lit_after(number, None, lamp))
    goal = Goal("light", (), lamp.term, "it is lit")
    at_once = functools.partial(NativeSearch, hand_over_at=1)
    expected, found = (
        explore(draft.protocol(), Instance(elements={}), invariants=(), goals=[goal], packed=packed)
        for packed in (PackedSearch, at_once)
    )
    assert found.goals == expected.goals
    assert [step.action for step in found.goals["light"].steps] == ["light_0"]


def test_the_compiler_of_the_extra_is_taken_where_the_machine_has_none(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module of the same name in the current folder is not run in its place."""
    pytest.importorskip("ziglang", reason="the extra 'fast' is not installed")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    (tmp_path / "ziglang.py").write_text("raise SystemExit('hostile')")
    monkeypatch.chdir(tmp_path)
    compiler_version.cache_clear()
    assert compiler() == (sys.executable, "-P", "-m", "ziglang", "cc")
    assert compile_c(ANSWER, quick=True).answer() == 42
