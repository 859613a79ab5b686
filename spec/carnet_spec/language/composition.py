"""Compositions: two protocols, one over the other, and the bonds between what one assumes and the other claims.

A *bond* names formulas that one protocol takes for granted (an assumption by its id, an axiom, or an invariant that its
proofs use) and formulas that the other establishes (claims, lemmas, axioms). Under an interpretation the second have to
imply the first; :mod:`carnet_check.verification.composition` asks. The formulas are looked up in the built protocols.
Every assumption of both protocols is in a bond or is left open with a reason, so none is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.family import Family
from carnet_spec.language.interpretation import Interpretation
from carnet_spec.language.naming import and_known, require_name
from carnet_spec.language.protocol import Protocol, listed
from carnet_spec.language.statements import Invariant
from carnet_spec.language.terms import Symbol, Term, symbols_of
from carnet_spec.language.tracing import Place, called_from


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
    """What one protocol takes for granted, and what of the other establishes it.

    Attributes:
        of: the protocol that takes it for granted.
        assumes: its formulas, each by its kind and name: ``assumption A7``, ``axiom places do not loop``,
            ``lemma received_in_order``, ``claim no-replay``.
        by: formulas of the other protocol, named so.
        reading: what the symbols of the one are in the other.
        part_of: the assumptions, by id, of which this is a part.
        discharges: which part that is.
        leaves: what of it is still assumed.
    """

    name: str
    of: End
    assumes: tuple[str, ...]
    by: tuple[str, ...]
    reading: Interpretation
    part_of: tuple[str, ...]
    discharges: str
    leaves: str
    place: Place | None = None

    def __post_init__(self) -> None:
        require_name("a bond", self.name)


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """Assumptions that the other protocol says nothing of, and why."""

    of: End
    ids: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class BuiltBond:
    """A bond with the formulas that it names."""

    bond: Bond
    assumed: Mapping[str, Term]
    """What is taken for granted, as its protocol says it."""
    read: Mapping[str, Term]
    """The same in the words of the other protocol."""
    premises: Mapping[str, Term]
    """What the other protocol establishes."""
    worlds: Mapping[str, Mapping[str, Term]]
    """For each threat model of the other protocol, all that is assumed and proved of it there."""
    moving: tuple[Symbol, ...]
    """What never changes in the one and is read as what changes in the other: the bond says it of each moment."""


class Composition:
    """Two protocols and the bonds between them.

    Attributes:
        threats: pairs of threat models, the upper's and the lower's, under which everything that a bond names holds.
        fits: why the pairs fit.
    """

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
        self.threats = threats
        self.fits = fits
        self.bonds: list[Bond] = []
        self.left_open: list[LeftOpen] = []

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
        """Add a bond; :class:`Bond` says what its parts are.

        Raises:
            SpecificationError: another has its name, or reads the same protocol in another way: a word means one thing.
        """
        if any(other.name == name for other in self.bonds):
            raise SpecificationError(f"{self.id}: two bonds are called '{name}'")
        if any(other.of is of and other.reading is not reading for other in self.bonds):
            raise SpecificationError(f"{self.id}, bond '{name}' reads {of.value} formulas otherwise than another bond")
        bond = Bond(name, of, assumes, by, reading, part_of, discharges, leaves, called_from())
        self.bonds.append(bond)
        return bond

    def leave_open(self, of: End, *ids: str, why: str) -> None:
        """Say that nothing in the other protocol establishes these assumptions, and why."""
        self.left_open.append(LeftOpen(of, ids, why))

    def built(self, variants: Mapping[End, str] | None = None) -> tuple[BuiltBond, ...]:
        """Look up all that the bonds name, in the main variants or in ``variants``.

        Raises:
            SpecificationError: something is not there, is not claimed under the threat models, or is forgotten.
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
            read = {name: bond.reading.read(term) for name, term in assumed.items()}
        except SpecificationError as error:
            where = f" ({bond.place})" if bond.place else ""
            raise SpecificationError(f"{self.id}, bond '{bond.name}'{where}: {error}") from error
        moving = {symbol for term in assumed.values() for symbol in bond.reading.moving(term)}
        ordered = tuple(sorted(moving, key=lambda symbol: symbol.name))
        worlds = {id: _all_of(other, id) for id in self.threats_of(bond.of.other)}
        return BuiltBond(bond, assumed, read, premises, worlds, ordered)

    def _looked_up(self, protocol: Protocol, end: End, names: tuple[str, ...]) -> dict[str, Term]:
        found: dict[str, Term] = {}
        for said in names:
            kind, _, name = said.partition(" ")
            if kind not in _LOOKED_UP:
                raise SpecificationError(f"'{said}' does not begin with one of: {listed(_LOOKED_UP)}")
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
            raise SpecificationError(f"{self.id} forgets what {protocol.id} assumes: {listed(forgotten)}")
        unknown = sorted((bonded | opened) - set(known)) or sorted(bonded & opened)
        if unknown:
            raise SpecificationError(f"{self.id}: of {protocol.id}, no assumption or left open and bonded: {unknown}")


def _require_symbols(reading: Interpretation, own: Protocol, other: Protocol) -> None:
    """Refuse what is read of symbols that the one protocol lacks, or said in symbols that the other lacks."""
    known = {*other.symbols, *reading.glue}
    clashing = sorted({symbol.name for symbol in reading.glue} & {symbol.name for symbol in other.symbols})
    if clashing:
        raise SpecificationError(f"glue has a name of {other.id}: {listed(clashing)}")
    for symbol, meaning in reading.meanings.items():
        where = f" ({meaning.place})" if meaning.place else ""
        if symbol not in own.symbols:
            raise SpecificationError(f"{own.id} has no symbol {symbol.name}{where}")
        strange = sorted(each.name for each in symbols_of(meaning.body) if each not in known)
        if strange:
            raise SpecificationError(f"{symbol.name}{where} is read as what {other.id} lacks: {listed(strange)}")


def _all_of(protocol: Protocol, threat: str) -> dict[str, Term]:
    """Return all that is assumed and all that is claimed of a protocol under a threat model."""
    found = {f"axiom {axiom.name}": axiom.formula for axiom in (*protocol.axioms, *protocol.threat(threat).axioms)}
    for claim in protocol.claims:
        if claim.invariant is not None and threat in set(claim.under) - set(claim.fails_under):
            found[f"claim {claim.name}"] = claim.invariant.formula
    for lemma in protocol.lemmas:
        if not lemma.under or threat in lemma.under:
            found[f"lemma {lemma.name}"] = lemma.formula
    return found


def _assumption(protocol: Protocol, name: str, _threats: tuple[str, ...]) -> dict[str, Term]:
    found = {f"axiom {axiom.name}": axiom.formula for axiom in protocol.axioms if axiom.assumption == name}
    if not found:
        known = and_known(name, dict.fromkeys(axiom.assumption for axiom in protocol.axioms if axiom.assumption))
        raise SpecificationError(f"no axiom of {protocol.id} states the assumption '{name}'{known}")
    return found


def _axiom(protocol: Protocol, name: str, _threats: tuple[str, ...]) -> dict[str, Term]:
    found = {f"axiom {axiom.name}": axiom.formula for axiom in protocol.axioms if axiom.name == name}
    if not found:
        known = and_known(name, (axiom.name for axiom in protocol.axioms))
        raise SpecificationError(f"{protocol.id} has no axiom '{name}'{known}")
    return found


def _claim(protocol: Protocol, name: str, threats: tuple[str, ...]) -> dict[str, Term]:
    claim = protocol.claim(name)
    made = set(claim.under) - set(claim.fails_under)
    return _invariant("claim", protocol, claim.checked, [id for id in threats if id not in made])


def _lemma(protocol: Protocol, name: str, threats: tuple[str, ...]) -> dict[str, Term]:
    found = [lemma for lemma in protocol.lemmas if lemma.name == name]
    if not found:
        known = and_known(name, (lemma.name for lemma in protocol.lemmas))
        raise SpecificationError(f"{protocol.id} has no lemma '{name}'{known}")
    lacking = [id for id in threats if found[0].under and id not in found[0].under]
    return _invariant("lemma", protocol, found[0], lacking)


def _invariant(kind: str, protocol: Protocol, invariant: Invariant, lacking: list[str]) -> dict[str, Term]:
    if lacking:
        design = f"{protocol.id}, variant {protocol.variant}"
        raise SpecificationError(f"{kind} {invariant.name} of {design} does not hold under {listed(lacking)}")
    return {f"{kind} {invariant.name}": invariant.formula}


_LOOKED_UP: Mapping[str, Callable[[Protocol, str, tuple[str, ...]], dict[str, Term]]] = {
    "assumption": _assumption,
    "axiom": _axiom,
    "claim": _claim,
    "lemma": _lemma,
}
"""How each kind of formula is found in a protocol."""
