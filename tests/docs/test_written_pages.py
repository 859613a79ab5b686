"""Pages that people write name what exists, say what was recorded, and leave nothing out."""

import functools
import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import click
import pytest

from carnet_check.cli import main as cli
from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_ref.attestation.formats import FORMATS
from carnet_ref.attestation.intel import appraisal as intel
from carnet_spec.language import Protocol
from carnet_spec.protocols.gpu_travelling import FAMILY
from carnet_spec.protocols.gpu_travelling.design import DECK, DRIVER, LISTS, OURS
from docs._ext.carnet_pages.listings import policy_keys
from docs._ext.carnet_pages.records import recorders
from docs._ext.carnet_pages.round_picture import draw, picture, short
from tests.repo.tracked import ROOT, tracked_python
from tests.unit.model_check.command import carnet

PAGES = ("docs/assurance/what-reviewers-asked.md", "docs/findings.md", "docs/guide/gpu-travelling.md")
PAGE = (ROOT / PAGES[0]).read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")]
ADVERSARY = [row for row in ROWS if re.fullmatch(r"D\d+", row[0])]
WEAK = [row for row in ROWS if len(row) == 5 and row not in ADVERSARY and row[0] not in ("", "claim")]


def commands() -> Iterator[str]:
    for page in PAGES:
        yield from re.findall(r"`(carnet \w+ [^`…]+)`", (ROOT / page).read_text("utf-8"))


COMMANDS = sorted({*commands()})


def parsed(command: str) -> tuple[str, dict[str, object]]:
    """Parse a command as a shell and click do, and return its name and options; nothing is run."""
    arguments = shlex.split(command)[1:]
    group = click.Context(cli, info_name="carnet")
    name, subcommand, rest = cli.resolve_command(group, arguments)
    assert name
    assert subcommand
    return name, subcommand.make_context(name, rest, parent=group).params


@functools.cache
def protocol(variant: str) -> Protocol:
    return FAMILY.draft_of(variant).whole()


def unknown_names(command: str) -> set[str]:
    """Return the variants, defences, threat models and claims that a command names and that are not there to be judged.

    A claim is there where it is made, or declared to fall, under the threat model in question.
    """
    try:
        name, given = parsed(command)
    except (click.UsageError, CarnetError) as error:
        return {str(error)}
    if given.get("protocol", FAMILY.id) != FAMILY.id:
        return {str(given["protocol"])}
    variants, defences = {*listed(given, "variant", "variants")}, {*listed(given, "without")}
    known = {each.id: each for each in protocol(FAMILY.main[0]).defences}
    unknown = (variants - {*FAMILY.variants}) | (defences - {*known})
    if unknown:
        return unknown
    bases = {*variants, *(known[each].base for each in defences if known[each].base)} or {*FAMILY.main}
    layered = [protocol(each) for each in (bases if name == "attack" else FAMILY.with_layers(bases))]
    threats = {*listed(given, "threat", "threats")} or ({FAMILY.default_threat} if name == "attack" else set())
    judged = {
        claim.name
        for each in layered
        for claim in each.claims
        if not threats or threats & {*claim.under, *claim.fails_under}
    }
    unknown = threats - {threat.id for each in layered for threat in each.threats}
    return unknown | ({*listed(given, "claim", "claims")} - judged) | (set() if judged else {"a claim"})


def listed(given: Mapping[str, object], *names: str) -> list[str]:
    """Return what was given for an option, which may be one name, several, or several with commas."""
    values = [given.get(name) or () for name in names]
    flat = [each for value in values for each in ([value] if isinstance(value, str) else cast("tuple[str]", value))]
    return [part for each in flat for part in each.split(",") if part]


def test_every_command_on_these_pages_parses_and_names_what_exists() -> None:
    assert len(COMMANDS) > 50
    assert {command: unknown for command in COMMANDS if (unknown := unknown_names(command))} == {}


@pytest.mark.parametrize(
    "command",
    [
        "carnet attack gpu-travelling --variant kernel-sings",
        "carnet attack gpu-travelling --without hope",
        "carnet attack gpu-travelling --without fence --claim world-peace",
        "carnet attack gpu-travelling --without channel-counter --claim bounded-custody",
        "carnet attack gpu-travelling --without fence --threat weather",
        "carnet attack gpu-travelling --variant ratchet --threat collusion --claim forward-isolation",
        "carnet attack gpu-travelling --variant inner-key --claim provenance",
        "carnet verify gpu-travelling --claim world-peace",
        "carnet attack world-peace --without fence",
        "carnet attack gpu-travelling --softly",
        "carnet vrify gpu-travelling",
    ],
)
def test_what_does_not_exist_is_noticed(command: str) -> None:
    assert unknown_names(command)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("carnet verify gpu-travelling ")])
def test_what_these_pages_say_is_verified_is_verified(command: str) -> None:
    assert carnet(*shlex.split(command)[1:]).code == ExitCode.EXPECTED


def test_every_doubt_and_every_weak_claim_has_a_row() -> None:
    assert [row[0] for row in ADVERSARY] == [f"D{number}" for number in range(1, 12)]
    claims = {claim.name for each in FAMILY.with_layers(FAMILY.main) for claim in FAMILY.protocol(each).claims}
    assert len(WEAK) == 9
    assert {row[0] for row in WEAK} <= claims


def test_a_row_says_what_changed_where_and_what_holds_it() -> None:
    sources = [path.as_posix() for path in tracked_python() if path.parts[0] != "tests"]
    wrong: list[str] = []
    for id, doubt, changed, where, holds in (*ADVERSARY, *WEAK):
        modules = re.findall(r"`([\w/]+\.py)`", where)
        wrong += [f"{id}: no sentence: {said}" for said in (doubt, changed) if not said.endswith(".")]
        wrong += [f"{id}: no module"] * (not modules)
        wrong += [f"{id}: {each}" for each in modules if not any(path.endswith(f"/{each}") for path in sources)]
        wrong += [f"{id}: no command"] * (not re.findall(r"`carnet [^`]+`", holds))
    assert wrong == []


def test_assumptions_on_the_page_are_those_of_the_text() -> None:
    cited = {*re.findall(r"\bA\d+\b", PAGE)}
    assert {"A7", "A11", "A12", "A13", "A14"} <= cited
    assert cited <= set(FAMILY.text.requirements())


# -- what the documentation says of files and folders is true of those that tests read -------------------


DOCS = ROOT / "docs"


def test_every_folder_of_evidence_that_a_test_reads_is_on_its_page() -> None:
    tests = Path(__file__).parents[1]
    read = {
        name for path in tests.rglob("*.py") for name in re.findall(r'"(\d\d-[a-z0-9-]+)"', path.read_text("utf-8"))
    }
    page = (DOCS / "assurance" / "evidence-folder.md").read_text("utf-8")
    assert len(read) > 5
    assert not {name for name in read if f"| `{name}` |" not in page}


@pytest.mark.mends("N8")
def test_words_of_our_own_are_explained_where_everybody_looks() -> None:
    assert re.search(r"^glossary$", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE)
    entries = re.findall(r"^(?!: )(.+)\n: (.+)", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(entries) > 20


@pytest.mark.mends("N8")
@pytest.mark.parametrize(
    "mannered",
    [
        "as an example stands",
        "what there is of each",
        r"hold an? (?:trace|run) to the spec",
        r"\b(?:hereof|thereof|wherein)\b",
    ],
)
def test_nobody_reads_again_what_readers_stumbled_over(mannered: str) -> None:
    pages = [DOCS.parent / "README.md", *(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)]
    assert len(pages) > 50
    said = {path.name: " ".join(path.read_text("utf-8").split()) for path in pages}
    assert [name for name, text in said.items() if re.search(mannered, text, re.IGNORECASE)] == []


@pytest.mark.mends("N23")
def test_the_deck_is_introduced() -> None:
    """Sources cite it, on pages that nobody reads from the beginning."""
    entry = (DOCS / "glossary.md").read_text("utf-8").partition("\ndeck\n: ")[2].partition("\n\n")[0]
    assert "guide/gpu-travelling" in entry
    assert "(slides)" in (DOCS / "guide" / "gpu-travelling.md").read_text("utf-8").rpartition("Source: ")[2]


# -- the page about policies lists every key, with what presets say of it --------------------------------


POLICY_PAGE = policy_keys()
POLICY_FORMS = {name: form for name in FORMATS if (form := FORMATS[name].load().policy) is not None}


@pytest.mark.parametrize("name", POLICY_FORMS)
def test_every_key_of_a_policy_is_listed_with_its_schema(name: str) -> None:
    section = POLICY_PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert listed == ["preset", *POLICY_FORMS[name].keys]
    schema = section.partition("```json\n")[2].partition("```")[0]
    assert json.loads(schema) == POLICY_FORMS[name].schema(name)


def test_the_statuses_accepted_by_default_are_listed() -> None:
    row = next(row for row in POLICY_PAGE.splitlines() if row.startswith("| `tcb_statuses`"))
    assert set(json.loads(row.split("|")[3].strip(" `"))) == intel.DEFAULT_STATUSES


# -- the findings stand in three lists -------------------------------------------------------------------


FINDINGS_PAGE = (ROOT / "docs" / "findings.md").read_text("utf-8")
RECORDED_COMMANDS = {finding: " ".join(command) for finding, command in recorders.commands(FAMILY) if finding}
SIDES = ("**Replay:**", "**Holds if**", "**What would fix it:**")
ANSWERS = {DECK: "**The authors could answer**", DRIVER: "**The authors could answer**", OURS: "**The answer**"}


def sections() -> Iterator[tuple[str, str]]:
    """Yield what is said of each attack, or of a few that belong together, with the list that it is in."""
    for part in re.split(r"^## ", FINDINGS_PAGE, flags=re.MULTILINE)[1:]:
        heading, *listed = re.split(r"^### ", part, flags=re.MULTILINE)
        for text in listed:
            yield heading.splitlines()[0], text


def cited(text: str) -> list[tuple[str, str]]:
    return re.findall(r"\*\*Found by\*\* \*(finding-[\w-]+)\*: `([^`]+)`", text)


FOUND = {id: (heading, command, text) for heading, text in sections() for id, command in cited(text)}


def test_every_finding_is_on_the_page_once_and_nothing_else_is() -> None:
    assert sorted([id for _, text in sections() for id, _ in cited(text)]) == sorted(RECORDED_COMMANDS)


def test_the_lists_come_in_their_order() -> None:
    headings = list(dict.fromkeys(heading for heading, text in sections() if cited(text)))
    assert headings == [about[0].upper() + about[1:] for about in LISTS]


@pytest.mark.mends("N18")
def test_a_finding_has_its_place_its_command_and_its_two_sides() -> None:
    wrong: list[str] = []
    for finding in FAMILY.findings:
        heading, command, text = FOUND[finding.id]
        wrong += [f"{finding.id}: in {heading}"] * (heading.lower() != finding.about.lower())
        wrong += [f"{finding.id}: {command}"] * (command != RECORDED_COMMANDS[finding.id])
        wrong += [f"{finding.id}: {said}" for said in (*SIDES, ANSWERS[finding.about]) if text.count(said) != 1]
    assert wrong == []


def test_a_nonce_that_names_the_session_is_among_the_remedies() -> None:
    _, _, text = FOUND["finding-8"]
    assert "`nonce_in_session`" in text.partition("**What would fix it:**")[2]


# -- the README's first screen says what was established -------------------------------------------------


RESULTS = ROOT / "docs" / "results"
README = (ROOT / "README.md").read_text("utf-8")
FIRST = " ".join(README.partition("## Try it")[0].split())
WORDS = {1: "one", 2: "two", 3: "three"}
SVG = "{http://www.w3.org/2000/svg}"


def recorded(path: str) -> Any:
    return json.loads((RESULTS / path).read_text("utf-8"))


ROUND = recorded(f"rounds/{FAMILY.id}.json")
RUNS = {run["finding"]: run for run in recorded(f"attacks/{FAMILY.id}.json") if run["finding"]}
CARRIED_OUT = [attack for attack in recorded(f"replays/{FAMILY.id}.json") if attack["id"] in RUNS]


@pytest.mark.mends("N8")
def test_it_is_short_and_begins_with_what_and_why() -> None:
    assert len(README.splitlines()) <= 120
    assert len(README.partition("## Try it")[0].splitlines()) <= 25


# -- the headline ---------------------------------------------------------------------------------


@pytest.mark.mends("N8")
def test_every_finding_is_an_attack_that_was_found() -> None:
    assert set(RUNS) == {finding.id for finding in FAMILY.findings}
    assert {run["verdict"] for run in RUNS.values()} == {"VIOLATED"}
    assert f"one of {len(RUNS)} attacks" in FIRST


def test_every_finding_was_carried_out_and_most_recover_data_as_it_says() -> None:
    assert {attack["id"] for attack in CARRIED_OUT} == set(RUNS)
    assert all(attack["replay"]["reproduced"] for attack in CARRIED_OUT)
    data = [attack for attack in CARRIED_OUT if attack["claim"] == "confidentiality"]
    assert all("of alice's chunk" in attack["replay"]["recovered"] for attack in data)
    assert "most of them recover an honest holder's data" in FIRST
    assert 2 * len(data) > len(RUNS)


@pytest.mark.mends("N8")
def test_the_last_holder_reads_the_next_ones_data_with_the_platforms_help() -> None:
    ratchet = RUNS["finding-1"]
    assert (ratchet["variant"], ratchet["claim"], ratchet["threat"]) == ("ratchet", "confidentiality", "collusion")
    assert "together with the platform, read the next holder's data" in FIRST


@pytest.mark.mends("N8")
def test_the_two_designs_are_proved_where_a_claim_is_made() -> None:
    proved = [row for row in recorded(f"{FAMILY.id}.json")["results"] if row["engine"] == "induction"]
    designs = {row["variant"] for row in proved if not row["variant"].endswith("-timed")}
    assert f"For {WORDS[len(designs)]} designs every claim that is made is `PROVED`" in FIRST
    assert {row["verdict"] for row in proved} == {"PROVED"}
    assert {FAMILY.variants[name].label for name in designs} == {"needs firmware"}
    assert "both ask the GPU's firmware for services that the public driver hides or lacks" in FIRST


# -- the picture ----------------------------------------------------------------------------------

DRAWN = ElementTree.parse(RESULTS / "rounds" / f"{FAMILY.id}.svg").getroot()


def messages() -> list[tuple[str, str, str]]:
    """Return sender, receiver and text of every arrow of the picture, from top to bottom."""
    names = {text.get("x"): text.text for text in DRAWN.iter(f"{SVG}text") if text.get("font-weight")}
    arrows = [line for line in DRAWN.iter(f"{SVG}line") if line.get("marker-end")]
    texts = [text.text or "" for text in DRAWN.iter(f"{SVG}text") if text.get("text-anchor") and text.get("y") != "18"]
    ends = [(names[arrow.get("x1")] or "", names[arrow.get("x2")] or "") for arrow in arrows]
    return [(*pair, text) for pair, text in zip(ends, texts, strict=True)]


@pytest.mark.mends("N2")
def test_the_picture_is_in_the_readme_and_in_the_guide() -> None:
    assert f"(docs/results/rounds/{FAMILY.id}.svg)" in README.partition("## Try it")[0]
    guide = (ROOT / "docs" / "guide" / "gpu-travelling.md").read_text("utf-8")
    assert f"(../results/rounds/{FAMILY.id}.svg)" in guide


def test_the_lanes_are_the_parties_that_the_story_is_about() -> None:
    heads = [text.text for text in DRAWN.iter(f"{SVG}text") if text.get("font-weight")]
    told = {party for sender, receiver, _ in messages() for party in (sender, receiver)}
    assert heads == [party for party in ROUND["parties"] if party in told]
    assert {"orchestrator", "alice", "gpu1", "platform"} == told


def test_the_arrows_are_messages_of_the_recorded_round_in_its_order() -> None:
    sent = [event["arrow"] for event in ROUND["events"] if event["arrow"]]
    left = iter([(arrow["from"], arrow["to"], short(arrow["text"])) for arrow in sent])
    assert [message for message in messages() if message not in left] == []  # `in` takes from the iterator


@pytest.mark.mends("N2")
def test_a_round_is_told_in_the_order_that_security_rests_on() -> None:
    """The GPU is routed before data arrives, given back before it is rotated, and fenced and read back after that."""
    order = [re.sub(r"\b[kbhs]\d\b", "KEY", text) for _, _, text in messages()]
    story = (
        "route to alice",
        "return of KEY, count 1",
        "route back",
        "FENCE, number 1, in the session",
        "fenced, number 1, in the session",
        "READ BACK",
        "digests",
        "TRAIN, number 3, in the session",
    )
    assert [text for text in order if text in story] == list(story)
    data = [number for number, text in enumerate(order) if "sealed under" in text]
    assert order.index("route to alice") < min(data) <= max(data) < order.index("return of KEY, count 1")
    rotated = order.index("rotated to KEY, in the session", max(data))
    assert order.index("route back") < rotated < order.index("FENCE, number 1, in the session")


def test_the_report_before_training_says_whether_a_context_is_left() -> None:
    """The picture has room for its first word alone."""
    sent = [event["arrow"]["text"] for event in ROUND["events"] if event["arrow"]]
    report, train = "digests, contexts left and counter 1, number 2, in the session", "TRAIN, number 3, in the session"
    assert [text for text in sent if text in (report, train)] == [report, train]
    assert short(report) == "digests"


def test_the_recorded_round_is_found_and_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message is received as soon as it can be: the search alone routes the GPU after it was given back."""
    monkeypatch.setattr(recorders, "RESULTS", tmp_path)
    (tmp_path / "rounds").mkdir()
    shutil.copy(RESULTS / "rounds" / f"{FAMILY.id}.toml", tmp_path / "rounds")
    recorders.rounds(FAMILY)
    for kind in ("json", "svg"):
        kept, found = ((folder / "rounds" / f"{FAMILY.id}.{kind}").read_text("utf-8") for folder in (RESULTS, tmp_path))
        assert found.replace(FAMILY.digest(), ROUND["digest"]) == kept


def test_a_protocol_without_chapters_has_no_picture(tmp_path: Path) -> None:
    draw(tmp_path, "toy")
    assert list(tmp_path.iterdir()) == []


def test_a_step_out_of_order_is_not_drawn() -> None:
    turned = {**ROUND, "events": ROUND["events"][::-1]}
    with pytest.raises(LookupError, match="has no open_session in chapter 'once'"):
        picture(FAMILY.id, turned, [{"title": "once", "steps": ["attest_orchestrator", "open_session"]}])
