"""Parsing the checker's input: an obligation in SMT-LIB 2, and the steps of a certificate.

An obligation must have exactly the form that Carnet writes, with one command on each line; the rest of SMT-LIB is
refused. Ambiguous text is refused, too: a name that is declared twice, or that is predefined in SMT-LIB.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from carnet_check.kernel.checker import Name, Node, Obligation, Refused, Step

DEEPEST = 200  #: The deepest nesting of parentheses in an obligation, and of functions in a certificate.
LONGEST = 1_000_000  #: The most characters in an obligation or a certificate.
KEPT = 4096  #: The most characters of a line whose parsed form is cached.
#: Words that are predefined in SMT-LIB.
RESERVED = frozenset(
    (
        *("!", "_", "as", "let", "forall", "exists", "match", "par", "true", "false", "not", "and", "or", "xor", "=>"),
        *("=", "distinct", "ite", "Bool", "Int", "Real", "BINARY", "DECIMAL", "HEXADECIMAL", "NUMERAL", "STRING"),
    )
)

_FIRST = ("(set-option :produce-unsat-cores true)", "(set-logic ALL)")
_LAST = ("(check-sat)", "(get-unsat-core)", "")
_TOKEN = r"\|[^|\\\n]*+\||[()]|[A-Za-z0-9~!@$%^&*_+=<>.?/:-]++"
_LINE = re.compile(rf"(?:{_TOKEN}| )*+")
_TOKENS = re.compile(_TOKEN)
_CALLED = {"=>": "implies", "ite": "choose"}  #: The operators whose name in a formula differs from that in SMT-LIB.

Expression = str | list["Expression"]


class Reading(NamedTuple):
    """An obligation, and the names of its hypotheses."""

    obligation: Obligation
    names: tuple[str, ...]


def read_obligation(text: str) -> Reading:
    """Read an obligation; raise Refused if the text is not one that Carnet writes."""
    lines = text.split("\n")
    if len(text) > LONGEST or tuple(lines[:2]) != _FIRST or tuple(lines[-3:]) != _LAST:
        raise Refused(f"expected an obligation that begins {' '.join(_FIRST)} and ends {' '.join(_LAST[:2])}")
    reader = _Reader()
    try:
        for line in lines[2:-3]:
            reader.command(_known(line) if len(line) <= KEPT else _parsed(line))
    except RecursionError:
        raise Refused("an obligation that is nested too deeply") from None
    return reader.reading()


def _parsed(line: str) -> list[Expression]:
    if not _LINE.fullmatch(line):
        raise Refused(f"expected a command of SMT-LIB in a line, not {line[:60]!r}")
    top: list[Expression] = []
    waiting = [top]
    for token in _TOKENS.findall(line):
        if token == "(":
            inner: list[Expression] = []
            waiting[-1].append(inner)
            waiting.append(inner)
            if len(waiting) > DEEPEST:
                raise Refused(f"more than {DEEPEST} parentheses around something")
        elif token == ")":
            waiting.pop()
            if not waiting:
                break
        else:
            waiting[-1].append(token[1:-1] if token[0] == "|" else token)
    if waiting != [top] or len(top) != 1 or isinstance(top[0], str):
        raise Refused(f"expected one command in a line, not {line[:60]!r}")
    return top[0]


#: Obligations share most of their lines. Only short lines are kept, so a hostile file cannot fill the memory.
_known = functools.lru_cache(maxsize=1024)(_parsed)

#: The sort of each constant and bound variable, and its level: the number of binders around its own.
#:
#: The constants, outside of all binders, have the levels -1, -2 and so on.
Variables = Mapping[str, tuple[int, str]]


@dataclass
class _Reader:
    """Reads the commands of an obligation, and stores what was declared and asserted so far."""

    sorts: set[str] = field(default_factory=set)
    functions: dict[Name, tuple[tuple[Name, ...], Name]] = field(default_factory=dict)
    relations: dict[str, tuple[str, ...]] = field(default_factory=dict)
    enumerations: dict[Name, tuple[Name, ...]] = field(default_factory=dict)
    members: dict[Name, Name] = field(default_factory=dict)
    constants: dict[str, tuple[int, str]] = field(default_factory=dict)
    hypotheses: dict[str, Node] = field(default_factory=dict)

    def reading(self) -> Reading:
        sorts = tuple(sort for _, sort in self.constants.values())
        hypotheses = tuple(self.hypotheses.values())
        obligation = Obligation(self.functions, self.enumerations, self.members, sorts, hypotheses)
        return Reading(obligation, tuple(self.hypotheses))

    # -- commands -----------------------------------------------------------------------------------

    def command(self, words: list[Expression]) -> None:
        match words:
            case ["assert", ["!", formula, ":named", str(name)]]:
                if name in self.hypotheses:
                    raise Refused(f"two hypotheses are called '{name}'")
                self.hypotheses[name] = self.formula(formula, self.constants, 0)
            case [*_] if self.hypotheses:
                raise Refused(f"expected an assertion that has a name, not {_excerpt(words)}")
            case ["declare-sort", str(name), "0"]:
                self.sorts.add(self.new_sort(name))
            case ["declare-datatypes", [[str(name), "0"]], [[*members]]] if members:
                self.enumerate(self.new_sort(name), members)
            case ["declare-const", str(name), str(sort)]:
                self.constants[self.new(name)] = (-1 - len(self.constants), self.sort(sort))
            case ["declare-fun", str(name), [*domain], "Bool"]:
                self.relations[self.new(name)] = tuple(map(self.sort, domain))
            case ["declare-fun", str(name), [*domain], str(result)]:
                self.functions[self.new(name)] = (tuple(map(self.sort, domain)), self.sort(result))
            case _:
                raise Refused(f"expected a declaration or an assertion that has a name, not {_excerpt(words)}")

    def enumerate(self, sort: str, members: Sequence[Expression]) -> None:
        for member in members:
            match member:
                case [str(name)]:
                    self.members[self.new(name)] = sort
                case _:
                    raise Refused(f"expected a member without arguments in '{sort}', not {_excerpt(member)}")
        self.enumerations[sort] = tuple(name for name, its in self.members.items() if its == sort)
        self.sorts.add(sort)

    def new_sort(self, name: str) -> str:
        if name in self.sorts or name in RESERVED:
            raise Refused(f"a sort cannot be called '{name}' here")
        return name

    def new(self, name: str) -> str:
        if self.is_declared(name) or name in RESERVED:
            raise Refused(f"nothing more can be called '{name}' here")
        return name

    def is_declared(self, name: str) -> bool:
        return name in self.functions or name in self.relations or name in self.members or name in self.constants

    def sort(self, name: Expression) -> str:
        if not isinstance(name, str) or name not in self.sorts:
            raise Refused(f"expected a declared sort, not {_excerpt(name)}")
        return name

    # -- formulas and terms -------------------------------------------------------------------------

    def formula(self, words: Expression, variables: Variables, depth: int) -> Node:
        match words:
            case "true" | "false" as word:
                return word, "", ()
            case ["not" as word, *parts] if len(parts) == 1:
                return self.joined(word, parts, variables, depth)
            case ["and" | "or" | "=>" as word, *parts] if len(parts) == 2:
                return self.joined(word, parts, variables, depth)
            case ["ite" as word, *parts] if len(parts) == 3:
                return self.joined(word, parts, variables, depth)
            case ["forall" | "exists" as word, [*bound], body] if bound:
                return self.quantified(word, bound, body, variables, depth)
            case ["=", left, right]:
                return self.equation(left, right, variables, depth)
            case str(name) if name in self.relations and name not in variables:
                return self.holds(name, [], variables, depth)
            case [str(name), *arguments] if name in self.relations and arguments:
                return self.holds(name, arguments, variables, depth)
        raise Refused(f"expected a formula, not {_excerpt(words)}")

    def joined(self, word: str, parts: Sequence[Expression], variables: Variables, depth: int) -> Node:
        return _CALLED.get(word, word), "", tuple(self.formula(part, variables, depth) for part in parts)

    def quantified(
        self, quantifier: str, bound: Sequence[Expression], body: Expression, variables: Variables, depth: int
    ) -> Node:
        """Read a quantified formula; the first variable is bound outermost."""
        inside, sorts, names = dict(variables), [], set[str]()
        for level, each in enumerate(bound, depth):
            match each:
                case [str(name), sort] if name not in RESERVED and not self.is_declared(name) and name not in names:
                    names.add(name)
                    sorts.append(self.sort(sort))
                    inside[name] = (level, sorts[-1])
                case _:
                    raise Refused(f"expected a variable and its sort, not {_excerpt(each)}")
        formula = self.formula(body, inside, depth + len(sorts))
        for sort in reversed(sorts):
            formula = (quantifier, sort, (formula,))
        return formula

    def equation(self, left: Expression, right: Expression, variables: Variables, depth: int) -> Node:
        (a, sort), (b, other) = self.term(left, variables, depth), self.term(right, variables, depth)
        if sort != other:
            raise Refused(f"an equation between '{sort}' and '{other}'")
        return "equal", "", (a, b)

    def holds(self, name: str, arguments: Sequence[Expression], variables: Variables, depth: int) -> Node:
        return "holds", name, self.arguments(name, self.relations[name], arguments, variables, depth)

    def term(self, words: Expression, variables: Variables, depth: int) -> tuple[Node, Name]:
        match words:
            case str(name) if name in variables:
                level, sort = variables[name]
                return ("bound", depth - 1 - level, ()), sort
            case str(name) if name in self.members:
                return ("member", name, ()), self.members[name]
            case str(name) if name in self.functions:
                domain, result = self.functions[name]
                return ("apply", name, self.arguments(name, domain, [], variables, depth)), result
            case [str(name), *arguments] if name in self.functions and arguments:
                domain, result = self.functions[name]
                return ("apply", name, self.arguments(name, domain, arguments, variables, depth)), result
        raise Refused(f"expected a term, not {_excerpt(words)}")

    def arguments(
        self, name: str, sorts: tuple[Name, ...], words: Sequence[Expression], variables: Variables, depth: int
    ) -> tuple[Node, ...]:
        read = [self.term(each, variables, depth) for each in words]
        if tuple(sort for _, sort in read) != sorts:
            raise Refused(f"the arguments of '{name}' have other sorts than declared")
        return tuple(term for term, _ in read)


def _excerpt(words: object) -> str:
    return repr(words)[:60]


# -- certificates ---------------------------------------------------------------------------------

#: The sorts of the arguments of each function, and of its result.
Functions = Mapping[Name, tuple[tuple[Name, ...], Name]]


def read_refutation(text: str, names: Sequence[str], functions: Functions) -> list[Step]:
    """Read the steps of a certificate; it refers to ``names`` by number. Raises Refused if the text is malformed."""
    if len(text) > LONGEST:
        raise Refused(f"a certificate of more than {LONGEST} characters")
    tokens = _Tokens(iter(text.split(" ")), names, functions)
    steps: list[Step] = []
    for word in tokens.left:
        if word not in _STEPS:
            raise Refused(f"expected a step (one of {' '.join(_STEPS)}), not {word[:20]!r}")
        steps.append(_STEPS[word](tokens))
    return steps


@dataclass(frozen=True, slots=True)
class _Tokens:
    """The tokens of a certificate that are still to be read."""

    left: Iterator[str]
    names: Sequence[str]
    functions: Functions

    def word(self) -> str:
        found = next(self.left, None)
        if found is None:
            raise Refused("a certificate that ends in the middle of a step")
        return found

    def number(self) -> int:
        return _number(self.word())

    def numbers(self) -> tuple[int, ...]:
        return tuple([_number(self.word()) for _ in range(self.number())])

    def rewritings(self) -> tuple[tuple[int, bool], ...]:
        """Read a number n, then n places and directions, and return these."""
        return tuple([(self.number(), self.flag()) for _ in range(self.number())])

    def flag(self) -> bool:
        word = self.word()
        if word not in {"0", "1"}:
            raise Refused(f"expected 0 or 1, not {word[:20]!r}")
        return word == "1"

    def terms(self) -> tuple[Node, ...]:
        return tuple([self.term() for _ in range(self.number())])

    def term(self, depth: int = 0) -> Node:
        word = self.word()
        kind, number = word[:1], _number(word[1:])
        if kind == "e":
            return "eigen", number, ()
        if kind not in {"m", "f"} or number >= len(self.names) or depth > DEEPEST:
            raise Refused(f"expected a term, not {word[:20]!r}")
        name = self.names[number]
        if kind == "m":
            return "member", name, ()
        if name not in self.functions:
            raise Refused(f"no function '{name}' in the obligation")
        return "apply", name, tuple(self.term(depth + 1) for _ in self.functions[name][0])


_STEPS: Mapping[str, Callable[[_Tokens], Step]] = {
    "u": lambda tokens: ("use", (tokens.number(),), (), ()),
    "i": lambda tokens: ("instance", (tokens.number(),), tokens.terms(), ()),
    "w": lambda tokens: ("witness", (tokens.number(),), (), ()),
    "s": lambda tokens: ("split", (tokens.number(),), (), ()),
    "c": lambda tokens: ("cases", (), (tokens.term(),), ()),
    "x": lambda tokens: ("close", tokens.numbers(), (), tokens.rewritings()),
}
_NUMBER = re.compile(r"0|[1-9][0-9]{0,5}")


@functools.lru_cache(maxsize=4096)
def _number(word: str) -> int:
    """Return the value of a number in a certificate; a second spelling of the same number is refused."""
    if not _NUMBER.fullmatch(word):
        raise Refused(f"expected a number below a million, not {word[:20]!r}")
    return int(word)
