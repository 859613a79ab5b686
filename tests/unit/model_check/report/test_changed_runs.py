"""Run folders that somebody changed: refused in one line, or shown; nothing else happens."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from carnet_check.errors import UsageError
from carnet_check.report.html import write_html
from carnet_check.report.run_folder import Run, read_run, run_of, snapshot
from tests.unit.model_check.command import carnet

OTHERS: tuple[Any, ...] = (None, True, -1, 10**30, 0.5, "x", "\x1b[2J", [], [[]], {}, {"x": 1})


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to everything inside a JSON value; of a list, to the first two entries and the last."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*path, name))
    elif isinstance(value, list):
        for place in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
            yield from places(value[place], (*path, place))


def mutants(value: Any) -> Iterator[Any]:
    """Yield the value with each part of it removed, and with each part replaced."""
    for path in places(value):
        for other in ("removed", *OTHERS):
            mutant = copy.deepcopy(value)
            inner = mutant
            for step in path[:-1]:
                inner = inner[step]
            if other == "removed":
                del inner[path[-1]]
            elif inner[path[-1]] == other:
                continue
            else:
                inner[path[-1]] = other
            yield mutant


def files_with_mutants(files: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Yield the files with one value in one of them changed."""
    for name, content in files.items():
        if name.endswith(".itf.json"):
            continue
        first, _, rest = content.partition(b"\n") if name.endswith(".jsonl") else (content, b"", b"")
        for mutant in mutants(json.loads(first)):
            yield {**files, name: json.dumps(mutant).encode() + b"\n" + rest}


@pytest.mark.mends("L1")
def test_a_run_is_refused_or_shown_whatever_is_changed_in_it(folder: Path, tmp_path: Path) -> None:
    refused = shown = 0
    for files in files_with_mutants(snapshot(folder)):
        try:
            run = run_of(files, folder)
        except UsageError:
            refused += 1
            continue
        shown += 1
        if shown % 25 == 0:  # the others have the same shape
            write_html(run, tmp_path / "pages")
            assert run.exit_code in (0, 1, 3, 4, 5)
    assert refused > 1_000
    assert shown > 500


RUIN: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda content: content[:-3],
    "empty": lambda _: b"",
    "not UTF-8": lambda content: content + b"\xff",
    "deep": lambda _: b"[" * 100_000 + b"]" * 100_000,
    "a list": lambda _: b"[]",
    "a number of many digits": lambda _: b"9" * 5_000,
    "no number": lambda _: b'{"seconds": NaN}',
    "half a character": lambda _: b'{"seconds": "\\ud800"}',
    "a field twice": lambda _: b'{"format": "carnet-run/1", "format": "carnet-run/1"}',
}


@pytest.mark.mends("L1")
@pytest.mark.parametrize("name", ["run.json", "spec.json", "verdicts.jsonl", "timings.jsonl", "attacks", "graphs"])
@pytest.mark.parametrize("kind", RUIN)
def test_a_ruined_file_ends_a_report_in_one_line(changed: Path, tmp_path: Path, name: str, kind: str) -> None:
    file = changed / name
    if file.is_dir():
        file = next(each for each in sorted(file.iterdir()) if not each.name.endswith(".itf.json"))
    file.write_bytes(RUIN[kind](file.read_bytes()))
    ran = carnet("report", str(changed), "--html", str(tmp_path / "html"), "--json")
    if (name, kind) == ("timings.jsonl", "empty"):
        assert ran.code == 0  # nothing was measured
        return
    assert (ran.code, ran.json["error"]["kind"]) == (2, "usage")
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "html").exists()


@pytest.mark.mends("L1")
def test_a_verdict_that_is_called_expected_and_is_not_is_refused(changed: Path) -> None:
    rows = [json.loads(line) for line in (changed / "verdicts.jsonl").read_text().splitlines()]
    for row in rows:
        row["as_expected"] = True
    (changed / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(
        UsageError, match=r"line \d, is no part of a run: .* is said to be as expected, where .* is expected"
    ):
        read_run(changed)


@pytest.mark.mends("L1")
def test_what_a_run_says_reaches_the_terminal_as_text(changed: Path, tmp_path: Path) -> None:
    run = json.loads((changed / "run.json").read_text())
    run["run"] |= {"outcome": "fine\x1b[2J", "budget": "\x9b31m", "verdicts": {"\x1b]0;x\x07": 1}}
    (changed / "run.json").write_text(json.dumps(run))
    ran = carnet("report", str(changed), "--html", str(tmp_path / "html"))
    assert ran.code == 0
    assert ran.out.replace("\n", "").isprintable()
    assert "fine\\x1b[2J" in ran.out


@pytest.mark.mends("L1")
@pytest.mark.parametrize("value", [None, "x", [], 10**40, float("inf")])
@pytest.mark.parametrize("field", ["published", "reproduced", "relative_error", "name", "rows", "unit", "remarks"])
def test_a_table_of_figures_is_refused_or_shown(folder: Path, tmp_path: Path, field: str, value: Any) -> None:
    row = {"name": "x", "published": 1.0, "reproduced": 2.0, "relative_error": 1.0}
    table: dict[str, Any] = {"table": "x", "rows": [row]}
    (table if field in ("rows", "remarks") else row)[field] = value
    (tmp_path / "table.json").write_text(json.dumps(table))
    ran = carnet("report", str(folder), "--html", str(tmp_path / "html"), "--table", str(tmp_path / "table.json"))
    assert ran.code in (0, 2)
    assert ran.code == 0 or ran.err.count("\n") == 1


def test_the_shape_of_a_run_is_that_of_a_run(folder: Path) -> None:
    assert isinstance(read_run(folder), Run)
