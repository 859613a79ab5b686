"""Reads the canonical encoding back, independently of what wrote it: what can be read back was told apart."""

from __future__ import annotations

import json
from typing import Any

from carnet_spec.language import (
    Action,
    Assumption,
    Axiom,
    Claim,
    Defence,
    Effect,
    Eventually,
    Goal,
    Guard,
    GuardKind,
    Initial,
    Invariant,
    Kind,
    Protocol,
    Role,
    Sort,
    Symbol,
    Term,
    Threat,
    Update,
)
from carnet_spec.language.terms import (
    FALSE,
    TRUE,
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    IfThenElse,
    Implies,
    Member,
    Not,
    Or,
    Var,
)


def decoded(text: str) -> Protocol:
    """Return the protocol that was encoded, with nothing said of the order of its sorts and symbols."""
    content = json.loads(text)
    read = Decoder(content)
    return Protocol(
        id=content["protocol"],
        title=content["title"],
        variant=content["variant"],
        without=tuple(content["without"]),
        actions=tuple(map(read.action, content["actions"])),
        axioms=tuple(map(read.axiom, content["axioms"])),
        initial=tuple(map(read.initial, content["initially"])),
        claims=tuple(map(read.claim, content["claims"])),
        lemmas=tuple(map(read.invariant, content["lemmas"])),
        goals=tuple(map(read.goal, content["goals"])),
        liveness=tuple(map(read.eventually, content["liveness"])),
        threats=tuple(map(read.threat, content["threats"])),
        assumptions=tuple(
            Assumption(each["id"], each["sentence"], each["built_in"]) for each in content["assumptions"]
        ),
        defences=tuple(Defence(each["id"], each["title"], each["base"]) for each in content["defences"]),
    )


class Decoder:
    """Reads parts with the tables of sorts and symbols that they refer to."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self._sorts = {name: _sort(each) for name, each in tables["sorts"].items()}
        self._symbols = {name: self._symbol(each) for name, each in tables["symbols"].items()}

    def _symbol(self, each: Any) -> Symbol:
        domain = tuple(self._sorts[name] for name in each["arguments"])
        role = None if each["role"] is None else _role(each["role"])
        changes: bool = each["changes"]
        return Symbol(
            each["name"], domain, self._sorts[each["result"]], Kind(each["kind"]), changes, role, each["says"]
        )

    def term(self, content: Any) -> Term:
        match content:
            case ["variable", *_]:
                return self.variable(content)
            case ["member", sort, name]:
                return Member(self._sorts[sort], name)
            case ["true"]:
                return TRUE
            case ["false"]:
                return FALSE
            case ["apply", symbol, args]:
                return Apply(self._symbols[symbol], tuple(map(self.term, args)))
            case ["and", parts]:
                return And(tuple(map(self.term, parts)))
            case ["or", parts]:
                return Or(tuple(map(self.term, parts)))
            case ["forall", bound, body]:
                return Forall(self.variables(bound), self.term(body))
            case ["exists", bound, body]:
                return Exists(self.variables(bound), self.term(body))
            case [kind, *parts]:
                made: Term = _CONNECTIVES[kind](*map(self.term, parts))
                return made
        raise ValueError(f"expected a term, and found {content!r}")

    def variable(self, content: Any) -> Var:
        _, name, sort = content
        return Var(name, self._sorts[sort])

    def variables(self, content: Any) -> tuple[Var, ...]:
        return tuple(map(self.variable, content))

    def optional(self, content: Any) -> Term | None:
        return None if content is None else self.term(content)

    def action(self, each: Any) -> Action:
        return Action(
            name=each["name"],
            by=_role(each["by"]),
            params=self.variables(each["parameters"]),
            guards=tuple(map(self.guard, each["guards"])),
            updates=tuple(map(self.update, each["updates"])),
            says=each["says"],
            source=each["source"],
            message=each["message"],
            enforces=tuple(each["enforces"]),
            cost=each["cost"],
            deduction=each["deduction"],
            actor=self.optional(each["actor"]),
            shortcut_of=each["shortcut_of"],
            why=each["why"],
        )

    def guard(self, each: Any) -> Guard:
        kind = GuardKind(each["kind"])
        return Guard(each["name"], self.term(each["formula"]), kind, each["defence"], each["unless"])

    def update(self, each: Any) -> Update:
        return Update(
            name=each["name"],
            symbol=self._symbols[each["symbol"]],
            effect=Effect(each["effect"]),
            args=tuple(map(self.term, each["arguments"])),
            value=self.optional(each["value"]),
            when=self.term(each["when"]),
            each=self.variables(each["each"]),
            defence=each["defence"],
            unless=each["unless"],
        )

    def initial(self, each: Any) -> Initial:
        return Initial(self._symbols[each["symbol"]], self.variables(each["parameters"]), self.term(each["value"]))

    def axiom(self, each: Any) -> Axiom:
        return Axiom(each["name"], self.term(each["formula"]), each["assumption"], each["says"])

    def threat(self, each: Any) -> Threat:
        return Threat(each["id"], each["title"], tuple(map(self.axiom, each["axioms"])), each.get("passive", False))

    def invariant(self, each: Any) -> Invariant:
        params, body = self.variables(each["parameters"]), self.term(each["body"])
        return Invariant(each["name"], params, body, each["says"], tuple(each["under"]))

    def claim(self, each: Any) -> Claim:
        return Claim(
            name=each["name"],
            invariant=None if each["states"] is None else self.invariant(each["states"]),
            sentence=each["sentence"],
            requirement=each["requirement"],
            source=each["source"],
            under=tuple(each["under"]),
            fails_under=tuple(each["fails_under"]),
            declared=each["declared"],
        )

    def goal(self, each: Any) -> Goal:
        params, body = self.variables(each["parameters"]), self.term(each["body"])
        return Goal(each["name"], params, body, each["sentence"], each["rounds"])

    def eventually(self, each: Any) -> Eventually:
        trigger, response = self.term(each["trigger"]), self.term(each["response"])
        return Eventually(each["name"], trigger, response, each["sentence"], tuple(each["fair"]))


_CONNECTIVES: dict[str, Any] = {"equal": Equal, "not": Not, "implies": Implies, "if": IfThenElse}


def _assumption(each: Any) -> Assumption:
    return Assumption(each["id"], each["sentence"], each["built_in"])


def _sort(each: Any) -> Sort:
    members = None if each["members"] is None else tuple(each["members"])
    return Sort(each["name"], members, each["fresh"])


def _role(each: Any) -> Role:
    return Role(each["name"], each["honest"])
