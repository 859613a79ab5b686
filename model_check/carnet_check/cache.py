"""A cache of answers, as files in a folder; each entry is bound to everything that its answer depends on.

The name of an entry is the digest of its key: the format, the answerer (a solver and its version, and the source code
of the checker), the budget, and the digest of the query's text. The entry repeats the key and has a checksum, so an
entry that was truncated, copied to another name or written for another query is rejected. Only definite answers are
stored: a query whose answer is unknown, or was lost with a worker, is asked again.

A person who may write into the folder can still forge an entry. So the folder is trusted like the solver, and refused
if other users may write into it. The kernel never reads the cache.
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
from carnet_command.text import plural

FORMAT: Final = "carnet-answer/1"
LARGEST: Final = 16 << 20  #: The most bytes of an entry; a longer file is rejected.
SHOWN: Final = 3  #: The most rejected entries that are named.
OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH

Read = TypeVar("Read")


class NotAnAnswerError(Exception):
    """An entry does not have the content that its key demands."""


@dataclass(slots=True)
class CacheStatistics:
    """The number of queries and hits of a cache folder, and what was wrong with rejected entries."""

    asked: int = 0
    known: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: CacheStatistics) -> None:
        """Add the counts of another process or cache."""
        self.asked += other.asked
        self.known += other.known
        self.wrong += other.wrong

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines about the cache at the end of a run."""
        told = (f"{self.known:,} of {plural(self.asked, 'answer')} came from the cache",) if self.asked else ()
        more = f" (and {len(self.wrong) - SHOWN} more)" if len(self.wrong) > SHOWN else ""
        ignored = (f"the cache is not believed where {'; '.join(self.wrong[:SHOWN])}{more}",) if self.wrong else ()
        return (*told, *ignored)


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """The cached answers of one solver or search; ``who`` names it, with everything that its answers depend on."""

    folder: Path
    who: tuple[str, ...]
    used: CacheStatistics = field(default_factory=CacheStatistics)

    def get(self, text: str, budget: str, read: Callable[[Mapping[str, Any]], Read]) -> Read | None:
        """Return the cached answer to ``text``, or None; ``read`` parses the entry, or raises if it is malformed."""
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
        """Store an answer atomically; if that fails, the run continues without the entry."""
        key = self._key(text, budget)
        place = self._answer_file(key)
        entry = {"format": FORMAT, "key": key, "answer": answer}
        try:
            place.parent.mkdir(mode=0o700, exist_ok=True)
            if place.exists() and not place.is_file():  # writing to a pipe would wait for a reader
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
    """Return a folder for trusted files, created if it is missing; ``what`` names its use in messages.

    Raises UsageError if the folder cannot be created, or other users may write into it.
    """
    with failing_as(f"expected a folder for answers, and '{folder}'"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    if _is_shared(found):
        raise UsageError(
            f"expected a {what} that no other user may write to, since its answers are trusted; '{folder}' is not one"
        )
    return folder.absolute()


def _is_shared(folder: os.stat_result) -> bool:
    """Return whether other users may write into a folder."""
    return folder.st_uid != os.geteuid() or bool(folder.st_mode & OTHERS)


# -- results of this version of the code about a specification, stored for the next command -------

GENERATIONS: Final = 4  #: The most versions of the source code whose results are kept.


def memoize(what: str, text: str, make: Callable[[], Any], read: Callable[[Any], Read]) -> Read:
    """Return the stored result for a text; if there is none, or it is damaged, compute it and store it if possible.

    Args:
        what: names the kind of result.
        text: the input; apart from it, the result depends on the source code of Carnet's own packages only.
        make: computes the result as a JSON value.
        read: parses that value, or raises one of the errors that :meth:`AnswerCache.get` treats as a miss.
    """
    folder = _user_folder()
    if folder is None:
        return read(make())
    answers = AnswerCache(folder, (what, sys.version))
    found = answers.get(text, "", lambda kept: (read(json.loads(kept["made"])),))
    if found is not None:
        return found[0]
    made = make()
    answers.keep(text, "", {"made": json.dumps(made)})  # as a text, which keeps the order of names
    return read(made)


@functools.cache
def _user_folder() -> Path | None:
    """Return the user's folder for the results of this version of the code; None if no trusted one can be created."""
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
    except (OSError, RuntimeError, UsageError):  # there is no home folder, or it cannot be written to
        return None


@functools.cache
def specification_digest() -> str:
    """Return the digest of the specifications that come with Carnet, their texts included."""
    spec = Path(str(carnet_spec.__file__)).parent
    files = sorted(each for kind in ("*.py", "*.md") for each in spec.rglob(kind))
    return _digest("".join(f"{each.relative_to(spec)} {_digest(each.read_text('utf-8'))}\n" for each in files))


#: The source code of the checker: packages and folders of them.
CHECKER: Final = ("carnet_check", "carnet_command", "carnet_spec/language")


@functools.cache
def source_digest(parts: tuple[str, ...] = CHECKER) -> str:
    """Return the digest of the source code of the checker, or of parts of it; answers of other code are not reused.

    Raises UsageError if there is no source code in one of them.

    Args:
        parts: folders, each the path in its package after the package's name.
    """
    packages = {each.__name__: Path(str(each.__file__)).parent for each in (carnet_check, carnet_command, carnet_spec)}
    found = []
    for part in parts:
        package, _, below = part.partition("/")
        folder = packages[package] / below
        files = sorted(file for file in folder.rglob("*") if file.suffix in (".py", ".c"))
        if not files:
            raise UsageError(f"expected Carnet's source code in '{folder}': answers are bound to it")
        found += [f"{folder.name}/{file.relative_to(folder)} {_digest(file.read_text('utf-8'))}\n" for file in files]
    return _digest("".join(found))


def _entry(place: Path, key: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer in a file; raise NotAnAnswerError unless the file has exactly this key."""
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
