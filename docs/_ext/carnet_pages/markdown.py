"""Pieces of MyST Markdown."""

import re
from collections.abc import Iterable, Iterator, Sequence

from carnet_spec.language.notation import show_lines
from carnet_spec.language.terms import Term

Lines = Iterator[str]


def prose(text: str) -> str:
    """Return ``text`` so that Markdown shows it as it is; places such as ``{key}`` become code."""
    parts = re.split(r"\{(\w+)\}", " ".join(text.split()))
    escaped = (re.sub(r"([\\`*_<>\[\]|#~$])", r"\\\1", part) for part in parts[::2])
    places = [f"`{place}`" for place in parts[1::2]] + [""]
    return "".join(text + place for text, place in zip(escaped, places, strict=True))


def code(text: str) -> str:
    """Return ``text`` as code; in a cell of a table, too."""
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Lines:
    """Yield the lines of a table, or nothing when it has no rows."""
    listed = [list(row) for row in rows]
    if listed:
        yield "| " + " | ".join(head) + " |"
        yield "|" + " --- |" * len(head)
        yield from ("| " + " | ".join(row) + " |" for row in listed)
        yield ""


def formula(term: Term) -> Lines:
    """Yield a block that shows ``term`` on as many lines as it takes."""
    yield from ("```text", *show_lines(term), "```", "")


def contents(paths: Iterable[str], depth: int = 1) -> Lines:
    """Yield a table of contents."""
    yield from ("```{toctree}", f":maxdepth: {depth}", "", *paths, "```", "")


def indexed(id: str) -> str:
    """Return an entry of the index for an id, so that the search of the pages leads here."""
    return f"```{{index}} {id}\n```"


def label(*parts: str) -> str:
    """Return the name that references use, made of ``parts``."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def page(*parts: str | Iterable[str]) -> str:
    """Join paragraphs and runs of lines into one page."""
    lines: list[str] = []
    for part in parts:
        lines += [part, ""] if isinstance(part, str) else part
    return "\n".join(lines)
