"""The map of defences, the recorded attacks and the gallery say what was found, and each attack is one still."""

import functools
import itertools
import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from carnet_check.attacks.hunt import attack_target, hunt
from carnet_check.loading.families import Source, load
from carnet_check.semantics import Interpreter
from carnet_spec.trace import Trace
from docs._ext.carnet_pages import falls, gallery, specification, traces
from docs._ext.carnet_pages.defences import defences, map_label, map_link
from docs._ext.carnet_pages.protocols import ProtocolPages
from docs._ext.carnet_pages.records import recorders
from docs._ext.carnet_pages.traces import Attacked, Traces
from tests.fixtures import toy
from tests.fixtures.travelling import FAMILY, SOURCE
from tests.repo.tracked import ROOT
from tests.unit.model_check.command import TOY

RESULTS = ROOT / "docs" / "results"
KEPT: Any = json.loads((RESULTS / "falls" / "gpu-travelling.json").read_text("utf-8"))
ATTACKS: Any = json.loads((RESULTS / "attacks" / "gpu-travelling.json").read_text("utf-8"))
BY_ID = {row["defence"]: row for row in KEPT}
IDS = [defence.id for defence in FAMILY.protocol().defences]


@functools.cache
def shown() -> str:
    return defences(FAMILY, KEPT)


def under(row: Any) -> dict[str, Any]:
    return {each["threat"]: each for each in row["threats"]}


# -- what is recorded ----------------------------------------------------------------------------------


def test_every_defence_is_recorded() -> None:
    assert [row["defence"] for row in KEPT] == IDS


def test_what_counts_is_claimed_by_the_whole_design() -> None:
    wrong: list[tuple[str, str]] = []
    for id, row in BY_ID.items():
        whole = FAMILY.protocol(row["variant"])
        claimed = {threat.id: list(made) for threat in whole.threats if (made := falls.made(whole, threat.id))}
        if {threat: each["made"] for threat, each in under(row).items()} != claimed:
            wrong.append((id, "claims"))
        for each in row["threats"]:
            within = {*each["falls"], *each["open"]} <= {*each["made"]}
            if not within or (each["falls"] and each["open"]) or min(each["falls"].values(), default=1) <= 0:
                wrong.append((id, each["threat"]))
    assert wrong == []


def test_what_falls_although_more_is_assumed_falls_where_less_is() -> None:
    wrong: list[tuple[str, str, str]] = []
    for id, row in BY_ID.items():
        cells, threats = under(row), {threat.id: threat for threat in FAMILY.protocol(row["variant"]).threats}
        assumed = {name: {axiom.formula for axiom in threats[name].axioms} for name in cells}
        for more, less in itertools.product(cells, repeat=2):
            shared = {*cells[more]["made"]} & {*cells[less]["made"]}
            if assumed[more] >= assumed[less] and not {*cells[more]["falls"]} & shared <= {*cells[less]["falls"]}:
                wrong.append((id, more, less))
    assert wrong == []


ALONE = {run["removed"][0]: run for run in ATTACKS if not run["finding"]}


def test_there_is_an_attack_or_a_proof_to_compare_each_with() -> None:
    assert list(ALONE) == IDS
    assert {run["verdict"] for run in ALONE.values()} == {"PROVED", "VIOLATED"}


def test_the_map_agrees_with_the_recorded_attacks() -> None:
    """They come of another command: the first claim that falls, or a proof that none does."""
    cells = {id: under(BY_ID[id])[run["threat"]] for id, run in ALONE.items()}
    violated = {id: run for id, run in ALONE.items() if run["verdict"] == "VIOLATED"}
    assert [id for id, run in violated.items() if run["claim"] not in cells[id]["falls"]] == []
    assert [id for id in {*ALONE} - {*violated} if cells[id]["falls"] or cells[id]["open"]] == []


def test_the_map_agrees_with_the_findings() -> None:
    alone = [each for each in FAMILY.findings if len(each.without) == 1]
    assert alone
    kept = {each.id: under(BY_ID[each.without[0]])[each.threat]["falls"] for each in alone}
    assert [each.id for each in alone if each.claim not in kept[each.id]] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("id", ["manifest-check", "fence", "scrub-workspace", "attestation-age"])
def test_it_comes_out_again_as_recorded(id: str) -> None:
    defence = next(each for each in FAMILY.protocol().defences if each.id == id)
    assert falls.Judge(SOURCE, Traces(SOURCE, "falls")).row(defence) == BY_ID[id]


# -- how it is judged ----------------------------------------------------------------------------------


def judged(source: Source, id: str) -> dict[str, Any]:
    defence = next(each for each in source.family.protocol().defences if each.id == id)
    return falls.Judge(source, Traces(source, "falls")).row(defence)


def test_a_claim_that_falls_counts_and_one_that_is_proved_does_not() -> None:
    needed, spare = (judged(load(TOY), id) for id in ("fresh-key", "return-checked"))
    assert (needed["variant"], needed["digest"]) == ("main", toy.FAMILY.protocol("", ("fresh-key",)).digest)
    made = {"none": ["secrecy"], "collusion": ["secrecy"]}  # 'punctual' is only declared
    assert {threat: each["made"] for threat, each in under(needed).items()} == made
    assert [(each["falls"], each["open"]) for each in needed["threats"]] == [({"secrecy": 5}, [])] * 2
    assert [(each["falls"], each["open"]) for each in spare["threats"]] == [({}, [])] * 2


def test_what_is_neither_attacked_nor_proved_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(falls.Judge, "_attacked", lambda *_: {})
    cells = under(judged(load(TOY), "fresh-key"))
    assert (cells["collusion"]["falls"], cells["collusion"]["open"]) == ({}, ["secrecy"])


def test_falls_and_proofs_are_taken_over_along_what_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    source = load(TOY)
    seen: list[str] = []

    def attacked(_: falls.Judge, weakened: Any, without: str, cell: falls.Cell) -> dict[str, int]:
        seen.append(cell.threat.id)
        return {"secrecy": 7} if cell.threat.id == "none" else {}

    monkeypatch.setattr(falls.Judge, "_attacked", attacked)
    cells = under(judged(source, "fresh-key"))
    assert seen == ["none", "collusion"], "the most is assumed first"
    assert cells["collusion"]["falls"] == {"secrecy": 7}

    monkeypatch.setattr(falls.Judge, "_attacked", lambda *_: {})
    monkeypatch.setattr(
        falls.Judge, "_proved", lambda _, __, cell: {"secrecy"} if cell.threat.id == "collusion" else set()
    )
    assert [each["open"] for each in judged(source, "fresh-key")["threats"]] == [[], []]


def test_an_interrupted_record_goes_on_and_current_rows_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def row(_: falls.Judge, defence: Any, __: Any) -> dict[str, Any]:
        asked.append(defence.id)
        variant, weakened = falls.weakened_by(toy.FAMILY, defence)
        return {"defence": defence.id, "variant": variant, "digest": weakened.digest, "threats": []}

    monkeypatch.setattr(falls.Judge, "row", row)
    kept = Traces(load(TOY), "falls")
    ids = [defence.id for defence in toy.FAMILY.protocol().defences]
    *_, rows = falls.record(toy.FAMILY, [], kept)
    assert asked == [each["defence"] for each in rows] == ids
    asked.clear()
    assert list(falls.record(toy.FAMILY, rows, kept)) == []
    stale = [{**rows[0], "digest": "0"}, *rows[1:]]
    (again,) = falls.record(toy.FAMILY, stale, kept)
    assert (asked, again) == (ids[:1], rows)
    assert not falls.is_current(toy.FAMILY, {**rows[0], "variant": "a design that is gone"})


# -- the page ------------------------------------------------------------------------------------------


class Table(HTMLParser):
    """The rows of the only table, as texts, and where its links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.links: list[str] = []
        self.scopes: list[str] = []
        self.feed(page.partition("```{raw} html\n")[2].partition("```")[0])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag == "th":
            self.scopes.append(found.get("scope") or "")
        if tag == "a":
            self.links.append(found["href"] or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td"):
            self.rows[-1][-1] = " ".join(self.rows[-1][-1].split())

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data.strip():
            self.rows[-1][-1] += data


@functools.cache
def drawn() -> Table:
    """Return the map on the page."""
    return Table(shown())


def test_each_cell_is_a_number_that_was_counted() -> None:
    (corner, *threats), *rows = drawn().rows
    assert corner == "without"
    assert threats == [
        threat.id for threat in FAMILY.protocol().threats if any(threat.id in under(row) for row in KEPT)
    ]
    assert len(rows) == len(KEPT)
    for row, (name, *cells) in zip(KEPT, rows, strict=True):
        assert name.strip().startswith(row["defence"])
        for threat, text in zip(threats, cells, strict=True):
            cell = under(row).get(threat)
            said = text.split()[0]
            if cell is None:
                assert said == "–"
            elif cell["falls"]:
                assert (said, f"of {len(cell['made'])} claim" in text) == (str(len(cell["falls"])), True)
            else:
                assert said == ("?" if cell["open"] else "0")


def test_heads_have_scopes_and_every_row_leads_to_its_defence() -> None:
    (head, *rows) = drawn().rows
    assert drawn().scopes == ["col"] * len(head) + ["row"] * len(rows)
    assert len(drawn().links) == len(rows)
    assert [link for link in drawn().links if f"({link.removeprefix('#')})=" not in shown()] == []


def test_a_design_that_is_not_the_main_one_is_named() -> None:
    others = {row["defence"]: row["variant"] for row in KEPT if row["variant"] != FAMILY.main[0]}
    assert others
    for _, (name, *_cells) in zip(KEPT, drawn().rows[1:], strict=True):
        defence = next(id for id in sorted(IDS, key=len, reverse=True) if name.strip().startswith(id))
        assert name.strip() == defence + (f"in {others[defence]}" if defence in others else "")


def test_below_the_map_is_which_claims_fall_and_where_more_is_said() -> None:
    wrong: list[str] = []
    for id, row in BY_ID.items():
        section = shown().partition(f"### {id}\n")[2].partition("\n### ")[0]
        fallen = {name for each in row["threats"] for name in each["falls"]}
        wrong += [f"{id}: rows"] * (section.count("| {ref}`") + section.count("\n| `") != len(fallen))
        wrong += [f"{id}: {name}" for name in fallen if f"`{name}" not in section]
        wrong += [f"{id}: command"] * (section.count("carnet attack gpu-travelling --without") != 1)
        for each in row["threats"]:
            left = f"not proved without it: {len(each['open'])} of {len(each['made'])} claims."
            told = f"Under {each['threat']} no attack was found; {left}" in section
            wrong += [f"{id}: {each['threat']}"] * (told != bool(each["open"]))
    assert wrong == []


def test_findings_and_variants_are_named_where_a_defence_is_missing() -> None:
    section = shown().partition("### scrub-workspace\n")[2].partition("\n### ")[0]
    assert "`scrub-buffer-only` lacks" in section
    assert "<gpu-travelling-finding-4-gallery>" in section


def test_what_is_stale_says_so() -> None:
    fresh = [{**row, "digest": FAMILY.digest(row["variant"], (row["defence"],))} for row in KEPT]
    assert "Stale" not in defences(FAMILY, fresh)
    stale = defences(FAMILY, [{**fresh[0], "digest": "0"}, *fresh[1:]])
    assert f"Stale, the specification has changed: {KEPT[0]['defence']}." in stale


def test_a_protocol_without_a_record_says_so() -> None:
    text = specification([toy.FAMILY], {})["toy/defences.md"]
    assert "No run is recorded." in text
    assert "<table" not in text
    rows = [judged(load(TOY), id) for id in ("fresh-key", "return-checked")]
    page = specification([toy.FAMILY], {}, fallen={"toy": rows})["toy/defences.md"]
    assert page.rstrip() == defences(toy.FAMILY, rows).rstrip()


def test_who_reads_about_defences_is_led_to_the_map() -> None:
    assert "".join(map_link(FAMILY)) in ProtocolPages(FAMILY).overview()
    assert f"({map_label(FAMILY)})=" in shown()


# -- attacks are recorded one by one ---------------------------------------------------------------------


Asked = list[list[str]]
FOUND = hunt(attack_target(load(TOY), without=("fresh-key",)))
COMMANDS = [command for _, command in recorders.commands(toy.FAMILY)]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Answer commands without doing anything, and list them."""
    commands: Asked = []

    def answer(finding: str, command: list[str], _: Traces) -> dict[str, Any]:
        commands.append(command)
        found = recorders.recorded(finding, command, FOUND)
        removed = [command[command.index("--without") + 1]] if "--without" in command else []
        variant = command[command.index("--variant") + 1] if "--variant" in command else "main"
        return {**found, "variant": variant, "removed": removed, "digest": toy.FAMILY.digest(variant, tuple(removed))}

    monkeypatch.setattr(recorders, "_looked_for", answer)
    monkeypatch.setattr(recorders, "RESULTS", tmp_path)
    monkeypatch.setattr(traces, "RESULTS", tmp_path)
    monkeypatch.setattr(recorders, "load", lambda _: load(TOY))
    return commands


def edited(change: Callable[[list[dict[str, Any]]], object]) -> None:
    file = recorders.RESULTS / "attacks" / "toy.json"
    rows = json.loads(file.read_text())
    change(rows)
    file.write_text(json.dumps(rows))


def rows() -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = json.loads((recorders.RESULTS / "attacks" / "toy.json").read_text())
    return kept


def keep(claim: str) -> None:
    """Keep the steps of the attack that was found, as if they broke a claim."""
    assert FOUND.trace is not None
    assert FOUND.profile is not None
    kept = Traces(load(TOY), "attacks")
    kept.keep(Attacked(FOUND.target.protocol, ("fresh-key",), claim, FOUND.profile, FOUND.trace))
    kept.write()


def test_every_attack_is_looked_for_once(asked: Asked) -> None:
    recorders.attacks(toy.FAMILY)
    assert asked == COMMANDS
    recorders.attacks(toy.FAMILY)
    assert asked == COMMANDS
    assert [row["rerun"] for row in rows()] == [" ".join(command) for command in COMMANDS]


def test_what_is_stale_is_looked_for_again(asked: Asked) -> None:
    recorders.attacks(toy.FAMILY)
    edited(lambda rows: rows[1].update(digest="0"))
    edited(lambda rows: rows[2].update(variant="a design that is gone"))
    asked.clear()
    recorders.attacks(toy.FAMILY)
    assert asked == COMMANDS[1:3]


def test_what_still_is_an_attack_is_kept(asked: Asked) -> None:
    recorders.attacks(toy.FAMILY)
    before = rows()
    place = COMMANDS.index(["carnet", "attack", "toy", "--without", "fresh-key"])
    edited(lambda rows: rows[place].update(digest="0"))
    keep("secrecy")
    asked.clear()
    recorders.attacks(toy.FAMILY)
    assert (asked, rows()) == ([], before)


def test_steps_that_break_nothing_or_cannot_be_taken_are_no_attack(asked: Asked) -> None:
    keep("secrecy")
    kept, design = Traces(load(TOY), "attacks"), FOUND.target
    found = kept.attack(design.protocol, ("fresh-key",), design.threat.id, "secrecy")
    assert found is not None
    assert found.trace == FOUND.trace
    whole = toy.FAMILY.protocol()
    for protocol, removed in ((whole, ("fresh-key",)), (whole, ())):
        assert kept.attack(protocol, removed, design.threat.id, "secrecy") is None


def test_what_was_proved_is_proved_again(asked: Asked) -> None:
    recorders.attacks(toy.FAMILY)
    edited(lambda rows: rows[0].update(digest="0", verdict="PROVED"))
    asked.clear()
    recorders.attacks(toy.FAMILY)
    assert asked == COMMANDS[:1]


def test_an_interrupt_keeps_what_was_found_and_what_was_there(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    recorders.attacks(toy.FAMILY)
    edited(lambda rows: [row.update(digest="0") for row in rows])
    answer, stops = recorders._looked_for, iter((False, True))

    def interrupted(*given: Any) -> Any:
        if next(stops):
            raise KeyboardInterrupt
        return answer(*given)

    monkeypatch.setattr(recorders, "_looked_for", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recorders.attacks(toy.FAMILY)
    assert [row["digest"] == "0" for row in rows()] == [False, True, True]


# -- the gallery shows every finding ---------------------------------------------------------------------


FINDINGS = gallery.findings(FAMILY, ATTACKS)
BY_FINDING = {row["finding"]: row for row in FINDINGS}


def test_every_finding_is_kept_and_still_an_attack() -> None:
    assert list(BY_FINDING) == [finding.id for finding in FAMILY.findings]
    text = gallery.gallery([FAMILY], ATTACKS)
    assert gallery.STALE not in text
    assert text.count("Step through it") == text.count("--replay") == text.count("<<< decisive: ") == len(FINDINGS)


@pytest.mark.parametrize("other", [{"claim": "single-custody"}, {"variant": "gone"}], ids=str)
def test_what_is_no_attack_any_more_is_stale(other: dict[str, str]) -> None:
    (row, *_) = FINDINGS
    text = gallery.gallery([FAMILY], [{**row, **other}])
    assert (text.count(gallery.STALE), text.count("Step through it")) == (1, 0)


@pytest.mark.parametrize("id", [finding.id for finding in FAMILY.findings])
def test_a_kept_attack_breaks_its_claim(id: str) -> None:
    """Nothing but the trace is believed: the interpreter takes every step, and the claim is false at the end."""
    attack = gallery.shown(FAMILY, BY_FINDING[id])
    assert attack is not None
    finding = next(each for each in FAMILY.findings if each.id == id)
    protocol = FAMILY.protocol(finding.variant, finding.without)
    trace = Trace.from_json(attack["trace"])
    profile = next(each for each in FAMILY.sizes_to_hunt(trace.variant) if each.name == attack["profile"]["name"])
    judge = Interpreter(protocol, SOURCE.instance(protocol, trace.threat, profile))
    assert not judge.holds(protocol.claim(finding.claim).checked.formula, judge.replay(trace)[-1])
    assert sum(bool(event["decisive"]) for event in attack["events"]) == 1
    assert attack["reason"][0].startswith(f"{finding.claim} fails")


def test_a_card_says_what_the_attacker_does_on_whose_design_and_what_fixes_it() -> None:
    attack = gallery.shown(FAMILY, BY_FINDING["finding-1"])
    assert attack is not None
    assert attack["card"] == {
        "attack": "platform computes b1 from k1. Finally: The platform decrypts alice's chunk 1, which alice sent "
        "under k2",
        "design": "the stock driver: the public driver's rotation: HKDF of the previous key",
        "fix": "a fresh key each time, under the session master",
    }
    attack = gallery.shown(FAMILY, BY_FINDING["finding-10-manifest"])
    assert attack is not None
    assert attack["card"]["design"].endswith("retired at return, without manifest-check")
    assert attack["card"]["fix"] == "the holder checks the job manifest in the quote"
    text = gallery.gallery([FAMILY], ATTACKS)
    assert text.count("**The attack:** ") == text.count("**Fixed by:** ") == len(FINDINGS)


@pytest.mark.mends("N18")
def test_diagrams_are_written_for_what_is_recorded(tmp_path: Path) -> None:
    gallery.write_diagrams([FAMILY, toy.FAMILY], ATTACKS, tmp_path)
    assert [folder.name for folder in (tmp_path / "gallery").iterdir()] == [FAMILY.id]
    pages = sorted((tmp_path / "gallery" / FAMILY.id).glob("*.html"))
    assert len(pages) == len(FINDINGS) + 1
    index = (tmp_path / "gallery" / FAMILY.id / "index.html").read_text("utf-8")
    assert all(page.name in index for page in pages if page.name != "index.html")


def test_a_protocol_without_findings_has_no_gallery() -> None:
    assert "##" not in gallery.gallery([toy.FAMILY], [])


@pytest.mark.mends("N14")
def test_its_search_finds_every_finding_and_what_each_step_enforces(tmp_path: Path) -> None:
    gallery.write_diagrams([FAMILY], ATTACKS, tmp_path)
    text = (tmp_path / "gallery" / FAMILY.id / "search.js").read_text("utf-8")
    entries = json.loads(text[text.index("[") : text.rindex("]") + 1])
    assert {each["name"] for each in entries if each["kind"] == "finding"} == {each.id for each in FAMILY.findings}
    enforced = {
        id for each in entries if each["kind"] == "step" for id in each["text"].split() if id.startswith("REQ-")
    }
    assert {"REQ-SETUP-12", "REQ-KEY-03"} <= enforced
