"""``carnet attest policy`` and ``--policy``: presets by name, what is inherited, and what an inventory says."""

import json
from pathlib import Path

import pytest

from carnet_ref.attestation.appraisal import AnchorRole
from carnet_ref.attestation.formats import FORMATS
from carnet_ref.attestation.policies import Preset
from tests.fixtures import simulated_quotes
from tests.fixtures.command_words import attest, found
from tests.fixtures.nvidia_pki import AT, pem, report, world

WITH_POLICIES = [name for name, registered in FORMATS.items() if registered.load().policy is not None]


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the words that appraise a GPU's report in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report").write_bytes(report(world().device.leaf))
    (tmp_path / "chain").write_bytes(world().device.chain())
    (tmp_path / "root").write_bytes(pem([world().root.certificate]))
    return ["gpu", "report", "--chain", "chain", "--trust-anchor", "root", "--at", f"{AT:%Y-%m-%dT%H:%M:%SZ}"]


@pytest.mark.parametrize("name", WITH_POLICIES)
def test_every_key_is_shown_with_its_value_its_origin_and_its_meaning(name: str) -> None:
    form = FORMATS[name].load().policy
    assert form is not None
    shown = " ".join(attest("policy", "show", name).stdout.split())
    told = json.loads(attest("policy", "show", name, "--json").stdout)[name]
    assert told["preset"] == "default"
    assert list(told["keys"]) == list(form.keys)
    for key in form.keys.values():
        value = key.as_json(form.preset(Preset.DEFAULT).values[key.name])
        assert told["keys"][key.name] == {"value": value, "from": "default", "meaning": key.meaning}
        assert f"{key.name}: {json.dumps(value)} from default {key.meaning}" in shown


def test_without_a_format_the_default_policy_of_each_is_shown() -> None:
    assert list(json.loads(attest("policy", "show", "--json").stdout)) == WITH_POLICIES


def test_a_file_is_shown_with_what_it_inherits(tmp_path: Path) -> None:
    (tmp_path / "policy").write_text('{"preset": "strict", "minimum_driver": "595"}')
    told = json.loads(attest("policy", "show", "gpu", str(tmp_path / "policy"), "--json").stdout)["gpu"]
    assert told["preset"] == "strict"
    assert {name: key["from"] for name, key in told["keys"].items()} == {
        "require": "preset strict",
        "products": "default",
        "minimum_driver": "the policy",
        "minimum_vbios": "default",
        "modes": "preset strict",
        "allow_debug": "default",
        "result_ttl": "default",
        "allow_expired_rims": "default",
    }


def test_a_policy_that_accepts_nothing_is_shown_as_such(tmp_path: Path) -> None:
    (tmp_path / "policy").write_text("{}")
    assert "accepts nothing" in attest("policy", "show", "tdx", str(tmp_path / "policy")).stdout


@pytest.mark.parametrize("name", WITH_POLICIES)
def test_the_schema_is_that_of_the_declaration(name: str) -> None:
    form = FORMATS[name].load().policy
    assert form is not None
    assert json.loads(attest("policy", "schema", name).stdout) == form.schema(name)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["show", "rim"], "'rim' is no format with a policy"),
        (["schema", "gpus"], "'gpus' is no format with a policy: there are gpu, node"),
        (["show", "gpu", "nowhere"], "cannot read 'nowhere'"),
        (["show", "gpu", "wrong"], "'wrong' is no policy: policy: expected keys out of"),
    ],
)
def test_what_cannot_be_shown_is_one_line(words: list[str], why: str, gpu: list[str], tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text('{"minimum_drivers": "595"}')
    result = attest("policy", *words)
    assert (result.exit_code, why in result.stderr) == (2, True), result.stderr
    assert gpu


def test_one_key_is_appraised_with_the_default_steps(gpu: list[str], tmp_path: Path) -> None:
    (tmp_path / "policy").write_text('{"minimum_driver": "500"}')
    assert attest(*gpu, "--policy", "policy").exit_code == 0
    (tmp_path / "policy").write_text('{"minimum_driver": "9999"}')
    assert found(*gpu, "--policy", "policy")["failed_step"] == "policy"


def test_an_unknown_key_is_named_with_the_nearest_one(gpu: list[str], tmp_path: Path) -> None:
    (tmp_path / "policy").write_text('{"minimum_drivers": "595"}')
    result = attest(*gpu, "--policy", "policy")
    assert result.exit_code == 2
    assert "'minimum_drivers' (did you mean 'minimum_driver'?)" in result.stderr


def test_a_preset_is_given_by_its_name(gpu: list[str]) -> None:
    strict = found(*gpu, "--policy", "strict")
    assert (strict["accepted"], strict["failed_step"]) == (False, "mode")
    assert "--policy strict" in strict["rerun"]
    assert attest(*gpu, "--policy", "default").stdout.replace(" --policy default", "") == attest(*gpu).stdout


def test_what_a_policy_asks_for_and_lacks_says_what_to_give(tmp_path: Path) -> None:
    (tmp_path / "quote").write_bytes(simulated_quotes.QUOTE)
    (tmp_path / "root").write_bytes(pem(simulated_quotes.PLATFORM.anchors.of(AnchorRole.INTEL_SGX)))
    words = [
        "tdx",
        str(tmp_path / "quote"),
        "--trust-anchor",
        str(tmp_path / "root"),
        "--at",
        f"{AT:%Y-%m-%dT%H:%M:%SZ}",
    ]
    step = found(*words, "--policy", "strict")["steps"][-1]
    assert step["id"] == "policy"
    for told in ("measurements (needs a key of the policy)", "report-data (needs --report-data)"):
        assert told in step["detail"]
    assert "tcb-status (needs --collateral)" in step["detail"]


def test_a_preset_and_a_file_of_one_name_are_refused(gpu: list[str], tmp_path: Path) -> None:
    (tmp_path / "inventory").write_text('{"require": ["nonce"]}')
    result = attest(*gpu, "--policy", "inventory")
    assert (result.exit_code, "is a preset, and a file here" in result.stderr) == (2, True)
    assert attest(*gpu, "--policy", str(tmp_path / "inventory")).exit_code == 1


def test_an_inventory_never_reads_like_more(gpu: list[str]) -> None:
    result = attest(*gpu, "--policy", "inventory")
    assert (result.exit_code, "ACCEPTED, inventory only, " in result.stdout) == (0, True)
    told = found(*gpu, "--policy", "inventory")
    assert told["not_compared"][0] == "inventory only"
    assert set(told["not_compared"]) > set(found(*gpu)["not_compared"])
