"""How the kernel is compiled, and what it asks of the machine that Numba has no words for.

What is kept on the disk is of the whole package as it was: Numba would look at one file, but functions contain others.
References to arrays are not counted, which would take as long as the rest: the kernel allocates nothing, and its
callers keep the arrays.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import intrinsic

from carnet_check.engines.native.tables import Number, Slots, Words
from carnet_command.interrupts import require_uninterrupted

Function = TypeVar("Function", bound=Callable[..., object])
_OPTIONS: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True, "nogil": True}
_INLINED: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True, "no_cpython_wrapper": True, "forceinline": True}
_PLACES = "UserProvidedCacheLocator,UserWideCacheLocator"
"""Where Numba keeps what is compiled: where ``NUMBA_CACHE_DIR`` says, or else in the user's folder for such things."""
_STATS = ((file.name, file.stat()) for file in sorted(Path(__file__).parent.glob("*.py")))
_FILES = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in _STATS]
"""The size of each file of the package and when it changed."""

nth = np.uint64
"""Makes an index unsigned: of any other, Numba asks whether it counts from the end, which takes a third of the time."""


def compiled(function: Function) -> Function:
    """Compile a function when it is called first, and keep it on the disk until a file of this package changes."""
    try:
        dispatcher = _kept_by_the_user(function)
    except RuntimeError:  # there is no folder that this user may write to
        return cast(Function, numba.njit(**_OPTIONS)(function))
    dispatcher._cache._cache_file._source_stamp = _FILES
    dispatcher.compile = _kept_or_anew(dispatcher)
    return cast(Function, dispatcher)


def _kept_by_the_user(function: Function) -> Any:
    """Return a function that is compiled and kept in the user's folder for such things.

    In the package's own folder, where Numba would keep it, it would be there after the package was removed, and a
    folder without a package would be taken for one.

    Raises:
        RuntimeError: the function cannot be kept anywhere.
    """
    config: Any = numba.config
    before = config.CACHE_LOCATOR_CLASSES
    config.CACHE_LOCATOR_CLASSES = before or _PLACES
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    finally:
        config.CACHE_LOCATOR_CLASSES = before


def _kept_or_anew(dispatcher: Any) -> Callable[..., Any]:
    """Return what compiles a function, or loads what was kept.

    Another process that compiles is waited for. What is damaged, or cannot be kept, is compiled for this process, and
    the next one keeps it anew.
    """
    compile = dispatcher.compile

    def wait(*asked: Any) -> Any:
        began = time.monotonic()
        try:
            with _locked(dispatcher._cache.cache_path):
                return compile(*asked)
        except Exception:  # whatever a file holds that is not what was written
            require_uninterrupted()
            with contextlib.suppress(OSError):
                dispatcher._cache.flush()
            dispatcher._cache = NullCache()
            return compile(*asked)
        finally:
            _spent.times.append((began, time.monotonic()))

    return wait


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Let nobody else compile into a folder meanwhile, where it can be locked."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            number = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, number)
            fcntl.flock(number, fcntl.LOCK_EX)
        yield


@dataclass
class _Spent:
    """From when to when each time that something was compiled or loaded, and up to when that is counted already."""

    times: list[tuple[float, float]] = field(default_factory=list)
    until: float = 0.0

    def count(self) -> float:
        """Return how many seconds passed in these times that are not counted, and count them."""
        seconds = 0.0
        for began, ended in sorted(self.times):
            seconds += max(0.0, ended - max(began, self.until))
            self.until = max(ended, self.until)
        self.times.clear()
        return seconds


_spent = _Spent()


def seconds_compiling() -> float:
    """Return how long this process compiled, loaded and waited for others since it was asked last.

    Seconds in which several threads did count once.
    """
    return _spent.count()


class _Part(JITCodeLibrary):
    """Code that is there to be put into other code, which is optimised and made the machine's as a whole.

    Numba would make each part the machine's, too, which took a third of the time.
    """

    def _optimize_final_module(self) -> None:
        """Leave that to what contains this."""

    def _finalize_final_module(self: Any) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self: Any, name: str) -> int:
        """Return that there is nothing to be called."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _Part:
        """What is told the environment of a function that is called."""
        return self

    def set_env(self, name: str, env: object) -> None:
        """Need no environment."""


class _Parts(Compiler):
    """Compiles parts."""

    def define_pipelines(self: Any) -> Any:
        """Return how, which is as ever."""
        part: Any = _Part
        compiler: Any = super()
        self.state["library"] = part(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return compiler.define_pipelines()


def inlined(function: Function) -> Function:
    """Have every compiled function that calls this one contain it; nothing else can call it.

    Numba would compile it again for each number that is written out in a call.
    """
    dispatcher = numba.njit(pipeline_class=_Parts, **_INLINED)(function)
    template = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, named: template(tuple(map(types.unliteral, args)), named)
    return cast(Function, dispatcher)


def _fetch(_: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        elements = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(elements, [args[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", (address.type,), kind)
        builder.call(prefetch, [address, number(0), number(3), number(1)])  # to be read, soon and often, no code
        return context.get_dummy_value()

    return types.void(array, index), generate


def _lowest(_: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


lowest = cast(Callable[[np.uint64], np.uint64], intrinsic(_lowest))
"""Returns the number of the lowest bit of a word that is not 0."""
fetch = cast(Callable[[Words | Slots, Number], None], intrinsic(_fetch))
"""Has the memory of an element at hand soon; nothing waits for it."""
