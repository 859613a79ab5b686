"""XML that somebody else wrote, read within limits, so that none of it is slow to canonicalise or to validate.

libxml2 reads elements and attributes in linear time, and declarations of a document type in quadratic time. To
canonicalise takes the square of the attributes of one element and the cube of the namespaces in scope; to validate
against the schema of signatures takes the square of the children of one element. So a document type is refused before
anything is parsed, and every number that such a cost grows with is bounded before anything is canonicalised.

The genuine RIMs at hand have at most 21,290 bytes, 85 elements, 6 levels of them, 485 attributes, 12 at one element,
6 namespace declarations, and 96 characters in a value; none has a comment or a processing instruction. Each limit is
eight times that and more, but for the levels.

Source: W3C, "Canonical XML Version 1.1"; W3C, "XML Signature Best Practices", section 2.1 (denial of service).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from lxml import etree

from carnet_ref.wire.reader import MalformedError

LARGEST: Final = 1 << 20
LIMITS: Final = {
    "elements": 1024,
    "levels of elements": 16,
    "attributes": 4096,
    "attributes of one element": 96,
    "namespace declarations": 48,
    "characters in the value of an attribute": 1024,
    "comments and processing instructions": 64,
}
"""How much there may be of each."""
_UTF8: Final = re.compile(
    rb"""(<\?xml\s+version=["']1\.0["'](\s+encoding=["'][Uu][Tt][Ff]-8["'])?(\s+standalone=["'](yes|no)["'])?\s*\?>)?"""
)
_DECLARATION: Final = b"<?xml"
_DOCUMENT_TYPE: Final = b"<!DOCTYPE"


def parse_bounded(data: bytes, what: str) -> etree._Element:
    """Return the root of an XML document in UTF-8, without a document type, which keeps to ``LIMITS``.

    Raises:
        MalformedError: ``data`` is something else; the error calls it ``what``.
    """
    if len(data) > LARGEST:
        raise MalformedError(what, f"at most {LARGEST} bytes", f"{len(data)}")
    _check_encoding(data, what)
    if _DOCUMENT_TYPE in data:
        raise MalformedError(what, "no document type", "one")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise MalformedError(what, "an XML document", " ".join(str(error).split())[:200] or "nothing") from None
    _check_limits(root, what)
    return root


def _check_encoding(data: bytes, what: str) -> None:
    """Insist on UTF-8, in which a document type looks like one; other encodings could hide it from the check."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedError(what, "an XML document in UTF-8", "other bytes") from None
    declared = _UTF8.match(data)
    if "\0" in text or (data.startswith(_DECLARATION) and not (declared and declared[0])):
        raise MalformedError(what, "an XML document in UTF-8", "another encoding")


def _check_limits(root: etree._Element, what: str) -> None:
    counts: Counter[str] = Counter()
    for unit, count in _counted(root):
        counts[unit] += count
        if counts[unit] > LIMITS[unit]:
            raise MalformedError(what, f"at most {LIMITS[unit]} {unit}", "more")


def _counted(root: etree._Element) -> Iterator[tuple[str, int]]:
    """Yield the pieces of each unit, so that the count can end at a limit.

    What is a property of one element, such as its attributes, is taken back before the next.
    """
    for event, found in etree.iterwalk(root.getroottree(), events=("start", "end", "start-ns", "comment", "pi")):
        if event == "start":
            yield from _of_element(found)
        elif event == "end":
            yield "levels of elements", -1
        elif event == "start-ns":
            yield "namespace declarations", 1
        else:
            yield "comments and processing instructions", 1


def _of_element(element: etree._Element) -> Iterator[tuple[str, int]]:
    yield "elements", 1
    yield "levels of elements", 1
    size = len(element.attrib)
    yield "attributes", size
    yield from (("attributes of one element", size), ("attributes of one element", -size))
    longest = max(map(len, element.attrib.values()), default=0)
    unit = "characters in the value of an attribute"
    yield from ((unit, longest), (unit, -longest))
