"""What docstrings refer to exists: the documentation shows only some of them, so no build looks at the rest."""

import ast
import functools
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.util import resolve_name
from pathlib import Path

import pytest

from tests.repo.tracked import SOURCE_ROOTS, parsed, read, tracked_python

REFERENCE = re.compile(r":(?:py:)?(?:attr|class|const|data|exc|func|meth|mod|obj):`~?([^`]+)`")


@functools.cache
def sources() -> dict[str, Path]:
    """Return the files of the packages by the names of their modules."""
    roots = {root.name for root in SOURCE_ROOTS}
    files = [path for path in tracked_python() if path.parts[0] in roots]
    return {".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__"): path for path in files}


def names(module: str, body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the whole names of what a module or a class defines."""
    for node in body:
        match node:
            case ast.ClassDef():
                yield f"{module}.{node.name}"
                yield from names(f"{module}.{node.name}", node.body)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield f"{module}.{node.name}"
            case ast.Assign():
                yield from (f"{module}.{target.id}" for target in node.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield f"{module}.{name}"


@functools.cache
def defined(module: str) -> set[str]:
    """Return the name of a module and the whole names of what it defines; nothing of the modules of others."""
    path = sources().get(module)
    return {module, *names(module, parsed(path).body)} if path else set()


def exists(name: str) -> bool:
    """Whether a whole name is one of a module, of what it defines, or of the standard library."""
    parts = name.split(".")
    modules = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return name in sys.stdlib_module_names or any(name in defined(module) for module in modules)


def unknown(module: str, path: Path, tree: ast.Module) -> Iterator[str]:
    """Yield what the docstrings of a module refer to and neither it nor a module that it imports from defines."""
    nodes = [*ast.walk(tree)]
    imports = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    near = {*names(module, tree.body)}.union(*map(defined, imports))
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node, clean=False) or "" for node in nodes if isinstance(node, documented)]
    for name in (name for text in texts for name in REFERENCE.findall(text)):
        if not exists(resolve_name(name, package)) and not any(each.endswith(f".{name}") for each in near):
            yield f"{path}: {name}"


def test_every_name_in_a_docstring_exists() -> None:
    referring = {module: path for module, path in sources().items() if REFERENCE.search(read(path))}
    assert len(referring) > 50
    assert [each for module, path in referring.items() for each in unknown(module, path, parsed(path))] == []


@pytest.mark.parametrize(
    ("text", "found"),
    {
        "a function of the module": (":func:`here`", True),
        "a method of an imported class": (":meth:`Engine.run`", True),
        "a module by its whole name": (":mod:`carnet_check.engines.registry`", True),
        "a module beside it": (":mod:`.registry`", True),
        "a module of the standard library": (":mod:`inspect`", True),
        "nothing of the module": (":func:`there`", False),
        "nothing of the class": (":meth:`Engine.fly`", False),
        "a whole name that is wrong": (":class:`~carnet_check.engines.registry.Engine`", False),
        "a module that is not beside it": (":mod:`.families`", False),
        "a class of a module that is not imported": (":class:`Interpreter`", False),
    }.values(),
)
def test_a_name_is_found_or_not(text: str, found: bool) -> None:
    code = f'"""See {text}."""\n\nfrom carnet_check.engines.interface import Engine\n\ndef here(): pass\n'
    told = [*unknown("carnet_check.engines.new", Path("new.py"), ast.parse(code))]
    assert (told == []) == found
