"""Exploring ends before it takes more memory than it may, and sizes that cannot be laid out are refused before that."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from carnet_check.attacks.hunt import caps_within
from carnet_check.commands.common import MemoryParameter
from carnet_check.engines.exploration import NO_CAPS, Caps
from carnet_check.engines.exploring.searches import caps_of
from carnet_check.errors import UsageError
from carnet_check.loading import extent
from carnet_check.loading.families import Source, load
from carnet_spec.language import Instance, Profile
from tests.unit.model_check.command import FIXTURES, TOY, carnet

ALONE = """
import re, sys
from pathlib import Path
from carnet_check.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print(end.code, int(peak.group(1)) // 1024, file=sys.stderr)
"""
"""`VmHWM` is of this process alone; `ru_maxrss` begins with what its parent held."""


@pytest.mark.mends("M7")
@pytest.mark.parametrize(
    "sizes",
    [
        ["--set", "rounds=99999999999"],
        ["--rounds", "999999999999999999999"],
        ["--set", "slots=100000"],
        ["--set", "chunks=1000", "--holders", "1000"],
        ["--rounds", "1000"],
    ],
    ids=" ".join,
)
def test_sizes_that_cannot_be_laid_out_take_no_memory(sizes: list[str]) -> None:
    command = [sys.executable, "-c", ALONE, "explore", "gpu-travelling", *sizes]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    said, measured = ran.stderr.splitlines()[-2:]
    code, megabytes = map(int, measured.split())
    assert (code, ran.stdout) == (2, "")
    assert said.startswith("carnet: ")
    assert megabytes < 200


@pytest.mark.mends("M7")
@pytest.mark.parametrize(
    "size", ["rounds=99999999999", "rounds=1001", f"rounds={'9' * 5_000}", "chunks=1000,holders=2"]
)
def test_a_size_is_refused_before_an_instance_is_built(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "instance", lambda *_: pytest.fail("it was built"))
    given = [word for each in size.split(",") for word in ("--set", each)]
    ran = carnet("explore", "gpu-travelling", *given)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert len(ran.err) < 300


@pytest.mark.mends("M7")
@pytest.mark.parametrize("size", ["each=100000", "Party=40", "Key=300"])
def test_an_instance_that_is_made_up_is_bounded_too(size: str) -> None:
    ran = carnet("explore", str(FIXTURES / "paired.py"), "--set", size)
    assert ran.code == 2
    assert "the size 'each' is at most" in ran.err or "facts to make up" in ran.err


@pytest.mark.mends("M7")
def test_a_search_that_reaches_its_memory_says_what_it_covered() -> None:
    ran = carnet("explore", "gpu-travelling", "--max-memory", "20M", "--json")
    assert ran.code == 3
    assert (ran.json["complete"], ran.json["stopped_by"]) == (False, "memory")
    assert ran.json["states"] >= 1
    text = carnet("explore", "gpu-travelling", "--max-memory", "20MiB").out
    assert "stopped by memory after" in text
    assert "budget       no cap on states, 20.0 MiB" in text


@pytest.mark.mends("M7")
@pytest.mark.parametrize(
    "command", [("verify", TOY, "--engine", "explicit"), ("attack", TOY, "--variant", "main")], ids=lambda each: each[0]
)
def test_every_command_that_explores_keeps_within_memory(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def kept(self: Any, memory: int) -> bool:
        asked.append(memory)
        return True

    monkeypatch.setattr("carnet_check.engines.explicit.bounds.Watch._holds_more_than", kept)
    monkeypatch.setattr("carnet_check.engines.exploring.explorer.run_all", here)
    monkeypatch.setattr(sys.modules["carnet_check.attacks.hunt"], "_redundant", lambda *_: "")
    ran = carnet(*command, "--max-memory", "32MiB")
    assert ran.code == 3
    assert set(asked) == {32 << 20}


def here(explorer: Any, tasks: Any, *_: Any) -> Any:
    """Search in this process."""
    from carnet_check.engines.exploring.searches import search

    return [(task, search(explorer, task)) for task in tasks]


@pytest.mark.mends("M7")
def test_the_default_is_what_is_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  999999999 kB\nMemAvailable:    1000000 kB\n")
    monkeypatch.setattr(extent, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(extent, "CGROUP", tmp_path)
    assert extent.available_memory() == 1_024_000_000 * 4 // 5
    assert caps_within(None).memory == caps_of("tiny", 1, NO_CAPS).memory == extent.available_memory()
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("500\n")
    assert extent.available_memory() == 1_024_000_000 * 4 // 5
    (tmp_path / "memory.max").write_text("100000500\n")
    assert extent.available_memory() == 80_000_000
    assert caps_within(7).memory == caps_of("tiny", 2, Caps(memory=7)).memory == 7


@pytest.mark.mends("M7")
@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("1", 1),
        ("500M", 500 << 20),
        ("500MB", 500 << 20),
        ("2GiB", 2 << 30),
        ("2 gib", 2 << 30),
        ("3k", 3072),
        ("9b", 9),
    ],
)
def test_amounts_of_memory(written: str, amount: int) -> None:
    assert MemoryParameter().convert(written, None, None) == amount


@pytest.mark.parametrize("written", ["", "0", "-1", "lots", "1.5G", "9" * 20, "2 TiB", "٣M"])
def test_what_is_no_amount_of_memory(written: str) -> None:
    ran = carnet("explore", TOY, "--max-memory", written)
    assert ran.code == 2
    assert "expected an amount of memory such as 500M or 2GiB" in ran.err


@pytest.mark.mends("M7")
def test_places_are_counted_before_they_are_laid_out() -> None:
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "collusion", Profile("x", {}))
    extent.refuse_instance(protocol, instance, 10 << 20)
    changing = [symbol.domain for symbol in protocol.symbols if symbol.mutable]
    facts = sum(math.prod(len(instance.of(sort)) for sort in domain) for domain in changing)
    assert facts > 1_000
    said = f"{facts:,} facts that may change, which takes {facts / 1024:.1f} MiB to lay out; 1.0 MiB"
    with pytest.raises(UsageError, match=re.escape(said)):
        extent.refuse_instance(protocol, instance, 1 << 20)
    many = {**instance.elements, "Key": tuple(f"k{n}" for n in range(100_000))}
    with pytest.raises(UsageError, match=re.escape("1,000,000 can be laid out at most")):
        extent.refuse_instance(protocol, Instance(many), 1 << 40)
