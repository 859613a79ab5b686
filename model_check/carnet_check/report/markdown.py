"""A run as Markdown in GitHub's flavour, for the summary of a job or a comment: what failed first, then the matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carnet_check.report.lemmas import cti_lines, unproved
from carnet_check.report.run_folder import Run

Values = Mapping[str, Any]

NOT_CLAIMED = "–"


def markdown(run: Run) -> str:
    """Return the summary of a run."""
    closing = run.run["run"]
    counts = " · ".join(f"{word} {count}" for word, count in closing["verdicts"].items())
    lines = [f"## {_plain(run.spec['title'])}: {closing['outcome']}", "", counts, ""]
    lines += [*_failures(run), *_unproved(run), *(line for each in run.spec["variants"] for line in _matrix(run, each))]
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
        yield from _told(run, row)
    if failed:
        yield ""


def _told(run: Run, row: Values) -> Iterator[str]:
    name = f"{row['variant']}.{row['threat']}.{row['claim']}"
    attack = next((each for each in run.attacks if row["verdict"] == "VIOLATED" and each["name"] == name), None)
    if attack is not None:
        yield "  <details><summary>the attack</summary>"
        yield ""
        for event in attack["events"]:
            mark = f"{event['number']}." if event["number"] else "   *"  # what is only worked out is no step
            yield f"  {mark} {_plain(event['sentence'])}"
        yield ""
        yield from ("      " + line for line in attack["reason"])
        yield ""
        yield f"  `{attack['rerun']}`"
        yield "  </details>"


def _unproved(run: Run) -> Iterator[str]:
    """Say which claims and lemmas have no proof, with the state from which an induction fails."""
    found = unproved(run.run.get("lemmas", ()))
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
    rows = [row for row in run.verdicts if row["variant"] == variant["name"] and row["kind"] == "claim"]
    threats = [threat["id"] for threat in variant["threats"]]
    yield f"### {variant['name']}" + (f" ({variant['label']})" if variant["label"] else "")
    yield ""
    yield "| claim | " + " | ".join(threats) + " |"
    yield "|---" * (len(threats) + 1) + "|"
    for claim in variant["claims"]:
        cells = (_cell([row for row in rows if (row["claim"], row["threat"]) == (claim["name"], t)]) for t in threats)
        yield f"| {claim['name']} | " + " | ".join(cells) + " |"
    yield ""


def _cell(rows: Sequence[Values]) -> str:
    return "<br>".join(_word(row) for row in rows) or NOT_CLAIMED


def _word(row: Values) -> str:
    bound = "" if row["bound"] is None else f" ({row['bound']:,})"
    mark = "" if row["as_expected"] else " ❌"
    return f"{row['verdict']}{bound}{mark}" + (" (expected)" if row["verdict"] == "VIOLATED" and not mark else "")


def _plain(text: str) -> str:
    """Write ``text`` so that Markdown takes no part of it for markup."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in text)
