"""A small state for tests of compiled formulas, choices and effects, and the interpreter's opinion of it."""

from carnet_check.conformance.formulas import Compiler, Frame
from carnet_check.conformance.tables import Function, Relation, Table, Work
from carnet_spec.language import Formula, Instance
from carnet_spec.language.terms import Var
from tests.unit.model_check.small import Party

PARTIES = ("p1", "p2", "p3")
X, Y = Var("x", Party.sort), Var("y", Party.sort)


def initial_tables() -> dict[str, Table]:
    """Two are seen, one is ahead of two others, and the last one is p2."""
    return {
        "seen": Relation("seen", [("p1",), ("p2",)]),
        "known": Relation("known"),
        "ahead": Relation("ahead", [("p1", "p2"), ("p1", "p3"), ("p3", "p3")]),
        "first": Relation("first", [()]),
        "second": Relation("second"),
        "last": Function("last", {(): "p2"}, "p1"),
    }


def compiler(state: dict[str, Table] | None = None) -> Compiler:
    return Compiler(Instance({"Party": PARTIES}), initial_tables() if state is None else state, Work())


def truth(formula: Formula, **chosen: str) -> bool:
    """Return what the compiled formula says of the elements that are chosen for x and y."""
    made = compiler()
    scope = made.scope((X, Y))
    holds = made.term(formula.term, scope)
    return bool(holds(frame(made, chosen.get("x", "p1"), chosen.get("y", "p1"))))


def frame(made: Compiler, *chosen: str) -> Frame:
    return [*chosen, *[""] * (made.room - len(chosen))]
