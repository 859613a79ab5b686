"""Why a trace is a violation, in words with which a reader can take its steps by hand."""

from __future__ import annotations

from dataclasses import replace

from carnet_check.semantics import Interpreter
from carnet_check.wording import reasons
from carnet_spec.language import Draft, Instance, Step, implies
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.small import *

INSTANCE = Instance(
    {"Party": ("p1", "p2")},
    {"corrupt": frozenset({("p1",)}), "before": frozenset({("p1", "p2")})},
    {"alice": {(): "p1"}},
    first={"last": {(): "p2"}},
)


def _last_lines(draft: Draft) -> list[str]:
    """Return what is said, below what is false, of a step by p1 that violates a claim about the first value."""
    protocol = claimed(draft, late=lambda: implies(seen(alice), last == alice))
    judge = Interpreter(protocol, INSTANCE)
    trace = Trace("small", "main", (), "", (TraceStep("look", "holder", (("a", "p1"),)),))
    lines = reasons(judge, protocol.claim("late").checked, trace, judge.replay(trace))
    return lines[1 + lines.index("  it is false that  last = alice") :]


def look(step: Step, a: Party) -> None:
    step.given("corrupt", corrupt(a))
    step.insert(seen(a))


def compare(step: Step, a: Party, b: Party) -> None:
    step.given("before", before(a, b))
    step.insert(seen(b))


def test_what_the_instance_fixes_is_said_where_steps_or_the_claim_read_it() -> None:
    """A step that is not taken does not matter."""
    fixed = ["  never changes  Party: alice = p1 · corrupt: p1", "  at first  last: p2"]
    assert _last_lines(drafted(look, compare)) == fixed


def test_what_the_first_state_reads_is_said() -> None:
    draft = drafted(look)
    draft.initially(seen, lambda a: before(alice, a))
    assert _last_lines(draft)[0] == "  never changes  Party: alice = p1 · corrupt: p1 · before: p1 < p2"


def test_nothing_is_said_where_nothing_is_read() -> None:
    def blink(step: Step) -> None:
        step.insert(first)

    protocol = claimed(drafted(blink, compare), dark=lambda: ~first)
    judge = Interpreter(protocol, replace(INSTANCE, first={}))
    trace = Trace("small", "main", (), "", (TraceStep("blink", "holder", ()),))
    lines = reasons(judge, protocol.claim("dark").checked, trace, judge.replay(trace))
    assert lines == ["dark fails:", "  it is false that  ¬first"]
