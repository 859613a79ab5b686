"""``carnet attest live``: what it prints and exits with, and that what it keeps is appraised elsewhere."""

import errno
import json
import shlex
from pathlib import Path

import pynvml
import pytest

from carnet_ref.attestation.live.collection import Machine, TsmFolder
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from tests.fixtures import simulated_machine
from tests.fixtures.command_words import attest, found
from tests.fixtures.simulated_machine import SimulatedNvml, SimulatedTsm


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tsm").mkdir()
    return tmp_path / "tsm"


@pytest.fixture
def usual(tmp_path: Path) -> list[str]:
    return ["--trust-anchor", simulated_machine.roots(tmp_path / "roots.pem")]


def on(monkeypatch: pytest.MonkeyPatch, host: Machine) -> None:
    monkeypatch.setattr("carnet_ref.commands.live.this_machine", lambda: host)


@pytest.fixture
def nvml() -> SimulatedNvml:
    return SimulatedNvml([simulated_machine.gpu(0), simulated_machine.gpu(1)])


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, folder: Path, nvml: SimulatedNvml) -> SimulatedTsm:
    tsm = simulated_machine.td(folder)
    on(monkeypatch, simulated_machine.machine(nvml, tsm))
    return tsm


@pytest.mark.parametrize("words", [["live"], ["--live"]])
def test_a_machine_is_accepted_by_either_name(here: SimulatedTsm, usual: list[str], words: list[str]) -> None:
    result = attest(*words, *usual)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("ok      collected")
    assert "ACCEPTED, appraised by the machine itself" in result.stdout
    assert shlex.split(lines[-1]) == ["rerun", "carnet", "attest", "live", *usual]


def test_a_machine_can_be_required_to_be_compared(here: SimulatedTsm, usual: list[str]) -> None:
    fresh, compared = (attest("live", *usual, "--require", word) for word in ("fresh", "compared"))
    assert (fresh.exit_code, compared.exit_code) == (0, 1)
    assert "REFUSED at requirements" in compared.stdout
    assert shlex.split(compared.stdout.splitlines()[-1])[-2:] == ["--require", "compared"]


def test_a_nonce_is_drawn_each_time_unless_one_is_given(here: SimulatedTsm, usual: list[str]) -> None:
    drawn = {found("live", *usual)["claims"]["nonce"] for _ in range(2)}
    assert len(drawn) == 2
    assert simulated_machine.NONCE.hex() not in drawn
    assert (
        found("live", *usual, "--nonce", simulated_machine.NONCE.hex())["claims"]["nonce"]
        == simulated_machine.NONCE.hex()
    )
    assert here.asked[-1][:32] == simulated_machine.NONCE


@pytest.mark.parametrize("provider", ["tdx_guest", "sev_guest"])
def test_what_is_kept_is_appraised_elsewhere(
    monkeypatch: pytest.MonkeyPatch, folder: Path, nvml: SimulatedNvml, tmp_path: Path, usual: list[str], provider: str
) -> None:
    reporting = simulated_machine.quote if provider == "tdx_guest" else simulated_machine.snp_report
    on(monkeypatch, simulated_machine.machine(nvml, SimulatedTsm(folder, provider, reporting)))
    (tmp_path / "policy.json").write_text(json.dumps({"require": ["nonce"], "gpus": 2}))
    (tmp_path / "collateral.json").write_bytes(simulated_machine.PLATFORM.issue_collateral(simulated_machine.SINCE))
    further = [*usual, "--policy", "node", str(tmp_path / "policy.json")]
    if provider == "tdx_guest":
        further += ["--collateral", str(tmp_path / "collateral.json")]
    out = tmp_path / "kept"
    shown = found("live", "--nonce", simulated_machine.NONCE.hex(), "--out", str(out), *further)
    assert shown["accepted"]
    on(monkeypatch, simulated_machine.machine(None, TsmFolder(folder / "nowhere")))
    again = shlex.split(shown["rerun"])[2:]
    assert again[:5] == ["live", "--from", str(out), "--nonce", simulated_machine.NONCE.hex()]
    elsewhere = found(*again)
    assert (elsewhere["accepted"], elsewhere["claims"]) == (True, shown["claims"])
    assert elsewhere["rerun"] == shown["rerun"]
    assert "appraised by the machine itself" not in elsewhere["not_compared"]
    other = found("live", "--from", str(out), "--nonce", "ff" * 32, *further)
    assert (other["failed_step"], other["accepted"]) == ("node.gpu0.nonce", False)


def test_parts_that_are_kept_are_files_that_other_subcommands_read(
    here: SimulatedTsm, tmp_path: Path, usual: list[str]
) -> None:
    out = tmp_path / "kept"
    assert attest("live", *usual, "--out", str(out), "--nonce", simulated_machine.NONCE.hex()).exit_code == 0
    assert found("node", str(out / "gpus.json"), "--nonce", simulated_machine.NONCE.hex(), *usual)["accepted"]
    assert found("tdx", str(out / "tdx.bin"), "--report-data", here.asked[0].hex(), *usual)["accepted"]


def test_what_is_kept_of_refused_evidence_is_refused_elsewhere(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, usual: list[str]
) -> None:
    foreign = SimulatedPlatform(b"another", simulated_machine.SINCE).td()
    on(
        monkeypatch,
        simulated_machine.machine(None, SimulatedTsm(folder, "tdx_guest", lambda asked: (foreign.quote(asked), None))),
    )
    result = attest("live", *usual, "--out", str(tmp_path / "kept"))
    assert (result.exit_code, "REFUSED at tdx.pck-chain" in result.stdout) == (1, True)
    again = shlex.split(result.stdout.splitlines()[-1])
    assert attest(*again[3:]).exit_code == 1
    (tmp_path / "kept" / "snp.bin").touch()
    malformed = attest(*again[3:])
    assert (malformed.exit_code, "REFUSED at parse" in malformed.stdout) == (1, True)


def test_reference_values_are_taken(here: SimulatedTsm, tmp_path: Path, usual: list[str]) -> None:
    (tmp_path / "rims").mkdir()
    for number, rim in enumerate(simulated_machine.VENDOR.reference_values()):
        (tmp_path / "rims" / f"{number}").write_bytes(rim)
    replies = [tmp_path / f"reply{number}" for number in range(2)]
    for path, number in zip(replies, range(2), strict=True):
        path.write_bytes(
            simulated_machine.VENDOR.answers(simulated_machine.gpu(number).certificates, since=simulated_machine.NOW)[0]
        )
    shown = found("live", *usual, "--rim", str(tmp_path / "rims"))
    assert shown["accepted"]
    assert "firmware not compared" not in shown["not_compared"]
    refused = found("live", *usual, *(word for path in replies for word in ("--ocsp", str(path))))
    assert refused["failed_step"] == "node.gpu0.revocation"


def test_a_policy_for_what_is_not_here_refuses(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, usual: list[str]
) -> None:
    on(monkeypatch, simulated_machine.machine(None, simulated_machine.td(folder)))
    (tmp_path / "policy").write_text(json.dumps({"require": ["nonce"]}))
    result = attest("live", *usual, "--policy", "node", str(tmp_path / "policy"))
    assert (result.exit_code, "REFUSED at expected" in result.stdout) == (1, True)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_machine_without_evidence_exits_3_with_one_line(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, as_json: bool
) -> None:
    on(monkeypatch, simulated_machine.machine(None, TsmFolder(folder / "nowhere")))
    result = attest("--live", "--out", str(tmp_path / "kept"), *(["--json"] if as_json else []))
    assert (result.exit_code, len(result.stderr.splitlines())) == (3, 1)
    assert result.stderr.startswith(
        f"carnet: no evidence on this machine. GPUs: {simulated_machine.NO_NVML}. Virtual machine: no conf"
    )
    if as_json:
        assert json.loads(result.stdout)["error"]["kind"] == "unknown"
    assert not list((tmp_path / "kept").iterdir())


@pytest.mark.parametrize(
    ("failing", "blocked", "why"),
    [
        ({"nvmlDeviceGetConfComputeGpuAttestationReport": pynvml.NVML_ERROR_GPU_IS_LOST}, {}, "GPU is lost"),
        ({}, {"create": errno.EACCES}, "configfs is for root"),
        ({}, {"outblob": errno.EBUSY}, "try again"),
        ({}, {"outblob": errno.ENXIO}, "no such device or address"),
    ],
)
def test_what_does_not_answer_exits_3(
    monkeypatch: pytest.MonkeyPatch, folder: Path, failing: dict[str, int], blocked: dict[str, int], why: str
) -> None:
    tsm = SimulatedTsm(folder, "tdx_guest", simulated_machine.quote, failing=blocked)
    on(monkeypatch, simulated_machine.machine(SimulatedNvml([simulated_machine.gpu()], failing=failing), tsm))
    result = attest("live")
    assert (result.exit_code, result.stdout, why in result.stderr) == (3, "", True)
    assert (len(result.stderr.splitlines()), list(folder.iterdir())) == (1, [])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--nonce", "00"], "--nonce wants 32 bytes, not 1"),
        (["--nonce", "zz"], "hexadecimal"),
        (["--nonce", "00" * 32, "--nonce", "11" * 32], "--nonce takes one value"),
        (["--policy", "rim", "x"], "'rim' is not one of"),
        (["--policy", "node", "/nowhere"], "cannot read '/nowhere'"),
        (["--policy", "node", "{policy}", "--policy", "node", "{policy}"], "--policy node comes twice"),
        (["--policy", "tdx", "{policy}"], "is no policy"),
        (["--rim", "/nowhere"], "cannot read '/nowhere'"),
        (["--out", "{full}"], "is not empty"),
        (["--at", "2026-01-01"], "--at is for evidence that was kept"),
        (["--from", "{full}"], "--from needs --nonce, the nonce that you drew"),
        (["--from", "{full}", "--nonce", "00" * 32], "has no collected.json"),
        (["--from", "{full}", "--nonce", "00" * 32, "--out", "{full}"], "--from and --out do not go together"),
        (["--out", "{policy}"], "cannot keep evidence in"),
        (["--out", "/nowhere/at/all"], "cannot keep evidence in"),
        (["report.bin"], "unexpected extra argument"),
    ],
)
def test_bad_usage_exits_2_and_asks_nothing(
    here: SimulatedTsm, nvml: SimulatedNvml, tmp_path: Path, words: list[str], why: str
) -> None:
    (tmp_path / "policy").write_text(json.dumps({"gpus": 1}))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    named = {"policy": str(tmp_path / "policy"), "full": str(tmp_path / "full")}
    result = attest("live", *(word.format(**named) for word in words))
    assert (result.exit_code, why in result.stderr) == (2, True), result.output
    assert (here.asked, nvml.nonces) == ([], [])


def test_the_group_names_it_and_takes_its_other_name_only_first() -> None:
    assert "live    Collect the evidence of this machine" in attest("--help").stdout
    assert attest("--live", "--help").stdout == attest("live", "--help").stdout
    assert attest("gpu", "--live").exit_code == 2
    result = attest("tdx", "quote", "--report-data", "00", "--report-data", "11")
    assert (result.exit_code, "--report-data takes one value" in result.stderr) == (2, True)
