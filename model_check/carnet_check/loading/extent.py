"""Limits on the size of instances and the memory of explorations, and their description in words.

Sizes come from a command line, so they may be any numbers. They are refused in two steps: by the numbers alone before
an instance is built, and by the number of facts in a state before it is explored.
"""

import itertools
import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from carnet_check.errors import UsageError
from carnet_spec.language import InLine, Instance, Protocol, Row, Sort, Symbol, Term
from carnet_spec.language.instance import in_words
from carnet_spec.language.terms import Exists, Forall, children

MOST_OF_ONE: Final = 1_000  #: The largest single size of an instance.
#: The largest product of all sizes, with the largest size squared: some tables have a row for every pair.
MOST_PAIRS: Final = 1_000_000
MOST_CHOICES: Final = 50_000  #: The most unknowns, and the most size of the axioms, when a solver makes up an instance.
MOST_PLACES: Final = 1_000_000  #: The most places for facts in a state.
BYTES_TO_A_PLACE: Final = 1_024  #: The most memory that the explorer needs for the tables of one place.
SHARE: Final = 4 / 5  #: The share of the free memory that may be used.

MEMINFO, CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Return `SHARE` of the bytes that are still free for this process and its children, by machine and container."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if MEMINFO.exists():
        found = re.search(r"^MemAvailable:\s+(\d+) kB$", MEMINFO.read_text("ascii"), re.MULTILINE)
        free = int(found.group(1)) * 1024 if found else free
    limit, used = (_number_in(CGROUP / f"memory.{name}") for name in ("max", "current"))
    if limit is not None and used is not None:
        free = min(free, max(0, limit - used))
    return int(free * SHARE)


def _number_in(file: Path) -> int | None:
    """Return the number in a file of the operating system; None if there is no such file, or it says no limit."""
    try:
        written = file.read_text("ascii").strip()
    except OSError:
        return None
    return int(written) if written.isdecimal() else None


def pairs(sizes: Iterable[int]) -> int:
    """Return the approximate number of rows of a table for pairs, in an instance of these sizes."""
    counted = [size for size in sizes if size > 0]
    return math.prod(counted) * max(counted, default=1)


def refuse_sizes(sizes: Mapping[str, int]) -> None:
    """Refuse sizes whose instance could not be explored, before it is built.

    Raises UsageError if one size is too large, or the product of all is.
    """
    for name, size in sizes.items():
        if size > MOST_OF_ONE:
            raise UsageError(f"the size '{name}' is at most {MOST_OF_ONE:,}, not {_size_in_words(size)}")
    if pairs(sizes.values()) > MOST_PAIRS:
        named = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        raise UsageError(f"an instance of these sizes cannot be laid out, they are too large together: {named}")


def refuse_instance(protocol: Protocol, instance: Instance, memory: int) -> None:
    """Refuse an instance whose states have too many places, or need more than ``memory`` bytes, before it is explored.

    Raises UsageError if the instance is refused.
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
    """Refuse to choose rigid facts for the elements of ``instance`` if that takes too many decisions.

    Raises UsageError if there are too many facts, or the expanded ``axioms`` are too large.
    """
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    facts = _rows(instance, (s.domain if s.is_relation else (*s.domain, s.result) for s in rigid))
    said = sum(_expanded_size(instance, axiom) for axiom in axioms)
    if max(facts, said) > MOST_CHOICES:
        raise UsageError(
            f"an instance of these sizes has {facts:,} facts to make up, of which the axioms say {said:,} things; "
            f"either may be {MOST_CHOICES:,} at most"
        )


def _expanded_size(instance: Instance, term: Term) -> int:
    """Return the size of a formula after its quantifiers are expanded over the instance."""
    inside = max(1, sum(_expanded_size(instance, child) for child in children(term)))
    bound = term.bound if isinstance(term, Forall | Exists) else ()
    return inside * math.prod(len(instance.of(var.sort)) for var in bound)


def _rows(instance: Instance, domains: Iterable[tuple[Sort, ...]]) -> int:
    return sum(math.prod(len(instance.of(sort)) for sort in domain) for domain in domains)


def _size_in_words(size: int) -> str:
    return f"{size:,}" if size < 10**15 else "a number of more than fifteen digits"


def shown_memory(amount: int) -> str:
    """Return an amount of memory in a suitable unit."""
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if amount >= 1 << bits:
            return f"{amount / (1 << bits):,.1f} {unit}"
    return f"{amount:,} bytes"


# --------------------------------------------------------------------------------------------------
# What a search explores, in numbers and in words: computed from the instances, not from an author's description.
#
# One value is computed and announced before a search begins. The worker computes it again from the instances that it
# explores, and the search fails if the two differ. So the announcement and the report agree.

MOST_ROWS: Final = 12  #: The most rows of one symbol that are listed; for more, only their number is given.
#: The most different sizes that are described one by one; for more, the numbers of each sort are listed.
MOST_SIZES: Final = 2


@dataclass(frozen=True, slots=True)
class Explored:
    """The instances of a search that all its claims share."""

    elements: tuple[tuple[str, int], ...]  #: the number of elements of each uninterpreted sort, by its name.
    interpretations: int = 1  #: how many interpretations of the rigid symbols are explored.
    #: how many interpretations the axioms allow with these elements, up to renaming; ``None`` if they were not counted,
    #: because the family chose one, or because there are too many.
    allowed: int | None = None
    #: the symbols without an initial value; each interpretation is explored with every choice of their first values,
    #: and the numbers above count these choices.
    first_values: tuple[str, ...] = ()
    #: the value of each rigid symbol, if one interpretation was chosen where the axioms may allow others.
    fixed: tuple[tuple[str, str], ...] = ()
    shortfall: str = ""  #: why less is explored than the name of the profile promises, and what is explored instead.
    authors_words: str = ""  #: the author's description of the size.

    @property
    def share(self) -> str:
        """Return the words for how many of the interpretations are explored; empty if the family chose one."""
        what = "interpretations of the rigid symbols"
        if self.interpretations == self.allowed == 1 or (self.allowed is None and not self.shortfall):
            return ""
        whole = self.interpretations == self.allowed
        if self.first_values:
            first = f"{'every first value' if whole else 'first values'} of {', '.join(self.first_values)}"
            what = f"choices of an interpretation of the rigid symbols and {first}"
        if whole:
            return f"all {self.allowed:,} {what}"
        of = f"{self.allowed:,}" if self.allowed else "an uncounted number of"
        return f"{self.interpretations:,} of {of} {what}"

    @property
    def words(self) -> str:
        """Return the sizes, and which interpretations are explored, in words."""
        return ", ".join(filter(None, (in_words(dict(self.elements), self.authors_words), self.share)))

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "elements": dict(self.elements),
            "interpretations": self.interpretations,
            "allowed": self.allowed,
            "first_values": list(self.first_values),
            "fixed": dict(self.fixed),
            "shortfall": self.shortfall or None,
            "authors_words": self.authors_words or None,
            "words": self.words,
        }


def sizes_in_words(explored: Iterable[Explored]) -> str:
    """Return the sizes of several searches in words: one by one, or the numbers of each sort if they are many."""
    sizes = list(dict.fromkeys(explored))
    told = list(dict.fromkeys(each.words for each in sizes))
    if len(told) <= MOST_SIZES:
        return "; ".join(filter(None, told))
    numbers: dict[str, dict[int, None]] = {}
    for sort, number in itertools.chain.from_iterable(each.elements for each in sizes):
        numbers.setdefault(sort, {})[number] = None
    ranges = " · ".join(f"{' or '.join(map(str, sorted(found)))} {sort}" for sort, found in numbers.items())
    shares = dict.fromkeys(each.share for each in sizes)
    return "; ".join(filter(None, (f"instances of {len(told)} kinds, {ranges}", *shares)))


def fixed_in_words(explored: Iterable[Explored]) -> str:
    """Return which interpretations were chosen, in words; empty if all that the axioms allow are explored."""
    told: dict[str, dict[str, None]] = {}
    for each in explored:
        for what, meaning in each.fixed:
            told.setdefault(what, {})[meaning] = None
    return "; ".join(f"{what}: {' or '.join(meanings)}" for what, meanings in told.items())


# -- what an instance fixes -----------------------------------------------------------------------


def fixed_values(protocol: Protocol, instance: Instance) -> dict[str, str]:
    """Return what an instance fixes: the value of each rigid symbol, and the pools from which steps choose elements."""
    told = rigid_values([symbol for symbol in protocol.symbols if not symbol.mutable], instance)
    # Only pools that are a proper part of their sort
    steps: dict[tuple[str, str], list[str]] = {}
    for action in protocol.actions:
        for var in action.params:
            pool = instance.pools.get((action.name, var.name))
            if pool is not None and len(pool) < len(instance.of(var.sort)):
                chosen = f"{len(pool)} of {len(instance.of(var.sort))}"
                steps.setdefault((var.name, chosen), []).append(action.name)
    return told | {f"{var} of {', '.join(names)}": chosen for (var, chosen), names in steps.items()}


def rigid_values(rigid: Sequence[Symbol], instance: Instance) -> dict[str, str]:
    """Return the values of rigid symbols by their names; constants are compared, under the name of their sort."""
    values: dict[Sort, dict[str, str]] = {}
    for symbol in rigid:
        if not symbol.domain and not symbol.is_relation:
            values.setdefault(symbol.result, {})[symbol.name] = instance.functions[symbol.name][()]
    told = {
        sort.name: _equalities(named)
        for sort, named in values.items()
        if len(named) > 1 or {*named} != {*named.values()}
    }
    told |= {s.name: _table(instance.functions[s.name]) for s in rigid if s.domain and not s.is_relation}
    return told | {s.name: _describe_relation(s, instance) for s in rigid if s.is_relation}


def chosen_first_values(symbols: Iterable[Symbol], instance: Instance) -> dict[str, str]:
    """Return the first values that an instance chooses for those of ``symbols`` that have no initial value."""
    tables = {symbol.name: instance.first.get(symbol.name, {}) for symbol in symbols}
    return {name: table[()] if () in table else _table(table) for name, table in tables.items() if table}


def _equalities(values: Mapping[str, str]) -> str:
    """Return the words for which constants are equal, to which element, and which differ."""
    groups: dict[str, list[str]] = {}
    for name, element in values.items():
        groups.setdefault(element, []).append(name)
    named = (names if element in names else [*names, element] for element, names in groups.items())
    return " ≠ ".join(" = ".join(names) for names in named)


def _table(table: Mapping[Row, str]) -> str:
    if len(set(table.values())) == 1:
        return f"always {next(iter(table.values()))}"
    return _shown_rows([f"{_row(row)} → {value}" for row, value in sorted(table.items())])


def _describe_relation(symbol: Symbol, instance: Instance) -> str:
    """Return the rows of a relation in words; a strict linear order as the list of its elements."""
    rows = instance.relations.get(symbol.name, frozenset())
    if not symbol.domain:
        return "true" if rows else "false"
    elements = [instance.of(sort) for sort in symbol.domain]
    if line := _in_line(rows, elements):
        return " < ".join(line) if len(line) <= MOST_ROWS else f"{line[0]} < … < {line[-1]}, {len(line):,} in line"
    if len(rows) == math.prod(map(len, elements)):
        return "all"
    return _shown_rows([_row(row) for row in sorted(rows)]) or "none"


def _in_line(rows: Collection[Row], elements: list[Row]) -> Row:
    """Return the elements of a strict linear order, the first one first; empty if the rows are no such order."""
    if isinstance(rows, InLine) and set(rows.elements) == set(elements[0]) and len(rows) > 0:
        return rows.elements
    if len(elements) != 2 or elements[0] != elements[1] or len(elements[0]) < 2:
        return ()
    after = {each: sum(row[0] == each for row in rows) for each in elements[0]}
    line = tuple(sorted(elements[0], key=lambda each: -after[each]))
    return line if set(rows) == set(itertools.combinations(line, 2)) else ()


def _row(row: Row) -> str:
    return row[0] if len(row) == 1 else f"({', '.join(row)})"


def _shown_rows(rows: list[str]) -> str:
    beyond = len(rows) - MOST_ROWS
    return ", ".join(rows[:MOST_ROWS]) + (f" and {beyond:,} more" if beyond > 0 else "")
