"""What a step costs the adversary: the lowest bits of a state count it, if there is a budget."""

from __future__ import annotations

from carnet_check.engines.explicit.model import CompiledStep, Model


def spent_by(model: Model, step: CompiledStep) -> int:
    """Return the bits that count what the adversary has spent, if the step spends anything."""
    return model.layout.spent if step.action.cost else 0


def paid(touched: int, cleared: int, bits: int, step: CompiledStep, spent: int) -> tuple[int, int]:
    """Return masks that also count what the step costs."""
    if not spent:
        return touched, cleared
    total = (bits & spent) + step.action.cost
    return touched | spent, cleared | spent & ~total


def can_afford(model: Model, step: CompiledStep, s: int) -> bool:
    """Whether the adversary's budget allows one more of these steps."""
    budget = model.layout.instance.budget
    return budget is None or not step.action.cost or (s & model.layout.spent) + step.action.cost <= budget
