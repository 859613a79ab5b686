"""The machine by hand: which steps fit, what they change, why one is refused, and that it can go back."""

from __future__ import annotations

from collections import deque

import pytest

from carnet_check.conformance import Machine
from carnet_check.conformance.tables import Function, Relation
from carnet_spec.language import Draft, Instance, Step
from carnet_spec.trace import TraceStep as Taken
from tests.unit.model_check.small import Key, Party, Phase, corrupt, current, drafted, known, last, phase, seen

INSTANCE = Instance({"Party": ("p1", "p2"), "Key": ("k1", "k2")}, {"corrupt": frozenset({("p2",)})})


def see(step: Step, a: Party) -> None:
    step.require("new", ~seen(a))
    step.given("honest", ~corrupt(a) & (phase == Phase.EARLY))
    step.insert(seen(a))
    step.set(last, a)


def learn(step: Step, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))


def use(step: Step, a: Party) -> None:
    step.require("known and last", known(a) & (last == a))
    step.remove(seen(a))


def draw(step: Step, k: Key) -> None:
    step.fresh(k)
    step.set(current, k, when=current != k)


def _machine(draft: Draft | None = None) -> Machine:
    return Machine((draft or drafted(see, use, draw, rules=(learn,))).protocol(), INSTANCE)


def _step(name: str, **args: str) -> Taken:
    return Taken(name, "holder", tuple(args.items()))


def _take(machine: Machine, name: str, **args: str) -> None:
    (move,) = machine.moves(_step(name, **args))
    machine.take(move)


def _rows(machine: Machine, name: str) -> set[tuple[str, ...]]:
    table = machine.tables[name]
    assert isinstance(table, Relation)
    return set(table.rows)


@pytest.mark.parametrize(
    ("step", "misfit"),
    [
        (_step("see", a="p1"), ""),
        (_step("see"), ""),
        (_step("sea", a="p1"), "no action 'sea'"),
        (Taken("see", "spy", (("a", "p1"),)), "see is a step of the holder, not of 'spy'"),
        (_step("see", b="p1"), "no parameter 'b'"),
        (_step("see", a="k1"), "see: 'k1' is not a Party of this trace"),
    ],
)
def test_a_step_that_cannot_be_one_of_this_protocol_is_named(step: Taken, misfit: str) -> None:
    found = _machine().misfit(step)
    assert found.startswith(misfit)
    assert bool(found) is bool(misfit)


def test_a_step_that_is_taken_changes_the_state_and_all_that_follows() -> None:
    machine = _machine()
    _take(machine, "see", a="p1")
    assert (_rows(machine, "seen"), _rows(machine, "known")) == ({("p1",)}, {("p1",)})
    table = machine.tables["last"]
    assert isinstance(table, Function)
    assert table.values.get((), table.default) == "p1"


def test_a_step_whose_guard_does_not_hold_has_no_moves_and_the_guard_is_named() -> None:
    machine = _machine()
    assert machine.moves(_step("see", a="p2")) == []
    assert "'honest'" in machine.why_not(_step("see", a="p2"))
    assert "phase = EARLY" in machine.why_not(_step("see", a="p2"))
    assert "'known and last'" in machine.why_not(_step("use", a="p1"))


def test_why_a_step_is_refused_names_its_elements_and_what_the_state_says_instead() -> None:
    machine = _machine()
    _take(machine, "see", a="p1")
    why = machine.why_not(_step("see", a="p1"))
    assert why.startswith("see: ")
    assert "'new'" in why
    assert "seen(p1)" in why
    assert "last = p1" in machine.why_not(_step("use", a="p2"))


def test_a_used_element_is_not_drawn_again() -> None:
    machine = _machine()
    _take(machine, "draw", k="k1")
    assert machine.moves(_step("draw", k="k1")) == []
    assert "used" in machine.why_not(_step("draw", k="k1"))
    assert len(machine.moves(_step("draw", k="k2"))) == 1


def test_what_is_missing_is_chosen_in_each_way_that_makes_a_difference() -> None:
    machine = _machine()
    assert len(machine.moves(_step("see"))) == 1, "p2 is corrupt"
    assert len(machine.moves(_step("draw"))) == 2
    assert machine.moves(_step("use")) == []
    assert machine.why_not(_step("use")).endswith("for every choice of a")


def test_a_journal_takes_everything_back_in_reverse() -> None:
    machine = _machine()
    machine.journal = deque()
    _take(machine, "see", a="p1")
    _take(machine, "use", a="p1")
    assert _rows(machine, "seen") == set()
    while machine.journal:
        machine.journal.pop()()
    machine.journal = None
    assert (_rows(machine, "seen"), _rows(machine, "known")) == (set(), set())
    assert len(machine.moves(_step("see", a="p1"))) == 1


def test_the_first_state_has_its_deductions() -> None:
    def begin(step: Step, a: Party) -> None:
        step.given("corrupt", corrupt(a))
        step.insert(known(a))

    machine = _machine(drafted(see, use, rules=(learn, begin)))
    assert _rows(machine, "known") == {("p2",)}
