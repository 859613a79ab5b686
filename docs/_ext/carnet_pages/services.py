"""What each variant of a protocol asks of parts that nobody can change, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from carnet_spec.language import Family, Service

from .markdown import Lines, code, label, prose, table
from .sources import linked


def services(family: Family) -> Lines:
    """Yield the services with their sources, and then, variant by variant, which are needed and how much is known."""
    if not family.services:
        return
    kinds = list(dict.fromkeys(service.available for service in family.services))
    yield from (f"({label(family.id, 'services')})=", "## Services that variants need", "")
    yield from table(["service", "what it does", "in the public driver", "where"], map(_service, family.services))
    yield from ("What each variant needs of them, by what the public driver has:", "")
    yield from table(["variant", "label", *kinds], _variants(family, kinds))


def _service(service: Service) -> Sequence[str]:
    return code(service.id), prose(service.title), prose(service.available), linked(service.where)


def _variants(family: Family, kinds: Sequence[str]) -> Iterator[Sequence[str]]:
    for name, variant in family.variants.items():
        needed = [service for service in family.services if name in service.needed_by]
        by_kind = (", ".join(code(each.id) for each in needed if each.available == kind) for kind in kinds)
        yield code(name), prose(variant.label), *by_kind
