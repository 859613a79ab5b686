"""The canonical encoding of a protocol's parts, from which digests and exports are computed.

A term is a list that begins with its kind, as in ``["and", [["apply", "ready", []], ["true"]]]``; any other part is an
object with a value for every key. A sort or a symbol is defined once, in a table, and referenced by name. Every word of
the encoding is a literal in this module, not the name of a class, field or enumeration member, so renaming those
changes no digest. No part is left out, so different values never have the same encoding, and every value can be
decoded. Any change of the encoding needs a new :data:`FORMAT`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from carnet_spec.language import statements
from carnet_spec.language.actions import Action, Effect, Guard, GuardKind, Update
from carnet_spec.language.lemma_claims import LemmaClaim
from carnet_spec.language.terms import (
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    IfThenElse,
    Implies,
    Kind,
    Member,
    Not,
    Or,
    Role,
    Sort,
    Symbol,
    Term,
    Truth,
    Var,
)

FORMAT = "carnet-protocol/1"
"""The name of this encoding; an encoding that has to be decoded differently has another name."""

Json = str | int | bool | None | list["Json"] | dict[str, "Json"]

KINDS = {
    Kind.PUBLIC: "public",
    Kind.STATE: "state",
    Kind.MESSAGE: "message",
    Kind.TRUTH: "truth",
    Kind.GHOST: "ghost",
    Kind.KNOWLEDGE: "knowledge",
}
GUARD_KINDS = {
    GuardKind.REQUIRE: "require",
    GuardKind.GIVEN: "given",
    GuardKind.ACTOR: "actor",
    GuardKind.FRESH: "fresh",
}
EFFECTS = {Effect.INSERT: "insert", Effect.REMOVE: "remove", Effect.ASSIGN: "assign"}

_Defined = TypeVar("_Defined", bound=Sort | Symbol)


class _Table(Generic[_Defined]):
    """Definitions by name; a second definition of the same name, which lints refuse, gets a number."""

    def __init__(self, define: Callable[[_Defined], Json]) -> None:
        self._define = define
        self._names: dict[_Defined, str] = {}
        self.definitions: dict[str, Json] = {}

    def name(self, thing: _Defined) -> str:
        """Return the name of ``thing`` in the table, and add its definition at the first use."""
        if thing not in self._names:
            others = (f"{thing.name}#{number}" for number in itertools.count(2))
            names = itertools.chain([thing.name], others)
            name = next(name for name in names if name not in self.definitions)
            self._names[thing] = name
            self.definitions[name] = self._define(thing)
        return self._names[thing]


class Encoder:
    """Encodes the parts of one protocol, and collects the definitions of the sorts and symbols that they use."""

    def __init__(self) -> None:
        self._sorts: _Table[Sort] = _Table(_sort)
        self._symbols: _Table[Symbol] = _Table(self._symbol)

    def document(self, parts: Mapping[str, Json], *, sorts: Iterable[Sort], symbols: Iterable[Symbol]) -> str:
        """Return the parts, with the definitions that they use and those of ``sorts`` and ``symbols``, as JSON."""
        for symbol in symbols:
            self._symbols.name(symbol)
        for sort in sorts:
            self._sorts.name(sort)
        tables: dict[str, Json] = {"sorts": self._sorts.definitions, "symbols": self._symbols.definitions}
        return json.dumps({"format": FORMAT, **parts, **tables}, sort_keys=True, separators=(",", ":"))

    # -- terms ----------------------------------------------------------------------------------------------------

    def term(self, term: Term) -> Json:
        """Return ``term`` as a list that begins with its kind."""
        match term:
            case Var(name, sort):
                return ["variable", name, self._sorts.name(sort)]
            case Member(sort, name):
                return ["member", self._sorts.name(sort), name]
            case Truth(value):
                return ["true" if value else "false"]
            case Apply(symbol, args):
                return ["apply", self._symbols.name(symbol), self._terms(args)]
            case Forall(bound, body):
                return ["forall", self._terms(bound), self.term(body)]
            case Exists(bound, body):
                return ["exists", self._terms(bound), self.term(body)]
            case _:
                return self._connective(term)

    def _connective(self, term: Equal | Not | And | Or | Implies | IfThenElse) -> Json:
        match term:
            case Equal(left, right):
                return ["equal", self.term(left), self.term(right)]
            case Not(body):
                return ["not", self.term(body)]
            case And(parts):
                return ["and", self._terms(parts)]
            case Or(parts):
                return ["or", self._terms(parts)]
            case Implies(premise, conclusion):
                return ["implies", self.term(premise), self.term(conclusion)]
            case IfThenElse(test, then, otherwise):
                return ["if", self.term(test), self.term(then), self.term(otherwise)]

    def _terms(self, terms: Iterable[Term]) -> Json:
        return [self.term(term) for term in terms]

    def _optional(self, term: Term | None) -> Json:
        return None if term is None else self.term(term)

    def _symbol(self, symbol: Symbol) -> Json:
        return {
            "name": symbol.name,
            "arguments": [self._sorts.name(sort) for sort in symbol.domain],
            "result": self._sorts.name(symbol.result),
            "kind": KINDS[symbol.kind],
            "changes": symbol.mutable,
            "role": None if symbol.role is None else _role(symbol.role),
            "says": symbol.says,
        }

    # -- steps ----------------------------------------------------------------------------------------------------

    def action(self, action: Action) -> Json:
        """Return an action."""
        return {
            "name": action.name,
            "by": _role(action.by),
            "parameters": self._terms(action.params),
            "guards": [self._guard(guard) for guard in action.guards],
            "updates": [self._update(update) for update in action.updates],
            "says": action.says,
            "source": action.source,
            "message": action.message,
            "enforces": list(action.enforces),
            "cost": action.cost,
            "deduction": action.deduction,
            "actor": self._optional(action.actor),
            "shortcut_of": action.shortcut_of,
            "why": action.why,
        }

    def _guard(self, guard: Guard) -> Json:
        return {
            "name": guard.name,
            "formula": self.term(guard.formula),
            "kind": GUARD_KINDS[guard.kind],
            "defence": guard.defence,
            "unless": guard.unless,
        }

    def _update(self, update: Update) -> Json:
        return {
            "name": update.name,
            "symbol": self._symbols.name(update.symbol),
            "effect": EFFECTS[update.effect],
            "arguments": self._terms(update.args),
            "value": self._optional(update.value),
            "when": self.term(update.when),
            "each": self._terms(update.each),
            "defence": update.defence,
            "unless": update.unless,
        }

    # -- statements -----------------------------------------------------------------------------------------------

    def initial(self, initial: statements.Initial) -> Json:
        """Return the first value of a symbol."""
        return {
            "symbol": self._symbols.name(initial.symbol),
            "parameters": self._terms(initial.params),
            "value": self.term(initial.value),
        }

    def axiom(self, axiom: statements.Axiom) -> Json:
        """Return an axiom."""
        return {
            "name": axiom.name,
            "formula": self.term(axiom.formula),
            "assumption": axiom.assumption,
            "says": axiom.says,
        }

    def threat(self, threat: statements.Threat) -> Json:
        """Return a threat model."""
        more: dict[str, Json] = {"passive": True} if threat.passive else {}
        return {
            "id": threat.id,
            "title": threat.title,
            "axioms": [self.axiom(axiom) for axiom in threat.axioms],
            **more,
        }

    def invariant(self, invariant: statements.Invariant) -> Json:
        """Return an invariant: a lemma, or the formula of a claim."""
        return {
            "name": invariant.name,
            "parameters": self._terms(invariant.params),
            "body": self.term(invariant.body),
            "says": invariant.says,
            "under": list(invariant.under),
        }

    def claim(self, claim: statements.Claim) -> Json:
        """Return a claim; a claim that is only declared has no invariant."""
        return {
            "name": claim.name,
            "states": None if claim.invariant is None else self.invariant(claim.invariant),
            "sentence": claim.sentence,
            "requirement": claim.requirement,
            "source": claim.source,
            "under": list(claim.under),
            "fails_under": list(claim.fails_under),
            "declared": claim.declared,
        }

    def lemma_claim(self, claim: LemmaClaim) -> Json:
        """Return a lemma claim; its cases are computed by code, so the encoding has their description instead."""
        return {
            "name": claim.name,
            "sentence": claim.sentence,
            "requirement": claim.requirement,
            "source": claim.source,
            "under": list(claim.under),
            "hypotheses": [
                {"name": each.name, "sentence": each.sentence, "requirement": each.requirement}
                for each in claim.hypotheses
            ],
            "theorems": list(claim.theorems),
            "examinations": [
                {"means": str(each.means), "over": each.over, "needs": list(each.needs), "complete": each.complete}
                for each in claim.examinations
            ],
        }

    def goal(self, goal: statements.Goal) -> Json:
        """Return a goal."""
        return {
            "name": goal.name,
            "parameters": self._terms(goal.params),
            "body": self.term(goal.body),
            "sentence": goal.sentence,
            "rounds": goal.rounds,
        }

    def eventually(self, live: statements.Eventually) -> Json:
        """Return a liveness property; the keys for parameters and for a requirement are left out if there is none."""
        more: dict[str, Json] = {"parameters": self._terms(live.params)} if live.params else {}
        more |= {"requirement": live.requirement} if live.requirement else {}
        return {
            "name": live.name,
            "trigger": self.term(live.trigger),
            "response": self.term(live.response),
            "sentence": live.sentence,
            "fair": [self._fair(live, action) for action in live.fair],
            **more,
        }

    def _fair(self, live: statements.Eventually, action: str) -> Json:
        values: list[Json] = [
            {"parameter": given.parameter, "value": self.term(given.value)}
            for given in live.given
            if given.action == action
        ]
        more: dict[str, Json] = {"strong": True} if action in live.strong else {}
        return {"action": action, "given": values, **more} if values or more else action

    def assumption(self, assumption: statements.Assumption) -> Json:
        """Return an assumption."""
        return {"id": assumption.id, "sentence": assumption.sentence, "built_in": assumption.built_in}

    def defence(self, defence: statements.Defence) -> Json:
        """Return a defence."""
        return {"id": defence.id, "title": defence.title, "base": defence.base}


def _sort(sort: Sort) -> Json:
    return {
        "name": sort.name,
        "members": None if sort.members is None else list(sort.members),
        "fresh": sort.fresh,
    }


def _role(role: Role) -> Json:
    return {"name": role.name, "honest": role.honest}
