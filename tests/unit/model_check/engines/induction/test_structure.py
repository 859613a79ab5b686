"""A structure becomes the interpreter's instance and state, and what the prover made becomes arguments."""

from __future__ import annotations

from carnet_check.engines.induction.counterexample import Structure
from carnet_check.made import Purpose, stand_in
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Instance, Kind, Step, Symbol, function
from carnet_spec.language.terms import BOOL, Var
from tests.unit.model_check.small import HOLDER, Party, Phase, alice, corrupt, drafted, last, phase, seen

friend = function("friend", Party, to=Party, kind=Kind.STATE, of=HOLDER)


def mention(step: Step, a: Party) -> None:
    step.given("mentioned", corrupt(a) | (last == alice) | (phase == Phase.EARLY) | (friend(a) == a))
    step.insert(seen(a))


DRAFT = drafted(mention)
DRAFT.initially(phase, Phase.LATE)
PROTOCOL = DRAFT.protocol()
A = Var("a", Party.sort)


def _symbol_named(name: str) -> Symbol:
    return next(symbol for symbol in PROTOCOL.symbols if symbol.name == name)


FOUND = Structure(
    {"Party": ("p1", "p2")},
    {seen.symbol: frozenset({("p1",)}), corrupt.symbol: frozenset({("p2",)})},
    {
        _symbol_named("alice"): {(): "p2"},
        _symbol_named("last"): {(): "p2"},
        stand_in(Purpose.PARAMETER, A).symbol: {(): "p2"},
    },
)


def test_rigid_symbols_become_the_instance_and_the_rest_its_first_values() -> None:
    assert FOUND.instance(PROTOCOL) == Instance(
        elements={"Party": ("p1", "p2")},
        relations={"corrupt": frozenset({("p2",)})},
        functions={"alice": {(): "p2"}},
        first={"last": {(): "p2"}, "friend": {("p1",): "p1", ("p2",): "p1"}},
    )


def test_a_first_state_has_the_protocols_values_where_it_gives_some() -> None:
    start = Interpreter(PROTOCOL, FOUND.instance(PROTOCOL)).start()
    assert (start.functions["last"], start.functions["phase"]) == ({(): "p2"}, {(): "LATE"})
    assert not start.relations["seen"]


def test_mutable_symbols_become_the_state_and_what_is_not_mentioned_gets_some_value() -> None:
    assert FOUND.state(PROTOCOL) == State(
        {"seen": frozenset({("p1",)})},
        {"last": {(): "p2"}, "phase": {(): "EARLY"}, "friend": {("p1",): "p1", ("p2",): "p1"}},
    )


def test_made_constants_become_arguments_and_nothing_else() -> None:
    assert FOUND.chosen(Purpose.PARAMETER, [A]) == {"a": "p2"}
    assert FOUND.chosen(Purpose.SKOLEM, [A]) == {"a": "p1"}, "nothing depends on it: any element will do"
    told = FOUND.instance(PROTOCOL)
    assert not [name for name in (*told.relations, *told.functions, *told.first) if name.startswith("$")]


def test_a_made_symbol_is_not_taken_for_one_of_the_protocol_of_its_name() -> None:
    made = stand_in(Purpose.PARAMETER, Var("a", BOOL)).symbol
    odd = Structure(FOUND.elements, {**FOUND.relations, made: frozenset({()})}, FOUND.functions)
    assert odd.instance(PROTOCOL) == FOUND.instance(PROTOCOL)
    assert odd.state(PROTOCOL) == FOUND.state(PROTOCOL)


def test_only_what_changes_is_taken_from_the_state_after_a_step() -> None:
    state = FOUND.state(PROTOCOL).changed({"seen": frozenset()}, {"last": {(): "p1"}})
    moved = FOUND.moved(state)
    assert moved.relations == {seen.symbol: frozenset(), corrupt.symbol: frozenset({("p2",)})}
    assert moved.functions[_symbol_named("last")] == {(): "p1"}
    assert moved.functions[_symbol_named("alice")] == {(): "p2"}
    assert list(moved.functions) == list(FOUND.functions)
