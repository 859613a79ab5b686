"""How the work of ``carnet verify`` is done changes no verdict: jobs, shards, a cache, and workers that are lost."""

import json
import os
import resource
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from carnet_check.cache import _canonical, _digest
from carnet_check.engines import runner
from carnet_check.engines.exploration import Caps, Search
from carnet_check.engines.exploring import explorer, searches
from carnet_check.engines.induction import solving
from carnet_check.engines.induction.solving import Batch, solve
from carnet_check.engines.runner import Shard
from carnet_check.engines.solvers import cvc5
from tests.unit.model_check.command import FASTEST, FIXTURES, TOY, WIDE, carnet, control

pytestmark = pytest.mark.processes

NEEDS_MORE = (f"{FIXTURES / 'needs_more.py'}:FOUND", "--variant", "forgetful", "--engine", "explicit")
WRONG = control("wrong_claim")
SLOW = pytest.mark.slow
#: Engines that are named are asked, whatever certificates say.
BOTH = (TOY, "--engine", "induction", "--engine", FASTEST)
LAPS = (f"{FIXTURES / 'laps.py'}:FAMILY", "--engine", "explicit")


def verdicts(folder: Path, *arguments: str) -> bytes:
    carnet("verify", *arguments, "--out", str(folder))
    return (folder / "verdicts.jsonl").read_bytes()


def told(folder: Path) -> list[tuple[int, int]]:
    """Return how many answers a run had from a cache and of how many, as its notes say."""
    notes = json.loads((folder / "run.json").read_text())["notes"]
    said = [note.removesuffix(" came from the cache").split() for note in notes if note.endswith("came from the cache")]
    return [(int(words[-4]), int(words[-2])) for words in said]


MORE = [pytest.param(NEEDS_MORE, marks=SLOW, id="more"), pytest.param(LAPS, marks=SLOW, id="laps")]


@pytest.mark.parametrize("asked", [pytest.param(BOTH, id="toy"), pytest.param((WRONG,), id="wrong"), *MORE])
def test_verdicts_are_the_same_bytes_however_the_work_is_done(asked: tuple[str, ...], tmp_path: Path) -> None:
    plain = verdicts(tmp_path / "plain", *asked, "--jobs", "1")
    cached = (*asked, "--cache", str(tmp_path / "cache"))
    assert verdicts(tmp_path / "cold", *cached, "--jobs", "2") == plain
    assert verdicts(tmp_path / "warm", *cached, "--jobs", "1") == plain
    assert told(tmp_path / "warm")
    assert all(known == of > 0 for known, of in told(tmp_path / "warm"))


@pytest.mark.parametrize("asked", [pytest.param(BOTH, id="toy"), *MORE])
def test_joined_shards_say_what_one_run_says(asked: tuple[str, ...], tmp_path: Path) -> None:
    cached = (*asked, "--cache", str(tmp_path / "cache"))
    done: dict[str, int] = {}
    for number in (1, 2):
        ran = carnet("verify", *cached, "--shard", f"{number}/2", "--json")
        assert (ran.code, ran.json["results"], ran.json["summary"]["as_expected"]) == (0, [], False)
        for share in ran.json["shard"]["shares"]:
            done[share["engine"]] = done.get(share["engine"], 0) + share["done"]
    assert all(done.values())
    assert verdicts(tmp_path / "joined", *cached) == verdicts(tmp_path / "plain", *asked)
    assert all(known == of > 0 for known, of in told(tmp_path / "joined")), "the join computes nothing itself"


def test_every_piece_of_work_is_in_one_shard() -> None:
    names = [f"step/{number}" for number in range(200)]
    for of in (1, 2, 7):
        shards = [Shard(number, of) for number in range(1, of + 1)]
        assert sorted(name for shard in shards for name in names if shard.owns(name)) == sorted(names)
        assert sorted(name for shard in shards for name in shard.share(names)) == sorted(names)
        assert all(any(shard.owns(name) for name in names) for shard in shards)


@SLOW
def test_a_missing_shard_is_made_up_for(tmp_path: Path) -> None:
    cached = (TOY, "--cache", str(tmp_path / "cache"))
    assert carnet("verify", *cached, "--shard", "1/2").code == 0
    assert verdicts(tmp_path / "joined", *cached) == verdicts(tmp_path / "plain", TOY)


REFUSED = {
    "no cache": (("--shard", "1/2"), "--shard expects --cache DIR"),
    "none": (("--shard", "0/2", "--cache", "c"), "expected K/N with K from 1 to N, not '0/2'"),
    "too many": (("--shard", "3/2", "--cache", "c"), "expected K/N with K from 1 to N, not '3/2'"),
    "no number": (("--shard", "one", "--cache", "c"), "expected K/N with K from 1 to N, not 'one'"),
    "written down": (("--shard", "1/2", "--cache", "c", "--out", "r"), "a shard establishes nothing"),
    "kernel": (("--shard", "1/2", "--cache", "c", "--engine", "kernel"), "the work of the kernel engine is not shared"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_shard_that_makes_no_sense_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, why = REFUSED[name]
    ran = carnet("verify", TOY, *arguments)
    assert ran.code == 2
    assert why in ran.err
    assert ran.err.count("\n") == 1


def test_a_cluster_that_is_not_there_is_a_usage_error() -> None:
    ran = carnet("verify", TOY, "--ray", "127.0.0.1:1")
    assert ran.code == 2
    assert "carnet[cluster]" in ran.err or "expected a Ray cluster at '127.0.0.1:1', and none answers" in ran.err


def entries(cache: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for file in cache.glob("*/*.json"):
        yield file, json.loads(file.read_text())


def test_a_spoilt_cache_changes_no_verdict(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    asked = (*BOTH, "--cache", str(cache))
    plain = verdicts(tmp_path / "plain", *asked)
    files = sorted(file for file, _ in entries(cache))
    for number, file in enumerate(files):
        content = file.read_bytes()
        file.write_bytes((b"", content[: len(content) // 2], files[number - 1].read_bytes())[number % 3])
    assert verdicts(tmp_path / "again", *asked) == plain
    notes = json.loads((tmp_path / "again" / "run.json").read_text())["notes"]
    assert [note.split(" where ")[0] for note in notes if "not believed" in note] == [
        "induction: the cache is not believed",
        f"{FASTEST}: the cache is not believed",
    ]


def test_an_attack_that_somebody_made_up_is_not_believed(tmp_path: Path) -> None:
    """Whoever writes into a cache is trusted with what a solver says; a trace is replayed all the same."""
    cache = tmp_path / "cache"
    asked = (TOY, "--engine", "explicit", "--threat", "none", "--cache", str(cache), "--json")
    assert carnet("verify", *asked).code == 0
    for file, found in entries(cache):
        del found["sum"]
        (trace,) = [trace for goal, trace in found["answer"]["goals"] if goal == "loan-ends"]
        found["answer"]["violations"] = [["secrecy", trace]]
        file.write_text(_canonical({**found, "sum": _digest(_canonical(found))}))
    ran = carnet("verify", *asked)
    assert ran.code == 5
    assert "the interpreter replays the counterexample to secrecy, and the claim still holds" in ran.out


def test_a_search_that_was_cut_short_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(searches.CAPS, "tiny", Caps(states=50))
    cache = tmp_path / "cache"
    for shard, code in (((), 3), (("--shard", "1/1"), 3)):
        assert carnet("verify", WIDE, "--engine", "explicit", "--cache", str(cache), *shard).code == code
    assert list(entries(cache)) == []


def test_the_kernel_reads_no_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert carnet("verify", TOY, "--engine", "kernel", "--cache", str(cache), "--json").code == 0
    assert list(cache.iterdir()) == []


TWO = control("two_claims")
VICTIM = "step/pass_on/somebody"


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def silent() -> None:
    signal.pause()


def greedy() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    bytearray(1 << 60 if limit == resource.RLIM_INFINITY else 8 << 30)


ENDINGS: dict[str, tuple[Callable[[], None], str]] = {
    "killed": (killed, "the worker was killed by signal 9"),
    "silent": (silent, "the worker said nothing for 2 s"),
    "greedy": (greedy, "the worker needs more memory than it may have"),
}


#: What the workers of engines run, before something else takes its place.
ANSWER: dict[str, Callable[[Any], Iterable[Any]]] = {
    "induction": solve,
    "explicit": explorer._run,
    "cvc5": cvc5.answer,
}


@dataclass(frozen=True)
class Spiteful:
    """Answers as a worker's function does, but ends badly at one part of the work."""

    how: str
    engine: str

    def __call__(self, part: Any) -> Iterator[Any]:
        if _is_victim(part):
            ENDINGS[self.how][0]()
        yield from ANSWER[self.engine](part)


def _is_victim(part: Any) -> bool:
    """Whether a part of the work is, or holds, the one at which workers end badly."""
    match part:
        case Batch(questions=questions):
            return any(question.id == VICTIM for question in questions)
        case (_, Search(threat=threat), _):
            return threat == "collusion"
        case (_, str() as text, _):
            goal = text.partition("(check-sat)")[0].splitlines()[-1]
            return "(exists" in goal and "par.a.Party" in goal
    return False


@pytest.fixture
def spiteful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Return what makes the workers of an engine end badly; they may be silent for two seconds."""
    monkeypatch.chdir(tmp_path)  # workers import nothing from the current folder, and here they need the tests
    monkeypatch.setattr(runner, "PATIENCE", 2.0)
    monkeypatch.setattr(explorer, "PATIENCE", 2.0)
    places = {"induction": (solving, "solve"), "explicit": (explorer, "_run"), "cvc5": (cvc5, "answer")}

    def behave(how: str, engine: str) -> None:
        place, name = places[engine]
        monkeypatch.setattr(place, name, Spiteful(how, engine))

    return behave


ASKED = [
    *(("explicit", how) for how in ENDINGS),
    ("induction", "killed"),
    *(pytest.param("induction", how, marks=SLOW) for how in ("greedy", "silent")),
    *(pytest.param("cvc5", how, marks=SLOW) for how in ENDINGS),
]


@pytest.mark.parametrize(("engine", "how"), ASKED)
def test_a_worker_that_is_lost_costs_its_part_of_the_work_and_nothing_else(
    engine: str, how: str, spiteful: Callable[[str, str], None], tmp_path: Path
) -> None:
    """Its claim is UNKNOWN, or its search an ERROR; everything else is as it is without the loss."""
    protocol, lost, verdict, code = {"explicit": (TOY, ("secrecy", "collusion"), "ERROR", 5)}.get(
        engine, (TWO, ("somebody", "anyone"), "UNKNOWN", 3)
    )
    asked = ("verify", protocol, "--engine", engine, "--cache", str(tmp_path / "cache"), "--json")
    spiteful(how, engine)
    ran = carnet(*asked)
    before = {(row["claim"], row["threat"]): row for row in ran.json["results"] if row["kind"] == "claim"}
    assert ran.code == code
    assert before.pop(lost)["verdict"] == verdict
    assert {row["verdict"] for row in before.values()} == {"EXHAUSTED" if engine == "explicit" else "PROVED"}
    if engine != "induction":
        assert ENDINGS[how][1] in ran.out


def test_what_was_lost_is_asked_again_and_never_remembered(
    spiteful: Callable[[str, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("verify", TWO, "--engine", "induction", "--cache", str(tmp_path / "cache"))
    spiteful("killed", "induction")
    ran = carnet(*asked, "--shard", "1/1", "--json")
    (share,) = ran.json["shard"]["shares"]
    assert (ran.code, share["open"]) == (3, {f"main: {VICTIM}": ENDINGS["killed"][1]})
    monkeypatch.setattr(solving, "solve", solve)
    assert carnet(*asked).code == 0


def test_a_search_that_goes_wrong_in_a_shard_is_an_error(spiteful: Callable[[str, str], None], tmp_path: Path) -> None:
    spiteful("killed", "explicit")
    ran = carnet("verify", TOY, "--engine", "explicit", "--cache", str(tmp_path / "c"), "--shard", "1/1")
    assert ran.code == 5
    assert f"problem      {ENDINGS['killed'][1]}" in ran.out
