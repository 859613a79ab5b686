"""The text of an obligation, word for word, and what a solver makes of it."""

import hashlib
import itertools
import re

import pytest
import z3
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from carnet_check.exports.obligation_index import COLUMNS, index, rows
from carnet_check.exports.obligation_text import Writer, digest
from carnet_check.exports.tptp import tptp
from carnet_check.obligations import Obligation, layers, obligations
from carnet_spec.language import *
from tests.unit.model_check.obligations.lending import lending, obligation
from tests.unit.model_check.small import Key, Party, Phase, alice, claimed, drafted, first, phase, seen

LENDING = lending().protocol()
EVERY = [each for layer in layers(LENDING) for each in obligations(layer)]


class Text(SingleFileSnapshotExtension):
    """Keeps each text in a file of its own, as it is."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Text)


def test_smtlib_is_the_kept_text(golden: SnapshotAssertion) -> None:
    writer = Writer()
    assert golden == "\n".join(f"; {each.id}\n{writer.text(each)}" for each in EVERY)


def test_tptp_is_the_kept_text(golden: SnapshotAssertion) -> None:
    assert golden == "\n".join(f"% {each.id}\n{tptp(each)}" for each in EVERY)


def _answer(text: str) -> str:
    solver = z3.Solver()
    solver.set("rlimit", 1_000_000)
    solver.from_string(text)
    return str(solver.check())


@pytest.mark.parametrize("each", EVERY, ids=lambda each: each.id)
def test_a_solver_finds_the_contradiction(each: Obligation) -> None:
    assert _answer(Writer().text(each)) == "unsat"


def test_hypotheses_that_are_there_can_be_left_out() -> None:
    each = obligation(LENDING, "step/end/owned")
    text = Writer().text(each, {"inv:owned"})
    assert [line.rpartition(" :named ")[2] for line in text.splitlines() if line.startswith("(assert")] == [
        "|inv:owned|))",
        "goal))",
    ]
    assert _answer(text) == "unsat"
    assert _answer(Writer().text(each, ())) == "sat"
    with pytest.raises(SpecificationError, match="obligation init/owned has no hypothesis guard:moon, inv:owned"):
        Writer().text(obligation(LENDING, "init/owned"), {"guard:moon", "inv:owned"})


def test_all_parameters_are_declared_and_of_the_rest_only_what_is_used() -> None:
    def act(step: Step, by: Party, idle: Key) -> None:
        step.require("early", phase == Phase.EARLY)
        step.insert(seen(by))

    protocol = claimed(drafted(act), it=lambda: seen(alice))
    text = Writer().text(obligation(protocol, "step/act/it"), ())
    assert text.splitlines()[2:-2] == [
        "(declare-sort sort.Party 0)",
        "(declare-sort sort.Key 0)",
        "(declare-const par.by.Party sort.Party)",
        "(declare-const par.idle.Key sort.Key)",
        "(declare-fun now.seen (sort.Party) Bool)",
        "(declare-fun rigid.alice () sort.Party)",
        "(assert (! (not (or (now.seen rigid.alice) (and (= rigid.alice par.by.Party) true))) :named goal))",
    ]


def test_a_text_or_digest_does_not_depend_on_what_was_written_before() -> None:
    texts = [Writer().text(each) for each in EVERY]
    for order in itertools.islice(itertools.permutations(range(len(EVERY))), 1_000, 1_003):
        writer = Writer()
        assert {n: writer.text(EVERY[n]) for n in order} == dict(enumerate(texts))
    writer = Writer()
    asked = [(each, (), tuple(said.name for said in each.hypotheses[:-1])) for each in EVERY]
    assert any(each.skipped for each in EVERY)
    for each, *choices in asked:
        for kept in choices:
            assert writer.digest(each, kept) == digest(Writer().text(each, kept)), (each.id, kept)


def test_equal_obligations_of_different_actions_have_equal_texts() -> None:
    skipped = [each for each in EVERY if each.skipped and each.statement.invariant.name == "known_are_seen"]
    assert len(skipped) == 2
    assert len({Writer().text(each) for each in skipped}) == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a|b", "act: no proof obligation can write 'a|b'"),
        ("a\\b", "act: no proof obligation can write 'a\\b'"),
        ("a\nb", "no name in a proof obligation can"),
        ("a\u2028b", "no name in a proof obligation can"),
    ],
    ids=ascii,
)
def test_a_name_that_no_text_can_hold_is_refused(name: str, said: str) -> None:
    def act(step: Step, by: Party) -> None:
        step.require(name, first)
        step.insert(seen(by))

    with pytest.raises(SpecificationError, match=re.escape(said)):
        Writer().text(obligation(claimed(drafted(act), it=lambda: seen(alice)), "step/act/it"))


def test_the_index_has_a_row_for_each_obligation() -> None:
    cores = {("main", "step/end/owned"): ("inv:owned",)}
    listed = list(rows(EVERY, cores))
    cells = {row.obligation.id: row.cells() for row in listed}
    assert list(cells) == [each.id for each in EVERY]
    text = Writer().text(obligation(LENDING, "step/end/owned"), {"inv:owned"})
    assert cells["step/end/owned"] == (
        *("main", "", "step/end/owned", hashlib.sha256(text.encode()).hexdigest(), '["inv:owned"]'),
    )
    assert cells["one:init/a%2Flone"][1] == "one"
    assert index(cells.values()).startswith(",".join(COLUMNS) + "\nmain,,init/owned,")
    assert all(row.digest == digest(row.smtlib) for row in listed)
