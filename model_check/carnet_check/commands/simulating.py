"""What ``carnet explore`` adds for random walks: how they are asked for, and what is told of violations on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from carnet_check.commands.common import AtLeastOne
from carnet_check.engines.exploration import DEFAULT_DEPTH, DEFAULT_SEED, Walks
from carnet_check.errors import UsageError

if TYPE_CHECKING:
    from carnet_check.attacks.hunt import AttackTarget
    from carnet_check.engines.exploration import Coverage

SHOWN_TRACES = 2
"""How many unexpected violations are told in full."""

depth_option = click.option(
    "--depth", type=AtLeastOne(), metavar="D", help=f"Steps of a random walk at most. [default: {DEFAULT_DEPTH}]"
)


def walks_given(number: int | None, depth: int | None, seed: int | None) -> Walks | None:
    """Return the random walks that are asked for.

    Raises:
        UsageError: there are none that a depth or a seed would be for.
    """
    if number is not None:
        return Walks(number, DEFAULT_DEPTH if depth is None else depth, DEFAULT_SEED if seed is None else seed)
    if depth is not None or seed is not None:
        raise UsageError(f"{'--depth' if seed is None else '--seed'} expects --simulate N: nothing else is random")
    return None


def minimised(target: AttackTarget, found: Coverage) -> Coverage:
    """Return what was found, with traces of random walks cut down to the steps that their violations need.

    Raises:
        EngineError: the interpreter does not reproduce a violation.
    """
    from carnet_check.attacks.minimise import minimise
    from carnet_check.semantics import Interpreter

    parts = []
    for part in found.parts:
        judge = Interpreter(target.protocol, part.instance)
        traces = {
            claim: minimise(judge, target.protocol.claim(claim).checked, trace)
            for claim, trace in part.exploration.violations.items()
        }
        parts.append(replace(part, exploration=replace(part.exploration, violations=traces)))
    return replace(found, parts=tuple(parts))


def counterexamples(target: AttackTarget, found: Coverage) -> Iterator[str]:
    """Tell the first few violations that nobody expected."""
    from carnet_check.attacks.describing import describe_attack
    from carnet_check.semantics import Interpreter

    protocol, threat = target.protocol, target.threat.id
    fallen = [claim for claim in found.violations if threat not in protocol.claim(claim).fails_under]
    for claim in fallen[:SHOWN_TRACES]:
        judge, trace = Interpreter(protocol, found.instance_of(claim)), found.violations[claim]
        yield f"{claim} is violated:"
        yield from describe_attack(judge, protocol.claim(claim).checked, trace, judge.replay(trace))
