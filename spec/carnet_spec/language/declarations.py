"""What a specification speaks of: relations, functions, constants, variables and flags, each declared by its name."""

from __future__ import annotations

from carnet_spec.language.expressions import AnIndividual, Formula, Function, Individual, Relation, declared_sort
from carnet_spec.language.terms import BOOL, Apply, Kind, Role, Sort, Symbol


def rigid_relation(name: str, *domain: type[Individual], kind: Kind = Kind.PUBLIC, says: str = "") -> Relation:
    """Declare a relation that never changes."""
    return Relation(Symbol(name, _sorts(name, domain), BOOL, kind, mutable=False, says=says))


def rigid_flag(name: str, *, kind: Kind = Kind.TRUTH, says: str = "") -> Formula:
    """Declare a fact that never changes."""
    return Formula(Apply(Symbol(name, (), BOOL, kind, mutable=False, says=says), ()))


def rigid_function(
    name: str, *domain: type[Individual], to: type[AnIndividual], says: str = ""
) -> Function[AnIndividual]:
    """Declare a function that never changes."""
    return Function(
        Symbol(name, _sorts(name, domain), declared_sort(name, to), Kind.PUBLIC, mutable=False, says=says), to
    )


def constant(name: str, sort: type[AnIndividual], *, says: str = "") -> AnIndividual:
    """Declare one distinguished element of ``sort``."""
    return sort(Apply(Symbol(name, (), declared_sort(name, sort), Kind.PUBLIC, mutable=False, says=says), ()))


def relation(name: str, *domain: type[Individual], kind: Kind, of: Role | None = None, says: str = "") -> Relation:
    """Declare a relation that steps change; ``of`` names the role whose own state it is."""
    return Relation(Symbol(name, _sorts(name, domain), BOOL, kind, mutable=True, role=of, says=says))


def function(
    name: str, *domain: type[Individual], to: type[AnIndividual], kind: Kind, of: Role | None = None, says: str = ""
) -> Function[AnIndividual]:
    """Declare a function that steps change."""
    symbol = Symbol(name, _sorts(name, domain), declared_sort(name, to), kind, mutable=True, role=of, says=says)
    return Function(symbol, to)


def variable(name: str, sort: type[AnIndividual], *, of: Role, says: str = "") -> AnIndividual:
    """Declare one piece of state of the role ``of``, holding an element of ``sort``."""
    return sort(Apply(Symbol(name, (), declared_sort(name, sort), Kind.STATE, mutable=True, role=of, says=says), ()))


def flag(name: str, *, of: Role, says: str = "") -> Formula:
    """Declare one piece of state of the role ``of`` that is true or false, at first false."""
    return Formula(Apply(Symbol(name, (), BOOL, Kind.STATE, mutable=True, role=of, says=says), ()))


def _sorts(name: str, domain: tuple[type[Individual], ...]) -> tuple[Sort, ...]:
    return tuple(declared_sort(name, sort) for sort in domain)
