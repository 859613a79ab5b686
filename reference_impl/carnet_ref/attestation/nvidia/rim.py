"""Reference values: a signed SWID tag that says which measurements a driver or VBIOS version has.

What is used is what was signed: the values are read a second time from the bytes that the signature covers, and
must be the same. NVIDIA publishes one tag for each driver version and one for each VBIOS version.

XML that somebody else wrote is read within limits, so that none of it is slow to canonicalise or to validate. libxml2
reads elements and attributes in linear time, and declarations of a document type in quadratic time. To canonicalise
takes the square of the attributes of one element and the cube of the namespaces in scope; to validate against the
schema of signatures takes the square of the children of one element. So a document type is refused before anything is
parsed, and every number that such a cost grows with is bounded before anything is canonicalised.

The genuine RIMs at hand have at most 21,290 bytes, 85 elements, 6 levels of them, 485 attributes, 12 at one element,
6 namespace declarations, and 96 characters in a value; none has a comment or a processing instruction. Each limit is
eight times that and more, but for the levels.

Source: ISO/IEC 19770-2:2015 (SWID tags); TCG, "Reference Integrity Manifest Information Model", 1.01; W3C, "XML
Signature Syntax and Processing Version 1.1", section 8.1 (see what is signed); W3C, "Canonical XML Version 1.1"; W3C,
"XML Signature Best Practices", section 2.1 (denial of service).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from cryptography import x509

from carnet_ref.attestation.appraisal import (
    NO_REVOCATION,
    X509_PATH,
    X509_TIME,
    Appraisal,
    Checklist,
    RefusedError,
    out_of_time,
)
from carnet_ref.attestation.documents import PRINTABLE, Document, decode, text_encoding
from carnet_ref.crypto.certificate_path import TIME, PathError, check_path, name, parse_der_chain, validity
from carnet_ref.wire import MalformedError

if TYPE_CHECKING:
    from lxml import etree  # a report without reference values is appraised without it

LARGEST: Final = 1 << 20
#: How much there may be of each.
LIMITS: Final = {
    "elements": 1024,
    "levels of elements": 16,
    "attributes": 4096,
    "attributes of one element": 96,
    "namespace declarations": 48,
    "characters in the value of an attribute": 1024,
    "comments and processing instructions": 64,
}
_UTF8: Final = re.compile(
    rb"""(<\?xml\s+version=["']1\.0["'](\s+encoding=["'][Uu][Tt][Ff]-8["'])?(\s+standalone=["'](yes|no)["'])?\s*\?>)?"""
)
_DECLARATION: Final = b"<?xml"
_DOCUMENT_TYPE: Final = b"<!DOCTYPE"


def parse_bounded(data: bytes, what: str) -> etree._Element:
    """Return the root of an XML document in UTF-8, without a document type, which keeps to ``LIMITS``.

    Raises MalformedError if ``data`` is something else; the error calls it ``what``.
    """
    from lxml import etree

    if len(data) > LARGEST:
        raise MalformedError(what, f"at most {LARGEST} bytes", f"{len(data)}")
    # Insist on UTF-8, in which a document type looks like one; other encodings could hide it from the check
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedError(what, "an XML document in UTF-8", "other bytes") from None
    declared = _UTF8.match(data)
    if "\0" in text or (data.startswith(_DECLARATION) and not (declared and declared[0])):
        raise MalformedError(what, "an XML document in UTF-8", "another encoding")
    if _DOCUMENT_TYPE in data:
        raise MalformedError(what, "no document type", "one")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise MalformedError(what, "an XML document", " ".join(str(error).split())[:200] or "nothing") from None
    counts: Counter[str] = Counter()
    for unit, count in _counted(root):
        counts[unit] += count
        if counts[unit] > LIMITS[unit]:
            raise MalformedError(what, f"at most {LIMITS[unit]} {unit}", "more")
    return root


def _counted(root: etree._Element) -> Iterator[tuple[str, int]]:
    """Yield the pieces of each unit, so that the count can end at a limit.

    What is a property of one element, such as its attributes, is taken back before the next.
    """
    from lxml import etree

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


WHAT = "RIM"
ANSWER: Final = "answer of NVIDIA's RIM service"
EXPIRED_RIM: Final = "reference values by an expired certificate"
REMEMBERED: Final = 32  #: How many RIMs are remembered: one counts for every device with the same firmware.
LONGEST_NAME: Final = 100
MOST_RESOURCES = 256
MOST_ALTERNATIVES = 64
DIGEST_LENGTH = 48
SWID = "{http://standards.iso.org/iso/19770/-2/2015/schema.xsd}"
DSIG = "{http://www.w3.org/2000/09/xmldsig#}"
#: The parts of a genuine signature; each further one would be work for the verifier, and a key a second signer.
SIGNATURE_PARTS = {
    "Signature": ["SignedInfo", "SignatureValue", "KeyInfo"],
    "SignedInfo": ["CanonicalizationMethod", "SignatureMethod", "Reference"],
    "Reference": ["Transforms", "DigestMethod", "DigestValue"],
    "KeyInfo": ["X509Data"],
}
MOST_TRANSFORMS = 2
SHA384_VALUE = "{http://www.w3.org/2001/04/xmlenc#sha384}"
VBIOS_VERSION = re.compile(r"[0-9A-Fa-f]{2}(\.[0-9A-Fa-f]{2}){4}")
DIGEST = re.compile(r"[0-9A-Fa-f]{96}")
NUMBER = re.compile(r"[0-9]{1,4}")


class RimKind(StrEnum):
    """What a RIM is about."""

    DRIVER = "driver"
    VBIOS = "vbios"


@dataclass(frozen=True, slots=True)
class Rim:
    """Reference values, read but not yet believed."""

    version: str  #: the driver or VBIOS version that they are for.
    product: str  #: the chip that they are for, such as ``GH100``.
    tag_id: str  #: the name of the tag.
    golden: dict[int, tuple[bytes, ...]]  #: for each active index, the values of which a device must have one.
    #: what the tag calls each active index, where it does; NVIDIA's names end in what measured it.
    names: dict[int, str]
    certificates: tuple[x509.Certificate, ...]  #: the signer's chain, as the tag carries it.
    document: bytes  #: the XML that this was read from.

    @property
    def kind(self) -> RimKind:
        """Whether this is about a driver or a VBIOS, which is told by the form of its version."""
        return RimKind.VBIOS if VBIOS_VERSION.fullmatch(self.version) else RimKind.DRIVER


@dataclass(frozen=True, slots=True)
class _Content:
    version: str
    product: str
    tag_id: str
    golden: dict[int, tuple[bytes, ...]]
    names: dict[int, str]


@lru_cache(REMEMBERED)
def parse_rim(data: bytes) -> Rim:
    """Read a RIM in XML, in base64 of it, or in an answer of NVIDIA's RIM service.

    Its signature is for `appraise_rim` to check. What an answer says besides, such as a digest, nobody signs, and it is
    passed over.

    Raises MalformedError if ``data`` is something else.
    """
    document = _document(data)
    root = _parsed(document)
    content = _content(root)
    fields = (content.version, content.product, content.tag_id, content.golden, content.names)
    return Rim(*fields, _certificates(root), document)


def _document(data: bytes) -> bytes:
    """Return the XML in ``data``."""
    if data.lstrip()[:1] == b"{":
        return decode(Document.parse(data, ANSWER).text("rim").encode(), ANSWER, padded=False)
    return decode(data, WHAT) if PRINTABLE.issuperset(data) and text_encoding(data) else data


def _parsed(data: bytes) -> etree._Element:
    root = parse_bounded(data, WHAT)
    if root.tag != f"{SWID}SoftwareIdentity":
        raise MalformedError(WHAT, "a SoftwareIdentity of ISO/IEC 19770-2:2015", str(root.tag)[:200])
    return root


def _content(root: etree._Element) -> _Content:
    resources = _only(root, f"{SWID}Payload").findall(f"{SWID}Resource")
    if not 1 <= len(resources) <= MOST_RESOURCES:
        raise MalformedError(WHAT, f"1 to {MOST_RESOURCES} measurements", f"{len(resources)}")
    indices = [_number(resource, "index") for resource in resources]
    twice = sorted({index for index in indices if indices.count(index) > 1})
    if twice:
        raise MalformedError(WHAT, "each index once", f"index {twice[0]} twice")
    active = [_attribute(resource, "active") for resource in resources]
    if not {"True", "False"}.issuperset(active):
        raise MalformedError(WHAT, "active to be True or False", f"{sorted(set(active))[-1][:100]}")
    values = [_alternatives(resource, index) for resource, index in zip(resources, indices, strict=True)]
    golden = {index: each for index, each, flag in zip(indices, values, active, strict=True) if flag == "True"}
    names = {index: str(each.get("name", ""))[:LONGEST_NAME] for index, each in zip(indices, resources, strict=True)}
    meta = _only(root, f"{SWID}Meta")
    version, product = _attribute(meta, "colloquialVersion"), _attribute(meta, "product")
    return _Content(version, product, _attribute(root, "tagId"), golden, {index: names[index] for index in golden})


def _alternatives(resource: etree._Element, index: int) -> tuple[bytes, ...]:
    count = _number(resource, "alternatives")
    given = [key for key in resource.keys() if "Hash" in key]  # noqa: SIM118  # an element iterates over its children
    if not 1 <= count <= MOST_ALTERNATIVES or len(given) != count:
        raise MalformedError(WHAT, f"alternatives to count the values of index {index}", f"{count} and {len(given)}")
    if _number(resource, "size") != DIGEST_LENGTH:
        raise MalformedError(WHAT, f"size {DIGEST_LENGTH}", _attribute(resource, "size"))
    values = [_attribute(resource, f"{SHA384_VALUE}Hash{place}") for place in range(count)]
    wrong = [value for value in values if not DIGEST.fullmatch(value)]
    if wrong:
        raise MalformedError(WHAT, f"a SHA-384 value at index {index}", wrong[0][:100])
    return tuple(bytes.fromhex(value) for value in values)


def _number(element: etree._Element, key: str) -> int:
    text = _attribute(element, key)
    if not NUMBER.fullmatch(text):
        raise MalformedError(WHAT, f"{key} to be a number", text[:100])
    return int(text)


def _attribute(element: etree._Element, key: str) -> str:
    value = element.get(key)
    if value is None:
        raise MalformedError(WHAT, f"{_local(element)} to have {key.rpartition('}')[2]}", "none")
    return str(value)


def _only(parent: etree._Element, tag: str) -> etree._Element:
    """Return the one child called ``tag``; one elsewhere in the document would be a way to hide another."""
    everywhere, children = list(parent.getroottree().iter(tag)), parent.findall(tag)
    if len(everywhere) != 1 or len(children) != 1:
        found = f"{len(children)}, and {len(everywhere)} in the whole document"
        raise MalformedError(WHAT, f"one {tag.rpartition('}')[2]} in {_local(parent)}", found)
    return children[0]


def _local(element: etree._Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _certificates(root: etree._Element) -> tuple[x509.Certificate, ...]:
    signature = _only(root, f"{DSIG}Signature")
    data = _only(_only(signature, f"{DSIG}KeyInfo"), f"{DSIG}X509Data")
    _check_parts(signature)
    encoded = [element.text or "" for element in data.findall(f"{DSIG}X509Certificate")]
    if not encoded:
        raise MalformedError(WHAT, "certificates in X509Data", "none")
    try:
        each = [base64.b64decode("".join(text.split()), validate=True) for text in encoded]
    except (binascii.Error, ValueError) as error:
        raise MalformedError(WHAT, "certificates in base64", str(error)) from None
    return parse_der_chain(each)


def _check_parts(signature: etree._Element) -> None:
    for whole, parts in SIGNATURE_PARTS.items():
        for element in signature.iter(f"{DSIG}{whole}"):
            found = [_local(part) for part in element if isinstance(part.tag, str)]
            if found != parts:
                raise MalformedError(WHAT, f"{', '.join(parts)} in {whole}", ", ".join(found)[:100] or "nothing")
    transforms = sum(1 for _ in signature.iter(f"{DSIG}Transform"))
    if transforms > MOST_TRANSFORMS:
        raise MalformedError(WHAT, f"at most {MOST_TRANSFORMS} transforms", f"{transforms}")


def appraise_rim(rim: bytes, *, at: datetime, anchors: Sequence[x509.Certificate]) -> Appraisal:
    """Appraise one RIM by itself: parse, chain, validity, signature.

    The signer's certificates must be valid ``at`` a time with a time zone, under one of the ``anchors`` that may sign
    RIMs.
    """
    steps = Checklist()
    try:
        with steps.refusing("parse", MalformedError):
            parsed = parse_rim(rim)
        read = f"{parsed.kind} RIM {parsed.version} for {parsed.product}, {len(parsed.golden)} active indices"
        steps.passed("parse", read)
        check_rim(steps, parsed, at=at, anchors=anchors)
        steps.not_requested("revocation", "ocsp", "RFC 6960, section 3.2", lacking=NO_REVOCATION)
    except RefusedError:
        return steps.conclude({})
    return steps.conclude({"version": parsed.version, "product": parsed.product, "active": sorted(parsed.golden)})


def check_rim(
    steps: Checklist,
    rim: Rim,
    *,
    at: datetime,
    anchors: Sequence[x509.Certificate],
    allow_expired: bool = False,
) -> None:
    """Check that ``rim`` is signed under a certificate path to one of ``anchors``, valid at ``at``.

    With ``allow_expired`` certificates may have expired; then the step ``validity`` is recorded as left out.

    Raises RefusedError if a step fails; the step says why.
    """
    with steps.refusing("chain", PathError, X509_PATH):
        anchor = check_path(rim.certificates, anchors)
    steps.passed("chain", f"{name(rim.certificates[0])} up to {name(anchor)}", X509_PATH)
    start, end = validity([*rim.certificates, anchor])
    period = f"valid from {start:{TIME}} to {end:{TIME}}"
    if allow_expired and start <= end < at:
        steps.left_out("validity", f"{period}, which the policy lets run out", X509_TIME, lacking=EXPIRED_RIM)
    else:
        if not start <= at <= end:
            wrong = out_of_time([*rim.certificates, anchor], at)
            steps.refuse("validity", f"{period}, not at {at:{TIME}}", X509_TIME, differences=wrong)
        steps.passed("validity", period, X509_TIME)
    problem = _signature_problem(rim, within=start)
    if problem is not None:
        steps.refuse("signature", problem, "W3C XML Signature 1.1, section 3.2")
    steps.passed("signature", "ECDSA P-384 over the whole tag", "W3C XML Signature 1.1, section 3.2")


def _signature_problem(rim: Rim, within: datetime) -> str | None:
    """Return why the signature does not cover what was read, ``None`` if it does."""
    signed = _signed_content(rim.document, rim.certificates[0], within)
    if isinstance(signed, str):
        return signed
    if signed != _Content(rim.version, rim.product, rim.tag_id, rim.golden, rim.names):
        return "what was signed is not what the document says"
    return None


@lru_cache(REMEMBERED)
def _signed_content(document: bytes, signer: x509.Certificate, within: datetime) -> _Content | str:
    """Return what the signature covers, or why it covers nothing.

    An element without text makes the verifier of `signxml` raise TypeError and the like: they too say that nothing
    was verified. Only bytes that cannot be decoded say nothing about the document, which was read before.

    ``within`` is a time at which the signer's certificate is valid; `validity` has been judged before.
    """
    from cryptography.exceptions import InvalidSignature
    from lxml import etree
    from signxml.algorithms import DigestAlgorithm, SignatureMethod
    from signxml.exceptions import SignXMLException
    from signxml.verifier import SignatureConfiguration, VerifyResult

    from carnet_ref.attestation.nvidia.xml_verifier import LocaleFreeVerifier

    expected = SignatureConfiguration(
        location="./",
        expect_references=1,
        signature_methods=frozenset({SignatureMethod.ECDSA_SHA384}),
        digest_algorithms=frozenset({DigestAlgorithm.SHA384}),
        verification_time=within,
    )
    LocaleFreeVerifier.schemas()  # if these cannot be read, the signature is not to blame
    try:
        result = LocaleFreeVerifier().verify(document, x509_cert=signer, expect_config=expected)
    except UnicodeDecodeError:
        raise
    except (SignXMLException, InvalidSignature, ValueError, TypeError, KeyError, etree.LxmlError) as error:
        return f"the signature does not verify: {' '.join(str(error).split())[:200].rstrip(': ')}"
    assert isinstance(result, VerifyResult)
    try:
        return _content(_parsed(result.signed_data))
    except MalformedError as error:
        return f"what was signed is no RIM: {error}"
