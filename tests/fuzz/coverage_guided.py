"""Fuzz every parser, guided by coverage: ``python -m tests.fuzz.coverage_guided --inputs 500000``.

It needs Atheris, which brings libFuzzer, in an environment of its own beside the project. Each parser runs in a process
of its own, which ends at the first exception that is not typed, at an input that takes longer than a second, and at one
allocation, or a process, that grows out of proportion. What was run is written as JSON.
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

LONGEST_INPUT = 1 << 16
LONGEST_SECONDS = 1
LARGEST_ALLOCATION_MIB = 64
LARGEST_PROCESS_MIB = 1024
_EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_SLOWEST = re.compile(r"stat::slowest_unit_time_sec:\s*(\d+)")


def fuzz(name: str, arguments: list[str]) -> None:
    """Fuzz one parser in this process, which libFuzzer ends."""
    import atheris

    with atheris.instrument_imports(include=["carnet_ref"]):
        from tests.fuzz.parsers import PARSERS, refusal
    parser = PARSERS[name]

    def one_input(data: bytes) -> None:
        refusal(parser, data)

    atheris.Setup([sys.argv[0], *arguments], one_input)
    atheris.Fuzz()


def campaign(name: str, inputs: int, seconds: int, findings: Path) -> dict[str, object]:
    """Fuzz one parser in a process of its own and return what was run."""
    from tests.fuzz.parsers import PARSERS

    with tempfile.TemporaryDirectory() as folder:
        for index, seed in enumerate(PARSERS[name].seeds()):
            Path(folder, f"seed{index}").write_bytes(seed)
        options = {
            "runs": inputs,
            "max_total_time": seconds,
            "max_len": LONGEST_INPUT,
            "timeout": LONGEST_SECONDS,
            "malloc_limit_mb": LARGEST_ALLOCATION_MIB,
            "rss_limit_mb": LARGEST_PROCESS_MIB,
            "print_final_stats": 1,
            "artifact_prefix": f"{findings}/{name}-",
            "seed": 1,
        }
        command = [sys.executable, "-m", "tests.fuzz.coverage_guided", "--child", name]
        ended = subprocess.run(
            [*command, *(f"-{key}={value}" for key, value in options.items()), folder],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))},
        )
    executed, slowest = _EXECUTED.search(ended.stderr), _SLOWEST.search(ended.stderr)
    return {
        "parser": name,
        "inputs": int(executed[1]) if executed else 0,
        "slowest_seconds": int(slowest[1]) if slowest else None,
        "ok": ended.returncode == 0 and executed is not None,
        "tail": "" if ended.returncode == 0 else ended.stderr[-2000:],
    }


def table(before: str, results: list[dict[str, object]], parsers: Iterable[str]) -> str:
    """Return the documentation's CSV of ``parsers``: what was run now, and what was ``before`` of those not run now."""
    rows = {row[0]: row for row in csv.reader(io.StringIO(before))}
    for result in results:
        outcome = "values and typed errors" if result["ok"] else "another exception, or too slow or large"
        rows[str(result["parser"])] = [str(result["parser"]), f"{result['inputs']:,}", outcome]
    shown = [rows[name] for name in sorted(parsers) if name in rows]
    total = sum(int(inputs.replace(",", "")) for _, inputs, _ in shown)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("Parser", "Inputs", "Outcome"), *shown, ("all", f"{total:,}", "")])
    return out.getvalue()


def main() -> int:
    """Fuzz the parsers asked for, one after the other, and say what was run."""
    if "--child" in sys.argv:
        fuzz(sys.argv[2], sys.argv[3:])
        return 0
    from tests.fuzz.parsers import PARSERS

    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--parser", action="append", choices=sorted(PARSERS), help="only this one; may be repeated")
    reader.add_argument("--inputs", type=int, default=100_000, help="for each parser")
    reader.add_argument("--seconds", type=int, default=60, help="at most, for each parser")
    reader.add_argument("--table", type=Path, help="the documentation's table, whose rows of these are made again")
    reader.add_argument("--summary", type=Path, default=Path("fuzz.json"))
    asked = reader.parse_args()
    asked.summary.parent.mkdir(parents=True, exist_ok=True)
    results = []
    for name in asked.parser or sorted(PARSERS):
        results.append(campaign(name, asked.inputs, asked.seconds, asked.summary.parent))
        total = sum(int(str(result["inputs"])) for result in results)
        summary = {"inputs": total, "ok": all(result["ok"] for result in results), "parsers": results}
        asked.summary.write_text(json.dumps(summary, indent=1) + "\n")
        sys.stdout.write(f"{name}: {results[-1]['inputs']} inputs, {'ok' if results[-1]['ok'] else 'FINDING'}\n")
        sys.stdout.flush()
        if asked.table:
            asked.table.write_text(table(asked.table.read_text(), results, PARSERS))
    return 0 if all(result["ok"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
