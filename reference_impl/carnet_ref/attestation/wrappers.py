"""Conceptual message wrappers (CMW) around evidence, and what a file holds once they are taken off.

A record has the type of a message, the message and perhaps what it is meant as. In CBOR a tag can stand for the type. A
collection has records, tags and collections by labels. Nobody signs a wrapper, so what it says of a message is shown
and not believed: a message is what its bytes are. What has not exactly this form is no wrapper.

Wrappers that are signed are named and not opened: whoever signs one vouches for what is in it, and has to be known.

Requests of Confidential Containers are taken off in the same way: that of a guest to its key broker, with the evidence
of the machine and of devices beside it, and that of a broker to an attestation service. So are the claims in which
Veraison's ``ratsd`` puts a wrapper, and any JSON object of which one member is evidence, as the answers of services.

Source: draft-ietf-rats-msg-wrap, sections "Conceptual Message Wrappers" and "Demuxing", and cmw.cddl (December 2025);
RFC 9277, section 4.3 (tags that stand for CoAP content formats); confidential-containers/trustee, commit 78962cd4,
``kbs/docs/kbs_attestation_protocol.md`` and ``attestation-service/docs/restful-as.md``.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from enum import IntFlag
from itertools import islice
from typing import Final, NamedTuple

from carnet_ref.attestation.documents import PRINTABLE, decode, text_encoding
from carnet_ref.attestation.kinds import Identified, Layer, LayerRole, identified, kinds_of_object
from carnet_ref.wire import MalformedError, json_value

COLLECTION_TYPE: Final = "__cmwc_t"
MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]{1,127}/[\w!#$&^.+-]{1,127}( *;[ -~]{0,200})?", re.ASCII)
"""Source: RFC 6838, section 4.2."""
BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+")
CONTENT_FORMATS: Final = range(1 << 16)
TAGS: Final = range(1668546817, 1668612096)
"""The tags that stand for content formats; every 256th stands for none."""
DEEPEST: Final = 8
"""How many wrappers may be inside each other; some limit the draft leaves to its readers."""
MOST_MESSAGES: Final = 256
LONGEST_LABEL: Final = 60
GUEST_REQUEST: Final = frozenset({"tee-pubkey", "runtime-data", "init-data"})
TRUST_AUTHORITY: Final = frozenset({"tdx", "nvgpu"})
RATSD: Final = frozenset({"eat_nonce", "eat_profile"})
"""The claims of Veraison's ``ratsd`` beside the wrapper, which nobody signs."""
DATA: Final = ("runtime_data", "init_data")
SERVICE_REQUEST: Final = frozenset({"policy_ids", *DATA, *(f"{each}_hash_algorithm" for each in DATA)})
"""What requests of Confidential Containers may have beside evidence; what has more is none."""
LONGEST_BESIDE: Final = 128
"""How many characters a text may have that is passed over beside evidence: too few for evidence."""
_JSON_START: Final = re.compile(rb'\s*(\[\s*"[^"\\/]+/|\{)')


class Purpose(IntFlag):
    """What a message is meant as. Source: draft-ietf-rats-msg-wrap, "CM Type"."""

    REFERENCE_VALUES = 1
    ENDORSEMENTS = 2
    EVIDENCE = 4
    ATTESTATION_RESULTS = 8
    APPRAISAL_POLICY = 16


PURPOSES: Final = range(1, sum(Purpose) + 1)


class Message(NamedTuple):
    """A message in a wrapper: its bytes, its intended meaning, and the wrappers around it, outermost first."""

    data: bytes
    purpose: Purpose | None
    wrappers: tuple[str, ...]

    @property
    def may_be_evidence(self) -> bool:
        """Whether the wrapper leaves it open that this is evidence or a result, which has to be appraised."""
        return self.purpose is None or bool(self.purpose & (Purpose.EVIDENCE | Purpose.ATTESTATION_RESULTS))

    @property
    def is_evidence(self) -> bool:
        """Whether the wrapper says that this is evidence, and nothing else."""
        return self.purpose is Purpose.EVIDENCE


class Part(NamedTuple):
    """What one message of a wrapper seems to be; or what a file is, where it is no wrapper.

    ``wrappers`` are the layers that were taken off. ``may_be_evidence`` says whether it has to be appraised where it is
    not known to be something else, and ``is_evidence`` whether it has to be in any case.
    """

    found: Identified
    wrappers: tuple[Layer, ...] = ()
    may_be_evidence: bool = True
    is_evidence: bool = False

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Every layer, from the outermost to the innermost that was told."""
        return (*self.wrappers, *self.found.layers)


def parts_of(data: bytes) -> tuple[Part, ...]:
    """Return what a file holds: one part, or each message of a wrapper.

    Raises UsageError if it is a wrapper in CBOR and the library for CBOR is not installed.
    """
    messages = messages_in(data)
    return tuple(_part(message) for message in messages) if messages else (Part(identified(data)),)


def _part(message: Message) -> Part:
    layers = tuple(Layer(LayerRole.WRAPPER, words) for words in message.wrappers)
    return Part(identified(message.data), layers, message.may_be_evidence, message.is_evidence)


def messages_in(data: bytes) -> tuple[Message, ...]:
    """Return the messages in a wrapper; none where ``data`` is no wrapper, or has more or deeper ones than is allowed.

    Raises UsageError if it is a wrapper in CBOR and the library for CBOR is not installed.
    """
    try:
        messages = _at_most_one_too_many(_messages(data, ()))
    except NoWrapperError:
        return ()
    return messages if len(messages) <= MOST_MESSAGES else ()


def _at_most_one_too_many(messages: Iterator[Message]) -> tuple[Message, ...]:
    """Return messages as far as they have to be read to know that they are too many."""
    return tuple(islice(messages, MOST_MESSAGES + 1))


class NoWrapperError(Exception):
    """A value is no wrapper."""


def _messages(data: bytes, outside: tuple[str, ...]) -> Iterator[Message]:
    """Yield the messages in bytes that are a wrapper. Raises NoWrapperError if they are no wrapper."""
    start = data.lstrip()[:1]
    if start in (b"[", b"{"):
        if not _JSON_START.match(data):
            raise NoWrapperError
        try:
            value = json_value(data)
        except ValueError:
            raise NoWrapperError from None
        yield from _in_value(value, "JSON", outside)
    else:
        yield from _in_value(_cbor(data), "CBOR", outside)


def _cbor(data: bytes) -> object:
    """Return the value of bytes that begin like a wrapper in CBOR. Raises NoWrapperError if they do not."""
    raw = data
    if data and PRINTABLE.issuperset(data):
        if text_encoding(data) is None:
            raise NoWrapperError
        raw = decode(data, "wrapper")
    if not _begins_like_cbor(raw):
        raise NoWrapperError
    from carnet_ref.attestation.cose import LARGEST, parse_cbor

    try:
        return parse_cbor(raw, "wrapper", tags=TAGS, largest=LARGEST, indefinite=True)
    except MalformedError:
        raise NoWrapperError from None


def _begins_like_cbor(data: bytes) -> bool:
    """Return whether bytes begin with a record, a tag for a content format or a map with a label."""
    first, second = data[:1] or b"\xff", (data[1:2] or b"\xff")[0] >> 5
    if first in (b"\x82", b"\x83", b"\x9f"):
        return second in (0, 3)  # a number or a text
    if first == b"\xda":
        return int.from_bytes(data[1:5], "big") in TAGS
    return (b"\xa1" <= first <= b"\xb7" or first == b"\xbf") and second in (0, 1, 3)


def _in_value(value: object, encoding: str, outside: tuple[str, ...]) -> Iterator[Message]:
    if len(outside) >= DEEPEST:
        raise NoWrapperError
    match value:
        case [kind, message] | [kind, message, _]:
            purpose = _purpose(value[2]) if len(value) > len((kind, message)) else None
            words = f"a CMW record in {encoding}: {_type_in_words(kind, encoding)}"
            if purpose is not None:
                words += f", meant as {_in_words(purpose)}"
            yield from _inside(_octets(message, encoding), purpose, (*outside, words))
        case Mapping() if encoding == "JSON":
            yield from _in_object(value, outside)
        case Mapping():
            yield from _in_collection(value, encoding, outside)
        case _:
            yield from _in_tag(value, outside)


def _in_tag(value: object, outside: tuple[str, ...]) -> Iterator[Message]:
    from carnet_ref.attestation.cose import Tagged

    if not isinstance(value, Tagged) or (value.tag - TAGS.start) % 256 == 255:
        raise NoWrapperError
    number = value.tag - TAGS.start
    words = f"a CMW tag in CBOR: CoAP content format {number - number // 256}"
    yield from _inside(_octets(value.value, "CBOR"), None, (*outside, words))


def _in_collection(value: Mapping[object, object], encoding: str, outside: tuple[str, ...]) -> Iterator[Message]:
    kind = value.get(COLLECTION_TYPE, "")
    labels = [label for label in value if label != COLLECTION_TYPE]
    if not labels or not isinstance(kind, str):
        raise NoWrapperError
    named = f" of type {ascii(kind[:LONGEST_LABEL])[1:-1]}" if kind else ""
    for label in labels:
        if not isinstance(label, str) and type(label) is not int:
            raise NoWrapperError
        shown = ascii(label[:LONGEST_LABEL]) if isinstance(label, str) else f"{label}"
        words = f"item {shown} of a CMW collection in {encoding}{named}"
        yield from _in_value(value[label], encoding, (*outside, words))


def _in_object(value: Mapping[object, object], outside: tuple[str, ...]) -> Iterator[Message]:
    """Yield the messages in a JSON object: a request, claims with a wrapper, or else a collection."""
    match value:
        case {"tee-evidence": Mapping() as evidence, **beside} if GUEST_REQUEST.issuperset(beside):
            yield from _in_guest_request(evidence, outside)
        case {"verification_requests": [*requests], **beside} if requests and {"policy_ids"}.issuperset(beside):
            _require_names(beside)
            for request in requests:
                yield from _in_service_request(request, outside)
        case {"cmw": str() as text, **beside} if RATSD.issuperset(beside) and all(map(_is_short, beside.values())):
            yield from _inside(_octets(text, "JSON"), None, (*outside, "the evidence of Veraison's ratsd"))
        case {"tee": str(), "evidence": str()}:
            yield from _in_service_request(value, outside)
        case _ if (member := _member_of_a_kind(value)) is not None:
            words = f"member {member[:LONGEST_LABEL]!a} of a JSON object"
            yield from _inside(json.dumps(value[member]).encode(), None, (*outside, words))
        case _:
            yield from _in_collection(value, "JSON", outside)


def _member_of_a_kind(value: Mapping[object, object]) -> str | None:
    """Return the name of the member that is an object of a known kind, in an object that is of none itself.

    All others have to be too short to be evidence. Requests to Intel Trust Authority and evidence with the name of its
    platform have such members, and are read whole.
    """
    members = {str(name): each for name, each in value.items() if not _is_plain(each)}
    whole = TRUST_AUTHORITY.intersection(members) or {"platform", "evidence"} <= value.keys()
    if whole or len(members) != 1 or kinds_of_object(value):
        return None
    ((name, member),) = members.items()
    return name if isinstance(member, Mapping) and kinds_of_object(member) else None


def _is_plain(value: object) -> bool:
    """Return whether a value is too short to be evidence."""
    return value is None or isinstance(value, bool | int | float) or _is_short(value)


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_BESIDE


def _in_guest_request(evidence: Mapping[object, object], outside: tuple[str, ...]) -> Iterator[Message]:
    """Yield the evidence in a guest's request: of the machine and of devices, or in older ones of the machine alone."""
    match evidence:
        case {"primary_evidence": primary, "additional_evidence": str() as text, **beside} if not beside:
            parts = [("primary evidence", primary), *_additional_evidence(text)]
        case {"primary_evidence": _} | {"additional_evidence": _}:
            raise NoWrapperError
        case _:
            parts = [("evidence", evidence)]
    for name, part in parts:
        words = f"{name} in a request to a key broker of Confidential Containers"
        yield from _inside(json.dumps(part).encode(), Purpose.EVIDENCE, (*outside, words))


def _additional_evidence(text: str) -> Iterator[tuple[str, object]]:
    """Yield the evidence of devices, which is JSON in JSON, with what it is called; the text may be empty."""
    try:
        devices = json_value(text or "{}")
    except ValueError:
        raise NoWrapperError from None
    if not isinstance(devices, Mapping):
        raise NoWrapperError
    yield from ((f"additional evidence {tee[:LONGEST_LABEL]!a}", each) for tee, each in devices.items())


def _in_service_request(request: object, outside: tuple[str, ...]) -> Iterator[Message]:
    """Yield the evidence in a request to an attestation service, or in one of several that come together."""
    match request:
        case {"tee": str() as tee, "evidence": str() as text, **beside} if SERVICE_REQUEST.issuperset(beside):
            _require_names(beside)
            name = f"evidence of {tee[:LONGEST_LABEL]!a}"
            words = f"{name} in a request to the attestation service of Confidential Containers"
            yield from _inside(_octets(text, "JSON"), Purpose.EVIDENCE, (*outside, words))
        case _:
            raise NoWrapperError


def _require_names(beside: Mapping[object, object]) -> None:
    """Raise NoWrapperError if what a request calls its policies are no short names."""
    policies = beside.get("policy_ids", [])
    if not isinstance(policies, list) or not all(map(_is_short, policies)):
        raise NoWrapperError


def _inside(data: bytes, purpose: Purpose | None, wrappers: tuple[str, ...]) -> Iterator[Message]:
    """Yield the messages in a message that is a wrapper itself, or else the message."""
    try:
        inner = _at_most_one_too_many(_messages(data, wrappers)) if len(wrappers) < DEEPEST else ()
    except NoWrapperError:
        inner = ()
    yield from inner or (Message(data, purpose, wrappers),)


def _type_in_words(kind: object, encoding: str) -> str:
    if isinstance(kind, str) and MEDIA_TYPE.fullmatch(kind):
        return kind
    if encoding == "CBOR" and type(kind) is int and kind in CONTENT_FORMATS:
        return f"CoAP content format {kind}"
    raise NoWrapperError


def _octets(message: object, encoding: str) -> bytes:
    """Return a message that is not empty: bytes in CBOR, and in JSON base64 of the URL alphabet without padding."""
    if encoding == "CBOR" and isinstance(message, bytes) and message:
        return message
    if encoding == "JSON" and isinstance(message, str) and BASE64URL.fullmatch(message) and len(message) % 4 != 1:
        return base64.urlsafe_b64decode(message + "=" * (-len(message) % 4))
    raise NoWrapperError


def _purpose(value: object) -> Purpose:
    if type(value) is not int or value not in PURPOSES:
        raise NoWrapperError
    return Purpose(value)


def _in_words(purpose: Purpose) -> str:
    return " and ".join(str(each.name).lower().replace("_", " ") for each in Purpose if each in purpose)
