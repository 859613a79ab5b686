"""Converting certificates of the obligations' texts to certificates of Coq's obligations.

A certificate refers to the hypotheses of its text by number, and to symbols by name. Coq's obligation has all
hypotheses, and numbers for symbols. A certificate in prefix order also leaves the number of branches of a case split
open, since the kernel knows it when it gets there; Coq's terms contain that number.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from carnet_check.certificates.file import Certificates, Entry
from carnet_check.certificates.judging import with_hypotheses
from carnet_check.errors import CarnetError
from carnet_check.exports.coq_data import coq_list
from carnet_check.exports.systems import Action, Layer, Liveness, Name, Node, Part, System
from carnet_check.kernel import checker
from carnet_check.kernel.checker import Obligation, Refused, Step
from carnet_check.kernel.reader import read_refutation
from carnet_check.obligations import GOAL
from carnet_check.obligations.liveness import BEFORE
from carnet_spec.language.analysis.fair_parts import OTHERWISE

MOST_UNKNOWN = 1000  #: The most case splits of a certificate whose number of branches may be unknown.


@dataclass(frozen=True, slots=True)
class CoqObligation:
    """An obligation that Coq generates: its id without the threat model, and the names of its hypotheses, in order.

    ``elements`` are the symbols for the first constants of the text, which are parameters of a liveness property.
    """

    id: str
    constants: tuple[str, ...]
    hypotheses: tuple[str, ...]
    elements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConvertedCertificate:
    """A certificate of a Coq obligation: each step with the number of its branches, in prefix order."""

    steps: tuple[tuple[Step, int], ...]


def coq_obligations(system: System, layer: Layer) -> Iterator[CoqObligation]:
    """Yield the obligations of a layer in Coq's order; an action that changes nothing that a claim reads has none."""
    start = (*(f"sort:{name}" for name, _ in system.inhabited), *(f"axiom:{name}" for name, _ in system.axioms))
    start = (*start, *(f"threat:{name}" for name, _ in layer.axioms))
    for claim in layer.claims:
        yield CoqObligation(f"init/{_part(claim.name)}", (), (*start, GOAL))
    before = (*start, *(f"inv:{name}" for name, _ in (*layer.known, *layer.claims)))
    read = {claim.name: frozenset(_symbols(claim.value)) for claim in layer.claims}
    for action in system.actions:
        sorts, changed = tuple(sort.text for sort in action.parameters), _changed_by(action)
        for claim in layer.claims:
            if not changed.isdisjoint(read[claim.name]):
                id = f"step/{_part(action.name)}/{_part(claim.name)}"
                yield CoqObligation(id, sorts, (*before, *action.hypotheses, GOAL))


def coq_conditions(system: System, layer: Layer, live: Liveness) -> Iterator[CoqObligation]:
    """Yield the conditions of a liveness property in Coq's order; they may assume the claims of a layer."""
    start = (*(f"sort:{name}" for name, _ in system.inhabited), *(f"axiom:{name}" for name, _ in system.axioms))
    start = (*start, *(f"inv:{name}" for name, _ in layer.claims), BEFORE)
    stages = "+".join(_part(each.action).replace("+", "%2B") for each in live.fair)
    id = f"live/{_part(live.name)}/by/{stages}"
    meant = {each.action for each in live.fair if each.meant is not None}
    elements = tuple(name for name, _ in live.constants)

    def leads(id: str, action: Action, is_part: bool) -> CoqObligation:
        guards = tuple(f"guard:{guard.name}" for guard in action.guards)
        given = ("guard:given",) if is_part else ()
        hypotheses = (*start, *guards, *given, *action.hypotheses[len(guards) :], GOAL)
        return CoqObligation(id, tuple(sort.text for sort in action.parameters), hypotheses, elements)

    yield CoqObligation(f"{id}/possible", (), (*start, GOAL), elements)
    for place, own in enumerate(live.fair):
        name = _part(own.action)
        yield leads(f"{id}/stays/{name}", system.actions[own.which], own.meant is not None)
        for action in system.actions if place and not own.strong else ():
            parts = [(action.name, action.name in meant)]
            parts += [(action.name + OTHERWISE, True)] if action.name in meant else []
            for part, is_part in parts:
                if part != own.action:
                    yield leads(f"{id}/back/{name}/{_part(part)}", action, is_part)
    for action in system.actions:
        yield leads(f"live/{_part(live.name)}/waits/{_part(action.name)}", action, False)


def _changed_by(action: Action) -> frozenset[str]:
    return frozenset(name for update in action.updates for name in _symbols(update.value.parts[0]))


def _symbols(part: Part) -> Iterator[str]:
    match part:
        case Name("symbol", text):
            yield text
        case Name() | None | bool() | int():
            return
        case Node(_, parts):
            for each in parts:
                yield from _symbols(each)
        case _:
            for each in part:
                yield from _symbols(each)


def _part(name: str) -> str:
    return name.replace("%", "%25").replace("/", "%2F")


@dataclass(frozen=True)
class Converter:
    """Converts the certificates of one system."""

    system: System

    def layer(self, layer: Layer, certificates: Certificates) -> list[ConvertedCertificate]:
        """Convert the certificates of a layer.

        Raises CarnetError if the certificate of an obligation is missing or cannot be converted.
        """
        given = certificates.layers.get((self.system.variant, layer.threat))
        obligations = list(coq_obligations(self.system, layer))
        where = f"variant {self.system.variant}" + (f" under {layer.threat}" if layer.threat else "")
        if given is None or len(given.entries) != len(obligations):
            found = "none" if given is None else len(given.entries)
            raise CarnetError(f"{where}: expected {len(obligations)} certificates, found {found}; make them again")
        missing = [each.id for each, entry in zip(obligations, given.entries, strict=True) if entry is None]
        if missing:
            raise CarnetError(f"{where}: {len(missing)} obligations have no certificate, first {missing[0]}")
        pairs = zip(obligations, given.entries, strict=True)
        return [self.convert(obligation, entry) for obligation, entry in pairs if entry is not None]

    def liveness(self, certificates: Certificates) -> Iterator[tuple[Liveness, list[ConvertedCertificate]]]:
        """Yield each liveness property, with the certificates of its first attempt that has all of them."""
        given = certificates.liveness.get(self.system.variant, {})
        for live in self.system.liveness:
            for attempt in live.attempts:
                conditions = list(coq_conditions(self.system, self.system.assumable_layer, attempt))
                if all(each.id in given for each in conditions):
                    whole = Converter(replace(self.system, symbols=(*self.system.symbols, *live.constants)))
                    yield attempt, [whole.convert(each, given[each.id]) for each in conditions]
                    break

    def convert(self, obligation: CoqObligation, entry: Entry) -> ConvertedCertificate:
        """Convert an untrusted certificate.

        Raises CarnetError if the certificate is malformed, or uses a hypothesis that the obligation does not have.
        """
        places = {name: place for place, name in enumerate(obligation.hypotheses)}
        missing = [name for name in entry.hypotheses if name not in places]
        if missing:
            raise CarnetError(f"{obligation.id} has no hypothesis {', '.join(missing)}, which its certificate uses")
        if not entry.goes_through(name for name in obligation.hypotheses if name != GOAL):
            raise CarnetError(f"the certificate of {obligation.id} does not name its hypotheses once and in order")
        core = [places[name] for name in (*entry.hypotheses, GOAL)]
        try:
            read = read_refutation(entry.tokens, entry.names, self.declarations.functions)
        except Refused as refused:
            raise CarnetError(f"the certificate of {obligation.id} cannot be read: {refused}") from None
        unknown = [name for step in read for name in _members(step) if name not in self.declarations.members]
        if unknown:
            raise CarnetError(f"the certificate of {obligation.id} names {unknown[0]}, which is no member of a sort")
        read = [_with_elements(step, obligation.elements) for step in read]
        steps = [with_hypotheses(step, lambda number: core[number] if number < len(core) else number) for step in read]
        known = [self._count(step, obligation.constants) for step in steps]
        sizes = sorted({len(members) for members in self.system.enumerations.values()})
        return ConvertedCertificate(tuple(zip(steps, _completed(known, sizes), strict=True)))

    def _count(self, step: Step, constants: Sequence[str]) -> int | None:
        rule, _, terms, _ = step
        if rule != "cases":
            return {"close": 0, "split": 2}.get(rule, 1)
        (sort,) = (self._sort(term, constants) for term in terms)
        return None if sort is None else len(self.declarations.enumerations.get(sort, ()))

    def _sort(self, term: checker.Node, constants: Sequence[str]) -> checker.Name | None:
        """Return the sort of a term, or None if the term alone does not determine it."""
        match term:
            case "apply", function, _:
                return self.declarations.functions[function][1]
            case "member", name, _:
                return self.declarations.members.get(name)
            case "eigen", int(number), _ if number < len(constants):
                return f"sort.{constants[number]}"
        return None

    @cached_property
    def declarations(self) -> Obligation:
        """An obligation with the declarations of the system, named as in the texts, and without hypotheses."""
        functions: dict[checker.Name, tuple[tuple[checker.Name, ...], checker.Name]] = {}
        for name, value in self.system.symbols:
            _, sorts, result, changes = value.parts
            if isinstance(result, Node) and isinstance(result.parts[0], Name) and isinstance(sorts, tuple):
                arguments = tuple(f"sort.{sort.text}" for sort in sorts if isinstance(sort, Name))
                functions[("now." if changes else "rigid.") + name] = (arguments, f"sort.{result.parts[0].text}")
        enumerations: dict[checker.Name, tuple[checker.Name, ...]] = {
            f"sort.{sort}": tuple(f"enum.{member.text}" for member in members)
            for sort, members in self.system.enumerations.items()
        }
        members = {member: sort for sort, listed in enumerations.items() for member in listed}
        return Obligation(functions, enumerations, members, (), ())


def _with_elements(step: Step, elements: Sequence[str]) -> Step:
    """Return a step in which symbols replace the first constants, and the other elements are renumbered."""

    def term(old: checker.Node) -> checker.Node:
        kind, name, parts = old
        if kind != "eigen":
            return kind, name, tuple(map(term, parts))
        assert isinstance(name, int)
        if name < len(elements):
            return "apply", f"rigid.{elements[name]}", ()
        return kind, name - len(elements), ()

    rule, places, terms, rewritings = step
    return (rule, places, tuple(map(term, terms)), rewritings) if elements else step


OTHER_END = "a certificate's steps do not end where their branches do"


def _completed(known: Sequence[int | None], sizes: Sequence[int]) -> list[int]:
    """Return the number of branches of each step, so that the steps in prefix order form one complete tree.

    An unknown number becomes the least of ``sizes`` with which the other steps can complete the tree. A set of numbers
    of open branches is an integer with a bit for each. After a step with ``count`` branches, ``open + count - 1``
    branches are open.

    Raises CarnetError if the steps cannot form a complete tree, or too many numbers are unknown.
    """
    told = [count for count in known if count is not None]
    if len(told) == len(known):
        _require_end(told)
        return told
    if known.count(None) > MOST_UNKNOWN:
        raise CarnetError(f"a certificate has more than {MOST_UNKNOWN:,} cases of elements that it names itself")
    after: dict[int, int] = {}
    ending = 1
    for place in reversed(range(len(known))):
        count = known[place]
        if count is None:
            after[place] = ending
        before = (_with_branches(ending, each) for each in (sizes if count is None else (count,)))
        ending = functools.reduce(operator.or_, before, 0) & ~1
    if not ending & 2:
        raise CarnetError(OTHER_END)
    found, still_open = [], 1
    for place, count in enumerate(known):
        tried = sizes if count is None else (count,)
        found.append(next(each for each in tried if count is not None or after[place] >> (still_open + each - 1) & 1))
        still_open += found[-1] - 1
    return found


def _require_end(counts: Iterable[int]) -> None:
    """Require that steps in prefix order, with these numbers of branches, form one complete tree."""
    still_open = 1
    for count in counts:
        if not still_open:
            raise CarnetError(OTHER_END)
        still_open += count - 1
    if still_open:
        raise CarnetError(OTHER_END)


def _with_branches(after: int, count: int) -> int:
    """Return the possible numbers of open branches before a step with ``count`` branches, from those after it."""
    return after >> (count - 1) if count else after << 1


# -- for the program --------------------------------------------------------------------------------------------------


def certificate_line(certificate: ConvertedCertificate, number: Mapping[Name, int]) -> str:
    """Return a certificate in the input format of the program: one line of words."""
    return " ".join([_step_text(step, branches, number) for step, branches in certificate.steps])


def _step_text(step: Step, branches: int, number: Mapping[Name, int]) -> str:
    match step:
        case "instance", (fact,), terms, _:
            return " ".join([f"i {fact} {len(terms)}", *[_term_text(term, number) for term in terms]])
        case "cases", _, (term,), _:
            return f"c {branches} {_term_text(term, number)}"
        case "close", facts, _, rewritings:
            pairs = [f"{place} {int(backwards)}" for place, backwards in rewritings]
            return " ".join(["x", str(len(facts)), *map(str, facts), str(len(pairs)), *pairs])
    rule, (place,), _, _ = step
    return f"{rule[0]} {place}"


def _term_text(term: checker.Node, number: Mapping[Name, int]) -> str:
    match term:
        case "eigen", count, _:
            return f"e{count}"
        case "member", name, _:
            return f"m{number[_member(name)]}"
        case "apply", function, arguments:
            called = f"f{number[_function(function)]}"
            return " ".join([called, *[_term_text(each, number) for each in arguments]]) if arguments else called
    raise CarnetError(f"{term} is no term of a certificate")


@functools.lru_cache(maxsize=4096)
def _member(name: checker.Name) -> Name:
    return Name("member", str(name).removeprefix("enum."))


@functools.lru_cache(maxsize=4096)
def _function(name: checker.Name) -> Name:
    return Name("symbol", str(name).partition(".")[2])


# -- for Coq ----------------------------------------------------------------------------------------------------------


def coq_term(certificate: ConvertedCertificate, called: Callable[[Name], str]) -> str:
    """Return a certificate as a Coq term, in which ``n7`` is the number 7.

    Coq parses a name many times faster than a number.
    """
    waiting: list[str] = []
    for step, branches in reversed(certificate.steps):
        inside = [waiting.pop() for _ in range(branches)]
        waiting.append(_coq_step(step, inside, called))
    return waiting[0]


def _coq_step(step: Step, inside: Sequence[str], called: Callable[[Name], str]) -> str:
    match step:
        case "instance", (fact,), terms, _:
            return f"(Instance n{fact} {coq_list(_coq_value(term, called) for term in terms)} {inside[0]})"
        case "cases", _, (term,), _:
            return f"(Cases {_coq_value(term, called)} {coq_list(inside)})"
        case "close", facts, _, rewritings:
            steps = coq_list(f"(n{place}, {str(backwards).lower()})" for place, backwards in rewritings)
            return f"(Close {coq_list(f'n{fact}' for fact in facts)} {steps})"
    rule, (place,), _, _ = step
    return f"({rule.capitalize()} n{place} {' '.join(inside)})"


def _coq_value(term: checker.Node, called: Callable[[Name], str]) -> str:
    match term:
        case "eigen", number, _:
            return f"(Eigen n{number})"
        case "member", name, _:
            return f"(Member {called(_member(name))})"
        case "apply", function, arguments:
            return f"(Apply {called(_function(function))} {coq_list(_coq_value(each, called) for each in arguments)})"
    raise CarnetError(f"{term} is no term of a certificate")


def largest_number(certificate: ConvertedCertificate) -> int:
    """Return the largest number in a certificate."""
    return max((number for step, _ in certificate.steps for number in _numbers(step)), default=0)


def _numbers(step: Step) -> Iterator[int]:
    _, places, terms, rewritings = step
    yield from (*places, *(place for place, _ in rewritings))
    yield from (name for _, name, _ in _within(terms) if isinstance(name, int))


def _members(step: Step) -> Iterator[checker.Name]:
    return (name for kind, name, _ in _within(step[2]) if kind == "member")


def _within(terms: Iterable[checker.Node]) -> Iterator[checker.Node]:
    """Yield terms, and the terms within them."""
    waiting = list(terms)
    while waiting:
        term = waiting.pop()
        waiting += term[2]
        yield term
