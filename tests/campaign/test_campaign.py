"""Engines, kernels and exports agree on random protocols, and the campaign notices where one of them does not."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from carnet_check.coq import program as coq_program
from carnet_check.engines.bounded import questions
from carnet_check.engines.explicit.engine import visit
from carnet_check.engines.kernel import engine as kernel_engine
from carnet_check.engines.native.engine import NATIVE
from carnet_check.engines.native.search import NativeSearch
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.exports import smtlib, tptp
from carnet_check.kernel import checker
from carnet_check.obligations import Obligation
from carnet_check.semantics import Interpreter
from carnet_spec.language.decoding import decode
from tests.campaign import __main__ as command
from tests.campaign import examining, exhausting, running
from tests.campaign.examining import PROVED
from tests.campaign.kernels import Both
from tests.campaign.running import Campaign, Chunk, run, total
from tests.coq.coq_files import exhaust, program
from tests.fixtures.thorough import share

FEW, SEED = share(40), 5


def campaign(size: int = FEW, seed: int = SEED) -> Campaign:
    """Return a campaign of chunks of this size; skip the test without Coq, a C compiler, cvc5 or E."""
    if NATIVE.lacks:
        pytest.skip(NATIVE.lacks)
    pytest.importorskip("cvc5", reason="needs the solver cvc5 (the extra 'cvc5')")
    if examining.missing_e():
        pytest.skip("needs E (the extra 'eprover', or Debian's package eprover)")
    return Campaign(seed, program(), exhaust(), size=size)


def require_agreement(chunks: list[Chunk]) -> None:
    for chunk in chunks:
        assert not chunk.disagreements, "\n".join((*chunk.disagreements, "the smallest:", chunk.smallest))


@pytest.mark.long
def test_engines_kernels_and_exports_agree_on_a_few_random_protocols() -> None:
    chunk = campaign().chunk(0)
    require_agreement([chunk])
    seen = (
        *("protocols", "Z3: proved", "Z3: refuted", "cvc5: proved", "E: proved", "certificates accepted", "instances"),
        *("claim bmc HOLDS-TO", "claim bmc VIOLATED", "claim native EXHAUSTED", "claim native VIOLATED"),
    )
    assert all(chunk.counts[what] for what in seen), chunk.counts


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_engines_kernels_and_exports_agree_on_random_protocols() -> None:
    chunks = list(run(campaign(running.CHUNK, seed=2), 300, jobs=1))
    require_agreement(chunks)
    counts = total(chunks)
    texts = counts["texts"]
    assert counts["variants outside the certified language"] < counts["variants"] / 10
    assert counts["too big to enumerate"] < counts["protocols"] / 5
    assert all(counts[f"{who}: proved"] > texts / 2 for who in ("Z3", "cvc5", "E"))
    assert counts["small structures: refuted"] > texts / 20
    assert counts["claim bmc UNKNOWN"] < counts["protocols"] / 10
    assert counts["certificates judged"] == counts["certificates accepted"] > texts / 3
    assert counts["spoilt certificates that can be read"] > texts / 10
    assert counts["claims proved by certificates"] > counts["protocols"] / 2
    assert counts["exhausted accepted"] > counts["protocols"] / 2


# -- what the campaign notices ----------------------------------------------------------------------


def _turned(head: str, parts: Any, said: Callable[..., str] = smtlib._list) -> str:
    return said({"and": "or", "or": "and"}.get(head, head), parts)


def _one_state_less(*given: Any) -> Any:
    found = visit(*given)
    states = found.states
    kept = [row for row in range(states.rows) if row != states.rows - 1 or states.rows == 1]
    columns = bytes(states.columns[byte * states.rows + row] for byte in range(states.bytes_each) for row in kept)
    start = min(states.start, len(kept) - 1)
    return replace(found, states=replace(states, rows=len(kept), columns=columns, start=start))


def _some(writer: Any, quantifier: str, *given: Any, said: Any = tptp._Writer._quantified) -> Any:
    return said(writer, {"!": "?"}.get(quantifier, quantifier), *given)


def _too_late(runs: Any, claim: str, place: int, denied: Any = questions.Unrolling.denied) -> Any:
    return denied(runs, claim, max(0, place - 1))


def _proved(obligation: Obligation, *_: Any) -> SolverAnswer:
    return SolverAnswer(obligation.id, SolverOutcome.PROVED)


NOTICED: Mapping[str, tuple[Any, str, Any]] = {
    "Z3 proves everything": (examining, "by_z3", lambda *_: (PROVED, frozenset())),
    "cvc5 proves everything": (examining, "by_cvc5", lambda _: PROVED),
    "E proves everything": (examining, "by_e", lambda _: PROVED),
    "E is told that some are as all are": (tptp._Writer, "_quantified", _some),
    "the text for solvers says and for or": (smtlib, "_list", _turned),
    "the kernel in Python closes every branch": (checker, "_close", lambda *_: None),
    "the kernel in Coq accepts everything": (Both, "accepted_in_coq", lambda _, given: (set(given), True)),
    "a claim follows without its certificates": (kernel_engine, "_answer", _proved),
    "a state is missing where all are said to be": (exhausting, "visit", _one_state_less),
    "the native engine never looks at what it found": (NativeSearch, "_look", lambda _: None),
    "a step changes nothing, says the interpreter": (Interpreter, "fire", lambda _, state, *__: state),
    "no step changes anything, says the text of runs": (questions, "_updated", lambda _, __, value, *___: value),
    "runs break a claim after one step more than they need": (questions.Unrolling, "denied", _too_late),
    "a protocol reads back as another": (examining, "decoded", lambda text: replace(decode(text), title="?")),
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("fault", NOTICED)
def test_what_is_wrong_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(campaign(size=12), shrinks=False)
    monkeypatch.setattr(*NOTICED[fault])
    assert any(small.chunk(number).disagreements for number in range(3))


def test_explorers_alone_are_held_to_the_enumerator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if NATIVE.lacks:
        pytest.skip(NATIVE.lacks)
    alone = Campaign(SEED, tmp_path, tmp_path, size=12, shrinks=False, explorers_only=True)
    counts = alone.chunk(1).counts
    assert counts["claim native EXHAUSTED"] == counts["claim explicit EXHAUSTED"] > 0
    assert counts["claim native VIOLATED"] == counts["claim explicit VIOLATED"] > 0
    assert not counts.keys() & {"obligations", "claim induction PROVED"}
    monkeypatch.setattr(NativeSearch, "_look", lambda _: None)
    assert replace(alone, size=5).chunk(1).disagreements


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_disagreement_ends_a_run_with_a_small_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examining, "by_cvc5", lambda _: PROVED)
    (*_, last) = run(campaign(size=6), 100, jobs=1)
    assert last.disagreements
    assert "'cvc5': 'proved'" in last.smallest


def test_what_is_drawn_depends_on_the_seed_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Hypothesis draws numbers that it finds in modules, and which modules are loaded depends on what ran before."""
    some, drawn = Campaign(1, tmp_path, tmp_path), list[str]()
    some._drawn(0, lambda recipe: drawn.append(repr(recipe)))
    found = Constants(integers=set(range(1, 13)))
    monkeypatch.setattr(providers, "_get_local_constants", lambda: found)
    again: list[str] = []
    some._drawn(0, lambda recipe: again.append(repr(recipe)))
    assert len(set(drawn)) > running.CHUNK / 2
    assert again == drawn


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let programs be there that nobody asks anything."""
    monkeypatch.setattr(command, "program", lambda: tmp_path)
    monkeypatch.setattr(coq_program, "exhaust_program", lambda: tmp_path)


@pytest.mark.usefixtures("programs")
def test_a_run_goes_on_where_its_record_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[int] = []

    def chunk(_: Campaign, number: int) -> Chunk:
        made.append(number)
        return Chunk(number, {"protocols": 10, "texts": number}, ("two differ",) if len(made) == 3 else ())

    monkeypatch.setattr(Campaign, "chunk", chunk)
    words = ["--seed", "3", "--out", str(tmp_path / "record.csv")]
    assert command.main([*words, "--protocols", "15"]) == 0
    assert command.main([*words, "--protocols", "35"]) == 1
    assert command.main([*words, "--protocols", "35"]) == 0
    assert command.main([*words, "--protocols", "35"]) == 0
    assert made == [0, 1, 2, 2, 3]
    assert {"chunks,4", "protocols,40", "texts,6"} <= set((tmp_path / "record.csv").read_text("utf-8").split())


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    "words", [["--seed", "4"], ["--seed", "3", "--e-every", "2"], ["--seed", "3", "--explorers-only"]]
)
def test_the_record_of_another_campaign_is_not_gone_on_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    monkeypatch.setattr(Campaign, "chunk", lambda _, number: Chunk(number, {"protocols": 10}))
    record = tmp_path / "record.csv"
    assert command.main(["--seed", "3", "--protocols", "10", "--out", str(record)]) == 0
    before = record.read_text("utf-8")
    assert command.main([*words, "--protocols", "20", "--out", str(record)]) == 2
    record.write_text("counted,number\nnothing\n", "utf-8")
    assert command.main(["--seed", "3", "--protocols", "20", "--out", str(record)]) == 2
    assert "protocols,10" in before


@pytest.mark.usefixtures("programs")
def test_everything_that_is_counted_is_in_the_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counts = {"protocols": 30, "Z3: proved": 7, "refused": 2}
    monkeypatch.setattr(Campaign, "chunk", lambda _, number: Chunk(number, counts))
    out = tmp_path / "record.csv"
    assert command.main(["--protocols", "20", "--seed", "3", "--out", str(out)]) == 0
    assert out.read_text("utf-8").splitlines() == [
        "counted,number",
        "seed,3",
        "E is asked about one chunk in,1",
        "chunks,1",
        "protocols,30",
        "refused,2",
        "Z3: proved,7",
        "disagreements,0",
    ]
    monkeypatch.setattr(Campaign, "chunk", lambda _, number: Chunk(number, counts, ("two differ",), "small"))
    assert command.main(["--protocols", "50", "--seed", "3", "--out", str(tmp_path / "other.csv")]) == 1
