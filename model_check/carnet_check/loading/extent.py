"""How much memory there is to explore in, and whether an instance can be laid out in it: known before it is built.

Sizes come from a command line, so they may be any numbers. They are refused in two steps: before an instance of a
family is built, by the numbers alone, and before it is explored, by the places in which its states keep a fact.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from carnet_check.errors import UsageError
from carnet_spec.language import Instance, Protocol, Sort, Term
from carnet_spec.language.terms import Exists, Forall, children

MOST_OF_ONE: Final = 1_000
"""The largest of the sizes that an instance is explored with."""
MOST_PAIRS: Final = 1_000_000
"""How much all sizes may be when multiplied, the largest twice: some tables have a row for every pair."""
MOST_CHOICES: Final = 50_000
"""What a solver is asked to decide to make up an instance, and what it is told of it."""
MOST_PLACES: Final = 1_000_000
"""In how many places the states of an instance may keep a fact."""
BYTES_TO_A_PLACE: Final = 1_024
"""What an explorer takes to keep one fact of a state up, at most."""
SHARE: Final = 4 / 5
"""Of the memory that is free; the rest is for everything else."""

MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Return most of the bytes that this process and its children may still take, by the machine and its container."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if MEMINFO.exists():
        found = re.search(r"^MemAvailable:\s+(\d+) kB$", MEMINFO.read_text("ascii"), re.MULTILINE)
        free = int(found.group(1)) * 1024 if found else free
    limit, used = (_number_in(CGROUP / f"memory.{name}") for name in ("max", "current"))
    if limit is not None and used is not None:
        free = min(free, max(0, limit - used))
    return int(free * SHARE)


def _number_in(file: Path) -> int | None:
    """Return the number in a file of the kernel; nothing if there is no such file, or no limit."""
    try:
        written = file.read_text("ascii").strip()
    except OSError:
        return None
    return int(written) if written.isdecimal() else None


def pairs(sizes: Iterable[int]) -> int:
    """Return about how many rows a table for pairs has in an instance of these sizes."""
    counted = [size for size in sizes if size > 0]
    return math.prod(counted) * max(counted, default=1)


def refuse_sizes(sizes: Mapping[str, int]) -> None:
    """Refuse sizes that make no instance that could be explored, before one is built.

    Raises:
        UsageError: one is too large, or all are together.
    """
    for name, size in sizes.items():
        if size > MOST_OF_ONE:
            raise UsageError(f"the size '{name}' is at most {MOST_OF_ONE:,}, not {_shown(size)}")
    if pairs(sizes.values()) > MOST_PAIRS:
        named = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        raise UsageError(f"an instance of these sizes cannot be laid out, they are too large together: {named}")


def refuse_instance(protocol: Protocol, instance: Instance, memory: int) -> None:
    """Refuse an instance that cannot be laid out, or not in so many bytes of ``memory``, before it is explored.

    Raises:
        UsageError: it does.
    """
    places = _rows(instance, (symbol.domain for symbol in protocol.symbols if symbol.mutable))
    if places > MOST_PLACES:
        raise UsageError(
            f"an instance of these sizes has {places:,} facts that may change; {MOST_PLACES:,} can be laid out at most"
        )
    if places * BYTES_TO_A_PLACE > memory:
        raise UsageError(
            f"an instance of these sizes has {places:,} facts that may change, which takes "
            f"{shown_memory(places * BYTES_TO_A_PLACE)} to lay out; {shown_memory(memory)} may be taken (--max-memory)"
        )


def refuse_choices(protocol: Protocol, instance: Instance, axioms: Iterable[Term]) -> None:
    """Refuse to make up rigid facts for the elements of ``instance`` where that takes too many decisions.

    Raises:
        UsageError: there are too many facts, or ``axioms`` say too much about them.
    """
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    facts = _rows(instance, (s.domain if s.is_relation else (*s.domain, s.result) for s in rigid))
    said = sum(_said(instance, axiom) for axiom in axioms)
    if max(facts, said) > MOST_CHOICES:
        raise UsageError(
            f"an instance of these sizes has {facts:,} facts to make up, of which the axioms say {said:,} things; "
            f"either may be {MOST_CHOICES:,} at most"
        )


def _said(instance: Instance, term: Term) -> int:
    """Count what a formula comes to when its quantifiers are written out."""
    inside = max(1, sum(_said(instance, child) for child in children(term)))
    return (
        inside * math.prod(len(instance.of(v.sort)) for v in term.bound)
        if isinstance(term, Forall | Exists)
        else inside
    )


def _rows(instance: Instance, domains: Iterable[tuple[Sort, ...]]) -> int:
    return sum(math.prod(len(instance.of(sort)) for sort in domain) for domain in domains)


def _shown(size: int) -> str:
    return f"{size:,}" if size < 10**15 else "a number of more than fifteen digits"


def shown_memory(amount: int) -> str:
    """Return an amount of memory in the unit that suits it."""
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if amount >= 1 << bits:
            return f"{amount / (1 << bits):,.1f} {unit}"
    return f"{amount:,} bytes"
