"""Certificates before a solver: what they prove is not asked, what they do not prove is, and the run says which."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.certificates.file import Certificates, Entry, encoded_certificates, load_certificates
from carnet_check.certificates.judging import LayerObligations
from carnet_check.engines.induction.engine import INDUCTION
from carnet_check.engines.induction.liveness import LivenessProofs
from carnet_check.engines.induction.solving import Batch, Workers
from carnet_check.engines.proving.certified import CertifiedDesign, check_designs
from carnet_check.engines.proving.composition import Composition, SolverAnswer, SolverOutcome
from carnet_check.engines.registry import select_engines
from carnet_check.loading.families import load
from carnet_check.obligations import layers
from carnet_check.verification.planning import Request, plan_campaign
from carnet_spec.language import Protocol
from tests.unit.model_check.command import FIXTURES, TOY, Ran, carnet

NAME = "toy.certificates.json.xz"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a copy of the toy with its certificates beside it."""
    for name in ("toy.py", NAME):
        shutil.copy(FIXTURES / name, tmp_path)
    return tmp_path / "toy.py"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the ids of the obligations that Z3 is asked."""
    ids: list[str] = []
    ask = Workers._asked

    def noted(self: Workers, batch: Batch) -> Iterator[SolverAnswer]:
        ids.extend(question.id for question in batch.questions)
        return ask(self, batch)

    monkeypatch.setattr(Workers, "_asked", noted)
    return ids


def spoil(spec: Path, change: Callable[[Entry], Entry | None], id: str) -> None:
    """Change the certificate of one obligation of the toy."""
    place = spec.with_name(NAME)
    ((key, layer),) = load_certificates(place).layers.items()
    general, *_ = layers(load(TOY).protocol())
    which = [each.id for each in LayerObligations.of(general).proper].index(id)
    entries = list(layer.entries)
    before = entries[which]
    assert before is not None
    entries[which] = change(before)
    place.write_bytes(encoded_certificates(Certificates({key: replace(layer, entries=tuple(entries))})))


def verified(spec: Path | str, *words: str) -> Ran:
    return carnet("verify", str(spec), "--jobs", "1", "--json", *words)


def proved(ran: Ran) -> list[dict[str, Any]]:
    return [row for row in ran.json["results"] if row["engine"] == "induction"]


def test_what_certificates_prove_is_asked_of_no_solver(asked: list[str]) -> None:
    ran = verified(TOY)
    assert asked == []
    assert {(row["verdict"], row["expected"]) for row in proved(ran)} == {("PROVED", "PROVED")}
    assert all("by certificate" in row["detail"] and "Z3" not in row["detail"] for row in proved(ran))
    assert "obligations by certificate, 0 by Z3)" in ran.json["run"]["strength"]
    by_kernel = verified(TOY, "--engine", "kernel").json["results"]
    same = ("claim", "threat", "verdict", "assumptions", "lemmas", "defences")
    assert [[row.get(name) for name in same] for row in proved(ran)] == [
        [row.get(name) for name in same] for row in by_kernel
    ]


def test_whoever_names_the_engine_asks_the_solver(asked: list[str]) -> None:
    ran = verified(TOY, "--engine", "induction")
    assert asked
    assert "certificate" not in ran.out
    assert not any(engine.name == "induction" and engine == INDUCTION for engine in select_engines([]))
    assert select_engines(["induction"]) == (INDUCTION,)


SPOILT: dict[str, tuple[Callable[[Entry], Entry | None], str]] = {
    "gone": (lambda entry: None, "there is no certificate"),
    "of another text": (lambda entry: replace(entry, digest=entry.digest[::-1]), "bound to another text"),
    "cut short": (lambda entry: replace(entry, tokens=entry.tokens.rpartition(" x ")[0] or "c"), "is refused"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_what_a_certificate_does_not_prove_is_asked_and_said(how: str, spec: Path, asked: list[str]) -> None:
    change, why = SPOILT[how]
    verified(spec, "--engine", "induction")
    id, *_ = asked
    asked.clear()
    spoil(spec, change, id)
    ran = verified(spec)
    assert asked == [id]
    assert {row["verdict"] for row in proved(ran)} == {"PROVED"}
    assert any("by certificate and 1 by Z3" in row["detail"] for row in proved(ran))
    assert ", 1 by Z3)" in ran.json["run"]["strength"]
    (note,) = [note for note in ran.json["notes"] if "without a certificate that fits" in note]
    assert f"{id} (" in note
    assert why in note


def test_a_claim_that_is_false_is_not_proved_by_the_certificates_of_another(spec: Path, asked: list[str]) -> None:
    text = spec.read_text("utf-8")
    guard = "corrupt(user) & corrupt(friend) & knows(user, key)"
    assert text.count(guard) == 1
    spec.write_text(text.replace(guard, "knows(user, key)"), "utf-8")
    ran = verified(spec)
    assert asked
    by_solver = proved(verified(spec, "--engine", "induction"))
    assert [row["verdict"] for row in proved(ran)] == [row["verdict"] for row in by_solver]
    assert "VIOLATED" in {row["verdict"] for row in ran.json["results"]}


@pytest.mark.parametrize("content", [b"certificates", b""])
def test_a_file_that_is_none_is_said_and_the_solver_asked(content: bytes, spec: Path, asked: list[str]) -> None:
    spec.with_name(NAME).write_bytes(content)
    ran = verified(spec)
    assert asked
    assert {row["verdict"] for row in proved(ran)} == {"PROVED"}
    assert any("no certificate is accepted, so the solver was asked" in note for note in ran.json["notes"])


def test_without_a_file_nothing_is_said(spec: Path, asked: list[str]) -> None:
    spec.with_name(NAME).unlink()
    ran = verified(spec)
    assert asked
    assert "certificate" not in ran.out


def design(reference: str) -> tuple[Protocol, CertifiedDesign]:
    campaign = plan_campaign(Request(load(reference), engines=("induction",)))
    designs, remarks = check_designs(campaign.request.source, campaign.plans, 1)
    assert remarks == ()
    protocol = campaign.plans[0].protocol
    return protocol, designs[protocol.variant]


@pytest.mark.parametrize(
    "id", ["fastrack", "pipellm", "ring-all-reduce", "sgx-lkl", "teechain", "tensortee", "verifiable-fl"]
)
def test_all_that_comes_with_carnet_is_certified(id: str) -> None:
    protocol, found = design(id)
    assert found.refusals == {}
    assert {each.invariant for each in found.standings()} == {each.name for each in protocol.invariants}


def test_a_proof_by_axioms_of_the_only_threat_model_is_none_without_them() -> None:
    toy = load(TOY).protocol()
    none = toy.threat("none")
    claims = tuple(replace(each, under=(none.id,)) for each in toy.claims if each.invariant is not None)
    made = layers(replace(toy, threats=(none,), claims=claims))
    assert [(layer.threat, bool(layer.claims)) for layer in made] == [(None, False), (none, True)]
    every = tuple(each for layer in made for each in LayerObligations.of(layer))
    axiom = f"threat:{none.axioms[0].name}"
    using = every[0]
    answers = {
        each.id: SolverAnswer(each.id, SolverOutcome.PROVED, (axiom,) if each is using else (), certified=True)
        for each in every
    }
    found = CertifiedDesign(Composition(made, every, answers), 0.0, {}, {})
    ids = {each.id.removeprefix(each.layer.prefix) for each in every}
    assert set(found.answers(none.id)) == ids
    assert set(found.answers("")) == ids - {using.id.removeprefix(using.layer.prefix)}
    standings = {each.invariant: each.layer for each in found.standings()}
    assert standings == {name: "" if name != using.invariant.name else none.id for name in standings}
    assert found.composition.everywhere([using.invariant.name]) is None


def test_lemmas_of_liveness_count_only_if_all_they_rest_on_is_certified() -> None:
    protocol, found = design(TOY)
    name = protocol.claim("secrecy").checked.name
    whole = found.composition.everywhere([name])
    assert whole is not None
    assert name in whole[0]
    for id in found.composition.answers:
        answers = {other: answer for other, answer in found.composition.answers.items() if other != id}
        fewer = replace(found.composition, answers=answers, _of={}, _members={})
        needed = next(each for each in fewer.obligations if each.id == id).invariant.name in whole[0]
        assert (fewer.everywhere([name]) is None) == needed
    assert found.composition.everywhere(["nothing of this name"]) is None


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Return a copy of the desk with certificates of all that is said of it beside it."""
    copy = tmp_path / "desk.py"
    copy.write_text((FIXTURES / "desk.py").read_text("utf-8"), "utf-8")
    assert carnet("certify", str(copy), "--jobs", "1").code == 0
    return copy


def lively(ran: Ran) -> dict[str, dict[str, Any]]:
    return {row["claim"]: row for row in ran.json["results"] if row["kind"] == "liveness"}


def test_liveness_is_proved_by_certificates_and_a_row_says_by_how_many(desk: Path, asked: list[str]) -> None:
    ran = verified(desk)
    assert asked == []
    rows = lively(ran)
    assert {row["verdict"] for row in rows.values()} == {"PROVED"}
    assert "bring_back with p = who; 5 conditions by certificate)" in rows["returned"]["detail"]
    assert "rests on 1 lemma; 6 conditions by certificate)" in rows["served"]["detail"]
    assert ", 0 by Z3, 11 conditions of liveness by certificate)" in ran.json["run"]["strength"]
    by_solver = verified(desk, "--engine", "induction")
    assert asked
    same = ("verdict", "assumptions", "lemmas", "threat")
    assert {name: [row.get(each) for each in same] for name, row in lively(by_solver).items()} == {
        name: [row.get(each) for each in same] for name, row in rows.items()
    }
    assert not any("certificate" in row["detail"] or "believed" in row["detail"] for row in lively(by_solver).values())


@pytest.mark.parametrize("how", SPOILT)
def test_every_condition_of_liveness_needs_its_certificate(how: str, desk: Path, asked: list[str]) -> None:
    change, why = SPOILT[how]
    (place,) = desk.parent.glob("*.xz")
    whole = load_certificates(place)
    ((variant, entries),) = whole.liveness.items()
    conditions = set(entries)
    assert len(conditions) == 11
    for id in sorted(conditions):
        changed = {name: change(entry) if name == id else entry for name, entry in entries.items()}
        left = {name: entry for name, entry in changed.items() if entry is not None}
        place.write_bytes(encoded_certificates(replace(whole, liveness={variant: left})))
        asked.clear()
        ran = verified(desk)
        property = id.split("/")[1]
        assert {each.split("/")[1] for each in asked} == {property}
        believed = {name for name, row in lively(ran).items() if "a solver is believed in" in row["detail"]}
        assert believed == {property}
        assert {row["verdict"] for row in lively(ran).values()} == {"PROVED"}
        notes = [note for note in ran.json["notes"] if "conditions of liveness proves nothing" in note]
        assert [id in note and why in note for note in notes] == ([] if how == "gone" else [True])


GIVES_UP = """@draft.action(by=CLERK, says="{p} gives up", source="example")
def give_up(step: Step, p: Person) -> None:
    step.require("waits", waiting(p))
    step.remove(waiting(p))


@draft.lemma"""
WEAKENED = {
    "lend is treated weakly fairly": ('    strong=("lend",),\n', "", "served"),
    "nobody is lent to in particular": ('    given={"lend": {"p": lambda who: who}},\n', "", "served"),
    "the drill is lost": (
        "has_it(p))\n    step.remove(has_it(p))",
        "has_it(p))\n    step.remove(waiting(p))",
        "returned",
    ),
    "who waits may give up": ("@draft.lemma", GIVES_UP, "served"),
}


@pytest.mark.parametrize("what", WEAKENED)
def test_what_is_not_true_any_more_is_not_proved_by_old_certificates(what: str, desk: Path, asked: list[str]) -> None:
    old, new, property = WEAKENED[what]
    text = desk.read_text("utf-8")
    assert text.count(old) == 1
    other = desk.with_name("other.py")
    other.write_text(text.replace(old, new), "utf-8")
    (place,) = desk.parent.glob("*.xz")
    shutil.copy(place, desk.with_name(place.name.replace("desk", "other")))
    row = lively(verified(other))[property]
    assert asked
    assert row["verdict"] != "PROVED"
    by_solver = lively(verified(other, "--engine", "induction"))[property]
    assert row["verdict"] == by_solver["verdict"]


def test_lemmas_of_liveness_are_proved_too(desk: Path, asked: list[str]) -> None:
    (place,) = desk.parent.glob("*.xz")
    whole = load_certificates(place)
    layers = {key: replace(layer, entries=(None,) * len(layer.entries)) for key, layer in whole.layers.items()}
    place.write_bytes(encoded_certificates(replace(whole, layers=layers)))
    rows = lively(verified(desk))
    assert {name for name, row in rows.items() if "by certificate" in row["detail"]} == {"returned"}
    assert {row["verdict"] for row in rows.values()} == {"PROVED"}


@pytest.mark.slow
def test_liveness_says_the_same_with_certificates_as_without() -> None:
    protocol, found = design("gpu-travelling")
    assert set(found.liveness) == {live.name for live in protocol.liveness}
    with Workers(2) as workers:
        for live in protocol.liveness[:2]:
            with_them = LivenessProofs(protocol, (), workers, found).answer(live)
            without = LivenessProofs(protocol, (), workers).answer(live)
            assert (with_them.fair, with_them.open) == (without.fair, without.open)
