"""The Python names that are in scope where an author states the claims: those of the module and of the function."""

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from operator import itemgetter
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from carnet_check.loading import importing
from carnet_check.loading.families import Source
from carnet_spec.language import Draft
from carnet_spec.language.tracing import SourceLocation


def scope_of_claims(source: Source, variant: str) -> Mapping[str, object]:
    """Return the names in scope where the claims of a variant are stated, with their values.

    If a function states the claims, it is called again, and its local names are among them. If the variant is a draft
    that it returned once, its module is imported again instead, unless that is part of a package.
    """
    family = source.family
    places = (place for (kind, _), place in family.draft_of(variant).stated_at.items() if kind == "claim")
    place = next((each for each in places if each is not None), None)
    if place is None:
        return {}
    file = Path(place.file)
    with importing.specification_errors(source.reference):
        if found := _local_scope(place, variant, lambda: family.draft(variant)):
            return found
        module = _module_in(file)
        again = _is_in_function(place) and not module.__package__
        return (again and _local_scope(place, variant, lambda: _imported_again(file))) or vars(module)


def _local_scope(place: SourceLocation, variant: str, draft: Callable[[], object]) -> Mapping[str, object]:
    """Return the names of the function in which the function at ``place`` is written, or none if it is not called.

    If it is called several times, a call that makes a draft of the variant is preferred. The draft is made in a thread
    of its own, so that a profiler of this one stays as it is.
    """
    found: list[tuple[bool, Mapping[str, object]]] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and any(_is_at(each, place) for each in frame.f_code.co_consts):
            found.append((_has_draft(frame.f_locals, variant), frame.f_globals | frame.f_locals))

    def watched() -> None:
        sys.setprofile(watch)
        try:
            draft()
        finally:
            sys.setprofile(None)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(copy_context().run, watched).result()
    return max(found, key=itemgetter(0), default=(False, {}))[1]


def _has_draft(names: Mapping[str, object], variant: str) -> bool:
    return any(isinstance(value, Draft) and value.variant == variant for value in names.values())


def _is_in_function(place: SourceLocation) -> bool:
    """Whether the function at ``place`` is written in another one."""
    functions = [
        each for each in ast.walk(ast.parse(Path(place.file).read_bytes())) if isinstance(each, ast.FunctionDef)
    ]
    inner = [
        each
        for outer in functions
        for each in ast.walk(outer)
        if isinstance(each, ast.FunctionDef)
        if each is not outer
    ]
    return any(min([each.lineno, *(name.lineno for name in each.decorator_list)]) == place.line for each in inner)


def _is_at(constant: object, place: SourceLocation) -> bool:
    if not isinstance(constant, CodeType):
        return False
    return (constant.co_filename, constant.co_firstlineno) == (place.file, place.line)


def _module_in(file: Path) -> ModuleType:
    """Return the module that a file is; it is imported again if another file of its name was imported after it."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(file):
            return module
    return _imported_again(file)


def _imported_again(file: Path) -> ModuleType:
    with importing.reimporting(file.parent):
        return importing.module_at(file, str(file))


def bound_to(scope: Mapping[str, object], fits: Callable[[object], bool]) -> Iterator[str]:
    """Yield the expressions for a value that ``fits``: first names in ``scope``, then attributes of modules in it."""
    yield from (name for name, value in scope.items() if fits(value))
    for name, value in scope.items():
        if isinstance(value, ModuleType):
            yield from (f"{name}.{inner}" for inner, each in vars(value).items() if fits(each))
