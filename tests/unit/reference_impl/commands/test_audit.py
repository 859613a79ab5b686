"""``carnet run --graph`` records what ``carnet audit`` accepts, and the audit says what it found in text and JSON."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from carnet_check.cli import main
from carnet_ref.systems.verifiable_fl.recording import STEPS


def carnet(*args: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in args])


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Record a run of two rounds, and return its graph and the claims that its parties agreed on."""
    folder = tmp_path_factory.mktemp("attested")
    paths = folder / "graph", folder / "claims.toml"
    result = carnet("run", "--holders", 2, "--rounds", 2, "--graph", paths[0], "--claims", paths[1], "--json")
    assert result.exit_code == 0, result.stderr
    fields = json.loads(result.stdout)
    assert fields["conforms"] is True
    assert fields["attested"] == len((paths[0] / STEPS).read_bytes().splitlines())
    return paths


def test_an_honest_run_is_accepted(graph: tuple[Path, Path]) -> None:
    run, claims = graph
    result = carnet("audit", run, "--claims", claims, "--json")
    assert result.exit_code == 0, result.stderr
    fields = json.loads(result.stdout)
    assert (fields["accepted"], fields["level"], fields["refusal"]) == (True, 1, None)
    assert fields["exclaves"] == {"orchestrator": 3, "alice": 1, "anna": 1, "gpu": 5}
    assert "sanitise: alice, anna" in carnet("audit", run, "--claims", claims).stdout


def test_a_tampered_run_is_refused_with_its_culprit(graph: tuple[Path, Path], tmp_path: Path) -> None:
    run, claims = graph
    for name in (each.name for each in run.iterdir()):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    lines = (tmp_path / STEPS).read_bytes().splitlines(keepends=True)
    (tmp_path / STEPS).write_bytes(b"".join(lines[:3] + lines[4:]))
    result = carnet("audit", tmp_path, "--claims", claims)
    assert result.exit_code == 1
    assert "refused      missing: gpu, statement 1" in result.stdout
    picture = tmp_path / "graph.svg"
    fields = json.loads(carnet("audit", tmp_path, "--claims", claims, "--plot", picture, "--json").stdout)
    assert fields["refusal"]["culprit"] == "gpu"
    assert fields["level"] == 0
    assert 'id="not-there-gpu-1"' in picture.read_text("utf-8")


def test_a_picture_of_what_cannot_be_read_says_so_and_one_that_cannot_be_written_is_an_error(
    graph: tuple[Path, Path], tmp_path: Path
) -> None:
    run, claims = graph
    for name in (each.name for each in run.iterdir()):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    (tmp_path / STEPS).write_bytes(b"{}\n")
    result = carnet("audit", tmp_path, "--claims", claims, "--plot", tmp_path / "graph.svg")
    assert result.exit_code == 1
    assert f"refused, malformed: line 1 of {STEPS}" in (tmp_path / "graph.svg").read_text("utf-8")
    result = carnet("audit", run, "--claims", claims, "--plot", tmp_path / "no" / "graph.svg")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot write" in result.stderr


def test_a_bad_claims_file_is_one_clear_error(graph: tuple[Path, Path], tmp_path: Path) -> None:
    bad = tmp_path / "claims.toml"
    bad.write_text("level = 9\n")
    for args in (("audit", graph[0], "--claims", bad), ("audit", graph[0], "--claims", tmp_path / "none")):
        result = carnet(*args)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert len(result.stderr.strip().splitlines()) == 1
    assert carnet("audit", tmp_path, "--claims", graph[1]).exit_code == 2


@pytest.mark.parametrize(
    "args",
    [
        ("--claims", "claims.toml"),
        ("--quote-steps",),
        ("--graph", "graph", "--processes"),
        ("--graph", "graph", "--backup", "1"),
        ("--graph", "graph", "--journal", "journal"),
        ("--graph", "."),
        ("--graph", "graph", "--claims", "no/where"),
    ],
)
def test_what_cannot_be_recorded_is_refused_before_anything_is_run(
    args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "something").write_text("x")
    monkeypatch.chdir(tmp_path)
    result = carnet("run", "--rounds", "1", *args)
    assert result.exit_code == 2, result.output
    assert {each.name for each in tmp_path.iterdir()} == {"something"}
