"""Answers that were computed before, as files in a folder, each bound to everything that it depends on.

An entry lies under the digest of a key: the format, who answers (a solver and its version, and the source code of the
checker), the budget, and the digest of the text that was asked. It holds that key again and a checksum, so an entry
that was cut off, copied to another place or written for something else is not believed. Only answers that are definite
are kept: what is unknown, or was lost with a worker, is asked again.

None of this stops a person who may write into the folder from making an entry up. It is trusted as the solver is, and
so it is refused if others may write into it. The kernel reads none of it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import carnet_check
import carnet_command
import carnet_spec
from carnet_check.errors import UsageError
from carnet_command.files import failing_as, read_plain, reason, replacing
from carnet_command.text import counted

FORMAT: Final = "carnet-answer/1"
LARGEST: Final = 16 << 20
"""Bytes of an entry; a longer file is none."""
SHOWN: Final = 3
"""How many entries that are not believed are named."""
OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH

Read = TypeVar("Read")


class NotAnAnswerError(Exception):
    """An entry is not what its place says."""


@dataclass(slots=True)
class CacheStatistics:
    """How often a folder was asked, how often it knew, and what was wrong with entries that were not believed."""

    asked: int = 0
    known: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: CacheStatistics) -> None:
        """Count what somebody else counted, too."""
        self.asked += other.asked
        self.known += other.known
        self.wrong += other.wrong

    @property
    def notes(self) -> tuple[str, ...]:
        """What a run says of it at its end."""
        told = (f"{self.known:,} of {counted(self.asked, 'answer')} came from the cache",) if self.asked else ()
        more = f" (and {len(self.wrong) - SHOWN} more)" if len(self.wrong) > SHOWN else ""
        ignored = (f"the cache is not believed where {'; '.join(self.wrong[:SHOWN])}{more}",) if self.wrong else ()
        return (*told, *ignored)


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """The answers of one solver or search in a folder; ``who`` names it, with all that its answers depend on."""

    folder: Path
    who: tuple[str, ...]
    used: CacheStatistics = field(default_factory=CacheStatistics)

    def known(self, text: str, budget: str, read: Callable[[Mapping[str, Any]], Read]) -> Read | None:
        """Return what was answered to ``text`` before; ``read`` makes sense of it, or raises if there is none."""
        key = self._key(text, budget)
        place = self._answer_file(key)
        self.used.asked += 1
        try:
            answer = read(_entry(place, key))
        except FileNotFoundError:
            return None
        except OSError as error:
            self.used.wrong.append(f"'{place}': {reason(error)}")
            return None
        except (NotAnAnswerError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            self.used.wrong.append(f"'{place}': {_describe_error(error)}")
            return None
        self.used.known += 1
        return answer

    def keep(self, text: str, budget: str, answer: Mapping[str, Any]) -> None:
        """Write an answer down, whole or not at all; where that fails, the run goes on without it."""
        key = self._key(text, budget)
        place = self._answer_file(key)
        entry = {"format": FORMAT, "key": key, "answer": answer}
        try:
            place.parent.mkdir(mode=0o700, exist_ok=True)
            if place.exists() and not place.is_file():  # what is written to a pipe waits for a reader
                raise OSError("it is no plain file")
            with replacing(place) as file:
                file.write(_canonical({**entry, "sum": _digest(_canonical(entry))}) + "\n")
        except OSError as error:
            self.used.wrong.append(f"'{place}' cannot be written: {reason(error)}")

    def _key(self, text: str, budget: str) -> dict[str, Any]:
        return {"who": list(self.who), "budget": budget, "text": _digest(text)}

    def _answer_file(self, key: Mapping[str, Any]) -> Path:
        name = _digest(_canonical({"format": FORMAT, **key}))
        return self.folder / name[:2] / f"{name[2:]}.json"


def open_folder(folder: Path, what: str = "cache") -> Path:
    """Return a folder for answers, or for ``what`` else is believed; it is made if it is not there.

    Raises:
        UsageError: it cannot be made, or somebody else may write into it.
    """
    with failing_as(f"expected a folder for answers, and '{folder}'"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    if _is_shared(found):
        raise UsageError(
            f"expected a {what} that nobody else may write to, since it is believed; '{folder}' is not one"
        )
    return folder.absolute()


def _is_shared(folder: os.stat_result) -> bool:
    """Return whether somebody else may write into a folder."""
    return folder.st_uid != os.geteuid() or bool(folder.st_mode & OTHERS)


# -- what this very code makes of a specification, kept for the next command ----------------------

GENERATIONS: Final = 4
"""For so many versions of the source code at most something is kept."""


def memoized(what: str, text: str, make: Callable[[], Any], read: Callable[[Any], Read]) -> Read:
    """Return what was made of a text before; if nothing was, or it is damaged, make it, and keep it if that can be.

    Args:
        what: what is made.
        text: what it is made of; all that it depends on besides is the source code of Carnet's own packages.
        make: makes it, as a JSON value.
        read: makes sense of it, or raises one of the errors that :meth:`AnswerCache.known` takes for none.
    """
    folder = _user_folder()
    if folder is None:
        return read(make())
    answers = AnswerCache(folder, (what, sys.version))
    found = answers.known(text, "", lambda kept: (read(json.loads(kept["made"])),))
    if found is not None:
        return found[0]
    made = make()
    answers.keep(text, "", {"made": json.dumps(made)})  # as a text, in which the order of names stays
    return read(made)


@functools.cache
def _user_folder() -> Path | None:
    """Return the folder of this user for what this very code made; nothing if there can be none that is believed."""
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "carnet" / "memoized"
        place = home / _digest(source_digest() + specification_digest())[:32]
        if not home.is_absolute():
            return None
        open_folder(home)
        if not place.is_dir():
            older = sorted((each for each in home.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)
            for each in older[: 1 - GENERATIONS]:
                shutil.rmtree(each, ignore_errors=True)
        return open_folder(place)
    except (OSError, RuntimeError, UsageError):  # there is no home, or nobody may write there
        return None


@functools.cache
def specification_digest() -> str:
    """Return the digest of the specifications that Carnet brings, their texts included."""
    spec = Path(str(carnet_spec.__file__)).parent
    files = sorted(each for kind in ("*.py", "*.md") for each in spec.rglob(kind))
    return _digest("".join(f"{each.relative_to(spec)} {_digest(each.read_text('utf-8'))}\n" for each in files))


@functools.cache
def source_digest() -> str:
    """Return the digest of the source code that asks solvers and searches: with other code, answers are others'."""
    here, command, spec = (Path(str(each.__file__)).parent for each in (carnet_check, carnet_command, carnet_spec))
    found = []
    for folder in (here, command, spec / "language"):
        files = sorted(file for file in folder.rglob("*") if file.suffix in (".py", ".c"))
        if not files:
            raise UsageError(
                f"expected Carnet's source code in '{folder}': without it nobody knows whose answers these are"
            )
        found += [f"{folder.name}/{file.relative_to(folder)} {_digest(file.read_text('utf-8'))}\n" for file in files]
    return _digest("".join(found))


def _entry(place: Path, key: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer in a file, if it is one to this very key."""
    if _is_shared(place.parent.stat()):
        raise NotAnAnswerError("somebody else may write into its folder")
    content = read_plain(place, LARGEST, flags=os.O_NOFOLLOW)
    if len(content) > LARGEST:
        raise NotAnAnswerError(f"it is larger than {LARGEST >> 20} MiB")
    found = json.loads(content)
    kept = found.pop("sum", None)
    if kept != _digest(_canonical(found)):
        raise NotAnAnswerError("its checksum is not that of what it holds")
    if found.get("format") != FORMAT or found.get("key") != key:
        raise NotAnAnswerError("it is the answer to something else")
    answer: Mapping[str, Any] = found["answer"]
    return answer


def _describe_error(error: Exception) -> str:
    return str(error) if isinstance(error, NotAnAnswerError) else "it is not written as an answer is"


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
