"""One picture of a round: the messages of a recorded run that tell the story, in the order in which they were found.

The README and the guide show it, so it is a file of its own. Below ``results/rounds``, ``<protocol>.svg`` is drawn from
the run in ``<protocol>.json`` by the chapters in ``<protocol>.toml``, by ``record rounds``.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

#: Pixels from lane to lane, from row to row and left of the lanes; the letters that fit between two lanes or more.
LANE, ROW, LEFT, LONG = 216, 24, 96, 32
STYLE = (
    "text{font-size:13px;font-family:sans-serif;fill:#24292f;stroke:#fff;stroke-width:4px;paint-order:stroke}"
    "line{stroke:#24292f}"
)


def draw(rounds: Path, protocol: str) -> None:
    """Draw the recorded round of a protocol, if somebody wrote its chapters."""
    story = rounds / f"{protocol}.toml"
    if story.is_file():
        run = json.loads((rounds / f"{protocol}.json").read_text("utf-8"))
        chapters = tomllib.loads(story.read_text("utf-8"))["chapters"]
        (rounds / f"{protocol}.svg").write_text(picture(protocol, run, chapters), "utf-8")


def told(
    events: Sequence[Mapping[str, Any]], chapters: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the events of the story, each with the title of its chapter where one begins.

    Raises LookupError if a step of the story does not come after the one before it in the run.
    """
    left = iter(events)
    for chapter in chapters:
        for number, action in enumerate(chapter["steps"]):
            event = next((event for event in left if event["action"] == action), None)
            if event is None:
                raise LookupError(f"the recorded round has no {action} in chapter '{chapter['title']}'")
            yield (chapter["title"] if number == 0 else ""), event


def picture(protocol: str, run: Mapping[str, Any], chapters: Sequence[Mapping[str, Any]]) -> str:
    """Return the picture as an SVG file that reads on light and dark pages alike, and needs no script."""
    events = list(told(run["events"], chapters))
    parties = told_of(run["parties"], events)
    width, height = LEFT + LANE * len(parties), ROW * (len(events) + 3)
    title = f"One round of {protocol}: the messages between {', '.join(parties)}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#24292f"/></marker>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *_lanes(parties, height),
        *(line for row, (chapter, event) in enumerate(events, 2) for line in _row(parties, row, chapter, event)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def told_of(parties: Sequence[str], events: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Return the parties that the story has messages of, in their order."""
    named = {event["arrow"][end] for _, event in events for end in ("from", "to")}
    return [party for party in parties if party in named]


def _lanes(parties: Sequence[str], height: int) -> Iterator[str]:
    for party in parties:
        x = _place(parties, party)
        yield f'<text x="{x}" y="18" text-anchor="middle" font-weight="bold">{escape(party)}</text>'
        yield f'<line x1="{x}" y1="26" x2="{x}" y2="{height - 8}" stroke-opacity="0.35"/>'


def _row(parties: Sequence[str], row: int, chapter: str, event: Mapping[str, Any]) -> Iterator[str]:
    y, arrow = ROW * (row + 0.5), event["arrow"]
    one, other = (_place(parties, arrow[end]) for end in ("from", "to"))
    if chapter:
        yield f'<text x="8" y="{y}" font-style="italic">{escape(chapter)}</text>'
    yield f'<line x1="{one}" y1="{y}" x2="{other}" y2="{y}" marker-end="url(#head)"/>'
    yield f'<text x="{(one + other) / 2}" y="{y - 5}" text-anchor="middle">{escape(short(arrow["text"]))}</text>'


def _place(parties: Sequence[str], party: str) -> int:
    return LEFT + LANE // 2 + LANE * parties.index(party)


def short(text: str) -> str:
    """Return what of a message fits between two lanes: the whole, or its head."""
    return text if len(text) <= LONG else re.split(r"[:,] (?![^(]*\))", text)[0]
