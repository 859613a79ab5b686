"""Reading a protocol back from its canonical encoding (:mod:`.encoding`); the text may be hostile.

Decoding returns the protocol that was encoded, or raises an error: the result is encoded again, and a text that differs
in any byte is refused. The encoding does not have the order in which sorts and symbols were declared. They are decoded
in the order of their first appearance, which is the order in which a draft declares them, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from carnet_spec.language import statements, terms
from carnet_spec.language.actions import Action, Guard, Update
from carnet_spec.language.encoding import EFFECTS, FORMAT, GUARD_KINDS, KINDS, Json
from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.lemma_claims import Case, Examination, Hypothesis, LemmaClaim, Means
from carnet_spec.language.protocol import Protocol, signature_of

_A = TypeVar("_A")
MOST_SHOWN = 60
"""The most characters of a text that an error shows."""


def decoded(text: str) -> Protocol:
    """Return the protocol whose encoding is ``text``.

    Raises:
        SpecificationError: the text is not the encoding of a protocol.
    """
    try:
        content = _object(json.loads(text), "format")
        if content["format"] != FORMAT:
            raise _wrong(f"a protocol in the format {FORMAT}", content["format"])
        protocol = _protocol(content)
        protocol.require_declared_threats()
        canonical = protocol.encoded
    except (RecursionError, ValueError) as error:
        raise SpecificationError(f"expected a protocol in JSON, and it cannot be read: {error}") from None
    if canonical != text:
        raise SpecificationError("expected a protocol in canonical JSON, and this is written in another way")
    return protocol


def _protocol(content: Mapping[str, Json]) -> Protocol:
    parts = _object(
        dict(content),
        *("protocol", "title", "variant", "without", "actions", "axioms", "initially", "claims", "lemmas", "goals"),
        *("liveness", "threats", "assumptions", "defences", "sorts", "symbols"),
    )
    read = Decoder(parts["sorts"], parts["symbols"])
    protocol = Protocol(
        id=_text(parts["protocol"]),
        title=_text(parts["title"]),
        variant=_text(parts["variant"]),
        without=_each(_text, parts["without"]),
        actions=_each(read.action, parts["actions"]),
        axioms=_each(read.axiom, parts["axioms"]),
        initial=_each(read.initial, parts["initially"]),
        claims=_each(read.claim, parts["claims"]),
        lemmas=_each(read.invariant, parts["lemmas"]),
        goals=_each(read.goal, parts["goals"]),
        liveness=_each(read.eventually, parts["liveness"]),
        threats=_each(read.threat, parts["threats"]),
        assumptions=_each(_assumption, parts["assumptions"]),
        defences=_each(_defence, parts["defences"]),
        lemma_claims=_each(_lemma_claim, parts.get("lemma_claims", [])),
    )
    symbols, sorts = signature_of(protocol, read.symbols.values(), read.sorts.values())
    return replace(protocol, symbols=symbols, sorts=sorts)


class Decoder:
    """Decodes parts of a protocol, which refer to tables of sorts and symbols."""

    def __init__(self, sorts: Json, symbols: Json) -> None:
        """Read the tables.

        Raises:
            SpecificationError: a table is malformed.
        """
        self.sorts = {name: _sort(each) for name, each in _object(sorts).items()}
        self.symbols = {name: self._symbol(each) for name, each in _object(symbols).items()}

    def _symbol(self, value: Json) -> terms.Symbol:
        each = _object(value, "name", "arguments", "result", "kind", "changes", "role", "says")
        return terms.Symbol(
            name=_text(each["name"]),
            domain=_each(self._sort, each["arguments"]),
            result=self._sort(each["result"]),
            kind=_one_of(KINDS, each["kind"]),
            mutable=_flag(each["changes"]),
            role=_optional(_role, each["role"]),
            says=_text(each["says"]),
        )

    def _sort(self, name: Json) -> terms.Sort:
        return _lookup(self.sorts, name, "sort")

    # -- terms ----------------------------------------------------------------------------------------------------

    def term(self, value: Json) -> terms.Term:
        """Return a term.

        Raises:
            SpecificationError: the value encodes no term.
        """
        match value:
            case ["variable", *_]:
                return self.variable(value)
            case ["member", sort, name]:
                return terms.Member(self._sort(sort), _text(name))
            case ["true"]:
                return terms.TRUE
            case ["false"]:
                return terms.FALSE
            case ["apply", symbol, args]:
                return terms.Apply(_lookup(self.symbols, symbol, "symbol"), self._terms(args))
            case ["forall", bound, body]:
                return terms.Forall(self._variables(bound), self.term(body))
            case ["exists", bound, body]:
                return terms.Exists(self._variables(bound), self.term(body))
            case _:
                return self._connective(value)

    def _connective(self, value: Json) -> terms.Term:
        match value:
            case ["equal", left, right]:
                return terms.Equal(self.term(left), self.term(right))
            case ["not", body]:
                return terms.Not(self.term(body))
            case ["and", parts]:
                return terms.And(self._terms(parts))
            case ["or", parts]:
                return terms.Or(self._terms(parts))
            case ["implies", premise, conclusion]:
                return terms.Implies(self.term(premise), self.term(conclusion))
            case ["if", test, then, otherwise]:
                return terms.IfThenElse(self.term(test), self.term(then), self.term(otherwise))
            case _:
                raise _wrong("a term", value)

    def variable(self, value: Json) -> terms.Var:
        """Return a variable.

        Raises:
            SpecificationError: the value encodes no variable.
        """
        match value:
            case ["variable", name, sort]:
                return terms.Var(_text(name), self._sort(sort))
            case _:
                raise _wrong("a variable", value)

    def _terms(self, value: Json) -> tuple[terms.Term, ...]:
        return _each(self.term, value)

    def _variables(self, value: Json) -> tuple[terms.Var, ...]:
        return _each(self.variable, value)

    # -- steps ----------------------------------------------------------------------------------------------------

    def action(self, value: Json) -> Action:
        """Return an action."""
        each = _object(
            value,
            *("name", "by", "parameters", "guards", "updates", "says", "source", "message", "enforces", "cost"),
            *("deduction", "actor", "shortcut_of", "why"),
        )
        return Action(
            name=_text(each["name"]),
            by=_role(each["by"]),
            params=self._variables(each["parameters"]),
            guards=_each(self._guard, each["guards"]),
            updates=_each(self._update, each["updates"]),
            says=_text(each["says"]),
            source=_text(each["source"]),
            message=_text(each["message"]),
            enforces=_each(_text, each["enforces"]),
            cost=_number(each["cost"]),
            deduction=_flag(each["deduction"]),
            actor=_optional(self.term, each["actor"]),
            shortcut_of=_optional(_text, each["shortcut_of"]),
            why=_text(each["why"]),
        )

    def _guard(self, value: Json) -> Guard:
        each = _object(value, "name", "formula", "kind", "defence", "unless")
        return Guard(
            name=_text(each["name"]),
            formula=self.term(each["formula"]),
            kind=_one_of(GUARD_KINDS, each["kind"]),
            defence=_optional(_text, each["defence"]),
            unless=_optional(_text, each["unless"]),
        )

    def _update(self, value: Json) -> Update:
        names = ("name", "symbol", "effect", "arguments", "value", "when", "each", "defence", "unless")
        each = _object(value, *names)
        return Update(
            name=_text(each["name"]),
            symbol=_lookup(self.symbols, each["symbol"], "symbol"),
            effect=_one_of(EFFECTS, each["effect"]),
            args=self._terms(each["arguments"]),
            value=_optional(self.term, each["value"]),
            when=self.term(each["when"]),
            each=self._variables(each["each"]),
            defence=_optional(_text, each["defence"]),
            unless=_optional(_text, each["unless"]),
        )

    # -- statements -----------------------------------------------------------------------------------------------

    def initial(self, value: Json) -> statements.Initial:
        """Return the first value of a symbol."""
        each = _object(value, "symbol", "parameters", "value")
        symbol = _lookup(self.symbols, each["symbol"], "symbol")
        return statements.Initial(symbol, self._variables(each["parameters"]), self.term(each["value"]))

    def axiom(self, value: Json) -> statements.Axiom:
        """Return an axiom."""
        each = _object(value, "name", "formula", "assumption", "says")
        formula = self.term(each["formula"])
        return statements.Axiom(_text(each["name"]), formula, _text(each["assumption"]), _text(each["says"]))

    def threat(self, value: Json) -> statements.Threat:
        """Return a threat model."""
        each = _object(value, "id", "title", "axioms")
        axioms = _each(self.axiom, each["axioms"])
        return statements.Threat(_text(each["id"]), _text(each["title"]), axioms, _flag(each.get("passive", False)))

    def invariant(self, value: Json) -> statements.Invariant:
        """Return an invariant: a lemma, or the formula of a claim."""
        each = _object(value, "name", "parameters", "body", "says", "under")
        params, body = self._variables(each["parameters"]), self.term(each["body"])
        return statements.Invariant(_text(each["name"]), params, body, _text(each["says"]), _each(_text, each["under"]))

    def claim(self, value: Json) -> statements.Claim:
        """Return a claim."""
        names = ("name", "states", "sentence", "requirement", "source", "under", "fails_under", "declared")
        each = _object(value, *names)
        return statements.Claim(
            name=_text(each["name"]),
            invariant=_optional(self.invariant, each["states"]),
            sentence=_text(each["sentence"]),
            requirement=_text(each["requirement"]),
            source=_text(each["source"]),
            under=_each(_text, each["under"]),
            fails_under=_each(_text, each["fails_under"]),
            declared=_flag(each["declared"]),
        )

    def goal(self, value: Json) -> statements.Goal:
        """Return a goal."""
        each = _object(value, "name", "parameters", "body", "sentence", "rounds")
        params, body = self._variables(each["parameters"]), self.term(each["body"])
        return statements.Goal(_text(each["name"]), params, body, _text(each["sentence"]), _number(each["rounds"]))

    def eventually(self, value: Json) -> statements.Eventually:
        """Return a liveness property."""
        each = _object(value, "name", "trigger", "response", "sentence", "fair")
        trigger, response = self.term(each["trigger"]), self.term(each["response"])
        fair = _each(self._fair, each["fair"])
        return statements.Eventually(
            name=_text(each["name"]),
            trigger=trigger,
            response=response,
            sentence=_text(each["sentence"]),
            fair=tuple(name for name, _, _ in fair),
            given=tuple(one for _, values, _ in fair for one in values),
            params=self._variables(each.get("parameters", [])),
            strong=tuple(name for name, _, strongly in fair if strongly),
            requirement=_text(each.get("requirement", "")),
        )

    def _fair(self, value: Json) -> tuple[str, tuple[statements.Given, ...], bool]:
        if isinstance(value, str):
            return value, (), False
        each = _object(value, "action", "given")
        action = _text(each["action"])

        def given(value: Json) -> statements.Given:
            one = _object(value, "parameter", "value")
            return statements.Given(action, _text(one["parameter"]), self.term(one["value"]))

        return action, _each(given, each["given"]), _flag(each.get("strong", False))


# -- parts without terms ---------------------------------------------------------------------------


def _assumption(value: Json) -> statements.Assumption:
    each = _object(value, "id", "sentence", "built_in")
    return statements.Assumption(_text(each["id"]), _text(each["sentence"]), _flag(each["built_in"]))


def _defence(value: Json) -> statements.Defence:
    each = _object(value, "id", "title", "base")
    return statements.Defence(_text(each["id"]), _text(each["title"]), _text(each["base"]))


def _lemma_claim(value: Json) -> LemmaClaim:
    each = _object(
        value, "name", "sentence", "requirement", "source", "under", "hypotheses", "theorems", "examinations"
    )
    return LemmaClaim(
        name=_text(each["name"]),
        sentence=_text(each["sentence"]),
        requirement=_text(each["requirement"]),
        source=_text(each["source"]),
        under=_texts(each["under"]),
        hypotheses=_each(_hypothesis, each["hypotheses"]),
        examinations=_each(_examination, each["examinations"]),
        theorems=_texts(each["theorems"]),
    )


def _hypothesis(value: Json) -> Hypothesis:
    each = _object(value, "name", "sentence", "requirement")
    return Hypothesis(_text(each["name"]), _text(each["sentence"]), _text(each["requirement"]))


def _examination(value: Json) -> Examination:
    each = _object(value, "means", "over", "needs", "complete")
    means = _one_of({each: str(each) for each in Means}, each["means"])
    return Examination(means, _text(each["over"]), _not_read, _texts(each["needs"]), _flag(each["complete"]))


def _not_read(left_out: str) -> Iterator[Case]:
    raise SpecificationError("the cases of a lemma claim are computed, and an encoding has only their words")


def _sort(value: Json) -> terms.Sort:
    each = _object(value, "name", "members", "fresh")
    return terms.Sort(_text(each["name"]), _optional(_texts, each["members"]), _flag(each["fresh"]))


def _role(value: Json) -> terms.Role:
    each = _object(value, "name", "honest")
    return terms.Role(_text(each["name"]), _flag(each["honest"]))


# -- values of JSON --------------------------------------------------------------------------------


def _object(value: Json, *keys: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _wrong("an object", value)
    for key in keys:
        if key not in value:
            raise _wrong(f"an object with '{key}'", value)
    return value


def _each(read: Callable[[Json], _A], value: Json) -> tuple[_A, ...]:
    if not isinstance(value, list):
        raise _wrong("a list", value)
    return tuple(read(each) for each in value)


def _optional(read: Callable[[Json], _A], value: Json) -> _A | None:
    return None if value is None else read(value)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise _wrong("a text", value)
    return value


def _texts(value: Json) -> tuple[str, ...]:
    return _each(_text, value)


def _flag(value: Json) -> bool:
    if not isinstance(value, bool):
        raise _wrong("true or false", value)
    return value


def _number(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong("a whole number", value)
    return value


def _one_of(words: Mapping[_A, str], value: Json) -> _A:
    for meaning, word in words.items():
        if value == word:
            return meaning
    raise _wrong(f"one of {', '.join(words.values())}", value)


def _lookup(table: Mapping[str, _A], name: Json, what: str) -> _A:
    if not isinstance(name, str) or name not in table:
        raise _wrong(f"a {what} that is defined", name)
    return table[name]


def _wrong(expected: str, found: Json) -> SpecificationError:
    shown = json.dumps(found)
    shown = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]} …"
    return SpecificationError(f"expected {expected}, and found {shown}")
