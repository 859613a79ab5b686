"""What is explored and proved of random liveness properties is what components of the enumerator's graph say."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.certificates import production
from carnet_check.certificates.producing.refutation import NotFound
from carnet_check.certificates.production import certificate
from carnet_check.engines.explicit.liveness import lassos
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.exploring.searches import decided_together
from carnet_check.engines.induction.liveness import LivenessProofs
from carnet_check.engines.induction.solving import Workers
from carnet_check.exports.obligation_text import Writer
from carnet_check.obligations import LivenessObligation, attempts, layers
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import objection, with_rules_as_steps
from carnet_spec.language import (
    Action,
    Effect,
    Eventually,
    Given,
    Guard,
    Instance,
    Kind,
    Protocol,
    Sort,
    SpecificationError,
    Symbol,
    Term,
    Update,
)
from carnet_spec.language.lints.shape import hasty_reads
from carnet_spec.language.notation import show
from carnet_spec.language.printing import fair_steps, show_action
from carnet_spec.language.terms import BOOL, TRUE, Apply, Not, Var
from tests.fixtures.lassos import answers, compiled_lassos
from tests.fixtures.thorough import share
from tests.oracle.enumerate import worlds
from tests.oracle.evaluate import Sizes, TooBigError, rows, sorts_of
from tests.oracle.lively import ConflictError, Runs
from tests.oracle.machine import Layout
from tests.oracle.protocols import recipes
from tests.oracle.steps import Reading, formulas, individuals, literals
from tests.oracle.vocabulary import HONEST, Words, draw_in
from tests.property.test_native_agrees import APART, TIGHT, Room

PROTOCOLS, PROPERTIES = 100, 5
MOST = 300
PARTY = Sort("Party")
X, Y = Var("x", PARTY), Var("y", PARTY)
WANTS, GOT = (Symbol(name, (PARTY,), BOOL, Kind.STATE, True, HONEST) for name in ("wants it", "got it"))
OPEN, LATE = (Symbol(name, (), BOOL, Kind.STATE, True, HONEST) for name in ("it is open", "it is late"))


@dataclass(frozen=True, repr=False)
class Questions:
    """A protocol with liveness properties, and one structure that it may start in."""

    protocol: Protocol
    runs: Runs

    def __repr__(self) -> str:
        said = [show_action(action) for action in self.protocol.actions]
        for live in self.protocol.liveness:
            names = ", ".join(f"{var.name}: {var.sort.name}" for var in live.params)
            said.append(f"{live.name}({names}) {show(live.trigger)} ~> {show(live.response)} by {fair_steps(live)}")
        return "\n".join(["", *said, repr(self.instance)])

    @property
    def instance(self) -> Instance:
        """The structure as an engine takes it."""
        layout, given = self.runs.layout, {initial.symbol for initial in self.protocol.initial}
        names = {sort.name: [*_names(sort, layout.sizes)] for sort in self.protocol.sorts}
        table = layout.structure(self.runs.start).tables

        def named(symbol: Symbol) -> dict[tuple[str, ...], str]:
            results = names.get(symbol.result.name, ["", "holds"])
            domains = [names[sort.name] for sort in symbol.domain]
            return {
                tuple(each[n] for each, n in zip(domains, row, strict=True)): results[table[symbol][row]]
                for row in rows(symbol, layout.sizes)
            }

        return Instance(
            elements={sort.name: tuple(names[sort.name]) for sort in self.protocol.sorts if sort.members is None},
            relations={
                each.name: frozenset(row for row, holds in named(each).items() if holds)
                for each in layout.rigid
                if each.is_relation
            },
            functions={each.name: named(each) for each in layout.rigid if not each.is_relation},
            first={each.name: named(each) for each in layout.mutable if not each.is_relation and each not in given},
        )


def _names(sort: Sort, sizes: Sizes) -> Sequence[str]:
    return sort.members if sort.members is not None else [f"{sort.name.lower()}{n}" for n in range(sizes[sort.name])]


def _act(name: str, guards: Sequence[Term], *updates: tuple[Effect, Apply], params: tuple[Var, ...] = ()) -> Action:
    asked = tuple(Guard(f"guard {n}", guard) for n, guard in enumerate(guards))
    done = tuple(Update(f"update {n}", place.symbol, effect, place.args) for n, (effect, place) in enumerate(updates))
    return Action(name, HONEST, params, asked, done, name, "random")


@st.composite
def _services(draw: st.DrawFn, reading: Reading) -> list[Action]:
    """Draw steps that often bring about what is waited for, and some that keep others from doing so now and then."""
    wants, got, open_, late = Apply(WANTS, (X,)), Apply(GOT, (X,)), Apply(OPEN, ()), Apply(LATE, ())
    idle = [Not(open_)] if draw(st.integers(0, 3)) else []
    more = draw(literals(reading, (X,))) if draw(st.integers(0, 2)) == 2 else None
    guards = [guard for guard in (wants, draw(draw_in((open_, open_, None, Not(open_)))), more) if guard is not None]
    after = [(Effect.INSERT, got), *([(Effect.REMOVE, wants)] if draw(st.booleans()) else [])]
    steps = [
        _act("ask", draw(st.sampled_from(([], [Not(wants)], [Not(got)]))), (Effect.INSERT, wants), params=(X,)),
        _act("serve", guards, *after, params=(X,)),
        _act("open", [Not(open_)], (Effect.INSERT, open_)),
        _act("shut", [open_, *([Not(got)] if draw(st.booleans()) else [])], (Effect.REMOVE, open_), params=(X,)),
        _act("lose", [got], (Effect.REMOVE, got), params=(X,)),
        _act("tick", [*idle, Not(late)], (Effect.INSERT, late)),
        _act("tock", [*idle, late], (Effect.REMOVE, late)),
    ]
    return [step for step in steps if step.name in ("ask", "serve") or draw(st.integers(0, 7))]


@st.composite
def _property(draw: st.DrawFn, name: str, actions: Sequence[Action], words: Words, reading: Reading) -> Eventually:
    others = tuple(Var("z", sort) for sort in words.sorts[1:])
    params = draw(draw_in(((X,), (), (X,), (X, Y), *((var,) for var in others), *((X, var) for var in others))))

    def about(likely: Symbol) -> Term:
        found: Term | None = Apply(likely, (draw(draw_in([var for var in params if var.sort == PARTY] or [X])),))
        if X not in params or draw(st.integers(0, 2)) == 2:
            found = draw(formulas(reading, words.ranges, params, 1))
        return TRUE if found is None else found

    response = about(GOT)
    trigger = Not(response) if draw(st.integers(0, 3)) == 3 else about(WANTS)
    names = [action.name for action in actions]
    fair = draw(st.lists(draw_in(names), max_size=draw(draw_in((0, 2))), unique=True))
    fair += [each for each in ("open", "serve") if each in names and each not in fair and draw(st.integers(0, 3))]
    values: list[Given] = []
    for action in (next(each for each in actions if each.name == one) for one in fair):
        for var in action.params:
            value = None
            if var not in action.fresh and draw(st.booleans()):
                value = X if var == X and X in params else draw(individuals(reading, var.sort, params))
            values += [] if value is None else [Given(action.name, var.name, value)]
    likely = draw(st.sampled_from((["open", "serve"], ["tick", "tock", "serve"])))
    if {*likely} <= {*names} and draw(st.booleans()):  # what is likely to be so, or nearly
        params, fair, values = (X,), likely, [Given("serve", "x", X)]
        trigger, response = Apply(WANTS, (X,)), Apply(GOT, (X,))
    strong = tuple(each for each in fair if draw(st.booleans()))
    return Eventually(name, trigger, response, "random", tuple(fair), tuple(values), params, strong)


@st.composite
def questions(draw: st.DrawFn) -> Questions:
    """Draw a protocol, properties, and one structure with two elements of each sort."""
    recipe = draw(recipes())
    words = recipe.words
    reading = Reading(tuple(each for each in words.symbols if each not in words.derived and each.name))
    try:
        protocol = recipe.draft().protocol()
    except SpecificationError:
        assume(False)
    kept = draw(st.integers(0, 2))
    own = [action for number, action in enumerate(protocol.actions) if action.deduction or number < kept]
    actions = (*own, *draw(_services(reading)))
    live = [draw(_property(f"live {n}", actions, words, reading)) for n in range(PROPERTIES)]
    symbols = dict.fromkeys((*protocol.symbols, *words.symbols, WANTS, GOT, OPEN, LATE))
    sorts = dict.fromkeys((*protocol.sorts, *words.sorts, *words.enumerations))
    assume(len({symbol.name for symbol in symbols}) == len(symbols))
    bare = replace(protocol, claims=(), lemmas=(), goals=(), sorts=tuple(sorts), symbols=tuple(symbols))
    asked = replace(bare, actions=actions, liveness=tuple(live))
    assume(not [*hasty_reads(replace(asked, liveness=()))])
    layout = Layout.of(asked, dict.fromkeys((sort.name for sort in sorts_of(asked)), 2))
    asked = replace(asked, symbols=layout.rigid + layout.mutable)
    try:
        starts = [start for _, found in worlds(asked, layout, MOST) for start in found]
        assume(starts)
        return Questions(asked, Runs(asked, layout, draw(draw_in(starts)), MOST))
    except (TooBigError, ConflictError):
        assume(False)
        raise


def _said(found: Exploration, live: Eventually) -> str:
    if live.name in found.violations:
        return "VIOLATED"
    return "UNKNOWN" if live.name in found.undecided else "EXHAUSTED"


def _kinds(live: Eventually) -> list[str]:
    """Return what of the language a property uses."""
    weak = len(live.strong) < len(live.fair)
    said = {"each": live.params, "strong": live.strong, "weak": weak, "both": weak and live.strong, "given": live.given}
    speaks = {"given for each": [one for one in live.given if isinstance(one.value, Var)]}
    return [kind for kind, found in (said | speaks).items() if found]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_five_hundred_random_questions_are_answered_as_components_of_the_enumerators_graph_say() -> None:
    """Compiled code is asked about some of them; of the others, the explicit search is asked again with few states."""
    counts: Counter[str] = Counter()
    turns = itertools.cycle(range(PROTOCOLS // share(PROTOCOLS)))

    @settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=PROTOCOLS)
    @given(questions(), st.booleans(), st.sampled_from([{}, TIGHT, APART]), st.integers(2, 40))
    def agrees(asked: Questions, reduction: bool, room: Room, most: int) -> None:
        protocol, instance = asked.protocol, asked.instance
        by_code = next(turns) == 0
        again = functools.partial(compiled_lassos, room=room, threads=2) if by_code else lassos
        for names in decided_together(protocol, protocol.liveness):
            together = [live for live in protocol.liveness if live.name in names]
            found = lassos(protocol, instance, together, reduction=reduction)
            assert found.complete
            compiled = again(protocol, instance, together, reduction=reduction) if by_code else found
            some = again(protocol, instance, together, caps=Caps(states=most))
            assert answers(compiled) == answers(found)
            counts["stopped"] += not some.complete
            for live in together:
                truth = asked.runs.verdict(live)
                assert _said(found, live) == truth, live
                counts.update(["all", truth, *(f"{kind}, {truth}" for kind in _kinds(live))])
                if truth == "VIOLATED":
                    judge = Interpreter(with_rules_as_steps(protocol, [live]), instance)
                    for each in (found, compiled, some):
                        assert live.name not in each.violations or not objection(
                            judge, live, each.violations[live.name]
                        )
                    counts["stopped after a lasso"] += live.name in some.violations and not some.complete
                assert live.name not in some.violations or truth == "VIOLATED"

    agrees()
    assert counts["all"] >= 500, counts
    assert min(counts["stopped"], counts["stopped after a lasso"]) >= 5, counts
    for kind in ("each", "strong", "weak", "both", "given", "given for each"):
        assert all(counts[f"{kind}, {verdict}"] >= 15 for verdict in ("VIOLATED", "EXHAUSTED")), counts


@pytest.mark.long
@pytest.mark.timeout(600)
def test_what_is_proved_of_random_protocols_fails_in_none_of_their_structures() -> None:
    counts: Counter[str] = Counter()

    @settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=share(500))
    @given(questions())
    def agrees(asked: Questions) -> None:
        with Workers(1) as pool:
            proofs = LivenessProofs(asked.protocol, (), pool)
            for live in asked.protocol.liveness:
                by = proofs.answer(live).fair
                if by:
                    assert asked.runs.verdict(live) != "VIOLATED", live
                counts.update([f"proved by {len(by)}", *(f"{kind}, {bool(by)}" for kind in _kinds(live.fair_to(by)))])

    agrees()
    for least in ("proved by 1", "proved by 2", "weak, True", "strong, True", "both, True", "given for each, True"):
        assert counts[least] >= 3, counts


@pytest.mark.long
@pytest.mark.timeout(600)
def test_what_certificates_prove_of_random_protocols_is_what_the_solver_proves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where guessed hypotheses do not suffice soon, those of the solver's core are taken."""
    monkeypatch.setattr(production, "GUESS", 0.02)
    counts: Counter[str] = Counter()

    @settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=share(240))
    @given(questions())
    def agrees(asked: Questions) -> None:
        protocol, writer = asked.protocol, Writer()
        tried = attempts(layers(protocol))
        with Workers(1) as pool:
            proofs = LivenessProofs(protocol, (), pool)
            for live in protocol.liveness:
                by = proofs.answer(live).fair
                proved = [each.stages for each in tried[live.name] if all(_certified(writer, each.obligations))]
                assert (proved or [()])[0] == by, live
                counts.update([str(len(by)), *(f"{kind}, {bool(by)}" for kind in _kinds(live.fair_to(by)))])

    agrees()
    assert all(counts[least] for least in ("0", "1", "2", "weak, True", "strong, True", "given for each, True")), counts


def _certified(writer: Writer, obligations: Sequence[LivenessObligation]) -> Iterator[bool]:
    for each in obligations:
        try:
            certificate(writer, each, None)
        except NotFound:
            yield False
        else:
            yield True
