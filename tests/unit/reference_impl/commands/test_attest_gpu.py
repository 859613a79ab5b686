"""``carnet attest gpu``: exit codes, the JSON that callers rely on, and a last line that does it again."""

import base64
import json
import re
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from carnet_ref.attestation.nvidia.appraisal import STEPS
from carnet_ref.attestation.nvidia.report import MOST_DEVICES
from tests.fixtures import command_words
from tests.fixtures.command_words import with_defaults, written
from tests.fixtures.nvidia_node import GPUS, SWITCHES, members
from tests.fixtures.nvidia_pki import AT, DRIVER_INDICES, NONCE, measurement, pem, report, world
from tests.fixtures.wrapped_evidence import entries, entry, request

attest, found = partial(command_words.attest, "gpu"), partial(command_words.found, "gpu")
W = world()
WHEN = f"{AT:%Y-%m-%dT%H:%M:%SZ}"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    driver, vbios = W.rims()
    made = {
        "report": report(W.device.leaf),
        "hex": report(W.device.leaf).hex().encode(),
        "chain": W.device.chain(),
        "driver": driver,
        "vbios": vbios,
        "roots": pem([W.root.certificate, W.rim_root.certificate]),
        "bundle": _bundle(),
        "longer": report(W.device.leaf) + b"\0",
        "text": b"no report at all",
        "empty": b"{}",
        "asks": b'{"require": ["signature", "nonce"]}',
        "wrong": b'{"require": "everything"}',
        "half": rb'{"\udafb": 1}',
        **{f"ocsp{place}": base64.b64encode(reply) for place, reply in enumerate(W.replies())},
    }
    return written(tmp_path, made)


def _bundle() -> bytes:
    device = {"evidence": report(W.device.leaf), "certificate": W.device.chain()}
    return json.dumps([{key: base64.b64encode(value).decode() for key, value in device.items()}] * 2).encode()


def usual(files: dict[str, str], *further: str) -> list[str]:
    defaults = {"--chain": files["chain"], "--at": WHEN, "--trust-anchor": files["roots"]}
    return [files["report"], *with_defaults(defaults, further)]


def test_good_evidence_is_accepted_and_the_json_has_the_promised_keys(files: dict[str, str]) -> None:
    result = attest(*usual(files))
    assert result.exit_code == 0
    assert "ACCEPTED" in result.stdout
    given = found(*usual(files))
    assert (given["accepted"], given["failed_step"], given["claims"]["product"]) == (True, None, "GH100")
    assert [step["id"] for step in given["steps"]] == list(STEPS)
    assert all({"id", "ok", "detail"} <= set(step) for step in given["steps"])


def test_text_fits_eighty_columns_and_says_what_is_not_stated(files: dict[str, str]) -> None:
    lines = attest(*usual(files)).stdout.splitlines()
    long = [line for line in lines if len(line) > 80 and len(line.split()) > 3]  # a digest is one word
    assert long == [lines[-1]]
    claims = dict(line.split(maxsplit=2)[1:] for line in lines if line.startswith("claim "))
    assert (claims["mode"], claims["unread_fields"]) == ("not stated", "none")
    assert found(*usual(files))["claims"]["mode"] is None


def test_the_numbers_of_unread_fields_are_listed(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_ref.attestation.nvidia.appraisal.OpaqueType", ())
    value = [line for line in attest(*usual(files)).stdout.splitlines() if " unread_fields " in line]
    assert re.search(r"  \d+(, \d+)+$", value[0])


def test_everything_that_can_be_given_is_looked_at(files: dict[str, str]) -> None:
    replies = [word for place in range(3) for word in ("--ocsp", files[f"ocsp{place}"])]
    rims = ["--rim", files["driver"], "--rim", files["vbios"]]
    given = found(*usual(files, "--nonce", NONCE.hex(), *rims, *replies))
    assert given["accepted"]
    assert [step["id"] for step in given["steps"] if step["ok"] is None] == ["rim-revocation", "mode", "debug"]


def test_text_and_json_end_with_the_command_that_does_it_again(files: dict[str, str]) -> None:
    words = usual(files, "--nonce", NONCE.hex(), "--rim", files["driver"])
    last = attest(*words).stdout.splitlines()[-1]
    again = shlex.split(last.removeprefix("rerun "))
    assert again[:3] == ["carnet", "attest", "gpu"]
    assert attest(*again[3:]).stdout.splitlines()[-1] == last
    assert found(*words)["rerun"] == shlex.join(again)


def test_what_differs_is_printed_line_by_line_and_in_parts_for_programs(files: dict[str, str], tmp_path: Path) -> None:
    golden = {index: [measurement(index)] for index in DRIVER_INDICES} | {9: [bytes(48), b"\1" * 48]}
    other = tmp_path / "other-rim"
    other.write_bytes(world().rims(driver=golden)[0])
    words = usual(files, "--rim", str(other))
    result = attest(*words)
    assert (result.exit_code, "20 of 21 match; wrong: 9" in " ".join(result.stdout.split())) == (1, True)
    lines = result.stdout.splitlines()
    assert any(line.startswith("        - measurement 9 (m9): found") for line in lines)
    long = [line for line in lines if len(line) > 80 and len(line.split()) > 1]
    assert long == [lines[-1]]
    (named,) = found(*words)["steps"][-1]["differences"]
    assert (named["index"], named["found"], named["expected"]) == (
        9,
        measurement(9).hex(),
        [bytes(48).hex(), (b"\1" * 48).hex()],
    )
    assert named["rim_version"] == "550.90.07"
    assert all(step["differences"] == [] for step in found(*words)["steps"][:-1])


def test_a_certificate_that_is_to_blame_is_printed_with_its_dates(files: dict[str, str]) -> None:
    words = usual(files, "--at", "2031-01-01")
    said = " ".join(attest(*words).stdout.split())
    assert re.search(r"- certificate '[^']+': found valid from 20.* expected valid at 2031-01-01T00:00:00Z", said)
    assert all(each["subject"] for each in found(*words)["steps"][-1]["differences"])


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"report": "longer"}, "parse"),
        ({"report": "text"}, "parse"),
        ({"report": "empty"}, "parse"),
        ({"chain": "text"}, "parse"),
        ({"--rim": "text"}, "parse"),
        ({"--ocsp": "text"}, "parse"),
        ({"--trust-anchor": None}, "chain"),
        ({"--at": "2031-01-01"}, "validity"),
        ({"--nonce": "00" * 32}, "nonce"),
        ({"--policy": "empty"}, "policy"),
        ({"--policy": "asks"}, "policy"),
    ],
)
def test_evidence_that_does_not_hold_is_refused(files: dict[str, str], changes: dict[str, Any], step: str) -> None:
    given = {"report": "report", "chain": "chain", "--trust-anchor": "roots", "--at": WHEN, **changes}
    words = [files[given.pop("report")], "--chain", files[given.pop("chain")]]
    words += [word for key, value in given.items() if value is not None for word in (key, files.get(value, value))]
    result = attest(*words, "--json")
    assert (result.exit_code, json.loads(result.stdout)["failed_step"]) == (1, step)
    assert attest(*words).exit_code == 1


@pytest.mark.parametrize("form", ["hex", "report"])
def test_each_form_of_a_report_is_recognised(files: dict[str, str], form: str) -> None:
    words = usual(files)
    assert found(files[form], *words[1:])["accepted"]


def test_a_device_of_a_bundle_is_chosen(files: dict[str, str]) -> None:
    words = [files["bundle"], "--at", WHEN, "--trust-anchor", files["roots"]]
    assert found(*words, "--device", "1")["accepted"]
    for wrong in ([], ["--device", "2"]):
        assert attest(*words, *wrong).exit_code == 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--nonce", "xyz"], "hexadecimal"),
        (["--nonce", "00"], "wants 32 bytes"),
        (["--at", "yesterday"], "'yesterday' is no time"),
        (["--policy", "wrong"], "is no policy"),
        (["--policy", "text"], "is no policy"),
        (["--policy", "half"], "is no policy"),
        (["--policy", "absent"], "cannot read 'absent'"),
        (["--rim", "absent"], "cannot read 'absent'"),
        (["--rim", "/dev/zero"], "holds more than"),
        (["--trust-anchor", "text"], "no trust anchors"),
        (["--trust-anchor", "."], "cannot read '.'"),
        (["--device", "-1"], "-1 is not in the range"),
        (["--device", "1"], "there is no device 1"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_a_wrong_option_or_an_unreadable_file_is_a_usage_error(
    files: dict[str, str], wrong: list[str], message: str
) -> None:
    words = [files.get(word, word) for word in wrong]
    result = attest(*usual(files, *words), "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["kind"], message in error["message"]) == (2, "usage", True), error


def test_a_report_alone_needs_a_chain_and_reference_values_have_no_policy(
    files: dict[str, str], tmp_path: Path
) -> None:
    result = attest(files["report"])
    assert (result.exit_code, "--chain" in result.stderr) == (2, True)
    result = command_words.attest("--help")
    assert (result.exit_code, "gpu" in result.stdout, "tdx" in result.stdout) == (0, True, True)
    assert command_words.attest("snp").exit_code == 2
    result = attest_rim(tmp_path, SIGNED, "--policy", "any")
    assert result.exit_code == 2
    assert "No such option" in result.stderr


DEVICES = [(each.evidence().report, each.device.chain()) for each in members()]


@pytest.fixture
def node_files(tmp_path: Path) -> dict[str, str]:
    """Write the node in one file, and in two of different kinds."""
    made = {
        "all": json.dumps(entries(DEVICES)),
        "gpus": json.dumps(request(DEVICES[:GPUS])),
        "switches": json.dumps(entries(DEVICES[GPUS:])),
        "policy": json.dumps({"require": ["nonce"], "gpus": GPUS, "switches": SWITCHES, "require_links": True}),
        "many": json.dumps([entry(DEVICES[0])] * MOST_DEVICES),
        "report": DEVICES[0][0].hex(),
        "text": "no node",
    }
    for name, text in made.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "roots").write_bytes(pem([W.root.certificate, W.rim_root.certificate]))
    return {name: str(tmp_path / name) for name in (*made, "roots")}


def usual_node(node_files: dict[str, str], *further: str) -> list[str]:
    return ["--trust-anchor", node_files["roots"], "--at", f"{AT:%Y-%m-%dT%H:%M:%SZ}", *further]


@pytest.mark.parametrize("given", [["all"], ["gpus", "switches"], ["switches", "gpus"]])
def test_a_node_is_accepted_from_one_file_or_several(node_files: dict[str, str], given: list[str]) -> None:
    words = [
        *(node_files[name] for name in given),
        *usual_node(node_files, "--nonce", NONCE.hex(), "--policy", node_files["policy"]),
    ]
    shown = command_words.found("node", *words)
    assert (shown["accepted"], shown["claims"]["gpus"], shown["claims"]["switches"]) == (True, GPUS, SWITCHES)
    assert [step["id"].partition(".")[2] for step in shown["steps"]][4] == "document"
    result = command_words.attest("node", *words)
    assert result.exit_code == 0
    assert "claim   devices 5" in result.stdout
    again = shlex.split(result.stdout.splitlines()[-1].removeprefix("rerun"))
    assert command_words.attest("node", *again[3:]).stdout == result.stdout


@pytest.mark.parametrize(
    ("given", "step"),
    [
        (["all", "gpus"], "distinct"),
        (["gpus", "gpus"], "distinct"),
        (["switches"], "count"),
        (["many", "many"], "parse"),
        (["all", "text"], "parse"),
    ],
)
def test_a_node_that_does_not_hold_is_refused(node_files: dict[str, str], given: list[str], step: str) -> None:
    words = [*(node_files[name] for name in given), *usual_node(node_files)]
    assert command_words.attest("node", *words).exit_code == 1
    assert command_words.found("node", *words)["failed_step"] == step


@pytest.mark.parametrize(
    ("words", "why"), [([], "Missing argument"), (["report"], "a report alone has no certificates")]
)
def test_bad_usage_exits_2(node_files: dict[str, str], words: list[str], why: str) -> None:
    result = command_words.attest("node", *(node_files[word] for word in words), *usual_node(node_files))
    assert (result.exit_code, why in result.stderr) == (2, True)


SIGNED = W.rims()[0]


def attest_rim(folder: Path, rim: bytes, *words: str) -> Result:
    (folder / "rim").write_bytes(rim)
    (folder / "roots").write_bytes(pem([W.root.certificate, W.rim_root.certificate]))
    given = [str(folder / "rim"), "--trust-anchor", str(folder / "roots"), "--at", WHEN, *words]
    return command_words.attest("rim", *given)


@pytest.mark.parametrize(
    ("rim", "code", "step"),
    [(SIGNED, 0, None), (SIGNED.replace(b'index="9"', b'index="90"', 1), 1, "signature"), (b"<no rim/>", 1, "parse")],
    ids=["signed", "altered", "none"],
)
def test_reference_values_are_accepted_as_their_vendor_signed_them(
    tmp_path: Path, rim: bytes, code: int, step: str | None
) -> None:
    result = attest_rim(tmp_path, rim, "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["failed_step"]) == (code, step)
    assert bool(shown["claims"]) is (code == 0)


def test_a_report_alone_needs_no_reader_of_reference_values(files: dict[str, str]) -> None:
    needless = ("lxml", "signxml", "carnet_ref.attestation.amd", "carnet_ref.attestation.intel")
    assert command_words.modules_imported(["gpu", *usual(files)], needless) == []
    assert "signxml" in command_words.modules_imported(["gpu", *usual(files, "--rim", files["driver"])], needless)
