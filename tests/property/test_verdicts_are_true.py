"""Verdicts on random and on once misjudged protocols are true, and a spoiled engine is noticed."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from carnet_check.errors import InvalidSpecificationError, UsageError
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter, NotEnabled, Replays, State
from carnet_spec.language import Effect, Family, Kind, Profile, Sort, SpecificationError, Symbol
from carnet_spec.language.terms import BOOL, TRUE, Apply, Equal, Exists, Not, Term, Var
from carnet_spec.trace import Trace, TraceStep
from tests.fixtures.thorough import share
from tests.oracle import found
from tests.oracle.compare import EXPLORED, Disagreement, Judgement, Refused, family, judge, judge_family, verdicts
from tests.oracle.evaluate import sorts_of
from tests.oracle.protocols import lively_recipes, recipes
from tests.oracle.recipe import ActionRecipe, ClaimRecipe, GuardRecipe, Params, Parts, Recipe, UpdateRecipe
from tests.oracle.vocabulary import HONEST, THIEF, sort_class
from tests.property.random_protocols import Sample, samples

PARTY = Sort("Party")
X, Y, STRANGER = Var("x", PARTY), Var("y", PARTY), Var("stranger", PARTY)
SPOILT = Symbol("spoilt", (PARTY,), BOOL, Kind.STATE, mutable=True, role=HONEST)
TOLD = Symbol("told", (PARTY,), BOOL, Kind.KNOWLEDGE, mutable=True)
HIDDEN = Symbol("hidden", (PARTY,), BOOL, Kind.TRUTH, mutable=False)
PLACE = Symbol("place", (), PARTY, Kind.STATE, mutable=True, role=HONEST)


def _insert(symbol: Symbol, arg: Term, when: Term = TRUE) -> UpdateRecipe:
    return UpdateRecipe(Effect.INSERT, Apply(symbol, (arg,)), None, when)


def _act(name: str, params: Params, guards: tuple[GuardRecipe, ...], *updates: UpdateRecipe) -> ActionRecipe:
    return ActionRecipe(name, HONEST, params, guards, updates)


def _more(recipe: Recipe, more: Parts) -> Recipe:
    parts = recipe.parts
    under = tuple(id for id, _ in recipe.threats)
    claims = tuple(claim if claim.under else replace(claim, under=under) for claim in more.claims)
    return replace(
        recipe,
        parts=replace(
            parts,
            actions=parts.actions + more.actions,
            initial=parts.initial + more.initial,
            axioms=parts.axioms + more.axioms,
            claims=parts.claims + claims,
        ),
    )


def updates_that_disagree(recipe: Recipe) -> Recipe:
    """One step inserts and removes what may be one fact."""
    remove = UpdateRecipe(Effect.REMOVE, Apply(SPOILT, (Y,)))
    return _more(recipe, Parts((_act("clash", (X, Y), (), _insert(SPOILT, X), remove),)))


def assignments_that_disagree(recipe: Recipe) -> Recipe:
    """One step gives a variable two values."""
    both = (UpdateRecipe(Effect.ASSIGN, Apply(PLACE, ()), value) for value in (X, Y))
    return _more(recipe, Parts((_act("clash", (X, Y), (), *both),)))


def honest_guard_on_truth(recipe: Recipe) -> Recipe:
    """An honest party checks what nobody can see."""
    guard = GuardRecipe("require", Not(Apply(HIDDEN, (X,))))
    return _more(recipe, Parts((_act("see", (X,), (guard,), _insert(SPOILT, X)),)))


def claim_under_nothing(recipe: Recipe) -> Recipe:
    """A claim is made under no threat model, though there are some."""
    threatened = replace(recipe, threats=recipe.threats or (("t", ()),))
    parts = threatened.parts
    claim = ClaimRecipe(("under nothing", (X,), Equal(X, X)))
    return replace(threatened, parts=replace(parts, claims=(*parts.claims, claim)))


def unknown_threat(recipe: Recipe) -> Recipe:
    """A claim is made under a threat model that nobody declared."""
    threatened = replace(recipe, threats=recipe.threats or (("t", ()),))
    return _more(threatened, Parts((), claims=(ClaimRecipe(("unknown", (X,), Equal(X, X)), ("nobody",)),)))


def axiom_about_state(recipe: Recipe) -> Recipe:
    """What changes is assumed."""
    written = _act("write", (X,), (), _insert(SPOILT, X))
    return _more(recipe, Parts((written,), axioms=(Exists((X,), Apply(SPOILT, (X,))),)))


def first_value_from_state(recipe: Recipe) -> Recipe:
    return _more(recipe, Parts((_act("write", (X,), (), _insert(SPOILT, X)),), initial=((SPOILT, (X,), _told(X)),)))


def _told(var: Var) -> Term:
    return Apply(TOLD, (var,))


def rule_on_what_is_not_deduced(recipe: Recipe) -> Recipe:
    """A rule follows from what is not deduced yet."""
    rule = ActionRecipe("deduce", THIEF, (X, Y), (GuardRecipe("given", Not(_told(Y))),), (_insert(TOLD, X),), rule=True)
    return _more(recipe, Parts((rule,)))


def claim_that_asks_for_a_deduction(recipe: Recipe) -> Recipe:
    rule = ActionRecipe("deduce", THIEF, (X,), (GuardRecipe("given", Equal(X, X)),), (_insert(TOLD, X),), rule=True)
    return _more(recipe, Parts((rule,), claims=(ClaimRecipe(("asked", (X,), _told(X))),)))


def stranger_in_a_guard(recipe: Recipe) -> Recipe:
    """A guard has a variable that nothing binds."""
    guard = GuardRecipe("require", Equal(X, STRANGER))
    return _more(recipe, Parts((_act("meet", (X,), (guard,), _insert(SPOILT, X)),)))


def stranger_in_a_claim(recipe: Recipe) -> Recipe:
    """A claim has a variable that nothing binds."""
    return _more(recipe, Parts((), claims=(ClaimRecipe(("met", (X,), Equal(X, STRANGER))),)))


def two_claims_of_a_name(recipe: Recipe) -> Recipe:
    claim = ClaimRecipe(("twice", (X,), Equal(X, X)))
    return _more(recipe, Parts((), claims=(claim, claim)))


def rigid_symbol_of_fresh_elements(recipe: Recipe) -> Recipe:
    """Elements that nobody has drawn yet are told apart."""
    coin = Sort("Coin", None, fresh=True)
    rusty = Symbol("rusty", (coin,), BOOL, Kind.PUBLIC, mutable=False)
    words = replace(recipe.words, classes={**recipe.words.classes, coin: sort_class(coin)})
    x = Var("x", coin)
    guard = GuardRecipe("given", Apply(rusty, (x,)))
    tossed = Symbol("tossed", (), BOOL, Kind.STATE, mutable=True, role=HONEST)
    action = ActionRecipe("toss", THIEF, (x,), (guard,), (UpdateRecipe(Effect.INSERT, Apply(tossed, ())),), fresh=(x,))
    return _more(replace(recipe, words=words), Parts((action,)))


def read_before_written(recipe: Recipe) -> Recipe:
    """A guard reads what nothing has written."""
    guard = GuardRecipe("require", Equal(Apply(PLACE, ()), X))
    return _more(recipe, Parts((_act("peek", (X,), (guard,), _insert(SPOILT, X)),)))


SPOILING = (
    axiom_about_state,
    claim_that_asks_for_a_deduction,
    first_value_from_state,
    read_before_written,
    rigid_symbol_of_fresh_elements,
    rule_on_what_is_not_deduced,
    stranger_in_a_claim,
    stranger_in_a_guard,
    two_claims_of_a_name,
    unknown_threat,
    assignments_that_disagree,
    claim_under_nothing,
    honest_guard_on_truth,
    updates_that_disagree,
)


# -- what ``verify`` says of random protocols is true ----------------------------------------------------


COUNT = int(os.environ.get("CARNET_RANDOM_PROTOCOLS", share(450)))
LIVELY_COUNT = int(os.environ.get("CARNET_RANDOM_PROTOCOLS", share(600)))
SEED = int(os.environ.get("CARNET_RANDOM_SEED", "1"))
RECORD = os.environ.get("CARNET_RANDOM_RECORD", "")
SHRINK = bool(os.environ.get("CARNET_RANDOM_SHRINK"))
SHOWN = ("PROVED", "EXHAUSTED", "VIOLATED", "VACUOUS")
SECONDS = 120 + COUNT  #: What the judging of them may take, generously.

CHUNK = 25  #: How many are drawn from one seed: what Hypothesis draws later is more and more like what it drew before.

drawn = settings(
    max_examples=min(CHUNK, COUNT),
    derandomize=False,  # the seed says which are drawn
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink) if SHRINK else (Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Tally:
    """What was judged, and each verdict that is not true with the protocol that it was given."""

    judged: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    too_big: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    untrue: dict[str, list[tuple[str, Disagreement]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, recipe: Recipe, judgement: Judgement) -> None:
        self.judged += 1
        self.too_big += judgement.too_big
        self.verdicts.update(judgement.rows)
        if judgement.refused:
            self.refused[judgement.refused.partition(":")[0][:60]] += 1
        for each in judgement.disagreements:
            self.untrue[each.kind].append((repr(recipe), each))

    def text(self) -> str:
        refused = sum(self.refused.values())
        lines = [f"{self.judged} protocols of seed {SEED}: {refused} refused, {self.too_big} too big to enumerate"]
        lines += [f"  {count:6} {verdict}" for verdict, count in sorted(self.verdicts.items())]
        return "\n".join([*lines, *(f"  {len(found):6} × {kind}" for kind, found in sorted(self.untrue.items()))])

    def table(self) -> str:
        """The counts as the documentation shows them: verdicts on claims, by either engine."""
        said: Counter[str] = Counter()
        for row, count in self.verdicts.items():
            kind, _, verdict = row.split()
            said[verdict] += count if kind == "claim" else 0
        counts = [SEED, self.judged, sum(self.refused.values()), self.too_big, *(said[word] for word in SHOWN)]
        counts.append(sum(len(found) for found in self.untrue.values()))
        head = ["seed", "protocols", "refused", "too big to enumerate", *SHOWN, "verdicts that are not true"]
        return f"{','.join(head)}\n{','.join(map(str, counts))}\n"

    def smallest(self, kinds: Iterable[str]) -> str:
        """The smallest protocol with a verdict of one of ``kinds`` that is not true."""
        found: list[tuple[str, Disagreement]] = [each for kind in kinds for each in self.untrue.get(kind, [])]
        if not found:
            return ""
        recipe, untrue = min(found, key=lambda pair: len(pair[0]))
        return f"{recipe}\n{untrue}"


def tally(strategy: st.SearchStrategy[Recipe], count: int) -> Tally:
    """Judge as many protocols, once."""
    counted = Tally()

    def judged(recipe: Recipe) -> None:
        judgement = judge(recipe)
        counted.add(recipe, judgement)
        assert not (SHRINK and judgement.disagreements), "\n".join(map(str, judgement.disagreements))

    for chunk in range(-(-count // CHUNK)):
        seed(f"{SEED}/{chunk}")(drawn(given(strategy)(judged)))()
    sys.stdout.write(f"\n{counted.text()}\n")
    return counted


@pytest.mark.long
@pytest.mark.timeout(SECONDS)
def test_verdicts_on_random_protocols_are_true() -> None:
    counted = tally(recipes(), COUNT)
    if RECORD:
        Path(RECORD).write_text(counted.table(), "utf-8")
    assert not counted.untrue, f"{counted.text()}\n{counted.smallest(counted.untrue)}"
    _require_variety(counted)


@pytest.mark.long
@pytest.mark.timeout(SECONDS)
def test_verdicts_on_random_protocols_that_say_what_happens_in_the_end_are_true() -> None:
    """They also say ``p >> false`` and ``~p | q``, and expect some claims to be violated."""
    counted = tally(lively_recipes(), LIVELY_COUNT)
    assert not counted.untrue, f"{counted.text()}\n{counted.smallest(counted.untrue)}"
    for least in ("induction PROVED", "explicit EXHAUSTED", "explicit VIOLATED", "explicit VACUOUS"):
        assert counted.verdicts[f"liveness {least}"] >= LIVELY_COUNT / 100, counted.text()


def _require_variety(counted: Tally) -> None:
    """Each verdict occurs often, so that the test can fail; few protocols are refused or too big."""
    rows, claims = counted.verdicts, sum(n for row, n in counted.verdicts.items() if row.startswith("claim induction"))
    assert counted.judged >= COUNT
    assert rows["claim induction PROVED"] >= claims / 4
    assert rows["claim explicit EXHAUSTED"] >= claims / 5
    assert rows["claim explicit VIOLATED"] >= claims / 8
    assert rows["claim explicit VACUOUS"] >= claims / 50
    assert sum(counted.refused.values()) <= counted.judged / 3
    assert counted.too_big <= 0.05 * counted.judged


@pytest.mark.parametrize("spoil", SPOILING)
def test_what_has_no_meaning_is_refused(spoil: Callable[[Recipe], Recipe]) -> None:
    few = settings(drawn, max_examples=8, phases=(Phase.generate,))

    @seed(SEED)
    @few
    @given(recipes())
    def refused(recipe: Recipe) -> None:
        spoilt = spoil(recipe)
        with pytest.raises(Refused):
            verdicts(family(spoilt, {sort.name: EXPLORED for sort in spoilt.words.sorts}))

    refused()


# -- small protocols that were given wrong verdicts: each is judged truly now, or refused ----------------


FOUND_AS = {
    "circle_of_early_reads": "R4",
    "constants_coincide": "R7",
    "flag_named_like_a_switch": "R5, R11",
    "given_back": "R1",
    "larger_premise": "R8",
    "layer_gives_a_first_value": "R6: first values of what the design below reads",
    "names_that_end_in_numbers": "R2",
    "obligations_of_one_name": "new: obligation ids are joined names",
    "premises_of_one_name": "new: goals that stand for premises are joined names",
    "premises_in_another_order": "new: goals that stand for premises are joined names",
    "read_before_written": "R10",
    "read_below_written_above": "R6",
    "sort_called_bool": "new: a sort may be called Bool",
    "sort_of_a_variable_only": "new: Protocol.sorts misses sorts of quantifiers and claims",
    "sweep_then_narrow": "what the order of updates means",
    "updates_that_disagree": "V5",
    "unset_variable_of_a_fresh_sort": "R10 with R1",
    "variable_of_two_sorts": "R9",
}


def asked(name: str) -> Family:
    """The family of a protocol, with two elements of each sort."""
    family = load(f"{found.__file__}:{name}").family
    sizes = {sort.name: EXPLORED for variant in family.variants for sort in sorts_of(family.protocol(variant))}
    known = {sort.name for variant in family.variants for sort in family.protocol(variant).sorts}
    scale = {sort: size for sort, size in sizes.items() if sort in known}
    return replace(family, profiles={"tiny": Profile("tiny", scale)})


@pytest.mark.parametrize("name", FOUND_AS)
def test_it_is_judged_truly_or_refused(name: str) -> None:
    try:
        judgement = judge_family(asked(name))
    except (SpecificationError, InvalidSpecificationError, UsageError):
        return  # refused already when it was read
    assert not judgement.too_big
    assert not judgement.disagreements, "\n".join(map(str, judgement.disagreements))


def test_every_protocol_is_judged() -> None:
    mine = {name for name, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__}
    drafts = {name for name in mine if isinstance(getattr(found, name), FunctionType) and not name.startswith("_")}
    assert {*FOUND_AS} == drafts | {name for name, value in vars(found).items() if isinstance(value, Family)}


# -- what the interpreter leaves undone because it cannot matter does not matter -------------------------


def _walk(judge: Interpreter, choices: list[int]) -> tuple[TraceStep, ...]:
    """Return a run of the protocol, made by choices among the steps that are possible."""
    state, steps = judge.initial(), []
    for choice in choices:
        possible = list(judge.enabled_steps(state))
        if not possible:
            break
        action, env = possible[choice % len(possible)]
        steps.append(TraceStep(action.name, action.by.name, tuple(env.items())))
        state = judge.step(state, action, env)
    return tuple(steps)


@settings(max_examples=60)
@given(samples(), st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=4))
def test_every_trace_ends_where_it_ends_by_itself(sample: Sample, walks: list[list[int]]) -> None:
    judge = Interpreter(sample.protocol, sample.instance)
    replays = Replays(judge)
    for walk in walks:
        steps = _walk(judge, walk)
        alone = judge.replay(Trace("sample", "main", (), "", steps))[-1]
        assert replays.end(steps) == alone
        assert replays.end(judge.expand(steps)) == alone


@settings(max_examples=80)
@given(samples(), st.lists(st.integers(0, 5), max_size=5))
def test_rules_are_tried_wherever_they_may_add_something(sample: Sample, choices: list[int]) -> None:
    """After a step from a state in which nothing follows, fewer rules are tried, and the same is added."""
    judge = Interpreter(sample.protocol, sample.instance)
    state = judge.initial()
    for choice in choices:
        possible = list(judge.enabled_steps(state))
        if not possible:
            break
        action, env = possible[choice % len(possible)]
        step = TraceStep(action.name, action.by.name, tuple(env.items()))
        (_, *derived), after = judge.step_with_deductions(state, step)
        assert after == _saturated(judge, judge.fire(state, action, env))
        state = judge.fire(state, action, env)
        for each in derived:
            grown = judge.fire(state, judge.protocol.action(each.action), each.env)
            assert grown != state
            state = grown
        assert state == after


def _saturated(judge: Interpreter, state: State) -> State:
    """Take every deduction that is possible, over and over, whatever it reads."""
    rules = [action for action in judge.protocol.actions if action.deduction]
    while True:
        before = state
        for rule in rules:
            pools = [judge.instance.of(var.sort) for var in rule.params]
            for chosen in itertools.product(*pools):
                with contextlib.suppress(NotEnabled):
                    state = judge.fire(state, rule, {v.name: e for v, e in zip(rule.params, chosen, strict=True)})
        if state == before:
            return state
