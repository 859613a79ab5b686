"""What a step changes, as assignments of Promela that mean the same one after another as all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import networkx

from carnet_check.exports.ground.closing import Group
from carnet_check.exports.ground.conditions import Fact, Place, denied, facts_in, some
from carnet_check.exports.ground.excluding import Change
from carnet_check.exports.ground.system import Step
from carnet_check.exports.promela_names import Names


def assignments(step: Step, names: Names) -> Iterator[tuple[str, str]]:
    """Yield the assignments of a step, each with the names of its updates.

    Every update reads the state before the step. So a place is written after all that read it; where places read each
    other, what they held is saved first.
    """
    changes = {change.place: (", ".join(named), change) for named, change in step.changes}
    for together in _in_order({place: change for place, (_, change) in changes.items()}):
        written = [(place, *changes[place]) for place in changes if place in together]
        before = {place: names.place(place) for place in changes if place in together and len(together) > 1}
        kept = {names.save(place): variable for place, variable in before.items()}
        expressions = [(place, _expression(change, names), named) for place, named, change in written]
        names.forget()
        yield from ((f"{name} = {variable}", "") for name, variable in kept.items())
        yield from ((f"{names.place(place)} = {expression}", named) for place, expression, named in expressions)
        yield from ((f"{name} = 0", "") for name in kept)


def conclusions(group: Group, names: Names) -> Iterator[str]:
    """Yield the lines that take deductions."""
    written = {
        names.place(fact): (
            names.expression(some(clause.when for clause in clauses), inside=True),
            ", ".join(dict.fromkeys(clause.rule for clause in clauses)),
        )
        for fact, clauses in group.facts.items()
    }
    if not group.repeated:
        for name, (condition, rules) in written.items():
            value = "1" if condition == "true" else f"{name} || {condition}"
            yield f"\t\t{name} = {value};  /* {rules} */"
        return
    yield "\t\tdo"
    for name, (condition, rules) in written.items():
        yield f"\t\t:: !{name} && {condition} -> {name} = 1  /* {rules} */"
    yield "\t\t:: else -> break"
    yield "\t\tod;"


def _expression(change: Change, names: Names) -> str:
    """Return what a place holds after a step, as an expression over what was held before."""
    copied = _copied(change, names)
    if copied is not None:
        return names.place(copied)
    if isinstance(change.cases[0][0], bool):
        return _flag(change, names)
    *first, (last, when) = change.cases
    written = names.value(change.place, last)
    if change.keeps is not False:
        written = f"({names.expression(when)} -> {written} : {names.place(change.place)})"
    for value, condition in reversed(first):
        written = f"({names.expression(condition)} -> {names.value(change.place, value)} : {written})"
    return written


def _flag(change: Change, names: Names) -> str:
    """Return whether a relation holds after a step: where it was inserted, or held and was not removed."""
    inserted = some(when for value, when in change.cases if value is True)
    removed = some(when for value, when in change.cases if value is False)
    if change.keeps is False:
        return "1" if inserted is True else "0" if inserted is False else names.expression(inserted)
    held = names.place(change.place)
    kept = held if removed is False else f"({held} && {names.expression(denied(removed), inside=True)})"
    return kept if inserted is False else f"{kept} || {names.expression(inserted, inside=True)}"


def _copied(change: Change, names: Names) -> Place | None:
    """Return the place whose value is copied, if one is."""
    sources = {
        when.place if isinstance(when, Fact) and when == Fact(when.place, value) else None
        for value, when in change.cases
    }
    source = sources.pop() if len(sources) == 1 else None
    whole = source is not None and change.keeps is False and len(change.cases) > 1
    return source if whole and source is not None and names.same_sort(source, change.place) else None


def _in_order(changes: Mapping[Place, Change]) -> Iterator[set[Place]]:
    """Yield the places of a step in an order in which each is written after those that read it."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(changes)
    for place, change in changes.items():
        read = {fact.place for _, when in change.cases for fact in facts_in(when)} - {place}
        graph.add_edges_from((other, place) for other in read if other in changes)
    yield from networkx.strongly_connected_components(graph)
