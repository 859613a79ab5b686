"""The generated pages show what the specification says, and which recorded verdicts are about it."""

import functools
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest

from carnet_check.cli import main
from carnet_check.loading.families import load
from carnet_ref.systems.gpu_travelling.roles.orchestrator import COLUMNS, TABLE, Taken, cell
from carnet_spec.language import Draft, Service, SpecificationError
from carnet_spec.language.requirements import NormativeText
from carnet_spec.protocols.gpu_travelling.design import HIDDEN, LACKING, SHOWN
from carnet_spec.protocols.registry import registered_protocols
from docs._ext.carnet_pages import api, specification, write
from docs._ext.carnet_pages import orchestrator as page
from docs._ext.carnet_pages.claim_pages import claim_pages, claims_of
from docs._ext.carnet_pages.diagrams import Change, changes, flows, kept
from docs._ext.carnet_pages.knowledge import TEXT, knowledge, rows
from docs._ext.carnet_pages.listings import command_line
from docs._ext.carnet_pages.markdown import code, label, prose, table
from docs._ext.carnet_pages.protocols import TABLES, measured, services
from docs._ext.carnet_pages.shown import blocks, pages
from tests.fixtures import toy
from tests.fixtures.travelling import FAMILY
from tests.repo.tracked import ROOT

TOY_TEXT = NormativeText(
    """# Keys

**REQ-TOY-1** The lender MUST make a new key for every loan. (Source: folklore, 1)
* **REQ-TOY-2** A key MUST stay secret. (Source: folklore, 9)

**A1** The lender is never corrupt. (Source: convention)
"""
)
TOY = replace(toy.FAMILY, text=TOY_TEXT)


def _result(claim: str, threat: str, verdict: str, **more: Any) -> dict[str, Any]:
    row = {"protocol": "toy", "variant": "main", "claim": claim, "threat": threat, "verdict": verdict}
    return {**row, "engine": "explicit", "expected": verdict, "assumptions": ["A1"], **more}


def _run(*results: dict[str, Any], digest: str | None = None) -> dict[str, Any]:
    now = toy.FAMILY.protocol().digest
    return {
        "results": list(results),
        "summary": {"declared": ["punctual"]},
        "run": {"rerun": "carnet verify toy", "spec_digests": {"main": now if digest is None else digest}},
    }


def _pages(**results: Any) -> dict[str, str]:
    return specification([TOY], results)


def test_there_is_a_page_for_everything_and_the_index_leads_to_it() -> None:
    made = _pages()
    assert sorted(made) == [
        "index.md",
        "toy/actions.md",
        "toy/claimed.md",
        "toy/claims.md",
        "toy/claims/punctual.md",
        "toy/claims/secrecy.md",
        "toy/defences.md",
        "toy/diagrams.md",
        "toy/index.md",
        "toy/requirements.md",
        "toy/state.md",
        "verdicts.md",
    ]
    assert {"toy/index", "verdicts"} <= set(re.findall(r"^[\w/-]+$", made["index.md"], re.MULTILINE))
    assert all(text.endswith("\n") and not text.endswith("\n\n") for text in made.values())


ON_PAGES: dict[str, tuple[str, str]] = {
    "a party": ("toy/index.md", "| lender | yes | {ref}`lend <toy-action-lend>`"),
    "a corrupt party": ("toy/index.md", "| adversary | no |"),
    "a sort": ("toy/index.md", "| `Key` | any number, drawn fresh |"),
    "an enumeration": ("toy/index.md", "| `Phase` | `HOME`, `AWAY` |"),
    "a threat model": ("toy/index.md", "none\n: nobody is corrupt\n\n  `∀x: Agent. ¬corrupt(x)`"),
    "an assumption": ("toy/index.md", "| {ref}`A1 <toy-requirement-a1>` | The lender is never corrupt. |"),
    "an axiom": ("toy/index.md", "| lender honest | `¬corrupt(lender)` | {ref}`A1 <toy-requirement-a1>` |"),
    "a defence": ("toy/index.md", "| `fresh-key` | Every loan has a key of its own. | {ref}`lend"),
    "a shortcut": ("toy/index.md", "{ref}`take_back <toy-action-take-back>`: the right key<br>no {ref}`forget"),
    "a variant": ("toy/index.md", "| `forgetful` | one key for all loans |  | fresh-key |"),
    "a finding": ("toy/index.md", "| `one-key` | A key lent twice has two owners |  | {ref}`secrecy"),
    "the digest": ("toy/index.md", toy.FAMILY.protocol().digest),
    "a symbol": ("toy/state.md", "| `holds(Agent, Key)` | borrower | yes | the agent took the key |"),
    "kinds of symbols": ("toy/state.md", "## History, for the claims alone"),
    "an initial value": ("toy/state.md", "* `phase = HOME`"),
    "an action": ("toy/actions.md", "(toy-action-lend)=\n### lend\n\naction `lend(to: Agent, key: Key)`"),
    "a sentence": ("toy/actions.md", "the lender makes `key` and lends it to `to`."),
    "a reason": ("toy/actions.md", "*Why:* A key of its own makes the borrower accountable."),
    "a guard": ("toy/actions.md", "| require | at home | `phase = HOME` |  |"),
    "a tagged guard": ("toy/actions.md", "| fresh | fresh key | `key is new` | `fresh-key` |"),
    "an update": ("toy/actions.md", "| update | revoke | `remove lent(agent, current) for every agent: Agent` |  |"),
    "a message": ("toy/actions.md", r"*Message:* lender -\> `to`: `key`"),
    "a source and a requirement": (
        "toy/actions.md",
        "(source: folklore, 1; enforces {ref}`REQ-TOY-1 <toy-requirement-req-toy-1>`)",
    ),
    "what is a shortcut": ("toy/actions.md", "exists only without `return-checked`"),
    "a cost": ("toy/actions.md", "counts 1 against an adversary's budget"),
    "a rule": ("toy/actions.md", "rule `read(user: Agent, key: Key)`"),
    "parties as headings": ("toy/actions.md", "\n## borrower\n"),
    "claims and threats": ("toy/claims.md", "| {ref}`secrecy <toy-claim-secrecy>` | ✓ | ✓ |"),
    "a declared claim": ("toy/claims.md", "| {ref}`punctual <toy-claim-punctual>` | declared |  |"),
    "a claim": ("toy/claims.md", "(toy-claim-secrecy)=\n## secrecy\n\nNo one but its borrower"),
    "a claim's formula": (
        "toy/claims.md",
        "```text\n∀x: Agent, k: Key. knows(x, k) ∧ ¬corrupt(owner(k)) →",
    ),
    "a claim's requirement": (
        "toy/claims.md",
        "(states {ref}`REQ-TOY-2 <toy-requirement-req-toy-2>`; source: folklore, 9)",
    ),
    "a requirement without a text": ("toy/claims.md", "(states REQ-TOY-3; source: folklore, 10)"),
    "a goal": ("toy/claims.md", "### loan-ends\n\nA loan ends.\n\n```text\n∃a: Agent"),
    "a lemma": ("toy/claims.md", "### known\\_keys\\_are\\_used\n\nNobody knows a key before it is made."),
    "a normative sentence": ("toy/requirements.md", "(toy-requirement-req-toy-1)=\n**REQ-TOY-1** The lender MUST"),
    "a normative item": ("toy/requirements.md", "\n(toy-requirement-req-toy-2)=\n**REQ-TOY-2** A key MUST"),
    "no run": ("verdicts.md", "No long run is recorded."),
}


def test_the_pages_show_everything_of_a_protocol() -> None:
    pages = _pages()
    assert [row for row, (name, text) in ON_PAGES.items() if text not in pages[name]] == []


def test_every_reference_has_its_target() -> None:
    whole = "\n".join(_pages().values())
    targets = re.findall(r"^\(([a-z0-9-]+)\)=$", whole, re.MULTILINE)
    assert len(targets) == len(set(targets))
    assert set(re.findall(r"\{ref\}`[^`<]+<([^`>]+)>`", whole)) <= set(targets)


def test_what_another_main_variant_does_differently_is_shown() -> None:
    def draft(variant: str) -> Draft:
        made = toy.draft(variant)
        if variant == "forgetful":
            action = made.whole().action("lend")
            made.__dict__["_actions"].append(replace(action, name="lend_again"))
        return made

    made = specification([replace(TOY, draft=draft, main=("main", "forgetful"))], {})
    assert "## In variant forgetful instead\n\n(toy-forgetful-action-lend-again)=" in made["toy/actions.md"]
    assert made["toy/actions.md"].count("### lend\n") == 1


# -- verdicts -------------------------------------------------------------------------------------


def test_recorded_verdicts_are_shown_with_their_command_and_digest() -> None:
    run = _run(
        _result("secrecy", "none", "EXHAUSTED", bound=1234),
        _result("secrecy", "none", "PROVED", engine="induction", assumptions=[]),
        _result("secrecy", "collusion", "VIOLATED"),
        _result("rank", "none", "EXHAUSTED", kind="lemma-claim", bound=41, engine="lemma-count", detail="all pairs"),
        _result("loan-ends", "none", "VACUOUS", kind="goal"),
    )
    shown = _pages(review=run)["verdicts.md"]
    assert "## review\n\n```sh\ncarnet verify toy\n```\n\n### toy, main\n" in shown
    assert f"About the current specification, digest `{toy.FAMILY.protocol().digest[:12]}`." in shown
    assert "| claim | none | collusion | assumptions |" in shown
    assert (
        "| `secrecy` | EXHAUSTED(1,234), explicit<br>PROVED, induction | VIOLATED, explicit, as expected | A1 |"
        in shown
    )
    assert "| lemma claim | threat model | verdict | how |" in shown
    assert "| `rank` | none | EXHAUSTED(41), lemma-count | all pairs |" in shown
    assert "Declared, not yet provable: `punctual`." in shown
    assert "loan-ends" not in shown
    assert "Stale" not in shown


def test_an_unexpected_verdict_stands_out() -> None:
    shown = _pages(ci=_run(_result("secrecy", "none", "UNKNOWN", expected="PROVED")))["verdicts.md"]
    assert "| **UNKNOWN, explicit, expected PROVED** |" in shown


STALE: dict[str, tuple[dict[str, Any], str]] = {
    "another digest": (_run(_result("secrecy", "none", "PROVED"), digest="0" * 64), "digest `000000000000`; the"),
    "no digest": (
        {**_run(_result("secrecy", "none", "PROVED")), "run": {"rerun": "x", "spec_digests": {}}},
        "the run was about digest unknown",
    ),
    "an unknown variant": (
        _run(_result("secrecy", "none", "PROVED", variant="gone")),
        "no longer has this protocol or variant",
    ),
    "an unknown protocol": (
        _run(_result("secrecy", "none", "PROVED", protocol="gone")),
        "no longer has this protocol or variant",
    ),
}


@pytest.mark.parametrize("row", STALE)
def test_a_stale_verdict_is_marked(row: str) -> None:
    run, says = STALE[row]
    shown = _pages(old=run)["verdicts.md"]
    assert ":::{warning}\nStale: " in shown
    assert says in shown


WRONG: dict[str, Callable[[], Any]] = {
    "no object": lambda: [],
    "no results": lambda: {"run": {}},
    "no run": lambda: {"results": []},
    "rows of something else": lambda: {**_run(), "results": [{"verdict": "PROVED"}]},
}


@pytest.mark.parametrize("row", WRONG)
def test_a_file_of_something_else_is_refused(row: str) -> None:
    with pytest.raises(SpecificationError, match=r"results/odd\.json is not what `carnet verify --json` prints"):
        _pages(odd=WRONG[row]())


# -- markdown and files ---------------------------------------------------------------------------


def test_prose_shows_what_was_written() -> None:
    assert prose("a_b *c* <d> [e] | {key}'s\n  `f`") == r"a\_b \*c\* \<d\> \[e\] \| `key`'s \`f\`"
    assert code("a | b") == r"`a \| b`"
    assert code("") == ""
    assert label("gpu-travelling", "", "action", "rotate_out") == "gpu-travelling-action-rotate-out"
    assert not list(table(["a"], []))


def test_writing_leaves_alone_what_is_right_and_removes_what_is_gone(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "a", "deep/b.md": "b"})
    before = (tmp_path / "a.md").stat().st_mtime_ns
    (tmp_path / "notes.txt").write_text("mine")
    write(tmp_path, {"a.md": "a", "deep/c.md": "c"})
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")) == [
        "a.md",
        "deep/c.md",
        "notes.txt",
    ]


@pytest.mark.skipif(util.find_spec("sphinx") is None, reason="needs the docs extra; CI builds all pages anyway")
def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, _pages(review=_run(_result("secrecy", "none", "PROVED"))))
    settings = 'extensions = ["myst_parser"]\nmyst_enable_extensions = ["colon_fence", "deflist"]\n'
    (source / "conf.py").write_text(settings)
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "-b", "html", str(source), str(tmp_path / "html")]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_recorded_runs_are_readable() -> None:
    for path in (ROOT / "docs" / "results").glob("*.json"):
        json.loads(path.read_text("utf-8"))


# -- the API reference ----------------------------------------------------------------------------


def test_every_module_of_a_shown_package_is_in_the_api_reference_once() -> None:
    made = "\n".join(api.api(ROOT, {}).values())
    listed = re.findall(r"^\.\. automodule:: (\S+)$", made, re.MULTILINE)
    found = {package: pkgutil.iter_modules(importlib.import_module(package).__path__) for package in api.SHOWN}
    modules = [f"{package}.{each.name}" for package, inside in found.items() for each in inside if not each.ispkg]
    assert len(listed) == len(set(listed))
    assert set(listed) == {*api.SHOWN, *(name for name in modules if not name.rpartition(".")[2].startswith("_"))}


def test_every_page_of_the_api_reference_is_reached() -> None:
    made = api.api(ROOT, {})
    listed = {line for text in made.values() for line in text.splitlines() if f"{line}.md" in made}
    assert {f"{name}.md" for name in listed} | {"index.md"} == set(made)


def test_what_code_on_a_page_imports_is_in_the_api_reference() -> None:
    code = "\n".join(block.text for path in pages() for block in blocks(path.read_text("utf-8")))
    imported = [importlib.import_module(name) for name in {*re.findall(r"^from (carnet_[\w.]+) import", code, re.M)}]
    assert len(imported) > 3
    assert {module.__package__ for module in imported} <= {*api.SHOWN}


# -- each claim has a page of its own --------------------------------------------------------------------


RESULTS = ROOT / "docs" / "results"
RUN = json.loads((RESULTS / "gpu-travelling.json").read_text("utf-8"))
ATTACKS = json.loads((RESULTS / "attacks" / "gpu-travelling.json").read_text("utf-8"))
CLAIMS = list(dict.fromkeys(row["claim"] for row in RUN["results"] if row["kind"] == "claim"))


@functools.cache
def _pages_of_claims() -> dict[str, str]:
    return claim_pages(FAMILY, RUN, ATTACKS)


def of(claim: str) -> str:
    return _pages_of_claims()[f"gpu-travelling/claims/{claim}.md"]


def test_every_claim_has_a_page() -> None:
    assert sorted(CLAIMS) == sorted(claims_of(FAMILY))
    assert list(_pages_of_claims()) == [f"gpu-travelling/claims/{claim}.md" for claim in claims_of(FAMILY)]


def test_every_verdict_and_every_recorded_attack_is_on_the_page_of_its_claim() -> None:
    wrong: list[str] = []
    for claim in CLAIMS:
        page, rows = of(claim), [row for row in RUN["results"] if (row["claim"], row["kind"]) == (claim, "claim")]
        told = sum(page.count(f": {engine}") for engine in {row["engine"] for row in rows})
        wrong += [f"{claim}: {told} of {len(rows)} verdicts"] * (told != len(rows) or not rows)
        assumed = {id for row in rows if row["verdict"] == "PROVED" for id in row["assumptions"]}
        wrong += [f"{claim}: {id}" for id in assumed if f"| `{id}` |" not in page]
        broken = [attack["rerun"] for attack in ATTACKS if (attack["claim"], attack["verdict"]) == (claim, "VIOLATED")]
        wrong += [f"{claim}: attacks"] * (page.count("`carnet attack ") != len(broken))
        wrong += [f"{claim}: {command}" for command in broken if f"`{command}`" not in page]
    assert wrong == []


def test_what_is_stale_says_so() -> None:
    (attack, *_) = (each for each in ATTACKS if each["verdict"] == "VIOLATED")
    stale = claim_pages(FAMILY, _about_nothing(RUN), [{**attack, "digest": "0" * 64}])
    text = stale[f"gpu-travelling/claims/{attack['claim']}.md"]
    assert "**stale**" in text
    assert "Stale: the run was about" in text


def _about_nothing(run: Any) -> Any:
    return {**run, "run": {**run["run"], "spec_digests": dict.fromkeys(run["run"]["spec_digests"], "0" * 64)}}


def test_without_a_run_nothing_was_established() -> None:
    text = claim_pages(toy.FAMILY, None, ())["toy/claims/secrecy.md"]
    assert "No run is recorded." in text
    assert "PROVED" not in text
    assert "no attack breaks it first" in text
    assert "It is declared, without a formula yet." in claim_pages(toy.FAMILY, None, ())["toy/claims/punctual.md"]


# -- diagrams show what the specification says -----------------------------------------------------------


ROUNDS = ROOT / "docs" / "results" / "rounds"
SVG = "{http://www.w3.org/2000/svg}"
MAIN = FAMILY.protocol(FAMILY.main[0])


def shown(family: Any, run: dict[str, Any] | None = None) -> str:
    return specification([family], {}, {family.id: run} if run else {})[f"{family.id}/diagrams.md"]


def drawn(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def words(svg: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def test_a_phase_follows_another_by_a_step() -> None:
    protocol = toy.FAMILY.protocol()
    (phase,) = (symbol for symbol in protocol.symbols if symbol.name == "phase")
    assert Change("HOME", "AWAY", "lend") in changes(protocol, phase)


def test_every_step_that_changes_the_phase_is_drawn() -> None:
    (phases, *_) = drawn(shown(FAMILY))
    said = " ".join(words(phases))
    changing = [a for a in MAIN.actions if any(update.symbol.name == "phase" for update in a.updates)]
    assert len(changing) > 15
    assert [action.name for action in changing if action.name not in said] == []


def test_every_message_is_listed_with_who_sends_it() -> None:
    listed = shown(FAMILY)
    sent = [action for action in MAIN.actions if action.message]
    assert [action.name for action in sent if f"| {{ref}}`{action.name} <" not in listed] == []
    assert r"| orchestrator | gpu | KEY\_EXCHANGE (`s`) |" in listed


@pytest.mark.parametrize(
    ("variant", "rules"),
    {
        "sealed-under-master": [],
        "engine-per-holder": ["same_engine_h2d", "same_engine_d2h", "same_engine_forges_h2d", "same_engine_forges_d2h"],
        "ratchet": ["ratchet_h2d", "ratchet_d2h"],
        "wrapped-under-old": ["unwrap"],
    }.items(),
)
def test_a_key_opens_another_where_a_rule_says_so(variant: str, rules: list[str]) -> None:
    found = flows(FAMILY.protocol(variant))
    assert [flow.rule.name for flow in found if flow.source == flow.target == "Key"] == rules
    assert [flow.rule.name for flow in found if flow.source == "Session"] == ["master_opens_keys"]


def test_the_recorded_round_is_drawn_message_by_message() -> None:
    run = json.loads((ROUNDS / f"{FAMILY.id}.json").read_text("utf-8"))
    page = shown(FAMILY, run)
    said = next(words(svg) for svg in drawn(page) if "platform" in words(svg))
    assert set(run["parties"]) <= set(said)
    steps = [event["arrow"]["text"] for event in run["events"] if event["arrow"] and event["number"]]
    assert [text for text in steps if text not in said] == []
    assert ("Stale" in page) == (run["digest"] != FAMILY.protocol(run["variant"]).digest)


@pytest.mark.mends("N24")
def test_rules_that_repeat_are_one_row_and_all_lanes_fit_the_page() -> None:
    run = json.loads((ROUNDS / f"{FAMILY.id}.json").read_text("utf-8"))
    (drawing,) = (svg for svg in drawn(shown(FAMILY, run)) if "platform" in words(svg))
    assert [text for text in words(drawing) if "MEASUREMENTS" in text] == [
        "MEASUREMENTS (nonce s1, CONFIDENTIAL) and 3 more like it",
        "MEASUREMENTS (nonce s1, CONFIDENTIAL)",
    ]
    assert int(drawing.get("width", "")) <= 736, "as wide as the page is in a window of 1200 pixels"
    texts = [text for text in drawing.iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    for text in texts:
        half = len("".join(text.itertext())) * 3.5
        assert half - 1 <= float(text.get("x", "")) <= int(drawing.get("width", "")) - half + 1


@pytest.mark.mends("N24")
def test_a_design_that_keeps_its_key_is_not_listed_with_those_that_draw_one() -> None:
    page = shown(FAMILY)
    fresh = page.partition("### sealed-under-master\n")[2].partition("\n### ")[0]
    assert "a fresh key each time" in fresh
    assert "`none`" not in fresh
    assert "`rotate-out-only`" not in fresh
    assert "* `keep_key_out` in place of `rotate_out`: the key stays" in page.partition("### none\n")[2]
    assert kept(FAMILY.protocol("check-before-rotate"), ["Key"]) == [], "it draws one later"


def test_a_round_of_another_specification_is_marked() -> None:
    run = json.loads((ROUNDS / f"{FAMILY.id}.json").read_text("utf-8"))
    assert "Stale: the run was about digest `0000" in shown(FAMILY, run | {"digest": "0" * 64})


# -- who knows what over time is told from the recorded round --------------------------------------------


DOCS = ROOT / "docs"
ROUND = json.loads((DOCS / "results" / "rounds" / f"{FAMILY.id}.json").read_text("utf-8"))


def table_of_knowledge() -> ElementTree.Element:
    block = "\n".join(knowledge(ROUND)).removeprefix("```{raw} html\n").rstrip("`\n")
    return ElementTree.fromstring(block.replace("<br>", "<br/>"))


def cells(row: ElementTree.Element) -> dict[str, str]:
    return {cell.get("data-party", ""): " · ".join(cell.itertext()) for cell in row.iter("td")}


@pytest.mark.mends("N24")
def test_every_party_has_a_column_and_every_step_is_in_a_row() -> None:
    heads = [head.text for head in table_of_knowledge().iter("th") if head.get("scope") == "col"]
    assert heads == ["step", "orchestrator", "alice", "adversary", "platform"]
    said = [step for step, _ in rows(ROUND)]
    numbers = [int(number) for step in said[1:] for number in re.findall(r"\d+", step.partition(".")[0])]
    assert (numbers[0], numbers[-1]) == (1, max(event["number"] or 0 for event in ROUND["events"]))
    assert numbers == sorted(numbers)


@pytest.mark.mends("N24")
def test_whoever_learns_something_is_told_and_nobody_else() -> None:
    told = {row.findtext("th"): cells(row) for row in table_of_knowledge().iter("tr") if row.find("td") is not None}
    learned = [event for event in ROUND["events"] if event["learned"]]
    assert [event["action"] for event in learned] == ["open_session", "rotate_out", "accept_grant", "rotate_in"]
    for event in learned:
        row = told[f"{event['number']}. {event['sentence']}"]
        assert {party for party, said in row.items() if said != "nothing"} == set(event["learned"])
    assert {said[party] for said in told.values() for party in ("adversary", "platform")} == {"nothing"}


def test_the_holder_is_lent_the_half_that_sends() -> None:
    (lent,) = (event["learned"] for event in ROUND["events"] if event["action"] == "accept_grant")
    assert lent == {"alice": ["k1 (knows h2d)"]}


def test_the_table_is_in_the_guide_and_on_the_page_of_diagrams() -> None:
    pages = specification([FAMILY], {}, {FAMILY.id: ROUND})
    assert pages[f"{FAMILY.id}/{TEXT}"].strip() in pages[f"{FAMILY.id}/diagrams.md"]
    assert f"{{include}} ../specification/{FAMILY.id}/{TEXT}" in (DOCS / "guide" / f"{FAMILY.id}.md").read_text("utf-8")


def test_a_run_that_says_nothing_of_knowledge_has_no_table() -> None:
    older: dict[str, Any] = {name: value for name, value in ROUND.items() if name not in ("knowers", "known")}
    assert list(knowledge(older)) == []


# -- what variants ask of firmware is listed for each of them --------------------------------------------


SERVICES = {service.id: service for service in FAMILY.services}


def needed(variant: str, *kinds: str) -> set[str]:
    return {id for id, each in SERVICES.items() if variant in each.needed_by and each.available in kinds}


def test_the_page_has_each_service_with_its_source_and_each_variant_with_its_needs() -> None:
    asked = (
        Service("seal", "seals keys", SHOWN, "seal.c", frozenset({"main"})),
        Service("ledger", "keeps a ledger", LACKING, "no file", frozenset({"main", "forgetful"})),
    )
    page = list(services(replace(toy.FAMILY, services=asked)))
    assert "| `seal` | seals keys | shown | seal.c |" in page
    assert "| `main` |  | `seal` | `ledger` |" in page
    assert "| `forgetful` |  |  | `ledger` |" in page


def test_a_protocol_that_asks_nothing_has_no_such_section() -> None:
    assert list(services(toy.FAMILY)) == []


def test_every_service_is_needed_by_known_variants_and_has_a_kind_and_a_source() -> None:
    assert {each.available for each in SERVICES.values()} == {SHOWN, HIDDEN, LACKING}
    for service in SERVICES.values():
        assert service.needed_by
        assert service.needed_by <= set(FAMILY.variants)
        assert re.search(r"\.[ch]\b|no file", service.where)


@pytest.mark.parametrize("variant", FAMILY.with_layers(FAMILY.main))
def test_a_main_variant_that_asks_for_more_than_the_driver_shows_says_so(variant: str) -> None:
    assert needed(variant, HIDDEN, LACKING)
    assert FAMILY.variants[variant].label == "needs firmware"


def test_the_two_designs_differ_in_where_keys_come_from() -> None:
    engine, sealed = FAMILY.main
    every = (SHOWN, HIDDEN, LACKING)
    assert needed(engine, *every) ^ needed(sealed, *every) == {"engine-keys", "engine-retirement", "fresh-key"}


def test_a_layer_asks_for_what_its_variant_asks_for() -> None:
    layered = [each for each in FAMILY.variants.values() if each.over]
    assert layered
    for layer in layered:
        assert all((layer.name in each.needed_by) == (layer.over in each.needed_by) for each in SERVICES.values())


def test_reports_on_the_link_do_without_reports_in_the_session() -> None:
    gone = needed("sealed-under-master", HIDDEN, LACKING) - needed("kernel-answers", HIDDEN, LACKING)
    assert gone == {"counter", "rotation-report", "reports", "digests", "contexts-left"}


def test_the_normative_text_leads_to_the_table_and_has_none_of_its_own() -> None:
    section = FAMILY.text.text.partition("## Firmware services")[2].partition("\n## ")[0]
    assert "firmware.py" in section
    assert all(f"*{kind}*" in section for kind in (SHOWN, HIDDEN, LACKING))
    assert "|" not in section


# -- A protocol's page has what its authors measured beside what Carnet computes of it -------------------


@pytest.mark.parametrize("protocol", list(registered_protocols()))
def test_every_protocol_says_what_was_measured_and_what_is_computed(protocol: str) -> None:
    lines = list(measured(load(protocol).family))
    assert lines[0] == "## Measured by its authors, and here"
    assert "| figure | published | here |" in lines


def test_the_rows_are_those_of_the_recorded_table() -> None:
    text = "\n".join(measured(load("ring-all-reduce").family))
    for row in json.loads((TABLES / "ddp.json").read_text())["rows"]:
        assert f"{row['published']:.4g}" in text
        assert f"{row['reproduced']:.4g} ({row['role']})" in text


# -- the page of the command line names every command and every option -----------------------------------


PAGE = command_line()


def every(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        within = click.Context(command, info_name=name, parent=context)
        yield within.command_path, command
        if isinstance(command, click.Group):
            yield from every(command, within)


COMMANDS = dict(every(main, click.Context(main, info_name="carnet")))


def section(path: str) -> str:
    found = re.search(rf"^#+ {re.escape(path)}\n(.*?)(?=^#|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, path
    return found[1]


def is_left_out(option: click.Option) -> bool:
    return option.hidden or "--help" in option.opts


@pytest.mark.mends("N7")
def test_every_command_is_there_with_its_options() -> None:
    missing: dict[str, list[str]] = {}
    for path, command in COMMANDS.items():
        said = section(path)
        shown = [each for each in command.params if not (isinstance(each, click.Option) and is_left_out(each))]
        options = [name for each in shown if isinstance(each, click.Option) for name in each.opts]
        arguments = [each.make_metavar(click.Context(command)) for each in shown if not isinstance(each, click.Option)]
        first = (command.help or "").split(".")[0].split("`")[0].split()[:3]
        expected = [*options, *arguments, *(word.strip("*,:") for word in first)]
        missing[path] = [each for each in expected if each not in said]
    assert {path: names for path, names in missing.items() if names} == {}


def test_groups_have_their_subcommands_below_them() -> None:
    assert PAGE.index("## carnet attest\n") < PAGE.index("### carnet attest gpu\n")
    assert len(COMMANDS) > 20


def test_nothing_in_it_is_taken_for_a_place_to_fill_in() -> None:
    assert "{" not in re.sub(r"\{doc\}`[^`]+`", "", PAGE)


# -- the page on the orchestrator's states shows every state ---------------------------------------------


def test_the_page_has_a_row_for_every_state_and_a_column_for_every_input() -> None:
    lines = page.states().splitlines()
    assert f"| state | {' | '.join(COLUMNS.values())} |" in lines
    for state in TABLE:
        row = next(line for line in lines if line.startswith(f"| `{state.__name__}` |"))
        steps = [found.by.__name__ for event in COLUMNS if isinstance(found := cell(TABLE, state, event), Taken)]
        assert all(f" `{name}` " in row for name in steps)


def test_the_diagram_has_every_way_from_one_state_to_another() -> None:
    drawn = {(change.before, change.after, change.action) for change in page._changes()}
    found = {
        (state.__name__, after.__name__, taken.by.__name__) for state, taken in page._taken() for after in taken.to
    }
    assert drawn == {way for way in found if way[0] != way[1]}
    text = page.states()
    assert all(f">{state.__name__}</text>" in text for state in TABLE if state.__name__ != "Stopped")


def test_every_state_and_input_says_what_it_means() -> None:
    text = page.states()
    assert all(f"| `{state.__name__}` | {page._says(state)} |" in text for state in TABLE)
    assert all(f"| {column} | {page._says(event)} |" in text for event, column in COLUMNS.items())
    assert all(page._says(each) for each in TABLE)
    assert all(page._says(each) for each in COLUMNS)
