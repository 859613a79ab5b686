"""The canonical encoding of a protocol's parts, from which digests and exports are computed, and how it is read back.

A term is a list that begins with its kind, as in ``["and", [["apply", "ready", []], ["true"]]]``; any other part is an
object with a value for every key. A sort or a symbol is defined once, in a table, and referenced by name. Every word of
the encoding is a literal in this module, not the name of a class, field or enumeration member, so renaming those
changes no digest. No part is left out, so different values never have the same encoding, and every value can be
decoded. Any change of the encoding needs a new :data:`FORMAT`.

Each kind of part has one :class:`Form`, which both writes and reads it. What is read may be hostile; every reading
raises SpecificationError for a value of another form.
"""

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from carnet_spec.language import statements, terms
from carnet_spec.language.actions import Action, Effect, Guard, GuardKind, Update
from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.lemma_claims import Case, Examination, Hypothesis, LemmaClaim, Means
from carnet_spec.language.terms import Kind, Role, Sort, Symbol, Term, Var

#: The name of this encoding; an encoding that has to be decoded differently has another name.
FORMAT = "carnet-protocol/1"
MOST_SHOWN = 60  #: The most characters of a text that an error shows.

Json = str | int | bool | None | list["Json"] | dict[str, "Json"]

_A = TypeVar("_A")
_Defined = TypeVar("_Defined", bound=Sort | Symbol)
_REQUIRED = object()


# -- tables of sorts and symbols -----------------------------------------------------------------------------------


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
    """Collects the definitions of the sorts and symbols that the encoded parts of one protocol use."""

    def __init__(self) -> None:
        self.sorts: _Table[Sort] = _Table(lambda sort: _SORT_DEFINITION.write(self, sort))
        self.symbols: _Table[Symbol] = _Table(lambda symbol: _SYMBOL_DEFINITION.write(self, symbol))

    def document(self, parts: Mapping[str, Json], *, sorts: Iterable[Sort], symbols: Iterable[Symbol]) -> str:
        """Return the parts, with the definitions that they use and those of ``sorts`` and ``symbols``, as JSON."""
        for symbol in symbols:
            self.symbols.name(symbol)
        for sort in sorts:
            self.sorts.name(sort)
        tables: dict[str, Json] = {"sorts": self.sorts.definitions, "symbols": self.symbols.definitions}
        return json.dumps({"format": FORMAT, **parts, **tables}, sort_keys=True, separators=(",", ":"))


class Decoder:
    """The tables to which the encoded parts of one protocol refer."""

    def __init__(self, sorts: Json, symbols: Json) -> None:
        """Read the tables. Raises SpecificationError if a table is malformed."""
        self.sorts: Mapping[str, Sort] = {
            name: _SORT_DEFINITION.read(self, each) for name, each in object_of(sorts).items()
        }
        self.symbols: Mapping[str, Symbol] = {
            name: _SYMBOL_DEFINITION.read(self, each) for name, each in object_of(symbols).items()
        }


# -- forms of values ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form(Generic[_A]):
    """The form of a kind of part: ``read`` returns what ``write`` was given, or raises SpecificationError.

    In an object, a part that is equal to ``default`` is left out.
    """

    write: Callable[[Encoder, _A], Json]
    read: Callable[[Decoder, Json], _A]
    default: object = _REQUIRED


@dataclass(frozen=True, slots=True)
class Fields:
    """The form of an object: for each key, the form of its value."""

    forms: Mapping[str, Form[Any]]

    def write(self, encoder: Encoder, values: Iterable[object]) -> dict[str, Json]:
        """Return the object with these values, in the order of the keys."""
        given = zip(self.forms.items(), values, strict=True)
        return {key: form.write(encoder, value) for (key, form), value in given if value != form.default}

    def read(self, decoder: Decoder, value: Json) -> tuple[Any, ...]:
        """Return the values of an object, in the order of the keys."""
        each = object_of(value, *(key for key, form in self.forms.items() if form.default is _REQUIRED))
        return tuple(form.read(decoder, each[key]) if key in each else form.default for key, form in self.forms.items())


def _record(kind: Callable[..., _A], forms: Mapping[str, Form[Any]]) -> Form[_A]:
    """Return the form of a dataclass: an object with a key for each of its fields, in their order."""
    fields = Fields(forms)
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type] # a dataclass, called to make it
    return Form(
        lambda encoder, value: fields.write(encoder, [getattr(value, name) for name in names]),
        lambda decoder, value: kind(*fields.read(decoder, value)),
    )


def _plain(kind: type[_A], what: str) -> Form[_A]:
    """Return the form of a value that JSON has."""

    def read(_: Decoder, value: Json) -> _A:
        if type(value) is not kind:
            raise wrong(what, value)
        return value

    return Form(lambda _, value: value, read)  # type: ignore[arg-type, return-value] # a value of this kind is JSON


def _each(form: Form[_A]) -> Form[tuple[_A, ...]]:
    def read(decoder: Decoder, value: Json) -> tuple[_A, ...]:
        if not isinstance(value, list):
            raise wrong("a list", value)
        return tuple(form.read(decoder, each) for each in value)

    return Form(lambda encoder, values: [form.write(encoder, value) for value in values], read)


def _optional(form: Form[_A]) -> Form[_A | None]:
    return Form(
        lambda encoder, value: None if value is None else form.write(encoder, value),
        lambda decoder, value: None if value is None else form.read(decoder, value),
    )


def _one_of(words: Mapping[_A, str]) -> Form[_A]:
    def read(_: Decoder, value: Json) -> _A:
        for meaning, word in words.items():
            if value == word:
                return meaning
        raise wrong(f"one of {', '.join(words.values())}", value)

    return Form(lambda _, meaning: words[meaning], read)


def _lookup(table: Mapping[str, _A], name: Json, what: str) -> _A:
    if not isinstance(name, str) or name not in table:
        raise wrong(f"a {what} that is defined", name)
    return table[name]


def object_of(value: Json, *keys: str) -> dict[str, Json]:
    """Return ``value``, which has to be an object with these keys. Raises SpecificationError if it is not."""
    if not isinstance(value, dict):
        raise wrong("an object", value)
    for key in keys:
        if key not in value:
            raise wrong(f"an object with '{key}'", value)
    return value


def wrong(expected: str, found: Json) -> SpecificationError:
    """Return an error that says what was expected, and shows the beginning of what was found."""
    shown = json.dumps(found)
    shown = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]} …"
    return SpecificationError(f"expected {expected}, and found {shown}")


def _all(form: Form[Any], *keys: str) -> dict[str, Form[Any]]:
    """Return the same form for several keys."""
    return dict.fromkeys(keys, form)


_TEXT = _plain(str, "a text")
_TEXTS = _each(_TEXT)
_FLAG = _plain(bool, "true or false")
_NUMBER = _plain(int, "a whole number")

# -- sorts, symbols and terms ------------------------------------------------------------------------------------------

KINDS = {
    Kind.PUBLIC: "public",
    Kind.STATE: "state",
    Kind.MESSAGE: "message",
    Kind.TRUTH: "truth",
    Kind.GHOST: "ghost",
    Kind.KNOWLEDGE: "knowledge",
}
_SORT: Form[Sort] = Form(
    lambda encoder, sort: encoder.sorts.name(sort), lambda decoder, name: _lookup(decoder.sorts, name, "sort")
)
_SYMBOL: Form[Symbol] = Form(
    lambda encoder, symbol: encoder.symbols.name(symbol), lambda decoder, name: _lookup(decoder.symbols, name, "symbol")
)
_ROLE = _record(Role, {"name": _TEXT, "honest": _FLAG})
_SORT_DEFINITION = _record(Sort, {"name": _TEXT, "members": _optional(_TEXTS), "fresh": _FLAG})
_SYMBOL_DEFINITION = _record(
    Symbol,
    {
        "name": _TEXT,
        "arguments": _each(_SORT),
        "result": _SORT,
        "kind": _one_of(KINDS),
        "changes": _FLAG,
        "role": _optional(_ROLE),
        "says": _TEXT,
    },
)


def _write_term(encoder: Encoder, term: Term) -> Json:
    if isinstance(term, terms.Truth):
        return ["true" if term.value else "false"]
    word, parts = _WORDS[type(term)]
    return [word, *(form.write(encoder, getattr(term, name)) for name, form in parts)]


def _read_term(decoder: Decoder, value: Json) -> Term:
    match value:
        case ["true"]:
            return terms.TRUE
        case ["false"]:
            return terms.FALSE
        case [str() as word, *given] if word in _NODES and len(given) == len(_NODES[word][1]):
            kind, forms = _NODES[word]
            return kind(*(form.read(decoder, part) for form, part in zip(forms, given, strict=True)))
        case _:
            raise wrong("a term", value)


def _read_variable(decoder: Decoder, value: Json) -> Var:
    if not (isinstance(value, list) and value[:1] == ["variable"] and len(value) == len(("variable", "name", "sort"))):
        raise wrong("a variable", value)
    return Var(_TEXT.read(decoder, value[1]), _SORT.read(decoder, value[2]))


TERM: Form[Term] = Form(_write_term, _read_term)
_TERMS = _each(TERM)
_VARIABLES: Form[tuple[Var, ...]] = _each(Form(_write_term, _read_variable))
#: The words with which terms begin: for each the class of term, and the forms of its fields.
_NODES: Mapping[str, tuple[Callable[..., Term], tuple[Form[Any], ...]]] = {
    "variable": (Var, (_TEXT, _SORT)),
    "member": (terms.Member, (_SORT, _TEXT)),
    "apply": (terms.Apply, (_SYMBOL, _TERMS)),
    "forall": (terms.Forall, (_VARIABLES, TERM)),
    "exists": (terms.Exists, (_VARIABLES, TERM)),
    "equal": (terms.Equal, (TERM, TERM)),
    "not": (terms.Not, (TERM,)),
    "and": (terms.And, (_TERMS,)),
    "or": (terms.Or, (_TERMS,)),
    "implies": (terms.Implies, (TERM, TERM)),
    "if": (terms.IfThenElse, (TERM, TERM, TERM)),
}
_WORDS = {
    kind: (word, tuple(zip((field.name for field in dataclasses.fields(kind)), forms, strict=True)))  # type: ignore[arg-type] # each class is a dataclass
    for word, (kind, forms) in _NODES.items()
}

# -- steps -------------------------------------------------------------------------------------------------------------

GUARD_KINDS = {
    GuardKind.REQUIRE: "require",
    GuardKind.GIVEN: "given",
    GuardKind.ACTOR: "actor",
    GuardKind.FRESH: "fresh",
}
EFFECTS = {Effect.INSERT: "insert", Effect.REMOVE: "remove", Effect.ASSIGN: "assign"}
_GUARD = _record(
    Guard,
    {
        "name": _TEXT,
        "formula": TERM,
        "kind": _one_of(GUARD_KINDS),
        **_all(_optional(_TEXT), "defence", "unless"),
    },
)
_UPDATE = _record(
    Update,
    {
        "name": _TEXT,
        "symbol": _SYMBOL,
        "effect": _one_of(EFFECTS),
        "arguments": _TERMS,
        "value": _optional(TERM),
        "when": TERM,
        "each": _VARIABLES,
        **_all(_optional(_TEXT), "defence", "unless"),
    },
)
_ACTION = _record(
    Action,
    {
        "name": _TEXT,
        "by": _ROLE,
        "parameters": _VARIABLES,
        "guards": _each(_GUARD),
        "updates": _each(_UPDATE),
        **_all(_TEXT, "says", "source", "message"),
        "enforces": _TEXTS,
        "cost": _NUMBER,
        "deduction": _FLAG,
        "actor": _optional(TERM),
        "shortcut_of": _optional(_TEXT),
        "why": _TEXT,
    },
)

# -- statements --------------------------------------------------------------------------------------------------------

_INITIAL = _record(statements.Initial, {"symbol": _SYMBOL, "parameters": _VARIABLES, "value": TERM})
AXIOM = _record(statements.Axiom, {"name": _TEXT, "formula": TERM, **_all(_TEXT, "assumption", "says")})
_THREAT = _record(
    statements.Threat, {"id": _TEXT, "title": _TEXT, "axioms": _each(AXIOM), "passive": replace(_FLAG, default=False)}
)
_INVARIANT = _record(
    statements.Invariant, {"name": _TEXT, "parameters": _VARIABLES, "body": TERM, "says": _TEXT, "under": _TEXTS}
)
_CLAIM = _record(
    statements.Claim,
    {
        "name": _TEXT,
        "states": _optional(_INVARIANT),
        **_all(_TEXT, "sentence", "requirement", "source"),
        **_all(_TEXTS, "under", "fails_under"),
        "declared": _FLAG,
    },
)
_GOAL = _record(
    statements.Goal, {"name": _TEXT, "parameters": _VARIABLES, "body": TERM, "sentence": _TEXT, "rounds": _NUMBER}
)
_ASSUMPTION = _record(statements.Assumption, {"id": _TEXT, "sentence": _TEXT, "built_in": _FLAG})
_DEFENCE = _record(statements.Defence, _all(_TEXT, "id", "title", "base"))

#: An action whose steps are fair, the values that some of its parameters have in these steps, and how fair they are.
_FairAction = tuple[str, tuple[tuple[str, Term], ...], bool]
_GIVEN = Fields({"parameter": _TEXT, "value": TERM})
_FAIR_STEPS = Fields(
    {"action": _TEXT, "given": _each(Form(_GIVEN.write, _GIVEN.read)), "strong": replace(_FLAG, default=False)}
)


def _write_fair(encoder: Encoder, fair: _FairAction) -> Json:
    """Return the action alone where all of its steps are weakly fair."""
    action, given, strong = fair
    return _FAIR_STEPS.write(encoder, fair) if given or strong else action


def _read_fair(decoder: Decoder, value: Json) -> _FairAction:
    return (value, (), False) if isinstance(value, str) else _FAIR_STEPS.read(decoder, value)


_EVENTUALLY = Fields(
    {
        "name": _TEXT,
        "trigger": TERM,
        "response": TERM,
        "sentence": _TEXT,
        "fair": _each(Form(_write_fair, _read_fair)),
        "parameters": replace(_VARIABLES, default=()),
        "requirement": replace(_TEXT, default=""),
        "fails_under": replace(_TEXTS, default=()),
    }
)


def _write_eventually(encoder: Encoder, live: statements.Eventually) -> Json:
    fair = [
        (
            action,
            tuple((each.parameter, each.value) for each in live.given if each.action == action),
            action in live.strong,
        )
        for action in live.fair
    ]
    values = (live.name, live.trigger, live.response, live.sentence, fair, live.params, live.requirement)
    return _EVENTUALLY.write(encoder, (*values, live.fails_under))


def _read_eventually(decoder: Decoder, value: Json) -> statements.Eventually:
    name, trigger, response, sentence, fair, params, requirement, fails_under = _EVENTUALLY.read(decoder, value)
    return statements.Eventually(
        name,
        trigger,
        response,
        sentence,
        fair=tuple(action for action, _, _ in fair),
        given=tuple(statements.Given(action, *one) for action, given, _ in fair for one in given),
        params=params,
        strong=tuple(action for action, _, strong in fair if strong),
        requirement=requirement,
        fails_under=fails_under,
    )


_EXAMINED = Fields(
    {"means": _one_of({each: str(each) for each in Means}), "over": _TEXT, "needs": _TEXTS, "complete": _FLAG}
)


def _read_examination(decoder: Decoder, value: Json) -> Examination:
    """Return an examination without its cases, which are computed by code; the encoding has their description."""
    means, over, needs, complete = _EXAMINED.read(decoder, value)
    return Examination(means, over, _not_read, needs, complete)


def _not_read(left_out: str) -> Iterator[Case]:
    raise SpecificationError("the cases of a lemma claim are computed, and an encoding has only their words")


_EXAMINATION: Form[Examination] = Form(
    lambda encoder, each: _EXAMINED.write(encoder, (each.means, each.over, each.needs, each.complete)),
    _read_examination,
)
_HYPOTHESIS = _record(Hypothesis, _all(_TEXT, "name", "sentence", "requirement"))
_LEMMA_CLAIM = _record(
    LemmaClaim,
    {
        **_all(_TEXT, "name", "sentence", "requirement", "source"),
        "under": _TEXTS,
        "hypotheses": _each(_HYPOTHESIS),
        "examinations": _each(_EXAMINATION),
        "theorems": _TEXTS,
    },
)

#: The parts of a protocol beside its sorts and symbols.
PROTOCOL = Fields(
    {
        **_all(_TEXT, "protocol", "title", "variant"),
        "without": _TEXTS,
        "actions": _each(_ACTION),
        "axioms": _each(AXIOM),
        "initially": _each(_INITIAL),
        "claims": _each(_CLAIM),
        "lemmas": _each(_INVARIANT),
        "goals": _each(_GOAL),
        "liveness": _each(Form(_write_eventually, _read_eventually)),
        "threats": _each(_THREAT),
        "assumptions": _each(_ASSUMPTION),
        "defences": _each(_DEFENCE),
        "lemma_claims": replace(_each(_LEMMA_CLAIM), default=()),
    }
)
