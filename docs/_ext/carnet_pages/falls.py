"""How many claims fall under each threat model if one defence is taken away.

A claim counts where the whole design makes it. It falls if a search finds an attack, which the interpreter replays; an
attack under one threat model is an attack under each that assumes no more. Where no attack is found, a proof is tried
for any number of everything; what is proved under a threat model is proved under each that assumes no less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from carnet_check.engines.exploration import Caps, Search
from carnet_check.engines.exploring.searches import moves, search_scope
from carnet_check.engines.induction import houdini, prove
from carnet_check.engines.induction.induction import ProofResult
from carnet_check.engines.registry import explorer
from carnet_check.loading.families import Source
from carnet_check.loading.scope import scope_of
from carnet_spec.language import Defence, Family, Protocol, SpecificationError, Threat

from .traces import Attacked, Traces, sizes

MOST_STATES = 500_000  #: Where each search ends. What it found until then is an attack all the same.

Values = Mapping[str, Any]


@dataclass
class Cell:
    """What becomes of the claims of a design under one threat model."""

    threat: Threat
    made: tuple[str, ...]  #: The claims that the whole design makes there.
    #: The claims that fall, each with the steps of the attack that was found.
    falls: dict[str, int] = field(default_factory=dict)
    #: What is proved without the defence; nothing is tried where a claim falls.
    proved: set[str] = field(default_factory=set)

    @property
    def standing(self) -> tuple[str, ...]:
        """The claims on which no attack is known."""
        return tuple(name for name in self.made if name not in self.falls)

    def assumes_all_of(self, other: Cell) -> bool:
        """Whether the threat model assumes all that another assumes: what happens here happens there."""
        return _assumed(self.threat) >= _assumed(other.threat)

    def take_over_falls(self, others: Iterable[Cell]) -> None:
        """Let fall what falls although more is assumed."""
        for other in others:
            if other.assumes_all_of(self):
                self.falls |= {name: steps for name, steps in other.falls.items() if name in self.made}

    def take_over_proofs(self, others: Iterable[Cell]) -> None:
        """Take as proved what is proved although less is assumed."""
        for other in others:
            if self.assumes_all_of(other):
                self.proved |= other.proved & set(self.made)

    @property
    def row(self) -> dict[str, Any]:
        """Return what is recorded."""
        return {
            "threat": self.threat.id,
            "made": list(self.made),
            "falls": {name: self.falls[name] for name in self.made if name in self.falls},
            "open": [] if self.falls else [name for name in self.made if name not in self.proved],
        }


class Judge:
    """Judges a family's designs that lack one defence; the proofs of the whole designs are made once."""

    def __init__(self, source: Source, traces: Traces) -> None:
        self.source = source
        self.traces = traces
        self._proofs: dict[tuple[str, str], ProofResult] = {}

    def row(self, defence: Defence, kept: Values | None = None) -> dict[str, Any]:
        """Return what is recorded of the design without a defence.

        Args:
            defence: what the design lacks.
            kept: what was recorded of an earlier design. Attacks that still are some are not looked for again, and what
                was proved is proved again first; where it no longer is, all is judged anew.
        """
        variant, weakened = weakened_by(self.source.family, defence)
        known = {each["threat"]: each for each in kept["threats"]} if kept else {}
        cells = self.cells(variant, weakened, defence.id, known)
        if any(cell.row["open"] and _was_proved(known.get(cell.threat.id)) for cell in cells):
            cells = self.cells(variant, weakened, defence.id)
        return {
            "defence": defence.id,
            "variant": variant,
            "digest": weakened.digest,
            "threats": [cell.row for cell in cells],
        }

    def cells(
        self, variant: str, weakened: Protocol, without: str, known: Mapping[str, Values] = MappingProxyType({})
    ) -> list[Cell]:
        """Judge a design under every threat model under which the whole one claims something."""
        whole = self.source.protocol(variant)
        cells = [cell for threat in weakened.threats if (cell := Cell(threat, made(whole, threat.id))).made]
        by_axioms = sorted(cells, key=lambda cell: len(cell.threat.axioms))
        for cell in reversed(by_axioms):
            cell.take_over_falls(cells)
            recorded = known.get(cell.threat.id)
            if not _was_proved(recorded) and not self._falls_again(weakened, without, cell, recorded):
                cell.falls |= self._attacked(weakened, without, cell)
        for cell in by_axioms:
            cell.take_over_proofs(cells)
            if not cell.falls:
                cell.proved |= self._proved(weakened, cell)
        return cells

    def _falls_again(self, weakened: Protocol, without: str, cell: Cell, recorded: Values | None) -> bool:
        """Let fall what a recorded attack breaks still; return whether that is all that was recorded as fallen."""
        for name in recorded["falls"] if recorded else ():
            if name in cell.standing:
                kept = self.traces.attack(weakened, (without,), cell.threat.id, name)
                cell.falls |= {name: moves(weakened, kept.trace)} if kept else {}
        return bool(recorded and recorded["falls"] and cell.falls.keys() >= recorded["falls"].keys())

    def _attacked(self, weakened: Protocol, without: str, cell: Cell) -> dict[str, int]:
        """Look for an attack on each claim that still stands, in every size.

        Raises ValueError if the interpreter does not reproduce what is found, or the instance is none.
        """
        found: dict[str, int] = {}
        for size in sizes(self.source.family, weakened.variant):
            left = tuple(name for name in cell.standing if name not in found)
            scope = scope_of(self.source, weakened, cell.threat.id, size, left).shared_part
            task = Search(
                reference=self.source.reference,
                variant=weakened.variant,
                without=(without,),
                threat=cell.threat.id,
                profile=size,
                claims=left,
                sought=True,
                caps=Caps(states=MOST_STATES),
            )
            covered = search_scope(explorer(), task, weakened, scope)
            if covered.problems:
                raise ValueError(f"without {without}: {'; '.join(covered.problems)}")
            for name, trace in covered.violations.items():
                self.traces.keep(Attacked(weakened, (without,), name, size, trace))
                found[name] = moves(weakened, trace)
        return found

    def _proved(self, weakened: Protocol, cell: Cell) -> set[str]:
        """Prove what is not proved yet; what does not touch the defence is taken over from the whole design."""
        left = [name for name in cell.made if name not in cell.proved]
        if not left:
            return set()
        known = (self._proof(weakened.variant, cell.threat.id), self._proof(weakened.variant, ""))
        found = houdini(weakened, cell.threat, baselines=known, claims=left, jobs=1)
        return {name for name in left if found.claim(name).is_proved}

    def _proof(self, variant: str, threat: str) -> ProofResult:
        """Prove a whole design under a threat model, or what needs none."""
        if (variant, threat) not in self._proofs:
            whole = self.source.protocol(variant)
            model = whole.threat(threat) if threat else None
            general = [self._proof(variant, "")] if threat else []
            self._proofs[variant, threat] = prove(whole, model, jobs=1, baselines=general)
        return self._proofs[variant, threat]


def _was_proved(recorded: Values | None) -> bool:
    return recorded is not None and not recorded["falls"] and not recorded["open"]


def weakened_by(family: Family, defence: Defence) -> tuple[str, Protocol]:
    """Return the variant that a defence belongs to, and the design without the defence."""
    variant = defence.base or family.main[0]
    return variant, family.protocol(variant, (defence.id,))


def made(protocol: Protocol, threat: str) -> tuple[str, ...]:
    """Return the claims that a design makes under a threat model."""
    return tuple(claim.name for claim in protocol.claims if not claim.declared and threat in claim.under)


def record(family: Family, kept: Sequence[Values], traces: Traces) -> Iterator[list[Values]]:
    """Yield all rows, in the order of the defences, each time that one was judged.

    Args:
        family: the protocol.
        kept: the rows of the last time; those about designs as they are now stay.
        traces: the attacks of the last time; those that are found are added.
    """
    judge = Judge(traces.source, traces)
    defences = family.protocol().defences
    rows = {row["defence"]: row for row in kept}
    for defence in defences:
        if not is_current(family, rows.get(defence.id)):
            rows[defence.id] = judge.row(defence, rows.get(defence.id))
            yield [rows[each.id] for each in defences if each.id in rows]


def is_current(family: Family, row: Values | None) -> bool:
    """Whether a row is about the specification as it is."""
    try:
        return row is not None and family.digest(row["variant"], (row["defence"],)) == row["digest"]
    except SpecificationError:
        return False


def _assumed(threat: Threat) -> set[object]:
    return {axiom.formula for axiom in threat.axioms}
