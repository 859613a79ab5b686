"""Starting Python processes that import nothing from the current folder, where others may have written modules.

An interpreter started with ``-c`` or ``-m`` looks for modules, even those of the standard library, in the current
folder first. A spawned worker inherits its parent's module path and runs its parent's main module again. Carnet's
processes do neither: the current folder is on no process's module path, unless Carnet itself is installed there.

A worker is forked if that is safe: it then shares what its parent has imported and built. It is spawned if the parent
has other threads than a heartbeat: a forked process has one thread, which could wait for ever for a lock that another
thread of the parent held.
"""

import contextlib
import os
import signal
import site
import sys
import sysconfig
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker, spawn, util
from multiprocessing.context import ForkContext, ForkProcess, SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from carnet_command.progress import is_heartbeat

_PATH = "PYTHONPATH"
#: The settings with which a worker would run its parent's main module again; no task of Carnet needs it.
_MAIN = frozenset({"init_main_from_name", "init_main_from_path"})
#: Held while functions of multiprocessing are replaced, as workers may be started from several threads.
_STARTING = threading.Lock()


def interpreter() -> tuple[str, ...]:
    """Return the command that starts this interpreter with its own isolation flags, and always with ``-P``."""
    if sys.flags.isolated:
        return (sys.executable, "-I")
    flags = (("-E", sys.flags.ignore_environment), ("-s", sys.flags.no_user_site))
    return (sys.executable, "-P", *(flag for flag, given in flags if given))


def environment() -> dict[str, str]:
    """Return this process's environment, with the current folder (also an empty entry) removed from ``PYTHONPATH``."""
    kept = {name: value for name, value in os.environ.items() if name != _PATH}
    folders = [folder for folder in os.environ.get(_PATH, "").split(os.pathsep) if folder and _may_be_searched(folder)]
    return {**kept, _PATH: os.pathsep.join(folders)} if folders else kept


class _Process(SpawnProcess):
    """A spawned process that imports nothing from the current folder, and leaves Ctrl-C and hang-ups to its parent."""

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # multiprocessing calls this
        with _start_settings(), _block_signals({signal.SIGINT, signal.SIGHUP}):
            return SpawnProcess._Popen(process_obj)


class _Context(SpawnContext):
    Process = _Process


class _ForkedProcess(ForkProcess):
    """A forked process with the module path of a spawned one."""

    def run(self) -> None:
        sys.path[:] = filter(_may_be_searched, sys.path)
        super().run()


class _ForkContext(ForkContext):
    Process = _ForkedProcess


def worker_context() -> ForkContext | SpawnContext:
    """Return the multiprocessing context in which to start a worker process now."""
    here = threading.current_thread()
    alone = all(each is here or is_heartbeat(each) for each in threading.enumerate())
    return _ForkContext() if alone and os.uname().sysname == "Linux" else isolated_spawn()


def isolated_spawn() -> SpawnContext:
    """Return the multiprocessing context in which to start processes beside threads."""
    with _start_settings(), _block_signals({signal.SIGHUP}):
        resource_tracker.ensure_running()
    return _Context()


@contextlib.contextmanager
def _start_settings() -> Iterator[None]:
    """Replace the start settings of multiprocessing by those of this module, for the block."""
    with _STARTING, _module_path(environment().get(_PATH)):
        before = util._args_from_interpreter_flags, spawn.get_preparation_data  # type: ignore[attr-defined]
        arguments, preparation = before
        try:
            util._args_from_interpreter_flags = lambda: [*arguments(), "-P"]  # type: ignore[attr-defined]
            spawn.get_preparation_data = lambda name: _without_current_folder(preparation(name))
            yield
        finally:
            util._args_from_interpreter_flags, spawn.get_preparation_data = before  # type: ignore[attr-defined]


@contextlib.contextmanager
def _module_path(wanted: str | None) -> Iterator[None]:
    before = os.environ.get(_PATH)
    _set_module_path(wanted)
    try:
        yield
    finally:
        _set_module_path(before)


def _set_module_path(value: str | None) -> None:
    if value is None:
        os.environ.pop(_PATH, None)
    else:
        os.environ[_PATH] = value


@contextlib.contextmanager
def _block_signals(signals: set[signal.Signals]) -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _without_current_folder(preparation: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in preparation.items() if name not in _MAIN}
    return kept | {"sys_path": list(filter(_may_be_searched, sys.path))}


def _may_be_searched(entry: str) -> bool:
    """Return whether an entry of a module path is not the current folder, or is where Carnet itself is installed."""
    folder = os.path.realpath(entry)
    return folder != os.path.realpath(os.curdir) or folder in _installed()


def _installed() -> set[str]:
    folders = [*site.getsitepackages(), site.getusersitepackages(), *sysconfig.get_paths().values()]
    return {os.path.realpath(folder) for folder in (*folders, str(Path(__file__).parents[1]))}
