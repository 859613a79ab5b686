"""What is compiled is kept on the disk, and not for longer than it is true."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

from carnet_check.engines.native import answers, compiling, kernel
from carnet_check.engines.native.tables import BLOCK


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
    kept: Any = kernel.expand
    assert not Path(kept._cache.cache_path).is_relative_to(package)


LOADED = """
from carnet_check.engines.native import kernel
from carnet_check.engines.native.compiling import compiled

@compiled
def doubled(number):
    return 2 * number

print(doubled(21), doubled._cache.cache_path)
"""


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(tmp_path: Path) -> None:
    """In a container, say, whose user has no home."""
    nowhere = tmp_path / "file"
    nowhere.touch()
    script = tmp_path / "script.py"
    script.write_text(LOADED)
    here = {**os.environ, "HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere), "NUMBA_CACHE_DIR": ""}
    ran = subprocess.run([sys.executable, script], env=here, capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["42", "None"], ran.stderr


def test_a_block_is_an_odd_number_of_lines_of_the_cache() -> None:
    """Otherwise the same state's entries for all memos would be kept in few places, and drive each other out."""
    assert BLOCK % 8 == 0
    assert BLOCK // 8 % 2 == 1
