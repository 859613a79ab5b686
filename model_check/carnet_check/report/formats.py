"""Formats for other tools: a run as JUnit XML (as the xUnit plugin of Jenkins accepts it), SARIF and Markdown.

In JUnit, a row is a test case, and a variant is a suite.
"""

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from carnet_check.report.run_folder import Run
from carnet_check.results import Result, Verdict
from carnet_check.verification.checks import ANY_THREAT
from carnet_check.verification.outcome import cti_lines, unproved_invariants
from carnet_check.wording import attack_name, list_assumptions
from carnet_command.printable import printable_values

STRICT = "--strict"  #: The suite, and the rule, of what a strict reader objects to.
_CONTROL = re.compile(r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD]")


def junit(results: Sequence[Result], silent: Collection[str] = (), shortcomings: Sequence[str] = ()) -> str:
    """Return a JUnit document: a row that is not as expected is a failure, a row with an internal error an error.

    Args:
        results: the rows.
        silent: the names of deductions, which are not counted as steps of a violation.
        shortcomings: what a strict reader objects to; each is a failure of its own.
    """
    suites = ElementTree.Element("testsuites", name="carnet verify")
    together = Counter(map(_measured, results))
    for variant in dict.fromkeys(row.variant for row in results):
        rows = [row for row in results if row.variant == variant]
        shares = [row.seconds / together[_measured(row)] for row in rows]
        suites.append(_suite(f"{rows[0].protocol}.{variant}", rows, shares, silent))
    if shortcomings:
        suites.append(_strict_suite(f"{results[0].protocol}.{STRICT}", shortcomings))
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _measured(row: Result) -> tuple[str, str, float]:
    """Return the key of rows that were answered together: each of them has the time of all."""
    return row.engine, row.variant, row.seconds


def _strict_suite(name: str, shortcomings: Sequence[str]) -> ElementTree.Element:
    count = str(len(shortcomings))
    suite = ElementTree.Element(
        "testsuite", name=name, tests=count, failures=count, errors="0", skipped="0", time="0.000"
    )
    for each in shortcomings:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=_clean(each), time="0.000")
        ElementTree.SubElement(case, "failure", type=STRICT, message=_clean(each))
    return suite


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
    """Yield the lines of a violation's trace, one for each step; a deduction has no number."""
    numbers = itertools.count(1)
    for place, step in enumerate(row.steps):
        arguments = ", ".join(f"{name}={element}" for name, element in step.args)
        again = " (from here on again and again)" if place == row.loop else ""
        number = "    " if step.action in silent else f"{next(numbers):>3}."
        yield f"{number} {step.action}({arguments}){again}"


def _facts(row: Result) -> Iterator[str]:
    """Yield a line for each fact for which JUnit has no attribute; its schema allows no properties of test cases."""
    yield f"verdict: {row.verdict_text}"
    yield f"expected: {row.expected}"
    yield f"detail: {row.detail}"
    yield f"assumptions: {list_assumptions(row.assumptions)}"


def _clean(text: str) -> str:
    """Remove the characters that XML does not allow."""
    return _CONTROL.sub("�", text)


# --------------------------------------------------------------------------------------------------
# A run as SARIF 2.1.0: one rule for each requirement, one result for each verdict that is not as expected.
#
# Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, errata 01.


Values = Mapping[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "carnetVerdict/v1"


def sarif(run: Run) -> dict[str, Any]:
    """Return a SARIF log with one run; equal verdicts give equal logs, and each result keeps its fingerprint."""
    failed = [row for row in run.verdicts if not row["as_expected"]]
    rules = _sarif_rules(run, failed)
    places = {rule["id"]: place for place, rule in enumerate(rules)}
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Carnet",
                        "semanticVersion": run.run["run"]["versions"]["carnet"],
                        "rules": rules,
                    }
                },
                "invocations": [
                    {
                        "commandLine": run.run["run"]["rerun"],
                        "executionSuccessful": all(row["verdict"] != "ERROR" for row in failed),
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "properties": {"explored": run.run.get("explored", [])},
                "results": [
                    *(_sarif_result(run, row, places) for row in failed),
                    *(_sarif_shortcoming(run, each, places[STRICT]) for each in run.shortcomings),
                ],
            }
        ],
    }
    shown: dict[str, Any] = printable_values(log)
    return shown


def _claims(run: Run) -> dict[str, Values]:
    return {claim["name"]: claim for each in run.spec["variants"] for claim in each["claims"]}


def _rule_id(run: Run, row: Values) -> str:
    """Return the id of the requirement that a row is about; a row without one has its own rule."""
    if row["kind"] != "claim":
        return f"{row['kind']}/{row['claim']}"
    return str(_claims(run)[row["claim"]]["requirement"] or row["claim"])


def _sarif_rules(run: Run, failed: Sequence[Values]) -> list[dict[str, Any]]:
    rules = {}
    for claim in _claims(run).values():
        id = claim["requirement"] or claim["name"]
        rules[id] = _sarif_rule(id, claim["name"], claim["requirement_sentence"] or claim["sentence"], claim["rerun"])
    for row in failed:
        id = _rule_id(run, row)
        sentence = f"Without the {row['kind']} {row['claim']}, claims could hold vacuously."
        if row["kind"] == "liveness":
            sentence = f"The response of {row['claim']} eventually follows its trigger."
        rules.setdefault(id, _sarif_rule(id, row["claim"], sentence, run.run["run"]["rerun"]))
    if run.shortcomings:
        sentence = "Each claim that is to hold is established by two engines, and none is only declared."
        rules[STRICT] = _sarif_rule(STRICT, STRICT, sentence, run.run["run"]["rerun"])
    return list(rules.values())


def _sarif_rule(id: str, name: str, sentence: str, rerun: str) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "shortDescription": {"text": sentence},
        "help": {"text": f"Check it again: {rerun}"},
        "defaultConfiguration": {"level": "error"},
    }


def _sarif_shortcoming(run: Run, text: str, place: int) -> dict[str, Any]:
    return {
        "ruleId": STRICT,
        "ruleIndex": place,
        "level": "warning",
        "message": {"text": text},
        "locations": [_physical(run, None)],
        "partialFingerprints": {FINGERPRINT: hashlib.sha256(text.encode()).hexdigest()},
    }


def _sarif_result(run: Run, row: Values, places: Mapping[str, int]) -> dict[str, Any]:
    id = _rule_id(run, row)
    where = f"{row['protocol']}, {row['variant']}, under {row['threat']}"
    identity = "/".join(str(row[part]) for part in ("protocol", "variant", "kind", "claim", "threat", "engine"))
    result: dict[str, Any] = {
        "ruleId": id,
        "ruleIndex": places[id],
        "level": "warning" if row["verdict"] == "UNKNOWN" else "error",
        "message": {
            "text": f"{row['claim']} is {row['verdict']}, expected {row['expected']} ({where}; "
            f"{row['engine']}): {row['detail']}"
        },
        "locations": [_location(run, row)],
        "partialFingerprints": {FINGERPRINT: hashlib.sha256(identity.encode()).hexdigest()},
        "properties": {name: row[name] for name in ("verdict", "expected", "engine", "threat", "variant")},
    }
    name = attack_name(row["variant"], row["threat"], row["claim"])
    attack = next((each for each in run.attacks if row["verdict"] == "VIOLATED" and each["name"] == name), None)
    if attack is not None:
        result["codeFlows"] = [{"message": {"text": attack["reason"][0]}, "threadFlows": list(_flows(run, attack))}]
    return result


def _location(run: Run, row: Values) -> dict[str, Any]:
    """Return the source location of a row's claim or action; if it is unknown, the file of the protocol."""
    name = f"{row['protocol']}.{row['variant']}.{row['claim']}"
    place = _places(run).get((row["kind"], row["claim"]))
    return {**_physical(run, place), "logicalLocations": [{"fullyQualifiedName": name, "kind": "member"}]}


def _places(run: Run) -> dict[tuple[str, str], Values]:
    return {(each["kind"], each["name"]): each for each in run.spec.get("places", ())}


def _physical(run: Run, place: Values | None) -> dict[str, Any]:
    file, line = (place["file"], place["line"]) if place else (run.spec["file"], 1)
    return {"physicalLocation": {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": line}}}


def _flows(run: Run, attack: Values) -> Iterator[dict[str, Any]]:
    """Yield a thread flow for each party; the execution order is common to all of them."""
    by_party: dict[str, list[dict[str, Any]]] = {}
    places = _places(run)
    for order, event in enumerate(attack["events"], 1):
        party = event["arrow"]["from"] if event["arrow"] else event["actor"]
        state = {change["text"]: {"text": change["where"]} for change in event["changes"]}
        step = {
            "executionOrder": order,
            "location": {
                **_physical(run, places.get(("action", event["action"]))),
                "message": {"text": event["sentence"]},
                "logicalLocations": [{"name": event["action"], "kind": "function"}],
            },
            "importance": "essential" if event["number"] else "important",
        }
        by_party.setdefault(party, []).append({**step, "state": state} if state else step)
    for party, steps in by_party.items():
        yield {"id": party, "message": {"text": f"what {party} does"}, "locations": steps}


# --------------------------------------------------------------------------------------------------
# A run as GitHub-flavoured Markdown, for the summary of a job or a comment: failures first, then the matrix.


NOT_CLAIMED = "–"


def markdown(run: Run) -> str:
    """Return the summary of a run in Markdown, for GitHub."""
    closing = run.run["run"]
    counts = " · ".join(f"{word} {count}" for word, count in closing["verdicts"].items())
    lines = [f"## {_plain(run.spec['title'])}: {closing['outcome']}", "", counts, ""]
    lines += [
        *_failures(run),
        *_strict(run),
        *_unproved(run),
        *(line for each in run.spec["variants"] for line in _matrix(run, each)),
    ]
    digests = " · ".join(f"{name} `{digest[:16]}`" for name, digest in closing["spec_digests"].items())
    versions = " · ".join(f"{name} {version}" for name, version in closing["versions"].items())
    lines += [f"{versions} · {digests}", "", "```sh", closing["rerun"], "```"]
    return "\n".join(lines) + "\n"


def _failures(run: Run) -> Iterator[str]:
    failed = [row for row in run.verdicts if not row["as_expected"]]
    if failed:
        yield "### Not as expected"
        yield ""
    for row in failed:
        claim = f"{row['claim']} ({row['kind']})" if row["kind"] != "claim" else row["claim"]
        where = f"{row['variant']} under {row['threat']}, {row['engine']}"
        yield f"* **{row['verdict']}**, expected {row['expected']}: **{claim}** in {where}: {_plain(row['detail'])}"
        yield from _detail_lines(run, row)
    if failed:
        yield ""


def _strict(run: Run) -> Iterator[str]:
    if run.shortcomings:
        yield from ("### What `--strict` objects to", "", *(f"* {_plain(each)}" for each in run.shortcomings), "")


def _detail_lines(run: Run, row: Values) -> Iterator[str]:
    name = f"{row['variant']}.{row['threat']}.{row['claim']}"
    attack = next((each for each in run.attacks if row["verdict"] == "VIOLATED" and each["name"] == name), None)
    if attack is not None:
        yield "  <details><summary>the attack</summary>"
        yield ""
        for event in attack["events"]:
            mark = f"{event['number']}." if event["number"] else "   *"  # a deduction has no number
            yield f"  {mark} {_plain(event['sentence'])}"
        yield ""
        yield from ("      " + line for line in attack["reason"])
        yield ""
        yield f"  `{attack['rerun']}`"
        yield "  </details>"


def _unproved(run: Run) -> Iterator[str]:
    """Yield the lines about claims and lemmas without a proof, with counterexamples to induction."""
    found = unproved_invariants(run.run.get("lemmas", ()))
    if found:
        yield "### Without a proof"
        yield ""
    for each in found:
        where = f"{each['kind']} in {each['variant']}" + (f" under {each['threat']}" if each["threat"] else "")
        yield f"* **{_plain(each['name'])}** ({where}): **{each['status']}**. {_plain(each['detail'])}"
        trace = each["trace"]
        told = [*trace["story"], *trace["reason"]] if trace else []
        for cti in each["counterexamples"]:
            told += [line.removeprefix("    ") for line in cti_lines(cti)]
        if told:
            yield "  <details><summary>how it breaks</summary>"
            yield ""
            yield from ("      " + line for line in told)
            yield "  </details>"
    if found:
        yield ""


def _matrix(run: Run, variant: Values) -> Iterator[str]:
    """Yield the table of a variant: its claims, then its liveness properties, under each threat model."""
    mine = [row for row in run.verdicts if row["variant"] == variant["name"]]
    rows = [row for row in mine if row["kind"] == "claim"]
    lively = [row for row in mine if row["kind"] == "liveness"]
    threats = [threat["id"] for threat in variant["threats"]]
    yield f"### {variant['name']}" + (f" ({variant['label']})" if variant["label"] else "")
    yield ""
    yield "| claim | " + " | ".join(threats) + " |"
    yield "|---" * (len(threats) + 1) + "|"
    for claim in variant["claims"]:
        under = ([row for row in rows if (row["claim"], row["threat"]) == (claim["name"], t)] for t in threats)
        yield _table_row(claim["name"], under)
    for name in dict.fromkeys(row["claim"] for row in lively):
        under = ([row for row in lively if row["claim"] == name and row["threat"] in (t, ANY_THREAT)] for t in threats)
        yield _table_row(f"{name} (liveness)", under)
    yield ""


def _table_row(name: str, under: Iterable[Sequence[Values]]) -> str:
    """Return a row of a table: a name, and the verdicts under each threat model."""
    cells = ("<br>".join(map(_word, each)) or NOT_CLAIMED for each in under)
    return f"| {name} | {' | '.join(cells)} |"


def _word(row: Values) -> str:
    bound = "" if row["bound"] is None else f" ({row['bound']:,})"
    mark = "" if row["as_expected"] else " ❌"
    return f"{row['verdict']}{bound}{mark}" + (" (expected)" if row["verdict"] == "VIOLATED" and not mark else "")


def _plain(text: str) -> str:
    """Escape ``text``, so that Markdown reads no part of it as markup."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in text)
