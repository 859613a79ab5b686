"""Tracing: calling a specification's function with symbolic values, and refusing side effects.

An action is a Python function that is called with symbolic values. A side effect would happen while a user checks the
protocol, and could make the function record something else the next time. So the function is called twice, without
standard output, files, processes and network. It is refused if it tries to use them, changes its globals, uses random
numbers, or records two different things.
"""

import contextlib
import dis
import functools
import io
import itertools
import random
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeVar

from carnet_spec.language.errors import MisuseError

Traced = TypeVar("Traced")

#: The folders of the language and its theories.
LIBRARY_FOLDERS = tuple(str(PurePath(__file__).parents[1] / room) for room in ("language", "theories"))
#: The prefixes of the names of audit events that a function must not cause.
_REFUSED = ("open", "os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pty.", "signal.", "webbrowser.")
#: The instructions that assign or delete a global; every second byte of code is one, or a cache that is 0.
_WRITES = frozenset(dis.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL"))
_tracing = threading.local()
_said_twice: set[CodeType] = set()  #: The code objects of functions that were called twice with equal results.


def traced_twice(function: Callable[..., object], say: Callable[[], Traced]) -> Traced:
    """Return the result of ``say``, which calls ``function``, after a check that a second call gives the same.

    A function that several designs share is called a second time only for the first design. Changes of its
    surroundings, and the use of random numbers, are checked each time.

    Raises MisuseError if ``function`` has a side effect, or records two different things.
    """
    name = getattr(function, "__name__", repr(function))
    _refuse_writing_globals(function, name)
    before, state = _surroundings(function), random.getstate()
    with _alone(name):
        first = say()
        code = getattr(function, "__code__", None)
        second = first if code in _said_twice else say()
    if random.getstate() != state:
        raise MisuseError(f"{name} draws at random: a specification says the same every time")
    changed = [known for known, value in _surroundings(function).items() if before.get(known) != value]
    if changed:
        raise MisuseError(f"{name} changes {', '.join(changed)}, which it finds outside: say it in the state instead")
    if first != second:
        raise MisuseError(f"{name} says two different things when it is called twice: let it depend on nothing outside")
    if code is not None:
        _said_twice.add(code)
    return first


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A location in the source: a file, by its absolute path, and a line, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.line}"


def written_at(function: Callable[..., object]) -> SourceLocation | None:
    """Return the source location of a function, or None if it is not written in Python."""
    code = getattr(function, "__code__", None)
    return SourceLocation(code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else None


def called_from() -> SourceLocation | None:
    """Return the source location of the call outside the language and its theories, or None."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(LIBRARY_FOLDERS):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno)


@dataclass(frozen=True, slots=True)
class Extent:
    """Where an operation begins and ends in the source of some code: lines, from 1, and places in them, from 0."""

    code: CodeType
    start: tuple[int, int]
    end: tuple[int, int]


def operation_at(frame: FrameType) -> Extent | None:
    """Return the extent of the operation that a frame is at; None if Python was told not to record where they are."""
    positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    match next(positions):
        case int(line), int(last_line), int(place), int(end):
            return Extent(frame.f_code, (line, place), (last_line, end))
    return None


class _NoOutput(io.TextIOBase):
    """A stream that refuses all writing."""

    def __init__(self, name: str) -> None:
        self._name = name

    def write(self, _text: str) -> int:
        raise MisuseError(f"{self._name} prints: an action says what happens and does nothing")


@contextlib.contextmanager
def _alone(name: str) -> Iterator[None]:
    """Refuse output and system calls of this thread while the block runs."""
    _install()
    outer = getattr(_tracing, "name", None)
    _tracing.name = name
    try:
        with contextlib.redirect_stdout(_NoOutput(name)), contextlib.redirect_stderr(_NoOutput(name)):
            yield
    finally:
        _tracing.name = outer


_installed = threading.Lock()


def _install() -> None:
    """Install the audit hook, once, as an audit hook cannot be removed."""
    if _installed.acquire(blocking=False):
        sys.addaudithook(_watch)


def _watch(event: str, _args: tuple[Any, ...]) -> None:
    name = getattr(_tracing, "name", None)
    if name is not None and event.startswith(_REFUSED):
        _tracing.name = None  # creating and reporting the error may cause audit events
        raise MisuseError(f"{name} calls the system ({event}): an action says what happens and does nothing")


def _refuse_writing_globals(function: Callable[..., object], name: str) -> None:
    for changed in _written_globals(function.__code__) if isinstance(function, FunctionType) else ():
        raise MisuseError(f"{name} changes the global {changed}: say it in the state instead")


@functools.cache
def _written_globals(code: CodeType) -> tuple[str, ...]:
    """Return the globals that a function assigns or deletes; cached, as each variant traces the same functions."""
    writing = (part for part in _codes(code) if not _WRITES.isdisjoint(part.co_code[::2]))
    instructions = (each for part in writing for each in dis.get_instructions(part))
    return tuple(each.argval for each in instructions if each.opcode in _WRITES)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _surroundings(function: Callable[..., object]) -> dict[str, object]:
    """Return copies of the lists, sets and dictionaries that a function can reach by globals and closures."""
    if not isinstance(function, FunctionType):
        return {}
    names = _names(function.__code__)
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found |= {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    return {name: _copied(value) for name, value in found.items()}


@functools.cache
def _names(code: CodeType) -> tuple[str, ...]:
    return tuple(sorted({name for part in _codes(code) for name in part.co_names}))


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 # reading it raises an error if it is empty
    except ValueError:
        return False
    return True


def _copied(value: object) -> object:
    """Return a key that differs if ``value`` was changed: the ids of a container's items, or its own id."""
    match value:
        case dict():
            return [(id(key), id(each)) for key, each in value.items()]
        case list() | set():
            return [id(each) for each in value]
        case _:
            return id(value)
