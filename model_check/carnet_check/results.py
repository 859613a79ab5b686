"""Verdicts: the closed set of words, the rows of results, and the exit code of a run.

Decided in docs/adr/0004-verdicts-and-exit-codes.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from carnet_command.exit_codes import ExitCode, deciding
from carnet_spec.language import markup
from carnet_spec.trace import TraceStep


class Verdict(StrEnum):
    """What has been established about a claim."""

    PROVED = "PROVED"
    EXHAUSTED = "EXHAUSTED"
    HOLDS_TO = "HOLDS-TO"
    SAMPLED = "SAMPLED"
    VIOLATED = "VIOLATED"
    UNKNOWN = "UNKNOWN"
    VACUOUS = "VACUOUS"
    ERROR = "ERROR"


class Kind(StrEnum):
    """The subject of a row; goals, actions and threat models have rows only if something is wrong with them."""

    CLAIM = "claim"
    GOAL = "goal"
    ACTION = "action"
    THREAT = "threat"
    LIVENESS = "liveness"
    LEMMA_CLAIM = "lemma-claim"


STRENGTH = {
    Verdict.PROVED: 5,
    Verdict.EXHAUSTED: 4,
    Verdict.HOLDS_TO: 3,
    Verdict.SAMPLED: 2,
    Verdict.UNKNOWN: 1,
}
#: What a verdict is in the cell of a table.
MARKS: Mapping[Verdict, str] = {
    Verdict.PROVED: "✓",
    Verdict.EXHAUSTED: "●",
    Verdict.HOLDS_TO: "◐",
    Verdict.SAMPLED: "~",
    Verdict.VIOLATED: "✗",
    Verdict.UNKNOWN: "?",
    Verdict.VACUOUS: "∅",
    Verdict.ERROR: "E",
}


@dataclass(frozen=True, slots=True)
class Result:
    """One verdict: the question, the engine, and the answer.

    ``bound`` is the number that belongs to the verdict: the states of an EXHAUSTED instance, the adversary moves of a
    HOLDS-TO, the random walks of a SAMPLED. ``seconds`` is the only field that differs between equal runs.
    """

    protocol: str
    variant: str
    claim: str
    threat: str
    engine: str
    verdict: Verdict
    expected: Verdict
    bound: int | None = None
    detail: str = ""
    seconds: float = 0.0
    assumptions: tuple[str, ...] = ()
    kind: Kind = Kind.CLAIM
    defences: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    steps: tuple[TraceStep, ...] = ()
    loop: int | None = None  #: For a lasso: the position of the first step that is repeated for ever.
    #: For a lemma claim, each hypothesis with the smallest counterexample to the claim without it.
    counterexamples: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """The key that identifies the row among those of one run."""
        return (self.variant, self.kind, self.claim, self.threat, self.engine)

    @property
    def has_trace(self) -> bool:
        """Whether the row has a trace, which may be a lasso without steps."""
        return bool(self.steps) or self.loop is not None

    @property
    def as_expected(self) -> bool:
        """Whether the verdict equals its expectation or is stronger."""
        if self.verdict not in STRENGTH or self.expected not in STRENGTH:
            return self.verdict is self.expected
        return STRENGTH[self.verdict] >= STRENGTH[self.expected]

    @property
    def verdict_text(self) -> str:
        """The verdict with its number, for display."""
        if self.bound is None:
            return str(self.verdict)
        if self.verdict is Verdict.HOLDS_TO:
            return f"{self.verdict} {self.bound}"
        return f"{self.verdict}({self.bound:,})"

    def _repr_html_(self) -> str:
        title = f"{self.claim} under {self.threat}: {markup.design(self.protocol, self.variant, ())}"
        return markup.document(title, markup.paragraph(_in_words(self)), markup.paragraph(self.detail))

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON values, without its time, which may differ between equal runs."""
        row: dict[str, Any] = {
            "protocol": self.protocol,
            "variant": self.variant,
            "claim": self.claim,
            "threat": self.threat,
            "engine": self.engine,
            "verdict": str(self.verdict),
            "bound": self.bound,
            "expected": str(self.expected),
            "detail": self.detail,
            "assumptions": list(self.assumptions),
            "kind": str(self.kind),
            "as_expected": self.as_expected,
        }
        if self.defences:
            row["defences"] = list(self.defences)
        if self.lemmas:
            row["lemmas"] = list(self.lemmas)
        if self.has_trace:
            row["steps"] = steps_as_json(self.steps)
        if self.loop is not None:
            row["loop"] = self.loop
        if self.counterexamples:
            row["counterexamples"] = [{"without": name, "case": case} for name, case in self.counterexamples]
        return row


def as_html(rows: Iterable[Result]) -> markup.Html:
    """Return rows as HTML for notebooks: for each design a table of claims by threat models, then the other rows.

    A verdict that is not as expected is highlighted, with the expected one.
    """
    designs: dict[str, list[Result]] = {}
    for row in rows:
        designs.setdefault(markup.design(row.protocol, row.variant, ()), []).append(row)
    return markup.Html("\n".join(part for about, mine in designs.items() for part in _tables(about, mine) if part))


def _tables(about: str, rows: Sequence[Result]) -> Iterator[markup.Html]:
    claims = [row for row in rows if row.kind is Kind.CLAIM]
    threats = list(dict.fromkeys(row.threat for row in claims))
    judged: dict[str, dict[str, list[str]]] = {}
    for row in claims:
        judged.setdefault(row.claim, {}).setdefault(row.threat, []).append(_in_words(row))
    matrix = ((claim, *(markup.lines(said.get(threat, ["–"])) for threat in threats)) for claim, said in judged.items())
    yield markup.table(about, ("claim", *threats), matrix)
    others = ((f"{row.kind} {row.claim}", row.threat, _in_words(row), row.detail) for row in rows if row not in claims)
    yield markup.table(f"{about}, not about a claim", ("what", "threat model", "verdict", "how"), others)


def _in_words(row: Result) -> str:
    """Return a row's verdict and explanation as one sentence."""
    if not row.as_expected:
        return markup.strong(f"{row.verdict_text}, expected {row.expected}: {row.engine}")
    return f"{row.verdict_text}{', as expected' if row.verdict is Verdict.VIOLATED else ''}: {row.engine}"


def steps_as_json(steps: Iterable[TraceStep]) -> list[dict[str, Any]]:
    """Return the steps of a trace as JSON values."""
    return [{"action": step.action, "by": step.by, "args": dict(step.args)} for step in steps]


def exit_code(results: Iterable[Result]) -> ExitCode:
    """Return the exit code of a run with these rows."""
    return deciding(map(_code, results))


def _code(result: Result) -> ExitCode:
    if result.verdict is Verdict.ERROR:
        return ExitCode.INTERNAL
    if result.as_expected:
        return ExitCode.EXPECTED
    if result.verdict is Verdict.VACUOUS:
        return ExitCode.VACUOUS
    if result.verdict in (Verdict.VIOLATED, Verdict.PROVED):
        return ExitCode.VIOLATED  # the specification's expectation, one way or the other, is refuted
    return ExitCode.UNKNOWN


def by_verdict(results: Iterable[Result]) -> dict[str, int]:
    """Count the rows of each verdict that occurs, in the order of the closed set."""
    return count_verdicts(result.verdict for result in results)


def count_verdicts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Count each verdict that occurs, in the order of the closed set."""
    counts = dict.fromkeys(Verdict, 0)
    for each in verdicts:
        counts[each] += 1
    return {str(verdict): count for verdict, count in counts.items() if count}
