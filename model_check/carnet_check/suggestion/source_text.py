"""Lemmas as Python source text in the style of authors: a decorated function for each."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from carnet_check.loading.families import Source
from carnet_check.suggestion.scope import bound_to, scope_of_claims
from carnet_spec import language
from carnet_spec.language import Draft, Function, Invariant, Protocol, Relation, Symbol, terms
from carnet_spec.language.expressions import Expression, Individual, used_symbol
from carnet_spec.language.notation import unused_name

WIDTH = 120
LANGUAGE = "carnet_spec.language"
#: What the text of a lemma may use of the language.
WORDS = frozenset(("Formula", "exists", "false", "forall", "implies", "true", "used"))


@dataclass(frozen=True, slots=True)
class AuthorNames:
    """The Python names that an author uses for symbols, sorts and words of the language."""

    draft: str = "draft"  #: the draft that lemmas are stated of.
    #: the values of all names that can be used beside the claims.
    scope: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def beside_claims(cls, source: Source, protocol: Protocol) -> AuthorNames:
        """Return the names that can be used where the claims of a design are stated."""
        scope = dict(scope_of_claims(source, protocol.variant))
        design = protocol.id, protocol.variant
        drafts = [
            name for name, value in scope.items() if isinstance(value, Draft) and (value.id, value.variant) == design
        ]
        return cls(drafts[-1] if drafts else "draft", scope)

    @property
    def names_in_use(self) -> Collection[str]:
        """The names that are in use beside the claims or in the text of a lemma."""
        return {self.draft, *self.scope, *WORDS, *keyword.kwlist}

    def of(self, symbol: Symbol) -> str:
        """Return the Python name of a symbol, or the symbol's own name if none is bound to it."""
        return self._called(symbol.name, lambda value: _symbol(value) == symbol)

    def of_sort(self, sort: terms.Sort) -> str:
        """Return the Python name of a sort's class, or the sort's own name if none is bound to it."""
        return self._called(sort.name, lambda value: _sort(value) == sort)

    def of_word(self, word: str) -> str:
        """Return the Python name of a word of the language, as bound or as it is to be imported."""
        return self._called(unused_name(word, self.scope), lambda value: value is getattr(language, word))

    def _called(self, own: str, fits: Callable[[object], bool]) -> str:
        names = [*bound_to(self.scope, fits)]
        return own if own in names or not names else names[0]

    def import_line(self, sources: Iterable[str]) -> str:
        """Return the line that imports the missing words of the language for ``sources``; empty if none is missing."""
        used = {node.id for text in sources for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        called = {word: self.of_word(word) for word in sorted(WORDS)}
        lacking = [(word, name) for word, name in called.items() if name in used - self.scope.keys()]
        imports = ", ".join(word if word == name else f"{word} as {name}" for word, name in lacking)
        return f"from {LANGUAGE} import {imports}" if imports else ""


def _symbol(value: object) -> Symbol | None:
    """Return the symbol that a value is, by itself."""
    match value:
        case Relation(symbol=symbol) | Function(symbol=symbol):
            return symbol
        case Expression(term=terms.Apply(symbol, ())):
            return symbol
        case _:
            return None


def _sort(value: object) -> terms.Sort | None:
    if isinstance(value, type) and issubclass(value, Individual) and value is not Individual:
        return value.sort
    return None


def lemma_source(lemma: Invariant, names: AuthorNames) -> str:
    """Return a lemma as the text of a function, decorated as authors do, in lines of at most 120 columns if it fits."""
    under = ", ".join(f'"{threat}"' for threat in lemma.under)
    decorator = f"@{names.draft}.lemma_under({under})" if under else f"@{names.draft}.lemma"
    params = ", ".join(f"{var.name}: {names.of_sort(var.sort)}" for var in lemma.params)
    returned = f"-> {names.of_word('Formula')}:"
    line = f"def {lemma.name}({params}) {returned}"
    head = [line] if len(line) <= WIDTH else [f"def {lemma.name}(", f"    {params},", f") {returned}"]
    text = [decorator, *head, f'    """{lemma.says}"""']
    return "\n".join([*text, *_returned(lemma.body, names)]) + "\n"


def _returned(body: terms.Term, names: AuthorNames) -> list[str]:
    line = f"    return {expression(body, names)}"
    if len(line) <= WIDTH or not isinstance(body, terms.Implies):
        return [line]
    premise, conclusion = expression(body.premise, names), expression(body.conclusion, names)
    return [f"    return {names.of_word('implies')}(", f"        {premise},", f"        {conclusion},", "    )"]


def expression(term: terms.Term, names: AuthorNames, *, operand: bool = False) -> str:
    """Return a term as a Python expression; as an operand of ``&``, ``|`` or ``~`` in parentheses where it must be."""
    match term:
        case terms.Var(name, _):
            return name.replace(".", "_")
        case terms.Member(sort, name):
            return f"{names.of_sort(sort)}.{name}"
        case terms.Truth(value):
            return names.of_word("true" if value else "false")
        case terms.Apply(symbol, args):
            return _applied(symbol, [expression(arg, names) for arg in args], names)
        case terms.Not(terms.Equal(left, right)):
            written = f"{expression(left, names)} != {expression(right, names)}"
        case terms.Equal(left, right):
            written = f"{expression(left, names)} == {expression(right, names)}"
        case terms.Not(body):
            return f"~{expression(body, names, operand=True)}"
        case terms.And(parts):
            written = " & ".join(expression(part, names, operand=True) for part in parts)
        case terms.Or(parts):
            written = " | ".join(expression(part, names, operand=True) for part in parts)
        case terms.Implies(premise, conclusion):
            sides = f"{expression(premise, names)}, {expression(conclusion, names)}"
            return f"{names.of_word('implies')}({sides})"
        case terms.Forall(bound, body) | terms.Exists(bound, body):
            quantifier = names.of_word("forall" if isinstance(term, terms.Forall) else "exists")
            variables = ", ".join(var.name.replace(".", "_") for var in bound)
            sorts = ", ".join(names.of_sort(var.sort) for var in bound)
            return f"{quantifier}(lambda {variables}: {expression(body, names)}, {sorts})"
        case _:
            raise TypeError(f"no author writes {term!r}")
    return f"({written})" if operand else written


def _applied(symbol: Symbol, args: list[str], names: AuthorNames) -> str:
    drawn = len(symbol.domain) == 1 and symbol.domain[0].fresh and symbol == used_symbol(symbol.domain[0])
    called = names.of_word("used") if drawn else names.of(symbol)
    return f"{called}({', '.join(args)})" if args else called


# -- what is written, read again ---------------------------------------------------------------------


def reads_back(lemma: Invariant, names: AuthorNames) -> bool:
    """Whether the source text of a lemma, evaluated beside the author's claims, gives an equal lemma."""
    source = lemma_source(lemma, names)
    scope: dict[str, object] = {**names.scope, names.draft: Draft("again", "The lemma, read again")}
    try:
        text = "\n".join([names.import_line([source]), source])
        exec(compile(text, "<suggested lemma>", "exec", dont_inherit=True), scope)
    except Exception:  # whatever the author's names stand for may raise anything
        return False
    again = scope[lemma.name]
    return isinstance(again, Invariant) and _meaning(again) == _meaning(lemma)


def _meaning(lemma: Invariant) -> tuple[object, ...]:
    return lemma.name, lemma.params, _numbered(lemma.body), lemma.under


def _numbered(term: terms.Term, depth: int = 0) -> terms.Term:
    """Return a term that does not depend on what its bound variables were called."""
    match term:
        case terms.Forall(bound, body) | terms.Exists(bound, body):
            renamed = tuple(terms.Var(f"{depth}.{place}", var.sort) for place, var in enumerate(bound))
            inner = terms.substitute(body, dict(zip(bound, renamed, strict=True)))
            return type(term)(renamed, _numbered(inner, depth + 1))
        case _:
            return terms.rebuild(term, lambda child: _numbered(child, depth))


# -- names -----------------------------------------------------------------------------------------


def with_free_parameters(lemma: Invariant, names: AuthorNames) -> Invariant:
    """Return a lemma whose parameter names are not in use beside the claims."""
    taken = {*names.names_in_use, *(symbol.name for symbol in _symbols_in_order(lemma.body))}
    values: dict[terms.Var, terms.Var] = {}
    for var in lemma.params:
        values[var] = terms.Var(unused_name(var.name, taken), var.sort)
        taken.add(values[var].name)
    return replace(lemma, params=tuple(values.values()), body=terms.substitute(lemma.body, values))


def lemma_name(lemma: Invariant, protocol: Protocol, taken: Iterable[str]) -> str:
    """Return an unused name for a lemma, made of the subjects of its premise and of its conclusion, denied or not."""
    spoken = [*_symbols_in_order(lemma.body)]
    first = spoken[0].name if spoken else "all"
    conclusion = lemma.body.conclusion if isinstance(lemma.body, terms.Implies) else lemma.body
    said = next((symbol.name for symbol in _symbols_in_order(conclusion)), "")
    denied = "not_" if isinstance(conclusion, terms.Not) else ""
    base = re.sub(r"\W+", "_", f"{first}_implies_{denied}{said}" if said else f"one_{first}").lower()
    known = {*taken, *(symbol.name for symbol in protocol.symbols), *(each.name for each in protocol.invariants)}
    return unused_name(f"{base}_" if keyword.iskeyword(base) else base, known)


def _symbols_in_order(term: terms.Term) -> Iterable[Symbol]:
    if isinstance(term, terms.Apply):
        yield term.symbol
    for child in terms.children(term):
        yield from _symbols_in_order(child)
