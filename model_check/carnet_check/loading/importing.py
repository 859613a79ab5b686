"""Importing a specification, which is foreign code: with a time limit, redirected output, and errors in one line."""

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
MOST_SECONDS = 120  #: The seconds that a specification may take to be imported, and to be built.


def module_at(file: Path, shown: str) -> ModuleType:
    """Import a Python file.

    Raises UsageError if the file is no Python file; InvalidSpecificationError if its code raises an error.
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
    sys.modules[name] = module  # dataclasses and string annotations look up their module
    with importing(shown), _neighbours_importable(file.parent):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def reimporting(folder: Path) -> Iterator[None]:
    """Import the modules of a folder again, without their output; the earlier modules are restored afterwards."""
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
    """Whether a module was read from a folder, as a top-level module or in a package."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or module.__name__ == "__main__" or not _is_below(folder, file):
        return False
    return Path(file).parent == folder or _is_neighbour(module.__name__.partition(".")[0], folder)


def _is_below(folder: Path, place: str) -> bool:
    """Whether a place is in a folder; called for every loaded module, so it compares strings, not paths."""
    return place.startswith(f"{str(folder).rstrip(os.sep)}{os.sep}")


def _is_neighbour(name: str, folder: Path) -> bool:
    """Whether a folder has a module of this name, and no installed module has it."""
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
    """Return the modules of all installed distributions; this is slow, so it is the last test."""
    return frozenset(importlib.metadata.packages_distributions())


def module_named(name: str) -> ModuleType:
    """Import a module by its name, the current folder's first.

    Raises UsageError if there is no module of this name; InvalidSpecificationError if its code raises an error.
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
    """Import a top-level module from a folder if it is there, even if another module of its name is installed."""
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
    """Let a module import its neighbours, the modules of its folder; none of them replaces an installed module.

    Loaded modules of other folders with the same names are restored afterwards, unless a neighbour replaced them.
    """
    loaded = {name.partition(".")[0] for name in list(sys.modules)}
    neighbours = {name for name in loaded & _names_in(folder) if _is_neighbour(name, folder)}
    others = {
        name: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in neighbours and _is_elsewhere(name, module, folder)
    }
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


def _names_in(folder: Path) -> set[str]:
    """Return what the modules of a folder may be called; Python imports none from a folder that cannot be listed."""
    try:
        return {path.name.partition(".")[0] for path in folder.iterdir()}
    except PermissionError:
        return set()


def _is_elsewhere(name: str, module: ModuleType, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    places = [file] if isinstance(file, str) else list(getattr(module, "__path__", ()))
    return name != "__main__" and bool(places) and not any(_is_below(folder, place) for place in places)


class _Neighbours(importlib.abc.MetaPathFinder):
    """Finds the modules of one folder that do not have the name of an installed module."""

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
    """Run a foreign module's code with its output redirected, and report its errors in one line."""
    try:
        with contextlib.redirect_stdout(sys.stderr), time_limit(MOST_SECONDS, f"importing '{shown}'"):
            yield
    except CarnetError:
        raise
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        imported = Path(error.filename or shown).name
        file = shown if imported == Path(shown).name else imported
        raise UsageError(f"expected Python, and '{file}'{line} is not: {error.msg}") from None
    except SystemExit as error:
        raise UsageError(f"'{shown}' exits when it is imported (code {error.code})") from None
    except Exception as error:
        if isinstance(error, ValueError) and "null bytes" in str(error):
            raise UsageError(f"expected Python text, and '{shown}' is not: {error}") from None
        raise error_at_line(shown, error) from error


@contextlib.contextmanager
def specification_errors(shown: str) -> Iterator[None]:
    """Turn any exception of a specification's code into an error of one line that says where."""
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
    """Return the error that a specification tried to exit: its exit code could be mistaken for a verdict."""
    return UsageError(f"'{shown}' exits when it is built (code {error.code})")


def error_at_line(shown: str, error: Exception) -> InvalidSpecificationError:
    """Return an error that names the line of the specification, not of a library, at which ``error`` was raised."""
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals["__name__"].partition(".")[0] not in sys.stdlib_module_names
    ]
    own = [line for line in lines if not line[0].startswith((*LIBRARY_FOLDERS, str(Path(__file__).parent), "<"))]
    place = f"{Path(own[-1][0]).name}:{own[-1][1]}" if own else shown
    said = str(error) if isinstance(error, SpecificationError) else f"{type(error).__name__}: {error}"
    asked = _nearest_in_python(error)
    return InvalidSpecificationError(f"{place}: {_incomplete(error) or said}{asked and '; ' + asked}")


def _nearest_in_python(error: Exception) -> str:
    """Return the question whether a similar name was meant, for a name that Python does not find."""
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
    """Return the signature of the called function of the language, if an argument is missing."""
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
    """Return the function, method or class of the language that a Python error is about, or None."""
    of, name = found["of"], found["name"]
    owner = getattr(language, of, None) if of else language
    function = owner if name == "__init__" else getattr(owner, name, None)
    return function if callable(function) else None


# -- A time limit for foreign code, such as a specification whose import never ends ----------------

AGAIN = 1.0  #: Seconds after which the exception is raised again in code that caught it.


class _OverError(BaseException):
    """The time limit was exceeded; no subclass of Exception, as foreign code may catch those."""


@contextmanager
def time_limit(seconds: float, what: str) -> Iterator[None]:
    """Interrupt foreign code that takes too long; there is no limit in threads other than the main one.

    Raises UsageError if the time limit was exceeded.
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
