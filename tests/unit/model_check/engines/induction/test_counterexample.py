"""Counterexamples to induction are small, readable, and the interpreter's word rather than the prover's."""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.engines.induction import explain_cti
from carnet_check.engines.induction.counterexample import SmallModel, Structure, confirm, counterexample
from carnet_check.engines.induction.obligations import Obligation, after_updates, obligations
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Budget
from carnet_check.errors import EngineDisagreement
from carnet_check.reserved_symbols import Purpose, stand_in, switch
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import *
from carnet_spec.language.terms import BOOL, TRUE, Apply, Var
from tests.proofs import workbench
from tests.unit.model_check.engines.induction.lessons import Person, draft, knows
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import draw_two

pytestmark = pytest.mark.processes

FILE = str(Path(__file__).with_name("lessons.py"))

EXPECTED = """\
step/tell/told_are_honest fails with 2 Person
  invariant  told(x) → ¬corrupt(x)
       with  x = to
  step       tell(to)
  before     mood = CALM
  fixed      corrupt(to)
  changes    +told(to)
  fails      ¬corrupt(x)"""


def test_a_counterexample_is_short_and_there_is_none_of_what_is_proved() -> None:
    careless = draft().protocol(without=("screening",))
    assert explain_cti(careless, "step/tell/told_are_honest") == EXPECTED
    (obligation,) = [each for each in obligations(careless) if each.id == "step/tell/told_are_honest"]
    found = counterexample(obligation)
    assert found is not None
    facts = {symbol.name: rows for symbol, rows in found.before.relations.items() if rows}
    assert facts == {"corrupt": frozenset({("to",)})}
    assert found.before.elements == {"Person": ("teacher", "to")}
    lesson = draft().protocol()
    assert explain_cti(lesson, "step/tell/told_are_honest").endswith("no counterexample found")
    with pytest.raises(SpecificationError, match="no obligation 'step/x/y'"):
        explain_cti(draft().protocol(), "step/x/y")


def test_a_claim_that_fails_at_once_is_shown_without_a_step() -> None:
    early = draft()

    @early.lemma
    def someone_knows(x: Person) -> Formula:
        return knows(x)

    text = explain_cti(early.protocol(), "init/someone_knows")
    assert "step " not in text
    assert text.endswith("fails      knows(x)")


def test_the_workbench_prints_what_fails_and_what_claims_rest_on(capsys: pytest.CaptureFixture[str]) -> None:
    code = workbench.main([FILE, "--without", "screening", "--only", "told_are", "--cti", "--jobs", "1"])
    said = capsys.readouterr().out
    assert code == 1
    assert "1 refuted" in said
    assert EXPECTED in said
    assert workbench.main([FILE, "--threat", "honest", "--claims", "--core", "--jobs", "1"]) == 1
    said = capsys.readouterr().out
    assert "secrecy: proved" in said
    assert "  lemmas: told_are_honest" in said


PROVER = importlib.import_module("carnet_check.engines.induction.obligations")


def turn(step: Step) -> None:
    """Light the second lamp if the first is lit; put the third out, whatever it was told before."""
    step.insert(second, when=first)
    step.insert(third)
    step.remove(third, name="put out")


LAMPS = claimed(drafted(turn), unlit=lambda: ~first, dark=lambda: ~second, out=lambda: ~third)

MISTAKES: dict[str, tuple[str, Callable[[list[Update]], list[Update]]]] = {
    "conditions are forgotten": ("dark", lambda listed: [replace(update, when=TRUE) for update in listed]),
    "updates apply backwards": ("out", lambda listed: listed[::-1]),
    "the last update is lost": ("out", lambda listed: listed[:-1]),
    "a removal inserts": (
        "out",
        lambda listed: [replace(u, effect=Effect.INSERT) if u.effect is Effect.REMOVE else u for u in listed],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_weakest_precondition_is_found_out(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim, spoilt = MISTAKES[mistake]

    def wrong(updates: Iterable[Update], *, switches: bool = False) -> Callable[[Term], Term]:
        return after_updates(spoilt(list(updates)), switches=switches)

    assert explain_cti(LAMPS, f"step/turn/{claim}").endswith("no counterexample found")
    monkeypatch.setattr(PROVER, "after_updates", wrong)
    with pytest.raises(EngineDisagreement, match=f"step/turn/{claim}: .*: the invariant holds after all"):
        explain_cti(LAMPS, f"step/turn/{claim}")


def test_a_wrong_first_state_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROVER, "at_start", lambda _initial, _symbols: lambda formula: formula)
    with pytest.raises(EngineDisagreement, match=r"init/dark: .*: the invariant holds after all"):
        explain_cti(LAMPS, "init/dark")


def see(step: Step, a: Party) -> None:
    step.require("honest", ~corrupt(a))
    step.insert(seen(a))


def _unseen(a: Party) -> Formula:
    return ~seen(a)


def _seeing() -> Protocol:
    draft = drafted(see)
    draft.axiom("alice honest", ~corrupt(alice))
    draft.threat("none", "nobody is corrupt", nobody=forall(lambda x: ~corrupt(x), Party))
    return claimed(draft, unseen=_unseen)


def _obligation(protocol: Protocol, id: str, threat: str = "") -> Obligation:
    listed = obligations(protocol, protocol.threat(threat) if threat else None)
    return next(each for each in listed if each.id == id)


def _symbol(term: Individual | Formula) -> Symbol:
    assert isinstance(term.term, Apply)
    return term.term.symbol


def _structure(
    seen_at: Iterable[Row] = (), corrupt_at: Iterable[Row] = (), step_of: str = "p2", fails_for: str = "p2"
) -> Structure:
    a = Var("a", Party.sort)
    return Structure(
        elements={"Party": ("p1", "p2", "p3")},
        relations={seen.symbol: frozenset(seen_at), corrupt.symbol: frozenset(corrupt_at)},
        functions={
            _symbol(alice): {(): "p1"},
            stand_in(Purpose.PARAMETER, a).symbol: {(): step_of},
            stand_in(Purpose.SKOLEM, a).symbol: {(): fails_for},
        },
    )


def test_what_the_interpreter_confirms_is_shown_as_it_went_on() -> None:
    found = confirm(_obligation(_seeing(), "step/see/unseen"), _structure(corrupt_at=[("p3",)]))
    assert found.before.relations[seen.symbol] == frozenset()
    assert found.after.relations[seen.symbol] == {("p2",)}
    assert found.after.relations[corrupt.symbol] == {("p3",)}
    assert found.text().endswith("fails      ¬seen(a)")


REFUSED: dict[str, tuple[Structure, str, str]] = {
    "a guard does not hold": (
        _structure(corrupt_at=[("p2",)]),
        "",
        r"does not take the step: see\(a=p2\) is not enabled: 'honest' does not hold",
    ),
    "an axiom does not hold": (_structure(corrupt_at=[("p1",)]), "", "axioms do not hold: alice honest"),
    "the threat model does not hold": (_structure(corrupt_at=[("p3",)]), "none", "axioms do not hold: none: nobody"),
    "an invariant does not hold before": (_structure(seen_at=[("p3",)]), "", "unseen does not hold before the step"),
    "the invariant fails of others than it is said to": (_structure(fails_for="p1"), "", "holds after all"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_interpreter_does_not_confirm_is_an_error(name: str) -> None:
    found, threat, message = REFUSED[name]
    with pytest.raises(EngineDisagreement, match=f"step/see/unseen: .*{message}"):
        confirm(_obligation(_seeing(), "step/see/unseen", threat), found)


def _unpaired(one: Key, other: Key) -> Formula:
    return ~paired(one, other)


@pytest.mark.parametrize(("other", "refused"), [("k1", True), ("k2", False)])
def test_values_that_are_drawn_together_have_to_differ(other: str, refused: bool) -> None:
    obligation = _obligation(claimed(drafted(draw_two), unpaired=_unpaired), "step/draw_two/unpaired")
    chosen = {Var("one", Key.sort): "k1", Var("other", Key.sort): other}
    made: dict[Symbol, dict[Row, str]] = {
        stand_in(purpose, var).symbol: {(): at} for purpose in Purpose for var, at in chosen.items()
    }
    found = Structure({"Key": ("k1", "k2")}, {}, made)
    if refused:
        with pytest.raises(EngineDisagreement, match="'fresh values differ' does not hold"):
            confirm(obligation, found)
    else:
        assert confirm(obligation, found).obligation is obligation


def test_an_update_of_a_defence_is_made_whatever_its_switch_says() -> None:
    """Switches are the prover's own: the interpreter never sees one."""

    def light(step: Step) -> None:
        step.insert(second, defence="careless")

    draft = drafted(light)
    draft.defence("careless", "The lamp is lit.")
    protocol = claimed(draft, dark=lambda: ~second)
    (update,) = protocol.action("light").updates
    dark = frozenset[Row]()
    found = Structure({}, {switch(update).symbol: dark, _symbol(second): dark}, {})
    assert confirm(_obligation(protocol, "step/light/dark"), found).after.relations[_symbol(second)] == {()}
    shown = explain_cti(protocol, "step/light/dark")
    assert "+second" in shown
    assert "$" not in shown


def notice(step: Step, a: Party) -> None:
    step.given("known", known(a))
    step.insert(seen(a))


def _found(draft: Draft, id: str = "step/notice/unseen", rlimit: int = DEFAULT_RLIMIT) -> Structure | None:
    protocol = claimed(draft, unseen=_unseen)
    obligation: Obligation = next(each for each in obligations(protocol) if each.id == id)
    return next(SmallModel(obligation, rlimit).states(), None)


def _facts(found: Structure | None) -> dict[str, set[tuple[str, ...]]]:
    assert found is not None
    return {symbol.name: set(rows) for symbol, rows in found.relations.items() if rows}


def test_one_element_and_the_one_fact_that_is_needed() -> None:
    found = _found(drafted(notice))
    assert found is not None
    assert found.elements == {"Party": ("a",)}
    assert _facts(found) == {"known": {("a",)}}


def _three_in_a_row() -> Draft:
    def _in_a_row(a: Party, b: Party, c: Party) -> Formula:
        return before(a, b) & before(b, c) & (a != c)

    draft = drafted(notice)
    draft.axiom("three in a row", exists(_in_a_row, Party, Party, Party))
    draft.axiom("one way", forall(lambda a, b: ~(before(a, b) & before(b, a)), Party, Party))
    return draft


def test_as_many_elements_as_an_axiom_needs_and_no_more() -> None:
    found = _found(_three_in_a_row())
    assert found is not None
    assert len(found.elements["Party"]) == 3
    assert len(_facts(found)["before"]) == 2


def test_a_state_that_was_found_is_kept_when_the_budget_is_spent() -> None:
    protocol = claimed(_three_in_a_row(), unseen=_unseen)
    obligation = next(each for each in obligations(protocol) if each.id == "step/notice/unseen")
    whole = Budget(10_000_000)
    smallest = counterexample(obligation, budget=whole)
    spent = 10_000_000 - whole.left
    found = [counterexample(obligation, budget=Budget(spent * part // 20)) for part in range(21)]
    first = next(part for part, each in enumerate(found) if each is not None)
    assert first > 1
    assert None not in found[first:]
    assert (found[first] != smallest, found[-1]) == (True, smallest)


def test_an_element_is_called_by_the_constant_or_the_parameter_that_it_is() -> None:
    draft = drafted(notice)
    draft.axiom("bob is corrupt and nobody else", forall(lambda a: ~corrupt(a) | (a == bob), Party) & corrupt(bob))
    found = _found(draft)
    assert found is not None
    assert found.elements["Party"] == ("bob",), "the parameter may be bob, so it is"
    assert _facts(found)["corrupt"] == {("bob",)}


@pytest.mark.parametrize("rlimit", [1, DEFAULT_RLIMIT])
def test_nothing_is_found_without_a_budget_and_where_there_is_nothing(rlimit: int) -> None:
    draft = drafted(notice)
    if rlimit > 1:
        draft.axiom("nobody", ~exists(lambda a: a == a, Party))  # noqa: PLR0124 # false wherever anyone is
    assert _found(draft, rlimit=rlimit) is None


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


def test_a_structure_becomes_an_instance_with_first_values() -> None:
    assert FOUND.instance(PROTOCOL) == Instance(
        elements={"Party": ("p1", "p2")},
        relations={"corrupt": frozenset({("p2",)})},
        functions={"alice": {(): "p2"}},
        first={"last": {(): "p2"}, "friend": {("p1",): "p1", ("p2",): "p1"}},
    )
    start = Interpreter(PROTOCOL, FOUND.instance(PROTOCOL)).start()
    assert (start.functions["last"], start.functions["phase"]) == ({(): "p2"}, {(): "LATE"})
    assert not start.relations["seen"]
    assert FOUND.state(PROTOCOL) == State(
        {"seen": frozenset({("p1",)})},
        {"last": {(): "p2"}, "phase": {(): "EARLY"}, "friend": {("p1",): "p1", ("p2",): "p1"}},
    )


def test_made_constants_become_arguments_and_no_symbols_of_the_protocol() -> None:
    assert FOUND.elements_for(Purpose.PARAMETER, [A]) == {"a": "p2"}
    assert FOUND.elements_for(Purpose.SKOLEM, [A]) == {"a": "p1"}, "nothing depends on it: any element will do"
    told = FOUND.instance(PROTOCOL)
    assert not [name for name in (*told.relations, *told.functions, *told.first) if name.startswith("$")]
    made = stand_in(Purpose.PARAMETER, Var("a", BOOL)).symbol
    odd = Structure(FOUND.elements, {**FOUND.relations, made: frozenset({()})}, FOUND.functions)
    assert odd.instance(PROTOCOL) == FOUND.instance(PROTOCOL)
    assert odd.state(PROTOCOL) == FOUND.state(PROTOCOL)


def test_only_what_changes_is_taken_from_the_state_after_a_step() -> None:
    state = FOUND.state(PROTOCOL).with_values({"seen": frozenset()}, {"last": {(): "p1"}})
    moved = FOUND.with_state(state)
    assert moved.relations == {seen.symbol: frozenset(), corrupt.symbol: frozenset({("p2",)})}
    assert moved.functions[_symbol_named("last")] == {(): "p1"}
    assert moved.functions[_symbol_named("alice")] == {(): "p2"}
    assert list(moved.functions) == list(FOUND.functions)
