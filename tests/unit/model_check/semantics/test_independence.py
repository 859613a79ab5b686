"""The judge shares no code with what it judges, and neither do its tests."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import carnet_check.semantics

JUDGE = Path(carnet_check.semantics.__file__).parent
TESTS = Path(__file__).parent
ALLOWED = ("carnet_check.semantics", "carnet_spec", "tests.unit.model_check.small", "tests.unit.model_check.steps")


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_judge_and_its_tests_import_the_specification_and_themselves_alone() -> None:
    files = [*JUDGE.glob("*.py"), *TESTS.glob("*.py")]
    assert len(files) > 6
    for file in files:
        own = [name for name in _imported(file) if name.split(".")[0] in ("carnet_check", "carnet_spec", "tests")]
        assert [name for name in own if not name.startswith(ALLOWED)] == [], file.name


def test_asking_the_judge_loads_no_engine() -> None:
    script = "import sys, carnet_check.semantics; print(*(m for m in sys.modules if m.startswith('carnet_check.')))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "carnet_check.semantics.interpreter" in loaded
    assert [name for name in loaded if not name.startswith("carnet_check.semantics")] == []
