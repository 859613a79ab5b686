"""An attack as numbered sentences, with what is learned at each step and why the claim fails at the end."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from carnet_check.semantics import Env, Interpreter, State
from carnet_check.wording.changes import changes
from carnet_check.wording.sentences import filled, known, listed
from carnet_spec.language import Action, Invariant, Protocol
from carnet_spec.language.notation import show
from carnet_spec.language.terms import And, Forall, Implies, Not, Or, Term, Var
from carnet_spec.trace import Trace

INDENT = "      "
GOING_ROUND = "  and then, again and again:"
STAYING = "  and then nothing happens any more"
"""How a run is told that goes on for ever."""


def narrate(
    protocol: Protocol,
    states: Sequence[State],
    trace: Trace,
    full: bool = False,
    remarks: Mapping[int, str] | None = None,
) -> list[str]:
    """Tell a trace: one numbered sentence for each step, what the adversary deduces and what is learned below it.

    Of a lasso the steps are told once that are taken again and again.

    ``states`` are those along the trace, the first one included; ``full`` adds the fields that each step changed, and
    ``remarks`` has words to put below a step, by its position.
    """
    lines: list[str] = []
    number = 0
    for position, step in enumerate(trace.steps):
        if position == trace.loop:
            lines.append(GOING_ROUND)
        action = protocol.action(step.action)
        sentence = filled(action.says, step.env)
        if silent(action):
            lines.append(f"{INDENT}{sentence}")
        else:
            number += 1
            lines.append(f"{number:>3}.  {sentence}")
        if remarks and position in remarks:
            lines.append(f"{INDENT}<<< {remarks[position]}")
        for knower, facts in known(protocol, states[position + 1], states[position]).items():
            lines.append(f"{INDENT}>>> {knower} learns {listed(facts)}")
        if full:
            changed = changes(protocol, states[position], states[position + 1])
            lines += [f"{INDENT}    {change.text}  [{change.where}]" for change in changed]
    return [*lines, STAYING] if trace.loop == len(trace.steps) else lines


def silent(action: Action) -> bool:
    """Whether a step is something that the adversary works out, rather than something that happens."""
    return action.deduction and not action.by.honest


def told_place(actions: Sequence[Action], position: int) -> str:
    """Say where a step stands among those of a trace, by the numbers of a told one; a deduction has none."""
    number = sum(not silent(action) for action in actions[: position + 1])
    if not silent(actions[position]):
        return f"at step {number}"
    return f"after step {number}" if number else "before step 1"


def reason(judge: Interpreter, invariant: Invariant, state: State) -> list[str]:
    """Say which part of a claim fails in ``state``, for which elements, and what makes it apply there."""
    env = judge.counterexample(invariant, state)
    if env is None:
        return [f"{invariant.name} holds here"]
    names = {param: env[param.name] for param in invariant.params}
    premises, failing = _descend(judge, invariant.body, state, names)
    chosen = ", ".join(f"{var.name.partition('.')[0]} = {element}" for var, element in names.items())
    lines = [f"{invariant.name} fails" + (f" for {chosen}:" if chosen else ":")]
    lines += _written("  given that  ", [part for premise in premises for part in _parts(premise)], names)
    return [*lines, *_written("  it is false that  ", [failing], names)]


def _parts(term: Term) -> tuple[Term, ...]:
    return term.parts if isinstance(term, And) else (term,)


def _written(label: str, parts: Sequence[Term], names: dict[Var, str]) -> list[str]:
    """Write each part on a line of its own below ``label``."""
    texts = [show(part, names=names) for part in parts]
    return [f"{label if not number else ' ' * len(label)}{text}" for number, text in enumerate(texts)]


def _descend(judge: Interpreter, term: Term, state: State, names: dict[Var, str]) -> tuple[list[Term], Term]:
    """Find the innermost part that has to hold and does not; ``names`` gains what it is about."""
    premises: list[Term] = []
    while True:
        match term:
            case Implies(premise, conclusion):
                premises.append(premise)
                term = conclusion
            case And(parts):
                term = next(part for part in parts if not _holds(judge, part, state, names))
            case Forall(bound, body):
                env = _counterexample(judge, bound, body, state, names)
                names.update({var: env[var.name] for var in bound})
                term = body
            case Or(parts) if any(isinstance(part, Not) for part in parts):
                premises += [part.body for part in parts if isinstance(part, Not)]
                term = Or(tuple(part for part in parts if not isinstance(part, Not)))
            case Or((only,)):
                term = only
            case _:
                return premises, term


def _holds(judge: Interpreter, term: Term, state: State, names: dict[Var, str]) -> bool:
    return judge.holds(term, state, {var.name: element for var, element in names.items()})


def _counterexample(judge: Interpreter, bound: tuple[Var, ...], body: Term, state: State, names: dict[Var, str]) -> Env:
    for row in itertools.product(*(judge.instance.of(var.sort) for var in bound)):
        env = {var.name: element for var, element in zip(bound, row, strict=True)}
        if not judge.holds(body, state, {**{var.name: e for var, e in names.items()}, **env}):
            return env
    raise AssertionError("a quantified formula that is false has a counterexample")
