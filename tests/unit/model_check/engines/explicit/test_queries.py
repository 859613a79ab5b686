"""Generated code finds what a formula says, and after a step exactly the rules that may add something are looked at."""

import itertools

import pytest

from carnet_check.engines.explicit.layout import Folding, Layout, Value, conditions_in
from carnet_check.engines.explicit.model import Model, build
from carnet_check.engines.explicit.queries import Domain, Draw, Lines, Names, Queries, unused_elements
from carnet_check.engines.explicit.saturation import Rule, apply_change
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Draft, Formula, Instance, Row, Step, exists, forall, implies, used
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import IfThenElse, Var
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import see

X, Y = Party(Var("x", Party.sort)), Party(Var("y", Party.sort))
PARTIES = ("p1", "p2", "p3")


def touch(step: Step, a: Party, b: Party, k: Key) -> None:
    step.given("mentioned", before(a, b) | corrupt(a) | (a == alice) | first | (last == a) | (current == k) | used(k))
    step.insert(seen(a), when=phase == Phase.LATE)
    step.insert(ahead(a, b))


def _ahead_at_first(a: Party, b: Party) -> Formula:
    return before(a, b)


DRAFT = drafted(touch)
DRAFT.initially(ahead, _ahead_at_first)
PROTOCOL = DRAFT.protocol()
INSTANCE = Instance(
    {"Party": PARTIES, "Key": ("k1", "k2", "k3")},
    {"corrupt": frozenset({("p3",)}), "before": frozenset({("p1", "p2"), ("p2", "p3")})},
    {"alice": {(): "p2"}},
)
#: Ahead holds at first where before does; one of these rows is lost here, and another is new.
JUDGE = Interpreter(PROTOCOL, INSTANCE)
STATE = JUDGE.start().with_values(
    {"seen": frozenset({("p1",), ("p3",)}), "ahead": frozenset({("p1", "p2"), ("p3", "p3")}), "first": frozenset({()})},
    {"last": {(): "p3"}, "phase": {(): "LATE"}},
)


def _packed(state: State) -> tuple[Queries, int]:
    layout = Layout(PROTOCOL, INSTANCE, JUDGE.start())
    for name, rows in state.relations.items():
        layout.masks_for([(place, row in rows) for row, place in layout.tables[name].places.items()], lambda: None)
    for name, table in state.functions.items():
        layout.masks_for([(layout.tables[name].places[row], value) for row, value in table.items()], lambda: None)
    return Queries(layout, Folding(INSTANCE)), layout.encode(state)


FORMULAS: dict[str, Formula] = {
    "a fact": seen(X),
    "a fact that held at first": ahead(X, Y),
    "a rigid fact": before(X, Y),
    "a flag": first,
    "a value": last == X,
    "a member": phase == Phase.LATE,
    "an argument that changes": ahead(last, X),
    "a conjunction": seen(X) & corrupt(X),
    "a disjunction": seen(X) | (alice == X),
    "an implication": implies(seen(X), ahead(X, Y)),
    "for some": exists(lambda a: ahead(X, a) & seen(a), Party),
    "for all": forall(lambda a: implies(ahead(a, X), seen(a)), Party),
    "one inside another": forall(lambda a: exists(lambda b: ahead(a, b) | before(b, a), Party), Party),
    "the only element equal to something": exists(lambda a: (a == last) & seen(a) & ~(a == X), Party),
    "a choice": Party(IfThenElse(seen(X).term, last.term, Y.term)) == X,
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("state", [JUDGE.start(), STATE], ids=["first state", "later"])
def test_a_formula_is_true_where_the_interpreter_says_so(name: str, state: State) -> None:
    queries, s = _packed(state)
    formula = FORMULAS[name].term
    holds = queries.function(("x", "y"), lambda names: [f"return bool({queries.formula(formula, names)})"])
    for x, y in itertools.product(PARTIES, repeat=2):
        assert holds(s, x, y) is JUDGE.holds(formula, state, {"x": x, "y": y})


def _found(formula: Formula, domains: dict[str, Domain], state: State = STATE) -> list[tuple[str, ...]]:
    """Return the elements that a generated search finds, in the order of the domains' names."""
    queries, s = _packed(state)

    def body(names: Names) -> Lines:
        def leaf(names: Names) -> Lines:
            return [f"found.append(({''.join(names[name] + ', ' for name in domains)}))"]

        tests = conditions_in(formula.term)
        return ["found = []", *queries.search(domains, tests, names, leaf), "return found"]

    found: list[tuple[str, ...]] = queries.function((), body)(s)
    return found


def test_a_search_finds_each_choice_that_passes_and_each_once() -> None:
    every: dict[str, Domain] = {"x": PARTIES, "y": PARTIES}
    for formula in FORMULAS.values():
        found = _found(formula, every)
        pairs = [(x, y) for x in PARTIES for y in PARTIES if JUDGE.holds(formula.term, STATE, {"x": x, "y": y})]
        assert sorted(found) == pairs


def test_a_search_stays_inside_its_domains_and_draws_apart() -> None:
    assert _found(seen(X), {"x": ("p1", "p2")}) == [("p1",)]
    assert _found(last == X, {"x": ("p1", "p2")}) == []
    assert _found(ahead(X, Y), {"x": ("p3",), "y": PARTIES}) == [("p3", "p3")]
    assert _found(ahead(X, X), {"x": PARTIES}) == [("p3",)]
    keys = ("k1", "k2", "k3")
    domains: dict[str, Domain] = {
        "j": Draw(used_symbol(Key.sort), keys, after=("k",)),
        "k": Draw(used_symbol(Key.sort), keys),
    }
    assert _found(first | ~first, domains, USED) == [("k3", "k2")]


USED = JUDGE.start().with_values({"used_key": frozenset({("k1",)})}, {})


@pytest.mark.parametrize(
    ("state", "draw", "drawn"),
    [
        (JUDGE.start(), Draw(used_symbol(Key.sort), ("k2", "k1")), [("k2",)]),
        (USED, Draw(used_symbol(Key.sort), ("k1", "k2", "k3")), [("k2",)]),
        (USED, Draw(used_symbol(Key.sort), ("k1", "k2", "k3"), each=True), [("k2",), ("k3",)]),
        (USED, Draw(used_symbol(Key.sort), ("k1",)), []),
    ],
)
def test_a_draw_takes_the_first_of_its_pool_or_each(state: State, draw: Draw, drawn: list[tuple[str, ...]]) -> None:
    assert _found(Formula(first.term) | ~first, {"k": draw}, state) == drawn


def test_what_is_unused_says_so_also_of_elements_used_at_first() -> None:
    masks: dict[Row, int] = {("k1",): 0b1, ("k2",): 0, ("k3",): 0b10}
    used_at_first = frozenset({("k2",), ("k3",)})
    assert unused_elements(0b00, masks, used_at_first, ("k1", "k2", "k3"), ()) == ("k1",)
    assert unused_elements(0b11, masks, used_at_first, ("k1", "k2", "k3"), ()) == ("k3",), (
        "the bit says that it changed"
    )
    assert unused_elements(0b10, masks, used_at_first, ("k1", "k3"), ("k1",)) == ("k3",)


ORDERED = Instance({"Party": ("p1", "p2", "p3")}, {"before": frozenset({("p1", "p2"), ("p2", "p3")})})


def shut(step: Step) -> None:
    step.insert(first)
    step.set(phase, Phase.LATE)


def learn(step: Step, a: Party) -> None:
    step.given("open", seen(a) & ~first)
    step.insert(known(a))


def share(step: Step, a: Party, b: Party) -> None:
    step.given("told", known(a) & before(a, b))
    step.insert(known(b))


def finish(step: Step) -> None:
    step.given("late", phase == Phase.LATE)
    step.insert(third)


def _saturated(*rules: Body) -> Model:
    draft: Draft = drafted(see, shut, rules=rules)
    return build(Interpreter(draft.protocol(), ORDERED), (), (), reduce=False)


def _rule(model: Model, name: str) -> Rule:
    return next(rule for rule in model.saturation.rules if rule.name == name)


WOKEN: dict[str, tuple[str, Row, Value, set[str]]] = {
    "a premise begins to hold": ("seen", ("p1",), True, {"learn"}),
    "a premise ceases to hold": ("seen", ("p1",), False, set()),
    "a denied premise ceases to hold": ("first", (), False, {"learn"}),
    "a denied premise begins to hold": ("first", (), True, set()),
    "a function changes": ("phase", (), "LATE", {"finish"}),
    "a conclusion is premise of another": ("known", ("p2",), True, {"share"}),
    "a conclusion is taken away": ("known", ("p2",), False, {"learn", "share"}),
}


@pytest.mark.parametrize("name", WOKEN)
def test_a_rule_is_woken_by_what_may_let_it_add_something(name: str) -> None:
    model = _saturated(learn, share, finish)
    symbol, row, value, woken = WOKEN[name]
    place = model.layout.tables[symbol].places[row]
    assert {rule.name for rule in model.saturation.rules if rule.woken_by(place, value)} == woken


@pytest.mark.parametrize("values", [(True, False), (False, True)], ids=str)
def test_what_one_write_wakes_says_nothing_of_another_write_to_the_same_place(values: tuple[bool, ...]) -> None:
    model = _saturated(learn, share, finish)
    place = model.layout.tables["first"].places[()]
    woken = {value: model.saturation.after({place: value}) is not None for value in values}
    assert woken == {True: False, False: True}


def test_a_rule_feeds_and_wakes_those_whose_premises_it_may_make_true() -> None:
    model = _saturated(learn, share, finish)
    rules = model.saturation.rules
    feeds = {(rule.name, fed.name) for rule in rules for fed in rules if fed.fed_by(rule)}
    assert feeds == {("learn", "share"), ("share", "share")}
    model = _saturated(learn)
    assert model.saturation.after({model.layout.tables["phase"].places[()]: "LATE"}) is None


@pytest.mark.parametrize("rules", [(learn, share), (share, learn)], ids=["in order", "backwards"])
def test_what_follows_from_what_follows_is_added_whatever_the_order(rules: tuple[Body, ...]) -> None:
    model = _saturated(*rules)
    place = model.layout.tables["seen"].places["p1",]
    s = apply_change(0, model.layout.masks_for([(place, True)], lambda: None))
    closure = model.saturation.after({place: True})
    assert closure is not None
    after = apply_change(s, closure.answer(s))
    held = [row for row, place in model.layout.tables["known"].places.items() if after & place.mask]
    assert held == [("p1",), ("p2",), ("p3",)]
    assert apply_change(after, closure.answer(after)) == after


def test_the_first_state_is_saturated_and_a_rule_that_fired_says_so() -> None:
    draft = drafted(see, rules=(finish,))
    draft.initially(phase, Phase.LATE)
    model = build(Interpreter(draft.protocol(), ORDERED), (), (), reduce=False)
    assert model.saturation.start() & model.layout.tables["third"].places[()].mask
    assert _rule(model, "finish").fired
    assert not _rule(_saturated(learn), "learn").fired
