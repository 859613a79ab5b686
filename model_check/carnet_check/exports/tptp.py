"""Obligations as typed first-order TPTP (TFF), which E and other provers of first-order logic read.

Names are those of the SMT-LIB text (:mod:`.smtlib`), in quotes; bound variables are numbered. TPTP knows no
enumerations, so each is a type whose members are said to differ and to be all there is. A choice between two formulas
is written out. Types of TPTP have elements, so the hypotheses that say so of sorts are not needed here, and do no harm.
``Unsatisfiable`` is a proof.
"""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping

from carnet_check.exports.obligation_text import Provable, select_hypotheses
from carnet_check.exports.smtlib import member_name, sort_name, symbol_name, with_symbols
from carnet_check.obligations import GOAL, Hypothesis
from carnet_spec.language import Sort, SpecificationError, Symbol, terms

_UNCLEAR = re.compile(r"[^A-Za-z0-9]")
_Names = Mapping[terms.Var, str]


def tptp(obligation: Provable, kept: Collection[str] | None = None, goal: terms.Term | None = None) -> str:
    """Return ``obligation`` in TPTP with the hypotheses in ``kept`` (by default all) and its goal.

    Raises SpecificationError if a hypothesis does not exist, or TPTP cannot express a name.

    Args:
        obligation: the obligation to write.
        kept: names of hypotheses.
        goal: a formula to write instead of the negated goal.
    """
    hypotheses = select_hypotheses(obligation, kept)
    if goal is not None:
        hypotheses = (*hypotheses[:-1], Hypothesis(GOAL, goal))
    constants = [constant.symbol for constant in obligation.constants]
    things = dict.fromkeys(thing for symbol in constants for thing in (symbol.result, symbol))
    for hypothesis in hypotheses:
        things.update(dict.fromkeys(with_symbols(hypothesis.formula)[1]))
    sorts = [thing for thing in things if isinstance(thing, Sort)]
    lines = [
        *(_type_line(sort_name(sort), "$tType") for sort in sorts),
        *(_type_line(member_name(each), _type(each.sort)) for sort in sorts for each in _members(sort)),
        *(_type_line(symbol_name(thing), _signature(thing)) for thing in things if isinstance(thing, Symbol)),
        *(line for sort in sorts for line in _enumeration(sort)),
        *(_line(each.name, _role(each), _Writer().formula(each.formula, {})) for each in hypotheses),
        "",
    ]
    return "\n".join(lines)


def quote_name(name: str) -> str:
    """Return ``name`` as a quoted TPTP name; raise SpecificationError if TPTP cannot express it."""
    if not (name.isascii() and name.isprintable()):
        raise SpecificationError(f"'{name}' has characters that TPTP cannot write in a name")
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _line(name: str, role: str, formula: str) -> str:
    return f"tff({quote_name(name)}, {role}, {formula})."


def _role(hypothesis: Hypothesis) -> str:
    return "negated_conjecture" if hypothesis.name == GOAL else "axiom"


def _type_line(name: str, type: str) -> str:
    return _line(f"type:{name}", "type", f"{quote_name(name)}: {type}")


def _type(sort: Sort) -> str:
    return quote_name(sort_name(sort))


def _signature(symbol: Symbol) -> str:
    result = "$o" if symbol.is_relation else _type(symbol.result)
    if not symbol.domain:
        return result
    domain = " * ".join(_type(sort) for sort in symbol.domain)
    return f"{f'({domain})' if len(symbol.domain) > 1 else domain} > {result}"


def _members(sort: Sort) -> list[terms.Member]:
    return [terms.Member(sort, name) for name in sort.members or ()]


def _enumeration(sort: Sort) -> Iterator[str]:
    """Yield that the members of an enumeration differ, and that there is nothing else."""
    members = [quote_name(member_name(each)) for each in _members(sort)]
    if len(members) > 1:
        differ = " & ".join(f"{one} != {other}" for one, other in itertools.combinations(members, 2))
        yield _line(f"differ:{sort.name}", "axiom", f"({differ})")
    if members:
        one_of = " | ".join(f"X = {each}" for each in members)
        yield _line(f"exhaust:{sort.name}", "axiom", f"! [X: {_type(sort)}] : ({one_of})")


class _Writer:
    """Writes one formula; no two quantifiers of it bind the same variable."""

    def __init__(self) -> None:
        self._bound = 0

    def formula(self, formula: terms.Term, names: _Names) -> str:
        match formula:
            case terms.Truth(value):
                return "$true" if value else "$false"
            case terms.Equal(left, right):
                return f"({_term(left, names)} = {_term(right, names)})"
            case terms.Not(body):
                return f"~ {self.formula(body, names)}"
            case terms.And((one, other)):
                return f"({self.formula(one, names)} & {self.formula(other, names)})"
            case terms.Or((one, other)):
                return f"({self.formula(one, names)} | {self.formula(other, names)})"
            case terms.Implies(premise, conclusion):
                return f"({self.formula(premise, names)} => {self.formula(conclusion, names)})"
            case terms.IfThenElse(test, then, otherwise):
                first = self.formula(terms.Implies(test, then), names)
                return f"({first} & {self.formula(terms.Implies(terms.Not(test), otherwise), names)})"
            case terms.Forall((var,), body):
                return self._quantified("!", var, body, names)
            case terms.Exists((var,), body):
                return self._quantified("?", var, body, names)
            case _:
                return _term(formula, names)

    def _quantified(self, quantifier: str, var: terms.Var, body: terms.Term, names: _Names) -> str:
        self._bound += 1
        name = f"V{self._bound}_{_UNCLEAR.sub('_', var.name)}"
        inner = self.formula(body, {**names, var: name})
        return f"( {quantifier} [{name}: {_type(var.sort)}] : {inner} )"


def _term(term: terms.Term, names: _Names) -> str:
    match term:
        case terms.Var():
            return names[term]
        case terms.Member():
            return quote_name(member_name(term))
        case terms.Apply(symbol, ()):
            return quote_name(symbol_name(symbol))
        case terms.Apply(symbol, args):
            return f"{quote_name(symbol_name(symbol))}({', '.join(_term(arg, names) for arg in args)})"
        case _:
            raise SpecificationError(f"a {type(term).__name__} is not a term of an obligation")
