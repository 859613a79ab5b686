"""Coverage adds up, checkpoints are read as they were written, and killed workers cost no engine anything."""

import errno
import hashlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.certificates import judging, production
from carnet_check.certificates.production import Answer, Question, Workers
from carnet_check.commands.doctor import look_for
from carnet_check.engines import registry
from carnet_check.engines.bounded import questions
from carnet_check.engines.checkpoints import Checkpoint, SearchCheckpoint
from carnet_check.engines.explicit import explore
from carnet_check.engines.exploration import Coverage, Exploration, Part, Search, premise_goals
from carnet_check.engines.exploring import explorer
from carnet_check.engines.induction import solving
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.engines.solvers import cvc5, eprover
from carnet_check.errors import UsageError
from carnet_check.loading.extent import Explored
from carnet_check.loading.families import load
from carnet_check.loading.scope import Scope
from carnet_check.verification.campaign import verify
from carnet_check.verification.planning import Request, plan_campaign
from carnet_spec.language import Instance, Invariant, Kind, Profile, Sort, Symbol, Term
from carnet_spec.language.terms import BOOL, FALSE, And, Apply, Implies, Not, Or, Var
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.command import TOY, control

pytestmark = pytest.mark.processes

SEARCH = Search("small", "main", (), "anyone", Profile("tiny", {}), ("one", "two"))
HERE, THERE = Instance({"Party": ("alice",)}), Instance({"Party": ("alice", "bob")}, budget=2)
WHOLE = Exploration(7, 9, 3, seconds=1.0, peak_memory_bytes=5, fired={"see": 2, "tell": 0})


def trace(*actions: str) -> Trace:
    return Trace("small", "main", (), "anyone", tuple(TraceStep(action, "party") for action in actions))


def covered(*parts: Part) -> Coverage:
    scope = Scope(tuple((part.instance, part.claims) for part in parts), Explored((("Party", 2),), len(parts)))
    return Coverage(SEARCH, scope, parts)


def test_shared_instances_add_up_and_those_of_one_claim_stand_beside() -> None:
    found = covered(Part(HERE, WHOLE), Part(HERE, WHOLE), Part(HERE, WHOLE, ("two",)))
    assert (found.states, found.transitions, found.depth, found.seconds) == (14, 18, 3, 3.0)
    assert (found.extra_states("one"), found.extra_states("two")) == (0, 7)
    assert found.fired == {"see": 6, "tell": 0}
    assert found.peak_memory_bytes == 5
    assert found.description == "14 states, depth 3"


def test_reductions_of_all_shared_instances_add_up() -> None:
    halved = replace(WHOLE, reduction={"bits": 4, "states_dominated": 1, "permutations": 2, "states_stood_for": 12})
    plain = replace(WHOLE, reduction={"bits": 5, "states_dominated": 2})
    found = covered(Part(HERE, plain), Part(HERE, halved), Part(HERE, halved), Part(HERE, halved, ("two",)))
    assert found.reduction == {"bits": 5, "states_dominated": 4, "permutations": 2, "states_stood_for": 7 + 12 + 12}
    assert found.represented == 31
    assert covered(Part(HERE, plain)).reduction == plain.reduction
    assert not covered().reduction


X = Var("x", Sort("Party"))
HAS, GETS = (Apply(Symbol(name, (X.sort,), BOOL, Kind.STATE, mutable=True), (X,)) for name in ("has", "gets"))


@pytest.mark.parametrize(
    ("body", "premises"),
    [
        (Implies(HAS, GETS), (HAS,)),
        (Implies(HAS, FALSE), ()),
        (Implies(HAS, Implies(GETS, FALSE)), (HAS,)),
        (And((Implies(HAS, FALSE), Implies(GETS, HAS))), (GETS,)),
        (Or((GETS, Not(HAS))), (HAS,)),
        (Or((Not(HAS), Not(GETS))), ()),
        (Implies(HAS, Or((Not(GETS), HAS))), (And((HAS, GETS)),)),
    ],
)
def test_what_is_denied_is_no_premise(body: Term, premises: tuple[Term, ...]) -> None:
    assert tuple(goal.body for goal in premise_goals(Invariant("claim", (X,), body))) == premises


def test_it_is_complete_if_every_part_is_and_exhaustive_without_a_budget() -> None:
    stopped = replace(WHOLE, stopped_by="memory")
    assert covered(Part(HERE, WHOLE), Part(HERE, WHOLE)).exhaustive
    assert not covered(Part(HERE, WHOLE), Part(HERE, stopped)).complete
    assert covered(Part(HERE, WHOLE), Part(HERE, stopped)).description == "stopped by memory after 14 states, depth 3"
    found = covered(Part(THERE, WHOLE))
    assert (found.complete, found.exhaustive, found.budget) == (True, False, 2)
    assert found.description == "7 states, depth 3, at most 2 active adversary moves"


def test_the_first_trace_counts_and_its_instance_is_known() -> None:
    first = replace(WHOLE, violations={"one": trace("see")}, goals={"late": trace("see", "tell")})
    second = replace(WHOLE, violations={"one": trace("tell"), "two": trace("tell")}, goals={"late": trace("tell")})
    found = covered(Part(HERE, first), Part(THERE, second))
    assert found.violations == {"one": trace("see"), "two": trace("tell")}
    assert found.goals == {"late": trace("see", "tell")}
    assert (found.instance_of("one"), found.instance_of("two")) == (HERE, THERE)


def test_a_failure_covers_nothing_and_problems_of_every_part_are_told() -> None:
    found = Coverage(SEARCH, failure="ValueError: no")
    assert (found.states, found.complete, found.stopped_by) == (0, False, "an error")
    assert found.problems == ("ValueError: no",)
    assert (found.instances, dict(found.left_out)) == ("", {})
    broken = Exploration(stopped_by="an error", problems=("an axiom is violated",))
    assert covered(Part(HERE, WHOLE), Part(HERE, broken)).problems == ("an axiom is violated",)


def test_a_search_that_ended_early_says_in_how_many_interpretations_it_was() -> None:
    found = Coverage(
        SEARCH, Scope((), Explored((), 3, 3)), (Part(HERE, WHOLE), Part(HERE, replace(WHOLE, stopped_by="time")))
    )
    assert found.description == "stopped by time after 14 states, depth 3, in 2 of 3 interpretations"


QUESTION = {"protocol": "desk", "size": [["people", 2]], "engine": "explicit"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    checkpoint = Checkpoint(tmp_path / "kept")
    checkpoint.folder.mkdir()
    checkpoint.begin(QUESTION)
    return checkpoint


def read(saved: SearchCheckpoint, series: str = "states", items: int = 2) -> list[tuple[int, bytes]]:
    return list(saved.blocks(series, items))


def test_what_is_kept_is_read_again_in_its_order(checkpoint: Checkpoint) -> None:
    saved = checkpoint.for_instance("one")
    assert saved.notes is None
    saved.keep({"level": 1}, {"states": (1, [b"ab", b"c"]), "origins": (2, [b"wxyz"])})
    saved.keep({"level": 2}, {"states": (2, [b"defg"])})
    again = checkpoint.for_instance("one")
    assert again.notes == saved.notes == {"level": 2}
    assert read(again) == [(1, b"ab"), (1, b"c"), (2, b"defg")]
    assert read(again, "origins") == [(2, b"wxyz")]
    assert (again.items("states"), again.items("origins"), again.items("others")) == (5, 2, 0)
    assert checkpoint.for_instance("another").notes is None
    assert checkpoint.begin(QUESTION) == 5


def full() -> Iterator[bytes]:
    yield b"d"
    raise OSError(errno.ENOSPC, "no space left on device")


def test_what_cannot_be_written_takes_nothing_away(checkpoint: Checkpoint) -> None:
    saved = checkpoint.for_instance("one")
    saved.keep({"level": 1}, {"states": (1, [b"abc"])})
    before = sorted(file.name for file in checkpoint.folder.iterdir())
    with pytest.raises(OSError, match="no space"):
        saved.keep({"level": 2}, {"states": (1, full())})
    assert sorted(file.name for file in checkpoint.folder.iterdir()) == before
    assert (saved.notes, read(saved, items=9)) == ({"level": 1}, [(1, b"abc")])
    saved.keep({"level": 2}, {"states": (1, [b"ef"])})
    assert read(checkpoint.for_instance("one"), items=9) == [(1, b"abc"), (1, b"ef")]


def test_no_more_is_written_than_may_lie_there(checkpoint: Checkpoint) -> None:
    checkpoint.for_instance("one").keep({}, {})
    used = sum(file.stat().st_size for file in checkpoint.folder.iterdir())
    bounded = Checkpoint(checkpoint.folder, used + 10)
    with pytest.raises(OSError, match="larger than it may be"):
        bounded.for_instance("one").keep({}, {"states": (1, [b"12345", b"678901"])})
    bounded.for_instance("one").keep({}, {"states": (1, [b"12345", b"67890"])})


@pytest.mark.parametrize("name", QUESTION)
def test_the_checkpoint_of_another_search_is_refused(checkpoint: Checkpoint, name: str) -> None:
    with pytest.raises(UsageError, match=f"another {name}"):
        checkpoint.begin({**QUESTION, name: "other"})


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(UsageError, match="neither"):
        Checkpoint(tmp_path).begin(QUESTION)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_whatever_byte_is_another_is_noticed(checkpoint: Checkpoint) -> None:
    checkpoint.for_instance("one").keep({"level": 1}, {"states": (1, [b"abc"]), "origins": (2, [b"wxyz"])})

    def look() -> None:
        checkpoint.begin(QUESTION)
        saved = checkpoint.for_instance("one")
        assert (saved.notes, read(saved, items=9)) == ({"level": 1}, [(1, b"abc")])
        assert read(saved, "origins", 9) == [(2, b"wxyz")]

    for file in sorted(checkpoint.folder.iterdir()):
        content = file.read_bytes()
        for place in range(len(content)):
            file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(UsageError):
                look()
        for shorter in range(len(content)):
            file.write_bytes(content[:shorter])
            with pytest.raises(UsageError):
                look()
        file.unlink()
        if file.suffix != ".head":  # without it nothing was kept
            with pytest.raises(UsageError):
                look()
        file.write_bytes(content)
    look()


SPOILT: dict[str, dict[str, Any]] = {
    "a field is of no symbol": {"fields": [["nothing", ["alice"]]]},
    "a field is of no element": {"fields": [["sent", ["nobody"]]]},
    "a note is missing": {"levels": None},
    "states have other bits": {"fields": []},
    "it ends elsewhere": {"level_ends": 1},
}


@pytest.mark.parametrize("what", SPOILT)
def test_what_no_search_kept_is_refused(checkpoint: Checkpoint, what: str) -> None:
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "network", Profile("sizes", {"holders": 1, "rounds": 1}, budget=0))

    def explored(saved: SearchCheckpoint) -> int:
        return explore(protocol, instance, invariants=(), stop_at_first=False, saved=saved).states

    saved = checkpoint.for_instance("one")
    whole = explored(saved)
    assert explored(checkpoint.for_instance("one")) == whole
    spoilt = checkpoint.for_instance("one")
    assert spoilt.notes is not None
    notes = {**spoilt.notes, **SPOILT[what]}
    spoilt.keep({name: value for name, value in notes.items() if value is not None}, {})
    with pytest.raises(UsageError, match="checkpoint is broken"):
        explored(checkpoint.for_instance("one"))


def test_the_head_of_another_instance_is_refused(checkpoint: Checkpoint) -> None:
    """Heads are called by the instance, and say so themselves: a file that was moved is of no use."""
    checkpoint.for_instance("one").keep({}, {"states": (1, [b"a"])})
    (head,) = checkpoint.folder.glob("*.head")
    there = checkpoint.for_instance("other")
    there.keep({}, {})
    (other,) = {*checkpoint.folder.glob("*.head")} - {head}
    other.write_bytes(head.read_bytes())
    with pytest.raises(UsageError, match="is of another instance"):
        checkpoint.for_instance("other")


@pytest.mark.parametrize("content", ["[1]", '{"of": ""}', '{"of": "", "notes": {}, "series": {"states": [[1]]}}'])
def test_a_head_that_is_none_is_refused(checkpoint: Checkpoint, content: str) -> None:
    checkpoint.for_instance("one").keep({}, {})
    (head,) = checkpoint.folder.glob("*.head")
    head.write_bytes(content.encode() + b"\n" + hashlib.sha256(content.encode()).hexdigest().encode())
    with pytest.raises(UsageError, match="is no head"):
        checkpoint.for_instance("one")


Row = tuple[str, str, str, int | None]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import nothing from the current folder, and what they run here is in this one."""
    monkeypatch.chdir(tmp_path)


def _and_killed(answers: Iterable[Any]) -> Iterator[Any]:
    yield from answers
    os.kill(os.getpid(), signal.SIGKILL)


#: What workers run; a forked one has the functions below in their places.
ANSWER: dict[str, Callable[[Any], Iterable[Any]]] = {
    "cvc5": cvc5.answer,
    "eprover": eprover.answer,
    "bounded": questions.answers,
    "search": explorer._run,
    "kernel": judging._answered,
}


def cvc5_killed(asked: Any) -> Iterator[Any]:
    return _and_killed(ANSWER["cvc5"](asked))


def eprover_killed(asked: Any) -> Iterator[Any]:
    return _and_killed(ANSWER["eprover"](asked))


def bounded_killed(asked: Any) -> Iterator[Any]:
    return _and_killed(ANSWER["bounded"](asked))


def search_killed(part: Any) -> Iterator[Any]:
    return _and_killed(ANSWER["search"](part))


def kernel_killed(batch: Any) -> Iterator[Any]:
    return _and_killed(ANSWER["kernel"](batch))


def apart_killed(text: str) -> Iterator[Any]:
    return _and_killed([(SolverOutcome.PROVED, ("core",), text)])


def finding_killed(question: Question) -> Iterator[Answer]:
    return _and_killed(production.answers(question))


def rows(engine: str) -> list[Row]:
    """Return what an engine says of claims: of the toy's, or of one that falls where the engine looks for attacks."""
    reference = control("wrong_claim") if engine == "bmc" else TOY
    outcome = verify(plan_campaign(Request(load(reference), engines=(engine,))))
    return sorted((row.claim, row.threat, str(row.verdict), row.bound) for row in outcome.results)


KILLED: dict[str, tuple[str, Callable[[Any], Iterator[Any]]]] = {
    "cvc5": ("carnet_check.engines.solvers.cvc5.answer", cvc5_killed),
    "eprover": ("carnet_check.engines.solvers.eprover.answer", eprover_killed),
    "bmc": ("carnet_check.engines.bounded.questions.answers", bounded_killed),
    "explicit": ("carnet_check.engines.exploring.explorer._run", search_killed),
    "kernel": ("carnet_check.certificates.judging._answered", kernel_killed),
}


@pytest.mark.parametrize("engine", KILLED)
def test_no_verdict_changes(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (chosen,) = registry.select_engines([engine])
    if not all(look_for(tool).present for tool in chosen.needs):
        pytest.skip(f"{engine} is not installed")
    said = rows(engine)
    assert {verdict for *_, verdict, _ in said} != {"UNKNOWN"}
    monkeypatch.setattr(*KILLED[engine])
    assert rows(engine) == said


def test_an_answer_apart_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "_asked_alone", apart_killed)
    assert solving.ask_apart("text") == (SolverOutcome.PROVED, ("core",), "text")


def test_a_certificate_that_was_found_is_found_once() -> None:
    question = Question(TOY, "main", "init/secrecy")
    with Workers(1, search=finding_killed) as pool:
        (answer,) = pool.answers([question])
    assert answer.entry is not None
