"""The page that compares all systems has each of them, and says of each what its specification and records say."""

import copy
import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from carnet_check.loading.families import load
from carnet_spec.language import Family, PartyKind, PartyView, Visibility
from carnet_spec.protocols.registry import registered_protocols
from docs._ext.carnet_pages.comparison import ClaimStatus, System, comparison, picture
from docs._ext.carnet_pages.markdown import label, prose
from docs._ext.carnet_pages.transfer_costs import WAYS
from tests.fixtures import toy
from tests.repo.tracked import ROOT

TWELVE = tuple(registered_protocols())
SLALOM = "slalom"


@cache
def families() -> tuple[Family, ...]:
    return tuple(load(id).family for id in TWELVE)


@cache
def recorded(*ids: str) -> dict[str, Any]:
    return {id: json.loads((ROOT / "docs" / "results" / f"{id}.json").read_text("utf-8")) for id in ids or TWELVE}


@cache
def whole() -> str:
    return comparison(families(), recorded())


def family(id: str) -> Family:
    return next(each for each in families() if each.id == id)


def rows(of: str) -> list[list[str]]:
    """Return the cells of each row of the picture, as text."""
    found = re.findall(r"<tr>(.*?)</tr>", of)[1:]
    cells = (re.findall(r"<t[hd].*?</t[hd]>", row) for row in found)
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in cells]


def test_the_picture_has_each_registered_system_and_each_kind_of_party() -> None:
    assert len(TWELVE) == 12
    shown = rows(whole())
    names = [System(each, ()).name for each in families()]
    assert [row[0].replace(" ", "") for row in shown] == [name.replace(" ", "") for name in names]
    assert {len(row) for row in shown} == {len(PartyKind) + 2}
    for each, row in zip(families(), shown, strict=True):
        assert f'href="#{label("comparison", each.id)}"' in whole()
        assert f"({label('comparison', each.id)})=" in whole()
        for kind, cell in zip(PartyKind, row[1:], strict=False):
            view = System(each, ()).view(kind)
            assert cell.split()[0] == (view.sees.value if view else "–")
            assert ("trusted" in cell) == bool(view and view.trusted_for)


@pytest.mark.parametrize("id", TWELVE)
def test_each_system_is_on_the_page_in_words(id: str) -> None:
    system, page = System(family(id), list(recorded().values())), whole()
    part = page.partition(f"({label('comparison', id)})=")[2].partition("\n(comparison-")[0]
    assert system.family.views, "what each party sees is declared"
    for view in system.family.views:
        assert f"**{prose(view.party)}** ({view.kind.value})" in part
        assert prose(view.detail) in part
        assert prose(view.trusted_for) in part
    for name, claim in system.claims.items():
        assert f"{name} <{label(id, 'claim', name)}>`: {prose(claim.sentence)}" in part
    for threat in system.threats:
        assert f"*{prose(threat.id)}*, {prose(threat.title)}: **" in page
    sentences = {each.id: prose(each.sentence) for each in system.designs[0].assumptions}
    proofs = [row for row, _ in system.rows if row["verdict"] == "PROVED" and row["claim"] in system.claims]
    used = {name for row in proofs for name in row["assumptions"]}
    used |= {name for view in system.family.views for name in view.assumed_in}
    for claim in system.designs[0].lemma_claims:
        for each in claim.hypotheses:
            assert each.name not in used or f"{prose(each.sentence)} (hypothesis {{ref}}`{each.name} <" in part
    for assumed, sentence in sentences.items():
        assert (f"{sentence} ({{ref}}`{assumed} <" in part) == (assumed in used)


def test_no_id_of_an_assumption_stands_without_its_sentence() -> None:
    sentences = {prose(each.sentence) for known in families() for each in known.protocol().assumptions}
    found = re.findall(r"(.*?) \(\{ref\}`A\d+ <[^>]+>`\)", whole())
    assert len(found) > 50
    assert all(any(before.endswith(sentence) for sentence in sentences) for before in found)
    assert len(re.findall(r"\bA\d+\b", whole())) == len(found)


def test_every_reference_is_to_the_specification_or_to_a_system_of_the_page() -> None:
    own = set(re.findall(r"^\((comparison[a-z0-9-]*)\)=$", whole(), re.MULTILINE))
    for known in families():
        own |= {label(known.id, "requirement", id) for id in known.text.requirements()}
        own |= {label(known.id, "requirement", each.id) for each in known.protocol().assumptions}
        own |= {label(known.id, "claim", name) for name in System(known, ()).claims}
    assert set(re.findall(r"\{ref\}`[^`<]+<([^`>]+)>`", whole())) <= own


# -- what the page is made from ------------------------------------------------------------------------------


def changed(verdict: str, **which: str) -> dict[str, Any]:
    """Return the records of Slalom with another verdict in the rows that are meant."""
    run = copy.deepcopy(recorded(SLALOM))
    for row in run[SLALOM]["results"]:
        if all(row[name] == value for name, value in which.items()):
            row["verdict"] = verdict
    return run


def processor(run: dict[str, Any]) -> tuple[str, str]:
    """Return the cell of Slalom's processor, and that of its claims."""
    (row,) = rows("\n".join(picture([System(family(SLALOM), list(run.values()))])))
    return row[3], row[5]


def test_a_changed_verdict_changes_the_picture_and_the_page() -> None:
    assert processor(recorded(SLALOM)) == ("masked counted", "5 proved 4 counted")
    for verdict, status in (("VIOLATED", "falls"), ("UNKNOWN", "open"), ("SAMPLED", "open")):
        run = changed(verdict, claim="blinding-hides", engine="lemma-count")
        assert processor(run) == (f"masked {status}", f"5 proved 3 counted 1 {status}")
        page = comparison([family(SLALOM)], run)
        sentence = prose(System(family(SLALOM), ()).claims["blinding-hides"].sentence)
        assert f"**4 proved, 2 counted, 1 {status}**. {status.capitalize()}: {sentence}" in page
        assert f"blinding-hides <slalom-claim-blinding-hides>` ({status})" in page
    assert "fallen-4" in "\n".join(picture([System(family(SLALOM), [changed("VIOLATED")[SLALOM]])]))


def test_one_engine_that_finds_an_attack_outweighs_one_that_proves() -> None:
    run = changed("VIOLATED", claim="one-mask", engine="native")
    assert processor(run)[1] == "4 proved 4 counted 1 falls"
    run = changed("UNKNOWN", claim="one-mask", engine="induction")
    assert processor(run)[1] == "4 proved 4 counted 1 open"
    run = changed("EXHAUSTED", claim="one-mask", engine="induction")
    assert processor(run)[1] == "4 proved 5 counted"


def test_a_record_that_is_missing_or_of_another_specification_counts_as_none() -> None:
    assert processor({}) == ("masked open", "9 open")
    run = copy.deepcopy(recorded(SLALOM))
    run[SLALOM]["run"]["spec_digests"]["main"] = "0" * 64
    assert processor(run) == ("masked stale", "9 stale")


def test_a_changed_assumption_changes_the_page() -> None:
    run = copy.deepcopy(recorded("fastrack"))
    page = comparison([family("fastrack")], run)
    one = next(each for each in family("fastrack").protocol().assumptions if each.id == "A6")
    row = f"{prose(one.sentence)} ({{ref}}`A6 <fastrack-requirement-a6>`)"
    assert f"| {row} | " in page
    for each in run["fastrack"]["results"]:
        each["assumptions"] = [id for id in each["assumptions"] if id != "A6"]
    assert row not in comparison([family("fastrack")], run)


def test_a_changed_view_or_title_changes_the_page() -> None:
    views = (PartyView(PartyKind.HOST, "lenders", Visibility.NOISED, "a hint", ("secrecy",), "honesty", ("A1",)),)
    page = comparison([replace(toy.FAMILY, views=views)], {})
    assert "noised<br><small>open</small><br><small>trusted</small>" in page
    assert "Sees *noised*: a hint. That it sees no more is claimed: {ref}`secrecy <toy-claim-secrecy>` (open)." in page
    assert "Trusted for honesty. Taken for granted: The lender is never corrupt. (`A1`)" in page
    bare = comparison([toy.FAMILY], {})
    assert rows(bare)[0][1:5] == ["–"] * 4
    assert "| not declared |  |  |" in bare


def test_the_worst_threat_model_counts() -> None:
    system = System(family("gpu-travelling"), list(recorded("gpu-travelling").values()))
    found = {threat.id: system.under("model-confidentiality", threat.id) for threat in system.threats}
    assert found == {
        "outsider": ClaimStatus.PROVED,
        "holder": ClaimStatus.FALLS,
        "hypervisor": ClaimStatus.PROVED,
        "collusion": ClaimStatus.FALLS,
        "past-keys": None,
    }
    assert system.status("model-confidentiality") is ClaimStatus.FALLS


def test_what_a_reader_chooses_by_follows_from_the_views() -> None:
    def named(wish: str) -> set[str]:
        (row,) = re.findall(rf"^\| {wish} \| (.*) \|$", whole(), re.MULTILINE)
        return set(re.findall(r"comparison-([a-z-]+)>", row))

    assert named("to trust no accelerator or worker for anything") == {"slalom"}
    assert named("to trust no TEE of a CPU for anything") == {"fastrack"}
    assert "verifiable-fl" not in named("that host and network do not see the data themselves")
    assert "gpu-travelling" not in named("every claim at least counted")


def test_each_registered_system_has_a_way_of_its_data() -> None:
    assert set(WAYS) == set(TWELVE)
    costs = whole().partition("## What it costs")[2].partition("## System by system")[0]
    for id, way in WAYS.items():
        assert re.search(rf"comparison-{id}>` \| {re.escape(way.words)} \| ", costs)
