"""What a relying party asks of an SNP guest, as data.

A policy that asks for no step accepts nothing. Certificates, their validity and the signature are checked whatever the
policy says, and so is that report and certificates fit each other; a policy names the steps without which it will not
accept, what it allows, and the values it accepts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from carnet_ref.attestation.amd import report
from carnet_ref.attestation.documents import Document
from carnet_ref.wire import MalformedError

WHAT: Final = "policy"
STEPS: Final = (
    "parse",
    "chain",
    "validity",
    "revocation",
    "signature",
    "signing-key",
    "product",
    "certificate-tcb",
    "chip-id",
    "tcb-order",
    "minimum-tcb",
    "report-data",
    "runtime-data",
    "debug",
    "migration",
    "guest-policy",
    "vmpl",
    "platform-info",
    "guest-svn",
    "measurement",
    "host-data",
    "id-keys",
    "policy",
)
DEFAULT_STEPS: Final = frozenset(
    {
        "chain",
        "validity",
        "signature",
        "signing-key",
        "product",
        "certificate-tcb",
        "tcb-order",
        "debug",
        "migration",
        "guest-policy",
        "vmpl",
    }
)
HIGHEST_VMPL: Final = 3
PROTECTING: Final = tuple(
    word
    for bit, word in report.POLICY_BITS.items()
    if word not in {report.SMT, report.MIGRATE_MA, report.DEBUG, report.CXL_ALLOW} and bit != 17
)
"""The bits of a guest policy that keep the host from something, so that a relying party may ask for them."""

Minimum = Mapping[report.Product, Mapping[str, int]]
"""For each line that is accepted, the oldest version of each part that is asked for."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What is asked.

    Attributes:
        require: the steps that must have been taken and have held.
        allow_debug: whether a guest that its host may read is accepted.
        allow_migration_agent: whether a guest is accepted that another guest may take to another machine.
        allow_smt: whether a guest is accepted that may run where threads share a core.
        allow_cxl: whether a guest is accepted that may run where memory is attached over CXL.
        allow_masked_chip_id: whether a chip's own report may leave out which chip it is.
        required_guest_policy: the bits of ``PROTECTING`` that the guest's policy has to have set.
        required_platform_info: the bits of ``PLATFORM_BITS`` that have to be set.
        maximum_vmpl: the highest privilege level, 0 being the most privileged, that may have asked for the report.
        minimum_guest_svn: the oldest security version of the guest; ``None``: any.
        minimum_tcb: the oldest reported TCB; ``None``: any.
        minimum_launch_tcb: the oldest TCB at the launch of the guest; ``None``: any.
        measurements: the launch measurements accepted; ``None``: any. So for those that follow.
        host_data: what the host may have given the guest at launch.
        id_key_digests: the digests of the keys that may have signed the guest's identity.
        author_key_digests: the digests of the keys that may have signed the identity key.
    """

    require: frozenset[str] = frozenset()
    allow_debug: bool = False
    allow_migration_agent: bool = False
    allow_smt: bool = True
    allow_cxl: bool = True
    allow_masked_chip_id: bool = False
    required_guest_policy: frozenset[str] = frozenset()
    required_platform_info: frozenset[str] = frozenset()
    maximum_vmpl: int = HIGHEST_VMPL
    minimum_guest_svn: int | None = None
    minimum_tcb: Minimum | None = field(default=None)
    minimum_launch_tcb: Minimum | None = field(default=None)
    measurements: frozenset[bytes] | None = None
    host_data: frozenset[bytes] | None = None
    id_key_digests: frozenset[bytes] | None = None
    author_key_digests: frozenset[bytes] | None = None


KEYS: Final = tuple(Policy.__dataclass_fields__)
DEFAULT_POLICY: Final = Policy(require=DEFAULT_STEPS)


def parse_policy(data: bytes) -> Policy:
    """Read a policy from a JSON object whose keys are the attributes of `Policy`; bytes are hexadecimal.

    Raises MalformedError if it is something else.
    """
    document = Document.parse(data, WHAT)
    _check_words("key", document.names(), KEYS)
    return Policy(
        require=_words(document, "require", STEPS),
        allow_debug=document.flag("allow_debug", default=False),
        allow_migration_agent=document.flag("allow_migration_agent", default=False),
        allow_smt=document.flag("allow_smt", default=True),
        allow_cxl=document.flag("allow_cxl", default=True),
        allow_masked_chip_id=document.flag("allow_masked_chip_id", default=False),
        required_guest_policy=_words(document, "required_guest_policy", PROTECTING),
        required_platform_info=_words(document, "required_platform_info", tuple(report.PLATFORM_BITS.values())),
        maximum_vmpl=_vmpl(document),
        minimum_guest_svn=document.number("minimum_guest_svn") if document.has("minimum_guest_svn") else None,
        minimum_tcb=_minimum(document, "minimum_tcb"),
        minimum_launch_tcb=_minimum(document, "minimum_launch_tcb"),
        measurements=_values(document, "measurements", 48),
        host_data=_values(document, "host_data", 32),
        id_key_digests=_values(document, "id_key_digests", 48),
        author_key_digests=_values(document, "author_key_digests", 48),
    )


def _words(document: Document, name: str, allowed: tuple[str, ...]) -> frozenset[str]:
    words = document.texts(name)
    _check_words(f"word of {name}", words, allowed)
    return frozenset(words)


def _check_words(kind: str, words: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    wrong = next((word for word in words if word not in allowed), None)
    if wrong is not None:
        raise MalformedError(WHAT, f"a {kind} out of {', '.join(allowed)}", ascii(wrong[:100]))


def _vmpl(document: Document) -> int:
    name = "maximum_vmpl"
    level = document.number(name) if document.has(name) else HIGHEST_VMPL
    if level > HIGHEST_VMPL:
        raise MalformedError(WHAT, f"{name} from 0 to {HIGHEST_VMPL}", f"{level}"[:100])
    return level


def _minimum(document: Document, name: str) -> Minimum | None:
    if not document.has(name):
        return None
    lines = document.document(name)
    _check_words(f"product of {name}", lines.names(), tuple(report.Product))
    return {report.Product(line): _parts(lines.document(line), report.Product(line)) for line in lines.names()}


def _parts(document: Document, product: report.Product) -> Mapping[str, int]:
    _check_words(f"part of {product}", document.names(), report.tcb_parts(product))
    return {part: document.number(part) for part in document.names()}


def _values(document: Document, name: str, size: int) -> frozenset[bytes] | None:
    if not document.has(name):
        return None
    return frozenset(Document({name: text}, WHAT).octets(name, size) for text in document.texts(name))
