"""Lemmas as the source text that authors write: a function for each, with its parameters and what it returns."""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from carnet_spec.language import Invariant, Protocol, Symbol
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.notation import unused_name
from carnet_spec.language.terms import (
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    Implies,
    Member,
    Not,
    Or,
    Term,
    Truth,
    Var,
    children,
)

WIDTH = 120
LANGUAGE = "carnet_spec.language"
WORDS = frozenset(("Formula", "exists", "false", "forall", "implies", "true", "used"))
"""What the text of a lemma may use of the language."""
STATEMENTS = ("action", "rule", "claim", "goal", "lemma", "lemma_under")
"""The methods of a draft by which an author states something."""


@dataclass(frozen=True, slots=True)
class AuthorNames:
    """What an author calls things in Python.

    Attributes:
        draft: the draft that lemmas are stated of.
        symbols: the Python name of each symbol that is declared by an assignment, by the symbol's own name.
        imported: the names of the language that the files have; ``*`` stands for all of them.
    """

    draft: str = "draft"
    symbols: Mapping[str, str] = field(default_factory=dict)
    imported: frozenset[str] = frozenset("*")

    @classmethod
    def read(cls, files: Iterable[str]) -> AuthorNames:
        """Read the names off the files of a specification; where one says nothing, the usual ones are returned."""
        nodes = [node for file in files for node in ast.walk(ast.parse(Path(file).read_bytes()))]
        symbols = dict(pair for node in nodes for pair in _declared(node))
        drafts = Counter(name for node in nodes for name in _stating(node))
        imported = frozenset(name for node in nodes for name in _imported(node))
        return cls(drafts.most_common(1)[0][0] if drafts else "draft", symbols, imported)

    def of(self, symbol: Symbol) -> str:
        """Return what a symbol is called."""
        return self.symbols.get(symbol.name, symbol.name)

    def import_line(self, sources: Iterable[str]) -> str:
        """Return the line that imports what some source texts use of the language and the files lack, or nothing."""
        used = {node.id for text in sources for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        lacking = sorted(used & WORDS - self.imported) if "*" not in self.imported else []
        return f"from {LANGUAGE} import {', '.join(lacking)}" if lacking else ""


def _imported(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.ImportFrom(module=str(module)) if module.startswith(LANGUAGE):
            yield from (alias.name for alias in node.names if alias.asname in (None, alias.name))


def _declared(node: ast.AST) -> Iterable[tuple[str, str]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=python)], value=ast.Call(args=[ast.Constant(value=str(name)), *_])):
            yield name, python


def _stating(node: ast.AST) -> Iterable[str]:
    for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        match call:
            case ast.Attribute(value=ast.Name(id=draft), attr=attribute) if attribute in STATEMENTS:
                yield draft


def lemma_source(lemma: Invariant, names: AuthorNames) -> str:
    """Return a lemma as the text of a function, decorated as authors do, in lines of at most 120 columns if it fits."""
    under = ", ".join(f'"{threat}"' for threat in lemma.under)
    decorator = f"@{names.draft}.lemma_under({under})" if under else f"@{names.draft}.lemma"
    params = ", ".join(f"{var.name}: {var.sort.name}" for var in lemma.params)
    line = f"def {lemma.name}({params}) -> Formula:"
    head = [line] if len(line) <= WIDTH else [f"def {lemma.name}(", f"    {params},", ") -> Formula:"]
    text = [decorator, *head, f'    """{lemma.says}"""']
    return "\n".join([*text, *_returned(lemma.body, names)]) + "\n"


def _returned(body: Term, names: AuthorNames) -> list[str]:
    line = f"    return {expression(body, names)}"
    if len(line) <= WIDTH or not isinstance(body, Implies):
        return [line]
    premise, conclusion = expression(body.premise, names), expression(body.conclusion, names)
    return ["    return implies(", f"        {premise},", f"        {conclusion},", "    )"]


def expression(term: Term, names: AuthorNames, *, operand: bool = False) -> str:
    """Return a term as a Python expression; as an operand of ``&``, ``|`` or ``~`` in parentheses where it must be."""
    match term:
        case Var(name, _):
            return name.replace(".", "_")
        case Member(sort, name):
            return f"{sort.name}.{name}"
        case Truth(value):
            return "true" if value else "false"
        case Apply(symbol, args):
            return _applied(symbol, [expression(arg, names) for arg in args], names)
        case Not(Equal(left, right)):
            written = f"{expression(left, names)} != {expression(right, names)}"
        case Equal(left, right):
            written = f"{expression(left, names)} == {expression(right, names)}"
        case Not(body):
            return f"~{expression(body, names, operand=True)}"
        case And(parts):
            written = " & ".join(expression(part, names, operand=True) for part in parts)
        case Or(parts):
            written = " | ".join(expression(part, names, operand=True) for part in parts)
        case Implies(premise, conclusion):
            return f"implies({expression(premise, names)}, {expression(conclusion, names)})"
        case Forall(bound, body) | Exists(bound, body):
            quantifier = "forall" if isinstance(term, Forall) else "exists"
            variables = ", ".join(var.name.replace(".", "_") for var in bound)
            sorts = ", ".join(var.sort.name for var in bound)
            return f"{quantifier}(lambda {variables}: {expression(body, names)}, {sorts})"
        case _:
            raise TypeError(f"no author writes {term!r}")
    return f"({written})" if operand else written


def _applied(symbol: Symbol, args: list[str], names: AuthorNames) -> str:
    drawn = len(symbol.domain) == 1 and symbol.domain[0].fresh and symbol == used_symbol(symbol.domain[0])
    called = "used" if drawn else names.of(symbol)
    return f"{called}({', '.join(args)})" if args else called


# -- names -----------------------------------------------------------------------------------------


def lemma_name(lemma: Invariant, protocol: Protocol, taken: Iterable[str]) -> str:
    """Return a name for a lemma that nothing else has: what its premise is about, and what it says of that."""
    spoken = [*_symbols_in_order(lemma.body)]
    first = spoken[0].name if spoken else "all"
    conclusion = lemma.body.conclusion if isinstance(lemma.body, Implies) else lemma.body
    said = next((symbol.name for symbol in _symbols_in_order(conclusion)), "")
    base = re.sub(r"\W+", "_", f"{first}_implies_{said}" if said else f"one_{first}").lower()
    known = {*taken, *(symbol.name for symbol in protocol.symbols), *(each.name for each in protocol.invariants)}
    return unused_name(f"{base}_" if keyword.iskeyword(base) else base, known)


def _symbols_in_order(term: Term) -> Iterable[Symbol]:
    if isinstance(term, Apply):
        yield term.symbol
    for child in children(term):
        yield from _symbols_in_order(child)
