"""A specification as a value of ``model_check/coq``: its protocol, and in layers what is proved of it.

What is read is the canonical JSON of :mod:`carnet_spec.language.encoding` and nothing else. To trust a theorem is to
trust this file, those that write its values and statements down (:mod:`.coq_data`, :mod:`carnet_check.coq.folder`), and
the language of the specification; or to read what they wrote. Every value is a constructor of ``Logic.v`` or
``Protocol.v`` applied to its arguments. Variables lose their names here and become what ``Bound`` counts: the number of
those that are bound further in, or, in an action, the place of a parameter. What the Coq files have no word for is
refused, with its place: no specification is translated in part.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple

from carnet_spec.language import SpecificationError

FORMAT = "carnet-protocol/1"  #: The encoding that this module reads.
#: How the encoding defines the sort that formulas have; it is none of the sorts of a protocol.
BOOL = {"name": "Bool", "members": None, "fresh": False}
Json = Mapping[str, Any]


class Name(NamedTuple):
    """A named thing: a ``sort``, a ``symbol`` or a ``member`` of an enumeration."""

    kind: str
    text: str


class Node(NamedTuple):
    """A constructor of the Coq files with its arguments."""

    head: str
    parts: tuple[Part, ...]


#: A tuple is a list, and nothing is the option that has none.
Part = Node | Name | int | bool | None | tuple["Part", ...]


class Named(NamedTuple):
    """A formula or declaration with its name in the specification."""

    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class Action:
    """An action; ``apart`` lists the pairs of fresh parameters of one sort, whose values must differ."""

    name: str
    parameters: tuple[Name, ...]
    drawn: tuple[int, ...]
    guards: tuple[Named, ...]
    updates: tuple[Named, ...]
    apart: tuple[str, ...]

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """The names that obligations give to the guards and to the distinctness of fresh parameters."""
        return (*(f"guard:{guard.name}" for guard in self.guards), *(f"fresh:{pair}" for pair in self.apart))


@dataclass(frozen=True, slots=True)
class Layer:
    """The claims that are proved together: under the axioms of a threat model, or without one under every threat model.

    ``known`` are the invariants that hold already, ``claims`` those to be proved; lemmas are among both.
    """

    threat: str
    axioms: tuple[Named, ...]
    known: tuple[Named, ...]
    claims: tuple[Named, ...]


class Fairness(NamedTuple):
    """An action that is taken fairly; ``which`` restricts it to some steps by a formula over its parameters."""

    action: str
    which: int
    meant: Node | None
    strong: bool


@dataclass(frozen=True, slots=True)
class Liveness:
    """A liveness property; its parameters are ``constants``, symbols that are declared for it."""

    name: str
    constants: tuple[Named, ...]
    trigger: Node
    response: Node
    fair: tuple[Fairness, ...]

    @property
    def attempts(self) -> tuple[Liveness, ...]:
        """The same property with each fair action alone, then with all; a proof of one of them is enough."""
        alone = tuple(replace(self, fair=(each,)) for each in self.fair)
        return (*alone, self) if len(alone) > 1 else alone


@dataclass(frozen=True, slots=True)
class System:
    """One specification, with all claims that are proved of it."""

    protocol: str
    variant: str
    without: tuple[str, ...]
    digest: str
    #: says of each uninterpreted sort that it has an element; these come first among the axioms in Coq.
    inhabited: tuple[Named, ...]
    symbols: tuple[Named, ...]
    enumerations: Mapping[str, tuple[Name, ...]]
    axioms: tuple[Named, ...]
    initially: tuple[Node, ...]
    actions: tuple[Action, ...]
    threats: Mapping[str, tuple[Named, ...]]
    layers: tuple[Layer, ...]
    #: for each claim, the name of its invariant and the threat models that it is claimed under.
    stated: Mapping[str, tuple[str, tuple[str, ...]]]
    liveness: tuple[Liveness, ...]  #: the liveness properties that the Coq files have words for.

    @property
    def assumable_layer(self) -> Layer:
        """The layer whose claims liveness proofs may assume: the first one with claims."""
        return next((each for each in self.layers if each.claims), self.layers[0])


def system(text: str) -> System:
    """Return the system that the canonical JSON of a protocol describes.

    Raises SpecificationError if the JSON has another format, or a construct that the Coq files lack.
    """
    document: Json = json.loads(text)
    if document.get("format") != FORMAT:
        raise SpecificationError(f"expected a protocol in the format {FORMAT}, found {document.get('format')!r}")
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    return _Document(document).system(digest)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The variables that a term may name, as (name, sort): the one that ``Bound 0`` stands for comes first."""

    place: str
    variables: tuple[tuple[str, str], ...] = ()
    #: What stands for variables, as (name, sort), that are not bound: those of a property's parameters.
    constants: Mapping[tuple[str, str], Name] = field(default_factory=dict)

    def within(self, bound: tuple[str, str]) -> _Scope:
        return replace(self, variables=(bound, *self.variables))

    def at(self, place: str) -> _Scope:
        return replace(self, place=f"{self.place}, {place}")

    def index(self, name: str, sort: str) -> int:
        for index, (bound, its) in enumerate(self.variables):
            if bound == name:
                if its != sort:
                    raise self.refused(f"the variable {name} of sort {sort}, where {name} is bound with sort {its}")
                return index
        raise self.refused(f"the variable {name}, which is not bound")

    def refused(self, what: str) -> SpecificationError:
        return SpecificationError(f"{self.place}: Coq's language does not have {what}")


class _Document:
    """One canonical JSON document, read part by part."""

    def __init__(self, document: Json) -> None:
        self._json = document
        self._truth = {name for name, sort in document["sorts"].items() if sort == BOOL}
        self._sorts = {name: sort for name, sort in document["sorts"].items() if name not in self._truth}
        self._symbols: Mapping[str, Json] = document["symbols"]

    # -- terms and formulas ---------------------------------------------------------------------------------------

    def term(self, json: Any, scope: _Scope) -> Node:
        match json:
            case ["variable", name, sort]:
                if (name, sort) in scope.constants and name not in (bound for bound, _ in scope.variables):
                    return Node("Apply", (scope.constants[name, sort], ()))
                return Node("Bound", (scope.index(name, sort),))
            case ["member", sort, name]:
                return Node("Member", (self._member(sort, name, scope),))
            case ["apply", symbol, args] if not self._is_relation(symbol):
                return Node("Apply", (Name("symbol", symbol), self._terms(args, scope)))
            case [kind, *_]:
                raise scope.refused(f"'{kind}' where an element stands")
        raise scope.refused(repr(json))

    def formula(self, json: Any, scope: _Scope) -> Node:
        match json:
            case ["true"] | ["false"]:
                return Node("Const", (json[0] == "true",))
            case ["apply", symbol, args] if self._is_relation(symbol):
                return Node("Holds", (Name("symbol", symbol), self._terms(args, scope)))
            case ["equal", left, right]:
                return Node("Equal", (self.term(left, scope), self.term(right, scope)))
            case ["not", body]:
                return Node("Not", (self.formula(body, scope),))
            case ["and", parts]:
                return self._nested("And", parts, True, scope)
            case ["or", parts]:
                return self._nested("Or", parts, False, scope)
            case ["implies", premise, conclusion]:
                return Node("Implies", (self.formula(premise, scope), self.formula(conclusion, scope)))
            case ["forall", bound, body]:
                return self._quantified("Forall", bound, body, scope)
            case ["exists", bound, body]:
                return self._quantified("Exists", bound, body, scope)
            case [kind, *_]:
                raise scope.refused(f"'{kind}' where a formula stands")
        raise scope.refused(repr(json))

    def _terms(self, args: Sequence[Any], scope: _Scope) -> tuple[Node, ...]:
        return tuple(self.term(arg, scope) for arg in args)

    def _nested(self, head: str, parts: Sequence[Any], none: bool, scope: _Scope) -> Node:
        """Join two at a time, from the right: ``a and (b and c)``; the one of nothing is a constant."""
        if not parts:
            return Node("Const", (none,))
        *others, last = (self.formula(part, scope) for part in parts)
        return reduce(lambda right, left: Node(head, (left, right)), reversed(others), last)

    def _quantified(self, head: str, bound: Sequence[Any], body: Any, scope: _Scope) -> Node:
        if not bound:
            return self.formula(body, scope)
        (_, name, sort), *others = bound
        return Node(head, (self._sort(sort, scope), self._quantified(head, others, body, scope.within((name, sort)))))

    def _sort(self, sort: str, scope: _Scope) -> Name:
        if sort not in self._sorts:
            raise scope.refused(f"the sort {sort}, which has no elements of its own")
        return Name("sort", sort)

    def _is_relation(self, symbol: str) -> bool:
        return self._symbols[symbol]["result"] in self._truth

    def _member(self, sort: str, name: str, scope: _Scope) -> Name:
        if name not in (self._sorts[sort]["members"] or ()):
            raise scope.refused(f"{name}, which is no member of {sort}")
        return _member_of(sort, name)

    # -- actions --------------------------------------------------------------------------------------------------

    def action(self, json: Json) -> Action:
        scope = _Scope(f"action {json['name']}", _variables(json["parameters"]))
        if len({name for name, _ in scope.variables}) < len(scope.variables):
            raise scope.refused("two parameters of one name")
        drawn = self._drawn(json["guards"], scope)
        guards = tuple(self._guard(each, scope) for each in json["guards"])
        updates = tuple(self.update(each, scope) for each in json["updates"])
        pairs = itertools.combinations(drawn, 2)
        apart = [(scope.variables[i], scope.variables[j]) for i, j in pairs if i != j]
        return Action(
            name=json["name"],
            parameters=tuple(self._sort(sort, scope) for _, sort in scope.variables),
            drawn=drawn,
            guards=guards,
            updates=updates,
            apart=tuple(f"{one},{other}" for (one, sort), (other, its) in apart if sort == its),
        )

    def _guard(self, json: Json, scope: _Scope) -> Named:
        return Named(json["name"], self.formula(json["formula"], scope.at(f"guard '{json['name']}'")))

    def _drawn(self, guards: Iterable[Json], scope: _Scope) -> tuple[int, ...]:
        """Return the places of the parameters that an action draws fresh: those that it asks to be unused."""
        found = []
        for guard in guards:
            match guard["kind"], guard["formula"]:
                case "fresh", ["not", ["apply", _, [["variable", name, sort]]]]:
                    found.append(scope.index(name, sort))
                case "fresh", _:
                    raise scope.at(f"guard '{guard['name']}'").refused("a fresh draw of anything but one parameter")
        return tuple(found)

    def update(self, json: Json, scope: _Scope) -> Named:
        """Read arguments over the parameters, and the rest also over what ``each`` stands for, which comes first."""
        scope = scope.at(f"update '{json['name']}'")
        arguments, declared = json["arguments"], self._symbols[json["symbol"]]["arguments"]
        for each in json["each"]:
            _, name, sort = each
            if arguments.count(each) != 1 or declared[arguments.index(each)] != sort:
                raise scope.refused(f"an 'each' of sort {sort} that is not one argument of its own")
            if name in (parameter for parameter, _ in scope.variables):
                raise scope.refused(f"an 'each' with the name of the parameter {name}")
        pattern = tuple(None if arg in json["each"] else Node("Some", (self.term(arg, scope),)) for arg in arguments)
        open_first = tuple(variable for arg in arguments if arg in json["each"] for variable in _variables([arg]))
        inner = replace(scope, variables=open_first + scope.variables)
        condition = self.formula(json["when"], inner)
        parts = (Name("symbol", json["symbol"]), pattern, condition, self._effect(json, inner))
        return Named(json["name"], Node("Build_update", parts))

    def _effect(self, json: Json, scope: _Scope) -> Node:
        match json["effect"], json["value"]:
            case "insert", None:
                return Node("Insert", ())
            case "remove", None:
                return Node("Remove", ())
            case "assign", value if value is not None:
                return Node("Assign", (self.term(value, scope),))
        raise scope.refused(f"the effect {json['effect']!r} with the value {json['value']!r}")

    # -- statements -----------------------------------------------------------------------------------------------

    def symbol(self, name: str) -> Named:
        """Return a declaration; a relation has no sort of result."""
        json = self._symbols[name]
        scope = _Scope(f"symbol {name}")
        result = None if self._is_relation(name) else Node("Some", (self._sort(json["result"], scope),))
        sorts = tuple(self._sort(sort, scope) for sort in json["arguments"])
        return Named(name, Node("Build_declaration", (Name("symbol", name), sorts, result, json["changes"])))

    def initial(self, json: Json) -> Node:
        """Return a pair of a symbol and its first value, which reads the arguments, the first being ``Bound 0``."""
        symbol = json["symbol"]
        scope = _Scope(f"the initial value of {symbol}", _variables(json["parameters"]))
        if [sort for _, sort in scope.variables] != self._symbols[symbol]["arguments"]:
            raise scope.refused("parameters of other sorts than the symbol's")
        if self._is_relation(symbol):
            return Node("pair", (Name("symbol", symbol), Node("inl", (self.formula(json["value"], scope),))))
        return Node("pair", (Name("symbol", symbol), Node("inr", (self.term(json["value"], scope),))))

    def axioms(self, listed: Iterable[Json]) -> tuple[Named, ...]:
        return tuple(self.axiom(each) for each in listed)

    def axiom(self, json: Json) -> Named:
        return Named(json["name"], self.formula(json["formula"], _Scope(f"axiom {json['name']}")))

    def invariant(self, json: Json) -> Named:
        closed = ["forall", json["parameters"], json["body"]]
        return Named(json["name"], self.formula(closed, _Scope(f"invariant {json['name']}")))

    def _sayable(self, listed: Iterable[Json]) -> Iterator[Liveness]:
        """Yield the properties that the Coq files have words for."""
        for each in listed:
            with contextlib.suppress(SpecificationError):
                yield self.eventually(each)

    def eventually(self, json: Json) -> Liveness:
        scope, params = _Scope(f"liveness property {json['name']}"), _variables(json.get("parameters", ()))
        named = {(name, sort): Name("symbol", f"{name} of {json['name']}") for name, sort in params}
        if len(named) < len(params) or not self._symbols.keys().isdisjoint(each.text for each in named.values()):
            raise scope.refused("two parameters of one name, or one with the name of a symbol")
        scope = replace(scope, constants=named)
        declared = []
        for (_, sort), symbol in named.items():
            result = Node("Some", (self._sort(sort, scope),))
            declared.append(Named(symbol.text, Node("Build_declaration", (symbol, (), result, False))))
        trigger, response = (self.formula(json[part], scope) for part in ("trigger", "response"))
        fair = tuple(self._fair(each, scope) for each in json["fair"])
        return Liveness(json["name"], tuple(declared), trigger, response, fair)

    def _fair(self, json: Json | str, scope: _Scope) -> Fairness:
        """Return a fair action; of one of which values are given, those steps are meant that have all of them."""
        fair: Json = {"action": json, "given": []} if isinstance(json, str) else json
        names = [each["name"] for each in self._json["actions"]]
        action = self._json["actions"][names.index(fair["action"])]
        given = {each["parameter"]: each["value"] for each in fair["given"]}
        inner = _Scope(scope.place, _variables(action["parameters"]))
        equal = [
            Node("Equal", (self.term(each, inner), self.term(given[each[1]], scope)))
            for each in action["parameters"]
            if each[1] in given
        ]
        meant = (
            reduce(lambda right, left: Node("And", (left, right)), reversed(equal[:-1]), equal[-1]) if equal else None
        )
        return Fairness(fair["action"], names.index(fair["action"]), meant, fair.get("strong", False))

    # -- layers ---------------------------------------------------------------------------------------------------

    def layers(self) -> tuple[Layer, ...]:
        threats = self._json["threats"]
        alone = len(threats) == 1 and threats[0]["axioms"]
        general = () if alone else self._invariants({each["id"] for each in threats})
        found = [Layer("", (), (), general)]
        for threat in threats:
            further = tuple(each for each in self._invariants({threat["id"]}) if each not in general)
            if further:
                found.append(Layer(threat["id"], self.axioms(threat["axioms"]), general, further))
        return tuple(found)

    def _invariants(self, threats: set[str]) -> tuple[Named, ...]:
        """Return the claims, then the lemmas, that are claimed under all of these threat models."""
        claims = [each for each in self._json["claims"] if each["states"] and threats <= _claimed_under(each)]
        lemmas = [each for each in self._json["lemmas"] if not each["under"] or threats <= set(each["under"])]
        return tuple(self.invariant(each) for each in (*(claim["states"] for claim in claims), *lemmas))

    def system(self, digest: str) -> System:
        json = self._json
        claims = [claim for claim in json["claims"] if claim["states"]]
        _require_one_each("claim", [claim["name"] for claim in claims])
        _require_one_each("invariant", [each["name"] for each in (*(c["states"] for c in claims), *json["lemmas"])])
        ids = [threat["id"] for threat in json["threats"]]
        _require_one_each("threat model", ids)
        for each in (*json["claims"], *json["lemmas"]):
            if ids and (strange := {*each["under"], *each.get("fails_under", ())}.difference(ids)):
                told = f"'{each['name']}' is claimed under '{min(strange)}', which is no threat model"
                raise SpecificationError(told)
        return System(
            protocol=json["protocol"],
            variant=json["variant"],
            without=tuple(json["without"]),
            digest=digest,
            inhabited=tuple(
                Named(name, Node("Exists", (Name("sort", name), Node("Const", (True,)))))
                for name, sort in self._sorts.items()
                if sort["members"] is None
            ),
            symbols=tuple(self.symbol(name) for name in self._symbols),
            enumerations={
                name: tuple(_member_of(name, member) for member in sort["members"])
                for name, sort in self._sorts.items()
                if sort["members"] is not None
            },
            axioms=self.axioms(json["axioms"]),
            initially=tuple(self.initial(each) for each in json["initially"]),
            actions=tuple(self.action(each) for each in json["actions"]),
            threats={threat["id"]: self.axioms(threat["axioms"]) for threat in json["threats"]},
            layers=self.layers(),
            stated={
                claim["name"]: (claim["states"]["name"], tuple(id for id in ids if id in _claimed_under(claim)))
                for claim in claims
            },
            liveness=tuple(self._sayable(json["liveness"])),
        )


def _require_one_each(what: str, names: Sequence[str]) -> None:
    """Refuse two things of one name, of which a theorem would not say which it means, and one that has none."""
    for place, name in enumerate(names):
        if not name:
            raise SpecificationError(f"a {what} has no name, so a theorem about it would be unclear")
        if name in names[:place]:
            raise SpecificationError(f"two {what}s are called '{name}', so a theorem about it would be unclear")


def _member_of(sort: str, name: str) -> Name:
    return Name("member", f"{sort}.{name}")


def _variables(listed: Iterable[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, sort) for _, name, sort in listed)


def _claimed_under(claim: Json) -> set[str]:
    return set(claim["under"]) - set(claim["fails_under"])
