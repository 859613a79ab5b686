"""What is compiled is kept on the disk, and not for longer than it is true."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

from carnet_check.engines.native import answers, compiling, kernel
from carnet_check.engines.native.tables import BLOCK
from carnet_command.interrupts import stoppable


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


DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "an empty index": ("*.nbi", lambda _: b""),
    "half an index": ("*.nbi", lambda whole: whole[: len(whole) // 2]),
    "another index": ("*.nbi", lambda _: b"garbage\n" * 20),
    "half of the code": ("*.nbc", lambda whole: whole[: len(whole) // 2]),
    "other code": ("*.nbc", lambda whole: whole[:200] + bytes(each ^ 85 for each in whole[200:])),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_damaged_is_compiled_and_kept_anew(name: str, script: Path, tmp_path: Path) -> None:
    table = str(tmp_path / "kept")
    first = _ran(script, NUMBA_CACHE_DIR=table)
    assert first[0] == "42"
    pattern, damaged = DAMAGE[name]
    (file,) = Path(table).rglob(pattern)
    file.write_bytes(damaged(file.read_bytes()))
    assert _ran(script, NUMBA_CACHE_DIR=table)[:2] == ["42", "None"]
    assert _ran(script, NUMBA_CACHE_DIR=table) == first
    assert _ran(script, NUMBA_CACHE_DIR=table) == first


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
