"""Compositions: two protocols, one over the other, and assume/guarantee bonds between them.

A *bond* names formulas that one protocol assumes (an assumption by its id, an axiom, or an invariant that its proofs
use) and formulas that the other establishes (claims, lemmas, axioms). Under an interpretation the second have to imply
the first, which a solver decides for the page on compositions. The formulas are looked up in the built protocols.
Every assumption of both protocols must be in a bond, or be left open with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from carnet_spec.language import terms
from carnet_spec.language.draft import variable_of
from carnet_spec.language.errors import MisuseError, SpecificationError
from carnet_spec.language.expressions import (
    Expression,
    Formula,
    Function,
    Individual,
    Relation,
    declared_sort,
    describe,
    formula_term,
    parameters,
    used_symbol,
)
from carnet_spec.language.family import Family
from carnet_spec.language.naming import and_known, require_name
from carnet_spec.language.notation import show
from carnet_spec.language.protocol import Protocol, name_list
from carnet_spec.language.statements import Invariant
from carnet_spec.language.tracing import SourceLocation, called_from, traced_twice, written_at

# -- interpretation ----------------------------------------------------------------------------------------------------
# Interpretations: translations of the symbols of one protocol into formulas and terms of another.
#
# An interpretation maps each sort of one protocol to a sort of another, and each symbol to a formula or a term over
# symbols of the other. It translates the terms of the built protocol, so no formula is written twice. A symbol that
# neither protocol has, such as a constant for the one user under consideration, is declared separately.

#: A symbol as authors write it: a relation, a function, a constant, a variable or a flag.
Symbolic = Expression | Relation | Function[Any]
Stated = TypeVar("Stated", bound=Callable[..., Expression])


@dataclass(frozen=True, slots=True)
class Meaning:
    """The interpretation of a symbol: a term of the other protocol over variables for its arguments."""

    symbol: terms.Symbol
    params: tuple[terms.Var, ...]
    body: terms.Term
    says: str
    place: SourceLocation | None

    def at(self, args: tuple[terms.Term, ...]) -> terms.Term:
        """Instantiate the definition with ``args``, terms of the other protocol."""
        return terms.substitute(self.body, dict(zip(self.params, args, strict=True)))

    @property
    def display(self) -> str:
        """The definition, for display."""
        return f"{show(terms.Apply(self.symbol, self.params))} is {show(self.body)}"


class Interpretation:
    """Translates the symbols of one protocol into formulas and terms of another."""

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

    def defines(self, what: Symbolic) -> Callable[[Stated], Stated]:
        """Interpret a symbol by the decorated function, whose parameters have the other protocol's sorts.

        The decorator returns the function unchanged, so that other definitions may call it.

        Raises MisuseError if the function has another arity, other sorts, or another result than the symbol.
        """
        symbol = symbol_of(what)

        def state(function: Stated) -> Stated:
            place = written_at(function)
            params = parameters(function)
            self._require_domain(symbol, tuple(terms.sort_of(param.term) for param in params), place)
            body = traced_twice(function, lambda: self._result(symbol, function(*params), place))
            says = " ".join((function.__doc__ or "").split())
            self._add(Meaning(symbol, tuple(map(variable_of, params)), body, says, place))
            return function

        return state

    def renames(self, what: Symbolic, other: Symbolic) -> None:
        """Interpret a symbol as a symbol of the other protocol, with the same arguments.

        Raises MisuseError if the two differ in arity or sorts.
        """
        symbol, meant, place = symbol_of(what), symbol_of(other), called_from()
        self._require_domain(symbol, meant.domain, place)
        self._require_result(symbol, meant.result, place)
        params = tuple(terms.Var(f"x{number}", sort) for number, sort in enumerate(meant.domain, 1))
        self._add(Meaning(symbol, params, terms.Apply(meant, params), "", place))

    def translate(self, term: terms.Term) -> terms.Term:
        """Translate ``term`` into the other protocol.

        Raises MisuseError if it has a sort or a symbol that is not interpreted.
        """
        renamed: dict[terms.Var, terms.Var] = {}
        for var in sorted(terms.variables_in(term), key=lambda var: (var.name, var.sort.name)):
            new = terms.Var(var.name, self._sort(var.sort))
            while new in renamed.values():
                new = terms.Var(new.name + "'", new.sort)
            renamed[var] = new
        return self._translate(term, renamed)

    def rigid_read_as_mutable(self, term: terms.Term) -> tuple[terms.Symbol, ...]:
        """Return the rigid symbols of ``term`` whose interpretation is mutable, sorted by name."""
        rigid = (symbol for symbol in terms.symbols_of(term) if not symbol.mutable and symbol in self.meanings)
        moved = [each for each in rigid if any(part.mutable for part in terms.symbols_of(self.meanings[each].body))]
        return tuple(sorted(moved, key=lambda symbol: symbol.name))

    def _translate(self, term: terms.Term, renamed: Mapping[terms.Var, terms.Var]) -> terms.Term:
        match term:
            case terms.Var():
                return renamed[term]
            case terms.Member(sort, name):
                return terms.Member(self._sort(sort), name)
            case terms.Forall(bound, body) | terms.Exists(bound, body):
                return type(term)(tuple(renamed[var] for var in bound), self._translate(body, renamed))
            case terms.Apply(symbol, args):
                return self.meaning(symbol).at(tuple(self._translate(arg, renamed) for arg in args))
            case terms.And(parts):
                return terms.conjunction(tuple(self._translate(part, renamed) for part in parts))
            case terms.Or(parts):
                return terms.disjunction(tuple(self._translate(part, renamed) for part in parts))
            case _:
                return terms.rebuild(term, lambda child: self._translate(child, renamed))

    def meaning(self, symbol: terms.Symbol) -> Meaning:
        """Return the interpretation of a symbol; the 'used' predicate of a fresh sort maps to its counterpart.

        Raises MisuseError if the symbol is not interpreted.
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
        """Raise unless both sorts are unbounded, or both finite with the same members."""
        if (set(one.members) if one.members else None) != (set(other.members) if other.members else None):
            raise MisuseError(
                f"{self._called(self.place)} reads the sort {one.name} as {other.name}, which has other members"
            )

    def _require_domain(
        self, symbol: terms.Symbol, found: tuple[terms.Sort, ...], place: SourceLocation | None
    ) -> None:
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

    def _require_result(self, symbol: terms.Symbol, found: terms.Sort, place: SourceLocation | None) -> None:
        if self._sort(symbol.result) != found:
            wanted = "a formula" if symbol.is_relation else f"a {self._sort(symbol.result).name}"
            got = "a formula" if found == terms.BOOL else f"a {found.name}"
            raise MisuseError(f"{self._called(place)}: {symbol.name} has to be {wanted}, not {got}")

    def _result(self, symbol: terms.Symbol, said: object, place: SourceLocation | None) -> terms.Term:
        if symbol.is_relation and not isinstance(said, Individual):
            return formula_term(said, f"{self._called(place)}: {symbol.name}")
        if not isinstance(said, Expression):
            raise MisuseError(f"{self._called(place)}: {symbol.name} has to be an element, not {describe(said)}")
        self._require_result(symbol, terms.sort_of(said.term), place)
        return said.term

    def _called(self, place: SourceLocation | None) -> str:
        return f"'{self.title}' ({place})" if place else f"'{self.title}'"


def symbol_of(what: Symbolic) -> terms.Symbol:
    """Return the symbol of an author's expression. Raises MisuseError if the expression is not just a symbol."""
    if isinstance(what, Relation | Function):
        return what.symbol
    if isinstance(what, Formula | Individual) and isinstance(what.term, terms.Apply) and not what.term.args:
        return what.term.symbol
    raise MisuseError(f"an interpretation is of symbols, and {describe(what)} is none: name a relation or a constant")


class End(Enum):
    """One of the two protocols of a composition."""

    UPPER = "upper"
    LOWER = "lower"

    @property
    def other(self) -> End:
        """The other protocol."""
        return End.LOWER if self is End.UPPER else End.UPPER


@dataclass(frozen=True, slots=True)
class Bond:
    """An assume/guarantee link: assumptions of one protocol and the formulas of the other that discharge them."""

    name: str
    of: End  #: the protocol that assumes.
    #: its formulas, each by its kind and name: ``assumption A7``, ``axiom places do not loop``, ``lemma
    #: received_in_order``, ``claim no-replay``.
    assumes: tuple[str, ...]
    by: tuple[str, ...]  #: formulas of the other protocol, named in the same way.
    reading: Interpretation  #: the interpretation of the one protocol's symbols in the other.
    part_of: tuple[str, ...]  #: the ids of the assumptions that these formulas are a part of.
    discharges: str  #: a sentence about the part that is discharged.
    leaves: str  #: a sentence about the part that is still assumed.
    place: SourceLocation | None = None

    def __post_init__(self) -> None:
        require_name("a bond", self.name)


@dataclass(frozen=True, slots=True)
class OpenAssumptions:
    """Assumptions that the other protocol does not discharge, and why."""

    of: End
    ids: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class BuiltBond:
    """A bond with the formulas that it names."""

    bond: Bond
    assumed: Mapping[str, terms.Term]  #: The assumed formulas, in the symbols of their protocol.
    read: Mapping[str, terms.Term]  #: The assumed formulas, translated to the other protocol.
    premises: Mapping[str, terms.Term]  #: The formulas that the other protocol establishes.
    #: For each threat model of the other protocol, all formulas that are assumed and proved there.
    hypotheses_by_threat: Mapping[str, Mapping[str, terms.Term]]
    #: Rigid symbols whose interpretation is mutable: for these, the bond holds in each state separately.
    moving: tuple[terms.Symbol, ...]


class Composition:
    """Two protocols and the bonds between them."""

    def __init__(
        self,
        id: str,
        title: str,
        *,
        upper: Family,
        lower: Family,
        threats: tuple[tuple[str, str], ...],
        fits: str,
    ) -> None:
        require_name("a composition", id)
        self.id = id
        self.title = title
        self.families = {End.UPPER: upper, End.LOWER: lower}
        #: pairs of threat models, the upper's and the lower's, under which everything that a bond names holds.
        self.threats = threats
        self.fits = fits  #: why the two threat models of each pair correspond.
        self.bonds: list[Bond] = []
        self.left_open: list[OpenAssumptions] = []

    def bond(
        self,
        name: str,
        *,
        of: End,
        assumes: tuple[str, ...],
        by: tuple[str, ...],
        reading: Interpretation,
        part_of: tuple[str, ...],
        discharges: str,
        leaves: str,
    ) -> Bond:
        """Add a bond; :class:`Bond` describes the arguments.

        Raises SpecificationError if another bond has its name, or uses another interpretation of the same protocol.
        """
        if any(other.name == name for other in self.bonds):
            raise SpecificationError(f"{self.id}: two bonds are called '{name}'")
        if any(other.of is of and other.reading is not reading for other in self.bonds):
            raise SpecificationError(f"{self.id}, bond '{name}' reads {of.value} formulas otherwise than another bond")
        bond = Bond(name, of, assumes, by, reading, part_of, discharges, leaves, called_from())
        self.bonds.append(bond)
        return bond

    def leave_open(self, of: End, *ids: str, why: str) -> None:
        """Declare that the other protocol does not discharge these assumptions, and why."""
        self.left_open.append(OpenAssumptions(of, ids, why))

    def build(self, variants: Mapping[End, str] | None = None) -> tuple[BuiltBond, ...]:
        """Look up all formulas that the bonds name, in the main variants or in ``variants``.

        Raises SpecificationError if a formula does not exist or is not claimed under the threat models, or an
        assumption is neither in a bond nor left open.
        """
        named = variants or {}
        protocols = {end: family.protocol(named.get(end, "")) for end, family in self.families.items()}
        for end, protocol in protocols.items():
            self._require_threats(end, protocol)
            self._require_all_assumptions(end, protocol)
        return tuple(self._built(bond, protocols) for bond in self.bonds)

    def threats_of(self, end: End) -> tuple[str, ...]:
        """Return the threat models of one of the protocols."""
        place = list(End).index(end)
        return tuple(dict.fromkeys(pair[place] for pair in self.threats))

    def _built(self, bond: Bond, protocols: Mapping[End, Protocol]) -> BuiltBond:
        own, other = protocols[bond.of], protocols[bond.of.other]
        try:
            assumed = self._looked_up(own, bond.of, bond.assumes)
            premises = self._looked_up(other, bond.of.other, bond.by)
            _require_symbols(bond.reading, own, other)
            read = {name: bond.reading.translate(term) for name, term in assumed.items()}
        except SpecificationError as error:
            where = f" ({bond.place})" if bond.place else ""
            raise SpecificationError(f"{self.id}, bond '{bond.name}'{where}: {error}") from error
        moving = {symbol for term in assumed.values() for symbol in bond.reading.rigid_read_as_mutable(term)}
        ordered = tuple(sorted(moving, key=lambda symbol: symbol.name))
        hypotheses_by_threat = {id: _all_of(other, id) for id in self.threats_of(bond.of.other)}
        return BuiltBond(bond, assumed, read, premises, hypotheses_by_threat, ordered)

    def _looked_up(self, protocol: Protocol, end: End, names: tuple[str, ...]) -> dict[str, terms.Term]:
        found: dict[str, terms.Term] = {}
        for said in names:
            kind, _, name = said.partition(" ")
            if kind not in _LOOKED_UP:
                raise SpecificationError(f"'{said}' does not begin with one of: {name_list(_LOOKED_UP)}")
            found |= _LOOKED_UP[kind](protocol, name, self.threats_of(end))
        if not found:
            raise SpecificationError(f"names nothing of {protocol.id}")
        return found

    def _require_threats(self, end: End, protocol: Protocol) -> None:
        known = [threat.id for threat in protocol.threats]
        for id in self.threats_of(end):
            if id not in known:
                raise SpecificationError(f"{self.id}: {protocol.id} has no threat model '{id}'{and_known(id, known)}")

    def _require_all_assumptions(self, end: End, protocol: Protocol) -> None:
        bonded = {id for bond in self.bonds if bond.of is end for id in bond.part_of}
        opened = {id for each in self.left_open if each.of is end for id in each.ids}
        known = [assumption.id for assumption in protocol.assumptions]
        forgotten = [id for id in known if id not in bonded | opened]
        if forgotten:
            raise SpecificationError(f"{self.id} forgets what {protocol.id} assumes: {name_list(forgotten)}")
        unknown = sorted((bonded | opened) - set(known)) or sorted(bonded & opened)
        if unknown:
            raise SpecificationError(f"{self.id}: of {protocol.id}, no assumption or left open and bonded: {unknown}")


def _require_symbols(reading: Interpretation, own: Protocol, other: Protocol) -> None:
    """Raise if an interpreted symbol is not in ``own``, or a definition uses one not in ``other``."""
    known = {*other.symbols, *reading.glue}
    clashing = sorted({symbol.name for symbol in reading.glue} & {symbol.name for symbol in other.symbols})
    if clashing:
        raise SpecificationError(f"glue has a name of {other.id}: {name_list(clashing)}")
    for symbol, meaning in reading.meanings.items():
        where = f" ({meaning.place})" if meaning.place else ""
        if symbol not in own.symbols:
            raise SpecificationError(f"{own.id} has no symbol {symbol.name}{where}")
        strange = sorted(each.name for each in terms.symbols_of(meaning.body) if each not in known)
        if strange:
            raise SpecificationError(f"{symbol.name}{where} is read as what {other.id} lacks: {name_list(strange)}")


def _all_of(protocol: Protocol, threat: str) -> dict[str, terms.Term]:
    """Return all axioms, claims and lemmas of a protocol under a threat model."""
    found = {f"axiom {axiom.name}": axiom.formula for axiom in (*protocol.axioms, *protocol.threat(threat).axioms)}
    for claim in protocol.claims:
        if claim.invariant is not None and threat in set(claim.under) - set(claim.fails_under):
            found[f"claim {claim.name}"] = claim.invariant.formula
    for lemma in protocol.lemmas:
        if not lemma.under or threat in lemma.under:
            found[f"lemma {lemma.name}"] = lemma.formula
    return found


def _assumption(protocol: Protocol, name: str, _threats: tuple[str, ...]) -> dict[str, terms.Term]:
    found = {f"axiom {axiom.name}": axiom.formula for axiom in protocol.axioms if axiom.assumption == name}
    if not found:
        known = and_known(name, dict.fromkeys(axiom.assumption for axiom in protocol.axioms if axiom.assumption))
        raise SpecificationError(f"no axiom of {protocol.id} states the assumption '{name}'{known}")
    return found


def _axiom(protocol: Protocol, name: str, _threats: tuple[str, ...]) -> dict[str, terms.Term]:
    found = {f"axiom {axiom.name}": axiom.formula for axiom in protocol.axioms if axiom.name == name}
    if not found:
        known = and_known(name, (axiom.name for axiom in protocol.axioms))
        raise SpecificationError(f"{protocol.id} has no axiom '{name}'{known}")
    return found


def _claim(protocol: Protocol, name: str, threats: tuple[str, ...]) -> dict[str, terms.Term]:
    claim = protocol.claim(name)
    made = set(claim.under) - set(claim.fails_under)
    return _invariant("claim", protocol, claim.checked, [id for id in threats if id not in made])


def _lemma(protocol: Protocol, name: str, threats: tuple[str, ...]) -> dict[str, terms.Term]:
    found = [lemma for lemma in protocol.lemmas if lemma.name == name]
    if not found:
        known = and_known(name, (lemma.name for lemma in protocol.lemmas))
        raise SpecificationError(f"{protocol.id} has no lemma '{name}'{known}")
    lacking = [id for id in threats if found[0].under and id not in found[0].under]
    return _invariant("lemma", protocol, found[0], lacking)


def _invariant(kind: str, protocol: Protocol, invariant: Invariant, lacking: list[str]) -> dict[str, terms.Term]:
    if lacking:
        design = f"{protocol.id}, variant {protocol.variant}"
        raise SpecificationError(f"{kind} {invariant.name} of {design} does not hold under {name_list(lacking)}")
    return {f"{kind} {invariant.name}": invariant.formula}


#: For each kind of formula, the function that looks it up in a protocol.
_LOOKED_UP: Mapping[str, Callable[[Protocol, str, tuple[str, ...]], dict[str, terms.Term]]] = {
    "assumption": _assumption,
    "axiom": _axiom,
    "claim": _claim,
    "lemma": _lemma,
}
