"""HTML for values in notebooks: a few tags, and escaped text.

Notebooks call ``_repr_html_`` of a value. Characters with a meaning in HTML are escaped, and unprintable characters are
written as in Python source.
"""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MOST_ROWS = 200  #: The most rows of a table that are shown; a last one says how many more there are.
_LEFT = ' style="text-align:left;padding:2px 8px"'


class Html(str):
    """Text that is already HTML and is not escaped again."""

    __slots__ = ()


def escape_text(text: str) -> Html:
    """Return a text, escaped as HTML."""
    if isinstance(text, Html):
        return text
    return Html(html.escape("".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)))


def strong(text: str) -> Html:
    """Return a text in bold."""
    return Html(f"<strong>{escape_text(text)}</strong>")


def lines(parts: Iterable[str]) -> Html:
    """Return texts, each on its own line."""
    return Html("<br>".join(map(escape_text, parts)))


def paragraph(text: str) -> Html:
    """Return a text as a paragraph."""
    return Html(f"<p>{escape_text(text)}</p>")


def text_block(parts: Iterable[str]) -> Html:
    """Return lines of preformatted text."""
    return Html('<pre style="white-space:pre-wrap">' + "\n".join(map(escape_text, parts)) + "</pre>")


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Return a table; the first cell of each row is its heading. The result is empty if there are no rows."""
    listed = list(rows)
    if not listed:
        return Html()
    heads = "".join(f'<th scope="col"{_LEFT}>{escape_text(each)}</th>' for each in head)
    body = "\n".join(map(_row, listed[:MOST_ROWS]))
    more = len(listed) - MOST_ROWS
    rest = f'\n<tr><td colspan="{len(head)}"{_LEFT}>… and {more:,} more</td></tr>' if more > 0 else ""
    return Html(
        f"<table>\n<caption{_LEFT}>{escape_text(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}{rest}\n</tbody>\n</table>"
    )


def details(summary: str, content: Html) -> Html:
    """Return content that a reader can unfold; the result is empty if the content is."""
    return Html(f"<details><summary>{escape_text(summary)}</summary>\n{content}\n</details>") if content else Html()


def document(title: str, *parts: Html) -> Html:
    """Return a title with the parts below it."""
    return Html(
        "\n".join(
            ['<div style="overflow-x:auto">', paragraph(strong(title)), *(part for part in parts if part), "</div>"]
        )
    )


def design(protocol: str, variant: str, without: Iterable[str]) -> str:
    """Return the name of a design: protocol, variant and removed defences."""
    removed = ", ".join(without)
    return f"{protocol}, {variant}" + (f" without {removed}" if removed else "")


def steps(trace: Mapping[str, Any]) -> Html:
    """Return the numbered steps of a trace that is given as JSON values."""
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
    rest = "".join(f"<td{_LEFT}>{escape_text(each)}</td>" for each in others)
    return f'<tr><th scope="row"{_LEFT}>{escape_text(first)}</th>{rest}</tr>'
