"""``carnet explain``: the meaning of an identifier, and how to check it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from carnet_check.commands.common import completions
from carnet_check.commands.explain import Entry, entries
from carnet_check.loading.families import Source, load
from carnet_spec.language import Draft, Formula, Service, implies
from tests.fixtures import toy
from tests.unit.model_check.command import TOY, carnet


@pytest.mark.parametrize("arguments", [("list",), ("explain", "grant"), ("explain", "confidentiality")])
def test_what_there_is_fits_eighty_columns(arguments: tuple[str, ...]) -> None:
    lines = carnet(*arguments).out.splitlines()
    assert [line for line in lines if len(line) > 80 and "carnet " not in line] == []


def test_a_long_formula_goes_on_under_its_line() -> None:
    lines = carnet("explain", "grant").out.splitlines()
    (position,) = [number for number, line in enumerate(lines) if "¬" in line]
    assert lines[position].startswith("        require 'counter handed over': ¬consumed(link_h2d, v) ∧")
    assert lines[position + 1].startswith("          before(u, v) →")


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
    "known_keys_are_used": ("lemma", "Nobody knows a key", "induction"),
    "REQ-TOY-1": ("requirement", "", "carnet verify"),
}


@pytest.mark.parametrize("id", IDS)
def test_explain_says_what_it_is_and_how_to_check_it(id: str) -> None:
    kind, sentence, check = IDS[id]
    entries = carnet("explain", id, "--protocol", TOY, "--json").json["entries"]
    (entry,) = [entry for entry in entries if entry["kind"] == kind]
    assert sentence in entry["sentence"]
    assert check in entry["check"]


def test_what_is_verified_by_name_is_explained_by_name() -> None:
    entries = carnet("explain", "grant-ends", "--json").json["entries"]
    (entry,) = [entry for entry in entries if entry["id"] == "grant-ends"]
    assert (entry["kind"], entry["check"]) == ("liveness property", "carnet verify gpu-travelling --claim grant-ends")
    assert "taken fairly: " in entry["text"]
    assert load("gpu-travelling").protocol().liveness[0].sentence == entry["sentence"]


def test_what_a_shell_offers_is_explained() -> None:
    source = load(TOY)
    assert set(completions(source, "ids")) <= {entry.id for entry in entries(source)}


def test_a_step_is_explained_in_sentences_without_places_to_fill_in() -> None:
    said = " ".join(carnet("explain", "grant").out.split())
    assert "grants the link to a, over the channel of p, counting from v, buffer at b. Lend the encrypt half" in said


def test_the_sizes_of_a_profile_stand_beside_its_title() -> None:
    lines = carnet("explain", "directed").out.splitlines()
    assert lines[1] == "  honest parties without data, three rounds"
    assert "    holders 2, corrupt 0, rounds 3, chunks 0; at most 0 active adversary moves" in lines


@pytest.mark.mends("N13")
def test_explain_says_where_a_requirement_is_enforced() -> None:
    (entry,) = carnet("explain", "REQ-TOY-1", "--protocol", TOY, "--json").json["entries"]
    assert entry["enforced_by"] == ["lend"]
    assert "lend: guard 'fresh key'" in carnet("explain", "fresh-key", "--protocol", TOY).out


# -- what only variants have --------------------------------------------------------------------------------------


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


def test_what_a_variant_claims_is_explained_with_the_variant_that_makes_the_claim() -> None:
    found = explained()
    assert found["kept"].variants == found["listening"].variants == found["REQ-TOY-7"].variants == ("forgetful",)
    assert found["kept"].check == "carnet verify toy --variant forgetful --claim kept"
    assert found["listening"].check == "carnet verify toy --variant forgetful --threat listening"
    assert found["secrecy"].variants == found["collusion"].variants == found["lend"].variants == ()


def test_a_variant_names_the_claims_and_threat_models_that_it_adds() -> None:
    assert "further claims: kept\nfurther threat models: listening" in explained()["forgetful"].text
    assert "further" not in explained()["main"].text


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


def test_every_claim_and_threat_model_of_every_variant_is_explained() -> None:
    source = load("gpu-travelling")
    every = [source.protocol(name) for name in source.family.variants]
    named = {claim.name for each in every for claim in each.claims} | {x.id for each in every for x in each.threats}
    assert named - set(of_gpu_travelling()) == set()


def test_the_text_says_which_variants_make_a_claim() -> None:
    said = " ".join(carnet("explain", "late-secrecy").out.split())
    assert "made in variants late-corruption, late-corruption-engine check it" in said


def test_the_protocol_s_id_may_precede_an_id() -> None:
    plain = carnet("explain", "A1", "--protocol", TOY, "--json").json["entries"]
    assert carnet("explain", "toy-A1", "--protocol", TOY, "--json").json["entries"] == plain
    assert carnet("explain", "toy-A9", "--protocol", TOY).code == 2
