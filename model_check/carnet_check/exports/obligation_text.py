"""Obligations as SMT-LIB 2 files: the text that every checker reads and certificates are bound to.

A file holds nothing but its obligation, no id and no comment, so equal obligations have equal texts. Hypotheses are
asserted by name in the obligation's order, the negated goal last; ``unsat`` is a proof. The constants that stand for
the action's parameters are declared by ``declare-const``, all of them and in order, and everything else by
``declare-fun``, in order of first use.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.exports.smtlib import LOGIC, Declarations, quote_symbol, sort_name, symbol_name, with_symbols
from carnet_check.obligations import GOAL, Hypothesis, LivenessObligation, Obligation
from carnet_check.reserved_symbols import ReservedSymbol
from carnet_spec.language import Sort, SpecificationError, Symbol, Term


class NoSuchHypothesisError(SpecificationError):
    """A requested hypothesis is not one of the obligation's."""


@dataclass(frozen=True, slots=True)
class _HypothesisText:
    """A hypothesis as text, with the declarations that it needs."""

    text: str
    sorts: Mapping[str, None]
    functions: Mapping[str, None]


Provable = Obligation | LivenessObligation  #: What has a text, and may have a certificate.
Known = tuple[str, tuple[Sort | Symbol, ...]]  #: A formula as text, and what is needed to say it.


class Writer:
    """Writes the obligations of one protocol; shared texts are generated once.

    The texts of formulas may be shared with writers for other protocols, which have many of them in common.
    """

    def __init__(self, known: dict[Term, Known] | None = None) -> None:
        self.known = {} if known is None else known
        self._said: dict[tuple[str, int], tuple[Term, _HypothesisText]] = {}
        self._digests: dict[tuple[int, tuple[str, ...]], tuple[Term, str]] = {}
        self._declarations = Declarations()

    def text(self, obligation: Provable, kept: Collection[str] | None = None) -> str:
        """Return the SMT-LIB text of ``obligation`` with the hypotheses in ``kept`` (by default all) and its goal.

        Raises NoSuchHypothesisError if it has no hypothesis of such a name; SpecificationError if a name cannot be
        written in SMT-LIB.
        """
        return self.text_of(obligation, select_hypotheses(obligation, kept))

    def text_of(self, obligation: Provable, hypotheses: Sequence[Hypothesis]) -> str:
        """Return the text of ``obligation`` with some of its hypotheses, of which the last is its goal.

        Raises SpecificationError if a name cannot be written in SMT-LIB.
        """
        stated = [self._statement(hypothesis) for hypothesis in hypotheses]
        constants = [constant.symbol for constant in obligation.constants]
        sorts = dict.fromkeys(self._declarations.sort(symbol.result) for symbol in constants)
        functions: dict[str, None] = {}
        for each in stated:
            sorts.update(each.sorts)
            functions.update(each.functions)
        lines = [
            "(set-option :produce-unsat-cores true)",
            f"(set-logic {LOGIC})",
            *(self._declarations.sorts[name] for name in sorts),
            *(
                _line(f"(declare-const {quote_symbol(symbol_name(each))} {quote_symbol(sort_name(each.result))})")
                for each in constants
            ),
            *(self._declarations.functions[name] for name in functions),
            *(each.text for each in stated),
            "(check-sat)",
            "(get-unsat-core)",
            "",
        ]
        return "\n".join(lines)

    def digest(self, obligation: Provable, kept: tuple[str, ...]) -> str:
        """Return the SHA-256 of an obligation's text.

        Obligations of steps that leave an invariant alone share one text.

        Raises SpecificationError as in :meth:`text`.
        """
        if not obligation.skipped:
            return digest(self.text(obligation, kept))
        goal = obligation.goal.formula
        known = id(goal), kept
        if known not in self._digests:
            self._digests[known] = goal, digest(self.text(obligation, kept))
        return self._digests[known][1]

    def _statement(self, hypothesis: Hypothesis) -> _HypothesisText:
        """Return how a hypothesis is said. Terms are slow to compare, so it is kept by the term itself, beside it."""
        known = hypothesis.name, id(hypothesis.formula)
        if known not in self._said:
            self._said[known] = hypothesis.formula, self._hypothesis_text(hypothesis)
        return self._said[known][1]

    def _hypothesis_text(self, hypothesis: Hypothesis) -> _HypothesisText:
        sorts: dict[str, None] = {}
        functions: dict[str, None] = {}
        known = self.known.get(hypothesis.formula)
        if known is None:
            known = self.known[hypothesis.formula] = with_symbols(hypothesis.formula)
        written, needed = known
        for thing in needed:
            if isinstance(thing, Sort):
                sorts[self._declarations.sort(thing)] = None
            elif not isinstance(thing, ReservedSymbol):
                functions[self._declarations.symbol(thing)] = None
        line = f"(assert (! {written} :named {quote_symbol(hypothesis.name)}))"
        return _HypothesisText(_line(line), sorts, functions)


def _line(line: str) -> str:
    """Return a line that is one for every reader.

    Raises SpecificationError if a name in it has an end of line, or something else that no page shows.
    """
    if not line.isprintable():
        raise SpecificationError(f"no name in a proof obligation can have characters that cannot be printed: {line!r}")
    return line


def select_hypotheses(obligation: Provable, kept: Collection[str] | None) -> tuple[Hypothesis, ...]:
    """Return the hypotheses in ``kept``, in order, and the goal; ``None`` means all hypotheses.

    Raises NoSuchHypothesisError if there is no hypothesis of such a name.
    """
    hypotheses = obligation.hypotheses
    if kept is None:
        return hypotheses
    wanted = {*kept, GOAL}
    found = tuple(each for each in hypotheses if each.name in wanted)
    if len(found) != len(wanted):
        missing = sorted(wanted - {each.name for each in found})
        raise NoSuchHypothesisError(f"obligation {obligation.id} has no hypothesis {', '.join(missing)}")
    return found


def digest(text: str) -> str:
    """Return the SHA-256 of an obligation's text, in hexadecimal; certificates are bound to it."""
    return hashlib.sha256(text.encode()).hexdigest()
