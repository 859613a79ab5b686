"""The registry of protocols: the module of each; a protocol is imported when it is used.

Carnet's own protocols are the packages beside this file, each with a ``FAMILY`` and named after its id. An installed
package registers another one by an entry point of the group ``carnet.protocols``, whose name is the protocol's id and
whose value is the ``module:attribute`` of its family.
"""

import functools
import pkgutil
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from carnet_spec.language.errors import SpecificationError

ENTRY_POINTS = "carnet.protocols"
DEFAULT = "gpu-travelling"  #: The protocol that Carnet was made for; it is listed first.
_FOUND = sorted(each.name for each in pkgutil.iter_modules([str(Path(__file__).parent)]) if each.ispkg)
#: The protocols of this package.
OWN = {
    id: f"carnet_spec.protocols.{id.replace('-', '_')}:FAMILY"
    for id in sorted((name.replace("_", "-") for name in _FOUND), key=lambda id: (id != DEFAULT, id))
}


def registered_protocols() -> dict[str, str]:
    """Return all protocol ids, and for each the ``module:attribute`` of its family.

    Raises SpecificationError if two packages register a protocol under the same id.
    """
    found = dict(OWN)
    for entry in _installed(tuple(sys.path)):
        if found.setdefault(entry.name, entry.value) != entry.value:
            raise SpecificationError(
                f"protocol '{entry.name}' is registered twice, as {found[entry.name]} and as {entry.value}: rename one"
            )
    return found


@functools.cache
def _installed(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of the packages on ``path``, which is ``sys.path``: all their metadata is read for it."""
    return tuple(entry_points(group=ENTRY_POINTS))
