"""An attack as a test that fails until the defect is gone, and the replay that such a test runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from carnet_check.attacks.narrate import narrate, reason
from carnet_check.families import load
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_spec.language import Profile
from carnet_spec.trace import Step, Trace

Steps = Sequence[tuple[str, Mapping[str, str]]]
"""The names of the actions taken, each with the element chosen for each parameter."""


def stands(
    protocol: str,
    claim: str,
    steps: Steps,
    *,
    threat: str,
    variant: str,
    without: Sequence[str] = (),
    scale: Mapping[str, int] | None = None,
    budget: int | None = None,
) -> None:
    """Replay an attack and return if it no longer breaks ``claim``: a step became impossible, or the claim holds.

    Args:
        protocol: a registered id, ``path.py[:name]`` or ``module:name``.
        claim: the claim that the attack broke.
        steps: what was done, deductions included.
        threat: the threat model it was done under.
        variant: the design that was attacked.
        without: defences that were removed from it; a defence that is gone from the design altogether is an error.
        scale: the sizes of the instance.
        budget: the most active moves that the adversary has.

    Raises:
        AssertionError: the attack still works; the message tells it.
        UsageError: the protocol has no such claim, variant, defence or size.
        SpecificationError: an action or parameter no longer exists, so the attack says nothing about this design.
    """
    source = load(protocol)
    design = source.protocol(variant, tuple(without))
    judge = Interpreter(design, source.instance(design, threat, Profile("replayed", scale or {}, budget)))
    taken = tuple(Step(name, design.action(name).by.name, tuple(args.items())) for name, args in steps)
    trace = Trace(design.id, variant, tuple(without), threat, taken)
    invariant = design.claim(claim).checked
    try:
        states = judge.replay(trace)
    except NotEnabled:
        return
    if not judge.holds(invariant.formula, states[-1]):
        story = [*narrate(design, states, trace), *reason(judge, invariant, states[-1])]
        raise AssertionError("\n".join([f"the attack on {claim} still works:", *story]))


def as_test(attack: Mapping[str, Any], reference: str) -> str:
    """Write a pytest file that replays ``attack``, a record of one, against the protocol that ``reference`` names."""
    trace, profile = attack["trace"], attack["profile"]
    steps = "".join(
        f"    ({event['action']!r}, {event['args']!r}),  # {event['sentence']}\n" for event in attack["events"]
    )
    name = f"{trace['protocol']}_stands_against_an_attack_on_{attack['claim']}".replace("-", "_")
    removed = "Put the defence back by emptying WITHOUT." if attack["removed"] else ""
    return f'''"""{attack["sentence"]}

Fails until the defect is gone. {removed or "Repair the design and it passes."} Written by:
{attack["rerun"]}
"""

from carnet_check.attacks.regression import stands

WITHOUT = {_written(attack["removed"])}
STEPS = [
{steps}]


def test_{name}():
    stands(
        {_written(reference)},
        {_written(attack["claim"])},
        STEPS,
        threat={_written(attack["threat"]["id"])},
        variant={_written(trace["variant"])},
        without=WITHOUT,
        scale={_written(profile["scale"])},
        budget={profile["budget"]},
    )
'''


def _written(value: object) -> str:
    """Write texts, and lists and objects of them, as Python and as formatters like it."""
    return json.dumps(value, ensure_ascii=False)
