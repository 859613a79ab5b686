"""``carnet attest FILE``: what a file of any kind is, whether it is good, what is missing; and many files at once."""

import base64
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from carnet_command.progress import Heartbeat
from carnet_ref.attestation import kinds
from carnet_ref.attestation.appraisal import Anchors
from carnet_ref.attestation.dispatch import reader_groups
from carnet_ref.attestation.formats import FORMATS, RegisteredFormat
from carnet_ref.attestation.kinds import identify
from carnet_ref.attestation.simulated.gpu import gpu_request
from carnet_ref.commands import attest as attest_command
from carnet_ref.commands.attest_any import Words
from tests.fixtures import cca_tokens as cca
from tests.fixtures import nitro_documents as nitro
from tests.fixtures import nvidia_pki as pki
from tests.fixtures import service_tokens
from tests.fixtures import simulated_machine as simulated
from tests.fixtures import simulated_snp as snp
from tests.fixtures import tpm_quotes as tpm
from tests.fixtures.command_words import attest, found, written
from tests.fixtures.dstack_envelopes import in_scale
from tests.fixtures.ear_tokens import NONCE, public_pem, token
from tests.fixtures.nvidia_pki import world
from tests.fixtures.simulated_quotes import NOW as QUOTE_NOW
from tests.fixtures.simulated_quotes import PLATFORM
from tests.fixtures.simulated_quotes import QUOTE as PLATFORM_QUOTE
from tests.fixtures.wrapped_evidence import GPU_DOCUMENTS, QUOTE_DOCUMENTS

WHEN = f"{simulated.SINCE + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
DATA = NONCE + bytes(32)
QUOTE = simulated.quote(DATA)[0]
REPORT = simulated.snp_report(DATA)[0]
DEVICE = (pki.report(pki.world().device.leaf), pki.world().device.chain())


def entry(number: int) -> dict[str, str]:
    report = simulated.gpu(number).report(gpu_request(NONCE))
    return {
        "evidence": base64.b64encode(report).decode(),
        "certificate": base64.b64encode(simulated.gpu(number).chain_pem).decode(),
    }


FILES: Mapping[str, bytes] = {
    "quote": QUOTE,
    "quote in hexadecimal": QUOTE.hex().encode() + b"\n",
    "dstack": json.dumps(QUOTE_DOCUMENTS["dstack getquote"](QUOTE) | {"event_log": "[]"}).encode(),
    "report": REPORT,
    "gpu": json.dumps([entry(0)]).encode(),
    "node": json.dumps([entry(0), entry(1)]).encode(),
    "gpu report": base64.b64decode(entry(0)["evidence"]),
    "rim": world().rims()[0],
    "token": token(),
    "collateral": PLATFORM.collateral,
    "certificates": simulated.gpu(0).chain_pem,
    "keys": b'{"keys": []}',
    "sgx": b"\3\0\2\0" + bytes(8) + bytes.fromhex("939a7233f79c4ca9940a0db3957f0607") + bytes(400),
    "noise": b"\0\1\2\3\xff",
    "words": b"no evidence at all!",
    "empty": b"",
    "both": json.dumps({"quote": QUOTE.hex(), "evidence_list": [entry(0)]}).encode(),
    "table": simulated.certificate_table(),
    "public": public_pem(),
    "policy": b'{"require": ["pck-chain"], "result_ttl": 60}',
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write a file of each kind and return the paths."""
    folder = tmp_path_factory.mktemp("files")
    return {**written(folder, FILES), "roots": simulated.roots(folder / "roots")}


def usual(files: Mapping[str, str], *words: str) -> list[str]:
    """Return words, then the time and the roots of the simulation; a token alone has none."""
    roots = [] if words == (files["token"],) else ["--trust-anchor", files["roots"]]
    return [*words, "--at", WHEN, *roots]


def shown(files: Mapping[str, str], name: str, *words: str) -> tuple[int, Any]:
    """Return the exit code and the JSON about one file."""
    result = attest(*usual(files, files[name], *words), "--json")
    return result.exit_code, json.loads(result.stdout)


def said(result: Result) -> str:
    return " ".join(result.stdout.split())


TDX, SNP = "a quote of an Intel TDX virtual machine", "an AMD SEV-SNP report"
KINDS: Sequence[tuple[str, int, str, str, str]] = [
    # file, exit code, the format layer, which command answers or what is to be done, what is missing for more
    ("quote", 0, TDX, "carnet attest tdx", "collateral"),
    ("quote in hexadecimal", 0, TDX, "carnet attest tdx", "report-data"),
    ("dstack", 0, "a document with a quote", "carnet attest tdx", "collateral"),
    ("report", 2, SNP, "a report alone needs --chain", "chain"),
    ("gpu", 0, "a document with evidence of NVIDIA devices", "carnet attest gpu", "rim"),
    ("node", 0, "a document with evidence of NVIDIA devices", "carnet attest node", "nonce"),
    ("gpu report", 2, "the report of an NVIDIA device", "a report alone needs --chain", "chain"),
    ("token", 2, "a signed attestation result (EAR)", "a token needs --key", "key"),
    ("rim", 1, "XML, such as NVIDIA's reference values", "carnet attest rim", ""),
    ("both", 0, "a document with a quote", "carnet attest", "collateral"),
    ("collateral", 1, "Intel's collateral", "carnet attest tdx QUOTE --collateral FILE", ""),
    ("certificates", 1, "PEM, such as certificates", "a chain goes with a report (--chain)", ""),
    ("keys", 1, "a set of keys for tokens (JWKS)", "they go with a token", ""),
    ("sgx", 1, "a quote of an SGX enclave", "Carnet reads quotes of TDX virtual machines alone", ""),
    ("noise", 1, "5 bytes of no known kind", "carnet attest --help lists what is read", ""),
    ("words", 1, "other text", "carnet attest --help lists what is read", ""),
    ("empty", 1, "nothing", "carnet attest --help lists what is read", ""),
]


@pytest.mark.parametrize(("name", "code", "kind", "answer", "missing"), KINDS, ids=[row[0] for row in KINDS])
def test_one_command_tells_what_a_file_is_whether_it_is_good_and_what_is_missing(
    name: str, code: int, kind: str, answer: str, missing: str, files: dict[str, str]
) -> None:
    result = attest(*usual(files, files[name]))
    assert result.exit_code == code, result.output
    assert f"is format {kind}" in said(result)
    assert answer in said(result)
    assert not missing or f"more --{missing} for " in said(result)
    outcome = {0: "ACCEPTED", 1: "REFUSED at ", 2: "NOT APPRAISED: "}[code]
    assert f"\n{outcome}" in result.stdout
    exit_code, found = shown(files, name)
    assert (exit_code, found["accepted"]) == (code, code == 0)
    assert kind in [layer["name"] for layer in found["layers"] if layer["layer"] == "format"]
    assert not missing or missing in found["missing"]


def roots_of(anchors: Anchors) -> bytes:
    return pki.pem(list(dict.fromkeys(root for roots in anchors.by_role.values() for root in roots)))


CMW = json.dumps(["application/x", base64.urlsafe_b64encode(nitro.document()).rstrip(b"=").decode(), 4]).encode()
LATER: Mapping[str, tuple[bytes, Mapping[str, bytes], datetime, int, str, str, str]] = {
    # evidence, what is given with it, when; exit code, the format layer, which command answers, what is missing
    "nitro": (
        nitro.document(),
        {"--trust-anchor": roots_of(nitro.anchors())},
        nitro.AT,
        0,
        "the document of an AWS Nitro enclave",
        "carnet attest nitro",
        "nonce",
    ),
    "nitro in a wrapper": (
        CMW,
        {"--trust-anchor": roots_of(nitro.anchors())},
        nitro.AT,
        0,
        "the document of an AWS Nitro enclave",
        "is wrapper a CMW record in JSON: application/x, meant as evidence",
        "nonce",
    ),
    "tpm quote": (
        tpm.quote(tpm.registers()),
        {},
        tpm.NOW,
        2,
        "a quote of a TPM",
        "NOT APPRAISED: a quote alone needs --signature",
        "signature",
    ),
    "azure vtpm": (
        json.dumps(tpm.azure()).encode(),
        {"--trust-anchor": roots_of(tpm.anchors())},
        tpm.NOW,
        0,
        "Azure's evidence of an AMD SEV-SNP virtual machine",
        "carnet attest tpm",
        "nonce",
    ),
    "go-tpm-tools": (
        json.dumps(tpm.google()).encode(),
        {"--trust-anchor": roots_of(tpm.anchors())},
        tpm.NOW,
        0,
        kinds.TPM_DOCUMENT,
        "carnet attest tpm",
        "nonce",
    ),
    "snp": (
        snp.signed(),
        {"--trust-anchor": roots_of(snp.amd().anchors), "--chain": snp.chain()},
        snp.NOW,
        0,
        SNP,
        "carnet attest snp",
        "report-data",
    ),
    "dstack envelope": (
        in_scale(PLATFORM_QUOTE),
        {"--trust-anchor": roots_of(PLATFORM.anchors)},
        QUOTE_NOW,
        0,
        "an attestation answer of dstack",
        "carnet attest tdx",
        "collateral",
    ),
    "cca": (
        cca.token(),
        {"--platform-key": cca.pem()},
        nitro.AT,
        0,
        kinds.CCA_TOKEN,
        "carnet attest cca",
        "nonce",
    ),
    "nras": (
        service_tokens.bundle(),
        {"--key": service_tokens.key_set()},
        service_tokens.NOW,
        0,
        "a token of NVIDIA's remote attestation service (NRAS)",
        "ACCEPTED as the result of ",
        "nonce",
    ),
    "google token": (
        service_tokens.token("Google"),
        {"--key": service_tokens.key_set()},
        service_tokens.NOW,
        0,
        kinds.GOOGLE_TOKEN,
        "ACCEPTED as the result of ",
        "nonce",
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_one_command_does_so_for_the_evidence_of_other_clouds_and_services(name: str, tmp_path: Path) -> None:
    evidence, beside, at, code, kind, answer, missing = LATER[name]
    paths = written(tmp_path, {"evidence": evidence, **{option[2:]: data for option, data in beside.items()}})
    words = [word for option in beside for word in (option, paths[option[2:]])]
    result = attest(paths["evidence"], *words, "--at", f"{at:%Y-%m-%dT%H:%M:%SZ}")
    assert result.exit_code == code, result.output
    assert f"is format {kind}" in said(result)
    assert answer in said(result)
    assert f"more --{missing} for " in said(result)
    Path(paths["evidence"]).write_bytes(evidence[:-1])
    assert attest(paths["evidence"], *words, "--at", f"{at:%Y-%m-%dT%H:%M:%SZ}").exit_code == (code or 1)


def test_layers_go_from_the_outermost_to_the_innermost(files: dict[str, str]) -> None:
    layers = {name: [list(layer.values()) for layer in shown(files, name)[1]["layers"]] for name in ("dstack", "node")}
    assert layers["dstack"] == [
        ["encoding", "JSON"],
        ["format", "a document with a quote"],
        ["document", "a getquote answer of dstack"],
        ["version", "version 4, with a TD report 1.0"],
    ]
    assert [role for role, _ in layers["node"]] == ["encoding", "format", "document", "version", "product"]
    encodings = {name: shown(files, name)[1]["layers"][0]["name"] for name in FILES}
    expected = {"quote": "raw bytes", "quote in hexadecimal": "hexadecimal", "token": "a compact token (JWS)"}
    assert {name: encodings[name] for name in expected} == expected
    assert (encodings["rim"], encodings["certificates"], encodings["words"]) == ("XML", "PEM", "text")


def test_options_of_the_format_may_follow_or_go_before_and_are_said_again(files: dict[str, str]) -> None:
    words = [files["report"], "--chain", files["table"], "--report-data", DATA.hex()]
    orders = (words, [*words[1:], words[0]], [f"--chain={words[2]}", *words[3:], "--", words[0]])
    results = [attest(*usual(files), *order) for order in orders]
    assert [each.exit_code for each in results] == [0, 0, 0]
    assert all("ok report-data" in said(each) for each in results)
    result = results[0]
    again = shlex.split(result.stdout.splitlines()[-1])[1:]
    assert again[:3] == ["carnet", "attest", "snp"]
    assert attest(*again[2:]).stdout.splitlines()[-1] == result.stdout.splitlines()[-1]


def test_one_device_of_several_is_appraised_where_one_is_chosen(files: dict[str, str]) -> None:
    assert shown(files, "node", "--device", "1")[1]["claims"].get("devices") is None
    assert len(shown(files, "node")[1]["claims"]["devices"]) == 2


def test_a_file_called_like_a_command_or_an_option_is_appraised_again_by_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("tdx", "-x"):
        Path(name).write_bytes(b"nothing known")
    for line in map(json.loads, attest("./tdx", "./-x", "--json", "--at", WHEN).stdout.splitlines()):
        again = found(*shlex.split(line["rerun"])[2:])
        assert (again["failed_step"], again["layers"]) == ("parse", line["layers"])


def test_what_can_be_read_only_once_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe would be empty, or never end, when it is read again by the format that was found."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = attest(str(pipe))
    assert (result.exit_code, "can be read only once" in result.stderr) == (2, True)


def test_evidence_of_two_kinds_in_one_document_has_one_verdict(files: dict[str, str], tmp_path: Path) -> None:
    code, found = shown(files, "both", "--report-data", DATA.hex())
    ids = [step["id"] for step in found["steps"]]
    assert (code, set(found["claims"])) == (0, {"tdx", "gpu"})
    assert ids[0].startswith("tdx.")
    assert {"tdx.quote-signature", "tdx.report-data", "gpu.signature"} <= set(ids)
    for name, part in (("tdx", {"quote": QUOTE[:-1].hex()}), ("gpu", {"evidence_list": []})):
        changed = json.loads(FILES["both"]) | part
        (tmp_path / name).write_text(json.dumps(changed))
        code, found = shown({**files, name: str(tmp_path / name)}, name)
        assert (code, found["failed_step"], found["claims"]) == (1, f"{name}.parse", {})
    result = attest(*usual(files, files["both"], "--ear", files["policy"]))
    assert (result.exit_code, result.stderr) == (2, "carnet: --ear can be given with evidence of one kind alone\n")
    assert shown(files, "both", "--policy", "inventory")[1]["accepted"]
    assert shown(files, "both", "--policy", "strict")[1]["failed_step"] == "tdx.policy"


USAGE = [
    (["nowhere"], "There is no command and no file 'nowhere'."),
    (["tdxx", "{quote}"], "There is no command and no file 'tdxx'. Did you mean 'tdx'?"),
    (["{quote}", "nowhere"], "There is no command and no file 'nowhere'."),
    (["--at", WHEN], "Missing a file, or a command."),
    (["{quote}", "--at"], "Option '--at' requires an argument."),
    (["{quote}", "--at", "noon"], "'noon' is no time"),
    (["{quote}", "--chain", "{table}"], "No such option '--chain'"),
    (["{quote}", "--at", WHEN, "--at", WHEN], "expected it once, not 2 times"),
    (["{quote}", "--require", "fresh,new"], "--require has no 'new': write fresh,compared, or one of them"),
    (["{both}", "--colateral", "{collateral}"], "No such option '--colateral'"),
    (["{quote}", "{gpu}", "--ear", "{table}"], "--ear can be given with one file alone"),
    (["{quote}", "{gpu}", "--colateral", "{collateral}"], "No such option '--colateral'"),
    (["{quote}", "{gpu}", "--policy", "{words}"], "is no policy"),
]


@pytest.mark.parametrize(("words", "why"), USAGE, ids=[" ".join(words).replace(WHEN, "TIME") for words, _ in USAGE])
def test_bad_usage_exits_2_with_one_line(words: list[str], why: str, files: dict[str, str]) -> None:
    result = attest(*(word.format(**files) for word in words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert why in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_name_that_is_a_command_and_a_file_is_the_commands(
    files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tdx").write_bytes(QUOTE)
    assert "Missing argument 'QUOTE'" in attest("tdx").stderr
    assert attest(*usual(files, "./tdx")).exit_code == 0
    (tmp_path / "FILE").write_bytes(QUOTE)
    assert attest(*usual(files, "FILE")).exit_code == 0
    assert "A name that is both is the command's" in " ".join(attest("--help").stdout.split())
    assert attest("./tdx", "--help").stdout == attest("--help").stdout == attest("-h").stdout


def test_the_short_option_of_help_is_known_whatever_asked_the_command_before() -> None:
    attest_command.attest.get_help_option(click.Context(attest_command.attest))
    assert attest("-h").stdout.startswith("Usage: ")


def test_two_dashes_end_the_options(files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("-q", "--json"):
        (tmp_path / name).write_bytes(QUOTE)
    _, *options = usual(files, "./-q")
    assert attest(*options, "--", "-q").exit_code == attest("./-q", *options).exit_code == 0
    both = attest(*options, "--", "-q", "--json")
    assert (both.exit_code, both.stdout.splitlines()[-1]) == (0, "2 files: 2 accepted")
    assert "no file '--at'" in attest("--", "--at").stderr
    typed = attest("tdx", *options, "--json", "--", "-q")
    again = shlex.split(json.loads(typed.stdout)["rerun"])
    assert again[:4] == ["carnet", "attest", "tdx", "./-q"]
    assert attest(*again[2:], "--json").stdout == typed.stdout


# -- many files ------------------------------------------------------------------------------------------


def test_many_files_have_a_line_each_and_a_summary(files: dict[str, str]) -> None:
    result = attest(*usual(files, *(files[name] for name in ("quote", "gpu", "report", "noise"))))
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert [line.split(":")[0].split() for line in lines[:2]] == [
        ["ACCEPTED", "tdx", files["quote"]],
        ["ACCEPTED", "gpu", files["gpu"]],
    ]
    assert "not fresh" in lines[0]
    assert lines[2:] == [
        f"NOT APPRAISED snp     {files['report']}: a report alone needs --chain",
        f"REFUSED       -       {files['noise']}: parse: this is 5 bytes of no known kind: "
        "carnet attest --help lists what is read",
        "4 files: 2 accepted, 1 not appraised, 1 refused",
    ]


def test_only_if_all_are_accepted_the_exit_code_is_0(files: dict[str, str], tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}").write_bytes(QUOTE)
    (tmp_path / ".hidden").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    result = attest(*usual(files, str(tmp_path)))
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "3 files: 3 accepted")
    (tmp_path / "3").write_bytes(QUOTE[:-1])
    result = attest(*usual(files, str(tmp_path)))
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "4 files: 3 accepted, 1 refused")
    result = attest(*usual(files, str(tmp_path / "folder")))
    assert (result.exit_code, result.stderr) == (2, f"carnet: '{tmp_path}/folder' holds no file\n")


def test_a_file_that_cannot_be_read_ends_no_batch(files: dict[str, str], tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as large:
        large.truncate(attest_command.MOST_BYTES + 1)
    result = attest(*usual(files, str(tmp_path / "large"), files["quote"]))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0].endswith(
        f"holds more than {attest_command.MOST_BYTES} bytes, which no evidence does"
    )
    assert result.stdout.splitlines()[-1] == "2 files: 1 accepted, 1 not appraised"


def test_a_link_to_nothing_in_a_folder_is_not_passed_over(files: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "evidence").symlink_to(files["quote"])
    (folder / "gone").symlink_to(folder / "nothing")
    result = attest(*usual(files, str(folder)))
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "2 files: 1 accepted, 1 not appraised")


def test_many_files_have_a_json_object_each(files: dict[str, str]) -> None:
    names = ["quote", "both", "report", "noise"]
    result = attest(*usual(files, *(files[name] for name in names), "--json"))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["file"] for each in found] == [files[name] for name in names]
    assert [each["formats"] for each in found] == [["tdx"], ["tdx", "gpu"], ["snp"], []]
    assert [each["accepted"] for each in found] == [True, True, False, False]
    assert (found[2]["error"]["message"], found[2]["missing"]) == ("a report alone needs --chain", {"chain": []})
    assert found[2].keys() - {"error"} == found[0].keys()
    assert shown(files, "report")[1].keys() - {"error"} == shown(files, "quote")[1].keys()
    assert found[0].keys() - {"file", "formats"} == shown(files, "quote")[1].keys()
    again = attest(*shlex.split(found[1]["rerun"])[2:], "--json")
    assert json.loads(again.stdout)["steps"] == found[1]["steps"]


def test_of_options_about_every_file_none_is_lost_where_no_format_reads_one(files: dict[str, str]) -> None:
    result = attest(*usual(files, files["noise"], files["words"]))
    assert (result.exit_code, result.stderr) == (1, "")


def test_options_are_given_to_the_files_whose_formats_have_them(files: dict[str, str]) -> None:
    words = [files["quote"], files["gpu"], files["node"]]
    options = ["--report-data", DATA.hex(), "--nonce", NONCE.hex()]
    result = attest(*usual(files, *words, *options))
    assert (result.exit_code, "not fresh" in result.stdout) == (0, False)
    result = attest(*usual(files, files["quote"], files["quote"], "--nonce", NONCE.hex()))
    assert (result.exit_code, result.stderr) == (2, "carnet: --nonce can be given with other files alone\n")


def test_a_terminal_shows_how_far_it_is_and_gives_way_to_each_line(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown_last: list[str] = []

    class Recorder(Heartbeat):
        def status(self, text: str) -> None:
            shown_last.append(text)

    monkeypatch.setattr("carnet_ref.commands.attest_any.progress", Recorder)
    assert attest(*usual(files, *[files["quote"]] * 3)).exit_code == 0
    bars = ["[########................] 1 of 3 files", "[################........] 2 of 3 files"]
    assert shown_last == [bars[0], "", bars[1], "", f"[{'#' * 24}] 3 of 3 files", ""]


def test_a_file_name_cannot_act_on_a_terminal(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "\x1b[2J").write_bytes(QUOTE)
    result = attest(*usual(files, str(tmp_path / "\x1b[2J"), files["quote"]))
    assert (result.exit_code, "\x1b" in result.stdout) == (0, False)


# -- accepted, and fresh, and compared -------------------------------------------------------------------


def test_an_acceptance_says_whether_it_is_fresh_and_compared(files: dict[str, str]) -> None:
    found = {
        "bare": shown(files, "quote")[1],
        "asked": shown(files, "quote", "--report-data", DATA.hex())[1],
        "refused": shown(files, "quote", "--report-data", "00" * 64)[1],
    }
    assert {name: (each["accepted"], each["fresh"], each["compared"]) for name, each in found.items()} == {
        "bare": (True, False, False),
        "asked": (True, True, False),
        "refused": (False, False, False),
    }


@pytest.mark.parametrize("way", ["any", "tdx", "batch"])
def test_what_is_required_beside_an_acceptance_is_refused_where_it_lacks_it(way: str, files: dict[str, str]) -> None:
    before = {"any": [], "tdx": ["tdx"], "batch": [files["quote"]]}[way]
    asked = ["--report-data", DATA.hex()]
    assert attest(*usual(files, *before, files["quote"], *asked, "--require", "fresh")).exit_code == 0
    result = attest(*usual(files, *before, files["quote"], "--require", "fresh"))
    assert (result.exit_code, "not fresh" in result.stdout) == (1, True)
    result = attest(*usual(files, *before, files["quote"], *asked, "--require", "fresh,compared"))
    assert (result.exit_code, "not compared: measurements not compared" in said(result)) == (1, True)


def test_a_step_says_what_an_acceptance_lacks_and_which_option_brings_it(files: dict[str, str]) -> None:
    code, found = shown(files, "quote", "--require", "compared,fresh")
    last = found["steps"][-1]
    assert (code, found["failed_step"], last["id"], found["claims"]) == (1, "requirements", "requirements", {})
    assert last["detail"].startswith("not compared and not fresh: ")
    assert "requirements" in found["missing"]["report-data"]
    assert found["rerun"].endswith(f"--require compared,fresh --at {WHEN}")


def test_a_device_that_lacks_nothing_is_fresh_and_compared(tmp_path: Path) -> None:
    device = world().device
    from tests.unit.reference_impl.commands.test_attest_documents import everything_but, gpu

    document = GPU_DOCUMENTS["one device"]([(pki.report(device.leaf), device.chain())])
    policy = tmp_path / "policy"
    policy.write_text('{"require": ["nonce", "measurements", "revocation"], "modes": ["SPT"]}')
    words = [*gpu(tmp_path, document)[1:], *everything_but(tmp_path)]
    result = attest(*words, "--require", "fresh", "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["fresh"]) == (0, True)
    assert found["compared"] is (found["not_compared"] == [])


# -- words -----------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["a", "b", "-", "--", "--json", "--at", "--x=1", "--help", "-h", ""]), max_size=6))
def test_every_word_is_a_path_or_part_of_an_option_in_its_order(words: list[str]) -> None:
    try:
        split = Words.split(words)
    except click.UsageError:
        assert words[-1] in {"--at", "-"}
        return
    options = [word for option in split.options for word in option]
    assert len(split.paths) + len(options) in {len(words), len(words) - 1}
    assert all(Path(word) in split.paths or word in options for word in words if word != "--")


def test_a_new_format_is_found_by_the_kinds_that_it_is_registered_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(
        FORMATS, "toy", RegisteredFormat("tests.fixtures.toy_evidence:FORMAT", "Toys.", ("other text",))
    )
    (tmp_path / "toy").write_text("genuine red")
    result = attest(str(tmp_path / "toy"), "--nonce", "0102", "--at", WHEN, "--json")
    assert (result.exit_code, json.loads(result.stdout)["claims"]) == (0, {"colour": "red"})


DOCUMENTS: Mapping[str, tuple[object, str]] = {
    **{name: (write([DEVICE, DEVICE]), "gpu") for name, write in GPU_DOCUMENTS.items()},
    **{name: (write(QUOTE), "tdx") for name, write in QUOTE_DOCUMENTS.items()},
}


#: Documents with evidence that another format reads beside it.
TWO_KINDS = {"beside a machine", "attestation answer", "payload as text", "Google's vTPM"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_formats_found_for_a_document_are_those_that_read_it(name: str) -> None:
    document, reader = DOCUMENTS[name]
    groups = reader_groups(identify(json.dumps(document).encode()))
    assert reader in [name for group in groups.values() for name in group]
    assert (len(groups) > 1) is (name in TWO_KINDS)
