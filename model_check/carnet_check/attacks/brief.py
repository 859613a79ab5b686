"""An attack in a few lines: honest steps and what is deduced are folded, and the decisive step stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from carnet_check.attacks.sequence import ShownStep, sequence_chart
from carnet_check.semantics import State
from carnet_check.wording import listed
from carnet_command.text import counted
from carnet_spec.language import Protocol
from carnet_spec.trace import Trace


def brief(protocol: Protocol, states: Sequence[State], trace: Trace, remarks: Mapping[int, str]) -> list[str]:
    """Tell an attack in a few lines, with the numbers that its steps have wherever it is told.

    Args:
        protocol: the design that is attacked.
        states: those along the trace, the first one included.
        trace: the steps.
        remarks: words to put below a step, by its position; such a step is not folded.
    """
    shown = list(enumerate(sequence_chart(protocol, states, trace).steps))
    last = len(shown) - 1

    def stays(place: tuple[int, ShownStep]) -> bool:
        position, step = place
        return position in remarks or position == last or (step.number is not None and not step.action.by.honest)

    lines: list[str] = []
    for kept, group in groupby(shown, key=stays):
        places = list(group)
        lines += _told(places, remarks) if kept else _folded([step for _, step in places])
    return lines


def _told(places: Sequence[tuple[int, ShownStep]], remarks: Mapping[int, str]) -> Iterator[str]:
    for position, step in places:
        yield f"{_label(step, step)}{step.sentence}"
        if position in remarks:
            yield f"{_NO_NUMBER}<<< {remarks[position]}"
        yield from (f"{_NO_NUMBER}>>> {party} learns {listed(facts)}" for party, facts in step.learned.items())


def _folded(steps: Sequence[ShownStep]) -> Iterator[str]:
    """Yield a line for a run of steps: who takes them, and what is deduced on the way."""
    numbered = [step for step in steps if step.number is not None]
    deduced = {
        party: [fact for step in steps if step.number is None for fact in step.learned.get(party, ())]
        for party in dict.fromkeys(party for step in steps for party in step.learned)
    }
    learned = [f"{party} works out {listed(facts)}" for party, facts in deduced.items() if facts]
    taken = []
    if len(numbered) == 1:
        taken = [numbered[0].sentence.removesuffix(".")]
    elif numbered:
        taken = [f"{counted(len(numbered), 'step')} of {listed(dict.fromkeys(step.actor for step in numbered))}"]
    if said := "; ".join((*taken, *learned)):
        label = _label(numbered[0], numbered[-1]) if numbered else _NO_NUMBER
        yield f"{label}{said}."


_WIDTH = 9
_NO_NUMBER = " " * _WIDTH


def _label(first: ShownStep, last: ShownStep) -> str:
    """Return the numbers of a run of steps, as wide as every label."""
    if first.number is None:
        return _NO_NUMBER
    numbers = f"{first.number}" if first is last else f"{first.number}-{last.number}"
    return f"{numbers:>{_WIDTH - 3}}.  "
