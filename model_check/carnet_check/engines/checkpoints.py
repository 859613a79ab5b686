"""Checkpoints: the results of searches so far, in a folder, so that another run can continue from there.

``checkpoint.json`` says what is explored. Each instance has a **head**, which is replaced when a level is complete, and
one **segment** for each completed level with the states found in it. A segment never changes, and a head names only
complete segments. So however a run ends, the head describes the states up to some level, and only the unfinished level
is lost.

A checkpoint is trusted: the checksums detect damage, not forgery.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

from carnet_check.errors import UsageError
from carnet_command.files import UNFINISHED, read_plain, reason, replacing_durably, write_durably

FORMAT: Final = 3
NAME: Final = "checkpoint.json"
LARGEST: Final = 1 << 30  #: The most bytes of a head that is read.
_SEGMENT = re.compile(r"[a-z]+\.[0-9]+")


@dataclass(frozen=True)
class Checkpoint:
    """A folder for the searches of one question."""

    folder: Path  #: an existing folder into which no other process writes.
    most_bytes: int | None = None  #: the most bytes of all files in it, or None.

    def begin(self, question: Mapping[str, Any]) -> int:
        """Use the folder for a question; return the number of states that are stored there already.

        Raises UsageError if the folder has the checkpoint of another question, is no checkpoint, or cannot be read or
        written.
        """
        try:
            if not any(self.folder.iterdir()):
                _write(self.folder / NAME, {"format": FORMAT, "of": question})
            kept = _read(self.folder / NAME)
            searches = [SearchCheckpoint(self, file.stem) for file in self.folder.glob("*.head")]
            self._require_heads()
        except FileNotFoundError:
            raise UsageError(f"expected a checkpoint or an empty folder, and '{self.folder}' is neither") from None
        except OSError as error:
            raise UsageError(f"cannot use the folder '{self.folder}': {reason(error)}") from None
        if kept.get("format") != FORMAT:
            raise UsageError(f"'{self.folder}' is a checkpoint of another version of Carnet")
        asked = json.loads(json.dumps(question))
        if differing := [name for name in asked if kept["of"].get(name) != asked[name]]:
            raise UsageError(f"'{self.folder}' is the checkpoint of another search: of another {differing[0]}")
        try:  # remove the unfinished files of a process that was killed
            for unfinished in self.folder.glob(UNFINISHED):
                unfinished.unlink()
        except OSError as error:
            raise UsageError(f"cannot clear the folder '{self.folder}': {reason(error)}") from None
        return sum(saved.items("states") for saved in searches)

    def _require_heads(self) -> None:
        """Require a head for each stored segment: without it, the search would silently start again.

        Raises UsageError if a head is missing.
        """
        for file in self.folder.iterdir():
            name, _, segment = file.name.partition(".")
            if _SEGMENT.fullmatch(segment) and not (self.folder / f"{name}.head").exists():
                raise UsageError(f"the checkpoint is broken: '{file}' is of a search whose head is not there")

    @property
    def room(self) -> float:
        """The number of bytes that may still be added to the folder."""
        if self.most_bytes is None:
            return math.inf
        return self.most_bytes - sum(file.stat().st_size for file in self.folder.iterdir())

    def for_instance(self, instance: str) -> SearchCheckpoint:
        """Return the checkpoint for the search of one instance; ``instance`` is a text of all that it depends on."""
        return SearchCheckpoint(self, hashlib.sha256(instance.encode()).hexdigest()[:16])


@dataclass(frozen=True)
class Segment:
    """A file of items of equal length that were stored at one time, one after the other."""

    bytes_each: int
    items: int
    sum: str


class SearchCheckpoint:
    """The checkpoint of the search of one instance: notes, and series of items that only grow.

    To make one reads what is stored, and raises UsageError if that is broken or of another instance.
    """

    def __init__(self, checkpoint: Checkpoint, name: str) -> None:
        self._checkpoint = checkpoint
        self._name = name
        self.notes: Mapping[str, Any] | None = None  #: the latest notes that the search stored; None if it never did.
        self._series: dict[str, list[Segment]] = {}
        head = self._file("head")
        if not head.exists():
            return
        kept = _read(head)
        try:
            of, notes, series = kept["of"], kept["notes"], kept["series"]
            self._series = {each: [Segment(*segment) for segment in listed] for each, listed in series.items()}
        except (AttributeError, LookupError, TypeError) as error:
            raise UsageError(f"the checkpoint is broken: '{head}' is no head ({type(error).__name__})") from None
        if of != self._name:
            raise UsageError(f"the checkpoint is broken: '{head}' is of another instance")
        self.notes = notes

    def items(self, series: str) -> int:
        """Return the number of items of a series."""
        return sum(segment.items for segment in self._series.get(series, ()))

    def keep(self, notes: Mapping[str, Any], more: Mapping[str, tuple[int, Iterable[bytes]]]) -> None:
        """Store new notes, and add items to series; ``more`` has, by series, the bytes of an item and the items.

        Raises OSError if there is not enough room, or the limit is exceeded. The earlier checkpoint is unchanged.
        """
        if not self._file("head").exists():
            self._note(None, {})
        added = {series: self._written_segment(series, each, parts) for series, (each, parts) in more.items()}
        every = self._series | {series: [*self._series.get(series, ()), segment] for series, segment in added.items()}
        self._note(notes, every)
        self.notes, self._series = notes, every

    def _note(self, notes: Mapping[str, Any] | None, series: Mapping[str, list[Segment]]) -> None:
        listed = {each: [astuple(segment) for segment in segments] for each, segments in series.items()}
        _write(self._file("head"), {"of": self._name, "notes": notes, "series": listed})

    def blocks(self, series: str, items: int) -> Iterator[tuple[int, bytes]]:
        """Yield the items of a series in blocks of at most ``items``, each with the bytes of an item.

        Raises UsageError if a file is damaged, which may be detected only after its last block.
        """
        for number, segment in enumerate(self._series.get(series, ())):
            file, digest = self._file(f"{series}.{number}"), hashlib.sha256()
            try:
                with file.open("rb") as stream:
                    while block := stream.read(segment.bytes_each * items):
                        if len(block) % segment.bytes_each:
                            raise UsageError(f"the checkpoint is broken: '{file}' ends in the middle of a state")
                        digest.update(block)
                        yield segment.bytes_each, block
            except OSError as error:
                raise UsageError(f"the checkpoint is broken: cannot read '{file}': {reason(error)}") from None
            if digest.hexdigest() != segment.sum:
                raise UsageError(f"the checkpoint is broken: '{file}' is not what was written")

    def _written_segment(self, series: str, bytes_each: int, parts: Iterable[bytes]) -> Segment:
        digest, size, room = hashlib.sha256(), 0, self._checkpoint.room
        with replacing_durably(self._file(f"{series}.{len(self._series.get(series, ()))}")) as file:
            for part in parts:
                size += len(part)
                if size > room:
                    raise OSError(errno.ENOSPC, "the checkpoint would be larger than it may be")
                digest.update(part)
                file.write(part)
        return Segment(bytes_each, size // bytes_each, digest.hexdigest())

    def _file(self, what: str) -> Path:
        return self._checkpoint.folder / f"{self._name}.{what}"


def _write(file: Path, value: Mapping[str, Any]) -> None:
    text = json.dumps(value).encode()
    write_durably(file, text + b"\n" + hashlib.sha256(text).hexdigest().encode())


def _read(file: Path) -> Any:
    """Return the value that `_write` stored.

    Raises UsageError if the file has another content; OSError if the file cannot be read.
    """
    content = read_plain(file, LARGEST)
    text, _, digest = content.rpartition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != digest:
        raise UsageError(f"the checkpoint is broken: '{file}' is not what was written")
    return json.loads(text)
