"""The choice of guesses that make an induction succeed: they exclude the states from which it fails, and are inductive.

Each obligation that fails has a state which some lemma has to exclude. Guesses that are false there are asked about:
first all together, and those that are not kept by some step are left out until the rest is. If none is left, the one
that the fewest steps break is taken for a lemma for now, and must be proved like any other; if that fails, too, it is
given up, and with it whatever was proved by it. So nothing is believed in the end that was not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from carnet_check.engines.induction.counterexample import counterexample
from carnet_check.engines.induction.induction import Houdini, ProofResult, answers_to, houdini, prove
from carnet_check.engines.induction.obligations import Obligation, System, obligations_of
from carnet_check.engines.induction.solving import Workers
from carnet_check.engines.interface import Guesses, Strengthening
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import load_hints
from carnet_check.engines.runner import Listener
from carnet_check.semantics import Interpreter
from carnet_spec.language import Invariant, Protocol, Symbol, Threat
from carnet_spec.language.terms import (
    TRUE,
    Apply,
    Implies,
    Term,
    conjunction,
    conjuncts,
    free_variables,
    symbols_of,
)

MOST_COUNTEREXAMPLES = 20
"""How many failing obligations are looked at before what is left is given up."""
SEARCH_RLIMIT = 1_000_000
"""Units of the solver's counter for each question: what takes more is no lemma to offer."""
TOGETHER = 16
"""How many guesses are asked about together."""
CHUNKS = 3
"""How often guesses are asked about for one failing obligation."""
ADOPTED = 2
"""How many guesses are taken that exclude the same state."""
DEEPEST = 4
"""How many guesses, each to prove the next, may have been taken before they are proved."""


def strengthened(
    protocol: Protocol,
    threat: Threat | None,
    claims: Collection[str],
    guesses: Guesses,
    rlimit: int,
    workers: Workers,
    listener: Listener,
) -> Strengthening:
    """Look for guesses with which the claims are proved, and drop the guesses that no proof of these claims needs."""
    before = prove(protocol, threat, rlimit=rlimit, workers=workers)
    enough = min(rlimit, SEARCH_RLIMIT)
    search = _Search(before, guesses, enough, workers, listener)
    search.run({protocol.claim(name).checked.name for name in claims})
    left = [name for name in claims if protocol.claim(name).checked.name not in search.given_up]
    if not left:
        return Strengthening((), {}, tuple(claims), search.tried)
    asked = partial(houdini, threat=threat, claims=left, rlimit=enough, workers=workers)
    found, lemmas = _Minimisation(asked, before, left).of(search.adopted)
    offered = {lemma.name for lemma in lemmas}
    proofs = {name: found.claim(name) for name in left}
    proved = {
        name: tuple(each for each in proof.lemmas if each in offered) for name, proof in proofs.items() if proof.proved
    }
    return Strengthening(lemmas, proved, tuple(name for name in claims if name not in proved), search.tried)


class _Minimisation:
    """Leaves out lemmas, and premises of lemmas, as long as as many claims are proved; each trial is a whole proof."""

    def __init__(self, asked: Callable[..., Houdini], before: ProofResult, claims: Collection[str]) -> None:
        self._asked = asked
        self._before = before
        self._claims = claims

    def of(self, lemmas: Sequence[Invariant]) -> tuple[Houdini, tuple[Invariant, ...]]:
        """Return the last proof, and the lemmas that it uses."""
        self._found = self._tried(lemmas, self._before)
        self._wanted = self._proved(self._found)
        kept = self._used(lemmas)
        for lemma in sorted(kept, key=lambda each: -len(each.params)):
            kept = self._accepted(kept, [each for each in kept if each is not lemma])
        for lemma in tuple(kept):
            for part in _premises(lemma)[1:]:
                kept = self._accepted(
                    kept, [_without(each, part) if each.name == lemma.name else each for each in kept]
                )
        return self._found, tuple(kept)

    def _accepted(self, kept: list[Invariant], other: list[Invariant]) -> list[Invariant]:
        """Return those of ``other`` that are used, if they prove as much, or else what was kept."""
        tried = self._tried(other, self._found.proof)
        if not self._proved(tried) >= self._wanted:
            return kept
        self._found = tried
        return self._used(other)

    def _tried(self, lemmas: Sequence[Invariant], baseline: ProofResult) -> Houdini:
        protocol = self._before.protocol
        return self._asked(replace(protocol, lemmas=(*protocol.lemmas, *lemmas)), baselines=[baseline])

    def _proved(self, found: Houdini) -> set[str]:
        return {name for name in self._claims if found.claim(name).proved}

    def _used(self, lemmas: Iterable[Invariant]) -> list[Invariant]:
        used = {name for claim in self._wanted for name in self._found.claim(claim).lemmas}
        return [lemma for lemma in lemmas if lemma.name in used]


def _premises(lemma: Invariant) -> tuple[Term, ...]:
    """Return the premises of a lemma; the first one is what it is about."""
    return conjuncts(lemma.body.premise if isinstance(lemma.body, Implies) else TRUE)


def _without(lemma: Invariant, premise: Term) -> Invariant:
    """Return the lemma without a premise, of those parameters that it still speaks of."""
    assert isinstance(lemma.body, Implies)
    rest = conjunction(tuple(part for part in _premises(lemma) if part != premise))
    body = Implies(rest, lemma.body.conclusion)
    spoken = free_variables(body)
    return replace(lemma, body=body, params=tuple(var for var in lemma.params if var in spoken))


class _Search:
    """What is taken for a lemma so far, what is proved with that, and what was given up.

    Attributes:
        given_up: the names of what is taken for a claim or a lemma no more.
        tried: how many guesses were asked about.
    """

    def __init__(
        self, before: ProofResult, guesses: Guesses, rlimit: int, workers: Workers, listener: Listener
    ) -> None:
        self._subject = before.system
        self._guesses = guesses
        self._rlimit = rlimit
        self._workers = workers
        self._listener = listener
        self._hints = load_hints(before.protocol)
        proved = (each for each in before.answers.values() if each.outcome is SolverOutcome.PROVED)
        self._answers = {each.id: each for each in proved}
        self._depth: dict[str, int] = {}
        self._adopted: dict[str, Invariant] = {}
        self.given_up: set[str] = set()
        self._refused: dict[str, int] = {}
        self._looked_at = 0
        self.tried = 0

    @property
    def adopted(self) -> list[Invariant]:
        """The guesses that are taken for lemmas."""
        return [each for name, each in self._adopted.items() if name not in self.given_up]

    def run(self, wanted: Collection[str]) -> None:
        """Go on until the proofs of what is wanted lack nothing, or nothing more can be done for them."""
        while open_ := self._open(wanted):
            for obligation in self._left(open_):
                if self._left([obligation]) and not self._excluded(obligation):
                    self._give_up(obligation.invariant.name)
                    break

    # -- what is proved ----------------------------------------------------------------------------

    def _system(self, more: Iterable[Invariant] = ()) -> System:
        stated = (each for each in self._subject.invariants if each.name not in self.given_up)
        return replace(self._subject, invariants=(*stated, *self.adopted, *more))

    def _open(self, wanted: Collection[str]) -> list[Obligation]:
        """Return what is not proved among the obligations of all that the wanted proofs rest on."""
        subject = self._system()
        of: dict[str, list[Obligation]] = {}
        for each in obligations_of(subject):
            of.setdefault(each.invariant.name, []).append(each)
        reached = {name for name in wanted if name in of}
        waiting = list(reached)
        while waiting:
            cores = (self._answers[each.id].core for each in of[waiting.pop()] if each.id in self._answers)
            used = {name.removeprefix("inv:") for core in cores for name in core if name.startswith("inv:")} - reached
            reached |= used
            waiting += used
        return [each for name in of if name in reached for each in of[name] if each.id not in self._answers]

    def _left(self, open_: Sequence[Obligation]) -> list[Obligation]:
        """Ask about obligations with all that is taken for a lemma, keep the proofs, and return what has none."""
        answers = self._solver_answers(open_, self._system())
        self._answers |= {id: each for id, each in answers.items() if each.outcome is SolverOutcome.PROVED}
        return [each for each in open_ if each.id not in self._answers]

    def _solver_answers(self, open_: Sequence[Obligation], subject: System) -> dict[str, SolverAnswer]:
        answers = answers_to(open_, subject, self._hints, self._rlimit, self._workers)
        return {answer.id: answer for answer in answers}

    def _give_up(self, name: str) -> None:
        """Take something for a lemma no more, and forget what was proved by it."""
        self.given_up.add(name)
        self._answers = {id: each for id, each in self._answers.items() if f"inv:{name}" not in each.core}

    # -- what excludes a state ---------------------------------------------------------------------

    def _excluded(self, obligation: Obligation) -> bool:
        """Take guesses that exclude a state from which an obligation fails, if there are any."""
        depth = self._depth.get(obligation.invariant.name, 0)
        if obligation.action is None or depth > DEEPEST or self._looked_at >= MOST_COUNTEREXAMPLES:
            return False
        self._looked_at += 1
        self._listener.status(f"looking for what excludes {obligation.id}; {self.tried} guesses tried")
        now = len(self.adopted)
        false = self._guesses.plausible(self._false_before(replace(obligation, system=self._system())))
        false = [each for each in false if self._refused.get(each.name) != now]
        for number in range(CHUNKS):
            chunk = false[number * TOGETHER : (number + 1) * TOGETHER]
            self.tried += len(chunk)
            answers = self._inductive(chunk)
            self._refused |= dict.fromkeys((each.name for each in chunk), now)
            proved = {id.rpartition("/")[2] for id in answers}
            if proved:
                chosen = [each.name for each in chunk if each.name in proved][:ADOPTED]
                self._adopt_proved(chosen, {each.name: each for each in chunk}, answers, depth)
                return True
        return self._take_for_now(false, depth)

    def _false_before(self, obligation: Obligation) -> list[Invariant]:
        """Return the guesses that do not hold in a small state from which the obligation fails."""
        found = counterexample(obligation, self._rlimit)
        if found is None:
            return []
        protocol = self._subject.protocol
        judge, state = Interpreter(protocol, found.before.instance(protocol)), found.before.state(protocol)
        holding = {symbol for symbol, rows in found.before.relations.items() if rows}
        known = self.given_up | self._adopted.keys()
        return [
            guess
            for guess in self._guesses.about(_spoken_of(obligation))
            if guess.name not in known
            and _premised(guess) <= holding
            and judge.counterexample(guess, state) is not None
        ]

    def _adopt(self, guesses: Iterable[Invariant], depth: int) -> None:
        for guess in guesses:
            self._adopted[guess.name] = guess
            self._depth[guess.name] = depth + 1

    def _adopt_proved(
        self, chosen: Iterable[str], chunk: Mapping[str, Invariant], answers: Mapping[str, SolverAnswer], depth: int
    ) -> None:
        """Take guesses, and those of the same chunk that their proofs use, with these proofs."""
        needed, waiting = set(chosen), [*chosen]
        while waiting:
            name = waiting.pop()
            own = (each for id, each in answers.items() if id.rpartition("/")[2] == name)
            used = {said.removeprefix("inv:") for each in own for said in each.core} & chunk.keys() - needed
            needed |= used
            waiting += used
        self._adopt((each for name, each in chunk.items() if name in needed), depth)
        self._answers |= {id: each for id, each in answers.items() if id.rpartition("/")[2] in needed}

    def _inductive(self, chunk: Sequence[Invariant]) -> dict[str, SolverAnswer]:
        """Return the proofs of those guesses of a chunk that are inductive together, if what else there is holds."""
        left = list(chunk)
        answers: dict[str, SolverAnswer] = {}
        while left:
            subject = self._system(left)
            open_ = [o for o in _obligations(subject, {each.name for each in left}) if o.id not in answers]
            asked = self._solver_answers(open_, subject)
            failed = {o.invariant.name for o in open_ if asked[o.id].outcome is not SolverOutcome.PROVED}
            gone = {f"inv:{name}" for name in failed}
            left = [each for each in left if each.name not in failed]
            names = {each.name for each in left}
            answers = {
                id: each
                for id, each in (answers | asked).items()
                if id.rpartition("/")[2] in names and gone.isdisjoint(each.core)
            }
            if not failed:
                break
        return answers

    def _take_for_now(self, false: Sequence[Invariant], depth: int) -> bool:
        """Take the plausible guess that the fewest steps break, if it may still be proved by another."""
        chunk = false[:TOGETHER] if depth < DEEPEST else []
        if not chunk:
            return False
        subject = self._system(chunk)
        open_ = list(_obligations(subject, {each.name for each in chunk}))
        asked = self._solver_answers(open_, subject)
        failing = {each.name: 0 for each in chunk}
        for each in open_:
            failing[each.invariant.name] += asked[each.id].outcome is not SolverOutcome.PROVED
        self._adopt([min(chunk, key=lambda each: failing[each.name])], depth)
        return True


def _obligations(subject: System, names: Collection[str]) -> Iterator[Obligation]:
    return (each for each in obligations_of(subject) if each.invariant.name in names)


def _spoken_of(obligation: Obligation) -> frozenset[Symbol]:
    """Return the symbols that the step and the invariant read, and change."""
    every = symbols_of(conjunction((obligation.goal, *obligation.own.values(), obligation.invariant.body)))
    return frozenset(symbol for symbol in every if symbol.mutable)


def _premised(guess: Invariant) -> frozenset[Symbol]:
    """Return the relations some fact of which a guess has as a premise."""
    return frozenset(part.symbol for part in _premises(guess) if isinstance(part, Apply))
