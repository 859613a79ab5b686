"""Steps of protocols of a few lines, apart from their vocabulary since tests have others that are called the same."""

from carnet_spec.language import Step
from tests.unit.model_check.small import Key, Party, first, known, last, paired, second, seen, third


def serve_one(step: Step, a: Party) -> None:
    """Serve the party that came last; for others go from here to there and back."""
    step.require("asked", first)
    step.insert(second, when=a == last)
    step.insert(third, when=(a != last) & ~third)
    step.remove(third, when=(a != last) & third)


def swing(step: Step) -> None:
    step.require("here", ~third)
    step.insert(third)


def back(step: Step) -> None:
    step.require("there", third)
    step.remove(third)


def ask(step: Step) -> None:
    step.require("quiet", ~first)
    step.insert(first)


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def learn(step: Step, a: Party) -> None:
    step.given("seen", seen(a))
    step.insert(known(a))


def draw_two(step: Step, one: Key, other: Key) -> None:
    step.fresh(one)
    step.fresh(other)
    step.insert(paired(one, other))
