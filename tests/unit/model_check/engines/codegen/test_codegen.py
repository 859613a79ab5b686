"""What is compiled is kept while it is true; without a compiler there is one clear error."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

import pytest

from carnet_check.engines.codegen import compiling, search
from carnet_check.engines.codegen.compiling import CompilationError, compiled, compiler, seconds_compiling
from carnet_check.engines.codegen.engine import CODEGEN
from carnet_check.engines.codegen.search import CompiledSearch
from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Exploration
from carnet_check.loading.families import load
from carnet_command.exit_codes import ExitCode
from tests.unit.model_check.command import TOY, carnet

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
ANSWER = "int answer(void) { return 42; }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(compiling.FOLDER, str(tmp_path / "code"))
    return tmp_path / "code"


def test_it_is_compiled_once_and_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled(ANSWER).answer() == 42
    (kept,) = folder.iterdir()
    monkeypatch.setattr(compiling, "_compile_into", lambda *_: pytest.fail("it is compiled again"))
    assert compiled(ANSWER).answer() == 42
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
        compiled(text)
        for file in folder.glob("*.so"):
            os.utime(file, (number, number))
    compiled(texts[0])
    compiled(texts[2])
    monkeypatch.setattr(compiling, "_compile_into", lambda *_: pytest.fail("it is compiled again"))
    assert [compiled(text).answer() for text in (texts[0], texts[2])] == [0, 2]
    assert len([*folder.glob("*.so")]) == 2
    assert all(file.exists() for file in others)


@pytest.mark.parametrize("damage", [lambda code: code[:-1], lambda code: code[:99] + b"x" + code[100:], lambda _: b""])
def test_what_is_damaged_is_compiled_anew(folder: Path, damage: object) -> None:
    compiled(ANSWER)
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    assert callable(damage)
    kept.unlink()  # what is loaded must not change
    kept.write_bytes(damage(whole))
    assert compiled(ANSWER).answer() == 42
    assert kept.read_bytes()[: -compiling.DIGEST] == whole[: -compiling.DIGEST]


def test_nothing_is_kept_where_others_may_write(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert compiled(ANSWER).answer() == 42
    assert not [*folder.iterdir()]


def test_what_does_not_compile_is_one_error_and_leaves_nothing(folder: Path) -> None:
    with pytest.raises(CompilationError, match=r"does not compile the model: .*error"):
        compiled("int answer(void) { return ; ")
    assert not [*folder.iterdir()]


def test_without_a_compiler_it_is_refused_and_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    ran = carnet("explore", TOY, "--engine", "codegen")
    assert (ran.code, "needs a C compiler" in ran.err) == (ExitCode.USAGE, True)
    assert carnet("explore", TOY).code == ExitCode.EXPECTED


def _found(threads: int = 1) -> Exploration:
    source = load("gpu-travelling")
    protocol = source.protocol()
    return explore(
        protocol,
        source.instance(protocol, "hypervisor", source.profile("tiny")),
        invariants=[claim.checked for claim in protocol.claims if claim.invariant],
        goals=protocol.goals,
        stop_at_first=False,
        packed=functools.partial(CompiledSearch, hand_over_at=1_000, threads=threads),
    )


def test_it_finds_in_many_states_what_the_explicit_engine_finds(folder: Path) -> None:
    """43,262 states, of more and more words; the second search begins with the code of the first."""
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "hypervisor", source.profile("tiny"))
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    expected = EXPLICIT.explore(protocol, instance, invariants=invariants, goals=protocol.goals)
    first = _found()
    again, in_threads = _found(), _found(threads=3)
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
    assert CODEGEN.in_threads(3).threads == 3


def test_code_that_is_kept_of_another_model_is_not_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that names places which there are not would otherwise decide what states are like."""
    expected = _found().states
    (entry,) = folder.rglob("*.json")
    kept = json.loads(entry.read_text())
    kept["answer"]["fields"][0][0] = "no such symbol"
    entry.write_text(json.dumps(kept))
    assert _found().states == expected
    assert search.codes_known() is not None
