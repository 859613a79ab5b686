"""Protocols: the immutable :class:`Protocol` with its actions, claims and assumptions.

Engines read these values and nothing else; a :class:`~carnet_spec.language.draft.Draft` builds them.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from carnet_spec.language import markup, statements, terms
from carnet_spec.language.actions import Action
from carnet_spec.language.encoding import PROTOCOL, Encoder
from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.lemma_claims import LemmaClaim
from carnet_spec.language.naming import and_known, require_name

_Named = TypeVar("_Named", Action, statements.Claim)
NOWHERE: Mapping[tuple[str, str], str] = MappingProxyType({})


@dataclass(frozen=True)
class Protocol:
    """A protocol with all design choices made: the value that every engine reads."""

    id: str
    title: str
    variant: str
    without: tuple[str, ...]
    actions: tuple[Action, ...]
    axioms: tuple[statements.Axiom, ...]
    initial: tuple[statements.Initial, ...]
    claims: tuple[statements.Claim, ...]
    lemmas: tuple[statements.Invariant, ...]
    goals: tuple[statements.Goal, ...]
    liveness: tuple[statements.Eventually, ...]
    threats: tuple[statements.Threat, ...]
    assumptions: tuple[statements.Assumption, ...]
    defences: tuple[statements.Defence, ...]
    sorts: tuple[terms.Sort, ...] = field(default=())
    symbols: tuple[terms.Symbol, ...] = field(default=())
    lemma_claims: tuple[LemmaClaim, ...] = field(default=())

    def __post_init__(self) -> None:
        require_name("a protocol", self.id)
        require_name(f"a variant of {self.id}", self.variant)

    def action(self, name: str) -> Action:
        """Return the action called ``name``."""
        return _by_name(self.actions, name, "action")

    def claim(self, name: str) -> statements.Claim:
        """Return the claim called ``name``."""
        return _by_name(self.claims, name, "claim")

    def threat(self, id: str) -> statements.Threat:
        """Return the threat model with this id."""
        for threat in self.threats:
            if threat.id == id:
                return threat
        raise SpecificationError(f"no threat model '{id}' in {self.id}{and_known(id, (t.id for t in self.threats))}")

    @property
    def undeclared_threats(self) -> tuple[tuple[str, str, str], ...]:
        """The undeclared threat models: for each the kind and name of the statement that names it, and its id."""
        known = {threat.id for threat in self.threats} or {statements.UNRESTRICTED}
        named = [("claim", claim.name, {*claim.under, *claim.fails_under}) for claim in self.claims]
        named += [("lemma", lemma.name, {*lemma.under}) for lemma in self.lemmas]
        named += [("lemma claim", lemma.name, {*lemma.under}) for lemma in self.lemma_claims]
        named += [("liveness", live.name, {*live.fails_under}) for live in self.liveness]
        return tuple((what, name, id) for what, name, ids in named for id in sorted(ids - known))

    def require_declared_threats(self, places: Mapping[tuple[str, str], object] = NOWHERE) -> None:
        """Refuse a statement about an undeclared threat model, as no engine would ever check it.

        A protocol may declare no threat model; its claims then hold without assumptions about corruption.

        Raises SpecificationError if one of several threat models is misspelt, or was never declared.

        Args:
            places: the source locations of statements, if they are known.
        """
        for what, name, id in self.undeclared_threats if self.threats else ():
            place = places.get((what, name))
            stated = f"{what} {name} ({place})" if place else f"{what} {name}"
            known = and_known(id, (threat.id for threat in self.threats))
            raise SpecificationError(f"{stated} names a threat model '{id}' that is not declared{known}")

    def resting_on(self, used: Iterable[str]) -> tuple[str, ...]:
        """Return the built-in assumptions and those of ``used``, in the order of declaration.

        Axioms that name no assumption come last, in their own order.
        """
        stated = set(used)
        named = [each.id for each in self.assumptions if each.built_in or each.id in stated]
        return (*named, *(axiom.states for axiom in self.axioms if not axiom.assumption and axiom.states in stated))

    @property
    def claim_names(self) -> list[str]:
        """The names of all claims; those of lemma claims come last."""
        return [*(claim.name for claim in self.claims), *(claim.name for claim in self.lemma_claims)]

    @property
    def invariants(self) -> tuple[statements.Invariant, ...]:
        """All stated claims and lemmas, claims first."""
        return tuple(claim.invariant for claim in self.claims if claim.invariant is not None) + self.lemmas

    @property
    def canonical_json(self) -> str:
        """The protocol as canonical JSON: two protocols have equal texts exactly if they are equal.

        It contains everything that engines read, and all words that are shown with a verdict: names, sentences and
        sources. It contains no names of Python code, and not the order in which sorts and symbols were declared. The
        tables ``sorts`` and ``symbols`` define the names that the other parts use; :mod:`.encoding` encodes the parts.
        """
        encoder = Encoder()
        parts = (
            *(self.id, self.title, self.variant, self.without, self.actions, self.axioms, self.initial, self.claims),
            *(self.lemmas, self.goals, self.liveness, self.threats, self.assumptions, self.defences),
            self.lemma_claims,
        )
        return encoder.document(PROTOCOL.write(encoder, parts), sorts=self.sorts, symbols=self.symbols)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the protocol's canonical encoding, in hex; equal digests mean equal specifications."""
        return hashlib.sha256(self.canonical_json.encode("ascii")).hexdigest()

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the roles, the claims with their threat models, and the actions."""
        return markup.document(
            f"{self.title} ({markup.design(self.id, self.variant, self.without)})",
            markup.table("Parties", ("party", "follows the protocol", "actions and rules"), _parties(self.actions)),
            markup.table("Threat models", ("threat model", "what it says"), ((t.id, t.title) for t in self.threats)),
            markup.table("Claims", ("claim", "what it says", "made", "expected to fall"), self._claimed()),
            markup.details(
                "Actions and rules",
                markup.table(
                    "In the order in which they are declared",
                    ("name", "by", "what happens"),
                    ((each.name, each.by.name, each.says) for each in self.actions),
                ),
            ),
        )

    def _claimed(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield each claim, its sentence, and the threat models under which it is made and expected to be violated."""
        for claim in self.claims:
            made = ", ".join(claim.under) if self.threats else "of everybody"
            fails = ", ".join(claim.fails_under)
            yield claim.name, claim.sentence, "not yet: it is only declared" if claim.declared else made, fails


def _by_name(things: Iterable[_Named], name: str, what: str) -> _Named:
    known = tuple(things)
    for thing in known:
        if thing.name == name:
            return thing
    raise SpecificationError(f"no {what} '{name}'{and_known(name, (thing.name for thing in known))}")


def name_list(names: Iterable[str]) -> str:
    """Return ``names`` in words."""
    return ", ".join(names) or "none"


def _parties(actions: Iterable[Action]) -> Iterator[tuple[str, str, str]]:
    """Yield each role with actions, in the order of its first action."""
    taken: dict[terms.Role, list[str]] = {}
    for action in actions:
        taken.setdefault(action.by, []).append(action.name)
    for role, names in taken.items():
        yield role.name, "yes" if role.honest else "no", ", ".join(names)


def terms_of_action(action: Action) -> tuple[terms.Term, ...]:
    """Return every term that occurs in ``action``."""
    found: list[terms.Term] = [guard.formula for guard in action.guards]
    for update in action.updates:
        found += [*update.args, update.when]
        if update.value is not None:
            found.append(update.value)
    return tuple(found)


# -- signature ---------------------------------------------------------------------------------------------------------
# The signature of a protocol: its symbols and sorts, collected from its parts.


def signature_of(
    protocol: Protocol, symbols: Iterable[terms.Symbol] = (), sorts: Iterable[terms.Sort] = ()
) -> tuple[tuple[terms.Symbol, ...], tuple[terms.Sort, ...]]:
    """Return the symbols and the sorts of a protocol, in an order that depends on the protocol alone.

    Symbols are in the order of first appearance. Sorts are those of the symbols, of parameters, of bound variables and
    of members, in this order.

    Raises SpecificationError if two different symbols have the same name.

    Args:
        protocol: the protocol.
        symbols: further declared symbols.
        sorts: further declared sorts.
    """
    found: dict[terms.Symbol, None] = {}
    bound: set[terms.Var] = set()
    members: set[terms.Member] = set()
    for part in _terms_and_symbols(protocol):
        if isinstance(part, terms.Symbol):
            found.setdefault(part)
            continue
        for sub in terms.subterms(part):
            if isinstance(sub, terms.Apply):
                found.setdefault(sub.symbol)
            elif isinstance(sub, terms.Var):
                bound.add(sub)
            elif isinstance(sub, terms.Forall | terms.Exists):
                bound.update(sub.bound)
            elif isinstance(sub, terms.Member):
                members.add(sub)
    names = [symbol.name for symbol in found]
    clashes = sorted({name for name in names if names.count(name) > 1})
    if clashes:
        raise SpecificationError(f"symbols declared twice with different meaning: {name_list(clashes)}")
    named = [sort for symbol in (*found, *symbols) for sort in (*symbol.domain, symbol.result)]
    named += [terms.sort_of(param) for action in protocol.actions for param in action.params]
    named += [param.sort for stated in (*_state_properties(protocol), *protocol.liveness) for param in stated.params]
    named += [var.sort for var in sorted(bound, key=lambda var: (var.name, var.sort.name))]
    named += [member.sort for member in sorted(members, key=lambda member: (member.sort.name, member.name))]
    used = tuple(sort for sort in dict.fromkeys((*named, *sorts)) if sort.name != terms.BOOL.name)
    return tuple(dict.fromkeys((*found, *symbols))), used


def _state_properties(protocol: Protocol) -> tuple[statements.Invariant | statements.Goal, ...]:
    return (*protocol.invariants, *protocol.goals)


def _terms_and_symbols(protocol: Protocol) -> Iterator[terms.Term | terms.Symbol]:
    """Yield every formula and term of a protocol, and the symbols that it assigns values to."""
    yield from (axiom.formula for axiom in protocol.axioms)
    for action in protocol.actions:
        yield from terms_of_action(action)
        yield from (update.symbol for update in action.updates)
    yield from (axiom.formula for threat in protocol.threats for axiom in threat.axioms)
    yield from (stated.body for stated in _state_properties(protocol))
    yield from (term for live in protocol.liveness for term in live.terms)
    for initial in protocol.initial:
        yield initial.symbol
        yield initial.value
