"""Importing a specification, which is foreign code: within a time limit, off standard output, errors in one line."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import inspect
import io
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType

from carnet_check.errors import CarnetError, InvalidSpecificationError, UsageError
from carnet_spec import language
from carnet_spec.language import SpecificationError
from carnet_spec.language.naming import did_you_mean
from carnet_spec.language.tracing import LIBRARY_FOLDERS

_LACKING = re.compile(
    r"((?P<of>\w+)\.)?(?P<name>\w+)\(\) missing \d+ required (positional|keyword-only) arguments?: (?P<lacking>.+)"
)
_STRANGE = re.compile(r"((?P<of>\w+)\.)?(?P<name>\w+)\(\) got an unexpected keyword argument '(?P<strange>\w+)'")
MOST_SECONDS = 120
"""How long a specification may take to be imported, and to be built."""


def module_at(file: Path, shown: str) -> ModuleType:
    """Import a Python file.

    Raises:
        UsageError: it is no Python file.
        InvalidSpecificationError: it raises an error.
    """
    if file.is_dir():
        raise UsageError(f"expected a Python file, and '{shown}' is a folder")
    if not file.is_file():
        raise UsageError(f"expected a Python file, and '{shown}' does not exist")
    name = f"carnet_protocol_{file.stem}"
    spec = importlib.util.spec_from_file_location(
        name, file, loader=importlib.machinery.SourceFileLoader(name, str(file))
    )
    if spec is None or spec.loader is None:
        raise UsageError(f"expected a Python file, and '{shown}' is none")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and string annotations look their module up
    with importing(shown), _neighbours_importable(file.parent):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def reimporting(folder: Path) -> Iterator[None]:
    """Import the modules of a folder anew, without their output; the earlier modules are restored afterwards."""
    known = {name: module for name, module in list(sys.modules.items()) if _is_in(module, folder)}
    for name in known:
        del sys.modules[name]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        for name in [name for name, module in list(sys.modules.items()) if _is_in(module, folder)]:
            del sys.modules[name]
        sys.modules.update(known)


def _is_in(module: ModuleType, folder: Path) -> bool:
    """Whether a module was read from a folder, as a neighbour of what is there or as a part of one."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or module.__name__ == "__main__" or not _is_below(folder, file):
        return False
    return Path(file).parent == folder or _is_neighbour(module.__name__.partition(".")[0], folder)


def _is_below(folder: Path, place: str) -> bool:
    """Whether a place is in a folder; asked of every module that is loaded, so no path is taken apart for it."""
    return place.startswith(os.path.join(folder, ""))  # noqa: PTH118 - a path would lose the last separator


def _is_neighbour(name: str, folder: Path) -> bool:
    """Whether a folder has a module of this name, and none is installed under it."""
    there = (folder / f"{name}.py").is_file() or (folder / name).is_dir()
    return there and not _is_installed(name)


def _is_installed(name: str) -> bool:
    """Whether a name is that of a module of Python, of Carnet or of an installed package."""
    if name in sys.stdlib_module_names or name.startswith("carnet_") or name in _distributed():
        return True
    folders = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    return importlib.machinery.PathFinder.find_spec(name, folders) is not None


@functools.cache
def _distributed() -> frozenset[str]:
    """Return the modules of all installed distributions, wherever they lie; it takes a while, so it is asked last."""
    return frozenset(importlib.metadata.packages_distributions())


def module_named(name: str) -> ModuleType:
    """Import a module by its name, the current folder's first.

    Raises:
        UsageError: there is none of this name.
        InvalidSpecificationError: it raises an error.
    """
    folder = Path.cwd()
    with importing(name), _neighbours_importable(folder):
        try:
            _find_first_in(str(folder), name.partition(".")[0])
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(error.name + ".")):
                raise UsageError(f"expected a module, and there is no module '{name}'") from None
            raise


def _find_first_in(folder: str, name: str) -> None:
    """Import a top-level module from a folder if it is there, whatever else is installed under its name."""
    spec = None if name in sys.modules else importlib.machinery.PathFinder.find_spec(name, [folder])
    if spec is None or spec.loader is None:
        return
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


@contextlib.contextmanager
def _neighbours_importable(folder: Path) -> Iterator[None]:
    """Let a module import its neighbours: none stands in for an installed module, and nothing else for a neighbour.

    What other folders have under the same names is there again afterwards, unless a neighbour took its place.
    """
    others = {name: module for name, module in list(sys.modules.items()) if _shadows_neighbour(name, module, folder)}
    for name in others:
        del sys.modules[name]
    finder = _Neighbours(folder)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        taken = {name.partition(".")[0] for name in sys.modules}
        sys.modules.update({name: each for name, each in others.items() if name.partition(".")[0] not in taken})


def _shadows_neighbour(name: str, module: ModuleType, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    places = [file] if isinstance(file, str) else list(getattr(module, "__path__", ()))
    elsewhere = bool(places) and not any(_is_below(folder, place) for place in places)
    return name != "__main__" and elsewhere and _is_neighbour(name.partition(".")[0], folder)


class _Neighbours(importlib.abc.MetaPathFinder):
    """Finds the modules of one folder, of which none is called like one that is installed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return where a module of the folder is."""
        if path is not None or not _is_neighbour(name, self._folder):
            return None
        return importlib.machinery.PathFinder.find_spec(name, [str(self._folder)])


@contextlib.contextmanager
def importing(shown: str) -> Iterator[None]:
    """Run foreign module code off standard output, and tell its errors in one line."""
    try:
        with contextlib.redirect_stdout(sys.stderr), time_limit(MOST_SECONDS, f"importing '{shown}'"):
            yield
    except CarnetError:
        raise
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise UsageError(f"expected Python, and '{shown}'{line} is not: {error.msg}") from None
    except (UnicodeDecodeError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError) or "null bytes" in str(error):
            raise UsageError(f"expected Python text, and '{shown}' is not: {error}") from None
        raise error_at_line(shown, error) from error
    except SystemExit as error:
        raise UsageError(f"'{shown}' exits when it is imported (code {error.code})") from None
    except Exception as error:
        raise error_at_line(shown, error) from error


@contextlib.contextmanager
def specification_errors(shown: str) -> Iterator[None]:
    """Turn whatever goes wrong while a specification is traced into one line that says where."""
    try:
        with contextlib.redirect_stdout(sys.stderr), time_limit(MOST_SECONDS, f"building '{shown}'"):
            yield
    except CarnetError:
        raise
    except SystemExit as error:
        raise exit_error(shown, error) from None
    except Exception as error:
        raise error_at_line(shown, error) from error


def exit_error(shown: str, error: SystemExit) -> UsageError:
    """Say that a specification tried to end the command, whose exit code would pass for a verdict."""
    return UsageError(f"'{shown}' exits when it is built (code {error.code})")


def error_at_line(shown: str, error: Exception) -> InvalidSpecificationError:
    """Name the line of the specification at which ``error`` was raised, not the library's."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((*LIBRARY_FOLDERS, str(Path(__file__).parent), "<"))
    ]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else shown
    said = str(error) if isinstance(error, SpecificationError) else f"{type(error).__name__}: {error}"
    asked = _nearest_in_python(error)
    return InvalidSpecificationError(f"{place}: {_incomplete(error) or said}{asked and '; ' + asked}")


def _nearest_in_python(error: Exception) -> str:
    """Ask whether another name was meant than one that Python does not find."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    match error:
        case NameError(name=str(name)):
            return did_you_mean(name, {each for frame in frames[-1:] for each in (*frame.f_globals, *frame.f_locals)})
        case KeyError(args=[str(name)]):
            tables = (each for frame in frames for each in frame.f_locals.values() if isinstance(each, Mapping))
            return did_you_mean(name, {key for table in tables for key in table if isinstance(key, str)})
        case AttributeError(name=str(name), obj=object() as owner):
            return did_you_mean(name, (each for each in dir(owner) if not each.startswith("_")))
        case TypeError() if found := _STRANGE.fullmatch(str(error)):
            function = _of_the_language(found)
            return did_you_mean(found["strange"], inspect.signature(function).parameters) if function else ""
    return ""


def _incomplete(error: Exception) -> str:
    """Say how something of the language is called, where an argument was left out."""
    found = _LACKING.fullmatch(str(error)) if isinstance(error, TypeError) else None
    function = _of_the_language(found) if found else None
    if found is None or function is None:
        return ""
    needed = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    shown = [
        f"{each.name}=…" if each.kind is each.KEYWORD_ONLY else each.name for each in needed if each.name != "self"
    ]
    called = f"{found['of'].lower()}.{found['name']}" if found["of"] else found["name"]
    return f"{called} lacks {found['lacking']}: write {called}({', '.join(shown)})"


def _of_the_language(found: re.Match[str]) -> Callable[..., object] | None:
    """Return the function, method or class of the language that an error of Python is about."""
    of, name = found["of"], found["name"]
    owner = getattr(language, of, None) if of else language
    function = owner if name == "__init__" else getattr(owner, name, None)
    return function if callable(function) else None


# -- A limit of time for foreign code, such as a specification that never ends its import ----------

AGAIN = 1.0
"""Seconds after which code that went on regardless is told once more."""


class _OverError(BaseException):
    """The time is over; no error of the foreign code's, which may go on after any of its own."""


@contextmanager
def time_limit(seconds: float, what: str) -> Iterator[None]:
    """End foreign code that goes on for too long; other threads than the first have no limit.

    Raises:
        UsageError: the time was over.
    """
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    if threading.current_thread() is not threading.main_thread() or 0 < left <= seconds:
        yield
        return

    def over(_signal: int, _frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise _OverError

    before, began = signal.signal(signal.SIGALRM, over), time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _OverError:
        raise UsageError(f"{what} took more than {seconds:g} s: a specification is read, not waited for") from None
    finally:
        rest = left - (time.monotonic() - began) if left else 0.0
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, max(rest, 0.001) if left else 0.0)
