"""Who knows what over time: the parties of a recorded round against its steps, as a table that narrow screens stack."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from .markdown import Lines

NOTHING = "nothing"
TEXT = "knowledge.txt"  #: The same table beside the pages, for pages that are written by hand to include.


def knowledge(run: Mapping[str, Any]) -> Lines:
    """Yield the table as a block of the page; nothing, if the run says of nobody what they know.

    A row is a step in which somebody learns something, and steps between in which nobody does are one row.
    """
    parties: Sequence[str] = run.get("knowers", ())
    if parties:
        yield from ("```{raw} html", '<table class="knowledge">')
        yield f"<caption>What each party newly knows in the recorded round: {escape(run['goal'])}</caption>"
        heads = "".join(f'<th scope="col">{escape(party)}</th>' for party in parties)
        yield f'<thead><tr><th scope="col">step</th>{heads}</tr></thead>'
        yield "<tbody>"
        yield from (_row(parties, step, learned) for step, learned in rows(run))
        yield from ("</tbody>", "</table>", "```", "")


def rows(run: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Sequence[str]]]]:
    """Yield what each row says of its step or steps, and who learns what in it."""
    yield "At first", run["known"]
    quiet: list[int] = []
    for event in run["events"]:
        if event["learned"]:
            yield from _between(quiet)
            quiet = []
            yield f"{event['number']}. {event['sentence']}", event["learned"]
        elif event["number"] is not None:
            quiet.append(event["number"])
    yield from _between(quiet)


def _between(quiet: Sequence[int]) -> Iterator[tuple[str, Mapping[str, Sequence[str]]]]:
    if quiet:
        yield f"{quiet[0]}–{quiet[-1]}." if len(quiet) > 1 else f"{quiet[0]}.", {}


def _row(parties: Sequence[str], step: str, learned: Mapping[str, Sequence[str]]) -> str:
    cells = "".join(_cell(party, learned.get(party, ())) for party in parties)
    return f'<tr><th scope="row">{escape(step)}</th>{cells}</tr>'


def _cell(party: str, facts: Sequence[str]) -> str:
    said = "<br>".join(escape(fact.replace("knows ", "")) for fact in facts) or NOTHING
    kind = "" if facts else f' class="{NOTHING}"'
    return f'<td data-party="{escape(party)}"{kind}>{said}</td>'
