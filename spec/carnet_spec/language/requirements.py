"""The normative sentences of a protocol, read from its ``requirements.md``.

The text of a protocol is the file ``requirements.md`` beside it. A normative sentence is a paragraph that opens with
its id and closes with its source; a title in italics may stand before the sentence::

    **REQ-KEY-03** The orchestrator MUST … (Source: deck, Epilogue)

    **A1** *Ideal cryptography.* Encryption and signatures are ideal. (Source: convention)

An id has capitals and digits, joined by hyphens. ``A1`` and ``ASM-…`` are assumptions, ``CLAIM-…`` states what must
always hold, and every other sentence contains MUST or SHOULD. A sentence is written in this text only: actions name the
ids that they enforce, claims the one that they state, and assumptions have their own. An id is unique within its
protocol, and unrelated to the ids of another protocol.
"""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.naming import and_known
from carnet_spec.language.protocol import Protocol

FILE = "requirements.md"  #: The name of the file with a protocol's normative text, beside the module of the protocol.


class Level(Enum):
    """How binding a sentence is."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    ASSUMPTION = "assumption"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One normative sentence, or one assumption."""

    id: str
    sentence: str
    source: str
    level: Level
    title: str = ""

    @property
    def short(self) -> str:
        """The title, or the first clause of the sentence if it has no title."""
        return self.title or first_clause(self.sentence)


@dataclass(frozen=True, slots=True)
class NormativeText:
    """The normative text of one protocol; ``place`` names it in errors. A protocol may have none."""

    text: str = ""
    place: str = FILE

    @property
    def title(self) -> str:
        """The first heading; empty, if there is none."""
        heading = re.search(r"^# +(.+)$", self.text, re.MULTILINE)
        return heading[1].strip() if heading else ""

    def requirements(self) -> Mapping[str, Requirement]:
        """Return all normative sentences by id, in the order in which they are written.

        Raises SpecificationError if an id is given twice, or a sentence has no source, or neither MUST nor SHOULD.
        """
        return _requirements(self)

    def sentence(self, id: str) -> str:
        """Return the normative sentence with this id. Raises SpecificationError if there is none."""
        known = self.requirements()
        if id not in known:
            raise SpecificationError(f"{self.place} has no sentence {id}{and_known(id, known)}")
        return known[id].sentence


def first_clause(sentence: str) -> str:
    """Return what stands before the first colon, semicolon or full stop."""
    return re.split("[:;.]", sentence)[0]


def text_beside(file: str) -> NormativeText:
    """Return the normative text beside the Python file of a protocol, or an empty one if there is none.

    Raises SpecificationError if the text cannot be read.
    """
    path = Path(file).with_name(FILE)
    place = f"{path.parent.name}/{FILE}"
    try:
        return NormativeText(path.read_text("utf-8"), place) if path.is_file() else NormativeText()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecificationError(f"{place} cannot be read: {error}") from None


#: The beginning of a normative sentence: an id in bold, at the start of a paragraph or of a list item.
OPENING = re.compile(
    r"^(?:[*-] +)?\*\*(?P<id>(?=[A-Z]*[-\d])[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*)\*\*(?P<rest>.*)", re.MULTILINE
)
_WHOLE = re.compile(r"(?:\*(?P<title>[^*]+)\.\* +)?(?P<sentence>.+?)\s*\(Source: (?P<source>.+)\)")
_OBLIGES_NOBODY = re.compile(r"\b([Nn]o|[Nn]obody|[Nn]one)\b[^.,:;]*\b(MUST|SHOULD)\b")
_ASSUMPTION = re.compile(r"A\d+|ASM-.+")


@functools.lru_cache(maxsize=64)
def _requirements(text: NormativeText) -> Mapping[str, Requirement]:
    found: dict[str, Requirement] = {}
    for requirement in _parsed(text):
        if requirement.id in found:
            raise SpecificationError(f"{text.place}: {requirement.id} is given twice: renumber one")
        found[requirement.id] = requirement
    return MappingProxyType(found)


def references_of(protocol: Protocol) -> dict[str, tuple[str, ...]]:
    """Return the ids that ``protocol`` refers to, each with the actions, claims and so on that refer to it."""
    pairs = [
        *((id, action.name) for action in protocol.actions for id in action.enforces),
        *((id, claim.name) for claim in protocol.claims for id in _ids(claim.requirement)),
        *((id, claim.name) for claim in protocol.lemma_claims for id in claim.cites),
        *((live.requirement, live.name) for live in protocol.liveness if live.requirement),
        *((assumption.id, assumption.id) for assumption in protocol.assumptions),
    ]
    found: dict[str, list[str]] = {}
    for id, name in pairs:
        found.setdefault(id, []).append(name)
    return {id: tuple(names) for id, names in found.items()}


def _ids(listed: str) -> list[str]:
    return re.split(r"[,;\s]+", listed.strip()) if listed.strip() else []


def _parsed(text: NormativeText) -> Iterator[Requirement]:
    for paragraph in _paragraphs(text.text):
        opening = OPENING.match(paragraph)
        if opening is None:
            continue
        id, rest = opening["id"], opening["rest"].strip()
        whole = _WHOLE.fullmatch(rest)
        if whole is None:
            raise SpecificationError(f"{text.place}: {id} must end with its source, as in '(Source: deck, Epilogue)'")
        yield Requirement(
            id, whole["sentence"], whole["source"], _level(text, id, whole["sentence"]), whole["title"] or ""
        )


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of ``text``, each on one line."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if (not line.strip() or OPENING.match(line)) and lines:
            yield " ".join(lines)
            lines = []
        if line.strip():
            lines.append(line.strip())


def _level(text: NormativeText, id: str, sentence: str) -> Level:
    if _OBLIGES_NOBODY.search(sentence):
        raise SpecificationError(f"{text.place}: {id} says that nobody must, which forbids nothing: write 'X MUST NOT'")
    if _ASSUMPTION.fullmatch(id):
        return Level.ASSUMPTION
    if id.startswith("CLAIM-"):
        return Level.MUST
    for level in (Level.MUST, Level.SHOULD):
        if re.search(rf"\b{level.value}\b", sentence):
            return level
    raise SpecificationError(f"{text.place}: {id} says neither MUST nor SHOULD: make it binding, or drop its id")
