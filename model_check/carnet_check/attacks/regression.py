"""An attack as a test that fails until the defect is gone, and the replay that such a test runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_check.wording.narrate import narrate, reason
from carnet_command.printable import printable
from carnet_command.text import hanging
from carnet_spec.language import Profile
from carnet_spec.trace import Trace, TraceStep

WIDTH = 120
"""Columns that a written test takes at most."""

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
    """Replay an attack; return if it no longer breaks ``claim``, because a step became impossible or the claim holds.

    Args:
        protocol: a registered id, ``path.py[:name]`` or ``module:name``.
        claim: the claim that the attack broke.
        steps: what was done, deductions included.
        threat: the threat model it was done under.
        variant: the design that was attacked.
        without: defences that were removed from it; a defence that the design no longer has is an error.
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
    taken = tuple(TraceStep(name, design.action(name).by.name, tuple(args.items())) for name, args in steps)
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
    steps = "".join(f"{line}\n" for event in attack["events"] for line in _step(event))
    name = re.sub(r"\W", "_", f"{trace['protocol']}_stands_against_an_attack_on_{attack['claim']}", flags=re.ASCII)
    removed = "Put the defence back by emptying WITHOUT." if attack["removed"] else ""
    title = f"An attack on {attack['claim']} of {trace['protocol']}."
    return f'''"""{_prose(title)}

{_prose(attack["sentence"])}

Fails until the defect is gone. {removed or "Repair the design and it passes."} Written by:

{_prose("    " + attack["rerun"])}
"""

from carnet_check.attacks.regression import Steps, stands

WITHOUT: list[str] = {_written(attack["removed"])}
STEPS: Steps = [
{steps}]


def test_{name}() -> None:
    stands(
        {_written(reference)},
        {_written(attack["claim"])},
        STEPS,
        threat={_written(attack["threat"]["id"])},
        variant={_written(trace["variant"])},
        without=WITHOUT,
        scale={_mapping(profile["scale"], 8, len("scale=,"))},
        budget={profile["budget"]},
    )
'''


def _step(event: Mapping[str, Any]) -> list[str]:
    """Write a step, and what it says as a comment before it."""
    action, args = _written(event["action"]), event["args"]
    said = hanging(f"    # {printable(event['sentence'])}", 0, WIDTH - 2)
    comment = [said[0], *(f"    # {line.lstrip()}" for line in said[1:])]
    whole = f"    ({action}, {_written(args)}),"
    if len(whole) <= WIDTH:
        return [*comment, whole]
    return [*comment, "    (", f"        {action},", f"        {_mapping(args, 8, 1)},", "    ),"]


def _mapping(value: Mapping[str, Any], margin: int, beside: int) -> str:
    """Write a mapping on one line if it fits between its margin and what stands beside it, else an entry a line."""
    line = _written(value)
    if margin + len(line) + beside <= WIDTH:
        return line
    entries = "".join(f"{' ' * margin}    {_written(key)}: {_written(item)},\n" for key, item in value.items())
    return f"{{\n{entries}{' ' * margin}}}"


def _prose(text: str) -> str:
    """Write a sentence into a docstring, which nothing in it ends."""
    quoted = printable(text).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "\n".join(hanging(quoted, 0, WIDTH))


def _written(value: object) -> str:
    """Write texts, and lists and objects of them, as Python and as formatters like it."""
    return json.dumps(value, ensure_ascii=False)
