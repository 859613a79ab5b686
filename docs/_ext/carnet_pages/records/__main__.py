"""The one command for all records: ``python -m docs._ext.carnet_pages.records status|list|make [TARGET…]``.

* ``status`` says which records are stale, in which parts, and what it costs to make them.
* ``list`` names every record and its cost.
* ``make`` makes what is stale, or the records that are named, in as many processes as ``--jobs`` says. What still holds
  is kept. Interrupted, it goes on where it was when it is typed again.

A target is named like ``attacks/gpu-travelling``; ``attacks`` stands for all of them.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from .graph import Target, stale, targets

HERE = "docs._ext.carnet_pages.records"
MOST_NAMED = 3


class UnknownRecord(Exception):
    """No record has this name."""


def main(arguments: Sequence[str]) -> int:
    """Do what the command line asks for; return 1 if a record could not be made."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {HERE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("status", "list", "make"))
    parser.add_argument("only", nargs="*", metavar="TARGET")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    asked = parser.parse_args(arguments)
    try:
        chosen = [*_named(asked.only)] if asked.only else [*targets().values()] if asked.what == "list" else stale()
    except UnknownRecord as error:
        parser.error(str(error))
    if asked.what == "make":
        if len(chosen) != 1:
            return make_all(chosen, asked.jobs)
        began = time.monotonic()
        chosen[0].make()
        _say(f"made {chosen[0].name} in {_time(int(time.monotonic() - began))}")
        return 0
    for line in _listed(chosen) if asked.what == "list" else reported(chosen):
        _say(line)
    return 0


def _named(names: Sequence[str]) -> Iterator[Target]:
    for name in names:
        found = [each for each in targets().values() if name in (each.name, each.name.partition("/")[0])]
        if not found:
            raise UnknownRecord(f"no record is called {name}")
        yield from found


def reported(chosen: Sequence[Target]) -> Iterator[str]:
    """Yield a line for each stale record, and what all of them cost."""
    for each in chosen:
        parts = each.stale
        more = f" and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
        if parts:
            yield f"{each.name}: {', '.join(parts[:MOST_NAMED])}{more} ({_time(each.cost)})"
    yield summary([each for each in chosen if each.stale])


def summary(stale: Sequence[Target]) -> str:
    """Say how many records are stale, and what that costs."""
    if not stale:
        return "no record is stale"
    total = _time(sum(each.cost for each in stale))
    return f"stale records: {len(stale)}, at most {total} on two cores; python -m {HERE} make"


def _listed(chosen: Sequence[Target]) -> Iterator[str]:
    for each in chosen:
        yield f"{each.name:32} {_time(each.seconds):>8}  {', '.join(each.files)}"


def make_all(chosen: Sequence[Target], jobs: int) -> int:
    """Make records in processes of their own: what is read by others first, then the longest first."""
    left = sorted(chosen, key=lambda each: -each.cost)
    running: dict[Target, subprocess.Popen[bytes]] = {}
    failed: list[str] = []
    while left or running:
        waited_for = {each.name for each in (*left, *running)}
        ready = [each for each in left if not waited_for & {*each.after}]
        for each in ready[: jobs - len(running)]:
            left.remove(each)
            _say(f"making {each.name}, about {_time(each.cost)}")
            running[each] = subprocess.Popen([sys.executable, "-m", HERE, "make", each.name])
        time.sleep(0.2)
        for each, process in [*running.items()]:
            if process.poll() is not None:
                del running[each]
                failed += [each.name] if process.returncode else []
    if failed:
        _say(f"not made: {', '.join(failed)}")
    return bool(failed)


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
