"""Minimal sets of assumptions and defences for the proof of a claim.

An element is an assumption (all axioms that state it) or a defence (its guards, and that its updates take place). A
proof without an element has none of its hypotheses: the axioms may be false, the guards may be ignored, and the updates
may take place or not. Invariants that are no longer inductive are dropped, round by round, and a claim is lost if it is
dropped.

The set of a claim is minimal: the claim is proved from it, and lost without any one of its elements. This is relative
to the lemmas of the specification and the solver's budget. If a proof failed because the solver gave no answer, the
element counts as needed and is marked as unsure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from carnet_check.engines.induction.induction import ProofResult, attempts, mutable_symbols, prove
from carnet_check.engines.induction.obligations import FRESH_VALUES_DIFFER, Obligation
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Batch, Question, Workers
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import load_hints
from carnet_spec.language import GuardKind, Protocol, Threat
from carnet_spec.language.terms import TRUE

#: Solver units for an obligation with hypotheses left out: ten times as many as a typical proof takes.
BUDGET = 100_000


@dataclass(frozen=True, slots=True, order=True)
class Element:
    """An assumption or a defence, by its id."""

    kind: str
    name: str


ASSUMPTION, DEFENCE = "assumption", "defence"
NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Minimal:
    """A minimal set of elements for the proof of a claim."""

    claim: str
    layer: str  #: the threat model whose axioms the proof may use; without one, the proof is valid under all.
    needed: tuple[Element, ...]  #: the elements of the minimal set, sorted.
    #: the elements of the set without which the solver gave no answer, so that they may be redundant.
    unsure: tuple[Element, ...]
    #: the elements that every set contains: without one of them there is no proof from all others.
    necessary: tuple[Element, ...]

    @property
    def only(self) -> bool:
        """Whether there is no other minimal set, as far as the solver's answers go."""
        return self.needed == self.necessary


@dataclass(frozen=True, slots=True)
class _Left:
    """The invariants that were dropped, and whether the solver failed to answer meanwhile."""

    lost: frozenset[str]
    unsure: bool


@dataclass
class Account:
    """The proofs of one layer, and the results of attempts with fewer hypotheses."""

    proof: ProofResult  #: the proof with all hypotheses.
    workers: Workers  #: the pool that runs the solver.
    asked: int = 0  #: the number of questions to the solver.
    #: For each obligation, sets of hypotheses that suffice.
    _cores: dict[str, list[frozenset[str]]] = field(default_factory=dict)
    #: For each obligation, sets of hypotheses without which no proof was found, and whether there was no answer.
    _failed: dict[str, list[tuple[frozenset[str], bool]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for id, answer in self.proof.answers.items():
            if answer.outcome is SolverOutcome.PROVED:
                self._cores[id] = [frozenset(answer.core)]

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """All assumptions that axioms state, and all defences with hypotheses in obligations."""
        protocol = self.proof.protocol
        stated = {Element(ASSUMPTION, axiom.states) for axiom in protocol.axioms}
        defences = {
            Element(DEFENCE, id) for each in self.proof.obligations.values() for id in each.of_defences.values()
        }
        return tuple(sorted(stated | defences))

    @cached_property
    def _hypotheses(self) -> Mapping[Element, Mapping[str, frozenset[str]]]:
        """The hypotheses of each element in each obligation that has any."""
        found: dict[Element, dict[str, frozenset[str]]] = {element: {} for element in self.elements}
        axioms: dict[str, frozenset[str]] = {}
        for axiom in self.proof.protocol.axioms:
            axioms[axiom.states] = axioms.get(axiom.states, frozenset()) | {f"axiom:{axiom.name}"}
        for id, each in self.proof.obligations.items():
            for name, axioms_of in axioms.items():
                found[Element(ASSUMPTION, name)][id] = axioms_of
            for defence in set(each.of_defences.values()):
                names = frozenset(name for name, id in each.of_defences.items() if id == defence)
                guards = each.action.guards if each.action else ()
                drawn = {f"guard:{guard.name}" for guard in guards if guard.kind is GuardKind.FRESH}
                found[Element(DEFENCE, defence)][id] = names | {FRESH_VALUES_DIFFER} if drawn & names else names
        return found

    @cached_property
    def _of_invariant(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for id, each in self.proof.obligations.items():
            found.setdefault(each.invariant.name, []).append(id)
        return found

    def used(self, invariant: str) -> tuple[Element, ...]:
        """Return the elements that the proof with all hypotheses used, according to its unsatisfiable cores."""
        rest_on = {id: self._cores[id][0] for id in self._ids(self.proof.uses(invariant)) if id in self._cores}
        return tuple(
            element
            for element, hypotheses in self._hypotheses.items()
            if any(hypotheses.get(id, NOTHING) & core for id, core in rest_on.items())
        )

    def _ids(self, invariants: Iterable[str]) -> list[str]:
        return [id for name in invariants for id in self._of_invariant.get(name, ())]

    # -- doing without ----------------------------------------------------------------------------

    def without(self, elements: Collection[Element], wanted: Collection[str]) -> _Left:
        """Drop the invariants that are not inductive without ``elements``, among those on which ``wanted`` depends."""
        lost: set[str] = set()
        unsure = False
        while True:
            barred = _Barred(self._hypotheses, elements, lost)
            open_ = [id for id in self._needed(set(wanted) - lost, barred) if self._known_core(id, barred[id]) is None]
            failed = {id: self._failed.get(id, ()) for id in open_}
            known = {
                id: next((unsure for fewer, unsure in sets if fewer <= barred[id]), None) for id, sets in failed.items()
            }
            fell = {id: bool(unsure) for id, unsure in known.items() if unsure is not None}
            if not fell:
                fell = self._ask(self._one_of_each(open_), barred)
            if not open_:
                return _Left(frozenset(lost), unsure)
            lost |= {self.proof.obligations[id].invariant.name for id in fell}
            unsure |= any(fell.values())

    def _needed(self, wanted: Collection[str], barred: _Barred) -> list[str]:
        """Return the obligations of all invariants on which ``wanted`` depends in known proofs, in a fixed order."""
        reached, waiting = set(wanted), sorted(wanted)
        found: list[str] = []
        while waiting:
            for id in self._ids((waiting.pop(),)):
                found.append(id)
                core = self._known_core(id, barred[id]) or NOTHING
                new = {name.removeprefix("inv:") for name in core if name.startswith("inv:")} - reached
                reached |= new
                waiting += sorted(new)
        return sorted(found)

    def _one_of_each(self, ids: Iterable[str]) -> list[str]:
        """Return one obligation for each invariant; if it has no proof, the others need not be tried."""
        found: dict[str, str] = {}
        for id in ids:
            found.setdefault(self.proof.obligations[id].invariant.name, id)
        return list(found.values())

    def _known_core(self, id: str, barred: frozenset[str]) -> frozenset[str] | None:
        return next((core for core in self._cores.get(id, ()) if not core & barred), None)

    def _ask(self, ids: Sequence[str], barred: _Barred) -> dict[str, bool]:
        """Look for proofs without barred hypotheses; return the unproved ids, each with whether there was no answer."""
        failed = {}
        for answer in self._answers([self.proof.obligations[id] for id in ids], barred):
            if answer.outcome is SolverOutcome.PROVED:
                self._cores.setdefault(answer.id, []).append(frozenset(answer.core))
            else:
                failed[answer.id] = answer.outcome is SolverOutcome.UNKNOWN
                self._failed.setdefault(answer.id, []).append((barred[answer.id], failed[answer.id]))
        self.asked += len(ids)
        return failed

    def _answers(self, asked: Sequence[Obligation], barred: _Barred) -> Iterator[SolverAnswer]:
        subject, hints = self.proof.system, load_hints(self.proof.protocol)
        for stepping, shared in ((False, subject.init_hypotheses), (True, subject.step_hypotheses)):
            mutable = mutable_symbols(shared)
            questions = tuple(
                Question(
                    each.id,
                    each.negated_goal,
                    each.own_statements,
                    tuple(
                        dict.fromkeys(
                            tuple(name for name in names if name not in barred[each.id])
                            for names in attempts(each, mutable, hints.get(each.id))
                        )
                    ),
                )
                for each in asked
                if (each.action is not None) == stepping and each.goal != TRUE
            )
            if questions:
                yield from self.workers.answers(Batch(subject.declarations, shared, questions, BUDGET))


class _Barred:
    """The hypotheses that each obligation must not use: those of some elements, and dropped invariants."""

    def __init__(
        self,
        hypotheses: Mapping[Element, Mapping[str, frozenset[str]]],
        elements: Collection[Element],
        lost: Iterable[str],
    ) -> None:
        self._of = [hypotheses[element] for element in elements]
        self._lost = frozenset(f"inv:{name}" for name in lost)

    def __getitem__(self, id: str) -> frozenset[str]:
        return self._lost.union(*(of.get(id, NOTHING) for of in self._of))


# -- claims ----------------------------------------------------------------------------------------


def minimal_sets(account: Account, claims: Collection[str]) -> Iterator[Minimal]:
    """Yield, for each of ``claims`` that is proved, a minimal set of elements for its proof."""
    protocol, proof = account.proof.protocol, account.proof
    stated = {name: protocol.claim(name).checked.name for name in claims}
    proved = {name: invariant for name, invariant in stated.items() if proof.claim(name).is_proved}
    used = {name: account.used(invariant) for name, invariant in proved.items()}
    single = {
        element: account.without((element,), {proved[name] for name in proved if element in used[name]})
        for element in sorted({element for elements in used.values() for element in elements})
    }
    for name, invariant in proved.items():
        lost = [element for element in used[name] if invariant in single[element].lost]
        unsure = [element for element in lost if single[element].unsure]
        rest = [element for element in account.elements if element not in lost]
        if invariant not in account.without(rest, {invariant}).lost:
            yield Minimal(name, _layer(proof), tuple(lost), tuple(unsure), tuple(lost))
        else:
            yield _greedy(account, name, used[name], lost, unsure)


def _greedy(
    account: Account, name: str, used: Sequence[Element], necessary: Sequence[Element], unsure: Sequence[Element]
) -> Minimal:
    """Return the minimal set that results from leaving out elements in their order as long as the claim is proved."""
    invariant = account.proof.protocol.claim(name).checked.name
    kept, doubted = list(used), set(unsure)
    for element in used:
        if element in necessary:
            continue
        rest = [each for each in account.elements if each not in kept or each == element]
        left = account.without(rest, {invariant})
        if invariant not in left.lost:
            kept.remove(element)
        elif left.unsure:
            doubted.add(element)
    return Minimal(name, _layer(account.proof), tuple(kept), tuple(sorted(doubted & set(kept))), tuple(necessary))


def _layer(proof: ProofResult) -> str:
    return proof.threat.id if proof.threat else ""


def accounts(
    protocol: Protocol, threats: Iterable[Threat], workers: Workers, rlimit: int = DEFAULT_RLIMIT
) -> Iterator[Account]:
    """Yield the account of the proofs without a threat model, then of those under each of ``threats``."""
    general = prove(protocol, None, rlimit=rlimit, workers=workers)
    yield Account(general, workers)
    for threat in threats:
        yield Account(prove(protocol, threat, rlimit=rlimit, workers=workers, baselines=[general]), workers)


def claims_of_layers(protocol: Protocol, default: str = "") -> dict[str, tuple[str, ...]]:
    """Return the claims for the account of each layer; each claim is in one layer, with few axioms about corruption.

    A claim that is made under every threat model is in the layer without one. Another claim is under ``default`` if it
    is made there, else under that of its threat models with the fewest axioms.
    """
    every = {threat.id for threat in protocol.threats}
    found: dict[str, tuple[str, ...]] = {}
    for claim in protocol.claims:
        under = set(claim.under) - set(claim.fails_under)
        if claim.invariant is None or not (under or not every):
            continue
        fewest = min((t for t in protocol.threats if t.id in under), key=lambda t: len(t.axioms), default=None)
        layer = "" if every <= under else default if default in under else fewest.id if fewest else ""
        found[layer] = (*found.get(layer, ()), claim.name)
    return found
