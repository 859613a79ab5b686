"""Whether a changed action takes the same steps as the original one, in every state that satisfies the invariants.

The invariants are proved of the original, so these states include all reachable ones. Two actions take the same steps
if they lead from each such state to the same states; a step that changes nothing is ignored. The value of a parameter
that no update reads makes no difference to a step.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from carnet_check.engines.interface import StepProofs
from carnet_check.obligations.preconditions import precondition
from carnet_check.obligations.reading import Language, Steps, steps_of
from carnet_check.reserved_symbols import Purpose, stand_in
from carnet_spec.language import Action, Sort, Symbol, Term, terms

PROVED = "proved"


class Difference(StrEnum):
    """The ways in which a changed action may differ from the original one."""

    ELSEWHERE = "leads elsewhere"
    MORE = "can be taken more often"
    LESS = "can be taken less often"


@dataclass(frozen=True, slots=True)
class StepEquivalence:
    """Whether two actions take the same steps: yes, with the names of the hypotheses that show it, no, or unknown."""

    outcome: str
    core: tuple[str, ...] = ()
    #: The ways in which the second action may differ: those that are not proved impossible.
    differs: tuple[Difference, ...] = ()

    @property
    def is_proved(self) -> bool:
        """Whether the two actions provably take the same steps."""
        return self.outcome == PROVED


def step_equivalence(proofs: StepProofs, language: Language, before: Action, after: Action) -> StepEquivalence:
    """Return whether ``after`` takes the same steps as ``before``, as far as ``proofs`` can prove it."""
    return _Comparison(proofs, steps_of(before, language), steps_of(after, language)).outcome()


def under_every_threat(found: Iterable[StepEquivalence]) -> StepEquivalence:
    """Combine the results under several threat models: the steps are the same only if they are under each."""
    each = list(found)
    core = tuple(dict.fromkeys(name for one in each for name in one.core))
    differs = tuple(dict.fromkeys(how for one in each for how in one.differs))
    return StepEquivalence(next((one.outcome for one in each if not one.is_proved), PROVED), core, differs)


#: The difference if the entailment fails; the hypotheses by name; and the conclusion.
Question = tuple[Difference, dict[str, Term], Term]


@dataclass
class _Comparison:
    """Proves that both actions lead to the same states, and then that neither is enabled where the other is not."""

    proofs: StepProofs
    before: Steps
    after: Steps
    used: dict[str, None] = field(default_factory=dict)

    def outcome(self) -> StepEquivalence:
        """Try to prove all parts, and return the result."""
        differs: dict[Difference, str] = {}
        for how, given, goal in self._questions():
            answer = self.proofs.follows(given, goal)
            self.used.update(dict.fromkeys(answer.core))
            if answer.outcome != PROVED:
                differs[how] = answer.outcome
        if not differs:
            return StepEquivalence(PROVED, tuple(self.used))
        return StepEquivalence(next(iter(differs.values())), differs=tuple(differs))

    def _questions(self) -> Iterator[Question]:
        changed = [symbol for symbol in self._written() if _of(self.before, symbol) != _of(self.after, symbol)]
        if changed:
            yield Difference.ELSEWHERE, self._together(), terms.conjunction(tuple(map(self._alike, changed)))
        yield from self._only(Difference.MORE, self.after, self.before)
        yield from self._only(Difference.LESS, self.before, self.after)

    def _written(self) -> tuple[Symbol, ...]:
        updates = (*self.before.action.updates, *self.after.action.updates)
        return tuple(dict.fromkeys(update.symbol for update in updates))

    def _together(self) -> dict[str, Term]:
        """Return the hypotheses that both actions are enabled."""
        given = {each.name: each.formula for each in self.before.asked}
        return given | {
            f"changed {each.name}": each.formula for each in self.after.asked if given.get(each.name) != each.formula
        }

    def _alike(self, symbol: Symbol) -> Term:
        """Return the formula that a symbol has the same interpretation after both actions."""
        said = _somewhere(symbol)
        return _equivalent(precondition(said, self.before.changes), precondition(said, self.after.changes))

    def _only(self, how: Difference, one: Steps, other: Steps) -> Iterator[Question]:
        """Yield the questions whether ``one`` changes nothing where it is enabled and ``other`` is not."""
        known = {each.formula for each in one.asked}
        if all(each.formula in known for each in other.asked):
            return
        # The constants of parameters that no update of either action reads
        read = {
            var
            for update in (*self.before.action.updates, *self.after.action.updates)
            for term in (*update.args, update.when, *([update.value] if update.value is not None else []))
            for var in terms.free_variables(term)
        }
        params = self.before.action.params
        told: dict[Term, terms.Var] = {
            constant: var for var, constant in zip(params, self.before.constants, strict=True) if var not in read
        }
        asked = terms.conjunction(tuple(_opened(each.formula, told) for each in other.asked))
        denied = terms.Forall(tuple(told.values()), terms.negation(asked)) if told else terms.negation(asked)
        given = {each.name: each.formula for each in one.asked}
        written = (update.symbol for update in one.action.updates)
        idle = [_equivalent(precondition(said, one.changes), said) for said in map(_somewhere, dict.fromkeys(written))]
        yield how, given | {OTHERWISE: denied}, terms.conjunction(tuple(idle))


OTHERWISE = "the other action cannot be taken"


def _of(steps: Steps, symbol: Symbol) -> object:
    return steps.changes.get(symbol.name, ())


def _somewhere(symbol: Symbol) -> Term:
    """Return the formula that a relation holds at an arbitrary row, or that a function has an arbitrary value there."""
    row = tuple(_arbitrary(f"{symbol.name} at {number}", sort) for number, sort in enumerate(symbol.domain, 1))
    place = terms.Apply(symbol, row)
    return place if symbol.is_relation else terms.Equal(place, _arbitrary(f"value of {symbol.name}", symbol.result))


def _arbitrary(name: str, sort: Sort) -> terms.Apply:
    return stand_in(Purpose.SKOLEM, terms.Var(name, sort))


def _equivalent(one: Term, other: Term) -> Term:
    return terms.And((terms.Implies(one, other), terms.Implies(other, one)))


def _opened(term: Term, told: Mapping[Term, terms.Var]) -> Term:
    """Replace constants by variables."""
    return told[term] if term in told else terms.rebuild(term, lambda child: _opened(child, told))
