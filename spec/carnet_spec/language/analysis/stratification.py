"""Whether every proof obligation of a protocol is in a decidable fragment, according to its sorts.

There is an arrow from sort A to sort B if terms of sort B can be made from terms of sort A: for each function from A to
B, and for each "for every a there is a b" in an assumption or in the negation of a claim (a solver introduces a Skolem
function from a to b). Without a cycle only finitely many terms can be made, so obligations are in the decidable
stratified fragment of first-order logic (an extension of EPR). Enumerations are finite and never part of a cycle.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from carnet_spec.language import terms
from carnet_spec.language.protocol import Protocol

#: For each variable in scope, the sorts of the universal variables that its value depends on.
Scope = dict[terms.Var, frozenset[terms.Sort]]


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow: terms of ``target`` can be made from terms of ``source``, because of ``why``."""

    source: terms.Sort
    target: terms.Sort
    why: str

    def __str__(self) -> str:
        return f"{self.source.name} → {self.target.name} ({self.why})"


@dataclass(frozen=True, slots=True)
class Stratification:
    """The arrows between the sorts of a protocol, and a shortest cycle among them, if any."""

    edges: tuple[Edge, ...]
    cycle: tuple[Edge, ...]

    @property
    def is_stratified(self) -> bool:
        """Whether there is no cycle, so that all obligations are decidable."""
        return not self.cycle


def stratification(protocol: Protocol) -> Stratification:
    """Return the arrows between the sorts of ``protocol``, each with its first reason."""
    edges: dict[tuple[terms.Sort, terms.Sort], Edge] = {}
    for edge in (*_function_edges(protocol), *_quantifier_edges(protocol)):
        if not edge.source.is_enumeration and not edge.target.is_enumeration:
            edges.setdefault((edge.source, edge.target), edge)
    found = tuple(edges.values())
    return Stratification(found, _shortest_cycle(found))


def _function_edges(protocol: Protocol) -> Iterator[Edge]:
    for symbol in protocol.symbols:
        if not symbol.is_relation:
            for sort in symbol.domain:
                yield Edge(sort, symbol.result, f"function {symbol.name}")


def _quantifier_edges(protocol: Protocol) -> Iterator[Edge]:
    axioms = [*protocol.axioms, *(axiom for threat in protocol.threats for axiom in threat.axioms)]
    for axiom in axioms:
        yield from _named_edges(axiom.formula, True, {}, f"axiom {axiom.name}")
    for invariant in protocol.invariants:
        yield from _named_edges(invariant.formula, True, {}, f"{invariant.name} as a hypothesis")
        yield from _named_edges(invariant.formula, False, {}, f"the negation of {invariant.name}")
    for action in protocol.actions:
        for guard in action.guards:
            where = f"guard '{guard.name}' of {action.name}"
            yield from _named_edges(guard.formula, True, {}, where)
        for update in action.updates:
            scope = {var: frozenset((var.sort,)) for var in update.each}
            yield from _either_way(update.when, scope, f"update '{update.name}' of {action.name}")
    for initial in protocol.initial:
        scope = {var: frozenset((var.sort,)) for var in initial.params}
        yield from _either_way(initial.value, scope, f"the initial value of {initial.symbol.name}")


def _either_way(term: terms.Term, scope: Scope, where: str) -> Iterator[Edge]:
    """Yield the arrows of a term under both polarities: substitution may put the term under either."""
    yield from _named_edges(term, True, scope, where)
    yield from _named_edges(term, False, scope, where)


def _named_edges(term: terms.Term, positive: bool, scope: Scope, where: str) -> Iterator[Edge]:
    """Yield an arrow for each Skolem function that ``term``, asserted or negated, introduces."""
    match term:
        case terms.Not(body):
            yield from _named_edges(body, not positive, scope, where)
        case terms.Implies(premise, conclusion):
            yield from _named_edges(premise, not positive, scope, where)
            yield from _named_edges(conclusion, positive, scope, where)
        case terms.And(parts) | terms.Or(parts):
            for part in parts:
                yield from _named_edges(part, positive, scope, where)
        case terms.Forall(bound, body) | terms.Exists(bound, body):
            if isinstance(term, terms.Forall) == positive:
                inner = scope | {var: frozenset((var.sort,)) for var in bound}
            else:
                witnesses = frozenset().union(*(scope.get(var, frozenset()) for var in terms.free_variables(term)))
                inner = scope | dict.fromkeys(bound, witnesses)
                for source in sorted(witnesses, key=lambda sort: sort.name):
                    for var in bound:
                        why = f"a {var.sort.name} for each {source.name}, in {where}"
                        yield Edge(source, var.sort, why)
            yield from _named_edges(body, positive, inner, where)
        case _:
            return


def _shortest_cycle(edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """Return a shortest cycle, by breadth-first search from each sort; of several, that of the first sort."""
    leaving: dict[terms.Sort, list[Edge]] = {}
    for edge in edges:
        leaving.setdefault(edge.source, []).append(edge)
    best: tuple[Edge, ...] = ()
    for start, first in leaving.items():
        paths: list[tuple[Edge, ...]] = [(edge,) for edge in first]
        reached: set[terms.Sort] = set()
        while paths and (not best or len(paths[0]) < len(best)):
            path = paths.pop(0)
            end = path[-1].target
            if end == start:
                best = path
            elif end not in reached:
                reached.add(end)
                paths += [(*path, edge) for edge in leaving.get(end, [])]
    return best
