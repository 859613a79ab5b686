"""How claims and lemmas stand, as plain JSON values, and as lines for those that are not proved.

What a terminal, a summary and a page show of a failed induction is made from the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carnet_check.attacks.minimise import minimise
from carnet_check.engines.exploring.searches import moves
from carnet_check.engines.interface import Diagnoses, Status
from carnet_check.engines.registry import able
from carnet_check.results import Verdict, steps_as_json
from carnet_check.semantics import Interpreter
from carnet_check.verification.diagnosis import Diagnosis, Refutation, invariant_of
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.wording import narrate, reason
from carnet_command.text import counted, wrapped

Values = Mapping[str, Any]

INDENT = 15
SHOWN = 12
"""The most claims and lemmas of a variant that a terminal lists as not proved."""
SHOWN_NAMES = 5
STORIES = 3
"""How many refuted lemmas are told step by step."""
UNREACHED = "The interpreter took this step and judged both states. Whether the first can be reached is not known."


def standings(outcome: CampaignOutcome) -> list[dict[str, Any]]:
    """Return how every claim and lemma stands, in the order of the variants and of the specification.

    Raises:
        EngineError: the interpreter does not reproduce a trace that refutes one.
    """
    return list(_standings(outcome))


def _standings(outcome: CampaignOutcome) -> Iterator[dict[str, Any]]:
    """Yield them; the first refuted lemmas come with their story. That of a claim is told as an attack."""
    left = STORIES
    for told in outcome.diagnoses:
        standing, trace = told.standing, None
        if told.refutation and standing.lemma and left:
            left -= 1
            trace = _trace(standing.invariant, told.refutation)
        yield {
            "variant": standing.variant,
            "name": standing.invariant,
            "kind": "lemma" if standing.lemma else "claim",
            "threat": standing.layer,
            "engine": told.engine,
            "status": str(standing.status),
            "detail": _detail(told, trace),
            "failing": list(standing.failing),
            "open": list(standing.open),
            "rests_on": list(standing.rests_on),
            "expected": _expected(outcome, told),
            "counterexamples": [cti.as_json() for cti in told.ctis],
            "trace": trace,
        }


def _trace(name: str, found: Refutation) -> dict[str, Any]:
    """Return the fewest steps that break an invariant, replayed."""
    protocol, instance = found.protocol, found.search.instance_of(name)
    judge, invariant = Interpreter(protocol, instance), invariant_of(protocol, name)
    trace = minimise(judge, invariant, found.trace)
    states = judge.replay(trace)
    return {
        "threat": found.search.search.threat,
        "profile": found.search.search.profile.name,
        "instance": instance.words,
        "moves": moves(protocol, trace),
        "steps": steps_as_json(trace.steps),
        "story": narrate(protocol, states, trace),
        "reason": reason(judge, invariant, states[-1]),
    }


def _detail(told: Diagnosis, trace: Values | None) -> str:
    standing = told.standing
    if standing.status is Status.PROVED:
        return ""
    if told.refutation:
        steps = trace["moves"] if trace else moves(told.refutation.protocol, told.refutation.trace)
        return f"false after {counted(steps, 'step')} in a reachable state, replayed by the interpreter"
    parts = []
    if standing.failing:
        parts.append(f"{counted(len(standing.failing), 'obligation')} with a {able(Diagnoses).shows}")
    if standing.open:
        parts.append(f"{counted(len(standing.open), 'obligation')} without an answer: {'; '.join(standing.open[:3])}")
    if standing.rests_on:
        parts.append(f"its proof rests on {_few(standing.rests_on)}, not proved")
    parts.append(f"no explored state breaks it ({told.searched})" if told.searched else "not explored")
    return "; ".join(parts)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more


def _expected(outcome: CampaignOutcome, told: Diagnosis) -> bool:
    """Whether it is a claim that is expected to fall, and falls."""
    standing = told.standing
    rows = [
        row
        for row in outcome.results
        if (row.variant, row.claim) == (standing.variant, standing.invariant)
        and row.verdict is Verdict.VIOLATED
        and standing.layer in ("", row.threat)
    ]
    return not standing.lemma and bool(rows) and all(row.as_expected for row in rows)


# -- in lines ---------------------------------------------------------------------------------------


def unproved(found: Sequence[Values]) -> list[Values]:
    """Return what is not proved, first what has an obligation of its own that fails.

    Claims that are refuted are left out: their attacks are told elsewhere.
    """
    open_ = [each for each in found if each["status"] != Status.PROVED and not _is_attacked(each)]
    return sorted(open_, key=lambda each: not (each["failing"] or each["open"]))


def _is_attacked(each: Values) -> bool:
    return bool(each["expected"]) or (each["kind"] == "claim" and each["status"] == Status.REFUTED)


def lines(found: Sequence[Values], cti: str = "") -> Iterator[str]:
    """Tell what is not proved and why; of ``cti`` also if it is."""
    for variant in dict.fromkeys(each["variant"] for each in found):
        mine = [each for each in found if each["variant"] == variant]
        open_ = unproved(mine)
        if open_:
            yield f"claims and lemmas without a proof in {variant}"
            for each in open_[:SHOWN]:
                yield from _told(each)
            if len(open_) > SHOWN:
                yield f"  and {len(open_) - SHOWN} more (--json lists them)"
            yield ""
        for each in (each for each in mine if cti and each["name"] == cti):
            yield from _asked(each)


def _asked(each: Values) -> Iterator[str]:
    """Say of what ``--cti`` names why there is nothing to step through, if so."""
    if not each["counterexamples"]:
        where = f" under {each['threat']}" if each["threat"] else ""
        why = "proved" if each["status"] == Status.PROVED else "none of its own obligations has one"
        yield f"no {able(Diagnoses).shows} of {each['name']} in {each['variant']}{where}: {why}"
        yield ""


def _told(each: Values) -> Iterator[str]:
    where = f" under {each['threat']}" if each["threat"] else ""
    yield f"  {each['name']} ({each['kind']}{where}): {each['status']}"
    yield from wrapped("", each["detail"], 4)
    if each["trace"] is not None:
        yield from (f"    {line}" for line in [*each["trace"]["story"], *each["trace"]["reason"]])
    for cti in each["counterexamples"]:
        yield from cti_lines(cti)


def cti_lines(cti: Values) -> Iterator[str]:
    """Tell a counterexample to induction: the state before, the step, what it changed, and what is false then."""
    yield f"    {able(Diagnoses).shows}: {cti['obligation']}"
    if cti["unconfirmed"]:
        yield from wrapped("", f"unconfirmed, so no state is shown: {cti['unconfirmed']}", 6)
        return
    for label, text in cti_parts(cti):
        yield from wrapped(f"      {label}", text, INDENT + 6)
    yield from wrapped("", UNREACHED if cti["action"] else "The interpreter judged this first state.", 6)


def cti_parts(cti: Values) -> Iterator[tuple[str, str]]:
    """Yield the parts of a counterexample to induction in order, each with its label."""
    yield "invariant", cti["formula"]
    if cti["about"]:
        yield "for", ", ".join(f"{name} = {element}" for name, element in cti["about"].items())
    yield "elements", "; ".join(f"{sort}: {', '.join(names)}" for sort, names in cti["elements"].items())
    if cti["holding"]:
        yield "holds before", ", ".join(cti["holding"])
    yield "before" if cti["action"] else "first state", ", ".join(cti["before"]) or "nothing"
    if cti["fixed"]:
        yield "never changes", ", ".join(cti["fixed"])
    if cti["beside"]:
        yield "not read", ", ".join(cti["beside"])
    if cti["action"]:
        args = ", ".join(f"{name} = {element}" for name, element in cti["args"].items())
        yield "step", f"{cti['action']}({args}): {cti['sentence']}"
        yield "changes", ", ".join(cti["changes"]) or "nothing"
    yield "false after" if cti["action"] else "false", ", ".join(cti["false"]) or cti["formula"]
