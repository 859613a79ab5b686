"""The Python names that are in scope where an author states the claims: those of the module and of the function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from carnet_check.loading import importing
from carnet_check.loading.families import Source
from carnet_spec.language import Draft
from carnet_spec.language.tracing import SourceLocation


def scope_of_claims(source: Source, variant: str) -> Mapping[str, object]:
    """Return the names in scope where the claims of a variant are stated, with their values.

    If a function states the claims, it is called again, and its local names are among them.
    """
    family = source.family
    places = (place for (kind, _), place in family.drafted(variant).stated_at.items() if kind == "claim")
    place = next((each for each in places if each is not None), None)
    if place is None:
        return {}
    with importing.specification_errors(source.reference):
        return _local_scope(place, lambda: family.draft(variant)) or vars(_module_in(Path(place.file)))


def _local_scope(place: SourceLocation, draft: Callable[[], Draft]) -> dict[str, object]:
    """Return the names of the function in which the function at ``place`` is written, or none if it is in no other."""
    found: dict[str, object] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and any(_is_at(each, place) for each in frame.f_code.co_consts):
            found.update(frame.f_globals | frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        draft()
    finally:
        sys.setprofile(before)
    return found


def _is_at(constant: object, place: SourceLocation) -> bool:
    if not isinstance(constant, CodeType):
        return False
    return (constant.co_filename, constant.co_firstlineno) == (place.file, place.line)


def _module_in(file: Path) -> ModuleType:
    """Return the module that a file is; it is imported again if another file of its name was imported after it."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(file):
            return module
    with importing.reimporting(file.parent):
        return importing.module_at(file, str(file))


def bound_to(scope: Mapping[str, object], fits: Callable[[object], bool]) -> Iterator[str]:
    """Yield the expressions for a value that ``fits``: first names in ``scope``, then attributes of modules in it."""
    yield from (name for name, value in scope.items() if fits(value))
    for name, value in scope.items():
        if isinstance(value, ModuleType):
            yield from (f"{name}.{inner}" for inner, each in vars(value).items() if fits(each))
