"""An engine is a folder and one registration: nothing else in the checker imports one, or calls one by its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from carnet_check.cli import BUILT_IN, main
from carnet_check.engines.registry import ENGINES

CHECKER = Path(__file__).parents[2] / "model_check" / "carnet_check"
HOMES = tuple(CHECKER.parent.joinpath(*target.partition(":")[0].split(".")).parent for target in ENGINES.values())
"""The folders of the engines; engines that do the same with different tools share one."""
REGISTRY = CHECKER / "engines" / "registry.py"
FILES = sorted(
    file for file in CHECKER.rglob("*.py") if file != REGISTRY and not any(home in file.parents for home in HOMES)
)
NAMED = re.compile(rf"\b({'|'.join(ENGINES)})\b")


def naming(source: str) -> Iterator[str]:
    """Yield the imports and texts of a module that name an engine; what documents it is none of them."""
    tree = ast.parse(source)
    documenting = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str() as module) if _is_engine(module):
                yield module
            case ast.Import(names=names):
                yield from (alias.name for alias in names if _is_engine(alias.name))
            case ast.Constant(value=str() as text) if id(node) not in documenting and NAMED.search(text):
                yield text


def _is_engine(module: str) -> bool:
    names = {home.name for home in HOMES}
    return any(module == f"carnet_check.engines.{name}" or f".engines.{name}." in module for name in names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(CHECKER).as_posix())
def test_no_engine_is_known_by_name(file: Path) -> None:
    assert list(naming(file.read_text("utf-8"))) == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_command_describes_itself_by_an_engine(name: str) -> None:
    """The options of a command list the engines that are registered; a sentence would list those of today."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.help
    assert not NAMED.findall(command.help.lower())


@pytest.mark.parametrize(
    "source",
    [
        "from carnet_check.engines.explicit import explore",
        "import carnet_check.engines.induction.induction",
        "if engine == 'induction': pass",
        "told = f'explicit: {size}'",
    ],
)
def test_a_name_of_an_engine_is_found(source: str) -> None:
    assert list(naming(source))


def test_every_engine_lives_in_a_folder_of_engines() -> None:
    assert {home.parent for home in HOMES} == {CHECKER / "engines"}
    assert all((home / "engine.py").is_file() for home in HOMES)
    assert all(target.partition(":")[0].endswith(".engine") for target in ENGINES.values())
