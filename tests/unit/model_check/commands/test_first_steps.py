"""What somebody meets first: help, ``doctor``, ``init``, ``list``, ``explain`` and ``diff``."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.cache import _user_folder
from carnet_check.cli import main
from carnet_check.commands import doctor
from carnet_check.commands.descriptions import completions, entries
from carnet_check.commands.diff import KEY, Direction, differences
from carnet_check.commands.doctor import look_for
from carnet_check.commands.entry import Entry
from carnet_check.engines.interface import Tool
from carnet_check.engines.registry import registered_engines
from carnet_check.loading.families import Source, load
from carnet_check.report.run_folder import Run
from carnet_spec.language import Draft, Family, Formula, Protocol, Service, implies
from tests.fixtures import toy
from tests.repo.tracked import ROOT
from tests.unit.model_check.command import CONTROLS, TOY, carnet

CARNET = "from carnet_check.cli import main; main(prog_name='carnet')"
AT_ONCE = 0.3  #: Seconds of processor time: what is seen on a machine that does nothing else.


def processor_seconds(*command: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_comes_at_once() -> None:
    assert min(processor_seconds(sys.executable, "-c", CARNET, "--help") for _ in range(3)) < AT_ONCE


@pytest.mark.parametrize("group", [(), ("attest",)])
def test_a_group_alone_shows_its_help_as_it_is_meant_to_be_read(group: tuple[str, ...]) -> None:
    ran = carnet(*group)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == carnet(*group, "--help").out
    assert all(len(line) <= 80 for line in ran.err.splitlines())


def test_help_says_who_takes_json() -> None:
    said = " ".join(carnet("--help").out.split())
    assert "Every command but lsp takes --json; a group, such as attest, leaves that to its commands." in said
    assert carnet("attest", "--json").code == 2


def completed(line: str) -> list[str]:
    """Return what the shell offers where ``line`` ends."""
    words = line.split(" ")
    asked = {"_CARNET_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    ran = CliRunner().invoke(main, env=asked, prog_name="carnet")
    assert ran.stderr == ""
    return [offer.partition(",")[2] for offer in ran.stdout.splitlines() if offer]


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("carnet ver", ["verify"]),
        ("carnet verify gpu-", ["gpu-travelling"]),
        (f"carnet verify {TOY} --claim s", ["secrecy"]),
        (f"carnet attack {TOY} --without fresh-key,ret", ["fresh-key,return-checked"]),
        (f"carnet attack {TOY} --variant f", ["forgetful"]),
        (f"carnet verify {TOY} --cti known", ["known_keys_are_used"]),
        (f"carnet verify {TOY} --cti secr", ["secrecy"]),
        (f"carnet explain --protocol {TOY} fr", ["fresh-key"]),
        ("carnet explain grant-e", ["grant-ends"]),
        ("carnet explain --protocol nothing-of-this-name g", []),
        ("carnet attack nothing-of-this-name --variant f", []),
    ],
)
def test_the_shell_completes_names(line: str, offers: list[str]) -> None:
    assert completed(line) == offers


def seen_on_a_terminal(*arguments: str, **environment: str) -> str:
    """Return what ``carnet`` shows on a terminal of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", CARNET, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **environment},
    ):
        os.close(theirs)
        shown = b"".join(until_hung_up(ours))
    os.close(ours)
    return shown.decode()


def until_hung_up(terminal: int) -> Iterator[bytes]:
    """Yield what is written to a terminal, until nobody is left who could write."""
    while True:
        try:
            written = os.read(terminal, 65536)
        except OSError:  # how Linux reports that the other end is closed
            return
        if not written:
            return
        yield written


CONTROL = "\x1b"


def test_a_live_line_is_for_terminals_that_can_write_over_it() -> None:
    verify = ("verify", TOY)
    for terminal, live in (("xterm-256color", True), ("dumb", False)):
        seen = seen_on_a_terminal(*verify, TERM=terminal)
        assert "secrecy" in seen
        assert (CONTROL in seen) == live
    piped = subprocess.run([sys.executable, "-c", CARNET, *verify], capture_output=True, text=True, check=True)
    assert "secrecy" in piped.stdout
    assert CONTROL not in piped.stdout + piped.stderr


def test_the_doctor_says_what_is_there_and_knows_nothing_that_is_not() -> None:
    ran = carnet("doctor", "--json")
    tools = {tool["name"]: tool for tool in ran.json["tools"]}
    assert (ran.code, ran.json["missing"]) == (0, [])
    assert tools["z3"]["detail"] == "z3-solver 5.4.0.0"
    assert tools["z3"]["required"]
    assert not tools["evidence bundle"]["required"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    offered = {extra for tool in doctor.TOOLS for extra in re.findall(r"'carnet\[(\w+)\]'", tool.get)}
    assert offered >= {"bundle", "train", "cluster"}
    assert offered <= set(project["optional-dependencies"])
    unwritten = {"cvc5", "compiled explorer", "spin", "c compiler", "java"}
    assert unwritten.isdisjoint(tool.name for tool in doctor.TOOLS)
    needed = [tool for engine in registered_engines() for tool in engine.needs]
    advice = [tool.get for tool in (*needed, *doctor.TOOLS) if "pip" in tool.get]
    assert all(re.fullmatch(r"pip install (carnet|'carnet\[\w+\]')", each) for each in advice), advice
    assert look_for(Tool("shell", "", "", programs=("no-such-program", "sh"))).present
    assert not look_for(Tool("shell", "", "", programs=("no-such-program",))).present


def test_the_doctor_says_how_to_get_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Tool("oracle", "answers at once", "ask at Delphi", ("no-such-distribution",), required=True)
    monkeypatch.setattr(doctor, "TOOLS", (absent,))
    ran = carnet("doctor")
    assert ran.code == 1
    assert "MISSING      oracle: answers at once (get it: ask at Delphi)" in ran.out
    assert "get it: ask at Delphi" in ran.out
    assert all(len(line) <= 80 for line in ran.out.splitlines())


FILES = {"protocol.py", "test_protocol.py", "README.md", ".github/workflows/carnet.yml"}


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    folder = tmp_path / "my-tickets"
    assert carnet("init", str(folder)).code == 0
    return folder


@pytest.mark.mends("P9")
def test_every_claim_is_proved_and_explored(begun: Path) -> None:
    ran = carnet("verify", str(begun / "protocol.py"), "--json")
    assert ran.code == 0
    assert {row["verdict"] for row in ran.json["results"]} == {"PROVED", "EXHAUSTED"}
    assert {row["protocol"] for row in ran.json["results"]} == {"my-tickets"}
    assert ran.json["notes"] == []
    assert all(goal["reached"] for goal in ran.json["goals"])


@pytest.mark.parametrize(("defence", "claim"), [("fresh-ticket", "own-ticket"), ("void-after-entry", "one-entry")])
def test_each_defence_is_needed(begun: Path, defence: str, claim: str) -> None:
    ran = carnet("attack", str(begun / "protocol.py"), "--without", defence, "--json")
    assert (ran.code, ran.json["claim"], ran.json["decisive"]["defence"]) == (1, claim, defence)


def test_its_test_passes_and_fails_where_a_claim_does(begun: Path) -> None:
    file = begun / "protocol.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(begun)]
    assert subprocess.run(command, cwd=begun, capture_output=True, check=False).returncode == 0
    file.write_text(file.read_text().replace('step.fresh(ticket, defence="fresh-ticket")', "pass"))
    assert "fresh(" not in file.read_text()
    ran = subprocess.run(command, cwd=begun, capture_output=True, text=True, check=False)
    assert (ran.returncode, "own-ticket" in ran.stdout) == (1, True)


def test_the_commands_of_its_page_and_of_its_workflow_are_commands(begun: Path) -> None:
    page = (begun / "README.md").read_text()
    workflow = yaml.safe_load((begun / ".github/workflows/carnet.yml").read_text())
    steps = [step["run"] for step in workflow["jobs"]["verify"]["steps"] if "run" in step]
    lines = [line.partition("#")[0].strip() for line in (*page.splitlines(), *steps)]
    commands = [line.split()[1:] for line in lines if line.startswith("carnet ")]
    assert {command[0] for command in commands} >= {"verify", "attack", "explain"}
    for command in commands:
        here = [str(begun / word) if word.endswith((".py", ".xml", ".sarif", ".md")) else word for word in command]
        ran = carnet(*(str(begun / "run") if word == "run" else word for word in here))
        assert ran.code == (1 if command[0] == "attack" else 0), (command, ran.err)


def test_an_empty_folder_is_filled_also_the_one_that_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    ran = carnet("init", ".", "--json")
    assert (ran.code, ran.json["protocol"], set(ran.json["files"])) == (0, "here", FILES)
    assert written(here) == FILES


def test_a_folder_that_holds_something_or_cannot_be_written_to_is_left_alone(begun: Path, tmp_path: Path) -> None:
    (begun / "protocol.py").write_text("mine")
    ran = carnet("init", str(begun))
    assert (ran.code, "expected a new or empty folder" in ran.err) == (2, True)
    assert (begun / "protocol.py").read_text() == "mine"
    (tmp_path / "file").write_text("")
    ran = carnet("init", str(tmp_path / "file" / "mine"))
    assert (ran.code, ran.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("name", ["Mine", "1st", "a b", "ä", "-x", "x_y"])
def test_a_name_that_no_protocol_has_is_refused(tmp_path: Path, name: str) -> None:
    ran = carnet("init", "--", str(tmp_path / name))
    assert (ran.code, "expected a folder called like a protocol" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "write_text", full)
    ran = carnet("init", str(tmp_path / "mine"))
    assert (ran.code, "no space left" in ran.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_list_names_everything_that_other_commands_take() -> None:
    (listed,) = carnet("list", TOY, "--json").json["protocols"]
    assert listed["claims"] == ["secrecy", "punctual"]
    assert listed["threats"] == ["none", "collusion"]
    assert listed["defences"] == ["fresh-key", "return-checked"]
    assert listed["variants"] == ["main", "forgetful"]
    assert listed["profiles"] == ["tiny"]
    (finding,) = listed["findings"]
    assert (finding["id"], finding["variant"]) == ("one-key", "forgetful")


@pytest.mark.parametrize("protocol", [TOY, "gpu-travelling"])
def test_whatever_is_listed_is_explained(protocol: str) -> None:
    (listed,) = carnet("list", protocol, "--json").json["protocols"]
    names = {
        name for kind in ("claims", "threats", "defences", "variants", "profiles", "goals") for name in listed[kind]
    }
    names |= {finding["id"] for finding in listed["findings"]}
    assert names - {entry.id for entry in entries(load(protocol))} == set()


def test_where_there_are_other_designs_the_list_points_to_their_claims() -> None:
    assert "`carnet explain VARIANT` names them" in carnet("list", TOY).out
    assert "`carnet explain VARIANT`" not in carnet("list", f"{CONTROLS}:sound").out


@pytest.mark.parametrize("arguments", [("list",), ("explain", "grant"), ("explain", "confidentiality")])
def test_what_there_is_fits_eighty_columns(arguments: tuple[str, ...]) -> None:
    lines = carnet(*arguments).out.splitlines()
    assert [line for line in lines if len(line) > 80 and "carnet " not in line] == []


@pytest.mark.mends("N13")
def test_each_kind_of_id_is_explained_in_its_own_way() -> None:
    lines = carnet("explain", "grant").out.splitlines()
    (position,) = [number for number, line in enumerate(lines) if "¬" in line]
    assert lines[position].startswith("        require 'counter handed over': ¬consumed(link_h2d, v) ∧")
    assert lines[position + 1].startswith("          before(u, v) →")
    said = " ".join(carnet("explain", "grant").out.split())
    assert "grants the link to a, over the channel of p, counting from v, buffer at b. Lend the encrypt half" in said
    lines = carnet("explain", "directed").out.splitlines()
    assert lines[1] == "  honest parties without data, three rounds"
    assert "    holders 2, corrupt 0, rounds 3, chunks 0; at most 0 active adversary moves" in lines
    (entry,) = carnet("explain", "REQ-TOY-1", "--protocol", TOY, "--json").json["entries"]
    assert entry["enforced_by"] == ["lend"]
    assert "lend: guard 'fresh key'" in carnet("explain", "fresh-key", "--protocol", TOY).out


IDS = {
    "secrecy": ("claim", "No one but its borrower", "--claim secrecy"),
    "fresh-key": ("defence", "Every loan has a key", "--without fresh-key"),
    "forgetful": ("variant", "one key for all loans", "--variant forgetful"),
    "collusion": ("threat model", "anyone may be corrupt", "--threat collusion"),
    "A1": ("assumption", "The lender is never corrupt", "carnet verify"),
    "one-key": ("finding", "A key lent twice", "carnet attack"),
    "lend": ("action", "the lender makes key", "carnet explore"),
    "tiny": ("profile", "borrowers 2; unbounded adversary", "--profile tiny"),
    "loan-ends": ("goal", "A loan ends", "carnet verify"),
    "holds": ("symbol", "the agent took the key", ""),
    "known_keys_are_used": ("lemma", "Nobody knows a key", "induction"),
    "REQ-TOY-1": ("requirement", "", "carnet verify"),
}


@pytest.mark.parametrize("id", IDS)
def test_explain_says_what_it_is_and_how_to_check_it(id: str) -> None:
    kind, sentence, check = IDS[id]
    shown = carnet("explain", id, "--protocol", TOY, "--json").json["entries"]
    (entry,) = [entry for entry in shown if entry["kind"] == kind]
    assert sentence in entry["sentence"]
    assert check in entry["check"]


@pytest.mark.parametrize("words", [("explain", "A3", "--json"), ("list", "--json"), ("list", "fastrack")])
def test_what_was_described_before_is_said_again_and_nothing_is_built(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _user_folder.cache_clear()
    first = carnet(*words)

    def built(*_: object) -> Protocol:
        raise AssertionError("a protocol was built")

    with monkeypatch.context() as nothing:
        nothing.setattr(Family, "protocol", built)
        assert carnet(*words) == first
        for entry in tmp_path.rglob("*.json"):
            entry.write_bytes(entry.read_bytes()[:-40])
        assert "a protocol was built" in carnet(*words).out + carnet(*words).err
    assert carnet(*words) == first
    _user_folder.cache_clear()


def test_a_protocol_of_somebody_else_is_read_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _user_folder.cache_clear()
    assert carnet("explain", "secrecy", "--protocol", TOY).code == 0
    assert carnet("list", TOY).code == 0
    assert list(tmp_path.rglob("*.json")) == []
    _user_folder.cache_clear()


def test_whatever_a_shell_or_another_command_offers_is_explained() -> None:
    shown = carnet("explain", "grant-ends", "--json").json["entries"]
    (entry,) = [entry for entry in shown if entry["id"] == "grant-ends"]
    assert (entry["kind"], entry["check"]) == ("liveness property", "carnet verify gpu-travelling --claim grant-ends")
    assert "taken fairly: " in entry["text"]
    assert load("gpu-travelling").protocol().liveness[0].sentence == entry["sentence"]
    source = load(TOY)
    assert set(completions(source, "ids")) <= {entry.id for entry in entries(source)}
    source = load("gpu-travelling")
    every = [source.protocol(name) for name in source.family.variants]
    named = {claim.name for each in every for claim in each.claims} | {x.id for each in every for x in each.threats}
    assert named - set(of_gpu_travelling()) == set()


def with_more(variant: str) -> Draft:
    """Write the toy protocol down, with a claim and a threat model that only the design without fresh keys has."""
    draft = toy.draft(variant)
    if variant == "forgetful":
        draft.threat("listening", "somebody listens")

        @draft.claim(name="kept", sentence="Kept.", requirement="REQ-TOY-7", source="none", under=("listening",))
        def _(a: toy.Agent, k: toy.Key) -> Formula:
            return implies(toy.holds(a, k), toy.knows(a, k))

    return draft


def explained(draft: Any = with_more, **changes: Any) -> dict[str, Entry]:
    family = replace(toy.FAMILY, draft=draft, **changes)
    return {entry.id: entry for entry in entries(Source("toy", family, "toy"))}


def test_an_entry_is_read_as_it_was_written() -> None:
    for entry in explained().values():
        assert Entry.from_json(json.loads(json.dumps(entry.as_json()))) == entry


def test_claims_and_variants_are_explained_by_each_other() -> None:
    found = explained()
    assert found["kept"].variants == found["listening"].variants == found["REQ-TOY-7"].variants == ("forgetful",)
    assert found["kept"].check == "carnet verify toy --variant forgetful --claim kept"
    assert found["listening"].check == "carnet verify toy --variant forgetful --threat listening"
    assert found["secrecy"].variants == found["collusion"].variants == found["lend"].variants == ()
    assert "further claims: kept\nfurther threat models: listening" in explained()["forgetful"].text
    assert "further" not in explained()["main"].text
    said = " ".join(carnet("explain", "late-secrecy").out.split())
    assert "made in variants late-corruption, late-corruption-engine check it" in said


def test_a_variant_names_the_services_that_it_needs_and_a_service_the_variants() -> None:
    asked = (
        Service("seal", "seals keys", "shown", "seal.c", frozenset({"main", "forgetful"})),
        Service("ledger", "keeps a ledger", "lacking", "no file", frozenset({"main"})),
    )
    found = explained(toy.draft, services=asked)
    needs = "needs services that are shown: seal"
    assert found["main"].text.splitlines()[-2:] == [needs, "needs services that are lacking: ledger"]
    assert found["forgetful"].text.splitlines()[-1] == needs
    assert (found["ledger"].kind, found["ledger"].variants) == ("service", ("main",))
    assert found["ledger"].source == "no file"


@cache
def of_gpu_travelling() -> dict[str, Entry]:
    return {entry.id: entry for entry in entries(load("gpu-travelling"))}


@pytest.mark.parametrize(
    ("id", "kind", "variant"),
    [
        ("late-secrecy", "claim", "late-corruption"),
        ("training-unless-betrayed", "claim", "leaked-device"),
        ("recording", "threat model", "inner-key"),
        ("REQ-SETUP-18", "requirement", "endorsed-instance"),
    ],
)
def test_what_only_variants_of_gpu_travelling_have_is_found(id: str, kind: str, variant: str) -> None:
    entry = of_gpu_travelling()[id]
    assert entry.kind == kind
    assert variant in entry.variants
    assert f"--variant {entry.variants[0]}" in entry.check


def test_the_protocol_s_id_may_precede_an_id() -> None:
    plain = carnet("explain", "A1", "--protocol", TOY, "--json").json["entries"]
    assert carnet("explain", "toy-A1", "--protocol", TOY, "--json").json["entries"] == plain
    assert carnet("explain", "toy-A9", "--protocol", TOY).code == 2


ENGINES, CLAIMS, THREATS = ("induction", "explicit"), ("secrecy", "custody", "order"), ("none", "collusion")


def _row(claim: str, threat: str, engine: str) -> dict[str, Any]:
    key = {"protocol": "p", "variant": "main", "kind": "claim", "claim": claim, "threat": threat, "engine": engine}
    said = {"verdict": "PROVED", "bound": None, "expected": "PROVED", "assumptions": ["A1"], "as_expected": True}
    return {**key, **said, "detail": "", "defences": []}


ROWS = [_row(claim, threat, engine) for claim in CLAIMS for threat in THREATS for engine in ENGINES]
#: What may happen to a verdict; the last one is no difference.
EDITS: Mapping[str, tuple[dict[str, Any], Direction]] = {
    "falls": ({"verdict": "VIOLATED", "as_expected": False}, Direction.WORSE),
    "is expected to fall": ({"verdict": "VIOLATED", "expected": "VIOLATED"}, Direction.CHANGED),
    "is bounded": ({"verdict": "EXHAUSTED", "bound": 7}, Direction.CHANGED),
    "rests on more": ({"assumptions": ["A1", "A2"]}, Direction.CHANGED),
    "has another detail": ({"detail": "took longer", "defences": ["lease"]}, Direction.NEW),
}


def _run(rows: list[dict[str, Any]], digest: str = "ab") -> Run:
    return Run(tuple(rows), {}, {"variants": [{"name": "main", "digest": digest}]})


@pytest.mark.mends("N7")
@given(
    edits=st.dictionaries(st.integers(0, len(ROWS) - 1), st.sampled_from(sorted(EDITS))),
    gone=st.sets(st.integers(0, len(ROWS) - 1)),
    missing=st.sets(st.integers(0, len(ROWS) - 1)),
)
def test_exactly_what_was_edited_is_told(edits: dict[int, str], gone: set[int], missing: set[int]) -> None:
    before = [row for place, row in enumerate(ROWS) if place not in missing]
    edited = [{**row, **(EDITS[edits[place]][0] if place in edits else {})} for place, row in enumerate(ROWS)]
    after = [row for place, row in enumerate(edited) if place not in gone]
    found = differences(_run(before), _run(after))
    told = {tuple(each.key[name] for name in KEY): each.direction for each in found.verdicts}
    expected = {}
    for place, row in enumerate(ROWS):
        key = tuple(row[name] for name in KEY)
        if place in missing and place in gone:
            continue
        if place in gone:
            expected[key] = Direction.GONE
        elif place in missing:
            expected[key] = Direction.NEW
        elif place in edits and edits[place] != "has another detail":
            expected[key] = EDITS[edits[place]][1]
    assert told == expected
    both = len(ROWS) - len(gone | missing)
    assert found.unchanged == both - sum(way not in (Direction.GONE, Direction.NEW) for way in expected.values())


@given(st.integers(0, len(ROWS) - 1))
def test_what_was_worse_is_better_the_other_way_round(place: int) -> None:
    fallen = [{**row, **EDITS["falls"][0]} if number == place else row for number, row in enumerate(ROWS)]
    (better,) = differences(_run(fallen), _run(ROWS)).verdicts
    assert (better.direction, better.says) == (Direction.BETTER, "VIOLATED → PROVED")


def test_differences_of_designs_and_rows_are_told_in_words() -> None:
    found = differences(_run(ROWS), _run(ROWS, digest="cd"))
    assert (found.verdicts, found.designs) == ((), {"main": ("ab", "cd")})
    changed = {"verdict": "EXHAUSTED", "bound": 1234, "expected": "EXHAUSTED", "assumptions": []}
    (differs,) = differences(_run(ROWS[:1]), _run([{**ROWS[0], **changed}])).verdicts
    assert differs.says == "PROVED → EXHAUSTED(1,234); expected PROVED → EXHAUSTED; rests on A1 → none"
    found = differences(_run(ROWS), _run([{**row, "protocol": "q"} for row in ROWS]))
    assert {each.direction for each in found.verdicts} == {Direction.GONE, Direction.NEW}
    assert (len(found.verdicts), found.unchanged) == (2 * len(ROWS), 0)


@pytest.fixture(scope="module")
def toy_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    assert carnet("verify", TOY, "--engine", "explicit", "--out", str(folder)).code == 0
    return folder


def test_a_run_is_the_same_as_itself_again_and_less_or_worse_otherwise(toy_run: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    carnet("verify", TOY, "--engine", "explicit", "--jobs", "1", "--out", str(again))
    ran = carnet("diff", str(toy_run), str(again), "--json")
    assert (ran.code, ran.json["same"], ran.json["differences"], ran.json["designs"]) == (0, True, [], [])
    assert ran.json["unchanged"] == len((toy_run / "verdicts.jsonl").read_text().splitlines())
    less = tmp_path / "less"
    carnet("verify", TOY, "--engine", "explicit", "--threat", "none", "--out", str(less))
    ran = carnet("diff", str(toy_run), str(less))
    assert ran.code == 1
    assert "gone         secrecy under collusion, main, explicit: EXHAUSTED(" in ran.out
    assert ran.out.splitlines()[-1].startswith("rerun        carnet diff ")
    fallen = tmp_path / "fallen"
    carnet("verify", TOY, "--engine", "explicit", "--out", str(fallen))
    rows = [json.loads(line) for line in (fallen / "verdicts.jsonl").read_text().splitlines()]
    rows[0] |= {"verdict": "VIOLATED", "bound": None, "as_expected": False}
    (fallen / "verdicts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ran = carnet("diff", str(toy_run), str(fallen), "--json")
    assert (ran.code, ran.json["same"], [each["way"] for each in ran.json["differences"]]) == (1, False, ["worse"])


@pytest.mark.parametrize("sides", [("nothing", "run"), ("run", "nothing")])
def test_what_is_no_run_is_refused(toy_run: Path, tmp_path: Path, sides: tuple[str, str]) -> None:
    (tmp_path / "nothing").mkdir()
    places = {"run": str(toy_run), "nothing": str(tmp_path / "nothing")}
    ran = carnet("diff", *(places[side] for side in sides))
    assert (ran.code, "has no run.json" in ran.err) == (2, True)
