"""Where requirements and defences are enforced, read from the lines that cite them.

A line cites by a call of `Checks.require`, `Checks.expect`, `Checks.verify` or `Checks.passes`, or by the mark
`enforces`: see `carnet_ref.marks`. The source is parsed and not run, so a line that is taken away takes
its place in the table with it.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import carnet_ref

PACKAGE: Final = Path(carnet_ref.__file__).parent  #: The folder of the reference implementation.
#: Modules and packages that enforce nothing: ablations, the attacker, and the words that lines cite with.
NO_ENFORCEMENT: Final = frozenset({"ablations", "exploits", "enforcement"})
CHECKS: Final = frozenset({"require", "expect", "passes", "verify"})
MARK: Final = "enforces"
_REQUIREMENT: Final = re.compile(r"(REQ|CLAIM|LIVE)-[A-Z0-9-]+")
_DEFENCE: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class CitationError(ValueError):
    """A line cites something else than the id of a requirement and the name of a defence, as literal strings."""


@dataclass(frozen=True, slots=True, order=True)
class Citation:
    """One line that enforces what ``id`` asks for: a requirement's id, or a defence's name."""

    id: str
    place: str  #: The qualified name of the function that the line is in.
    file: str  #: The file, from the folder that holds the package.
    line: int

    @property
    def is_requirement(self) -> bool:
        """Whether it cites a requirement, and not a defence."""
        return _REQUIREMENT.fullmatch(self.id) is not None


def citations_in(package: Path, root: Path | None = None) -> tuple[Citation, ...]:
    """Return every citation in a package's source, in the order of its files and lines; names begin below ``root``.

    Raises CitationError if a line cites what is neither.
    """
    files = sorted(
        file
        for file in package.rglob("*.py")
        if not NO_ENFORCEMENT & set(file.relative_to(package).with_suffix("").parts)
    )
    return tuple(found for file in files for found in _in_file(file, root or package.parent))


@cache
def citations(protocol: str) -> tuple[Citation, ...]:
    """Return every citation in the system that implements a protocol, by the protocol's id; none, if there is none."""
    return citations_in(PACKAGE / "systems" / protocol.replace("-", "_"), PACKAGE.parent)


def places(found: Iterable[Citation]) -> Mapping[str, tuple[str, ...]]:
    """Return, for each id and name that is cited, the functions that cite it."""
    by_id: dict[str, dict[str, None]] = {}
    for each in found:
        by_id.setdefault(each.id, {})[each.place] = None
    return {id: tuple(names) for id, names in by_id.items()}


def _in_file(file: Path, root: Path) -> Iterator[Citation]:
    path = file.relative_to(root)
    module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    for scope, line, cited in _cited(ast.parse(file.read_text("utf-8")), ()):
        for id in cited:
            yield Citation(id, ".".join((module, *scope)), path.as_posix(), line)


def _cited(node: ast.AST, scope: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int, tuple[str, ...]]]:
    """Yield the scope, the line and what is cited, of each citation under a node."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        scope = (*scope, node.name)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            if isinstance(child.func, ast.Name) and child.func.id == MARK:
                yield scope, child.lineno, _literals(child, child.args)
            elif _is_check(child):
                yield scope, child.lineno, _literals(child, child.args[:2])
        yield from _cited(child, scope)


def _is_check(call: ast.Call) -> bool:
    """Whether a call is of a role's checks: ``checks.require``, ``self.checks.passes`` and the like."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in CHECKS:
        return False
    owner = call.func.value
    name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    return name.removeprefix("_") == "checks"


def _literals(call: ast.Call, args: Iterable[ast.expr]) -> tuple[str, ...]:
    cited = tuple(arg.value if isinstance(arg, ast.Constant) else None for arg in args)
    found = tuple(id for id in cited if isinstance(id, str) and (_REQUIREMENT.fullmatch(id) or _DEFENCE.fullmatch(id)))
    if not found or len(found) != len(cited):
        shown = ast.unparse(call)
        raise CitationError(f"line {call.lineno}: expected ids and names as literal strings, found {shown}")
    return found
