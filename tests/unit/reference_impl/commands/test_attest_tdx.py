"""``carnet attest tdx``: exit codes, the JSON that callers rely on, and a last line that does it again."""

import base64
import json
import shlex
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.appraisal import AnchorRole
from carnet_ref.attestation.intel.appraisal import STEPS
from tests.fixtures import command_words
from tests.fixtures.command_words import written
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE, REPORT_DATA

attest, found = partial(command_words.attest, "tdx"), partial(command_words.found, "tdx")
WHEN = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    (root,) = PLATFORM.anchors.of(AnchorRole.INTEL_SGX)
    made = {
        "quote": QUOTE,
        "hex": QUOTE.hex().encode() + b"\n",
        "0x": b"0x" + QUOTE.hex().encode(),
        "base64": base64.encodebytes(QUOTE),
        "longer": QUOTE + b"\1",
        "text": b"no quote at all",
        "empty": b"",
        "debug": PLATFORM.td(debug=True).quote(REPORT_DATA),
        "collateral": PLATFORM.collateral,
        "root": root.public_bytes(Encoding.PEM),
        "strict": b'{"require": ["tcb-status", "revocation", "quote-signature"], "tcb_statuses": ["UpToDate"]}',
        "nothing": b"{}",
        "wrong": b'{"require": "everything"}',
    }
    return written(tmp_path, made)


def usual(files: dict[str, str], *further: str, quote: str = "quote") -> list[str]:
    return [files[quote], "--at", WHEN, "--trust-anchor", files["root"], *further]


@pytest.mark.parametrize("form", ["quote", "hex", "0x", "base64"])
def test_a_genuine_quote_is_accepted_in_every_form(files: dict[str, str], form: str) -> None:
    assert attest(*usual(files, quote=form)).exit_code == 0


def test_the_json_has_the_fields_that_callers_rely_on(files: dict[str, str]) -> None:
    shown = found(*usual(files, "--collateral", files["collateral"], "--report-data", REPORT_DATA.hex()))
    assert shown["accepted"] is True
    assert shown["failed_step"] is None
    assert [step["id"] for step in shown["steps"]] == list(STEPS)
    assert {"id", "ok", "detail"} <= set(shown["steps"][0])
    assert shown["claims"]["tcb_status"] == "UpToDate"


def test_what_needs_collateral_is_not_requested_without_it_and_met_with_it(files: dict[str, str]) -> None:
    steps = {step["id"]: step for step in found(*usual(files))["steps"]}
    assert steps["tcb-status"]["ok"] is None
    assert steps["tcb-status"]["detail"] == "not requested"
    assert attest(*usual(files, "--policy", files["strict"], "--collateral", files["collateral"])).exit_code == 0
    assert found(files["quote"], "--at", WHEN)["failed_step"] == "pck-chain"


@pytest.mark.parametrize(
    ("words", "step"),
    [
        (["longer"], "parse"),
        (["text"], "parse"),
        (["empty"], "parse"),
        (["debug"], "debug"),
        (["quote", "--report-data", "00" * 64], "report-data"),
        (["quote", "--policy", "strict"], "policy"),
        (["quote", "--policy", "nothing"], "policy"),
        (["quote", "--collateral", "nothing"], "parse"),
        (["quote", "--event-log", "text"], "parse"),
    ],
)
def test_refused_quotes_exit_1_and_name_the_step(files: dict[str, str], words: list[str], step: str) -> None:
    given = usual(files, *(files.get(word, word) for word in words[1:]), quote=words[0])
    assert attest(*given).exit_code == 1
    shown = found(*given)
    assert (shown["accepted"], shown["failed_step"], shown["claims"]) == (False, step, {})


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_before_or_after_all_times_ends_with_one_line(files: dict[str, str], time: str) -> None:
    result = attest(files["quote"], "--at", time)
    assert result.exit_code == 2
    assert result.stderr == f"carnet: '{time}' is no time: write it as 2025-08-21T12:00:00Z\n"


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "2026-01-01T12:00:00.250000Z", "9999-12-31T23:59:59Z"])
def test_any_other_time_is_repeated_as_it_was_given(files: dict[str, str], time: str) -> None:
    assert shlex.split(found(files["quote"], "--at", time)["rerun"])[-1] == time


def test_collateral_is_read_from_files_and_from_a_folder(files: dict[str, str], tmp_path: Path) -> None:
    fields, folder = json.loads(PLATFORM.collateral), tmp_path / "folder"
    folder.mkdir()
    replies = {
        "tcbInfo": f'{{"tcbInfo":{fields["tcb_info"]},"signature":"{fields["tcb_info_signature"]}"}}',
        "identity": f'{{"enclaveIdentity":{fields["qe_identity"]},"signature":"{fields["qe_identity_signature"]}"}}',
        "chain": fields["tcb_info_issuer_chain"],
        "root.crl": fields["root_ca_crl"],
        "pck.crl": fields["pck_crl"],
    }
    for name, text in replies.items():
        (folder / name).write_text(text)
    single = [word for name in replies for word in ("--collateral", str(folder / name))]
    for words in (single, ["--collateral", str(folder)]):
        assert found(*usual(files, *words))["claims"]["tcb_status"] == "UpToDate"
        again = shlex.split(attest(*usual(files, *words)).stdout.splitlines()[-1].removeprefix("rerun"))
        assert attest(*again[3:]).exit_code == 0
    (folder / "more").write_text(fields["tcb_info"])
    (folder / ".hidden").write_text("passed over")
    assert found(*usual(files, "--collateral", str(folder)))["failed_step"] == "parse"


@pytest.mark.parametrize(("count", "why"), [(0, "holds 0 files"), (65, "holds 65 files; from 1 to 64 are read")])
def test_a_folder_has_so_many_files(files: dict[str, str], tmp_path: Path, count: int, why: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for place in range(count):
        (folder / f"{place}").write_text("{}")
    result = attest(*usual(files, "--collateral", str(folder)))
    assert (result.exit_code, why in result.stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["missing"],
        ["quote", "--collateral", "missing"],
        ["quote", "--policy", "missing"],
        ["quote", "--policy", "wrong"],
        ["quote", "--trust-anchor", "text"],
        ["quote", "--at", "yesterday"],
        ["quote", "--report-data", "xx"],
        ["quote", "--report-data", "00"],
        ["quote", "--unknown"],
        [],
    ],
)
def test_bad_usage_exits_2_with_one_line(files: dict[str, str], words: list[str]) -> None:
    result = attest(*(files.get(word, word) for word in words))
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert not result.stdout


def test_the_last_line_does_it_again(files: dict[str, str]) -> None:
    """Without --at the command says which time it took, so that the same verdict can be had later."""
    given = usual(files, "--collateral", files["collateral"], "--report-data", REPORT_DATA.hex())
    last = attest(*given).stdout.strip().splitlines()[-1]
    again = shlex.split(last.removeprefix("rerun"))
    assert again[:3] == ["carnet", "attest", "tdx"]
    assert attest(*again[3:]).stdout == attest(*given).stdout


def test_only_what_the_format_needs_is_imported(files: dict[str, str]) -> None:
    """Each of these costs a process longer than the appraisal does."""
    needless = ("importlib.metadata", "lxml", "signxml", "joserfc", "numpy", "carnet_spec.language", "tempfile")
    formats = ("carnet_ref.attestation.amd", "carnet_ref.attestation.nvidia", "carnet_ref.attestation.dispatch")
    words = ["tdx", *usual(files, "--collateral", files["collateral"])]
    assert command_words.modules_imported(words, (*needless, *formats)) == []
