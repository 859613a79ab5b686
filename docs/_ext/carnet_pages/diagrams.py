"""Diagrams as SVG, drawn from the specification: phases of a party, messages of a round, and which key opens which.

They take their colour from the text around them, so that they are read in light and dark alike, and need no script.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from carnet_spec.language import Action, Kind, Protocol, Symbol
from carnet_spec.language.terms import And, Apply, Equal, Member, Or, Term, Var

from .markdown import Lines

ROW = 38  #: Pixels from one row to the next.
LANE = 100  #: Pixels from one way back to the next, with its name between.
#: Pixels of the numbers beside a run, and from party to party: six fit the page in a window of 1200 pixels.
NUMBERS, CROSSED = 28, 117
_CHARACTER = 7
_HEAD = (
    '<marker id="{id}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="currentColor"/></marker>'
)


def _svg(id: str, title: str, width: int, height: int, parts: Iterator[str]) -> Lines:
    """Yield a diagram that scrolls by itself where it is too wide, as a block of the page."""
    yield from (
        "```{raw} html",
        f'<div class="diagram" tabindex="0" role="group" aria-label="{escape(title)}">',
    )
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">'
    yield _HEAD.format(id=id)
    yield from parts
    yield from ("</svg>", "</div>", "```", "")


def _line(x1: float, y1: float, x2: float, y2: float, head: str = "", faint: bool = False) -> str:
    more = f' marker-end="url(#{head})"' if head else ""
    more += ' stroke-opacity="0.35"' if faint else ""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="currentColor"{more}/>'


def _text(x: float, y: float, said: str, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{weight}>{escape(said)}</text>'


def _box(x: float, y: float, said: str) -> str:
    width = len(said) * 8 + 16
    return (
        f'<rect x="{x - width / 2}" y="{y - 13}" width="{width}" height="26" rx="5" fill="none" stroke="currentColor"/>'
        + _text(x, y + 5, said, "middle")
    )


# -- phases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """A step that leads from one phase to another; from any, if it does not ask."""

    before: str
    after: str
    action: str


def changes(protocol: Protocol, phase: Symbol) -> list[Change]:
    """Return the steps that change ``phase``, in the order of the specification."""
    found = []
    for action in protocol.actions:
        asked = [name for guard in action.guards for name in _equals(guard.formula, phase)]
        after = [u.value.name for u in action.updates if u.symbol == phase and isinstance(u.value, Member)]
        found += [Change(name, other, action.name) for other in after for name in asked or [""]]
    return list(dict.fromkeys(found))


def _equals(term: Term, symbol: Symbol) -> Iterator[str]:
    match term:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _equals(part, symbol)
        case Equal(Apply(found, ()), Member(_, name)) if found == symbol:
            yield name


def phases(protocol: Protocol) -> Lines:
    """Yield a diagram of each variable of an honest party that counts phases: downwards, with the ways back beside."""
    for symbol in protocol.symbols:
        counted = symbol.mutable and not symbol.domain and symbol.result.is_enumeration and symbol.kind is Kind.STATE
        steps = changes(protocol, symbol) if counted else []
        if symbol.role and any(step.before for step in steps):
            yield from (f"### {symbol.name} of {symbol.role.name}", "")
            yield from machine(symbol.name, f"What {symbol.role.name} does: {symbol.name} after {symbol.name}", steps)


def machine(name: str, title: str, steps: Sequence[Change]) -> Lines:
    """Yield a diagram of steps between phases."""
    names = _in_order(steps)
    width = 240 + LANE * len(_beside(steps, names))
    yield from _svg(f"arrow-{name}", title, width, ROW * 2 * len(names), _phases(f"arrow-{name}", steps, names))


def _in_order(steps: Sequence[Change]) -> list[str]:
    """Return the phases, each behind the one that it is first reached from."""
    names: list[str] = []
    waiting = [step.after for step in steps if not step.before] or [steps[0].before]
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.append(name)
            waiting += [step.after for step in reversed(steps) if step.before == name]
    return names


def _beside(steps: Sequence[Change], names: Sequence[str]) -> dict[tuple[int, int], list[str]]:
    """Return the steps that do not lead to the next row."""
    found: dict[tuple[int, int], list[str]] = {}
    for step in steps:
        if step.before in names and names.index(step.after) != names.index(step.before) + 1:
            found.setdefault((names.index(step.before), names.index(step.after)), []).append(step.action)
    return found


def _phases(head: str, steps: Sequence[Change], names: Sequence[str]) -> Iterator[str]:
    middle = 110
    for row, name in enumerate(names):
        y = ROW * (2 * row + 1)
        yield _box(middle, y, name)
        down = [step.action for step in steps if (step.before, step.after) == (name, (*names, "")[row + 1])]
        if down:
            yield _line(middle, y + 13, middle, y + 2 * ROW - 14, head)
            yield _text(middle + 10, y + ROW + 4, ", ".join(down))
        anywhere = [step.action for step in steps if not step.before and step.after == name]
        if anywhere:
            yield _text(middle + 60, y + 5, f"← {', '.join(anywhere)}, from any")
    shortest_first = sorted(_beside(steps, names).items(), key=lambda item: abs(item[0][0] - item[0][1]))
    for lane, ((start, end), actions) in enumerate(shortest_first):
        y1, y2, x = ROW * (2 * start + 1), ROW * (2 * end + 1), middle + 130 + LANE * lane
        edge = middle + len(names[end]) * 4 + 10
        path = f"M{middle + len(names[start]) * 4 + 9} {y1}H{x}V{y2}H{edge}"
        yield f'<path d="{path}" fill="none" stroke="currentColor" marker-end="url(#{head})"/>'
        yield _text(x + 5, (y1 + y2) / 2, ", ".join(actions))


# -- messages ---------------------------------------------------------------------------------------------------------


def course(run: Mapping[str, Any]) -> Lines:
    """Yield the messages of a recorded run between its parties; all lanes are on the page of a small window.

    What others deduce meanwhile is left out.
    """
    parties = list(run["parties"])
    rows = folded(event for event in run["events"] if event["arrow"] or event["actor"] in parties)
    width, height = NUMBERS + max(CROSSED * len(parties), _longest(rows)), ROW * (len(rows) + 2)
    title = f"The messages between {', '.join(parties)}"
    yield from _svg("arrow-message", title, width, height, _course(parties, rows, width))


def folded(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a run: rules of one name that follow each other, between the same two, are one row."""
    rows: list[Mapping[str, Any]] = []
    for event in events:
        before = rows[-1] if rows else None
        if before and event["arrow"] and event["number"] is None and _alike(before, event):
            times, said = before.get("times", 1) + 1, before["first"] if "first" in before else before["arrow"]["text"]
            told = {**before["arrow"], "text": f"{said} and {times - 1} more like it"}
            rows[-1] = {**before, "arrow": told, "times": times, "first": said}
        else:
            rows.append(event)
    return rows


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    ends = [(each["arrow"]["from"], each["arrow"]["to"]) for each in (one, other) if each["arrow"]]
    return one["number"] is None and one["action"] == other["action"] and ends[0] == ends[-1] and len(ends) == 2


def _longest(rows: Iterable[Mapping[str, Any]]) -> int:
    return max(len(row["arrow"]["text"]) * _CHARACTER for row in rows if row["arrow"])


def _course(parties: Sequence[str], rows: Sequence[Mapping[str, Any]], width: int) -> Iterator[str]:
    across = (width - NUMBERS) // len(parties)
    place = {party: NUMBERS + across // 2 + across * column for column, party in enumerate(parties)}
    bottom = ROW * (len(rows) + 1)
    for party, x in place.items():
        yield _text(x, 18, party, "middle", bold=True)
        yield _line(x, 26, x, bottom, faint=True)
    for row, event in enumerate(rows, 1):
        y = ROW * (row + 0.5)
        yield _text(4, y, str(event["number"] or ""))
        if event["arrow"]:
            x1, x2 = place[event["arrow"]["from"]], place[event["arrow"]["to"]]
            yield _line(x1, y, x2, y, "arrow-message")
            half = len(event["arrow"]["text"]) * _CHARACTER / 2
            middle = min(max((x1 + x2) / 2, NUMBERS + half), width - half)
            yield _text(middle, y - 6, event["arrow"]["text"], "middle")
        else:
            yield _box(place[event["actor"]], y - 4, event["action"])


# -- keys -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Flow:
    """A rule by which a party that knows one secret learns another."""

    source: str
    target: str
    rule: Action


def flows(protocol: Protocol) -> list[Flow]:
    """Return the rules that lead from a secret to another one, of an adversary that has the first."""
    found: dict[tuple[str, str, str], Flow] = {}
    for action in protocol.actions:
        known = [var for guard in action.guards for var in _known(guard.formula)]
        learned = [
            update.args[-1]
            for update in action.updates
            if update.symbol.kind is Kind.KNOWLEDGE and not action.by.honest and action.deduction
        ]
        for one in known:
            for other in learned:
                if isinstance(other, Var) and other != one and one.sort.fresh and other.sort.fresh:
                    flow = Flow(one.sort.name, other.sort.name, action)
                    found.setdefault((flow.source, flow.target, action.name), flow)
    return list(found.values())


def kept(protocol: Protocol, sorts: Iterable[str]) -> list[tuple[str, str]]:
    """Return the steps by which a secret stays, each with the step that draws a new one and is left out for it.

    Such a step exists without a defence, asks for nothing more than the other, and draws nothing. Where the same
    defence is replaced by a step that draws one later, the secret does not stay.
    """
    drawing = [a for a in protocol.actions if any(var.sort.name in sorts for var in a.fresh)]
    later = {action.shortcut_of for action in drawing if action.shortcut_of}
    shortcuts = [a for a in protocol.actions if a.shortcut_of and a.shortcut_of not in later and a not in drawing]
    return [
        (short.name, action.name)
        for short in shortcuts
        for action in drawing
        if short.by == action.by
        and {guard.formula for guard in short.guards} <= {guard.formula for guard in action.guards}
    ]


def _known(term: Term) -> Iterator[Var]:
    match term:
        case And(parts):
            for part in parts:
                yield from _known(part)
        case Apply(symbol, (*_, Var() as secret)) if symbol.kind is Kind.KNOWLEDGE:
            yield secret


def schedule(variant: str, found: Sequence[Flow]) -> Lines:
    """Yield a diagram of what a secret of a session, and what one key of it, opens."""
    title = f"What opens what under {variant}"
    yield from _svg(f"arrow-{variant}", title, 640, 150, _schedule(f"arrow-{variant}", found))


def _schedule(head: str, found: Sequence[Flow]) -> Iterator[str]:
    keys = {name: 220 + 180 * column for column, name in enumerate(("first key", "next key", "later key"))}
    from_session = [flow.rule.name for flow in found if flow.source != flow.target]
    from_key = [flow.rule.name for flow in found if flow.source == flow.target]
    yield _box(60, 30, "session")
    for name, x in keys.items():
        yield _box(x, 110, name)
        if from_session:
            yield f'<path d="M96 30H{x}V96" fill="none" stroke="currentColor" marker-end="url(#{head})"/>'
    if from_session:
        yield _text(110, 22, ", ".join(from_session))
    for one, other in zip(list(keys.values())[:2], list(keys.values())[1:], strict=True):
        if from_key:
            yield _line(one + 44, 110, other - 45, 110, head)
    if from_key:
        yield _text(320, 145, ", ".join(from_key), "middle")


# -- compositions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """What stands in one row of two boxes: a text in each, and an arrow to the right one or to the left one."""

    left: str
    right: str
    sign: str
    to_left: bool


def facing(id: str, left: str, right: str, rows: Sequence[Row]) -> Lines:
    """Yield a diagram of two boxes side by side, with an arrow from the one to the other in each row."""
    widths = [
        max(len(text) for text in texts) * _CHARACTER + 24
        for texts in ([left, *(row.left for row in rows)], [right, *(row.right for row in rows)])
    ]
    width, height = sum(widths) + GAP + 4, ROW * (len(rows) + 1) + 16
    yield from _svg(
        f"arrow-{id}", f"{left} and {right}", width, height, _facing(f"arrow-{id}", left, right, rows, widths)
    )


GAP = 90  #: Pixels between the two boxes.


def _facing(head: str, left: str, right: str, rows: Sequence[Row], widths: Sequence[int]) -> Iterator[str]:
    edge, other = 2 + widths[0], 2 + widths[0] + GAP
    height = ROW * (len(rows) + 1) + 8
    for x, width, title in ((2, widths[0], left), (other, widths[1], right)):
        yield f'<rect x="{x}" y="2" width="{width}" height="{height}" rx="5" fill="none" stroke="currentColor"/>'
        yield _text(x + width / 2, 24, title, "middle", bold=True)
    for number, row in enumerate(rows, 1):
        y = ROW * number + 22
        yield _text(edge - 10, y, row.left, "end")
        yield _text(other + 10, y, row.right)
        ends = (other - 2, edge + 3) if row.to_left else (edge + 2, other - 3)
        yield _line(ends[0], y - 5, ends[1], y - 5, head)
        yield _text((edge + other) / 2, y - 10, row.sign, "middle")
