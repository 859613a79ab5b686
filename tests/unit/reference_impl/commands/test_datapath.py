"""``carnet datapath`` and ``carnet sweep``: what they print, draw and refuse."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from carnet_check.cli import main
from carnet_ref.datapath import sweeping
from carnet_ref.datapath.quantities import QuantityError
from carnet_ref.datapath.sweeping import Outcome
from carnet_ref.systems.gpu_travelling.commands.running import RunRequest, _saved
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.training.characters import CharacterModel
from carnet_ref.transport.frames import Frame, FrameKind
from carnet_ref.transport.platform import BytesMoved, bytes_moved
from tests.fixtures.worlds import TestWorld, world_of
from tests.unit.model_check.command import carnet, carnet_once

FAST = ("--samples", "5")


@pytest.mark.parametrize("table", ["gpu-travelling", "fastrack", "ddp", "pipellm", "capacity", "keys"])
def test_json_is_one_object_with_the_promised_fields(table: str) -> None:
    ran = carnet_once("datapath", "--table", table, *FAST, "--json")
    assert ran.code == 0
    assert ran.json["table"] == table
    for row in ran.json["rows"]:
        assert {"name", "published", "reproduced", "relative_error"} <= set(row)
        if row["published"] is not None:
            expected = (row["reproduced"] - row["published"]) / row["published"]
            assert row["relative_error"] == pytest.approx(expected)


def test_the_default_table_is_the_deck_s_with_its_ten_cells_first() -> None:
    ran = carnet("datapath")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert sum(line.startswith(("conventional ", "GPU Travelling ")) for line in lines) == 10
    assert lines[-1] == "rerun        carnet datapath --table gpu-travelling"


@pytest.mark.parametrize("table", ["gpu-travelling", "fastrack", "ddp", "pipellm", "capacity", "keys"])
def test_a_table_fits_eighty_columns_and_loses_no_word(table: str) -> None:
    ran = carnet("datapath", "--table", table, *FAST)
    assert [line for line in ran.out.splitlines() if len(line) > 80] == []
    told = carnet_once("datapath", "--table", table, *FAST, "--json").json
    printed = " ".join(ran.out.split())
    sentences = [row.get("remark", "") for row in told["rows"]]
    sentences += [one["source"] for one in told.get("parameters", ())]
    assert [each for each in [*sentences, *told.get("remarks", ())] if each not in printed] == []


def test_a_long_name_goes_on_under_its_figures() -> None:
    lines = carnet("datapath", *FAST).out.splitlines()
    (position,) = [number for number, line in enumerate(lines) if line.startswith("44 TiB, from the deck's ")]
    assert lines[position].endswith("  recomputed")
    assert lines[position + 1] == "  own 7 s per 256 MiB"


def test_the_same_seed_prints_the_same_bytes_and_another_other_points() -> None:
    first, again, other = (
        carnet("datapath", "--table", "fastrack", "--samples", "40", "--seed", seed, "--json").out
        for seed in ("1", "1", "2")
    )
    assert first == again
    assert first != other


def test_a_plot_is_svg_and_the_same_bytes_every_time(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.svg", "two.svg")]
    for file in files:
        assert carnet("datapath", "--table", "pipellm", *FAST, "--plot", str(file)).code == 0
    one, two = (file.read_bytes() for file in files)
    assert one == two
    assert b"<svg" in one


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--table", "nonsense"], "Invalid value for '--table'"),
        (["--table", "fastrack", "--samples", "0"], "at least once"),
        (["--table", "gpu-travelling", "--samples", "-3"], "at least once"),
        (["--table", "fastrack", "--samples", "1000000000000"], "at most 1,000,000"),
        (["--table", "fastrack", "--seed", "-1"], "Invalid value for '--seed'"),
        (["--holders", "3"], "belongs to --table capacity or keys"),
        (["--table", "keys", "--network", "1 GB/s"], "belongs to --table capacity"),
        (["--table", "keys", "--advantage", "70"], "the driver knows exponents from 50 to 65"),
        (["--table", "keys", "--holders", "8"], "expected 1 to 7 holders"),
        (["--table", "keys", "--buffer", "1 B"], "expected at most 1,000,000,000 hand-overs"),
        (["--table", "keys", "--buffer", "400 GB"], "a key protects 24,296,003,999"),
        (["--table", "capacity", "--plot", "x.svg"], "nothing published to draw"),
        (["--table", "capacity", "--dataset", "44 T"], "does not say how many bytes"),
        (["--table", "capacity", "--network", "10 Gbit"], "per second"),
        (["--table", "capacity", "--network", "10 GiB"], "per second"),
        (["--table", "capacity", "--buffer", "0 B"], "buffer is empty"),
        (["--table", "capacity", "--lease", "60"], "with a unit"),
        (["--table", "capacity", "--holders", "0"], "at least one holder"),
        (["--table", "capacity", "--dataset", "-4 GiB"], "zero or more"),
        (["--table", "capacity", "--network", "4 Mb/s"], "does not say how many bytes"),
        (["--table", "capacity", "--network", "1 B/s"], "sending the data takes too long"),
        (["--table", "capacity", "--buffer", "1 B"], "an epoch of GPU Travelling takes too long"),
        (["--table", "capacity", "--holders", "9" * 400], "at most 1,000,000 holders"),
        (["--table", "capacity", "--lease", "1 us"], "longer than"),
        (["--table", "pipellm", "--samples", "2", "--plot", "/nowhere/at/all.svg"], "cannot write"),
    ],
)
def test_bad_input_ends_in_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    ran = carnet("datapath", *arguments)
    assert ran.code == 2
    assert not ran.out
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert carnet("datapath", *arguments, "--json").json["error"]["kind"] == "usage"


def test_throughput_stands_beside_openssl_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_ref.commands.datapath.THROUGHPUT_ROUNDS", 1)
    monkeypatch.setattr("carnet_ref.datapath.throughput.openssl_speed", lambda chunk, decrypt: None)
    ran = carnet("datapath", "--table", "throughput", "--json")
    assert [row["threads"] for row in ran.json["rows"]] == [1, 2] * 3
    assert all(row["share_of_bare_loop"] > 0 and row["openssl_encrypt"] is None for row in ran.json["rows"])
    lines = carnet("datapath", "--table", "throughput").out.splitlines()
    assert lines[-1] == "rerun        carnet datapath --table throughput"
    assert max(map(len, lines)) <= 80


def test_capacity_says_how_to_run_it_again_or_what_cannot_be_kept() -> None:
    ran = carnet("datapath", "--table", "capacity", "--dataset", "1 GiB", "--holders", "2")
    assert ran.out.rstrip().endswith("rerun        carnet datapath --table capacity --dataset '1 GiB' --holders 2")
    assert "rotations forced by the key limit" in ran.out
    ran = carnet("datapath", "--table", "keys", "--buffer", "64 GB")
    assert ran.code == 0
    assert "not even one hand-over" in ran.out


def test_a_sweep_writes_every_outcome_and_is_the_same_on_two_processes(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.csv", "two.csv")]
    for jobs, file in zip(("1", "2"), files, strict=True):
        ran = carnet("sweep", "--configurations", "130", "--jobs", jobs, "--out", str(file), "--json")
        assert ran.code == 0
        assert json.loads(ran.out)["configurations"] == 130
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(list(csv.DictReader(files[0].read_text().splitlines()))) == 130


def test_a_sweep_of_one_counts_one_ends_with_its_command_and_is_refused_where_it_cannot_be_written() -> None:
    ran = carnet("sweep", "--configurations", "1", "--jobs", "1")
    assert ran.err == "timing 1 configuration in 1 process\n"
    assert ran.out.startswith("1 configuration in ")
    assert [line for line in ran.out.splitlines() if len(line) > 80] == []
    ran = carnet("sweep", "--configurations", "3", "--jobs", "1")
    assert ran.out.rstrip().endswith("rerun        carnet sweep --configurations 3 --seed 1 --jobs 1")
    ran = carnet("sweep", "--configurations", "1000000", "--jobs", "1", "--out", ".")
    assert ran.code == 2
    assert "expected a file to write, and '.' is a folder" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--configurations", "0"],
        ["--configurations", "1000000000000"],
        ["--seed", "-1"],
        ["--jobs", "0"],
        ["--jobs", "100000"],
        ["--configurations", "2", "--out", "/nowhere/x.csv"],
        ["--configurations", "2", "--out", "."],
        ["--configurations", "2", "--out", "/"],
        ["--configurations", "2", "--out", ""],
    ],
)
def test_a_sweep_of_nothing_or_to_nowhere_is_refused(arguments: list[str]) -> None:
    ran = carnet("sweep", "--jobs", "1", *arguments)
    assert ran.code == 2
    assert not ran.out


def test_a_sweep_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> Iterator[Outcome]:
        raise QuantityError("no")

    monkeypatch.setattr(sweeping, "sweep", failing)
    assert carnet("sweep", "--configurations", "2", "--out", str(tmp_path / "x.csv")).code == 2
    assert list(tmp_path.iterdir()) == []


def test_no_more_processes_start_than_have_something_to_do() -> None:
    assert sweeping.processes(5, 512) == 1
    assert sweeping.processes(101, 512) == 2
    assert sweeping.processes(10_000, 4) == 4
    ran = carnet("sweep", "--configurations", "5", "--jobs", "512", "--json")
    assert ran.code == 0
    assert ran.err.endswith("in 1 process\n")
    assert ran.json["jobs"] == 512


@pytest.mark.mends("M5")
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_the_name_of_a_picture_is_only_shown(form: tuple[str, ...], tmp_path: Path) -> None:
    ran = carnet("datapath", *FAST, "--plot", str(tmp_path / "a\u202e\x9bb.svg"), *form)
    assert ran.code == 0
    assert all(line.isprintable() for line in ran.out.split("\n"))


def test_the_key_budget_prints_what_its_object_says() -> None:
    told = carnet("datapath", "--table", "keys", "--json").json
    printed = carnet("datapath", "--table", "keys").out
    designs = [row for row in told["rows"] if "schedule" in row]
    assert {row["schedule"] for row in designs} == {"engine-per-holder", "sealed-under-master"}
    for row in designs:
        figures = (f"{row['hand_overs']:,}", f"{row['sessions']:,}", f"2^{row['session_log2']:.1f}")
        (line,) = [
            line
            for line in printed.splitlines()
            if row["target"] in line and all(f" {figure}" in line for figure in figures)
        ][:1]
        assert line.endswith(f" 2^{row['job_log2']:.1f}")
    assert "24,296,003,999" in printed
    assert printed.rstrip().endswith("rerun        carnet datapath --table keys")


SIZES = (4, 32, 256)  #: Units of the hidden layer: models of 11, 87 and 692 KB.
CHUNKS, CHUNK_BYTES = 3, 2048
MOST = 1.1 * CHUNKS * CHUNK_BYTES + (64 << 10)
ELSEWHERE = {FrameKind.CHANNEL, FrameKind.ROUTE, FrameKind.RESET}


def told(*args: object) -> dict[str, Any]:
    ran = CliRunner().invoke(main, ["run", *map(str, args), "--json"])
    assert ran.exit_code == 0, ran.stderr
    fields: dict[str, Any] = json.loads(ran.stdout)
    return fields


def within(fields: dict[str, Any]) -> None:
    """Insist on what a hand-off may move, and that the parts make the whole."""
    moved, dataset = fields["bytes_moved"], fields["bytes_provisioned"] / fields["handoffs"]
    assert len(moved["per_handoff"]) == fields["handoffs"]
    assert max(moved["per_handoff"]) <= 1.1 * dataset + (64 << 10)
    assert min(moved["per_handoff"]) > dataset
    assert moved["total"] == moved["setup"] + moved["save"] + sum(moved["per_handoff"])
    assert 0 < moved["session"] < moved["total"]


def test_a_hand_off_moves_the_same_with_a_model_of_any_size() -> None:
    runs = [told("--rounds", 3, "--hidden", hidden) for hidden in SIZES]
    for fields, hidden in zip(runs, SIZES, strict=True):
        within(fields)
        model = len(CharacterModel(hidden=hidden).first_model())
        assert model < fields["bytes_moved"]["save"] < model + 100
        assert model < fields["bytes_moved"]["setup"] < model + (16 << 10)
    handoffs = [fields["bytes_moved"]["per_handoff"] for fields in runs]
    assert max(map(max, handoffs)) - min(map(min, handoffs)) < 200


@pytest.mark.slow
@pytest.mark.parametrize("hidden", SIZES)
def test_a_hand_off_between_processes_moves_no_model_either(hidden: int) -> None:
    fields = told("--holders", 3, "--rounds", 9, "--processes", "--hidden", hidden)
    within(fields)
    assert fields["conforms"] is True


def test_a_model_that_comes_home_is_no_part_of_a_hand_off_and_a_run_repeats_its_size() -> None:
    often, once = (told("--rounds", 4, "--save-every", every)["bytes_moved"] for every in (1, 4))
    assert often["save"] == 4 * once["save"]
    assert max(often["per_handoff"]) - max(once["per_handoff"]) < 500, "an order more, and a report"
    words = RunRequest(2, 2, "reset", hidden=8).rerun.split()
    assert words[words.index("--hidden") + 1] == "8"


@pytest.mark.parametrize("schedule", ["sealed-under-master", "reset"])
def test_a_new_session_is_set_up_anew_and_its_hand_offs_stay_small(schedule: str) -> None:
    fields = told("--rounds", 3, "--key-schedule", schedule)
    within(fields)
    model = len(CharacterModel().first_model())
    uploads = 3 if schedule == "reset" else 1
    assert uploads * model < fields["bytes_moved"]["setup"] < uploads * (model + (16 << 10))


def run_of(deployment: Deployment) -> tuple[TestWorld, BytesMoved, int]:
    """Return a run, what it moved, and how many bytes reached the device or left it."""
    world, _ = world_of(deployment)
    crossed: list[Frame] = []
    world.platform.keep = crossed.append
    world.run()
    sizes = [len(frame.body) for frame in crossed if frame.kind not in ELSEWHERE]
    return world, bytes_moved(world.platform.crossings.phases, _saved(world.recorder.lines)), sum(sizes)


@pytest.mark.parametrize("schedule", ["engine-per-holder", "sealed-under-master"])
def test_every_byte_over_the_link_is_counted_once(schedule: str) -> None:
    _, moved, crossed = run_of(Deployment(holder_names(2), 3, schedule))
    assert moved.total == crossed


def test_a_hand_off_that_moves_the_model_is_seen() -> None:
    """A model that crosses is part of the hand-off, unless it is known to have come home after it."""
    trainer = CharacterModel(hidden=SIZES[-1])
    world, moved, _ = run_of(Deployment(holder_names(1), 2, save_every=1, trainer=trainer))
    undeclared = bytes_moved(world.platform.crossings.phases, frozenset())
    assert max(moved.per_handoff) <= MOST < min(undeclared.per_handoff)
    assert undeclared.total == moved.total


def test_every_grant_of_a_run_is_found_again_by_its_journey() -> None:
    world, moved, _ = run_of(Deployment(holder_names(2), 3, save_every=1))
    events = [json.loads(line) for line in world.recorder.lines]
    grants = {event["clock"] for event in events if event.get("action") == "grant"}
    assert _saved(world.recorder.lines) == grants
    assert {each.journey for each in world.platform.crossings.phases} - {0} == grants
    assert len(moved.per_handoff) == len(grants)
