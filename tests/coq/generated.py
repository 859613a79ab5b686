"""Formulas of Python obligations as the program in Coq prints its own: with numbers for names, and without variables.

This is written for the comparison and shares nothing with what is exported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from carnet_check.coq.certificates import coq_obligations
from carnet_check.exports.coq_data import GENERAL
from carnet_check.exports.systems import system
from carnet_check.obligations import Hypothesis, Obligation, layers, obligations
from carnet_spec.language import Protocol, Sort, Symbol, Term, terms

WORDS = {terms.And: "And", terms.Or: "Or", terms.Forall: "Forall", terms.Exists: "Exists"}


class Numbering:
    """Numbers for the sorts, symbols and members of a protocol, in alphabetical order."""

    def __init__(self, sorts: Sequence[Sort], symbols: Sequence[Symbol]) -> None:
        ordered = sorted(sorts, key=lambda sort: (sort.members is not None, sort.name))
        self.sorts = {sort.name: number for number, sort in enumerate(ordered, 1)}
        self.symbols = {name: number for number, name in enumerate(sorted(symbol.name for symbol in symbols), 1)}
        members = [(sort.name, member) for sort in ordered for member in sort.members or ()]
        self.members = {member: number for number, member in enumerate(members, 1)}
        self._texts: dict[tuple[Hypothesis, tuple[terms.Apply, ...]], str] = {}

    def hypotheses(self, obligation: Obligation) -> list[tuple[str, str]]:
        """Return the hypotheses with their names, those about sorts in alphabetical order."""
        constants = {constant.symbol: place for place, constant in enumerate(obligation.constants)}
        found = []
        for hypothesis in obligation.hypotheses:
            asked = hypothesis, obligation.constants
            if asked not in self._texts:
                self._texts[asked] = self.formula(hypothesis.formula, (), constants)
            found.append((hypothesis.name, self._texts[asked]))
        sorts = sum(name.startswith("sort:") for name, _ in found)
        return [*sorted(found[:sorts]), *found[sorts:]]

    def formula(self, term: Term, scope: tuple[terms.Var, ...], constants: Mapping[Symbol, int]) -> str:
        """Return a formula; ``scope`` lists the variables, the innermost first."""

        def said(*parts: Term) -> str:
            return " ".join(self.formula(part, scope, constants) for part in parts)

        match term:
            case terms.Truth(value):
                return f"(Const {str(value).lower()})"
            case terms.Apply(symbol, args):
                return f"(Holds {self.symbols[symbol.name]} ({' '.join(self.term(a, scope, constants) for a in args)}))"
            case terms.Equal(left, right):
                return f"(Equal {self.term(left, scope, constants)} {self.term(right, scope, constants)})"
            case terms.Not(body):
                return f"(Not {said(body)})"
            case terms.And((left, right)) | terms.Or((left, right)):
                return f"({WORDS[type(term)]} {said(left, right)})"
            case terms.Implies(premise, conclusion):
                return f"(Implies {said(premise, conclusion)})"
            case terms.IfThenElse(test, then, otherwise):
                return f"(Choose {said(test, then, otherwise)})"
            case terms.Forall((var,), body) | terms.Exists((var,), body):
                inner = self.formula(body, (var, *scope), constants)
                return f"({WORDS[type(term)]} {self.sorts[var.sort.name]} {inner})"
        raise AssertionError(f"no formula of an obligation: {term}")

    def term(self, term: Term, scope: tuple[terms.Var, ...], constants: Mapping[Symbol, int]) -> str:
        """Return a term; a constant of the obligation is a variable beyond all that are bound."""
        match term:
            case terms.Var():
                return f"(Bound {scope.index(term)})"
            case terms.Member(sort, name):
                return f"(Member {self.members[sort.name, name]})"
            case terms.Apply(symbol, ()) if symbol in constants:
                return f"(Bound {len(scope) + constants[symbol]})"
            case terms.Apply(symbol, args):
                return f"(Apply {self.symbols[symbol.name]} ({' '.join(self.term(a, scope, constants) for a in args)}))"
        raise AssertionError(f"no term of an obligation: {term}")


# -- obligations as the program in Coq prints them -------------------------------------------------------


#: A threat model, an id, the numbers of the constants' sorts, and the hypotheses.
ReservedSymbol = tuple[str, str, list[str], list[str]]


def made_in_coq(lines: Iterable[str]) -> tuple[list[ReservedSymbol], list[tuple[str, str]]]:
    """Return the obligations that the program prints in these lines, and the pairs that have none."""
    formulas: dict[str, str] = {}
    found, untouched = [], []
    layer = ""
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "formula":
            number, _, formulas[number] = rest.partition(" ")
        elif word == "layer":
            layer = unquote(rest) if rest != GENERAL else ""
        elif word == "untouched":
            untouched.append((layer, id_of(rest)))
        else:
            id, _, lists = rest.partition(" ")
            constants, hypotheses = lists[1:-1].split(") (")
            found.append((layer, id_of(id), constants.split(), [formulas[each] for each in hypotheses.split()]))
    return found, untouched


def id_of(printed: str) -> str:
    """Return the id of an obligation as Python writes it."""
    return "/".join(unquote(part).replace("%", "%25").replace("/", "%2F") for part in printed.split("/"))


def made_in_python(protocol: Protocol) -> tuple[list[ReservedSymbol], list[tuple[str, str]], list[list[str]]]:
    """Return the same of the Python generator, and the names of the hypotheses."""
    number = Numbering(protocol.sorts, protocol.symbols)
    found, untouched, names = [], [], []
    for layer in layers(protocol):
        threat = layer.threat.id if layer.threat else ""
        for each in obligations(layer):
            id = each.id.removeprefix(layer.prefix)
            if each.skipped:
                untouched.append((threat, id))
                continue
            sorts = [str(number.sorts[constant.symbol.result.name]) for constant in each.constants]
            hypotheses = number.hypotheses(each)
            found.append((threat, id, sorts, [formula for _, formula in hypotheses]))
            names.append([name for name, _ in hypotheses])
    return found, untouched, names


def names_for_certificates(protocol: Protocol) -> Iterator[list[str]]:
    """Yield the names of hypotheses by which certificates are converted."""
    whole = system(protocol.canonical_json)
    for layer in whole.layers:
        for each in coq_obligations(whole, layer):
            yield list(each.hypotheses)
