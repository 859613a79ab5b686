"""Every check of the reference implementation, found in its source and taken away, one at a time.

A check is a call of a role's `Checks`, an ``if`` that raises, a call whose only purpose is to raise, or a tag that is
verified. Each that an honest run goes through is removed from its module in memory, in a process of its own. Then three
things may notice: a role, if the honest run fails; ``carnet conform``, if its trace is no longer one of the spec; or a
test that plays a peer or a platform that does not do what it should.

A call of `Checks` is removed in two ways. If the whole call goes, so does its event, and ``carnet conform`` notices
that where the spec demands one. If the call stays and its condition is always true, the trace is that of a run with the
check: ``carnet conform`` cannot notice, and only tests are asked.

``python -m tests.faults.trying --out docs/results/removed-checks.csv`` tries all of them and writes the table.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "reference_impl" / "carnet_ref"
LOOKED_AT: Final = (
    "systems/gpu_travelling/roles",
    "systems/gpu_travelling/keys.py",
    "systems/gpu_travelling/device.py",
    "systems/gpu_travelling/orders.py",
    "systems/gpu_travelling/evidence",
    "systems/gpu_travelling/evidence.py",
    "keys",
    "device",
    "spdm",
    "attestation",
    "crypto",
    "wire",
)
"""What a run of the reference implementation checks with; the transport carries, and decides nothing."""
ASIDE: Final = frozenset({"formats.py", "event_log.py", "plotting.py"})
CALLS: Final = ("verify", "require", "accepted", "check", "insist", "refuse", "expect", "end")
"""How functions begin whose call is a check: they return nothing, and raise."""
UNVERIFIED: Final = "tests.faults.unverified"
"""The module that opens a message though its tag does not verify."""
UNSEEN: Final = ("condition true", "taken unverified")
"""The ways of removal that leave the event of a check in the trace: conformance cannot notice them."""


@dataclass(frozen=True, slots=True)
class Removable:
    """One check in the source, and what stands in its place once it is removed."""

    file: str
    place: str
    """The qualified name of the function that the check is in."""
    text: str
    """The check, on one line."""
    cites: tuple[str, ...]
    """The defence and the requirement that it names."""
    how: str
    lines: tuple[int, int]
    start: int
    end: int
    instead: str

    @property
    def id(self) -> str:
        """What names the check in tables: the place and the check itself."""
        return f"{self.place}: {self.text}"

    def removed_from(self, source: str) -> str:
        """Return the source of its file without it."""
        data = source.encode()
        return (data[: self.start] + self.instead.encode() + data[self.end :]).decode()


def removables(package: Path = PACKAGE, parts: Iterable[str] = LOOKED_AT) -> list[Removable]:
    """Return every check in these parts of a package, in the order of files and lines."""
    folders = [package / part for part in parts]
    files = {file for folder in folders for file in ([folder] if folder.suffix else folder.rglob("*.py"))}
    kept = sorted(file for file in files if file.is_file() and file.name not in ASIDE)
    return [found for file in kept for found in removables_in(file, package.parent)]


def removables_in(file: Path, root: Path) -> list[Removable]:
    """Return the checks in one file, whose name begins below ``root``."""
    source = file.read_text("utf-8")
    name = file.relative_to(root).as_posix()
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    finder = _Finder(source, name)
    return list(finder.under(ast.parse(source), (module.rpartition(".")[2],)))


class _Finder:
    """Walks a syntax tree and yields what can be removed."""

    def __init__(self, source: str, file: str) -> None:
        self._file = file
        self._starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def under(self, node: ast.AST, scope: tuple[str, ...]) -> Iterator[Removable]:
        """Yield the checks under a node."""
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            scope = (*scope, node.name)
        for how, where, instead in filter(None, (self._removed(node), _stubbed(node))):
            yield self._made(node, where, scope, how, instead)
        for child in ast.iter_child_nodes(node):
            yield from self.under(child, scope)

    def _removed(self, node: ast.AST) -> tuple[str, ast.AST, str] | None:
        """Return how a node is removed, what of it is replaced, and by what, if it is a check."""
        match node:
            case ast.If(body=[ast.Raise()], orelse=[]):
                return "guard dropped", node, "pass"
            case ast.Expr(value=ast.Call() as call) if _of_checks(call, "require"):
                return "call dropped", node, "pass"
            case ast.Lambda(body=ast.Call() as call) if _of_checks(call, "require"):
                return "call dropped", call, "None"
            case ast.Expr(value=ast.Call() as call) if not _of_checks(call) and _only_raises(call):
                return "call dropped", node, "pass"
            case ast.Call() if _of_checks(node, "expect"):
                return "any kind taken", node, ast.unparse(node.args[2])
            case ast.Call() if _of_checks(node, "verify"):
                return "opened, not looked at", node, f"({ast.unparse(node.args[2])})()"
            case ast.Call() if _of_checks(node, "passes"):
                return "always passes", node, "True"
            case ast.Call(func=ast.Attribute(attr="decrypt"), args=[nonce, sealed, _]) if _of_cipher(node):
                opened = f"self._cipher.encrypt({ast.unparse(nonce)}, {ast.unparse(sealed)}[:-16], b'')[:-16]"
                return "tag not verified", node, opened
        return None

    def _made(self, node: ast.AST, where: ast.AST, scope: tuple[str, ...], how: str, instead: str) -> Removable:
        assert isinstance(where, ast.stmt | ast.expr)
        assert isinstance(node, ast.stmt | ast.expr)
        test = node.test if isinstance(node, ast.If) else _called(node)
        last = where.end_lineno or where.lineno
        return Removable(
            self._file,
            ".".join(scope),
            _short(ast.unparse(test)),
            tuple(_cited(node)),
            how,
            (node.lineno, node.end_lineno or node.lineno),
            self._starts[where.lineno - 1] + where.col_offset,
            self._starts[last - 1] + (where.end_col_offset or 0),
            instead,
        )


def _stubbed(node: ast.AST) -> tuple[str, ast.AST, str] | None:
    """Return how a call of checks comes to pass whatever it looks at, and is logged all the same."""
    match node:
        case ast.Call(args=[_, _, condition]) if _of_checks(node, "require") or _of_checks(node, "passes"):
            return "condition true", condition, "True"
        case ast.Call(args=[_, _, _, kind]) if _of_checks(node, "expect"):
            return "condition true", kind, "object"
        case ast.Call(args=[_, _, opened]) if _of_checks(node, "verify"):
            return "taken unverified", opened, f"__import__({UNVERIFIED!r}, fromlist=['of']).of({ast.unparse(opened)})"
    return None


def _of_checks(call: ast.Call, method: str = "") -> bool:
    """Whether it is a call of a role's checks, of one method or of any."""
    if not isinstance(call.func, ast.Attribute) or (method and call.func.attr != method):
        return False
    owner = call.func.value
    name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    return name.removeprefix("_") == "checks"


def _of_cipher(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self._cipher"


def _only_raises(call: ast.Call) -> bool:
    """Whether the call is of a function that is named as one that raises or does nothing."""
    function = call.func
    name = (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )
    return name.lstrip("_").partition("_")[0] in CALLS


def _called(node: ast.AST) -> ast.AST:
    """Return the call that a statement or a function without a name consists of."""
    match node:
        case ast.Expr(value=call) | ast.Lambda(body=call):
            return call
    return node


def _cited(node: ast.AST) -> Iterator[str]:
    call = _called(node)
    if isinstance(call, ast.Call) and _of_checks(call):
        yield from (arg.value for arg in call.args[:2] if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:117] + "..."
