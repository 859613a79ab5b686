"""Logs of separate processes merge into one order in which causes come before effects."""

import io
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_ref.recorder import Recorder, TraceFileError, merge_logs, resume_file, step, write_trace
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_spec.trace import Header, TraceEnd

HEADER = replace(Deployment(holder_names(1), 1).header(), checked=False)


def actions(lines: list[str]) -> list[str]:
    return [json.loads(line)["action"] for line in lines]


def test_an_effect_comes_after_its_cause() -> None:
    here, there = Recorder(), Recorder()
    for _ in range(3):
        here.record(step("before", "orchestrator"), "orchestrator")
    there.witness(here.clock)
    there.record(step("effect", "gpu", g="gpu1", v=0), "gpu")
    here.record(step("meanwhile", "orchestrator"), "orchestrator")
    assert actions(list(merge_logs([there.lines, here.lines])))[:3] == ["before"] * 3
    assert json.loads(there.lines[0])["args"] == {"g": "gpu1", "v": "0"}


def test_a_process_that_starts_again_goes_on_where_its_clock_stood(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as sink:
        recorder = Recorder(sink)
        recorder.record(step("one", "gpu"), "gpu")
        recorder.record(step("two", "gpu"), "gpu")
        sink.write('{"clock": 3, "act')
    assert resume_file(path) == (2, recorder.ends)
    assert recorder.ends["gpu"][0] == 2
    assert actions(path.read_text().splitlines()) == ["one", "two"]
    assert resume_file(tmp_path / "absent") == (0, {})


def test_a_checked_trace_ends_with_where_its_logs_end(tmp_path: Path) -> None:
    recorder = Recorder()
    recorder.record(step("one", "gpu"), "gpu")
    recorder.record(step("two", "orchestrator"), "orchestrator")
    recorder.record(step("three", "gpu"), "gpu", ("digest",))
    write_trace(tmp_path / "trace", replace(HEADER, checked=True), recorder.lines)
    *_, last = map(json.loads, (tmp_path / "trace").read_text().splitlines())
    assert TraceEnd.from_json(last).logs == recorder.ends
    assert [json.loads(line)["number"] for line in recorder.lines] == [0, 0, 1]


def test_a_trace_begins_with_its_header_and_a_sink_gets_every_line_at_once(tmp_path: Path) -> None:
    sink = io.StringIO()
    Recorder(sink).record(step("one", "gpu"), "gpu")
    assert actions(sink.getvalue().splitlines()) == ["one"]
    write_trace(tmp_path / "trace", HEADER, [])
    assert Header.from_json(json.loads((tmp_path / "trace").read_text())) == HEADER
    with pytest.raises(TraceFileError, match="cannot write"):
        write_trace(tmp_path / "no" / "trace", HEADER, [])


def test_two_traces_written_at_once_to_one_path_are_both_whole(tmp_path: Path) -> None:
    """Whoever is done last is there, and neither has lines of the other's."""
    path, meanwhile = tmp_path / "trace", []

    def lines() -> Iterator[str]:
        yield "{}"
        write_trace(path, HEADER, ['{"other": 1}'] * 3)
        meanwhile.append(path.read_text())
        yield "{}"

    write_trace(path, HEADER, lines())
    assert [len(text.splitlines()) for text in (*meanwhile, path.read_text())] == [4, 3]
    assert "other" not in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_regular_file_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_trace(pipe, HEADER, ["{}"])
    assert os.read(reader, 1 << 16).endswith(b"\n{}\n")
    os.close(reader)
    assert pipe.is_fifo()
