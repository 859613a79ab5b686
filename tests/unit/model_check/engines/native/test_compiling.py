"""Compiled code is kept while it is true, and threads that work ahead find nothing else than one alone."""

from __future__ import annotations

import pytest

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.native import answers, compiling, kernel, machine, search
from carnet_check.engines.native.tables import BLOCK, COUNTERS, EXPANDED, Number, room_to_work
from carnet_check.loading.families import load
from carnet_command.interrupts import stoppable
from carnet_spec.language import Instance, Profile, Protocol
from tests.fixtures.unseen import letters, relay, sites, vote


@pytest.mark.parametrize("function", [kernel.expand, answers.enter_answers])
def test_it_is_compiled_anew_when_any_file_of_the_package_changes(function: Any) -> None:
    """A function contains others, and constants, of files that Numba does not look at."""
    stamp = function._cache._cache_file._source_stamp
    files = {file.name: file.stat() for file in Path(compiling.__file__).parent.glob("*.py")}
    assert {"kernel.py", "rows.py", "tables.py"} < files.keys()
    assert {name: (size, time) for name, size, time in stamp} == {
        name: (stat.st_size, stat.st_mtime_ns) for name, stat in files.items()
    }


def test_it_is_kept_where_no_package_is() -> None:
    """A folder that is left of a package that was removed would be taken for a package."""
    package = Path(compiling.__file__).parent
    table: Any = kernel.expand
    assert not Path(table._cache.cache_path).is_relative_to(package)


SCRIPT = """
from carnet_check.engines.native import kernel
from carnet_check.engines.native.compiling import compiled, seconds_compiling

@compiled
def doubled(number):
    return 2 * number

print(doubled(21), doubled._cache.cache_path, seconds_compiling() > 0, seconds_compiling())
"""


def _ran(script: Path, **where: str) -> list[str]:
    """Return what a process prints that compiles a function, or loads it."""
    here = {**os.environ, "NUMBA_CACHE_DIR": "", **where}
    ran = subprocess.run([sys.executable, script], env=here, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    return file


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return a folder in which something compiled is kept, and what was printed meanwhile."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "script.py").write_text(SCRIPT)
    return folder, _ran(folder / "script.py", NUMBA_CACHE_DIR=str(folder / "kept"))


DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "an empty index": ("*.nbi", lambda _: b""),
    "half an index": ("*.nbi", lambda whole: whole[: len(whole) // 2]),
    "another index": ("*.nbi", lambda _: b"garbage\n" * 20),
    "half of the code": ("*.nbc", lambda whole: whole[: len(whole) // 2]),
    "other code": ("*.nbc", lambda whole: whole[:200] + bytes(each ^ 85 for each in whole[200:])),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_damaged_is_compiled_and_kept_anew(name: str, compiled: tuple[Path, list[str]], tmp_path: Path) -> None:
    folder, first = compiled[0], [*compiled[1]]
    assert first[0] == "42"
    script, table = folder / "script.py", str(shutil.copytree(folder / "kept", tmp_path / "kept"))
    pattern, damaged = DAMAGE[name]
    (file,) = Path(table).rglob(pattern)
    file.write_bytes(damaged(file.read_bytes()))
    assert _ran(script, NUMBA_CACHE_DIR=table)[:2] == ["42", "None"]
    first[1] = first[1].replace(str(folder / "kept"), table)
    assert [_ran(script, NUMBA_CACHE_DIR=table) for _ in range(2)] == [first] * 2


def test_seconds_are_told_once(script: Path, tmp_path: Path) -> None:
    assert _ran(script, NUMBA_CACHE_DIR=str(tmp_path / "kept"))[2:] == ["True", "0.0"]


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(script: Path, tmp_path: Path) -> None:
    """In a container, say, whose user has no home."""
    nowhere = tmp_path / "file"
    nowhere.touch()
    assert _ran(script, HOME=str(nowhere), XDG_CACHE_HOME=str(nowhere))[:2] == ["42", "None"]


def test_a_block_is_an_odd_number_of_lines_of_the_cache() -> None:
    """Otherwise the same state's entries for all memos would be kept in few places, and drive each other out."""
    assert BLOCK % 8 == 0
    assert BLOCK // 8 % 2 == 1


class Swallowing:
    """Compiles nothing, and makes another error of a signal, as callbacks do."""

    def __init__(self, cache_path: Path) -> None:
        self._cache: Any = SimpleNamespace(cache_path=str(cache_path), flush=lambda: None)
        self.begun = 0

    def compile(self) -> None:
        """Be interrupted."""
        self.begun += 1
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        raise SystemError("a callback failed")


def test_an_interrupt_while_it_compiles_is_no_damage(tmp_path: Path) -> None:
    dispatcher = Swallowing(tmp_path)
    with pytest.raises(KeyboardInterrupt), stoppable():
        compiling._kept_or_anew(dispatcher)()
    assert dispatcher.begun == 1


def test_seconds_in_which_several_threads_compile_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a search would have taken less than no time."""
    spent = compiling._Spent([(5.0, 9.0), (1.0, 3.0), (2.0, 6.0)])
    monkeypatch.setattr(compiling, "_spent", spent)
    assert compiling.seconds_compiling() == 8.0
    spent.times += [(4.0, 10.0), (11.0, 11.5)]
    assert compiling.seconds_compiling() == 1.5
    assert compiling.seconds_compiling() == 0.0


Asked = tuple[Protocol, Instance, bool]
"""A protocol, an instance, and whether anything is left out."""


def _travelling() -> Asked:
    """Return an adversary with a budget, whose states are left out where they were reached at less cost."""
    source = load("gpu-travelling")
    protocol = source.protocol()
    sizes = Profile("sizes", {"holders": 1, "corrupt": 1, "rounds": 1}, budget=2)
    return protocol, source.instance(protocol, "collusion", sizes), True


ASKED: dict[str, Callable[[], Asked]] = {
    "vote": lambda: (vote(), sites(4), False),
    "vote up to symmetry": lambda: (vote(), sites(6), True),
    "relay": lambda: (relay(), letters(2, among=3), False),
    "travelling": _travelling,
}


def found(asked: Asked, threads: int) -> Exploration:
    """Search in so many threads."""
    protocol, instance, reduction = asked
    return explore(
        protocol,
        instance,
        invariants=[claim.checked for claim in protocol.claims if claim.invariant],
        goals=protocol.goals,
        stop_at_first=False,
        reduction=reduction,
        packed=functools.partial(search.NativeSearch, hand_over_at=100, threads=threads),
    )


def said(explored: Exploration) -> tuple[object, ...]:
    """Return everything but how long it took, and how much memory."""
    counts = (explored.states, explored.transitions, explored.depth, explored.stopped_by, explored.fired)
    return (*counts, explored.violations, explored.goals, explored.reduction)


CROWDED = "vote up to symmetry"


@pytest.mark.parametrize(
    ("name", "threads"),
    [
        *((name, 2) for name in ASKED),
        (CROWDED, 5),
        *(pytest.param(name, 5, marks=pytest.mark.slow) for name in ASKED if name != CROWDED),
    ],
)
def test_any_number_of_threads_finds_the_same(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces included: of several ways to a state the same one is found first."""
    monkeypatch.setattr(search, "CHUNK", 64)
    monkeypatch.setattr(machine, "ASKED", 4)
    monkeypatch.setattr(machine, "FOLLOWERS", 1)
    monkeypatch.setattr(machine, "MOST_ALONE", 1)
    kinds: Counter[str] = Counter()
    piece = machine.Prefetcher.piece

    def counted(
        self: machine.Prefetcher, known: Callable[[], machine.ReadTables], begin: int, end: int
    ) -> machine.Batch:
        taken = piece(self, known, begin, end)
        reached = taken.counters[EXPANDED]
        kinds["all" if reached == taken.end else "none" if reached == begin else "some"] += 1
        kinds["no room"] += taken.done.result() == kernel.NARROW
        return taken

    asked = ASKED[name]()
    expected = found(asked, 1)
    monkeypatch.setattr(machine.Prefetcher, "piece", counted)
    assert said(found(asked, threads)) == said(expected)
    assert min(kinds[kind] for kind in ("all", "some", "no room")) > 0, kinds
    assert kinds["all"] > 100


def test_what_ends_a_search_ends_it_with_threads_under_way() -> None:
    protocol, instance = vote(), sites(5)
    stopped = explore(
        protocol,
        instance,
        invariants=(),
        caps=Caps(states=100_000),
        reduction=False,
        packed=functools.partial(search.NativeSearch, threads=3),
    )
    assert stopped.stopped_by == "states"
    assert 100_000 <= stopped.states < 200_000


def test_what_was_given_to_a_thread_is_let_go_of_before_it_is_done() -> None:
    """Rows are memory that grows in its place, which it cannot while anybody holds it."""
    given: list[Any] = ["nothing that can be followed"]
    with pytest.raises(TypeError):
        machine._followed(given)
    assert not given


def _nothing() -> machine.ReadTables:
    raise AssertionError("nothing more is begun")


def test_an_interrupt_forgets_no_thread_that_is_under_way() -> None:
    """A later stop waits for it."""

    class Interrupted(Future[Number]):
        def result(self, timeout: float | None = None) -> Number:
            raise KeyboardInterrupt

    working = machine.Prefetcher(threads=1, size=1)
    room = machine.Buffer(room_to_work(1, 1, 1, 1), np.zeros(1, np.uint32))
    piece = machine.Batch(1, room, np.zeros(COUNTERS, np.int64), Interrupted())
    working._pieces.append(piece)
    with pytest.raises(KeyboardInterrupt):
        working.piece(_nothing, 0, 1)
    with pytest.raises(KeyboardInterrupt):
        working.stop()
    assert [*working._pieces] == [piece]
