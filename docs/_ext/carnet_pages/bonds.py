"""The page on compositions: which assumption of one protocol is a claim of another, made from the bonds themselves."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from carnet_spec.language import Family
from carnet_spec.language.composition import BuiltBond, Composition, End
from carnet_spec.language.printing import show_symbol
from carnet_spec.language.terms import Symbol, symbols_of

from .bond_status import BondStatus, Judgement
from .diagrams import Row, facing
from .markdown import Lines, code, formula, label, page, prose, table

PAGE = "compositions.md"
_ABOUT = """\
Two protocols that are proved apart each take something for granted. Where one runs over the other, some of that is
what the other establishes. A *bond* names both by the names they have in their protocols: formulas that one of them
assumes, or that its proofs use as the word of what lies around it, and the claims, lemmas or axioms of the other that
imply them. An *interpretation* says what the symbols of the one are in the words of the other. The formulas are the
protocols' own. Nothing is copied."""
_CHECKED = """\
The verdicts were found when this page was made. Z3 was asked for any number of everything. *Implied*: what is
established implies what is assumed. *Equal*: they are the same formulas, up to the names of variables. Each bond is
checked for three more things: leave out any one of the names on the right and it no longer holds; each case that it
speaks of has a state in which all holds that is proved of the other protocol; and all that is named holds under the
threat models that are paired. A part that holds by the reading alone is shown as such. An answer that is unknown
counts as none."""
_IS_NOT = """\
A bond is no proof about a system that is made of both. It compares what is said of one state. That steps of the one
are steps of the other, and that an interpretation is what the words mean, is for a reader to judge. Bonds go both
ways, and what establishes one may rest on another: then both may fail together. So a bond says that two formulas fit,
and not that an assumption may be dropped. Where a symbol that never changes is read as something that does, the bond
says so of each moment, and not that it stays; these symbols are listed."""
_SIGN = {BondStatus.EQUAL: "=", BondStatus.IMPLIED: "implies", BondStatus.OPEN: "open"}

Judge = Callable[[BuiltBond], Judgement]


def compositions_page(found: Iterable[Composition], judge: Judge) -> str:
    """Return the page. Raises ValueError if a bond does not hold."""
    return page(
        "# Compositions",
        _ABOUT,
        _CHECKED,
        _IS_NOT,
        *(part for composition in found for part in _composition(composition, judge)),
    )


def _composition(composition: Composition, judge: Judge) -> Iterator[str | Lines]:
    bonds = composition.build()
    found = [_holding(composition, judge(bond)) for bond in bonds]
    standings = [each.standing for each in found]
    upper, lower = composition.families[End.UPPER], composition.families[End.LOWER]
    yield f"({label('composition', composition.id)})="
    yield f"## {prose(composition.title)}"
    yield "An arrow leads from what is established to what is taken for granted."
    rows = [_drawn(bond, standing) for bond, standing in zip(bonds, standings, strict=True)]
    yield facing(composition.id, _short(upper), _short(lower), rows)
    yield f"*Threat models.* {prose(composition.fits)}"
    yield table([_short(upper), _short(lower)], ([code(one), code(other)] for one, other in composition.threats))
    yield table(
        ["bond", "taken for granted", "established by", "verdict"],
        (_row(composition, bond, standing) for bond, standing in zip(bonds, standings, strict=True)),
    )
    yield table(
        ["bond", "what that discharges", "what is left"],
        ([prose(each.name), prose(each.discharges), prose(each.leaves)] for each in composition.bonds),
    )
    for bond, judgement in zip(bonds, found, strict=True):
        yield from _bond(composition, bond, judgement)
    yield f"### Left open between {prose(_short(upper))} and {prose(_short(lower))}"
    yield table(["of", "assumption", "why nothing here discharges it"], _open(composition))


def _holding(composition: Composition, judgement: Judgement) -> Judgement:
    if not judgement.holds:
        raise ValueError(f"{composition.id}, bond '{judgement.bond}': {'; '.join(judgement.reasons)}")
    return judgement


def _short(family: Family) -> str:
    return family.title.partition(":")[0]


def _drawn(bond: BuiltBond, standing: BondStatus) -> Row:
    """Return the row of a bond: the claims that establish it by name, and how many lemmas and axioms beside them."""
    ids, stated = (
        ", ".join(bond.bond.part_of),
        [name for name in bond.bond.assumes if not name.startswith("assumption ")],
    )
    assumed = f"{ids}: {_names(stated)}" if stated else ids
    claims = [name for name in bond.bond.by if name.startswith("claim ")]
    shown = claims or list(bond.bond.by)[:2]
    more = len(bond.bond.by) - len(shown)
    by = _names(shown) + (f" and {more} more" if more else "")
    of_upper = bond.bond.of is End.UPPER
    return Row(assumed if of_upper else by, by if of_upper else assumed, _SIGN[standing], of_upper)


def _names(names: Iterable[str]) -> str:
    return ", ".join(name.partition(" ")[2] for name in names)


def _row(composition: Composition, bond: BuiltBond, standing: BondStatus) -> Sequence[str]:
    own, other = composition.families[bond.bond.of], composition.families[bond.bond.of.other]
    ids = ", ".join(_assumption(own, id) for id in bond.bond.part_of)
    return (
        prose(bond.bond.name),
        f"{prose(_short(own))}, {ids}: {_listed(own, bond.bond.assumes)}",
        f"{prose(_short(other))}: {_listed(other, bond.bond.by)}",
        f"{standing.value}, at each moment" if bond.moving else standing.value,
    )


def _assumption(family: Family, id: str) -> str:
    return f"{{ref}}`{id} <{label(family.id, 'requirement', id)}>`" if family.text.text else prose(id)


def _listed(family: Family, names: Iterable[str]) -> str:
    return ", ".join(_named(family, *name.split(" ", 1)) for name in names)


def _named(family: Family, kind: str, name: str) -> str:
    if kind == "assumption":
        return f"the axioms of {_assumption(family, name)}"
    if kind == "claim":
        return f"claim {{ref}}`{name} <{label(family.id, 'claim', name)}>`"
    return f"{kind} {code(name)}"


def _bond(composition: Composition, bond: BuiltBond, judgement: Judgement) -> Iterator[str | Lines]:
    own, other = composition.families[bond.bond.of], composition.families[bond.bond.of.other]
    yield f"### {prose(bond.bond.name)}"
    yield f"{prose(_short(own))} takes for granted:"
    for term in bond.assumed.values():
        yield formula(term)
    yield f"In the words of {prose(_short(other))}, where {prose(bond.bond.reading.title)}:"
    for term in bond.read.values():
        yield formula(term)
    if judgement.by_reading:
        yield "This much holds by the reading alone, whatever is established:"
    for term in judgement.by_reading:
        yield formula(term)
    yield table([f"in {_short(own)}", f"in {_short(other)}", "meaning"], _meanings(bond))
    if bond.moving:
        yield f"Never changes in the one, and does in the other: {', '.join(code(each.name) for each in bond.moving)}."


def _meanings(bond: BuiltBond) -> Iterator[Sequence[str]]:
    reading = bond.bond.reading
    spoken = {symbol for term in bond.assumed.values() for symbol in symbols_of(term)}
    for symbol in sorted(spoken, key=lambda symbol: symbol.name):
        meaning = reading.meaning(symbol)
        place, _, said = meaning.display.partition(" is ")
        yield code(place), code(said), prose(meaning.says or _of_glue(reading.glue, symbols_of(meaning.body)))


def _of_glue(glue: frozenset[Symbol], spoken: frozenset[Symbol]) -> str:
    """Return what the glue among ``spoken`` is."""
    return "; ".join(
        f"{show_symbol(symbol)}: {symbol.says}" for symbol in sorted(glue & spoken, key=lambda each: each.name)
    )


def _open(composition: Composition) -> Iterator[Sequence[str]]:
    for each in composition.left_open:
        family = composition.families[each.of]
        yield prose(_short(family)), ", ".join(_assumption(family, id) for id in each.ids), prose(each.why)
