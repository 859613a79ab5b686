"""``carnet attest snp``: exit codes, the JSON that callers rely on, and a last line that does it again."""

import base64
import json
import shlex
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.amd.appraisal import STEPS
from carnet_ref.attestation.amd.certificates import ARK, ASK, VCEK, KeyKind
from carnet_ref.attestation.amd.report import GuestPolicy, Product
from carnet_ref.attestation.results import EXTENSION
from carnet_ref.crypto.primitives import sha256
from tests.fixtures import command_words
from tests.fixtures import simulated_snp as simulated
from tests.fixtures.command_words import with_defaults, written
from tests.fixtures.ear_tokens import private_pem
from tests.fixtures.simulated_quotes import QUOTE
from tests.fixtures.simulated_snp import chain

attest, found = partial(command_words.attest, "snp"), partial(command_words.found, "snp")
WHEN = f"{simulated.NOW:%Y-%m-%dT%H:%M:%SZ}"
REPORT, LEAF, AUTHORITY, ROOT = (
    simulated.signed(),
    simulated.endorsement(),
    simulated.amd().authority(KeyKind.VCEK),
    simulated.amd().root,
)
AZURE = simulated.hcl(report=simulated.changed(report_data=sha256(simulated.RUNTIME) + bytes(32)))
DEBUG = simulated.changed(policy=GuestPolicy(0xB001F))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    text = {"attestation_report": _base64(REPORT), "cert_chain": {"vcek": _base64(chain())}}
    made = {
        "report": REPORT,
        "hex": REPORT.hex().encode() + b"\n",
        "base64": base64.encodebytes(REPORT),
        "json": json.dumps({"platform": "snp", "evidence": text}).encode(),
        "hcl": AZURE,
        "azure": json.dumps({"platform": "az-snp", "evidence": _azure()}).encode(),
        "crl": simulated.amd().revocation_list().public_bytes(Encoding.PEM),
        "revoked": simulated.amd().revocation_list(AUTHORITY).public_bytes(Encoding.DER),
        "longer": REPORT + b"\1",
        "version": b"\6" + REPORT[1:],
        "tampered": REPORT[:0x90] + b"\0" + REPORT[0x91:],
        "text": b"no report at all",
        "empty": b"",
        "quote": QUOTE,
        "debug": DEBUG,
        "turin": simulated.signed(Product.TURIN),
        "chain": simulated.pem(LEAF, AUTHORITY),
        "der": simulated.der(ROOT, LEAF, AUTHORITY),
        "table": simulated.certificate_table(
            [(VCEK.bytes, simulated.der(LEAF)), (ASK.bytes, simulated.der(AUTHORITY)), (ARK.bytes, simulated.der(ROOT))]
        ),
        "other": simulated.der(simulated.chip(seed=b"another chip").endorsement(), AUTHORITY),
        "roots": simulated.pem(*(simulated.amd(product).root for product in Product)),
        "strict": json.dumps({"require": ["measurement"], "measurements": [REPORT[0x90:0xC0].hex()]}).encode(),
        "newer": b'{"require": ["minimum-tcb"], "minimum_tcb": {"Milan": {"snp": 25}}}',
        "lenient": b'{"require": ["signature"], "allow_debug": true}',
        "nothing": b"{}",
        "wrong": b'{"require": "everything"}',
    }
    return written(tmp_path, made)


def _azure() -> dict[str, object]:
    return {"version": 1, "tpm_quote": {}, "hcl_report": _base64(AZURE), "vcek": _base64(chain())}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def usual(files: dict[str, str], *further: str, report: str = "report", chain: str = "chain") -> list[str]:
    defaults = {"--chain": files[chain], "--at": WHEN, "--trust-anchor": files["roots"]}
    return [files[report], *with_defaults(defaults, further)]


@pytest.mark.parametrize("form", ["report", "hex", "base64", "json", "hcl", "azure"])
def test_a_genuine_report_is_accepted_in_every_form(files: dict[str, str], form: str) -> None:
    assert attest(*usual(files, report=form)).exit_code == 0


@pytest.mark.parametrize("form", ["chain", "der", "table"])
def test_certificates_are_taken_in_every_form(files: dict[str, str], form: str) -> None:
    assert attest(*usual(files, chain=form)).exit_code == 0


def test_json_brings_its_own_certificates_and_policies_are_met_where_they_can_be(files: dict[str, str]) -> None:
    assert attest(files["json"], "--at", WHEN, "--trust-anchor", files["roots"]).exit_code == 0
    assert found(*usual(files, report="json", chain="other"))["failed_step"] == "signature"
    assert found(files["report"], "--chain", files["der"], "--at", WHEN)["failed_step"] == "chain"
    assert attest(*usual(files, "--policy", files["strict"])).exit_code == 0
    assert attest(*usual(files, "--policy", files["lenient"], report="debug")).exit_code == 0
    (step,) = found(*usual(files, report="version"))["steps"]
    assert step["detail"] == "SNP report at byte 0: expected version 2 to 5, found 6"


@pytest.mark.parametrize(
    ("form", "named", "unread"),
    [
        ("report", None, False),
        ("json", "an object with the report of an AMD SEV-SNP virtual machine", False),
        ("hcl", "an Azure HCL document", True),
        ("azure", "Azure's evidence of an AMD SEV-SNP virtual machine with a vTPM", True),
    ],
)
def test_the_document_is_named_and_a_quote_that_is_not_read_is_listed(
    files: dict[str, str], form: str, named: str | None, unread: bool
) -> None:
    shown = found(*usual(files, report=form))
    steps = {step["id"]: step["detail"] for step in shown["steps"]}
    assert steps.get("document") == (named and f"found in {named}; nothing else in it is believed")
    assert ("vTPM quote not checked" in shown["not_compared"], "unread" in steps) == (unread, unread)
    assert ("vTPM quote not checked" in attest(*usual(files, report=form)).stdout) is unread


def test_revocation_is_checked_with_a_list_and_else_said_to_be_missing(files: dict[str, str]) -> None:
    for words, missing in (([], True), (["--crl", files["crl"]], False)):
        shown = found(*usual(files, *words))
        assert (shown["accepted"], "revocation not checked" in shown["not_compared"]) == (True, missing)


def test_a_signed_result_says_too_that_the_quote_of_the_vtpm_was_not_read(
    files: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "key").write_bytes(private_pem())
    words = usual(files, "--ear", str(tmp_path / "out"), "--key", str(tmp_path / "key"), report="azure")
    assert attest(*words).exit_code == 0
    part = (tmp_path / "out").read_text().split(".")[1]
    result = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))["submods"]["snp"]
    assert (result["ear_status"], result[EXTENSION]["not_compared"][0]) == ("warning", "vTPM quote not checked")


def test_the_json_has_the_fields_that_callers_rely_on(files: dict[str, str]) -> None:
    shown = found(*usual(files, "--report-data", simulated.REPORT_DATA.hex()))
    assert (shown["accepted"], shown["failed_step"]) == (True, None)
    assert [step["id"] for step in shown["steps"]] == list(STEPS)
    assert shown["claims"]["reported_tcb"] == {"bootloader": 4, "tee": 0, "snp": 24, "microcode": 219}
    assert shown["claims"]["signing_key"] == "VCEK"


def test_the_text_shows_versions_and_words_as_people_read_them(files: dict[str, str]) -> None:
    shown = " ".join(attest(*usual(files)).stdout.split())
    assert "claim reported_tcb bootloader 4, tee 0, snp 24, microcode 219" in shown
    assert "claim platform_info ALIAS_CHECK_COMPLETE, ECC_EN, SMT_EN" in shown
    assert "claim cloud not stated" in shown


@pytest.mark.parametrize(
    ("words", "step"),
    [
        (["longer"], "parse"),
        (["version"], "parse"),
        (["text"], "parse"),
        (["empty"], "parse"),
        (["quote"], "parse"),
        (["tampered"], "signature"),
        (["turin"], "signature"),
        (["debug"], "debug"),
        (["report", "--chain", "other"], "signature"),
        (["report", "--chain", "text"], "parse"),
        (["report", "--chain", "empty"], "parse"),
        (["report", "--report-data", "00" * 64], "report-data"),
        (["report", "--policy", "newer"], "minimum-tcb"),
        (["report", "--crl", "revoked"], "revocation"),
        (["report", "--crl", "crl", "--crl", "revoked"], "revocation"),
        (["report", "--crl", "text"], "parse"),
        (["report", "--policy", "nothing"], "policy"),
        (["report", "--at", "2036-01-01T00:00:00Z"], "validity"),
    ],
)
def test_refused_reports_exit_1_and_name_the_step(files: dict[str, str], words: list[str], step: str) -> None:
    given = usual(files, *(files.get(word, word) for word in words[1:]), report=words[0])
    result = attest(*given)
    assert (result.exit_code, result.stderr) == (1, "")
    shown = found(*given)
    assert (shown["accepted"], shown["failed_step"], shown["claims"]) == (False, step, {})


@pytest.mark.parametrize(
    "words",
    [
        ["missing", "--chain", "chain"],
        ["report"],
        ["report", "--chain", "missing"],
        ["report", "--chain", "chain", "--policy", "missing"],
        ["report", "--chain", "chain", "--policy", "wrong"],
        ["report", "--chain", "chain", "--trust-anchor", "text"],
        ["report", "--chain", "chain", "--trust-anchor", "chain"],
        ["report", "--chain", "chain", "--at", "yesterday"],
        ["report", "--chain", "chain", "--report-data", "xx"],
        ["report", "--chain", "chain", "--report-data", "00"],
        ["report", "--chain", "chain", "--unknown"],
        [],
    ],
)
def test_bad_usage_exits_2_with_one_line(files: dict[str, str], words: list[str]) -> None:
    result = attest(*(files.get(word, word) for word in words))
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert not result.stdout


def test_the_last_line_does_it_again(files: dict[str, str]) -> None:
    given = usual(files, "--report-data", simulated.REPORT_DATA.hex())
    last = attest(*given).stdout.strip().splitlines()[-1]
    again = shlex.split(last.removeprefix("rerun"))
    assert again[:3] == ["carnet", "attest", "snp"]
    assert attest(*again[3:]).stdout == attest(*given).stdout
