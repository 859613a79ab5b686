"""What is asked of the claims of one variant, and how answers without a threat model serve under each of them.

What no run does where nothing is assumed, no run does under a threat model, which only adds axioms. So each claim is
asked about without one first, and under a threat model only from the number of steps on that is still open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from carnet_check.engines.bounded.asking import Answer, Asked, answers, is_last
from carnet_check.engines.bounded.structures import Wanted
from carnet_check.engines.bounded.symbols import copied
from carnet_check.engines.bounded.unrolling import Unrolling
from carnet_check.engines.interface import Plan
from carnet_check.exports.smtlib import symbol_name
from carnet_check.obligations.reading import read
from carnet_command.worker import Lost
from carnet_command.workers import Pool
from carnet_spec.language import Threat

Told = Callable[[str, str, int], None]
"""Told a claim, a threat model or nothing, and the number of steps about which there is an answer."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a claim under a threat model: ``least`` steps or more are needed to break it.

    ``last`` is the answer about so many steps, or nothing where no more was asked.
    """

    least: int = 0
    last: Answer | None = None


class Questions:
    """The questions about one variant, up to a number of steps.

    Raises:
        SpecificationError: the protocol says something that the certified language cannot say.
    """

    def __init__(self, plan: Plan, depth: int, rlimit: int) -> None:
        self._plan = plan
        self._depth = depth
        self._rlimit = rlimit
        self._reading = read(plan.protocol)

    def answered(self, pool: Pool, told: Told) -> list[Standing]:
        """Return how each pair of claim and threat model stands, in the plan's order."""
        pairs = self._plan.pairs
        claims = list(dict.fromkeys(claim.name for claim, _ in pairs))
        general = dict(zip(claims, self._asked(pool, [(name, None, 0) for name in claims], told), strict=True))
        again = [(claim, threat) for claim, threat in pairs if self._is_open(general[claim.name], threat)]
        further = [(claim.name, threat, general[claim.name].least) for claim, threat in again]
        found = dict(zip(again, self._asked(pool, further, told), strict=True))
        return [found.get(pair) or general[pair[0].name] for pair in pairs]

    def _is_open(self, general: Standing, threat: Threat) -> bool:
        """Whether the axioms of a threat model may change the answer."""
        return general.last is not None and bool(self._reading.threats.get(threat.id))

    def _asked(self, pool: Pool, wanted: Sequence[tuple[str, Threat | None, int]], told: Told) -> list[Standing]:
        unrolled = {threat: Unrolling(self._reading, threat) for threat in dict.fromkeys(each for _, each, _ in wanted)}
        asked = [self._question(unrolled[threat], claim, threat, first) for claim, threat, first in wanted]
        found = {each.id: Standing(each.first) for each in asked}
        for part, said in pool.results(answers, asked, is_last):
            least = found[part.id].least
            answer = Answer.unknown(least, said.reason) if isinstance(said, Lost) else said
            found[part.id] = Standing(answer.steps + 1) if answer.is_proved else Standing(least, answer)
            told(*part.id, answer.steps)
        return [found[each.id] for each in asked]

    def _question(self, unrolling: Unrolling, claim: str, threat: Threat | None, first: int) -> Asked:
        invariant = self._plan.protocol.claim(claim).checked.name
        parts = unrolling.parts(self._depth)
        denied = tuple(unrolling.denied(invariant, place) for place in range(self._depth + 1))
        options = tuple(unrolling.options)
        id = (claim, threat.id if threat else "")
        return Asked(id, parts, denied, first, options, self._wanted(unrolling), self._rlimit)

    def _wanted(self, unrolling: Unrolling) -> Wanted:
        protocol = self._reading.protocol
        return Wanted(
            sorts=tuple(sort for sort in protocol.sorts if not sort.is_enumeration),
            rigid=tuple((symbol_name(symbol), symbol) for symbol in protocol.symbols if not symbol.mutable),
            first=tuple((symbol_name(copied(symbol, 0)), symbol) for symbol in unrolling.open),
        )
