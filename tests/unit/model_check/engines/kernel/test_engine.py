"""The engine of certificates: what it proves, what it says where it cannot, and that it needs no solver."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.certificates.file import Certificates, encoded_certificates, load_certificates, place_of
from carnet_check.certificates.judging import Judge, LayerObligations
from carnet_check.engines.interface import Possibilities
from carnet_check.engines.kernel.engine import KERNEL, composed_of
from carnet_check.engines.registry import select_engines
from carnet_check.loading.families import load
from carnet_check.obligations import layers
from carnet_check.verification import checks
from carnet_command.exit_codes import ExitCode
from tests.unit.model_check.command import FIXTURES, TOY, carnet

#: What ``carnet attack gpu-travelling --without DEFENCE`` found, of each defence.
ATTACKS = Path(__file__).parents[5] / "docs" / "results" / "attacks" / "gpu-travelling.json"
WITHOUT_SOLVER = """
import sys
sys.modules["z3"] = None
from carnet_check.cli import main
main(["verify", *sys.argv[1:], "--engine", "kernel", "--json"])
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a copy of the toy with its certificates beside it."""
    for name in ("toy.py", "toy.certificates.json.xz"):
        shutil.copy(FIXTURES / name, tmp_path)
    return tmp_path / "toy.py"


def rows(spec: Path | str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = carnet("verify", str(spec), "--engine", "kernel", "--json").json["results"]
    return found


def test_rows_say_what_a_proof_rests_on() -> None:
    kernel, induction = (
        carnet("verify", TOY, "--engine", name, "--jobs", "1", "--json").json["results"]
        for name in ("kernel", "induction")
    )
    for mine, theirs in zip(kernel, induction, strict=True):
        assert {key: mine[key] for key in ("claim", "threat", "verdict")} == {
            key: theirs[key] for key in ("claim", "threat", "verdict")
        }
        assert mine["lemmas"]
        assert set(mine["defences"]) <= {"fresh-key", "return-checked"}


def test_by_itself_it_asks_no_solver_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> Possibilities:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr(checks, "possibilities", asked)
    said = carnet("verify", TOY, "--engine", "kernel")
    assert said.code == ExitCode.EXPECTED
    assert "no solver was used, so the run did not look for premises that never hold" in " ".join(said.out.split())
    assert carnet("verify", TOY, "--engine", "kernel", "--engine", "explicit").code == ExitCode.INTERNAL


def test_without_certificates_that_can_be_read_nothing_is_proved(spec: Path) -> None:
    spec.with_name("toy.certificates.json.xz").unlink()
    for row in rows(spec):
        assert row["verdict"] == "UNKNOWN"
        assert "`carnet certify` makes it" in str(row["detail"])
    spec.with_name("toy.certificates.json.xz").write_bytes(b"certificates")
    assert {(row["verdict"], "no file of certificates" in str(row["detail"])) for row in rows(spec)} == {
        ("UNKNOWN", True)
    }


def test_after_an_edit_the_stale_certificates_are_named(spec: Path) -> None:
    text = spec.read_text("utf-8")
    assert text.count("step.insert(lent(to, key))") == 1
    spec.write_text(text.replace("step.insert(lent(to, key))", "step.insert(lent(lender, key))"), "utf-8")
    for row in rows(spec):
        assert row["verdict"] == "UNKNOWN"
        assert "step/lend/" in str(row["detail"])
        assert "stale" in str(row["detail"])


def test_a_removed_defence_that_matters_leaves_claims_unproved() -> None:
    protocol = load(TOY).protocol(without=("fresh-key",))
    place = FIXTURES / "toy.certificates.json.xz"
    composed = composed_of(layers(protocol), load_certificates(place), Judge())
    proof = composed.claim(protocol.claim("secrecy"), protocol.threat("none"))
    assert proof.missing
    assert all("stale" in composed.answers[id].reason for id in proof.missing)


def test_one_certificate_less_spoils_what_rests_on_it_and_nothing_else() -> None:
    protocol = load(TOY).protocol()
    every = layers(protocol)
    known = load_certificates(FIXTURES / "toy.certificates.json.xz")
    (key, layer), *_ = known.layers.items()
    (claim,) = (each for each in protocol.claims if each.name == "secrecy")
    judge = Judge()
    none = protocol.threat("none")
    members = {claim.checked.name, *composed_of(every, known, judge).claim(claim, none).lemmas}
    assert len(members) > 1
    for gone, obligation in enumerate(LayerObligations.of(every[0]).proper):
        entries = tuple(None if at == gone else each for at, each in enumerate(layer.entries))
        fewer = Certificates({key: replace(layer, entries=entries)})
        refused = composed_of(every, fewer, judge).claim(claim, none).missing
        assert set(refused) == ({obligation.id} if obligation.invariant.name in members else set())


def test_a_claim_that_is_not_made_under_a_threat_model_is_not_proved() -> None:
    protocol = load(TOY).protocol()
    composed = composed_of(layers(protocol), Certificates({}), Judge())
    found = composed.claim(protocol.claims[0], protocol.threat("none"))
    assert not found.is_proved
    assert {composed.answers[id].reason for id in found.missing} == {"there is no certificate"}


def without_solver(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_SOLVER, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_no_solver_is_needed() -> None:
    ran = without_solver(TOY)
    assert ran.returncode == 0, ran.stderr
    assert '"PROVED"' in ran.stdout
    assert '"UNKNOWN"' not in ran.stdout


@pytest.mark.slow
def test_all_of_gpu_travelling_is_proved_without_a_solver() -> None:
    ran = without_solver("gpu-travelling")
    assert ran.returncode == 0, ran.stderr
    assert '"UNKNOWN"' not in ran.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("variant", ["engine-per-holder", "engine-per-holder-timed", "sealed-under-master"])
def test_each_defence_that_matters_spoils_a_certificate(variant: str) -> None:
    """Where an attack follows without a defence, some certificate of the design does not serve any more."""
    source = load("gpu-travelling")
    place = place_of(source)
    assert place is not None
    certificates = load_certificates(place)
    matter = [
        run["removed"][0]
        for run in json.loads(ATTACKS.read_text("utf-8"))
        if not run["finding"] and run["verdict"] == "VIOLATED" and run["variant"] == variant
    ]
    assert matter
    accepted = set[tuple[str, tuple[str, ...], str]]()
    for defence in matter:
        ablated = source.family.protocol(variant, (defence,))
        composed = composed_of(layers(ablated), certificates, Judge(None, accepted))
        refused = (
            why
            for claim in ablated.claims
            if claim.invariant is not None
            for threat in set(claim.under) - set(claim.fails_under)
            for why in composed.claim(claim, ablated.threat(threat)).missing
        )
        assert any(refused), f"every certificate serves without {defence}"


def test_it_does_not_run_by_default() -> None:
    (kernel,) = select_engines(["kernel"])
    assert not kernel.by_default
    assert kernel not in select_engines([])


def test_liveness_is_proved_without_a_solver_by_certificates_of_all_conditions(tmp_path: Path) -> None:
    desk = tmp_path / "desk.py"
    desk.write_text((FIXTURES / "desk.py").read_text("utf-8"), "utf-8")

    def rows() -> dict[str, tuple[str, str]]:
        ran = carnet("verify", str(desk), "--engine", "kernel", "--json")
        lively = [row for row in ran.json["results"] if row["kind"] == "liveness"]
        return {row["claim"]: (row["verdict"], row["detail"]) for row in lively}

    assert {verdict for verdict, _ in rows().values()} == {"UNKNOWN"}
    assert carnet("certify", str(desk), "--jobs", "1").code == 0
    assert {verdict for verdict, _ in rows().values()} == {"PROVED"}
    assert "rests on 1 lemma; 6 conditions by certificate" in rows()["served"][1]
    (place,) = tmp_path.glob("*.xz")
    whole = load_certificates(place)
    ((variant, entries),) = whole.liveness.items()
    proved: set[str] = set()
    for id in entries:
        left = {name: entry for name, entry in entries.items() if name != id}
        of_another_text = replace(entries[id], digest=entries[id].digest[::-1])
        cut_short = replace(entries[id], tokens=entries[id].tokens.rpartition(" x ")[0] or "c")
        for spoilt in ({}, {id: of_another_text}, {id: cut_short}):
            place.write_bytes(encoded_certificates(replace(whole, liveness={variant: left | spoilt})))
            proved = {name for name, (verdict, _) in rows().items() if verdict == "PROVED"}
            assert proved == {"returned", "served"} - {id.split("/")[1]}
    source = load(str(desk))
    protocol = source.protocol()
    answers = {live.name: KERNEL.liveness(source, protocol, live) for live in protocol.liveness}
    assert [name for name, answer in answers.items() if answer.is_proved] == [*proved]
