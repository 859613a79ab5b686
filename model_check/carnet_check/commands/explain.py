"""``carnet explain``: the meaning of an identifier, where it is enforced, and how to check it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from carnet_check.cache import memoize
from carnet_check.commands.common import ID, json_option, show
from carnet_check.commands.entry import Entry
from carnet_check.errors import InvalidSpecificationError, UsageError
from carnet_command.exit_codes import ExitCode
from carnet_command.text import hanging, wrap_text
from carnet_spec.protocols.registry import OWN, registered_protocols

#: The words before the variants of an entry, by its kind.
_BELONGS = {"claim": "made in", "liveness property": "made in", "threat model": "made in", "service": "needed by"}
MOST_VARIANTS = 8
OWN_FILE = "protocol.py"  #: The file that `carnet init` writes; it is searched, too, if it is in the current folder.


@click.command()
@click.argument("id", type=ID)
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    metavar="PROTOCOL",
    help="Look here. Repeatable. [default: protocol.py, if it is in this folder, and all registered]",
)
@json_option
@click.pass_context
def explain(context: click.Context, id: str, protocols: tuple[str, ...], as_json: bool) -> int:
    """Explain ID: its sentence, its source, where it is enforced, how to check it.

    ID names a claim, liveness property, defence, variant, profile, threat model, assumption, finding, action, goal,
    lemma, symbol, requirement or service, of the main design or of any variant. The id of its protocol may precede it:
    PROTOCOL-ID.
    """
    sources = protocols or (*_protocol_here(), *known_ids())
    every = [entry for name in sources for entry in _entries(name)]
    found = [entry for entry in every if entry.is_called(id)]
    if not found:
        raise UsageError(_unknown(id, sources, every))
    value = {"id": id, "entries": [entry.as_json() for entry in found]}
    show(context, as_json, value, (line for entry in found for line in _lines(entry)))
    return ExitCode.EXPECTED


def known_ids() -> list[str]:
    """Return the ids of the registered protocols.

    Raises InvalidSpecificationError if two packages register the same id.
    """
    from carnet_spec.language.errors import SpecificationError

    try:
        return list(registered_protocols())
    except SpecificationError as error:
        raise InvalidSpecificationError(str(error)) from None


def is_carnets_own(name: str) -> bool:
    """Whether a protocol comes with Carnet, so that cached descriptions of it can be found by digest."""
    return name in OWN


def _protocol_here() -> tuple[str, ...]:
    if not Path(OWN_FILE).is_file():
        return ()
    from carnet_check.loading.families import protocol_here

    return tuple(filter(None, [protocol_here()]))


def _entries(name: str) -> list[Entry]:
    """Return the entries of all identifiers in a protocol; those of Carnet's own protocols are cached."""

    def make() -> list[dict[str, Any]]:
        from carnet_check.commands.descriptions import entries
        from carnet_check.loading.families import load

        return [entry.as_json() for entry in entries(load(name))]

    def read(kept: list[dict[str, Any]]) -> list[Entry]:
        return [Entry.from_json(each) for each in kept]

    return memoize("entries", name, make, read) if is_carnets_own(name) else read(make())


def _unknown(id: str, sources: Sequence[str], every: Sequence[Entry]) -> str:
    from carnet_check.loading.families import load, unknown_name

    named = (name if is_carnets_own(name) else load(name).family.id for name in sources)
    message = unknown_name("id", id, ", ".join(named), dict.fromkeys(entry.id for entry in every))
    return message.partition(" (known: ")[0] + "; `carnet list` shows most of them"


def _lines(entry: Entry) -> Iterator[str]:
    yield f"{entry.id}  ({entry.kind} of {entry.protocol})"
    yield from wrap_text("", entry.sentence, 2)
    if entry.source:
        yield from wrap_text("  source", entry.source, 16)
    if entry.enforced_by:
        label = "  enforces" if entry.kind in ("action", "rule") else "  enforced by"
        yield from wrap_text(label, "; ".join(entry.enforced_by), 16)
    if entry.variants:
        yield from wrap_text(f"  {_BELONGS.get(entry.kind, 'occurs in')}", _listed(entry.variants), 16)
    if entry.check:
        yield f"  check it      {entry.check}"
    if entry.text:
        yield ""
        yield from (part for line in entry.text.splitlines() for part in hanging(f"    {line}"))
    yield ""


def _listed(variants: Sequence[str]) -> str:
    """Return the list of variants, truncated if it is long."""
    more = len(variants) - MOST_VARIANTS
    named = ", ".join(variants[:MOST_VARIANTS]) + (f" and {more} more" if more > 0 else "")
    return f"variant {named}" if len(variants) == 1 else f"variants {named}"
