"""The map of defences by threat models says what was found, agrees with the recorded attacks, and leads to each."""

from __future__ import annotations

import functools
import itertools
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from carnet_check.loading.families import Source, load
from docs._ext.carnet_pages import falls, specification
from docs._ext.carnet_pages.defences import defences, map_label, map_link
from docs._ext.carnet_pages.protocols import ProtocolPages
from docs._ext.carnet_pages.traces import Traces
from tests.fixtures import toy
from tests.fixtures.travelling import FAMILY, SOURCE
from tests.unit.model_check.command import TOY

RESULTS = Path(__file__).parents[2] / "docs" / "results"
KEPT: Any = json.loads((RESULTS / "falls" / "gpu-travelling.json").read_text("utf-8"))
ATTACKS: Any = json.loads((RESULTS / "attacks" / "gpu-travelling.json").read_text("utf-8"))
BY_ID = {row["defence"]: row for row in KEPT}
IDS = [defence.id for defence in FAMILY.protocol().defences]


@functools.cache
def shown() -> str:
    """Return the page."""
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
    link = "".join(map_link(FAMILY))
    assert link in ProtocolPages(FAMILY).overview()
    assert f"({map_label(FAMILY)})=" in shown()
