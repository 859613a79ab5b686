"""Signed results at the command: ``--ear`` for every format, and ``carnet attest ear``, which checks them."""

import base64
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.attestation.formats import FORMATS
from carnet_ref.attestation.results import EXTENSION, EarProfile
from carnet_ref.attestation.simulated.gpu import gpu_request
from tests.fixtures import ear_tokens, nitro_documents, service_tokens, simulated_machine
from tests.fixtures.command_words import attest, found, with_defaults, written
from tests.fixtures.ear_tokens import (
    NONCE,
    OTHER,
    P256,
    P384,
    RESULT,
    mac_token,
    older,
    private_pem,
    public_pem,
    result,
    token,
)

MADE = simulated_machine.NOW
WHEN = "2026-01-01T00:30:00Z"
KINDS = [name for name, registered in FORMATS.items() if registered.load().results is not None]


OWN = service_tokens.jwk(service_tokens.OTHER_EC_KEY)
OLDER_HEADER = {"alg": "ES256", "typ": "JWT"}


def payload(path: str) -> Any:
    part = Path(path).read_text().split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    made = {
        "private": private_pem(),
        "public": public_pem(),
        "private384": private_pem(P384),
        "public384": public_pem(P384),
        "other": public_pem(OTHER),
        "token": token(),
        "gpu": json.dumps(entry(0)).encode(),
        "node": json.dumps([entry(0), entry(1)]).encode(),
        "tdx": simulated_machine.quote(NONCE + bytes(32))[0],
        "snp": simulated_machine.snp_report(NONCE + bytes(32))[0],
        "nitro": nitro_documents.document(
            nitro_documents.fields({"nonce": NONCE}, made=MADE), key=nitro_documents.path(MADE)[-1].key
        ),
        "table": simulated_machine.certificate_table(),
        "text": b"nothing of the kind",
        "policy": json.dumps({"require": ["nonce"], "result_ttl": 60}).encode(),
        "none": token(header={"alg": "none", "typ": "eat+jwt"}),
        "mac": mac_token(public_pem()),
        "crit": token(header={"alg": "ES256", "typ": "eat+jwt", "crit": ["exp"]}),
        "twice": token(claims=b'{"iat":1,"iat":1}'),
        "deep": token(claims=b'{"x":' + b"[" * 5000 + b"]" * 5000 + b"}"),
        "large": b"x" * (1 << 18),
        "later": token(claims=result(iat=RESULT["iat"] + 1861, exp=RESULT["exp"] + 7200)),
        "endless": token(claims=result(exp=...)),
        "bad": token(claims=result(ear_status="contraindicated")),
        "trustee": token(claims=older(RESULT, EarProfile.TRUSTEE), header=OLDER_HEADER),
        "veraison": token(claims=older(RESULT), header={"alg": "ES256"}),
        "older": token(claims=older(result(nbf=RESULT["iat"] + 60), EarProfile.DRAFT_2025)),
        "not yet": token(claims=result(nbf=RESULT["iat"] + 1861)),
        "typed": token(header=OLDER_HEADER),
        "typeless": token(header={"alg": "ES256"}),
        "odd type": token(claims=older(RESULT), header={"alg": "ES256", "typ": "jwt"}),
        "other names": token(claims={**older(RESULT), "eat_profile": EarProfile.DRAFT}),
        "worse": token(claims=older(result(ear_status="contraindicated")), header=OLDER_HEADER),
        "partly": token(claims=result(submods={**RESULT["submods"], "x": {"ear_status": "none"}})),
        "odd": token(
            claims=result(eat_nonce="\ud800" * 8, ear_verifier_id={"developer": "\x1b[1m", "build": "\ud800"})
        ),
    }
    others = {"roots": simulated_machine.roots(tmp_path / "roots"), "out": str(tmp_path / "out.jwt")}
    with Path(others["roots"]).open("ab") as file:
        file.write(nitro_documents.root_pem(MADE))
    return written(tmp_path, made) | others


def entry(number: int) -> dict[str, str]:
    report = simulated_machine.gpu(number).report(gpu_request(NONCE))
    return {
        "evidence": base64.b64encode(report).decode(),
        "certificate": base64.b64encode(simulated_machine.gpu(number).chain_pem).decode(),
    }


def issuing(files: dict[str, str], *further: str) -> list[str]:
    return with_defaults({"--trust-anchor": files["roots"], "--ear": files["out"], "--key": files["private"]}, further)


def asked(kind: str) -> list[str]:
    """Return the words that give the nonce to a format."""
    option = {"gpu": "nonce", "node": "nonce", "nitro": "nonce"}.get(kind, "report-data")
    return [f"--{option}", (NONCE if option == "nonce" else NONCE + bytes(32)).hex()]


def chain(kind: str, files: dict[str, str]) -> list[str]:
    return ["--chain", files["table"]] if kind == "snp" else []


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_of_every_format_is_signed_and_checked(files: dict[str, str], kind: str) -> None:
    made = attest(kind, files[kind], *issuing(files, *asked(kind), *chain(kind, files)))
    assert made.exit_code == 0, made.output
    checked = found("ear", files["out"], "--key", files["public"], "--nonce", asked(kind)[1])
    assert (checked["accepted"], checked["claims"]["status"]) == (True, "warning")
    names = [each["name"] for each in checked["claims"]["attesters"]]
    assert names == (["gpu0", "gpu1"] if kind == "node" else [kind])
    assert "not fresh" not in checked["not_compared"]
    appraised = found(kind, files[kind], *issuing(files, *asked(kind), *chain(kind, files)))
    assert set(checked["not_compared"]) == set(appraised["not_compared"])
    assert "--ear" not in appraised["rerun"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_is_signed_too_and_is_a_refusal_for_whoever_reads_it(files: dict[str, str], kind: str) -> None:
    words = [asked(kind)[0], "ff" * (len(asked(kind)[1]) // 2)]
    assert attest(kind, files[kind], *issuing(files, *words, *chain(kind, files))).exit_code == 1
    assert payload(files["out"])["ear_status"] == "contraindicated"
    result = attest("ear", files["out"], "--key", files["public"])
    assert (result.exit_code, "REFUSED at status" in result.stdout) == (1, True)
    assert "contraindicated" in result.stdout
    reason = payload(files["out"])["submods"]
    assert all(each[EXTENSION]["accepted"] is False for each in reason.values())


def test_what_cannot_be_parsed_has_a_result(files: dict[str, str]) -> None:
    assert attest("tdx", files["text"], *issuing(files)).exit_code == 1
    told = payload(files["out"])["submods"]["tdx"]
    assert (told["ear_status"], told[EXTENSION]["failed_step"]) == ("contraindicated", "parse")


def test_a_machine_has_a_result(files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tsm").mkdir()
    host = simulated_machine.machine(
        simulated_machine.SimulatedNvml([simulated_machine.gpu(0)]), simulated_machine.td(tmp_path / "tsm")
    )
    monkeypatch.setattr("carnet_ref.commands.live.this_machine", lambda: host)
    words = ["--nonce", NONCE.hex(), "--policy", "node", files["policy"], *issuing(files)]
    assert attest("--live", *words).exit_code == 0
    checked = found("ear", files["out"], "--key", files["public"], "--nonce", NONCE.hex())
    assert checked["accepted"]
    assert [each["name"] for each in checked["claims"]["attesters"]] == ["node.gpu0", "tdx"]
    assert "appraised by the machine itself" in checked["not_compared"]
    policies = [each["policies"][0] for each in checked["claims"]["attesters"]]
    assert (policies[0][:8], policies[1]) == ("sha-256:", "carnet-default:tdx")
    assert payload(files["out"])["exp"] - payload(files["out"])["iat"] == 60


def test_a_folder_of_kept_evidence_that_is_wrong_has_a_result(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "collected.json").write_text("{}")
    words = ["--from", str(tmp_path / "kept"), "--nonce", NONCE.hex(), *issuing(files)]
    assert attest("live", *words).exit_code == 1
    assert payload(files["out"])["submods"]["live"]["ear_status"] == "contraindicated"


def test_the_time_of_a_result_is_that_of_the_appraisal_and_the_policy_says_for_how_long(files: dict[str, str]) -> None:
    past = f"{simulated_machine.SINCE:%Y-%m-%dT%H:%M:%SZ}"
    assert attest("gpu", files["gpu"], *issuing(files, "--at", past)).exit_code == 0
    assert payload(files["out"])["iat"] == int(simulated_machine.SINCE.timestamp())
    assert found("ear", files["out"], "--key", files["public"])["failed_step"] == "expiry"
    assert found("ear", files["out"], "--key", files["public"], "--at", past)["accepted"]
    words = ["--policy", files["policy"], *asked("gpu")]
    assert attest("gpu", files["gpu"], *issuing(files, *words)).exit_code == 0
    made = payload(files["out"])
    assert made["exp"] - made["iat"] == 60
    assert made["submods"]["gpu"]["ear_appraisal_policy_ids"][0].startswith("sha-256:")


def test_the_other_curve_signs_reference_values_have_no_result_and_text_is_harmless(files: dict[str, str]) -> None:
    assert attest("gpu", files["gpu"], *issuing(files, "--key", files["private384"])).exit_code == 0
    assert "ok      signature             ES384" in attest("ear", files["out"], "--key", files["public384"]).stdout
    assert attest("ear", files["out"], "--key", files["public"]).exit_code == 1
    assert "No such option '--ear'" in attest("rim", files["text"], "--ear", files["out"]).stderr
    assert "No such option '--trust-anchor'" in attest("ear", files["token"], "--trust-anchor", files["roots"]).stderr
    result = attest(*checking(files, "odd"))
    assert (result.exit_code, "\x1b" in result.stdout) == (0, False)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--key", "{private}"], "--ear and --key go together"),
        (["--ear", "{out}"], "--ear and --key go together"),
        (["--ear", "{out}", "--key", "{public}"], "expected a private key"),
        (["--ear", "{out}", "--key", "{text}"], "expected a private key"),
        (["--ear", "{out}", "--key", "/nowhere"], "cannot read '/nowhere'"),
        (["--ear", "/nowhere/at/all", "--key", "{private}"], "expected a file to write"),
        (["--ear", "{out}", "--key", "{private}", "--at", "1969-01-01"], "--ear needs a time from 1970 to 9998"),
        (["--ear", "{out}", "--key", "{private}", "--at", "9999-01-01"], "--ear needs a time from 1970 to 9998"),
    ],
)
def test_bad_usage_exits_2_and_writes_nothing(files: dict[str, str], words: list[str], why: str) -> None:
    result = attest("gpu", files["gpu"], "--trust-anchor", files["roots"], *(word.format(**files) for word in words))
    assert (result.exit_code, why in result.stderr) == (2, True), result.output
    assert not Path(files["out"]).exists()


def test_without_the_library_the_extra_is_named(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    for words in (["gpu", files["gpu"], *issuing(files)], ["ear", files["token"], "--key", files["public"]]):
        result = attest(*words)
        assert (result.exit_code, "carnet[ear]" in result.stderr) == (2, True)


def checking(files: dict[str, str], name: str, *further: str) -> list[str]:
    return ["ear", files[name], *with_defaults({"--key": files["public"], "--at": WHEN}, further)]


def test_a_token_of_another_verifier_is_told(files: dict[str, str]) -> None:
    result = attest(*checking(files, "token"))
    assert result.exit_code == 0
    assert "ok      status                warning: gpu0 affirming; gpu1 warning" in result.stdout
    assert "claim   verifier                a verifier 1" in result.stdout
    assert "ACCEPTED as the result of a verifier 1, not fresh" in result.stdout
    assert found(*checking(files, "token"))["appraised_by"] == "a verifier 1"
    assert attest(*shlex.split(result.stdout.splitlines()[-1])[3:]).stdout == result.stdout


@pytest.mark.parametrize(
    ("name", "words", "step"),
    [
        ("token", ["--key", "{other}"], "signature"),
        ("token", ["--key", "{public384}"], "signature"),
        ("token", ["--at", "2026-01-01T01:00:00Z"], "expiry"),
        ("token", ["--at", "2025-12-31T23:58:59Z"], "issued"),
        ("token", ["--nonce", "00" * 32], "nonce"),
        ("odd", ["--nonce", "00" * 32], "nonce"),
        ("endless", ["--at", "9999-12-31T23:59:59Z", "--nonce", "00" * 8], "nonce"),
        ("later", [], "issued"),
        ("none", [], "signature"),
        ("mac", [], "signature"),
        ("crit", [], "parse"),
        ("twice", [], "claims"),
        ("deep", [], "claims"),
        ("large", [], "parse"),
        ("text", [], "parse"),
        ("gpu", [], "parse"),
        ("bad", [], "status"),
        ("trustee", ["--key", "{other}"], "signature"),
        ("trustee", ["--at", "2026-01-01T01:00:00Z"], "expiry"),
        ("veraison", ["--nonce", "00" * 32], "nonce"),
        ("not yet", [], "issued"),
        ("older", ["--at", "2025-12-31T23:59:59Z"], "issued"),
        ("typed", [], "claims"),
        ("typeless", [], "claims"),
        ("odd type", [], "claims"),
        ("other names", [], "claims"),
        ("worse", [], "status"),
        ("partly", [], "status"),
    ],
)
def test_a_token_that_does_not_hold_exits_1(files: dict[str, str], name: str, words: list[str], step: str) -> None:
    given = checking(files, name, *(word.format(**files) for word in words))
    result = attest(*given)
    assert (result.exit_code, result.stderr) == (1, "")
    shown = found(*given)
    assert (shown["failed_step"], shown["claims"]) == (step, {})


@pytest.mark.parametrize("name", ["trustee", "veraison", "older"])
def test_a_token_of_an_older_profile_is_its_verifiers_result(files: dict[str, str], name: str) -> None:
    shown = found(*checking(files, name, "--nonce", NONCE.hex()))
    same = found(*checking(files, "token", "--nonce", NONCE.hex()))
    assert (shown["accepted"], shown["appraised_by"]) == (True, "a verifier 1")
    assert {**shown["claims"], "profile": EarProfile.DRAFT} == same["claims"]


def test_a_verifiers_keys_may_be_a_set(files: dict[str, str], tmp_path: Path) -> None:
    """As Trustee publishes them; a key of another name is not asked, and one for RSA signs no results."""
    jwk, made = service_tokens.jwk, {}
    made["set"] = service_tokens.key_set(jwk(service_tokens.RSA_KEY), jwk(OTHER), jwk(P256))
    made["one"] = json.dumps(jwk(P256)).encode()
    made["named"] = service_tokens.key_set(jwk(P256, kid="another"))
    made["other"] = service_tokens.key_set(jwk(OTHER))
    made["rsa"] = service_tokens.key_set(jwk(service_tokens.RSA_KEY))
    made["token"] = token(header={"alg": "ES256", "typ": "eat+jwt", "kid": "a key"})
    keys = written(tmp_path, made)
    for name, step in {"set": None, "one": None, "named": "signature", "other": "signature"}.items():
        assert found("ear", keys["token"], "--key", keys[name], "--at", WHEN)["failed_step"] == step, name
    result = attest("ear", keys["token"], "--key", keys["rsa"], "--at", WHEN)
    assert (result.exit_code, "the set of keys has none" in result.stderr) == (2, True)
    assert found("ear", keys["token"], "--key", files["public"], "--at", WHEN)["accepted"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_for_older_readers_says_the_same(files: dict[str, str], kind: str) -> None:
    given = [kind, files[kind], *issuing(files, *asked(kind), *chain(kind, files))]
    assert attest(*given, "--ear-profile", "veraison").exit_code == 0
    shown = found("ear", files["out"], "--key", files["public"], "--nonce", asked(kind)[1])
    said, claims = payload(files["out"]), shown.pop("claims")
    assert said["eat_profile"] == EarProfile.VERAISON
    assert not [name for each in (said, *said["submods"].values()) for name in each if name.startswith("ear_")]
    assert all(each["ear.appraisal-policy-id"] == f"carnet-default:{kind}" for each in said["submods"].values())
    assert attest(*given).exit_code == 0
    same = found("ear", files["out"], "--key", files["public"], "--nonce", asked(kind)[1])
    assert (claims["attesters"], shown["not_compared"]) == (same["claims"]["attesters"], same["not_compared"])


def test_a_profile_without_a_result_is_bad_usage(files: dict[str, str]) -> None:
    result = attest("gpu", files["gpu"], "--ear-profile", "veraison")
    assert (result.exit_code, "--ear and --key go together" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        (["token", "--nonce", NONCE.hex()], ["not fresh"]),
        (["token", "--at", "2025-12-31T23:59:00Z"], ["not fresh"]),
        (["endless", "--at", "9999-12-31T23:59:59Z"], ["no time of expiry", "not fresh"]),
        (["odd"], ["not fresh"]),
    ],
)
def test_a_token_that_holds_says_what_it_lacks(files: dict[str, str], words: list[str], lacking: list[str]) -> None:
    shown = found(*checking(files, words[0], *words[1:]))
    assert (shown["accepted"], shown["not_compared"]) == (True, lacking)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "a token needs --key"),
        (["--key", "{private}"], "expected a public key"),
        (["--key", "{text}"], "expected a public key"),
        (["--key", "{public}", "--nonce", "zz"], "hexadecimal"),
    ],
)
def test_a_check_without_a_key_of_use_exits_2(files: dict[str, str], words: list[str], why: str) -> None:
    result = attest("ear", files["token"], *(word.format(**files) for word in words))
    assert (result.exit_code, why in result.stderr) == (2, True)


def test_what_a_service_says_is_shown_as_the_services(tmp_path: Path) -> None:
    """The words, the JSON and the exit codes of ``carnet attest result``."""
    made = {"bundle": service_tokens.bundle(), "keys": service_tokens.key_set(), "other": service_tokens.key_set(OWN)}
    files = written(tmp_path, {**made, "failed": service_tokens.bundle(overall={"x-nvidia-overall-att-result": False})})
    words = ["--key", files["keys"], "--nonce", service_tokens.NONCE.hex(), "--at", service_tokens.AT]
    result = attest("result", files["bundle"], *words)
    whose = "ACCEPTED as the result of NVIDIA (https://nras.attestation.nvidia.com), evidence not seen"
    assert (result.exit_code, whose in " ".join(result.stdout.split())) == (0, True)
    assert attest(*shlex.split(result.stdout.splitlines()[-1])[3:]).stdout == result.stdout
    shown = found("result", files["bundle"], *words)
    assert (shown["accepted"], shown["appraised_by"]) == (True, "NVIDIA (https://nras.attestation.nvidia.com)")
    assert shown["claims"]["statements"]["submods"]["GPU-0"]["measres"] == "success"
    assert attest("result", files["bundle"], *words[2:]).exit_code == 1
    failed = found("result", files["failed"], *words)
    assert (failed["failed_step"], failed["appraised_by"], failed["claims"]) == ("status", None, {})
    assert "NVIDIA says: x-nvidia-overall-att-result is False" in failed["steps"][-1]["detail"]
    named = ["--issuer", "https://nras.example.com", "--audience", "somebody"]
    assert found("result", files["bundle"], *words, *named)["failed_step"] == "issuer"
    assert found("result", files["bundle"], *words, *named[2:])["failed_step"] == "audience"
    assert found("result", files["bundle"], "--key", files["other"], *words[2:])["failed_step"] == "signature"
    assert attest("result", files["bundle"], "--key", files["bundle"]).exit_code == 2


def test_carnets_own_appraisal_is_nobody_elses(files: dict[str, str]) -> None:
    for kind in KINDS:
        shown = found(kind, files[kind], "--trust-anchor", files["roots"], *asked(kind), *chain(kind, files))
        assert (shown["accepted"], shown["appraised_by"]) == (True, None)


def test_names_that_a_verifier_chose_do_not_reach_the_terminal_as_they_are(tmp_path: Path) -> None:
    """The name of an attester is in the id of a step, and could clear the screen and write a verdict there."""
    attester = {"ear_status": "affirming", EXTENSION: {"not_compared": ["firmware"]}}
    claims = ear_tokens.result(ear_status="affirming", submods={"x\n\x1b[2J\rACCEPTED": attester})
    files = written(tmp_path, {"token": ear_tokens.token(claims), "key": ear_tokens.public_pem()})
    result = attest("ear", files["token"], "--key", files["key"], "--at", "2026-01-01T00:10:00Z")
    assert (result.exit_code, "\x1b" in result.stdout, "\r" in result.stdout) == (0, False, False)
    assert sum(line.startswith("ACCEPTED") for line in result.stdout.splitlines()) == 1


GOOGLES = "Google (https://confidentialcomputing.googleapis.com)"


def test_whose_result_it_is_stands_among_many_files_and_beside_evidence(files: dict[str, str], tmp_path: Path) -> None:
    issued = int(simulated_machine.NOW.timestamp())
    jwt = service_tokens.token("Google", {"iat": issued, "nbf": issued, "exp": issued + 3600})
    messages = {"a": jwt, "b": Path(files["tdx"]).read_bytes()}
    wrapped = {
        name: ["application/eat+jwt", base64.urlsafe_b64encode(each).decode().rstrip("=")]
        for name, each in messages.items()
    }
    made = written(tmp_path, {"jwt": jwt, "keys": service_tokens.key_set(), "both": json.dumps(wrapped).encode()})
    words = [
        "--key",
        made["keys"],
        "--at",
        f"{simulated_machine.NOW:%Y-%m-%dT%H:%M:%SZ}",
        "--trust-anchor",
        files["roots"],
    ]
    first, second, last = attest(made["jwt"], files["tdx"], *words).stdout.splitlines()
    assert f"jwt: the result of {GOOGLES}, evidence not seen" in first
    assert ("the result of" in second, last) == (False, "2 files: 2 accepted")
    shown = json.loads(attest(made["both"], *words, "--json").stdout)
    assert (shown["accepted"], shown["appraised_by"]) == (True, f"Carnet and {GOOGLES}")
