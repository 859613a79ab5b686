"""Conceptual message wrappers (CMW) around evidence: recognised, removed, and the messages inside identified.

A record has the type of a message, the message and perhaps what it is meant as. In CBOR a tag can stand for the type. A
collection has records, tags and collections by labels. A wrapper is not signed, so its statement about a message is
shown and not trusted: the bytes of a message decide what it is. Anything without exactly this form is no wrapper.

Signed wrappers are named and not opened: their signer vouches for the content, and would have to be known.

Requests of Confidential Containers are unwrapped in the same way: that of a guest to its key broker, with the evidence
of the machine and of its devices, and that of a broker to an attestation service. So are the claims in which Veraison's
``ratsd`` puts a wrapper, and any JSON object with evidence in one member, such as the answers of services.
What a request says beside evidence is not believed, but has to agree with it: the name of the TEE with the kind of the
evidence, and the run-time data with what the evidence was asked with.

All that is read on the way to the messages has to be small, because each layer is read again.

Source: draft-ietf-rats-msg-wrap, sections "Conceptual Message Wrappers" and "Demuxing", and cmw.cddl (December 2025);
RFC 9277, section 4.3 (tags that stand for CoAP content formats); confidential-containers/trustee, commit 78962cd4,
``kbs/docs/kbs_attestation_protocol.md`` and ``attestation-service/docs/restful-as.md``, and of run-time data
``kbs/src/attestation/backend.rs``, ``coco/builtin.rs`` and ``intel_trust_authority/mod.rs`` there and
``attestation-service/src/lib.rs``. Of guests before July 2025: confidential-containers/guest-components, commits
6f87275d, cd16b445 and 591d0bb4, ``attestation-agent/kbs_protocol/src/client/rcar_client.rs``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntFlag
from itertools import islice
from typing import Any, Final, NamedTuple

from carnet_ref.attestation import kinds
from carnet_ref.attestation.documents import PRINTABLE, decode, is_plain, is_short, text_encoding
from carnet_ref.attestation.kinds import Identified, Layer, LayerRole, identify, kinds_of_object
from carnet_ref.wire import MalformedError, json_value

COLLECTION_TYPE: Final = "__cmwc_t"
#: Source: RFC 6838, section 4.2.
MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]{1,127}/[\w!#$&^.+-]{1,127}( *;[ -~]{0,200})?", re.ASCII)
BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+")
CONTENT_FORMATS: Final = range(1 << 16)
TAGS: Final = range(1668546817, 1668612096)  #: The tags that stand for content formats; every 256th stands for none.
DEEPEST: Final = 8  #: How many wrappers may be inside each other; some limit the draft leaves to its readers.
MOST_MESSAGES: Final = 256
#: How many bytes may lie inside of wrappers, counted in each layer anew: each has to be read to find the next.
MOST_BYTES: Final = 1 << 22
LONGEST_LABEL: Final = 60
GUEST_REQUEST: Final = frozenset({"tee-pubkey", "runtime-data", "init-data"})
TRUST_AUTHORITY: Final = frozenset({"tdx", "nvgpu"})
#: The claims of Veraison's ``ratsd`` beside the wrapper, which nobody signs.
RATSD: Final = frozenset({"eat_nonce", "eat_profile"})
DATA: Final = ("runtime_data", "init_data")
#: What requests of Confidential Containers may have beside evidence; what has more is none.
SERVICE_REQUEST: Final = frozenset({"policy_ids", *DATA, *(f"{each}_hash_algorithm" for each in DATA)})
#: What Confidential Containers calls TEEs, with the kinds of evidence of each; of the last Carnet knows none.
#:
#: Those of Azure had no hyphens before trustee 703842a6.
TEES: Final[Mapping[str | None, tuple[str, ...]]] = {
    "tdx": (kinds.TDX_QUOTE, kinds.QUOTE_DOCUMENT),
    "snp": (kinds.SNP_REPORT, kinds.SNP_DOCUMENT),
    "az-tdx-vtpm": (kinds.AZURE_TDX,),
    "az-snp-vtpm": (kinds.AZURE_SNP,),
    "nvidia": (kinds.NVIDIA_EVIDENCE,),
    "tpm": (kinds.TPM_DOCUMENT,),
    "cca": (kinds.CCA_TOKEN,),
    "csv": (kinds.CSV,),
    "sgx": (kinds.SGX_QUOTE,),
    "aztdxvtpm": (kinds.AZURE_TDX,),
    "azsnpvtpm": (kinds.AZURE_SNP,),
    **dict.fromkeys(("se", "hygondcu", "sample", "sampledevice"), ()),
}
HASHES: Final = ("sha256", "sha384", "sha512")
EXACT: Final = 1 << 53  #: From this on, whole numbers are not all numbers of JSON.
NO_RUNTIME_DATA: Final = "run-time data not compared"
NO_INIT_DATA: Final = "init data not compared"
_JSON_START: Final = re.compile(rb'\s*(\[\s*"[^"\\/]+/|\{)')


class Purpose(IntFlag):
    """The conceptual message types. Source: draft-ietf-rats-msg-wrap, "CM Type"."""

    REFERENCE_VALUES = 1
    ENDORSEMENTS = 2
    EVIDENCE = 4
    ATTESTATION_RESULTS = 8
    APPRAISAL_POLICY = 16


PURPOSES: Final = range(1, sum(Purpose) + 1)


class Beside(NamedTuple):
    """What a request, or an answer of dstack, says of all evidence in it, which nobody signs."""

    tee: str | None = None  #: what the request calls the TEE.
    #: what the evidence may have been asked with, where the request says it; each may be shorter or longer than the
    #: field of the evidence.
    asked: tuple[bytes, ...] = ()
    #: what the request has that is not compared with the evidence, in a few words each.
    not_compared: tuple[str, ...] = ()

    def contradicts(self, found: Identified) -> str | None:
        """Return why evidence of these kinds is of another TEE than the request says; None if it may be of that one."""
        if self.tee not in TEES or not found.kinds or set(TEES[self.tee]) & set(found.kinds):
            return None
        return f"the request calls this evidence of {self.tee!a}, and it is {found.kinds[0]}"


class Message(NamedTuple):
    """A message in a wrapper: its bytes, its intended meaning, the wrappers around it, and what requests say of it.

    Wrappers and what is said come in order, the outermost first.
    """

    data: bytes
    purpose: Purpose | None
    wrappers: tuple[str, ...]
    beside: tuple[Beside, ...] = ()

    @property
    def may_be_evidence(self) -> bool:
        """Whether the message may be evidence or a result, as far as the wrapper says."""
        return self.purpose is None or bool(self.purpose & (Purpose.EVIDENCE | Purpose.ATTESTATION_RESULTS))

    @property
    def is_evidence(self) -> bool:
        """Whether the wrapper says that the message is evidence only."""
        return self.purpose is Purpose.EVIDENCE


class Part(NamedTuple):
    """What one message of a wrapper seems to be; or what a file is, where it is no wrapper.

    ``wrappers`` are the layers that were taken off. ``may_be_evidence`` says whether it has to be appraised where it is
    not known to be something else, and ``is_evidence`` whether it has to be in any case. ``beside`` is what requests
    say of it, and ``objection`` why it is refused before it is read, if it is.
    """

    found: Identified
    wrappers: tuple[Layer, ...] = ()
    may_be_evidence: bool = True
    is_evidence: bool = False
    beside: tuple[Beside, ...] = ()
    objection: str | None = None

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All layers, from the outermost wrapper to the innermost recognised one."""
        return (*self.wrappers, *self.found.layers)


def parts_of(data: bytes) -> tuple[Part, ...]:
    """Return the parts of a file: the messages of a wrapper, or the file itself.

    Raises UsageError if it is a wrapper in CBOR and the library for CBOR is not installed.
    """
    try:
        messages = messages_in(data)
    except MalformedError as error:
        return (Part(Identified(data, (), ()), objection=str(error)),)
    return tuple(map(_part, messages or (Message(data, None, ()),)))


def _part(message: Message) -> Part:
    layers = tuple(Layer(LayerRole.WRAPPER, words) for words in message.wrappers)
    found, beside = identify(message.data), message.beside
    objection = next(filter(None, (each.contradicts(found) for each in beside)), None)
    return Part(found, layers, message.may_be_evidence, message.is_evidence, beside, objection)


def beside_inside(found: Identified) -> tuple[Beside, ...]:
    """Return what an answer of dstack says of the evidence in it."""
    if {kinds.DSTACK_ENVELOPE, kinds.QUOTE_DOCUMENT}.isdisjoint(found.kinds):
        return ()
    from carnet_ref.attestation.dstack import asked_with

    asked = asked_with(found.data)
    return () if asked is None else (Beside(asked=(asked,)),)


def messages_in(data: bytes) -> tuple[Message, ...]:
    """Return the messages in a wrapper; empty if ``data`` is no wrapper, or has too many or too deep ones.

    Raises MalformedError if its layers are too long to be read one after the other; UsageError if it is a wrapper in
    CBOR and the library for CBOR is not installed.
    """
    try:
        messages = _at_most_one_too_many(_messages(data, Outside(Work(MOST_BYTES))))
    except NoWrapperError:
        return ()
    return messages if len(messages) <= MOST_MESSAGES else ()


def _at_most_one_too_many(messages: Iterator[Message]) -> tuple[Message, ...]:
    """Return the first messages, one more than is allowed at most."""
    return tuple(islice(messages, MOST_MESSAGES + 1))


class NoWrapperError(Exception):
    """A value is no wrapper."""


class Work:
    """The bytes of wrappers that may still be read."""

    __slots__ = ("_left",)

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self, count: int) -> None:
        """Count bytes that are read. Raises MalformedError if they are too many."""
        self._left -= count
        if self._left < 0:
            raise MalformedError("wrapper", f"at most {MOST_BYTES} bytes inside, counted in each layer", "more")


class Outside(NamedTuple):
    """Where a message lies: the work that is left, the wrappers around it, and what they say of it.

    ``purpose`` is what the innermost wrapper means it as.
    """

    work: Work
    wrappers: tuple[str, ...] = ()
    purpose: Purpose | None = None
    beside: tuple[Beside, ...] = ()

    def within(self, words: str, purpose: Purpose | None = None, *beside: Beside) -> Outside:
        """Return where a message lies in a wrapper that lies here, with what that says of it."""
        return Outside(self.work, (*self.wrappers, words), purpose, (*self.beside, *beside))


def _messages(data: bytes, outside: Outside) -> Iterator[Message]:
    """Yield the messages in bytes that are a wrapper. Raises NoWrapperError if they are no wrapper."""
    if outside.wrappers:
        outside.work.spend(len(data))
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


def _in_value(value: object, encoding: str, outside: Outside) -> Iterator[Message]:
    if len(outside.wrappers) >= DEEPEST:
        raise NoWrapperError
    match value:
        case [kind, message] | [kind, message, _]:
            purpose = _purpose(value[2]) if len(value) > len((kind, message)) else None
            words = f"a CMW record in {encoding}: {_type_in_words(kind, encoding)}"
            if purpose is not None:
                words += f", meant as {_in_words(purpose)}"
            yield from _inside(_octets(message, encoding), outside.within(words, purpose))
        case Mapping() if encoding == "JSON":
            yield from _in_object(value, outside)
        case Mapping():
            yield from _in_collection(value, encoding, outside)
        case _:
            yield from _in_tag(value, outside)


def _in_tag(value: object, outside: Outside) -> Iterator[Message]:
    from carnet_ref.attestation.cose import Tagged

    if not isinstance(value, Tagged) or (value.tag - TAGS.start) % 256 == 255:
        raise NoWrapperError
    number = value.tag - TAGS.start
    words = f"a CMW tag in CBOR: CoAP content format {number - number // 256}"
    yield from _inside(_octets(value.value, "CBOR"), outside.within(words))


def _in_collection(value: Mapping[object, object], encoding: str, outside: Outside) -> Iterator[Message]:
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
        yield from _in_value(value[label], encoding, outside.within(words))


def _in_object(value: Mapping[object, object], outside: Outside) -> Iterator[Message]:
    """Yield the messages in a JSON object: a request, claims with a wrapper, or else a collection."""
    match value:
        case {"tee-evidence": Mapping() | str() as evidence, **beside} if GUEST_REQUEST.issuperset(beside):
            inside = _object(evidence) if isinstance(evidence, str) else evidence
            yield from _in_guest_request(inside, beside, outside)
        case {"verification_requests": [*requests], **beside} if requests and {"policy_ids"}.issuperset(beside):
            _require_names(beside)
            for request in requests:
                yield from _in_service_request(request, outside)
        case {"cmw": str() as text, **beside} if RATSD.issuperset(beside) and all(map(is_short, beside.values())):
            yield from _inside(_octets(text, "JSON"), outside.within("the evidence of Veraison's ratsd"))
        case {"tee": str(), "evidence": str()}:
            yield from _in_service_request(value, outside)
        case _ if (member := _member_of_a_kind(value)) is not None:
            words = f"member {member[:LONGEST_LABEL]!a} of a JSON object"
            yield from _inside(json.dumps(value[member]).encode(), outside.within(words))
        case _:
            yield from _in_collection(value, "JSON", outside)


def _member_of_a_kind(value: Mapping[object, object]) -> str | None:
    """Return the name of the one member of a known kind, in an object that is of no known kind itself.

    All others have to be too short to be evidence. Requests to Intel Trust Authority and evidence with the name of its
    platform have such members, and are read whole.
    """
    members = {str(name): each for name, each in value.items() if not is_plain(each)}
    whole = TRUST_AUTHORITY.intersection(members) or {"platform", "evidence"} <= value.keys()
    if whole or len(members) != 1 or kinds_of_object(value):
        return None
    ((name, member),) = members.items()
    return name if isinstance(member, Mapping) and kinds_of_object(member) else None


def _in_guest_request(
    evidence: Mapping[Any, object], request: Mapping[object, object], outside: Outside
) -> Iterator[Message]:
    """Yield the evidence in a guest's request: of the machine and of devices, or in older ones of the machine alone.

    In the oldest ones it is JSON in JSON.

    The machine's evidence is asked with the hash of the run-time data and of the devices' evidence, that of devices
    with the hash of the run-time data.
    """
    match evidence:
        case {"primary_evidence": primary, "additional_evidence": str() as text, **beside} if not beside:
            parts = [
                ("primary evidence", primary, _beside_guest(request, {"additional-evidence": text})),
                *_additional_evidence(text, _beside_guest(request, {})),
            ]
        case {"primary_evidence": _} | {"additional_evidence": _}:
            raise NoWrapperError
        case _:
            parts = [("evidence", evidence, _beside_guest(request, {}))]
    for name, part, said in parts:
        words = f"{name} in a request to a key broker of Confidential Containers"
        yield from _inside(json.dumps(part).encode(), outside.within(words, Purpose.EVIDENCE, said))


def _beside_guest(request: Mapping[object, object], more: Mapping[str, object]) -> Beside:
    """Return what a guest's request says of evidence; ``more`` is hashed with its run-time data.

    The broker chooses the hash, and the request does not name it. Older requests have the key alone, and not the nonce
    that was hashed with it.
    """
    match request:
        case {"runtime-data": _, "tee-pubkey": _}:
            raise NoWrapperError
        case {"runtime-data": {"nonce": nonce, "tee-pubkey": key, **unknown}} if not unknown:
            found = _hashed({"nonce": nonce, "tee-pubkey": key, **more}, HASHES)
        case {"runtime-data": _}:
            raise NoWrapperError
        case {"tee-pubkey": _}:
            found = Beside(not_compared=(NO_RUNTIME_DATA,))
        case _:
            found = Beside()
    return _with_init_data(found, request.get("init-data"))


def _of_runtime_data(data: object, algorithm: object) -> Beside:
    """Return what evidence has to be asked with: bytes that a request has, or the hash of an object."""
    match data:
        case None:
            return Beside()
        case {"raw": str() as text, **beside} if not beside:
            return Beside(asked=(_octets(text, "JSON") if text else b"",))
        case {"structured": structured, **beside} if not beside and algorithm in HASHES:
            return _hashed(structured, (str(algorithm),))
    raise NoWrapperError


def _hashed(value: object, algorithms: Iterable[str]) -> Beside:
    """Return that evidence was asked with some hash of a value; what cannot be computed is said not to be compared."""
    canonical = _canonical(value)
    if canonical is None:
        return Beside(not_compared=(NO_RUNTIME_DATA,))
    return Beside(asked=tuple(hashlib.new(each, canonical).digest() for each in algorithms))


def _with_init_data(beside: Beside, data: object) -> Beside:
    return beside if data is None else beside._replace(not_compared=(*beside.not_compared, NO_INIT_DATA))


def _canonical(value: object) -> bytes | None:
    """Return the canonical form of a JSON value; None if it has numbers whose form depends on the reader.

    Source: RFC 8785, sections 3.2.2 and 3.2.3.
    """
    try:
        return json.dumps(_sorted(value), ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return None


def _sorted(value: object) -> object:
    """Return a value whose objects have their names in order of UTF-16. Raises ValueError if it has other numbers."""
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value, key=lambda name: str(name).encode("utf-16-be"))}
    if isinstance(value, list):
        return list(map(_sorted, value))
    if isinstance(value, float) or (isinstance(value, int) and abs(value) >= EXACT):
        raise ValueError("a number that readers may round")
    return value


def _additional_evidence(text: str, beside: Beside) -> Iterator[tuple[str, object, Beside]]:
    """Yield the evidence of devices, JSON in JSON, with its name and what is said of it; the text may be empty."""
    for tee, each in _object(text or "{}").items():
        yield f"additional evidence {tee[:LONGEST_LABEL]!a}", each, beside._replace(tee=tee)


def _object(text: str) -> Mapping[str, object]:
    """Return the JSON object that a text is. Raises NoWrapperError if it is none."""
    try:
        value = json_value(text)
    except ValueError:
        raise NoWrapperError from None
    if not isinstance(value, Mapping):
        raise NoWrapperError
    return value


def _in_service_request(request: object, outside: Outside) -> Iterator[Message]:
    """Yield the evidence in a request to an attestation service; the request may be one of a list."""
    match request:
        case {"tee": str() as tee, "evidence": str() as text, **beside} if SERVICE_REQUEST.issuperset(beside):
            _require_names(beside)
            algorithm = beside.get("runtime_data_hash_algorithm") or "sha384"
            asked = _with_init_data(_of_runtime_data(beside.get("runtime_data"), algorithm), beside.get("init_data"))
            name = f"evidence of {tee[:LONGEST_LABEL]!a}"
            words = f"{name} in a request to the attestation service of Confidential Containers"
            inside = outside.within(words, Purpose.EVIDENCE, asked._replace(tee=tee))
            yield from _inside(_octets(text, "JSON"), inside)
        case _:
            raise NoWrapperError


def _require_names(beside: Mapping[object, object]) -> None:
    """Raise NoWrapperError if the policies of a request are not short names."""
    policies = beside.get("policy_ids", [])
    if not isinstance(policies, list) or not all(map(is_short, policies)):
        raise NoWrapperError


def _inside(data: bytes, outside: Outside) -> Iterator[Message]:
    """Yield the messages in a nested wrapper, or the message itself if it is none."""
    try:
        deeper = len(outside.wrappers) < DEEPEST
        inner = _at_most_one_too_many(_messages(data, outside)) if deeper else ()
    except NoWrapperError:
        inner = ()
    yield from inner or (Message(data, outside.purpose, outside.wrappers, outside.beside),)


def _type_in_words(kind: object, encoding: str) -> str:
    if isinstance(kind, str) and MEDIA_TYPE.fullmatch(kind):
        return kind
    if encoding == "CBOR" and type(kind) is int and kind in CONTENT_FORMATS:
        return f"CoAP content format {kind}"
    raise NoWrapperError


def _octets(message: object, encoding: str) -> bytes:
    """Return the bytes of a message, which may not be empty: a byte string in CBOR, base64url text in JSON."""
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
