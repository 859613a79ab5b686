"""Names that a specification uses: the files in which they are written, and those of a family's own parts."""

from __future__ import annotations

from pathlib import Path

from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.places import first_quoted, written
from carnet_check.loading.references import files_of
from carnet_spec.language import Family, Instance, Protocol, SpecificationError
from carnet_spec.language.lints import nameless
from carnet_spec.language.naming import and_known
from carnet_spec.language.tracing import written_at


def files_about(family: Family, reference: str) -> list[str]:
    """Return the files in which a family may name its parts: its own, and those beside them in one package."""
    places = (written_at(family.draft), written_at(family.instance))
    own = [*(file.absolute() for file in files_of(reference)), *(Path(place.file) for place in places if place)]
    beside = (each for file in own if file.with_name("__init__.py").is_file() for each in file.parent.glob("*.py"))
    return [str(file) for file in dict.fromkeys((*own, *sorted(beside)))]


def refuse_nameless(family: Family, reference: str) -> None:
    """Refuse a family that names a variant, a profile or a size that it does not have.

    Raises:
        InvalidSpecificationError: it does; each complaint says where.
    """
    wrong = nameless(family)
    files = files_about(family, reference) if wrong else []
    if wrong:
        told = ((written(first_quoted(each.message), files) or reference, each) for each in wrong)
        raise InvalidSpecificationError(*(f"{place}: {complaint}" for place, complaint in told))


def at_its_line(error: str, family: Family, reference: str) -> str:
    """Return an error about an instance, with the line on which the name that it is about is written, if any is."""
    place = written(first_quoted(error), files_about(family, reference), written_at(family.instance))
    return f"{place}: {error}" if place else error


def require_known(instance: Instance, protocol: Protocol, family: Family) -> None:
    """Refuse what an instance says of symbols and parameters that no variant has: nothing would come of it.

    Raises:
        SpecificationError: a relation or function is misspelt, or the action or parameter of a pool.
    """
    _require(_SYMBOL, {*instance.relations, *instance.functions}, protocol, family)
    _require(_ACTION, {action for action, _ in instance.pools}, protocol, family)
    for name, parameter in instance.pools:
        _require(f"{_PARAMETER}{name}", {parameter}, protocol, family)


_SYMBOL, _ACTION, _PARAMETER = "symbol that never changes", "action of a pool", "parameter of "


def _require(what: str, names: set[str], protocol: Protocol, family: Family) -> None:
    known = _known(what, protocol)
    for variant in family.variants if names - known else ():  # where nothing was removed, and what other designs add
        known |= _known(what, family.protocol(variant))
        if known >= names:
            return
    for name in sorted(names - known):
        raise SpecificationError(f"the instance: no {what} '{name}' in {family.id}{and_known(name, sorted(known))}")


def _known(what: str, protocol: Protocol) -> set[str]:
    if what == _SYMBOL:
        return {symbol.name for symbol in protocol.symbols if not symbol.mutable}
    if what == _ACTION:
        return {action.name for action in protocol.actions}
    of = what.removeprefix(_PARAMETER)
    return {var.name for action in protocol.actions if action.name == of for var in action.params}
