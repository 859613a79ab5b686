"""TLA+: an instance as a module for TLC, whose distinct states are those that ``carnet explore --no-reduction`` counts.

A state of the module gives every variable a value, as a state of the interpreter gives one to every mutable symbol. An
action takes one step and saturates: what it writes goes into a record of all variables, the deductions add to that
record until nothing is new, and the variables become what the record holds. So there is one state of TLC for each
saturated state, and none between.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from carnet_check.exports.identifiers import Identifiers
from carnet_check.semantics import Interpreter
from carnet_spec.language import Action, Effect, Instance, Invariant, Protocol, Row, Sort, Symbol, Term, Update
from carnet_spec.language.analysis.freshness import distinguishable_fresh_sorts
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import (
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
    Truth,
    Var,
)

WRITTEN = "Written by carnet export."


def module_name(protocol: Protocol) -> str:
    """Return the name of the TLA+ module, which is also its file's name."""
    return Identifiers(RESERVED).of("module", protocol.id)


def tla(
    protocol: Protocol,
    instance: Instance,
    claims: Iterable[Invariant],
    threat: str,
    expected: Collection[str] = (),
    remark: str = "",
) -> str:
    """Return the TLA+ module of an instance; ``remark`` is put at its head.

    Raises SpecificationError if the instance does not fit the protocol.
    """
    Interpreter(protocol, instance)
    module = _Module(protocol, instance, tuple(claims), threat, expected, remark)
    return "".join(f"{line}\n" for line in module.lines())


def configuration(
    protocol: Protocol, instance: Instance, claims: Iterable[Invariant], expected: Collection[str] = ()
) -> str:
    """Return the configuration file for TLC; claims with an expected violation are commented out."""
    terms = Terms(protocol, instance)
    lines = [f"\\* {WRITTEN}", "SPECIFICATION Spec", "CHECK_DEADLOCK FALSE", "INVARIANT TypeOK"]
    _operators(protocol, terms)
    for claim in claims:
        named = f"INVARIANT {terms.operator('claim', claim.name)}"
        lines.append(f"\\* {named}    expected to be broken" if claim.name in expected else named)
    return "".join(f"{line}\n" for line in lines)


def _operators(protocol: Protocol, terms: Terms) -> None:
    """Give actions and claims their names, in one order."""
    for action in protocol.actions:
        terms.operator("action", action.name)
        if action.deduction:
            terms.operator("action", action.name, "given")


class _Module:
    def __init__(
        self,
        protocol: Protocol,
        instance: Instance,
        claims: Sequence[Invariant],
        threat: str,
        expected: Collection[str],
        remark: str,
    ) -> None:
        self._protocol = protocol
        self._instance = instance
        self._claims = claims
        self._threat = threat
        self._expected = expected
        self._remark = remark
        self._terms = Terms(protocol, instance)
        _operators(protocol, self._terms)
        self._mutable = [symbol for symbol in protocol.symbols if symbol.mutable]
        self._rules = [action for action in protocol.actions if action.deduction]
        self._steps = [action for action in protocol.actions if not action.deduction]
        self._told_apart = distinguishable_fresh_sorts(protocol, instance)
        self._variables = [self._terms.symbol(symbol) for symbol in self._mutable]
        self._variables += ["spent"] if instance.budget is not None else []

    def lines(self) -> Iterator[str]:
        name = module_name(self._protocol)
        yield f"---- MODULE {name} ----"
        yield from self._header(name)
        yield "EXTENDS Naturals"
        yield from self._constants()
        yield from self._state()
        yield from self._deductions()
        for action in self._steps:
            yield from self._action(action)
        yield from self._next()
        yield from self._invariants()
        yield "===="

    # -- the instance and the state ----------------------------------------------------------------

    def _header(self, name: str) -> Iterator[str]:
        protocol = self._protocol
        without = f", without {', '.join(protocol.without)}" if protocol.without else ""
        yield from comment(
            f"{protocol.title}: {protocol.variant}{without}, under threat model {self._threat}.",
            f"Instance: {self._instance.words}." if self._instance.words else "",
            f"Specification: SHA-256 {protocol.digest}.",
            WRITTEN,
            f"Run it: java -cp tla2tools.jar tlc2.TLC -config {name}.cfg {name}.tla",
            "The distinct states that TLC finds are those that carnet explore --no-reduction counts, with the same "
            "options.",
            self._remark,
        )

    def _constants(self) -> Iterator[str]:
        terms = self._terms
        yield from title("The instance: its elements, and what never changes.")
        for sort in self._protocol.sorts:
            yield f"{terms.sort(sort)} == {terms.elements(self._instance.of(sort))}"
        for symbol in self._protocol.symbols:
            if not symbol.mutable:
                yield from comment(symbol.says)
                yield f"{terms.symbol(symbol)} == {self._rigid(symbol)}"

    def _rigid(self, symbol: Symbol) -> str:
        terms = self._terms
        if symbol.is_relation:
            held = sorted(self._instance.relations.get(symbol.name, frozenset()))
            if not symbol.domain:
                return "TRUE" if held else "FALSE"
            return f"{{{', '.join(terms.tuple([terms.element(each) for each in row]) for row in held)}}}"
        table = self._instance.functions[symbol.name]
        if not symbol.domain:
            return terms.element(table[()])
        return self._table(symbol, table)

    def _table(self, symbol: Symbol, table: Mapping[Row, str]) -> str:
        """Return a function by its values: the most frequent one everywhere, but for those that are named."""
        terms = self._terms
        values = list(table.values())
        usual = max(dict.fromkeys(values), key=values.count)
        names = terms.extended_scope((Var(f"x_{place}", sort) for place, sort in enumerate(symbol.domain)), {})
        over = ", ".join(
            f"{name} \\in {terms.sort(sort)}" for name, sort in zip(names.values(), symbol.domain, strict=True)
        )
        written = f"[{over} |-> {terms.element(usual)}]"
        others = [(row, value) for row, value in table.items() if value != usual]
        if not others:
            return written
        named = (f"![{', '.join(map(terms.element, row))}] = {terms.element(value)}" for row, value in others)
        return f"[{written} EXCEPT {', '.join(named)}]"

    def _state(self) -> Iterator[str]:
        terms = self._terms
        yield from title("The state.")
        for symbol in self._mutable:
            yield from comment(f"{terms.symbol(symbol)}: {symbol.says}" if symbol.says else "")
        yield f"VARIABLES {', '.join(self._variables)}"
        yield ""
        yield f"vars == <<{', '.join(self._variables)}>>"
        yield ""
        yield "TypeOK =="
        for symbol in self._mutable:
            yield f"  /\\ {terms.symbol(symbol)} {self._type(symbol)}"
        if self._instance.budget is not None:
            yield f"  /\\ spent \\in 0..{self._instance.budget}"
        yield ""
        yield from comment(
            "The variables as one record, and back; the set of one element makes TLC work the record out once."
        )
        yield from list_lines("Now == [", [f"{name} |-> {name}" for name in self._variables], "]")
        yield from conjuncts("Become(r) == \\E s \\in {r} :", [f"{name}' = s.{name}" for name in self._variables])
        yield ""
        yield from comment("The first state, before any deduction.")
        first = [f"{terms.symbol(symbol)} |-> {self._first(symbol)}" for symbol in self._mutable]
        first += ["spent |-> 0"] if self._instance.budget is not None else []
        yield from list_lines("First == [", first, "]")

    def _type(self, symbol: Symbol) -> str:
        terms = self._terms
        sets = [terms.sort(sort) for sort in symbol.domain]
        if symbol.is_relation:
            return f"\\subseteq {terms.all_rows(sets)}" if sets else "\\in BOOLEAN"
        result = terms.sort(symbol.result)
        return f"\\in [{terms.product(sets)} -> {result}]" if sets else f"\\in {result}"

    def _first(self, symbol: Symbol) -> str:
        terms = self._terms
        given = next((each for each in self._protocol.initial if each.symbol == symbol), None)
        if given is None:
            if symbol.is_relation:
                return "{}" if symbol.domain else "FALSE"
            start = Interpreter(self._protocol, self._instance).start().functions[symbol.name]
            return self._table(symbol, dict(start)) if symbol.domain else terms.element(start[()])
        scope = terms.extended_scope(given.params, {})
        value = terms.term(given.value, scope)
        if not symbol.domain:
            return value
        names, sets = list(scope.values()), [terms.sort(sort) for sort in symbol.domain]
        if symbol.is_relation:
            return f"{{{terms.tuple(names)} \\in {terms.product(sets)} : {value}}}"
        over = ", ".join(f"{name} \\in {each}" for name, each in zip(names, sets, strict=True))
        return f"[{over} |-> {value}]"

    # -- deductions --------------------------------------------------------------------------------

    def _deductions(self) -> Iterator[str]:
        yield from title("Deductions: each adds what follows from a state; all are taken until nothing is added.")
        if not self._rules:
            yield "Saturated(s) == s"
        for rule in self._rules:
            yield from self._rule(rule)
        if self._rules:
            written = "s"
            for rule in self._rules:
                written = f"{self._terms.operator('action', rule.name)}({written})"
            yield from wrap_definition("Deduced(s) ==", written)
            yield "RECURSIVE Saturated(_)"
            yield "Saturated(s) == LET t == Deduced(s) IN IF t = s THEN s ELSE Saturated(t)"
        yield ""
        named = [f"{name} = s.{name}" for name in self._variables]
        yield from conjuncts("Init == \\E s \\in {Saturated(First)} :", named)

    def _rule(self, rule: Action) -> Iterator[str]:
        terms, name = self._terms, self._terms.operator("action", rule.name)
        given = terms.operator("action", rule.name, "given")
        scope = terms.extended_scope(rule.params, {})
        over = {scope[var.name]: terms.pool(var.sort, self._pool(rule, var)) for var in rule.params}
        guards = [(terms.term(guard.formula, scope, "s"), guard.name) for guard in rule.guards] or [("TRUE", "")]
        yield from comment(f"{name}: {rule.says} ({rule.source})")
        if over:
            yield f"{given}(s) =="
            yield f"  {{{terms.tuple(list(over))} \\in {terms.product(list(over.values()))} :"
            yield from named_conjuncts(guards, "     ", last="}")
        else:
            yield f"{given}(s) =="
            yield from named_conjuncts(guards, "  ")
        yield f"{name}(s) =="
        changes = [(self._conclusion(update, given, scope, list(over)), update.name) for update in rule.updates]
        yield from except_lines("  ", "s", changes)
        yield ""

    def _conclusion(self, update: Update, given: str, scope: Scope, params: Sequence[str]) -> str:
        """Return what a deduction inserts, for all that its premises hold of at once."""
        terms = self._terms
        name = terms.symbol(update.symbol)
        inner = terms.extended_scope(update.each, scope)
        each = {inner[var.name]: terms.sort(var.sort) for var in update.each}
        when = terms.term(update.when, inner, "s")
        if not update.args:
            some = f"\\E {terms.tuple(params)} \\in {given}(s) : {when}" if params else f"{given}(s) /\\ ({when})"
            return f"!.{name} = @ \\/ ({some})"
        if not params:
            return f"!.{name} = @ \\union (IF {given}(s) THEN {rows(update, terms, inner, each, 's')} ELSE {{}})"
        if each:
            found = rows(update, terms, inner, each, "s")
            return f"!.{name} = @ \\union UNION {{{found} : {terms.tuple(params)} \\in {given}(s)}}"
        row = terms.tuple([terms.term(arg, inner, "s") for arg in update.args])
        pattern = terms.tuple(params)
        chosen = f"{given}(s)" if when == "TRUE" else f"{{{pattern} \\in {given}(s) : {when}}}"
        found = chosen if row == pattern else f"{{{row} : {pattern} \\in {chosen}}}"
        return f"!.{name} = @ \\union {found}"

    # -- actions -----------------------------------------------------------------------------------

    def _action(self, action: Action) -> Iterator[str]:
        terms, name = self._terms, self._terms.operator("action", action.name)
        scope = terms.extended_scope(action.params, {})
        params = f"({', '.join(scope.values())})" if scope else ""
        yield ""
        yield from comment(f"{name}: {action.says} ({action.source})")
        yield f"{name}{params} =="
        guards = [(terms.term(guard.formula, scope), guard.name) for guard in action.guards]
        guards += [
            (f"{scope[one.name]} # {scope[other.name]}", "fresh values differ")
            for place, one in enumerate(action.fresh)
            for other in action.fresh[:place]
            if one.sort == other.sort
        ]
        if self._instance.budget is not None and action.cost:
            guards.append((f"spent + {action.cost} <= {self._instance.budget}", "adversary budget"))
        yield from named_conjuncts(guards, "  ")
        changes = [(change(update, terms, scope), update.name) for update in action.updates]
        if self._instance.budget is not None and action.cost:
            changes.append((f"!.spent = @ + {action.cost}", ""))
        yield "  /\\ Become(Saturated("
        yield from except_lines("       ", "Now", changes, after="))")

    def _pool(self, action: Action, var: Var) -> Sequence[str]:
        return self._instance.pools.get((action.name, var.name), self._instance.of(var.sort))

    def _next(self) -> Iterator[str]:
        yield ""
        if any(var.sort not in self._told_apart for action in self._steps for var in action.fresh):
            yield from comment("The first element of a sequence that was never used, as a set; empty if there is none.")
            yield "FirstUnused(pool, used) =="
            yield "  LET free == {i \\in DOMAIN pool : pool[i] \\notin used}"
            yield "  IN  IF free = {} THEN {} ELSE {pool[CHOOSE i \\in free : \\A j \\in free : i <= j]}"
            yield ""
        yield "Next =="
        for action in self._steps:
            yield f"  \\/ {self._action_call(action)}"
        if not self._steps:
            yield "  FALSE"
        yield ""
        yield "Spec == Init /\\ [][Next]_vars"

    def _action_call(self, action: Action) -> str:
        terms, name = self._terms, self._terms.operator("action", action.name)
        scope = terms.extended_scope(action.params, {})
        if not scope:
            return name
        chosen = "".join(f"\\E {scope[var.name]} \\in {self._choices(action, var, scope)} : " for var in action.params)
        return f"{chosen}{name}({', '.join(scope.values())})"

    def _choices(self, action: Action, var: Var, scope: Scope) -> str:
        pool = self._pool(action, var)
        if var not in action.fresh or var.sort in self._told_apart:
            return self._terms.pool(var.sort, pool)
        before = action.params[: action.params.index(var)]
        earlier = [each for each in before if each in action.fresh and each.sort == var.sort]
        used = self._terms.symbol(used_symbol(var.sort))
        drawn = f"{used} \\union {{{', '.join(scope[each.name] for each in earlier)}}}" if earlier else used
        return f"FirstUnused(<<{', '.join(map(self._terms.element, pool))}>>, {drawn})"

    # -- claims ------------------------------------------------------------------------------------

    def _invariants(self) -> Iterator[str]:
        yield from title("What is claimed of every state.")
        sentences = {claim.name: claim.sentence for claim in self._protocol.claims}
        for claim in self._claims:
            name = self._terms.operator("claim", claim.name)
            falls = f" Expected to be broken under {self._threat}." if claim.name in self._expected else ""
            yield from comment(f"{name}: {sentences.get(claim.name, '')}{falls}")
            yield from wrap_definition(f"{name} ==", self._terms.term(claim.formula, {}))
            yield ""


# --------------------------------------------------------------------------------------------------
# Layout of TLA+: comments, lists and definitions, one part to a line, each part with its name beside it.

WIDTH = 110
GLUE = "\0"  #: Stands for a space that no line is broken at.


def comment(*paragraphs: str) -> Iterator[str]:
    """Yield paragraphs as comment lines."""
    for paragraph in paragraphs:
        plain = "".join(letter if letter.isprintable() else " " for letter in paragraph)
        yield from (f"\\* {line}" for line in textwrap.wrap(plain, WIDTH))


def title(text: str) -> Iterator[str]:
    """Yield the heading of a section of the module."""
    yield ""
    yield "-" * 40
    yield from comment(text)
    yield ""


def trailing_comment(name: str) -> str:
    """Return ``name`` as a comment at the end of a line; empty for an empty name."""
    plain = "".join(letter if letter.isprintable() else " " for letter in name)
    return f"  \\* {plain}" if plain else ""


def conjuncts(head: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a definition as a conjunction, one conjunct per line."""
    yield head
    yield from (f"  /\\ {part}" for part in parts or ("TRUE",))


def named_conjuncts(parts: Sequence[tuple[str, str]], margin: str, last: str = "") -> Iterator[str]:
    """Yield conjuncts, one per line, each with its name as a comment; ``last`` is appended to the last line."""
    for place, (part, name) in enumerate(parts, 1):
        yield f"{margin}/\\ {part}{last if place == len(parts) else ''}{trailing_comment(name)}"


def list_lines(head: str, parts: Sequence[str], end: str) -> Iterator[str]:
    """Yield ``parts`` one per line, separated by commas, between ``head`` and ``end``."""
    yield head
    yield from (f"  {part}{',' if place < len(parts) else end}" for place, part in enumerate(parts, 1))


def except_lines(margin: str, record: str, changes: Sequence[tuple[str, str]], after: str = "") -> Iterator[str]:
    """Yield the lines of an ``EXCEPT`` expression, one change per line, each with its name as a comment."""
    if not changes:
        yield f"{margin}{record}{after}"
        return
    yield f"{margin}[{record} EXCEPT"
    for place, (written, name) in enumerate(changes, 1):
        end = "," if place < len(changes) else f"]{after}"
        yield f"{margin}   {written}{end}{trailing_comment(name)}"


def wrap_definition(head: str, text: str) -> Iterator[str]:
    """Yield a definition over several lines, broken between words but never inside a string."""
    yield head
    joined = re.sub(r'"[^"]*"', lambda found: found[0].replace(" ", GLUE), text)
    lines = textwrap.wrap(joined, WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from (f"  {line}".replace(GLUE, " ") for line in lines)


# --------------------------------------------------------------------------------------------------
# Terms of TLA+: relations as sets of tuples, functions as functions, elements as strings, with no name bound twice.

WORDS = """
ASSUME ASSUMPTION AXIOM BOOLEAN CASE CHOOSE CONSTANT CONSTANTS DOMAIN ELSE ENABLED EXCEPT EXTENDS FALSE IF IN INSTANCE
LAMBDA LET LOCAL MODULE OTHER RECURSIVE STRING SUBSET THEN THEOREM TRUE UNCHANGED UNION VARIABLE VARIABLES WITH WF_
SF_ ACTION HAVE OBVIOUS PICK PROOF PROPOSITION PROVE QED STATE TAKE TEMPORAL USE WITNESS BY COROLLARY DEF DEFINE DEFS
DF HIDE LEMMA NEW OMITTED ONLY SUFFICES Nat TypeOK First Init Next Spec Now Become Deduced Saturated FirstUnused vars
spent r s t free pool used i j
"""
RESERVED = frozenset(WORDS.split())  #: Words of TLA+, of the module that is extended, and of what every export defines.

Scope = Mapping[str, str]  #: The identifier of each variable that is bound or a parameter.


class Terms:
    """Translates the terms of one protocol on one instance to TLA+."""

    def __init__(self, protocol: Protocol, instance: Instance) -> None:
        self._ids = Identifiers(RESERVED)
        self._elements: dict[str, Identifiers] = {}
        self._instance = instance
        for sort in protocol.sorts:
            self.sort(sort)
        for symbol in protocol.symbols:
            self.symbol(symbol)

    # -- names -------------------------------------------------------------------------------------

    def sort(self, sort: Sort) -> str:
        """Return the identifier of the set of a sort's elements."""
        return self._ids.of(("sort", sort.name), sort.name)

    def symbol(self, symbol: Symbol) -> str:
        """Return the identifier of a symbol."""
        return self._ids.of(("symbol", symbol.name), symbol.name)

    def operator(self, kind: str, name: str, *ending: str) -> str:
        """Return the identifier of the definition for an action, a claim or a rule."""
        return self._ids.of((kind, name, ending), name, *ending)

    def element(self, element: str) -> str:
        """Return an element as a string. ``<`` begins an escaped character, so the strings of elements differ."""
        return f'"{element}"' if re.fullmatch(r"[ -!#-;=-\[\]-~]*", element) else self._spelt(element)

    def _spelt(self, element: str) -> str:
        return f'"{"".join(each if each.isascii() and each.isalnum() else f"<{ord(each):x}>" for each in element)}"'

    def extended_scope(self, variables: Iterable[Var], scope: Scope) -> dict[str, str]:
        """Return a scope extended by ``variables``, each with an identifier that is unused there."""
        found = dict(scope)
        for var in variables:
            base = re.sub(r"\W", "_", var.name.partition(".")[0], flags=re.ASCII)
            base = base if base[:1].isalpha() else f"x_{base}"
            name, number = base, 2
            while self._ids.is_taken(name) or name in found.values():
                name, number = f"{base}_{number}", number + 1
            found[var.name] = name
        return found

    # -- sets and tuples ---------------------------------------------------------------------------

    def elements(self, elements: Iterable[str]) -> str:
        """Return a set of elements."""
        return f"{{{', '.join(map(self.element, elements))}}}"

    def pool(self, sort: Sort, pool: Sequence[str]) -> str:
        """Return the set of those elements of a sort that are in ``pool``; each has a name."""
        return self.sort(sort) if set(pool) == set(self._instance.of(sort)) else self.elements(pool)

    def product(self, sets: Sequence[str]) -> str:
        """Return the set of tuples over ``sets``; for one set, the set itself."""
        return " \\X ".join(sets)

    def all_rows(self, sets: Sequence[str]) -> str:
        """Return the same set, in parentheses if it is an operand."""
        return sets[0] if len(sets) == 1 else f"({self.product(sets)})"

    def tuple(self, parts: Sequence[str]) -> str:
        """Return a tuple; for one part, the part itself."""
        return parts[0] if len(parts) == 1 else f"<<{', '.join(parts)}>>"

    # -- terms -------------------------------------------------------------------------------------

    def term(self, term: Term, scope: Scope, state: str = "") -> str:
        """Return a term in TLA+. It reads mutable symbols from the record ``state``, or else from the variables."""
        match term:
            case Var(name):
                return scope[name]
            case Member(_, name):
                return self.element(name)
            case Truth(value):
                return "TRUE" if value else "FALSE"
            case Apply(symbol, args):
                return self._applied(symbol, [self.term(arg, scope, state) for arg in args], state)
            case Equal(left, right):
                return f"{self._operand(left, scope, state)} = {self._operand(right, scope, state)}"
            case Not(Equal(left, right)):
                return f"{self._operand(left, scope, state)} # {self._operand(right, scope, state)}"
            case Not(Apply(symbol, args)) if args:
                held = self._applied(symbol, [self.term(arg, scope, state) for arg in args], state)
                return held.replace(" \\in ", " \\notin ", 1) if held.count(" \\in ") == 1 else f"~({held})"
            case Not(body):
                return f"~{self._operand(body, scope, state)}"
            case _:
                return self._compound(term, scope, state)

    def _compound(self, term: Term, scope: Scope, state: str) -> str:
        match term:
            case And(parts) | Or(parts):
                sign, empty = (" /\\ ", "TRUE") if isinstance(term, And) else (" \\/ ", "FALSE")
                return sign.join(self._operand(part, scope, state) for part in parts) or empty
            case Implies(premise, conclusion):
                return f"{self._operand(premise, scope, state)} => {self._operand(conclusion, scope, state)}"
            case IfThenElse(test, then, otherwise):
                texts = (self.term(part, scope, state) for part in (test, then, otherwise))
                return "IF {} THEN {} ELSE {}".format(*texts)
            case Forall(bound, body) | Exists(bound, body):
                inner = self.extended_scope(bound, scope)
                sign = "\\A" if isinstance(term, Forall) else "\\E"
                listed = ", ".join(f"{inner[var.name]} \\in {self.sort(var.sort)}" for var in bound)
                return f"{sign} {listed} : {self.term(body, inner, state)}"
            case _:
                raise TypeError(f"{term} is no term")

    def _operand(self, term: Term, scope: Scope, state: str) -> str:
        written = self.term(term, scope, state)
        return written if isinstance(term, Var | Member | Truth) or _is_atom(term) else f"({written})"

    def _applied(self, symbol: Symbol, args: Sequence[str], state: str) -> str:
        name = self.symbol(symbol)
        held = f"{state}.{name}" if state and symbol.mutable else name
        if not args:
            return held
        return f"{self.tuple(args)} \\in {held}" if symbol.is_relation else f"{held}[{', '.join(args)}]"


def _is_atom(term: Term) -> bool:
    return isinstance(term, Apply) and not (term.symbol.is_relation and term.args)


# --------------------------------------------------------------------------------------------------
# Updates of TLA+: what an action or a rule changes, as parts of an ``EXCEPT`` over the record of all variables.


def change(update: Update, terms: Terms, scope: Scope) -> str:
    """Return the effect of an update as an expression, which reads the state before the step."""
    name = terms.symbol(update.symbol)
    inner = terms.extended_scope(update.each, scope)
    if update.symbol.is_relation:
        return f"!.{name} = {_relation(update, terms, inner)}"
    when = "" if update.when == TRUE else terms.term(update.when, inner)
    assert update.value is not None
    value = terms.term(update.value, inner)
    if update.each:
        return f"!.{name} = {_function(update, terms, inner, value, when)}"
    args = ", ".join(terms.term(arg, inner) for arg in update.args)
    place = f"!.{name}[{args}]" if args else f"!.{name}"
    return f"{place} = IF {when} THEN {value} ELSE @" if when else f"{place} = {value}"


def rows(update: Update, terms: Terms, scope: Scope, over: Mapping[str, str], state: str = "") -> str:
    """Return the set of rows that an update inserts or removes; ``over`` has the range of each bound variable."""
    row = terms.tuple([terms.term(arg, scope, state) for arg in update.args])
    when = "" if update.when == TRUE else terms.term(update.when, scope, state)
    if not over:
        return f"(IF {when} THEN {{{row}}} ELSE {{}})" if when else f"{{{row}}}"
    pattern, values = terms.tuple(list(over)), terms.product(list(over.values()))
    if row == pattern:
        return f"{{{pattern} \\in {values} : {when}}}" if when else f"({values})"
    chosen = f"{{{pattern} \\in {values} : {when}}}" if when else values
    return f"{{{row} : {pattern} \\in {chosen}}}"


def _relation(update: Update, terms: Terms, scope: Scope) -> str:
    inserts = update.effect is Effect.INSERT
    if not update.args:
        if update.when == TRUE:
            return "TRUE" if inserts else "FALSE"
        when = terms.term(update.when, scope)
        return f"(@ \\/ ({when}))" if inserts else f"(@ /\\ ~({when}))"
    over = {scope[var.name]: terms.sort(var.sort) for var in update.each}
    sign = "\\union" if inserts else "\\"
    return f"@ {sign} {rows(update, terms, scope, over)}"


def _function(update: Update, terms: Terms, scope: Scope, value: str, when: str) -> str:
    """Return a function that is changed at the rows in which an ``each`` stands for every element."""
    names = terms.extended_scope((Var(f"at {place}", sort) for place, sort in enumerate(update.symbol.domain)), scope)
    places = [
        scope[arg.name] if isinstance(arg, Var) and arg in update.each else names[f"at {place}"]
        for place, arg in enumerate(update.args)
    ]
    meant = [
        f"{place} = {terms.term(arg, scope)}"
        for place, arg in zip(places, update.args, strict=True)
        if not (isinstance(arg, Var) and arg in update.each)
    ]
    tests = [*meant, *([f"({when})"] if when else [])]
    domain = ", ".join(
        f"{place} \\in {terms.sort(sort)}" for place, sort in zip(places, update.symbol.domain, strict=True)
    )
    kept = f"IF {_all(tests)} THEN {value} ELSE @[{', '.join(places)}]" if tests else value
    return f"[{domain} |-> {kept}]"


def _all(tests: Sequence[str]) -> str:
    return " /\\ ".join(tests)
