"""The normative sentences, read out of the numbered text that people read.

A normative sentence is a paragraph of ``text/*.md`` that opens with its id and closes with its source::

    **REQ-KEY-03** The orchestrator MUST … (Source: deck, Epilogue)

An id is capitals and digits, joined by hyphens. ``A1`` and ``ASM-…`` are assumptions; ``CLAIM-…`` says what must
always hold; every other sentence says MUST or SHOULD. The text is the only place where a sentence is written: actions
name the ids that they enforce, claims the one that they state, and assumptions carry theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from importlib import resources

from carnet_spec.language import Protocol, SpecificationError


class Level(Enum):
    """How binding a sentence is."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    ASSUMPTION = "assumption"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One normative sentence, or one assumption; ``page`` is the text that it stands in."""

    id: str
    sentence: str
    source: str
    level: Level
    page: str


@dataclass(frozen=True, slots=True)
class Page:
    """One file of the normative text."""

    name: str
    text: str

    @property
    def title(self) -> str:
        """The first heading."""
        heading = re.search(r"^# +(.+)$", self.text, re.MULTILINE)
        return heading[1].strip() if heading else self.name


OPENING = re.compile(
    r"^(?:[*-] +)?\*\*(?P<id>(?=[A-Z]*[-\d])[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*)\*\*(?P<rest>.*)", re.MULTILINE
)
"""What opens a normative sentence: an id in bold, at the start of a paragraph or of a list item."""
_WHOLE = re.compile(r"(?P<sentence>.+?)\s*\(Source: (?P<source>.+)\)")
_OBLIGES_NOBODY = re.compile(r"\b([Nn]o|[Nn]obody|[Nn]one)\b[^.,:;]*\b(MUST|SHOULD)\b")
_ASSUMPTION = re.compile(r"A\d+|ASM-.+")


def pages() -> tuple[Page, ...]:
    """Return the normative text, in the order of the files' names."""
    folder = resources.files("carnet_spec").joinpath("text")
    files = folder.iterdir() if folder.is_dir() else iter(())
    texts = [
        Page(file.name.removesuffix(".md"), file.read_text("utf-8")) for file in files if file.name.endswith(".md")
    ]
    return tuple(sorted(texts, key=lambda page: page.name))


def requirements(text: Iterable[Page] | None = None) -> dict[str, Requirement]:
    """Return all normative sentences by id, in the order in which they are written.

    Raises:
        SpecificationError: an id is given twice, or a sentence lacks its source or says nothing binding.
    """
    found: dict[str, Requirement] = {}
    for page in pages() if text is None else text:
        for requirement in _parsed(page):
            if requirement.id in found:
                where = found[requirement.id].page
                raise SpecificationError(
                    f"{page.name}: {requirement.id} is given twice, first in {where}: renumber one"
                )
            found[requirement.id] = requirement
    return found


def cited(protocol: Protocol) -> dict[str, tuple[str, ...]]:
    """Return the ids that ``protocol`` refers to, each with the actions, claims and assumptions that do."""
    pairs = [
        *((id, action.name) for action in protocol.actions for id in action.enforces),
        *((id, claim.name) for claim in protocol.claims for id in _ids(claim.requirement)),
        *((assumption.id, assumption.id) for assumption in protocol.assumptions),
    ]
    found: dict[str, list[str]] = {}
    for id, name in pairs:
        found.setdefault(id, []).append(name)
    return {id: tuple(names) for id, names in found.items()}


def _ids(listed: str) -> list[str]:
    return re.split(r"[,;\s]+", listed.strip()) if listed.strip() else []


def _parsed(page: Page) -> Iterator[Requirement]:
    for paragraph in _paragraphs(page.text):
        opening = OPENING.match(paragraph)
        if opening is None:
            continue
        id, rest = opening["id"], opening["rest"].strip()
        whole = _WHOLE.fullmatch(rest)
        if whole is None:
            raise SpecificationError(f"{page.name}: {id} must end with its source, as in '(Source: deck, Epilogue)'")
        yield Requirement(id, whole["sentence"], whole["source"], _level(page, id, whole["sentence"]), page.name)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of ``text``, each on one line."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if (not line.strip() or OPENING.match(line)) and lines:
            yield " ".join(lines)
            lines = []
        if line.strip():
            lines.append(line.strip())


def _level(page: Page, id: str, sentence: str) -> Level:
    if _OBLIGES_NOBODY.search(sentence):
        raise SpecificationError(f"{page.name}: {id} says that nobody must, which forbids nothing: write 'X MUST NOT'")
    if _ASSUMPTION.fullmatch(id):
        return Level.ASSUMPTION
    if id.startswith("CLAIM-"):
        return Level.MUST
    for level in (Level.MUST, Level.SHOULD):
        if re.search(rf"\b{level.value}\b", sentence):
            return level
    raise SpecificationError(f"{page.name}: {id} says neither MUST nor SHOULD: make it binding, or drop its id")
