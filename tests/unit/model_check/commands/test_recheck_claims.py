"""`carnet recheck`, claim by claim: what is proved under which threat model, and which variants are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carnet_check.certificates.folder import OF_NO_LAYER, Pair
from carnet_check.loading.families import load
from carnet_spec.language.lints import PROOF_SOUNDNESS, unsound
from tests.fixtures.unsound import a_step_that_reads_what_nobody_wrote
from tests.unit.model_check.command import TOY, carnet


def test_what_is_accepted_is_told_claim_by_claim(whole: Path) -> None:
    protocol = load(TOY).protocol()
    asked = {(claim.name, threat) for claim in protocol.claims if claim.invariant for threat in claim.under}
    ran = carnet("recheck", str(whole), "--json")
    assert {(each["claim"], each["threat"]) for each in ran.json["claims"]} == asked
    assert {each["why"] for each in ran.json["claims"]} == {""}
    assert ran.json["declared"] == [
        {"variant": "main", "claim": claim.name} for claim in protocol.claims if claim.declared
    ]
    said = " ".join(carnet("recheck", str(whole)).out.split())
    assert f"{len(asked)} of {len(asked)} pairs of a claim and a threat model proved" in said
    assert "nobody looked whether they contradict each other" in said


def test_a_claim_that_no_layer_proves_is_3(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strange = Pair("main", "peace", "war", OF_NO_LAYER)
    monkeypatch.setattr("carnet_check.commands.recheck._judged", lambda *_: [strange])
    ran = carnet("recheck", str(whole), "--json")
    assert (ran.code, ran.json["unproved"]) == (3, [])
    assert ran.json["claims"] == [{"variant": "main", "claim": "peace", "threat": "war", "why": OF_NO_LAYER}]
    assert "main, claim peace under war: no layer has it" in " ".join(carnet("recheck", str(whole)).out.split())


HOSTILE: dict[str, Callable[[Any], None]] = {
    "two claims of a name": lambda it: it["claims"].append(it["claims"][0]),
    "two threat models of an id": lambda it: it["threats"].append(it["threats"][0]),
    "a blank threat model": lambda it: it["threats"][0].update(id=""),
    "a claim under nothing": lambda it: it["claims"][0].update(under=[], fails_under=[]),
    "a claim under nobody": lambda it: it["claims"][0].update(under=["nobody at all"]),
    "a claim both ways": lambda it: it["claims"][0].update(fails_under=it["claims"][0]["under"]),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_variant_of_which_no_verdict_means_anything_is_refused(folder: Path, what: str) -> None:
    file = folder / "systems" / "main.json"
    content = json.loads(file.read_text())
    HOSTILE[what](content)
    file.write_text(json.dumps(content, sort_keys=True, separators=(",", ":")))
    ran = carnet("recheck", str(folder))
    assert (ran.code, ran.out) == (2, "")


def test_what_only_exploring_needs_refuses_no_certificate(folder: Path) -> None:
    """An obligation holds for whatever a function may begin with."""
    protocol = a_step_that_reads_what_nobody_wrote().protocol()
    assert {complaint.rule for complaint in unsound(protocol)} == {"written-before-read"}
    assert unsound(protocol, PROOF_SOUNDNESS) == ()
    (folder / "systems" / "main.json").write_text(protocol.encoded)
    ran = carnet("recheck", str(folder), "--json")
    assert ran.json["specifications"] == {"main": protocol.digest}
    assert "the index leaves it out" in {each["why"] for each in ran.json["unproved"]}


CLAIMS_NOTHING = """
from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, relation


class Party(Individual):
    "Somebody."


seen = relation("seen", Party, kind=Kind.MESSAGE)


def of_nothing() -> Draft:
    draft = Draft("quiet", "Nobody says anything")
    draft.threat("anybody", "nothing more is assumed")

    @draft.action(by=Role("party"), says="{x} is seen", source="test")
    def see(step: Step, x: Party) -> None:
        step.insert(seen(x))

    return draft


def of_a_lemma() -> Draft:
    draft = of_nothing()

    @draft.lemma
    def seen_or_not(x: Party) -> Formula:
        return seen(x) | ~seen(x)

    return draft
"""


def test_of_nothing_there_is_nothing_to_certify(tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text(CLAIMS_NOTHING)
    ran = carnet("certify", f"{tmp_path / 'quiet.py'}:of_nothing", "--out", str(tmp_path / "out"), "--jobs", "1")
    assert ran.code == 2
    assert "nothing is claimed of variant main of quiet, so there is nothing to certify" in ran.err


def test_certificates_of_lemmas_alone_prove_no_claim(tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text(CLAIMS_NOTHING)
    made = carnet("certify", f"{tmp_path / 'quiet.py'}:of_a_lemma", "--out", str(tmp_path / "out"), "--jobs", "1")
    assert made.code == 0, made.err
    ran = carnet("recheck", str(tmp_path / "out"))
    assert ran.code == 4
    assert "main: nothing is claimed, so nothing is proved of it" in " ".join(ran.out.split())
