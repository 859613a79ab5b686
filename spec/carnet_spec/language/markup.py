"""HTML by which notebooks show values: a few tags, and no text that a browser would act on.

Notebooks ask a value for it by ``_repr_html_``. Whatever a text says, it is shown: what has a meaning in HTML is
escaped, and what is not for printing is written as in Python source.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MOST_ROWS = 200
"""How many rows of a table are shown; the last one says how many more there are."""
_LEFT = ' style="text-align:left;padding:2px 8px"'


class Html(str):
    """Text that is HTML already, so that nothing of it is escaped again."""

    __slots__ = ()


def shown(text: str) -> Html:
    """Return a text as HTML that shows it."""
    if isinstance(text, Html):
        return text
    return Html(html.escape("".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)))


def strong(text: str) -> Html:
    """Return a text that stands out."""
    return Html(f"<strong>{shown(text)}</strong>")


def lines(parts: Iterable[str]) -> Html:
    """Return texts below one another."""
    return Html("<br>".join(map(shown, parts)))


def paragraph(text: str) -> Html:
    """Return a text as a paragraph."""
    return Html(f"<p>{shown(text)}</p>")


def text_block(parts: Iterable[str]) -> Html:
    """Return lines of text as they are, with their spaces."""
    return Html('<pre style="white-space:pre-wrap">' + "\n".join(map(shown, parts)) + "</pre>")


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table, of which the first cell of each row says what the row is about; nothing, if it has no rows."""
    listed = list(rows)
    if not listed:
        return Html()
    heads = "".join(f'<th scope="col"{_LEFT}>{shown(each)}</th>' for each in head)
    body = "\n".join(map(_row, listed[:MOST_ROWS]))
    more = len(listed) - MOST_ROWS
    rest = f'\n<tr><td colspan="{len(head)}"{_LEFT}>… and {more:,} more</td></tr>' if more > 0 else ""
    return Html(
        f"<table>\n<caption{_LEFT}>{shown(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}{rest}\n</tbody>\n</table>"
    )


def folded(summary: str, content: Html) -> Html:
    """Return something that is shown when a reader unfolds it; nothing, if there is nothing."""
    return Html(f"<details><summary>{shown(summary)}</summary>\n{content}\n</details>") if content else Html()


def document(title: str, *parts: Html) -> Html:
    """Return a title and what is below it."""
    return Html(
        "\n".join(
            ['<div style="overflow-x:auto">', paragraph(strong(title)), *(part for part in parts if part), "</div>"]
        )
    )


def design(protocol: str, variant: str, without: Iterable[str]) -> str:
    """Say what design something is about."""
    removed = ", ".join(without)
    return f"{protocol}, {variant}" + (f" without {removed}" if removed else "")


def steps(trace: Mapping[str, Any]) -> Html:
    """Return the steps of a trace, which comes as its JSON values, by their numbers."""
    about = design(trace["protocol"], trace["variant"], trace["without"])
    under = f" under {trace['threat']}" if trace["threat"] else ""
    rows = [
        (
            str(number),
            each["action"],
            each["by"],
            ", ".join(f"{name} = {element}" for name, element in each["args"].items()),
        )
        for number, each in enumerate(trace["steps"], 1)
    ]
    loop = trace.get("loop")
    for_ever = Html() if loop is None else _for_ever(loop, len(rows))
    return document(f"Trace of {about}{under}", table(_of(len(rows)), ("step", "action", "by", "with"), rows), for_ever)


def _for_ever(loop: int, steps: int) -> Html:
    if loop == steps:
        return paragraph("Then nothing happens any more.")
    return paragraph(f"The steps from {loop + 1} on are taken again and again.")


def _of(count: int) -> str:
    return "1 step" if count == 1 else f"{count:,} steps"


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    rest = "".join(f"<td{_LEFT}>{shown(each)}</td>" for each in others)
    return f'<tr><th scope="row"{_LEFT}>{shown(first)}</th>{rest}</tr>'
