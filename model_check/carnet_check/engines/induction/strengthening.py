"""The choice of guesses that make an induction succeed: they exclude the states from which it fails, and are inductive.

Each obligation that fails has a state which some lemma has to exclude. Guesses that are false there are asked about:
first all together, and those that are not kept by some step are left out until the rest is. If none is left, the one
that the fewest steps break is taken for a lemma for now, and must be proved like any other; if that fails, too, it is
given up, and with it whatever was proved by it. So nothing is believed in the end that was not proved.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from carnet_check.engines.induction.counterexample import Counterexample, counterexamples_to
from carnet_check.engines.induction.induction import Houdini, ProofResult, answers_to, houdini, prove
from carnet_check.engines.induction.obligations import Obligation, System, obligations_of
from carnet_check.engines.induction.solving import Budget, Workers
from carnet_check.engines.interface import Guesses, Strengthening
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import load_hints
from carnet_check.engines.runner import Listener
from carnet_check.semantics import Interpreter
from carnet_command.text import plural
from carnet_spec.language import Invariant, Protocol, Symbol, Threat, terms

MOST_COUNTEREXAMPLES = 20  #: How many failing obligations are looked at before what is left is given up.
SEARCH_RLIMIT = 1_000_000  #: Units of the solver's counter for each question: what takes more is no lemma to offer.
STATE_RLIMIT = 400_000  #: Units of the solver's counter for each question about a state from which an obligation fails.
WORK = 60_000_000  #: Units of the solver's counter for all questions of all searches about one design.
LIMIT = f"{WORK:,} units of the solver's counter"  #: What a search ended after that spent its work, in words.
#: How much of that is for the search; the rest is to prove the claims with what was found, and to make that less.
SEARCH_SHARE = 0.75
TOGETHER = 16  #: How many guesses are asked about together.
CHUNKS = 3  #: How often guesses are asked about for one failing obligation.
ADOPTED = 2  #: How many guesses are taken that exclude the same state.
DEEPEST = 4  #: How many guesses, each to prove the next, may have been taken before they are proved.


def strengthen(
    protocol: Protocol,
    threat: Threat | None,
    claims: Collection[str],
    guesses: Guesses,
    rlimit: int,
    workers: Workers,
    listener: Listener,
    work: int = WORK,
) -> Strengthening:
    """Look for guesses with which the claims are proved, and drop the guesses that no proof of these claims needs.

    The proof of a claim may use any lemma of the protocol. Once a claim is proved, guesses that prove these lemmas are
    looked for, too. ``rlimit`` limits each question, and ``work`` all of them, in units of the solver's counter.
    """
    if work <= 0:
        return Strengthening((), {}, {}, tuple(claims), 0, LIMIT, 0, work)
    before = prove(protocol, threat, rlimit=rlimit, workers=workers)
    enough = min(rlimit, SEARCH_RLIMIT)
    searching = Budget(int(work * SEARCH_SHARE))
    proving = Budget(work - searching.left)
    search = _Search(before, guesses, enough, searching, workers.within(searching), listener)
    checked = {name: protocol.claim(name).checked.name for name in claims}
    search.run(checked.values())
    wanted = {*checked.values()} - search.given_up
    if wanted:
        wanted |= {each.name for each in protocol.lemmas if before.speaks_of(each.name) and before.missing(each.name)}
        search.run(wanted)
        wanted -= search.given_up
    asked = partial(houdini, threat=threat, claims=(), lemmas=wanted, rlimit=enough, workers=workers.within(proving))
    lemmas, uses = _Minimisation(asked, before, wanted).of(search.adopted_guesses)
    return Strengthening(
        lemmas,
        {claim: uses[name] for claim, name in checked.items() if name in uses},
        {name: used for name, used in uses.items() if name not in checked.values()},
        tuple(claim for claim, name in checked.items() if name not in uses),
        search.tried,
        LIMIT if searching.is_spent or proving.is_spent else search.limit,
        search.undecided,
        searching.left + proving.left,
    )


class _Minimisation:
    """Leaves out lemmas, and premises of lemmas, as long as as much is proved; each trial is a whole proof."""

    def __init__(self, asked: Callable[..., Houdini], before: ProofResult, names: Collection[str]) -> None:
        self._asked = asked
        self._before = before
        self._names = names

    def of(self, lemmas: Sequence[Invariant]) -> tuple[tuple[Invariant, ...], dict[str, tuple[str, ...]]]:
        """Return the lemmas that are left, and which of them the proof of each claim and lemma uses."""
        if not self._names:
            return (), {}
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
        names = [each.name for each in kept]
        uses = {name: self._found.proof.uses(name) for name in self._wanted}
        return tuple(kept), {name: tuple(each for each in names if each in used) for name, used in uses.items()}

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
        return {name for name in self._names if name not in found.dropped and not found.proof.missing(name)}

    def _used(self, lemmas: Iterable[Invariant]) -> list[Invariant]:
        used = {used for name in self._wanted for used in self._found.proof.uses(name)}
        return [lemma for lemma in lemmas if lemma.name in used]


def _premises(lemma: Invariant) -> tuple[terms.Term, ...]:
    """Return the premises of a lemma; the first one is what it is about."""
    return terms.conjuncts(lemma.body.premise if isinstance(lemma.body, terms.Implies) else terms.TRUE)


def _without(lemma: Invariant, premise: terms.Term) -> Invariant:
    """Return the lemma without a premise, of those parameters that it still speaks of."""
    assert isinstance(lemma.body, terms.Implies)
    rest = terms.conjunction(tuple(part for part in _premises(lemma) if part != premise))
    body = terms.Implies(rest, lemma.body.conclusion)
    spoken = terms.free_variables(body)
    return replace(lemma, body=body, params=tuple(var for var in lemma.params if var in spoken))


class _Search:
    """What is taken for a lemma so far, what is proved with that, and what was given up."""

    def __init__(
        self,
        before: ProofResult,
        guesses: Guesses,
        rlimit: int,
        budget: Budget,
        workers: Workers,
        listener: Listener,
    ) -> None:
        self._subject = before.system
        self._guesses = guesses
        self._rlimit = rlimit
        self._budget = budget
        self._workers = workers
        self._listener = listener
        self._considered: set[str] = set()
        self._decided: set[str] = set()
        self._hints = load_hints(before.protocol)
        proved = (each for each in before.answers.values() if each.outcome is SolverOutcome.PROVED)
        self._answers = {each.id: each for each in proved}
        self._depth: dict[str, int] = {}
        self._adopted: dict[str, Invariant] = {}
        self.given_up: set[str] = set()  #: the names of what is taken for a claim or a lemma no more.
        self._refused: dict[str, frozenset[str]] = {}
        self._looked_at = 0
        self.tried = 0  #: how many guesses were asked about.

    @property
    def adopted_guesses(self) -> list[Invariant]:
        """The guesses that are taken for lemmas."""
        return [each for name, each in self._adopted.items() if name not in self.given_up]

    @property
    def limit(self) -> str:
        """What ended the search although something was left to try, or nothing."""
        return plural(MOST_COUNTEREXAMPLES, "counterexample") if self._looked_at >= MOST_COUNTEREXAMPLES else ""

    @property
    def undecided(self) -> int:
        """How many plausible guesses were not asked about, or not answered definitely."""
        return len(self._considered - self._decided)

    def run(self, wanted: Collection[str]) -> None:
        """Go on until the proofs of what is wanted lack nothing, or nothing more can be done for them.

        If the budget is spent, what is taken for a lemma by then may not be proved.
        """
        while not self._budget.is_spent and (open_ := self._open(wanted)):
            for obligation in self._left(open_):
                if self._left([obligation]) and not self._excluded(obligation):
                    if self._budget.is_spent:
                        return
                    self._give_up(obligation.invariant.name)
                    break

    # -- what is proved ----------------------------------------------------------------------------

    def _system(self, more: Iterable[Invariant] = ()) -> System:
        stated = (each for each in self._subject.invariants if each.name not in self.given_up)
        return replace(self._subject, invariants=(*stated, *self.adopted_guesses, *more))

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
        now = frozenset(each.name for each in self.adopted_guesses)
        subject = replace(obligation, system=self._system())
        states = counterexamples_to(subject, min(self._rlimit, STATE_RLIMIT), self._budget)
        false = next((guesses for each in states if (guesses := self._plausible_before(each))), [])
        self._considered |= {each.name for each in false}
        asked = [each for each in false if self._refused.get(each.name) != now]
        for number in range(CHUNKS):
            chunk = asked[number * TOGETHER : (number + 1) * TOGETHER]
            self.tried += len(chunk)
            answers = self._inductive(chunk)
            self._refused |= dict.fromkeys((each.name for each in chunk), now)
            proved = {id.rpartition("/")[2] for id in answers}
            if proved:
                chosen = [each.name for each in chunk if each.name in proved][:ADOPTED]
                self._adopt_proved(chosen, {each.name: each for each in chunk}, answers, depth)
                return True
        return self._take_for_now(false, depth)

    def _plausible_before(self, found: Counterexample) -> list[Invariant]:
        """Return the plausible guesses that are false in a state, but for those that were given up."""
        protocol = self._subject.protocol
        judge, state = Interpreter(protocol, found.before.instance(protocol)), found.before.state(protocol)
        holding = {symbol for symbol, rows in found.before.relations.items() if rows}
        known = self.given_up | self._adopted.keys()
        false = [
            guess
            for guess in self._guesses.about(_spoken_of(found.obligation))
            if guess.name not in known
            and _premised(guess) <= holding
            and judge.counterexample(guess, state) is not None
        ]
        return self._guesses.plausible(false)

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
            self._decided |= {o.invariant.name for o in open_ if asked[o.id].outcome is SolverOutcome.REFUTED}
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
        self._decided |= {each.name for each in left}
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
    every = terms.symbols_of(terms.conjunction((obligation.goal, *obligation.own.values(), obligation.invariant.body)))
    return frozenset(symbol for symbol in every if symbol.mutable)


def _premised(guess: Invariant) -> frozenset[Symbol]:
    """Return the relations some fact of which a guess has as a premise."""
    return frozenset(part.symbol for part in _premises(guess) if isinstance(part, terms.Apply))
