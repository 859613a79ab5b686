"""The shape of a run folder: what every file in it has to hold for a report to be made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from carnet_check.engines.interface import Status
from carnet_check.report.shapes import ShapeError, count, flag, maybe, number, record, rows, table, text, word
from carnet_check.results import Kind, Result, Verdict

MOST_DRAWN = 2_000
"""States, and steps between two of them, of a graph."""

_texts = rows(text)
_key = {"variant": text, "kind": word(*Kind), "claim": text, "threat": text, "engine": text}
_step = record(action=text, by=text, args=table(text))

_verdict = record(
    {"defences": _texts, "lemmas": _texts, "steps": rows(_step), "loop": count},
    **_key,
    protocol=text,
    verdict=word(*Verdict),
    bound=maybe(count),
    expected=word(*Verdict),
    detail=text,
    assumptions=_texts,
    as_expected=flag,
)

timing = record(**_key, seconds=number)

_closing = record(
    verdicts=table(count),
    outcome=text,
    strength=text,
    budget=text,
    profile=text,
    versions=record(carnet=text),
    spec_digests=table(text),
    rerun=text,
    seconds=number,
)

_cti = record(
    obligation=text,
    unconfirmed=text,
    action=text,
    sentence=text,
    args=table(text),
    elements=table(_texts),
    about=table(text),
    before=_texts,
    fixed=_texts,
    beside=_texts,
    changes=_texts,
    formula=text,
    false=_texts,
    holding=_texts,
)

_standing = record(
    variant=text,
    name=text,
    kind=word("claim", "lemma"),
    threat=text,
    status=word(*Status),
    detail=text,
    failing=_texts,
    open=_texts,
    expected=flag,
    counterexamples=rows(_cti),
    trace=maybe(record(threat=text, instance=text, story=_texts, reason=_texts)),
)

_explored = record(
    engine=text,
    variant=text,
    threat=text,
    profile=text,
    words=text,
    elements=table(count),
    interpretations=count,
    allowed=maybe(count),
    fixed=table(text),
    shortfall=maybe(text),
    authors_words=maybe(text),
)

run = record(
    {"lemmas": rows(_standing), "explored": rows(_explored)},
    summary=record(as_expected=flag, by_verdict=table(count), declared=_texts),
    goals=rows(record(variant=text, goal=text, sentence=text, reached=flag, threat=text, steps=maybe(count))),
    notes=_texts,
    run=_closing,
)

_claim = record(
    name=text,
    sentence=text,
    requirement=text,
    requirement_sentence=text,
    source=text,
    formula=_texts,
    rerun=text,
)

_variant = record(
    name=text,
    title=text,
    label=text,
    digest=text,
    threats=rows(record(id=text, title=text, axioms=_texts)),
    claims=rows(_claim),
    assumptions=rows(record(id=text, sentence=text, built_in=flag)),
    defences=rows(record({"shuts_out": _texts}, id=text, title=text, enforced_by=_texts, removed=text)),
    lemmas=rows(record(name=text, says=text, formula=_texts)),
)

spec = record(
    {"places": rows(record(kind=text, name=text, file=text, line=count))},
    protocol=text,
    title=text,
    reference=text,
    file=text,
    variants=rows(_variant),
)

_event = record(
    {"decisive": text},
    number=maybe(count),
    action=text,
    args=table(text),
    by=text,
    actor=text,
    honest=flag,
    sentence=text,
    source=text,
    enforces=_texts,
    arrow=maybe(record(from_=text, to=text, text=text)),
    changes=rows(record(where=text, text=text, says=text)),
    learned=table(_texts),
    known=table(_texts),
)

_attack = record(
    name=text,
    trace=record(protocol=text, variant=text),
    removed=_texts,
    claim=text,
    sentence=text,
    threat=record(id=text, title=text),
    expected=flag,
    finding=maybe(record(id=text, title=text)),
    instance=text,
    parties=_texts,
    knowers=_texts,
    events=rows(_event, 10_000),
    reason=_texts,
    rerun=text,
)

_graph = record(
    name=text,
    variant=text,
    threat=text,
    instance=text,
    steps=text,
    nodes=rows(record(depth=count, label=text, facts=_texts), MOST_DRAWN),
    edges=rows(record(from_=count, to=count, steps=_texts), MOST_DRAWN),
)


def verdict(value: Any, where: str) -> None:
    """A verdict, which is as expected if, and only if, it says so."""
    _verdict(value, where)
    if value["as_expected"] is not result(value).as_expected:
        said = "" if value["as_expected"] else " not"
        raise ShapeError(
            f"{where}: {value['verdict']} is said{said} to be as expected, where {value['expected']} is expected"
        )


def attack(value: Any, where: str) -> None:
    """An attack, in which nobody acts who is no party."""
    _attack(value, where)
    parties = set(value["parties"])
    for place, event in enumerate(value["events"]):
        arrow = event["arrow"]
        acting = (arrow["from"], arrow["to"]) if arrow else (event["actor"],)
        if event["number"] is not None and not parties.issuperset(acting):
            raise ShapeError(f"{where}.events[{place}]: expected one of the parties to act")


def graph(value: Any, where: str) -> None:
    """A graph, which has a state, and no step from or to one that it has not."""
    _graph(value, where)
    nodes = value["nodes"]
    if not nodes:
        raise ShapeError(f"{where}.nodes: expected a state")
    if any(node["depth"] >= len(nodes) for node in nodes):
        raise ShapeError(f"{where}.nodes: expected no state deeper than there are states")
    if len({node["label"].count(", ") for node in nodes}) > 1:
        raise ShapeError(f"{where}.nodes: expected labels of equally many parts")
    if any(end >= len(nodes) for edge in value["edges"] for end in (edge["from"], edge["to"])):
        raise ShapeError(f"{where}.edges: expected steps between states that there are")


def result(row: Mapping[str, Any]) -> Result:
    """Return a verdict as it was before it was written down."""
    return Result(
        protocol=row["protocol"],
        variant=row["variant"],
        claim=row["claim"],
        threat=row["threat"],
        engine=row["engine"],
        verdict=Verdict(row["verdict"]),
        expected=Verdict(row["expected"]),
        kind=Kind(row["kind"]),
    )
