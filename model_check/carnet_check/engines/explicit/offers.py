"""What may be done in a state: steps in an order that protocol and instance decide, each drawn as likely as any other.

What an action may do is remembered by the bits that it reads, as the search remembers it. What is offered is in order:
by the place of the action, by the element that a part of it is for, and by the arguments. Nothing depends on what was
worked out before, so a seed and the number of a walk decide every step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from carnet_check.engines.explicit.chance import Chance, chance_of
from carnet_check.engines.explicit.costs import can_afford, paid, spent_by
from carnet_check.engines.explicit.groups import SAMPLE, Answer, Whole, split
from carnet_check.engines.explicit.guards import GuardWatch
from carnet_check.engines.explicit.memory import Memo
from carnet_check.engines.explicit.model import CompiledStep, Model
from carnet_check.engines.explicit.saturation import Writes, changed
from carnet_check.engines.explicit.search import MemoisedChange, Moves, read_by_step
from carnet_spec.language import Row

MOST = SAMPLE // 4
"""What a step may do is remembered as a whole if it tells at most so many states of a sample apart."""
SHARE = 0.9
"""Otherwise it is asked for one element at a time, if that tells fewer apart: several elements may have to be."""
MANY = 256
"""How many parts there are at most. Each is looked up in every state, unless nothing changed that it reads."""

Chosen = tuple[int, Row]
"""A step: the number of what offers it, and with which elements it is taken."""


class Offers:
    """What some steps may do, each an action or a part of one.

    Attributes:
        steps: the steps, by number.
        guards: how the guards of each were seen.
        memos: what each may do; what changes nothing is kept.
    """

    def __init__(self, model: Model, steps: Sequence[CompiledStep]) -> None:
        self.steps = steps
        self.guards = [GuardWatch(model.queries, step) for step in steps]
        self.memos = [_memo(model, step, guards) for step, guards in zip(steps, self.guards, strict=True)]
        self._ways: dict[tuple[int, int], dict[Row, int]] = {}

    def drawn(self, s: int, chance: Chance) -> tuple[int, int, int] | None:
        """Draw a step that changes a state: its number, which of its ways, and where it leads.

        What is drawn and changes nothing is drawn no more, so each that changes something is as likely as any other.
        """
        offered = [memo.answer(s) for memo in self.memos]
        left = sum(len(moves.effects) for moves in offered if moves)
        order = list(range(left))
        while left:
            place = chance.below(left)
            number, way = _located(offered, order[place])
            after = _after(s, offered[number], way)
            if after != s:
                return number, way, after
            left -= 1
            order[place] = order[left]
        return None

    def chosen(self, s: int, number: int, way: int) -> Chosen:
        """Return a step that was drawn in a state, by its elements."""
        return number, _ways(self.steps[number], s)[way][1]

    def taken(self, s: int, step: Chosen) -> int | None:
        """Return where a step leads, or nothing if it cannot be taken."""
        number, elements = step
        memo = self.memos[number]
        known = (number, s & memo.reads)
        if known not in self._ways:
            made = _ways(self.steps[number], s)
            self._ways[known] = {each: way for way, (_, each) in enumerate(made)}
        moves, way = memo.answer(s), self._ways[known].get(elements)
        return None if moves is None or way is None else _after(s, moves, way)


def offers_of(model: Model) -> tuple[Offers, list[int]]:
    """Return what a protocol offers, and the states of a walk by which actions were split that depend on many bits.

    That walk is the same whatever is asked for, and nothing is left of what it saw.
    """
    sample = _sample(model)
    whole = [(step, _memo(model, step, None)) for step in model.steps]
    parts = in_parts(whole, sample, lambda step: _memo(model, step, None))
    return Offers(model, [step for step, _ in parts]), sample


def in_parts(
    whole: Sequence[tuple[Whole, Memo[Answer]]], sample: Sequence[int], memo_of: Callable[[Whole], Memo[Answer]]
) -> list[tuple[Whole, Memo[Answer]]]:
    """Split what would be worked out anew in most states of a walk."""
    return split(whole, sample, MOST, memo_of, share=SHARE, many=MANY)


def _sample(model: Model) -> list[int]:
    """Return states that one walk comes through, which begins again where it cannot go on."""
    offers, start, chance = Offers(model, model.steps), model.saturation.start(), chance_of(0, 0)
    states = [start]
    while len(states) < SAMPLE:
        found = offers.drawn(states[-1], chance)
        if found is None and states[-1] == start:
            break
        states.append(start if found is None else found[2])
    model.saturation.forget()
    return states


def _memo(model: Model, step: CompiledStep, guards: GuardWatch | None) -> Memo[Moves | None]:
    """Return the memo of what a step may do, in the order of its arguments."""
    spent = spent_by(model, step)

    def work_out(bits: int) -> Moves | None:
        if not can_afford(model, step, bits):
            return None
        made = _ways(step, bits)
        if guards is not None:
            guards.see(bits, bool(made))
        effects: list[MemoisedChange] = []
        for writes, _ in made:
            masks = model.layout.written(writes.items(), memo.forget)
            effects.append((*paid(*masks, bits, step, spent), model.saturation.after(writes)))
        return Moves(tuple(effects), (step.action.name,) * len(made)) if made else None

    memo = Memo(work_out)
    read_by_step(model, step, memo)
    return memo


def _ways(step: CompiledStep, s: int) -> list[tuple[Writes, Row]]:
    """Return what a step writes in a state, and with which elements, in the order of these."""
    return sorted(step.moves(s), key=lambda way: way[1])


def _located(offered: Sequence[Moves | None], place: int) -> tuple[int, int]:
    """Return the step and the way of it that stand at a place among all that is offered."""
    for number, moves in enumerate(offered):
        count = len(moves.effects) if moves else 0
        if place < count:
            return number, place
        place -= count
    raise AssertionError("a step was drawn that is not offered")


def _after(s: int, moves: Moves | None, way: int) -> int:
    """Return where a step leads, with the deductions that follow it."""
    assert moves is not None
    touched, cleared, deductions = moves.effects[way]
    after = (s | touched) ^ cleared
    return after if deductions is None else changed(after, deductions.answer(after))
