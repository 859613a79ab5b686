"""The faults that were found in Carnet itself, each with the tests that would notice if it came back."""

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from carnet_spec.language import SpecificationError

from .markdown import code, page, prose, table

FAULTS = "assurance/faults.toml"  #: Beside ``conf.py``.
RECORDS = "adr"  #: The folder of decision records, beside ``conf.py``.
MARK = "mends"  #: A test carries ``@pytest.mark.mends("R1")`` when it failed before that fault was mended.
ANSWERED = "low"  #: The class whose faults may be answered in SECURITY.md where no test can hold them.


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was wrong, in words."""

    id: str
    weight: str
    was: str
    decided: str = ""  #: The name of the decision record that answers it, where nothing was changed.


def read_faults(path: Path) -> tuple[Fault, ...]:
    """Return the faults that a file lists, in its order."""
    listed = tomllib.loads(path.read_text("utf-8"))["fault"]
    return tuple(Fault(each["id"], each["class"], each["was"], each.get("decided", "")) for each in listed)


def marks(tests: Path, mark: str = MARK) -> dict[str, list[str]]:
    """Return, for each id that tests below a folder are marked with, the tests, by path and name."""
    found: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        text = path.read_text("utf-8")
        for name, id in _marked(ast.parse(text), mark) if f".{mark}(" in text else ():
            found.setdefault(id, []).append(f"{path.relative_to(tests.parent).as_posix()}::{name}")
    return found


def _marked(module: ast.Module, mark: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                yield from ((node.name, id) for id in _ids(decorator, mark))


def _ids(decorator: ast.expr, mark: str) -> Iterator[str]:
    if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Attribute) and decorator.func.attr == mark:
        for argument in decorator.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value


def gaps(faults: Sequence[Fault], held: Mapping[str, Sequence[str]], answered: str, records: Path) -> list[str]:
    """Return what is wrong with the list: a fault that no test holds, a mark of no fault, a record that is not there.

    ``answered`` is the text that may answer faults of the lowest class instead, by their ids. ``records`` is the folder
    of decision records, one of which may answer a fault of any class.
    """
    known = {fault.id for fault in faults}
    unheld = [
        fault.id
        for fault in faults
        if fault.id not in held
        and not fault.decided
        and not (fault.weight == ANSWERED and f"**{fault.id}**" in answered)
    ]
    missing = [fault for fault in faults if fault.decided and not (records / f"{fault.decided}.md").is_file()]
    return [
        *(f"fault {fault.id}: there is no decision record {fault.decided}" for fault in missing),
        *(f"fault {id}: no test is marked as mending it" for id in unheld),
        *(
            f"{tests[0]}: marked as mending {id}, which no fault is called"
            for id, tests in held.items()
            if id not in known
        ),
    ]


def mended(
    faults: Sequence[Fault], held: Mapping[str, Sequence[str]], answered: str, records: Path = Path("docs", RECORDS)
) -> str:
    """Return the page. Raises SpecificationError if a fault has no test and no decision, or a test names no fault."""
    wrong = gaps(faults, held, answered, records)
    if wrong:
        raise SpecificationError("\n".join(["the list of mended faults has gaps:", *wrong]))
    rows = [(fault.id, fault.weight, prose(fault.was), _answer(fault, held.get(fault.id, ()))) for fault in faults]
    return page(
        "# Faults found and fixed in Carnet",
        "Readers and attackers made Carnet give wrong answers or opened what should be closed. Each fault has a "
        "test that failed before the fix and passes now, or a decision record that says why nothing was changed. The "
        "marks of the tests make this table.",
        table(("id", "class", "what was wrong", "tests that would notice it again"), rows),
    )


def _answer(fault: Fault, tests: Sequence[str]) -> str:
    decided = [f"decided: {{doc}}`/{RECORDS}/{fault.decided}`"] if fault.decided else []
    return "<br>".join([*decided, *map(code, tests)]) or "SECURITY.md"
