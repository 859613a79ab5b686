"""Two runs side by side: what there is twice, what an observer compares, and what is claimed, accepted or refused."""

from collections.abc import Callable
from itertools import product

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.induction import try_claims
from carnet_check.semantics import Interpreter
from carnet_check.semantics.evaluation import State
from carnet_spec.language import *
from carnet_spec.language.lints import check, lint_draft
from tests.fixtures import bell
from tests.fixtures.bell import Box, box, marked
from tests.fixtures.parcels import SENDER, Thing, instance, largest, needs, one_run, packed, ready, seen, two_runs
from tests.unit.model_check.command import FIXTURES, carnet

RUNS = two_runs()


def _told_apart(without: tuple[str, ...]) -> set[str]:
    """Take all pairs of runs of at most three steps under the same labels, and say what tells two runs apart."""
    one = one_run().protocol(without)
    judge = Interpreter(one, instance())
    found: set[str] = set()
    pairs = {(judge.start(), judge.start())}
    for _ in range(3):
        after: set[tuple[State, State]] = set()
        for left, right in pairs:
            steps = [
                [
                    (action, env, {name: env[name] for name in env if name != "t"})
                    for action, env in judge.enabled_steps(at)
                ]
                for at in (left, right)
            ]
            labels = [{(action.name, str(label)) for action, _, label in each} for each in steps]
            found |= {"asked" for name, _ in labels[0] ^ labels[1] if name == "ask"}
            for (action, env, label), (other, chosen, same) in product(*steps):
                if (action.name, label) == (other.name, same):
                    after.add((judge.fire(left, action, env), judge.fire(right, other, chosen)))
        found |= {"box" for left, right in after if left.functions["seen"] != right.functions["seen"]}
        pairs = after
    return found


@pytest.mark.parametrize("without", [(), ("pad",)], ids=["padded", "as large as needed"])
def test_engines_find_what_all_pairs_of_runs_show(without: tuple[str, ...]) -> None:
    protocol = RUNS.protocol(without)
    claims = {claim.name: claim.checked for claim in protocol.claims}
    explored = explore(protocol, instance(), invariants=tuple(claims.values()))
    assert explored.complete or len(explored.violations) == len(claims)
    assert set(explored.violations) == _told_apart(without)
    proofs = try_claims(protocol).claims
    assert set(proofs) == {(name, "post") for name in claims}
    assert {name for (name, _), proof in proofs.items() if not proof.is_proved} == _told_apart(without)


def test_what_may_depend_on_a_secret_is_there_twice_and_chosen_by_each_run() -> None:
    names = {symbol.name for symbol in RUNS.protocol(("pad",)).symbols}
    assert names == {
        *("largest", "needs", "ready", "left_packed", "right_packed", "left_seen", "right_seen"),
        "apart_ask",
    }
    assert [symbol.name for symbol in RUNS.seen] == ["seen"]
    assert RUNS.secretly_possible == ("ask",)
    pack = RUNS.protocol().action("pack")
    assert [param.name for param in pack.params] == ["left_t", "right_t"]
    assert [update.name for update in pack.updates] == ["left: set packed", "right: set packed", "insert ready"]
    assert pack.says == "The sender packs {left_t} (right run: {right_t})."
    wrong = {complaint.rule for complaint in lint_draft(RUNS)}
    assert wrong <= {"claims"}  # these claims name no requirement


def test_an_observer_compares_what_is_left_of_the_guards() -> None:
    """The guard of a defence that is removed is compared by nobody."""

    def compared(protocol: Protocol) -> set[str]:
        return {action.name for action in protocol.actions if action.name.startswith("compare")}

    assert compared(RUNS.protocol()) == set()
    leaking = RUNS.protocol(("pad",))
    assert compared(leaking) == {"compare_left_ask", "compare_right_ask"}
    compare = leaking.action("compare_left_ask")
    assert not compare.by.honest
    assert {guard.kind for guard in compare.guards} == {GuardKind.GIVEN}
    assert [update.symbol.name for update in compare.updates] == ["apart_ask"]


def test_statements_of_one_run_hold_of_both() -> None:
    one = one_run()

    @one.lemma
    def small(t: Thing) -> Formula:
        return needs(packed) == needs(t)

    @one.goal(sentence="Something is packed.")
    def something(t: Thing) -> Formula:
        return ready & (packed == t)

    runs = TwoRuns(one, secret=(packed,))
    (lemma,) = runs.protocol().lemmas
    assert {symbol.name for symbol in runs.protocol().symbols} >= {"left_packed", "right_packed"}
    assert "right_packed" in str(lemma.body)
    assert "right_packed" in str(runs.protocol().goals[0].body)


def _rule() -> Draft:
    draft = Draft("rule", "Rule")

    @draft.rule(by=SENDER, says="It is ready.", source="test")
    def get_ready(step: Step) -> None:
        step.insert(ready)

    return draft


def _wait(step: Step) -> None:
    """Do nothing."""


def _lively() -> Draft:
    draft = one_run()
    draft.eventually("ends", ready, ~ready, sentence="It ends.", fair=("post",))
    return draft


SHUT = rigid_relation("shut", kind=Kind.TRUTH, says="the box is shut")()
SEALED = rigid_relation("sealed", says="there is a seal on the box")()


def _tied(public: tuple[Formula, ...] = ()) -> TwoRuns:
    """Put two runs side by side of which an axiom ties a secret to something else."""
    draft = one_run()
    draft.assumption("A1", "What is shut is sealed.")
    draft.axiom("shut is sealed", implies(SHUT, SEALED) & implies(SEALED, SHUT), assumption="A1")
    return TwoRuns(draft, secret=(SHUT,), public=public)


def _bare() -> Protocol:
    runs = TwoRuns(one_run(), own={"pack": ("t",)})

    @runs.claim(name="bare", sentence="x", requirement="", source="x", under=("post",))
    def bare() -> Formula:
        return seen == largest

    return runs.protocol()


def _late() -> Protocol:
    one = one_run()
    runs = TwoRuns(one, own={"pack": ("t",)})
    one.action(by=SENDER, says="The sender waits.", source="x")(_wait)
    return runs.protocol()


def test_what_an_axiom_ties_to_a_secret_is_secret_or_said_to_be_public() -> None:
    public = {symbol.name for symbol in _tied(public=(SEALED,)).protocol().symbols}
    assert public >= {"left_shut", "right_shut", "sealed"}
    both = one_run()
    both.assumption("A1", "What is shut is sealed.")
    both.axiom("shut is sealed", implies(SHUT, SEALED), assumption="A1")
    names = {symbol.name for symbol in TwoRuns(both, secret=(SHUT, SEALED)).protocol().symbols}
    assert names >= {"left_shut", "right_shut", "left_sealed", "right_sealed"}


def test_what_anybody_knows_and_the_dishonest_keep_is_seen() -> None:
    heard = relation("heard", Thing, kind=Kind.KNOWLEDGE, says="somebody knows it")
    held = relation("held", Thing, kind=Kind.STATE, of=Role("post", honest=False), says="the post keeps it")
    kept = relation("kept", Thing, kind=Kind.STATE, of=SENDER, says="the sender keeps it")
    draft = Draft("tell", "Tell")

    @draft.action(by=SENDER, says="The sender tells of {t}.", source="test")
    def tell(step: Step, t: Thing) -> None:
        for told in (heard, held, kept):
            step.insert(told(t))

    assert {symbol.name for symbol in TwoRuns(draft, own={"tell": ("t",)}).seen} == {"heard", "held"}


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a rule": (lambda: TwoRuns(_rule()), "get_ready is a rule"),
    "liveness": (lambda: TwoRuns(_lively()), "states liveness"),
    "an unknown action": (lambda: TwoRuns(one_run(), own={"wrap": ("t",)}), "no action 'wrap'"),
    "an unknown parameter": (lambda: TwoRuns(one_run(), own={"pack": ("b",)}), "no parameter 'b'; known: t"),
    "a formula": (lambda: TwoRuns(one_run(), secret=(needs(packed) == largest,)), "is no symbol"),
    "what is the same anyway": (lambda: RUNS.same(ready), "depends on no secret"),
    "what is possible anyway": (lambda: RUNS.together("post"), "those that do: ask"),
    "a step of both": (
        lambda: RUNS.action(by=SENDER, says="x", source="x")(lambda step: None),
        "said before there are",
    ),
    "a secret that no run has to itself": (lambda: TwoRuns(one_run(), secret=(ready,)), "begins the same in both"),
    "an axiom that is forgotten": (_tied, "ties shut, which is secret, to sealed: name it in `secret`"),
    "a claim that does not say in which run": (_bare, "seen: there are two of it"),
    "a step that is said too late": (_late, "is said before there are two of it"),
    "a layer": (lambda: RUNS.superpose("post"), "said before there are"),
    "a first value": (lambda: RUNS.initially(seen, largest), "said before there are"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    refused, why = REFUSED[what]
    with pytest.raises(SpecificationError, match=why):
        refused()


def test_a_quantified_guard_is_denied_as_a_whole() -> None:
    draft = Draft("all", "All")

    @draft.action(by=SENDER, says="All fit.", source="test")
    def all_fit(step: Step) -> None:
        step.given("all", forall(lambda t: (needs(t) == needs(packed)) & ~ready, Thing))

    compare = TwoRuns(draft, secret=(packed,)).protocol().action("compare_left_all_fit")
    assert [guard.name for guard in compare.guards] == ["left: all"]
    assert "right_packed" in str(compare.updates[0].when)


Said = Callable[[TwoRuns], Callable[..., Formula]]


def _unclaimed(*claims: Said, under: tuple[str, ...] = ("post",), fails_under: tuple[str, ...] = ()) -> set[str]:
    """Return what is unclaimed if these claims are made, too."""
    runs = bell.uncovered()
    for number, said in enumerate(claims):
        make = runs.claim(
            name=f"c{number}", sentence="x", requirement="R", source="x", under=under, fails_under=fails_under
        )
        make(said(runs))
    return {where for where, _ in runs.unclaimed_differences()}


def _of_any(say: Callable[[TwoRuns, Box], Formula]) -> Said:
    def said(runs: TwoRuns) -> Callable[..., Formula]:
        def claim(b: Box) -> Formula:
            return say(runs, b)

        return claim

    return said


def _closed(say: Callable[[TwoRuns], Formula]) -> Said:
    def said(runs: TwoRuns) -> Callable[..., Formula]:
        def claim() -> Formula:
            return say(runs)

        return claim

    return said


COVERS: dict[str, Said] = {
    "same": _of_any(lambda runs, b: runs.same(marked(b))),
    "same, of all": _closed(lambda runs: forall(lambda b: runs.same(marked(b)), Box)),
    "same, and more": _of_any(lambda runs, b: runs.same(marked(b)) & runs.same(box)),
    "the other way round": _of_any(
        lambda runs, b: (
            (runs.right(marked)(b) >> runs.left(marked)(b)) & (runs.left(marked)(b) >> runs.right(marked)(b))
        )
    ),
    "none in either": _of_any(lambda runs, b: ~runs.left(marked)(b) & ~runs.right(marked)(b)),
    "all in both": _of_any(lambda runs, b: runs.left(marked)(b) & runs.right(marked)(b)),
}
FALLS_SHORT: dict[str, Said] = {
    "of one box": _closed(lambda runs: runs.same(marked(bell.largest))),
    "on a condition": _of_any(lambda runs, b: implies(b != bell.largest, runs.same(marked(b)))),
    "or something else": _of_any(lambda runs, b: runs.same(marked(b)) | (b == bell.largest)),
    "one way": _of_any(lambda runs, b: implies(runs.left(marked)(b), runs.right(marked)(b))),
    "in one run": _of_any(lambda runs, b: ~runs.left(marked)(b)),
    "none in one, all in the other": _of_any(lambda runs, b: ~runs.left(marked)(b) & runs.right(marked)(b)),
    "of something else": _closed(lambda runs: runs.same(box)),
}


@pytest.mark.parametrize("claim", COVERS)
def test_a_claim_covers_what_it_says_to_be_the_same(claim: str) -> None:
    assert _unclaimed(COVERS[claim]) == {"action ring"}


@pytest.mark.parametrize("claim", FALLS_SHORT)
def test_a_claim_of_some_of_it_covers_nothing(claim: str) -> None:
    assert _unclaimed(FALLS_SHORT[claim]) == {"symbol marked", "action ring"}


def test_a_step_or_value_is_covered_by_a_claim_of_its_own() -> None:
    """Under a threat model that some claim names, what only others speak of is not covered."""
    there = _of_any(lambda runs, b: implies(runs.left(marked)(b), runs.right(marked)(b)))
    back = _of_any(lambda runs, b: implies(runs.right(marked)(b), runs.left(marked)(b)))
    assert _unclaimed(there, back) == {"action ring"}
    assert _unclaimed(_closed(lambda runs: runs.together("ring"))) == {"symbol marked"}
    assert _unclaimed(_closed(lambda runs: runs.together("ring") | runs.same(box))) == {"symbol marked", "action ring"}
    same = _of_any(lambda runs, b: runs.same(marked(b)))
    assert _unclaimed(same, under=("street",)) == {"symbol box", "symbol marked", "action ring"}
    assert _unclaimed(same, under=(), fails_under=("post",)) == {"action ring"}


def test_a_value_in_both_runs_is_the_same_and_a_declared_claim_covers_nothing() -> None:
    runs = TwoRuns(bell.one_run(), own={"send": ("thing",)})

    @runs.claim(name="largest", sentence="x", requirement="R", source="x", under=("post",))
    def as_large() -> Formula:
        return (runs.left(box) == bell.largest) & (bell.largest == runs.right(box))

    assert {where for where, _ in runs.unclaimed_differences()} == {"symbol marked", "action ring"}
    runs = TwoRuns(bell.one_run(), own={"send": ("thing",)})
    runs.declare_claim("later", sentence="x", requirement="R", source="x", under=("post",))
    assert {where for where, _ in runs.unclaimed_differences()} == {"symbol box", "symbol marked", "action ring"}


def test_what_is_accepted_is_not_refused() -> None:
    check(bell.accepted())
    assert [str(leak) for leak in bell.accepted().accepted_leaks] == [
        "marked: marks are for the post",
        "ring: a bell is meant to be heard",
    ]


NO_LEAKS: dict[str, tuple[tuple[str, str], str]] = {
    "misspelt": (("rnig", "why"), "'rnig' is no leak: .*; did you mean 'ring'"),
    "the same in both runs": (("rang", "why"), "'rang' is no leak: it tells no two runs apart"),
    "accepted already": (("ring", "again"), "accepted twice"),
    "without a reason": (("box", " "), "without a reason"),
}


@pytest.mark.parametrize("what", NO_LEAKS)
def test_no_other_leak_is_accepted(what: str) -> None:
    arguments, why = NO_LEAKS[what]
    with pytest.raises(SpecificationError, match=why):
        bell.accepted().accept_leak(*arguments)


def test_a_leak_that_claims_deny_is_not_accepted() -> None:
    runs = bell.accepted()
    runs.accept_leak("box", "it is seen")
    (wrong,) = [complaint for complaint in lint_draft(runs) if complaint.rule == "two-runs"]
    assert str(wrong).startswith("two-runs: accepted leak box: is no leak, since claims say")


@pytest.mark.mends("R421")
def test_the_command_refuses_what_nobody_claims_and_says_where() -> None:
    ran = carnet("verify", f"{FIXTURES / 'bell.py'}:uncovered", "--json")
    lines = (FIXTURES / "bell.py").read_text().splitlines()
    marks, bell_line = (next(n for n, line in enumerate(lines, 1) if each in line) for each in ("marked = ", "rings."))
    assert ran.code == 2
    said = ran.json["error"]["complaints"]
    assert said[0].startswith(f"bell.py:{marks}: main: no verdict would be sound: two-runs: symbol marked: ")
    assert said[1].startswith(f"bell.py:{bell_line}: main: no verdict would be sound: two-runs: action ring: ")
    assert "no claim under post says that it does not: claim together('ring'), or accept it" in said[1]


def test_an_accepted_leak_is_said_with_the_verdict() -> None:
    asked = ("verify", f"{FIXTURES / 'bell.py'}:accepted", "--engine", "induction", "--jobs", "1")
    ran = carnet(*asked, "--json")
    assert ran.code == 0
    assert "main: accepted leak ring: a bell is meant to be heard" in ran.json["notes"]
    assert "accepted leak marked: marks are for the post" in " ".join(carnet(*asked).out.split())
