"""Rows as JUnit XML, as the xUnit plugin of Jenkins accepts it: one test case to a row, one suite to a variant."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from xml.etree import ElementTree

from carnet_check.results import Result, Verdict
from carnet_check.wording import resting

_CONTROL = re.compile(r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD]")


def junit(results: Sequence[Result], silent: Collection[str] = ()) -> str:
    """Return a document in which what is not as expected failed and what broke down is an error.

    Args:
        results: the rows.
        silent: what the adversary only works out, which is not counted among the steps of a violation.
    """
    suites = ElementTree.Element("testsuites", name="carnet verify")
    together = Counter(map(_measured, results))
    for variant in dict.fromkeys(row.variant for row in results):
        rows = [row for row in results if row.variant == variant]
        shares = [row.seconds / together[_measured(row)] for row in rows]
        suites.append(_suite(f"{rows[0].protocol}.{variant}", rows, shares, silent))
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _measured(row: Result) -> tuple[str, str, float]:
    """Return what rows have in common that were answered together: each has the time that all of them took."""
    return row.engine, row.variant, row.seconds


def _suite(name: str, rows: Sequence[Result], shares: Sequence[float], silent: Collection[str]) -> ElementTree.Element:
    errors = sum(row.verdict is Verdict.ERROR for row in rows)
    failures = sum(not row.as_expected for row in rows) - errors
    suite = ElementTree.Element(
        "testsuite",
        name=name,
        tests=str(len(rows)),
        failures=str(failures),
        errors=str(errors),
        skipped="0",
        time=f"{sum(shares):.3f}",
    )
    suite.extend(_case(name, row, share, silent) for row, share in zip(rows, shares, strict=True))
    return suite


def _case(suite: str, row: Result, seconds: float, silent: Collection[str]) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        classname=f"{suite}.{row.threat}",
        name=_clean(f"{row.kind}: {row.claim} [{row.engine}]"),
        time=f"{seconds:.3f}",
    )
    if not row.as_expected:
        tag = "error" if row.verdict is Verdict.ERROR else "failure"
        problem = ElementTree.SubElement(
            case, tag, type=str(row.verdict), message=_clean(f"{row.verdict}, expected {row.expected}")
        )
        problem.text = _clean("\n".join((row.detail, *_steps(row, silent))))
    ElementTree.SubElement(case, "system-out").text = _clean("\n".join(_facts(row)))
    return case


def _steps(row: Result, silent: Collection[str]) -> Iterator[str]:
    """Write the trace of a violation, a step to a line; what is only worked out has no number, here as elsewhere."""
    numbers = itertools.count(1)
    for place, step in enumerate(row.steps):
        arguments = ", ".join(f"{name}={element}" for name, element in step.args)
        again = " (from here on again and again)" if place == row.loop else ""
        number = "    " if step.action in silent else f"{next(numbers):>3}."
        yield f"{number} {step.action}({arguments}){again}"


def _facts(row: Result) -> Iterator[str]:
    """Say what there is no attribute for; the schema allows a case no properties of its own."""
    yield f"verdict: {row.shown}"
    yield f"expected: {row.expected}"
    yield f"detail: {row.detail}"
    yield f"assumptions: {resting(row.assumptions)}"


def _clean(text: str) -> str:
    """Leave out what XML cannot hold."""
    return _CONTROL.sub("�", text)
