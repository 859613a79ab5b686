"""Interpretations: what the symbols of one protocol are, said in the words of another.

An interpretation gives each sort of one protocol a sort of another, and each symbol a formula or a term over symbols of
the other. It takes the very terms of the one protocol and returns them in the other's words, so nothing is written down
twice. What neither protocol has, such as the one user that is looked at, is glue, and declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from carnet_spec.language import terms
from carnet_spec.language.draft import variable_of
from carnet_spec.language.errors import MisuseError
from carnet_spec.language.expressions import (
    Expression,
    Formula,
    Function,
    Individual,
    Relation,
    called,
    declared_sort,
    formula_term,
    parameters,
    used_symbol,
)
from carnet_spec.language.notation import show
from carnet_spec.language.tracing import Place, called_from, said_twice, written_at

Symbolic = Expression | Relation | Function[Any]
"""What a symbol is as an author has it: a relation, a function, a constant, a variable or a flag."""
Said = TypeVar("Said", bound=Callable[..., Expression])


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a symbol is in the other protocol: a term over variables for its arguments."""

    symbol: terms.Symbol
    params: tuple[terms.Var, ...]
    body: terms.Term
    says: str
    place: Place | None

    def at(self, args: tuple[terms.Term, ...]) -> terms.Term:
        """Return what the symbol is at ``args``, which are the other protocol's."""
        return terms.substitute(self.body, dict(zip(self.params, args, strict=True)))

    @property
    def shown(self) -> str:
        """The definition as people read it."""
        return f"{show(terms.Apply(self.symbol, self.params))} is {show(self.body)}"


class Interpretation:
    """Reads the symbols of one protocol as formulas and terms of another."""

    def __init__(
        self,
        title: str,
        *,
        sorts: Mapping[type[Individual], type[Individual]],
        glue: tuple[Symbolic, ...] = (),
    ) -> None:
        self.title = title
        self.place = called_from()
        self.sorts = {
            declared_sort(f"{title}: a sort", one): declared_sort(f"{title}: a sort", other)
            for one, other in sorts.items()
        }
        self.glue = frozenset(symbol_of(each) for each in glue)
        self.meanings: dict[terms.Symbol, Meaning] = {}
        for one, other in self.sorts.items():
            self._require_alike(one, other)

    def reads(self, what: Symbolic) -> Callable[[Said], Said]:
        """Say by the decorated function what a symbol is; its parameters are of the other protocol's sorts.

        The function stays what it is, so that others may call it.

        Raises:
            MisuseError: the function has another arity, other sorts, or another result than the symbol.
        """
        symbol = symbol_of(what)

        def state(function: Said) -> Said:
            place = written_at(function)
            params = parameters(function)
            self._require_domain(symbol, tuple(terms.sort_of(param.term) for param in params), place)
            body = said_twice(function, lambda: self._result(symbol, function(*params), place))
            says = " ".join((function.__doc__ or "").split())
            self._add(Meaning(symbol, tuple(map(variable_of, params)), body, says, place))
            return function

        return state

    def renames(self, what: Symbolic, other: Symbolic) -> None:
        """Say that a symbol is a symbol of the other protocol, at the same arguments.

        Raises:
            MisuseError: the two differ in arity or sorts.
        """
        symbol, meant, place = symbol_of(what), symbol_of(other), called_from()
        self._require_domain(symbol, meant.domain, place)
        self._require_result(symbol, meant.result, place)
        params = tuple(terms.Var(f"x{number}", sort) for number, sort in enumerate(meant.domain, 1))
        self._add(Meaning(symbol, params, terms.Apply(meant, params), "", place))

    def read(self, term: terms.Term) -> terms.Term:
        """Return ``term`` in the other protocol's words.

        Raises:
            MisuseError: it has a sort or a symbol that is not interpreted.
        """
        renamed: dict[terms.Var, terms.Var] = {}
        for var in sorted(terms.variables_in(term), key=lambda var: (var.name, var.sort.name)):
            new = terms.Var(var.name, self._sort(var.sort))
            while new in renamed.values():
                new = terms.Var(new.name + "'", new.sort)
            renamed[var] = new
        return self._read(term, renamed)

    def moving(self, term: terms.Term) -> tuple[terms.Symbol, ...]:
        """Return the symbols of ``term`` that never change, and are read as what does change, by name."""
        rigid = (symbol for symbol in terms.symbols_of(term) if not symbol.mutable and symbol in self.meanings)
        moved = [each for each in rigid if any(part.mutable for part in terms.symbols_of(self.meanings[each].body))]
        return tuple(sorted(moved, key=lambda symbol: symbol.name))

    def _read(self, term: terms.Term, renamed: Mapping[terms.Var, terms.Var]) -> terms.Term:
        match term:
            case terms.Var():
                return renamed[term]
            case terms.Member(sort, name):
                return terms.Member(self._sort(sort), name)
            case terms.Forall(bound, body) | terms.Exists(bound, body):
                return type(term)(tuple(renamed[var] for var in bound), self._read(body, renamed))
            case terms.Apply(symbol, args):
                return self.meaning(symbol).at(tuple(self._read(arg, renamed) for arg in args))
            case terms.And(parts):
                return terms.conjunction(tuple(self._read(part, renamed) for part in parts))
            case terms.Or(parts):
                return terms.disjunction(tuple(self._read(part, renamed) for part in parts))
            case _:
                return terms.rebuild(term, lambda child: self._read(child, renamed))

    def meaning(self, symbol: terms.Symbol) -> Meaning:
        """Return what a symbol is in the other protocol; that a value was drawn is so in both.

        Raises:
            MisuseError: nothing says so.
        """
        if symbol in self.meanings:
            return self.meanings[symbol]
        for one, other in self.sorts.items():
            if one.fresh and other.fresh and symbol == used_symbol(one):
                var = terms.Var("x1", other)
                return Meaning(symbol, (var,), terms.Apply(used_symbol(other), (var,)), "", self.place)
        raise MisuseError(f"{self._called(self.place)} does not say what {symbol.name} is")

    def _add(self, meaning: Meaning) -> None:
        if meaning.symbol in self.meanings:
            raise MisuseError(f"{self._called(meaning.place)} says twice what {meaning.symbol.name} is")
        self.meanings[meaning.symbol] = meaning

    def _sort(self, sort: terms.Sort) -> terms.Sort:
        if sort == terms.BOOL:
            return terms.BOOL
        if sort not in self.sorts:
            raise MisuseError(f"{self._called(self.place)} does not say what the sort {sort.name} is")
        return self.sorts[sort]

    def _require_alike(self, one: terms.Sort, other: terms.Sort) -> None:
        """Refuse a finite sort for one of any size, the reverse, and other members."""
        if (set(one.members) if one.members else None) != (set(other.members) if other.members else None):
            raise MisuseError(
                f"{self._called(self.place)} reads the sort {one.name} as {other.name}, which has other members"
            )

    def _require_domain(self, symbol: terms.Symbol, found: tuple[terms.Sort, ...], place: Place | None) -> None:
        if len(found) != len(symbol.domain):
            raise MisuseError(
                f"{self._called(place)} reads {symbol.name}, which takes {len(symbol.domain)} arguments, with "
                f"{len(found)}"
            )
        for position, (sort, given) in enumerate(zip(symbol.domain, found, strict=True), 1):
            if self._sort(sort) != given:
                raise MisuseError(
                    f"{self._called(place)}: argument {position} of {symbol.name} is a {sort.name}, which is read as a "
                    f"{self._sort(sort).name} and not as a {given.name}"
                )

    def _require_result(self, symbol: terms.Symbol, found: terms.Sort, place: Place | None) -> None:
        if self._sort(symbol.result) != found:
            wanted = "a formula" if symbol.is_relation else f"a {self._sort(symbol.result).name}"
            got = "a formula" if found == terms.BOOL else f"a {found.name}"
            raise MisuseError(f"{self._called(place)}: {symbol.name} has to be {wanted}, not {got}")

    def _result(self, symbol: terms.Symbol, said: object, place: Place | None) -> terms.Term:
        if symbol.is_relation and not isinstance(said, Individual):
            return formula_term(said, f"{self._called(place)}: {symbol.name}")
        if not isinstance(said, Expression):
            raise MisuseError(f"{self._called(place)}: {symbol.name} has to be an element, not {called(said)}")
        self._require_result(symbol, terms.sort_of(said.term), place)
        return said.term

    def _called(self, place: Place | None) -> str:
        return f"'{self.title}' ({place})" if place else f"'{self.title}'"


def symbol_of(what: Symbolic) -> terms.Symbol:
    """Return the symbol that an author means.

    Raises:
        MisuseError: it is more than a symbol, or less.
    """
    if isinstance(what, Relation | Function):
        return what.symbol
    if isinstance(what, Formula | Individual) and isinstance(what.term, terms.Apply) and not what.term.args:
        return what.term.symbol
    raise MisuseError(f"an interpretation is of symbols, and {called(what)} is none: name a relation or a constant")
