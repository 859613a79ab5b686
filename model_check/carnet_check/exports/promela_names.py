"""Names and expressions of Promela: a variable for each place that changes, a number for each element held there."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from carnet_check.exports.ground.conditions import Condition, Every, Fact, Place, Some, Value
from carnet_check.exports.ground.system import Ground
from carnet_check.exports.identifiers import Identifiers
from carnet_spec.language import Instance, Protocol

PROMELA = """
active assert atomic bit bool break byte c_code c_decl c_expr c_state c_track chan d_proctype d_step do else empty
enabled eval false fi for full get_priority goto hidden if in init inline int len local ltl mtype nempty never nfull
notrace np_ od of pc_value pid printf printm priority proctype provided return run select set_priority short show skip
timeout trace true typedef unless unsigned until weak always eventually xr xs W X U V now
"""
C = """
auto case char const continue default double enum extern float long register signed sizeof static struct switch union
void volatile while asm typeof inline restrict linux unix i386
"""
VERIFIER = """
uchar uint ushort ulong sv_save sv_restor trpt boq vsize nstates truncs mreached depth main State Trans P0 SAFETY
NOREDUCE VECTORSZ BFS BITSTATE COLLAPSE MA HC protocol spent end
"""
RESERVED = frozenset((PROMELA + C + VERIFIER).split())
"""Words of Promela; of C, where a variable is the field of a structure; of the verifier that Spin makes."""
WIDTH = 110


class Names:
    """How the things of one instance are called."""

    def __init__(self, protocol: Protocol, instance: Instance, ground: Ground) -> None:
        self._ids = Identifiers(RESERVED)
        self._values = ground.values
        self._sorts = {symbol.name: symbol.result.name for symbol in protocol.symbols if not symbol.is_relation}
        self._numbers = self._counted(protocol, instance)
        self._instead: dict[Place, str] = {}
        self._saved: list[int] = []
        """How many bits each variable has that keeps something within a step."""
        for place in ground.values:
            self.place(place)

    def _counted(self, protocol: Protocol, instance: Instance) -> dict[str, dict[str, int]]:
        """Number the elements that some place holds, sort by sort."""
        held: dict[str, set[Value]] = {}
        for place, values in self._values.items():
            if place.symbol in self._sorts:
                held.setdefault(self._sorts[place.symbol], set()).update(values)
        return {
            sort.name: {name: n for n, name in enumerate(each for each in instance.of(sort) if each in held[sort.name])}
            for sort in protocol.sorts
            if sort.name in held
        }

    # -- names -------------------------------------------------------------------------------------

    def place(self, place: Place) -> str:
        """Return the variable of a place."""
        return self._instead.get(place) or self._ids.of(place, place.symbol, *place.row)

    def value(self, place: Place, value: Value) -> str:
        """Return what stands for a value of a place."""
        if isinstance(value, bool):
            return str(int(value))
        return self._ids.of(("value", self._sorts[place.symbol], value), value)

    def claim(self, name: str) -> str:
        """Return the name of the condition that a claim states."""
        return self._ids.of(("claim", name), name)

    def same_sort(self, place: Place, other: Place) -> bool:
        """Whether two places hold elements of one sort, or both say whether a relation holds."""
        return self._sorts.get(place.symbol) == self._sorts.get(other.symbol)

    def width(self, place: Place) -> int:
        """Return how many bits a place takes."""
        if place.symbol not in self._sorts:
            return 1
        numbers = self._numbers[self._sorts[place.symbol]]
        return max(1, max(numbers[str(value)] for value in self._values[place]).bit_length())

    def save(self, place: Place) -> str:
        """Return the name of a variable that keeps what a place held before a step."""
        number = len(self._instead)
        self._saved += [1] if number == len(self._saved) else []
        self._saved[number] = max(self._saved[number], self.width(place))
        name = self._ids.of(("before", number), f"before_{number}")
        self._instead[place] = name
        return name

    def forget(self) -> None:
        """Read every place itself again."""
        self._instead.clear()

    # -- declarations ------------------------------------------------------------------------------

    def definitions(self) -> Iterator[str]:
        """Yield a definition for each element that a variable may hold."""
        for sort, numbers in self._numbers.items():
            yield f"/* {sort} */"
            for element, number in numbers.items():
                yield f"#define {self._ids.of(('value', sort, element), element)} {number}"
            yield ""

    def declarations(self) -> Iterator[str]:
        """Yield a declaration for each place, with its first value."""
        for place, values in self._values.items():
            first = "" if values[0] is False else f" = {self.value(place, values[0])}"
            if place.symbol in self._sorts:
                yield f"unsigned {self.place(place)} : {self.width(place)}{first};"
            else:
                yield f"bit {self.place(place)}{first};"

    def temporaries(self) -> Iterator[str]:
        """Yield declarations of what keeps, within a step, the values that were there before it; it is 0 otherwise."""
        for number, width in enumerate(self._saved):
            yield f"unsigned {self._ids.of(('before', number), f'before_{number}')} : {width};"

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, condition: Condition, *, inside: bool = False) -> str:
        """Return a condition; one that is ``inside`` of another has brackets where it needs them."""
        match condition:
            case bool():
                return "true" if condition else "false"
            case Fact(place, True, wanted):
                return self.place(place) if wanted else f"!{self.place(place)}"
            case Fact(place, value, wanted):
                written = f"{self.place(place)} {'==' if wanted else '!='} {self.value(place, value)}"
                return f"({written})" if inside else written
            case Every(parts):
                written = " && ".join(self.expression(part, inside=True) for part in parts)
                return f"({written})" if inside else written
            case Some(parts):
                return f"({' || '.join(self.expression(part, inside=True) for part in parts)})"


def comment(*paragraphs: str) -> list[str]:
    """Return paragraphs as one comment; those that begin with a space are kept as they are."""
    lines: list[str] = []
    for paragraph in paragraphs:
        plain = "".join(letter if letter.isprintable() else " " for letter in paragraph).replace("*/", "* /")
        kept = plain.startswith("  ") or not plain
        lines += [plain] if kept else textwrap.wrap(plain, WIDTH) if plain else []
    while lines and not lines[-1]:
        lines.pop()
    if len(lines) == 1:
        return [f"/* {lines[0]} */"]
    return ["/*", *(f" * {line}".rstrip() for line in lines), " */"]
