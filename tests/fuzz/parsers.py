"""Inputs of SPDM: what reads them, and what to start from."""

import base64
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from unittest.mock import patch

from carnet_check.certificates.file import BadCertificateFile
from carnet_check.certificates.file import read as read_certificates
from carnet_check.kernel.checker import Refused
from carnet_check.kernel.reader import read_obligation, read_refutation
from carnet_command.errors import UsageError
from carnet_ref.attestation.amd.appraisal import parse_policy as parse_snp_policy
from carnet_ref.attestation.amd.certificates import VCEK as VCEK_GUID
from carnet_ref.attestation.amd.certificates import parse_certificates, parse_endorsement_key
from carnet_ref.attestation.amd.evidence import parse_evidence as parse_snp_evidence
from carnet_ref.attestation.amd.report import Product, parse_tcb
from carnet_ref.attestation.amd.report import parse_report as parse_snp_report
from carnet_ref.attestation.appraisal import Anchors
from carnet_ref.attestation.cca_token import parse_token as parse_cca_token
from carnet_ref.attestation.composite import Binding, CompositeEvidence, parse_evidence
from carnet_ref.attestation.corim import parse_corim
from carnet_ref.attestation.cose import parse_cbor
from carnet_ref.attestation.detached_eat import parse_result as parse_service_result
from carnet_ref.attestation.documents import decode, decode_pem
from carnet_ref.attestation.dstack import parse_envelope as parse_dstack_envelope
from carnet_ref.attestation.ear import parse_claims
from carnet_ref.attestation.event_logs import parse_agile_log
from carnet_ref.attestation.formats import FORMATS, AppraisalContext, OptionValues, appraise_files
from carnet_ref.attestation.intel.appraisal import parse_policy as parse_tdx_policy
from carnet_ref.attestation.intel.certificates import parse_issuer_chain, parse_pck_chain
from carnet_ref.attestation.intel.collateral import (
    Collateral,
    collateral_of,
    parse_collateral,
    parse_qe_identity,
    parse_tcb_info,
)
from carnet_ref.attestation.intel.event_log import parse_event_log
from carnet_ref.attestation.intel.evidence import quote_evidence
from carnet_ref.attestation.intel.quote import parse_quote
from carnet_ref.attestation.jose import parse_token, verification_key, verification_keys
from carnet_ref.attestation.kinds import kind_of
from carnet_ref.attestation.live.collection import parse_driver_statement
from carnet_ref.attestation.nitro.appraisal import parse_policy as parse_nitro_policy
from carnet_ref.attestation.nitro.document import parse_document as parse_nitro_document
from carnet_ref.attestation.nvidia.appraisal import parse_node_policy
from carnet_ref.attestation.nvidia.appraisal import parse_policy as parse_gpu_policy
from carnet_ref.attestation.nvidia.ocsp import parse_ocsp
from carnet_ref.attestation.nvidia.report import device_evidence, parse_device_mode, parse_report
from carnet_ref.attestation.nvidia.rim import parse_rim
from carnet_ref.attestation.revocation_lists import parse_crl, parse_crl_file
from carnet_ref.attestation.services.issuers import POLICY_FORM as RESULT_POLICY_FORM
from carnet_ref.attestation.simulated.gpu import SimulatedGpu, SimulatedVendor, gpu_request
from carnet_ref.attestation.tpm.appraisal import parse_policy as parse_tpm_policy
from carnet_ref.attestation.tpm.evidence import parse_evidence as parse_tpm_evidence
from carnet_ref.attestation.tpm2 import parse_key, parse_public, parse_signature
from carnet_ref.attestation.tpm2 import parse_quote as parse_tpm_quote
from carnet_ref.attestation.wrappers import parts_of
from carnet_ref.crypto.certificate_path import parse_der_chain, parse_pem_chain
from carnet_ref.device import TRAINING_CODE, parse_program
from carnet_ref.keys import H100KeySchedule, OrderRefusedError
from carnet_ref.spdm import secured
from carnet_ref.spdm.errors import DowngradeError, NotReadyError, SpdmError
from carnet_ref.spdm.layout import MESSAGES, Layout, Message, Version
from carnet_ref.spdm.messages import (
    ChunkGet,
    ChunkResponse,
    ChunkSend,
    ChunkSendAck,
    Error,
    ErrorCode,
    GetDigests,
    NotReady,
    RespondIfReady,
    parse_message,
)
from carnet_ref.spdm.secured import SecuredRecord
from carnet_ref.spdm.session import Chain, encode_chain
from carnet_ref.spdm.transfer import RequesterTransfer, ResponderTransfer, Sizes
from carnet_ref.systems.gpu_travelling.commands.attested_graph import claims_text
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.gpu_travelling.keys import key_schedule
from carnet_ref.systems.gpu_travelling.orders import parse_command, parse_order, parse_reply
from carnet_ref.systems.gpu_travelling.orders import parse_report as parse_firmware_report
from carnet_ref.systems.gpu_travelling.roles.job import Checkpoint, Entry
from carnet_ref.systems.gpu_travelling.roles.messages import parse_envelope
from carnet_ref.systems.gpu_travelling.roles.messages import parse_message as parse_role_message
from carnet_ref.systems.verifiable_fl.audit import RefusedGraphError
from carnet_ref.systems.verifiable_fl.claims_file import parse_claims as parse_audit_claims
from carnet_ref.systems.verifiable_fl.recording import parse_introductions
from carnet_ref.systems.verifiable_fl.statements import parse_envelope as parse_step_envelope
from carnet_ref.transport.frames import FrameKind, ProtocolError, parse_frame
from carnet_ref.transport.greeting import NONCE_BYTES, parse_introduction
from carnet_ref.wire import MalformedError, join, number
from tests.fixtures import cca_tokens, corims, ear_tokens, nitro_documents, service_tokens, tpm_quotes
from tests.fixtures.attested_graphs import recorded
from tests.fixtures.cbor_encoding import Tag, cbor
from tests.fixtures.dstack_envelopes import in_packs, in_scale
from tests.fixtures.ear_tokens import base64url
from tests.fixtures.simulated_quotes import PLATFORM, QUOTE
from tests.fixtures.simulated_snp import certificate_table, der, endorsement, pem
from tests.fixtures.simulated_snp import chain as snp_chain
from tests.fixtures.simulated_snp import fields as snp_fields
from tests.fixtures.simulated_snp import message as snp_message
from tests.fixtures.simulated_snp import signed as snp_report
from tests.fixtures.spdm import CONVERSATIONS, chain, trace
from tests.fixtures.wrapped_evidence import EVENTS, GPU_DOCUMENTS, QUOTE_DOCUMENTS, event_log
from tests.unit.model_check.kernel.texts import CERTIFICATE, NAMES, PROVED


def session_messages() -> list[bytes]:
    """Return one message of each kind and size in conversations between the project's own ends."""
    found: dict[tuple[bytes, int], bytes] = {}
    for name in CONVERSATIONS:
        for _, message in trace(name):
            found.setdefault((message[:4], len(message)), message)
    return list(found.values())


def clear_messages() -> list[bytes]:
    return [message[1:] for message in session_messages() if message[0] == 5]


def records() -> list[bytes]:
    return [message for message in session_messages() if message[0] == 6]


def message_under_a_layout(data: bytes) -> Message:
    """Read a message under a layout that its first bytes choose."""
    flags = data[0] if data else 0
    version = (Version.V1_1, Version.V1_2, Version.V1_3, Version.V1_4)[flags & 3]
    layout = Layout(version, bool(flags & 4), bool(flags & 8), bool(flags & 16), bool(flags & 32))
    return parse_message(data[1:], layout)


def messages_under_layouts() -> list[bytes]:
    seeds = [bytes([8 | message[0] - Version.V1_1 & 3]) + message for message in clear_messages()]
    return seeds + [bytes([9, Version.V1_2, code, 0, 0]) + bytes(160) for code in MESSAGES if code & 0x80]


_SIZES: Final = Sizes(pieces=True, peer_transfer=64, peer_message=4096, own_message=4096)


def _transfer(data: bytes, transfer: RequesterTransfer | ResponderTransfer) -> None:
    """Take what follows as messages, each after its size in one byte."""
    while data:
        size, data = data[0], data[1:]
        transfer = transfer.take(data[:size]).transfer
        data = data[size:]


def asking(data: bytes) -> None:
    """Take the messages of a responder, while a request that does not fit a transfer is under way, or one that does."""
    request = GetDigests(Version.V1_2).encode() + bytes(200 if data[:1] == b"\1" else 0)
    _transfer(data[1:], RequesterTransfer(Version.V1_2, _SIZES).put(request).transfer)


def answering(data: bytes) -> None:
    """Take the messages of a requester, while a large response is handed out, or a request waits, or neither."""
    transfer = ResponderTransfer(Version.V1_2, _SIZES)
    match data[:1]:
        case b"\1":
            transfer = transfer.put(bytes(300)).transfer
        case b"\2":
            transfer = transfer.put_off(GetDigests(Version.V1_2).encode(), NotReadyError()).transfer
        case _:
            pass
    _transfer(data[1:], transfer)


def responses() -> list[bytes]:
    version = Version.V1_2
    late = NotReady(3, GetDigests.CODE, 5, 2).encode()
    messages: list[Message] = [
        Error(version, ErrorCode.BUSY),
        Error(version, ErrorCode.RESPONSE_NOT_READY, extended=late),
        Error(version, ErrorCode.LARGE_RESPONSE, extended=b"\0"),
        ChunkResponse(version, 0, 0, False, bytes(40), 80),
        ChunkResponse(version, 0, 1, True, bytes(40)),
    ]
    acks = [ChunkSendAck(version, 0, number) for number in range(4)]
    return [b"\0" + _sized(messages), b"\1" + _sized(acks)]


def requests() -> list[bytes]:
    version = Version.V1_2
    pieces = [ChunkSend(version, 3, 0, False, bytes(40), 80), ChunkSend(version, 3, 1, True, bytes(40))]
    gets = [ChunkGet(version, 0, number) for number in range(7)]
    return [b"\0" + _sized(pieces), b"\1" + _sized(gets), b"\2" + _sized([RespondIfReady(version, GetDigests.CODE, 1)])]


def _sized(messages: Iterable[Message]) -> bytes:
    return b"".join(bytes([len(message.encode())]) + message.encode() for message in messages)


def opaque_data(data: bytes) -> None:
    """Read either end's opaque data, of either form; the first byte chooses."""
    flags = data[0] if data else 0
    version = Version.V1_2 if flags & 1 else Version.V1_1
    if flags & 2:
        secured.check_selected(version, data[1:])
    else:
        secured.selected_version(version, data[1:])


def opaque_seeds() -> list[bytes]:
    offered = [(version, secured.offered_versions(version)) for version in (Version.V1_1, Version.V1_2)]
    selected = [secured.selected_version(version, data) for version, data in offered]
    return [bytes([flags]) + data for flags, data in enumerate([*(data for _, data in offered), *selected])]


# -- every parser of bytes that somebody else made, by name, with inputs to start from -------------------


Seeds = Callable[[], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser, what else than `MalformedError` it may raise, and where inputs come from.

    ``heavy`` parsers hand most of their work to a library that reads XML, JSON or DER.
    """

    name: str
    parse: Callable[[bytes], object]
    seeds: Seeds
    refuses: tuple[type[Exception], ...] = ()
    heavy: bool = False


def refusal(parser: Parser, data: bytes) -> Exception | None:
    """Return the typed error that an input ended in, or nothing for a value; any other exception is a finding."""
    typed: tuple[type[Exception], ...] = (MalformedError, *parser.refuses)
    try:
        parser.parse(data)
    except typed as error:
        return error
    return None


def _evidence(pattern: str, limit: int = 3, largest: int = 1 << 16) -> list[bytes]:
    """Return up to ``limit`` files of the evidence folder, the smallest first."""
    folder = os.environ.get("CARNET_EVIDENCE")
    if folder is None:
        return []
    found = [path for path in Path(folder).glob(pattern) if path.is_file() and path.stat().st_size <= largest]
    found.sort(key=lambda path: (path.stat().st_size, str(path)))
    return [path.read_bytes() for path in found[:limit]]


def _order(data: bytes) -> object:
    return key_schedule("sealed-under-master", H100KeySchedule(bytes(32))).follow(data)


def _order_seeds() -> list[bytes]:
    return [key_schedule("sealed-under-master", H100KeySchedule(bytes(32))).order("holder", bytes)]


def _pem() -> list[bytes]:
    from cryptography.hazmat.primitives.serialization import Encoding

    return [b"".join(certificate.public_bytes(Encoding.PEM) for certificate in chain())]


def _der() -> list[bytes]:
    from cryptography.hazmat.primitives.serialization import Encoding

    return [certificate.public_bytes(Encoding.DER) for certificate in chain()]


def _reports() -> list[bytes]:
    simulated = SimulatedGpu(b"fuzzing", datetime(2026, 1, 1, tzinfo=UTC)).report(gpu_request(bytes(32)))
    return [simulated, *(decode(data, "report") for data in _evidence("02*/**/*AttestationReport.txt"))]


_VENDOR: Final = SimulatedVendor(b"fuzzing", datetime(2026, 1, 1, tzinfo=UTC))


def _manifests() -> list[bytes]:
    values = _VENDOR.reference_values()
    answer = {"id": "x", "rim": base64.b64encode(values[0]).decode(), "sha256": "x"}
    return [*values, *_evidence("0[13]*/**/*.swidtag", 2), base64.b64encode(values[0]), json.dumps(answer).encode()]


def _answers() -> list[bytes]:
    simulated = _VENDOR.answers([each.certificate for each in reversed(_VENDOR.signers)])
    return [*simulated, *(decode(data, "ocsp") for data in _evidence("03*/**/ocsp/*.dat"))]


def _quotes() -> list[bytes]:
    return [
        QUOTE,
        *_evidence("07*/sample/tdx_quote", 1),
        *_evidence("06*/**/*quote*.dat", 2),
        *_evidence("08*/**/quote.dat"),
    ]


def _snp_reports() -> list[bytes]:
    simulated = [snp_report(product, version=version) for product in Product for version in (2, 5)]
    return [*simulated, *_evidence("10*/**/snp/test-report.bin"), *_evidence("16*/**/attestation.bin")]


def _envelopes() -> list[bytes]:
    log = event_log(*EVENTS, digests=True)
    return [
        in_scale(QUOTE, log),
        in_packs(QUOTE[:300], log),
        in_scale(QUOTE[:300], log, 1),
        in_packs(b"r", (), 3, [b"c"]),
    ]


def _snp_documents() -> list[bytes]:
    found = [*_evidence("10*/**/az_snp/hcl-report.bin"), *_evidence("10*/**/*snp/*.json", 4)]
    listed = {"attestation_report": snp_fields(snp_report(), Product.MILAN), "cert_chain": []}
    documents = [json.dumps(each).encode() for each in (listed, snp_message(snp_report()))]
    return [snp_report().hex().encode(), *documents, in_scale(snp_report(), (), 3, [snp_chain()]), *found]


def _snp_certificates() -> list[bytes]:
    table = certificate_table([(VCEK_GUID.bytes, der(endorsement()))])
    in_pem = certificate_table([(VCEK_GUID.bytes, pem(endorsement()))])
    return [snp_chain(), table, in_pem, *_evidence("1[67]*/**/*vcek*", 2), *_evidence("16*/**/ask_ark_*.pem", 1)]


def _nitro_documents() -> list[bytes]:
    of_an_instance = nitro_documents.document(nitro_documents.fields(tpm=True), tagged=True)
    return [nitro_documents.document(), of_an_instance, in_scale(nitro_documents.document(), (), 2)]


def _cca_tokens() -> list[bytes]:
    return [cca_tokens.token(), cca_tokens.token(messages=True), cca_tokens.token(legacy=True)]


def _corims() -> list[bytes]:
    keys = corims.manifest(keys=[corims.key_record()])
    return [corims.of_platform(), corims.of_realm(), keys, corims.signed(corims.of_platform())]


def _tpm_signatures() -> list[bytes]:
    message = tpm_quotes.quote()
    return [tpm_quotes.signature(message, tpm_quotes.ec_key(), "ecdsa"), tpm_quotes.signature(message)]


def _tpm_documents() -> list[bytes]:
    made = [json.dumps(each).encode() for each in (tpm_quotes.google(), tpm_quotes.azure(), tpm_quotes.azure(tdx=True))]
    return [*made, *_evidence("10*/**/az_snp/*.json", 1), *_evidence("19*/**/*.json", 1)]


def _tcb(data: bytes) -> object:
    """Read a TCB as a processor's of the line that the first byte chooses."""
    return parse_tcb(data[1:], tuple(Product)[(data[0] if data else 0) % len(Product)])


def _endorsement_key(data: bytes) -> object:
    """Read what the certificates in a file say of an endorsement key."""
    return parse_endorsement_key(parse_certificates(data)[0])


def _tagged() -> list[bytes]:
    """Return messages of the project's own form: a tag, and so many fields."""
    tags = (*range(1, 8), *range(0x11, 0x17))
    return [bytes([tag]) + join(*(number(place) for place in range(count))) for tag in tags for count in range(12)]


def _frames() -> list[bytes]:
    kinds = [bytes([kind.value]) for kind in FrameKind]
    return [join(b"ana", b"gpu", kind, number(7), b"body") for kind in kinds]


def _collaterals() -> list[Collateral]:
    found = _evidence("07*/sample/tdx*collateral.json", 2)
    return [parse_collateral(data) for data in (PLATFORM.collateral, *found)]


def _collateral_files() -> list[bytes]:
    """Return the parts of collateral as Intel's service delivers them."""
    fields = json.loads(PLATFORM.collateral)
    replies = (("tcbInfo", "tcb_info"), ("enclaveIdentity", "qe_identity"))
    signed = [f'{{"{key}":{fields[name]},"signature":"{fields[f"{name}_signature"]}"}}' for key, name in replies]
    chains = [fields[f"{name}_issuer_chain"] for name in ("tcb_info", "pck_crl")]
    lists = [bytes.fromhex(fields[name]) for name in ("root_ca_crl", "pck_crl")]
    return [*(text.encode() for text in (*signed, *chains)), *lists]


def _issuer_chains() -> list[bytes]:
    fields = json.loads(PLATFORM.collateral)
    return [fields[f"{name}_issuer_chain"].encode() for name in ("tcb_info", "qe_identity", "pck_crl")]


def _gpu_documents() -> list[bytes]:
    made = [json.dumps(make([(_reports()[0], _pem()[0])] * 2)).encode() for make in GPU_DOCUMENTS.values()]
    return [*made, *_evidence("02*/**/evidence_hopper*.json", 1), *_evidence("03*/**/test_*data.json", 1), b"[]", b"{}"]


def _quote_documents() -> list[bytes]:
    made = [json.dumps(make(QUOTE)).encode() for make in QUOTE_DOCUMENTS.values()]
    return [*made, *_evidence("18*/**/*.json", 1), *_evidence("19*/**/*.json", 1)]


def _event_logs() -> list[bytes]:
    return [json.dumps(event_log(*EVENTS)).encode(), *_evidence("10*/**/tdx_ccel_live*", 1)]


def _composite() -> list[bytes]:
    binding = Binding("orchestrator", bytes(32), bytes(48), bytes(32), 7, bytes(48), bytes(32))
    return [CompositeEvidence(binding, bytes(20), bytes(20), bytes(20)).encode()]


def _kinds() -> list[bytes]:
    return [*_gpu_documents(), *_quote_documents(), *_quotes(), *map(service_tokens.token, service_tokens.CLAIMS)]


def _key_sets() -> list[bytes]:
    certified, _ = service_tokens.certified(service_tokens.EC_KEY)
    with_certificates = {"kty": "EC", "kid": "a key", "x5c": certified}
    return [
        service_tokens.key_set(),
        service_tokens.key_set(with_certificates),
        service_tokens.pem(service_tokens.EC_KEY),
    ]


SERVICE_KEYS: Final = service_tokens.key_set()


def _service_results() -> list[bytes]:
    bundle = json.loads(service_tokens.bundle())
    tools = ({"detached_eat": bundle}, [["JWT", ""], {"REMOTE_GPU_CLAIMS": bundle}])
    return [service_tokens.bundle(), *(json.dumps(each).encode() for each in tools)]


def _service_claims(claims: bytes) -> object:
    """Appraise claims as if a service had signed them; their length says which."""
    headers = list(service_tokens.HEADERS.values())
    header = json.dumps(headers[len(claims) % len(headers)]).encode()
    token = ".".join(map(base64url, (header, claims, bytes(96))))
    form = FORMATS["result"].load()
    values = {"key": SERVICE_KEYS, "issuer": None, "audience": "x", "nonce": service_tokens.NONCE}
    against = AppraisalContext(service_tokens.NOW, form.default_policy, Anchors({}))
    with patch("carnet_ref.attestation.services.format._check_signature"):
        return appraise_files("result", [token.encode()], OptionValues(values), against)


def _claims_of_services() -> list[bytes]:
    return [json.dumps({**claims, "aud": "x"}).encode() for claims in service_tokens.CLAIMS.values()]


def _certificate(data: bytes) -> object:
    """Read the steps of a certificate of an obligation of the tests."""
    return read_refutation(data.decode("utf-8", "replace"), NAMES, read_obligation(PROVED).obligation.functions)


def _introductions() -> list[bytes]:
    return [json.dumps([each.to_json()]).encode() for each in recorded(1).shown]


def _audit_claims() -> list[bytes]:
    return [claims_text(Deployment(holder_names(2), 2), "ab" * 32).encode()]


def _obligations() -> list[bytes]:
    return [PROVED.encode()]


def _certificate_files() -> list[bytes]:
    return [path.read_bytes() for path in sorted(Path(__file__).parents[1].glob("fixtures/*.certificates.json.xz"))]


DRIVER_WORDS: Final = b'{"driver":{"version":"1","devtools":false,"gpus":[{"uuid":"u","vbios_version":"v"}]}}'
GPU_POLICY: Final = b'{"require":["signature"],"products":["GH100"],"minimum_driver":"550.90.07","result_ttl":60}'
RESULT_POLICY: Final = b'{"preset":"strict","claims":{"/submods/GPU-0/hwmodel":["x",1,null]},"allow_debug":true}'
TPM_POLICY: Final = b'{"require":["ak"],"snp":{"maximum_vmpl":0},"tdx":{"require_sept_ve_disable":false}}'
NITRO_POLICY: Final = b'{"require":["signature"],"pcrs":{"0":["%s"]},"maximum_age":60}' % (b"00" * 48)
NODE_POLICY: Final = b'{"require":["signature"],"gpus":8,"switches":4,"require_links":true}'
TDX_POLICY: Final = b'{"require":["quote-signature"],"tcb_statuses":["UpToDate"],"measurements":{"mrtd":["%s"]}}' % (
    b"00" * 48
)


def _wrappers() -> list[bytes]:
    text = base64.urlsafe_b64encode(QUOTE[:120]).decode()
    record: list[object] = ["application/eat+cwt", text, 4]
    guests = {"primary_evidence": {"quote": text}, "additional_evidence": '{"a": {}}'}
    return [
        json.dumps(record).encode(),
        json.dumps({"__cmwc_t": "tag:x", "a": record, "b": {"c": record}}).encode(),
        cbor([64999, QUOTE[:120], 4]),
        cbor(Tag(1668612070, QUOTE[:120])),
        cbor({0: [64999, QUOTE[:120]], "a": {1: Tag(1668612070, b"a")}}),
        json.dumps({"tee-evidence": guests}).encode(),
        json.dumps({"verification_requests": [{"tee": "tdx", "evidence": text}]}).encode(),
    ]


SNP_POLICY: Final = b'{"require":["signature"],"minimum_tcb":{"Milan":{"snp":24}},"measurements":["%s"]}' % (b"00" * 48)
PARSERS: Final = {
    parser.name: parser
    for parser in (
        Parser("gpu-report", parse_report, _reports),
        Parser("device-mode", parse_device_mode, lambda: [bytes(16)]),
        Parser("rim", parse_rim, _manifests, heavy=True),
        Parser("ocsp", parse_ocsp, _answers, heavy=True),
        Parser("tdx-quote", parse_quote, _quotes),
        Parser("event-log", parse_event_log, _event_logs),
        Parser("snp-report", parse_snp_report, _snp_reports),
        Parser("snp-tcb", _tcb, lambda: [bytes([0, 4, 0, 0, 0, 0, 0, 24, 219]), bytes([2, 1, 1, 1, 4, 0, 0, 0, 81])]),
        Parser("snp-evidence", parse_snp_evidence, _snp_documents, heavy=True),
        Parser("snp-certificates", parse_certificates, _snp_certificates, heavy=True),
        Parser("snp-endorsement-key", _endorsement_key, _snp_certificates, heavy=True),
        Parser("pck-chain", parse_pck_chain, lambda: [parse_quote(QUOTE).signature.pck_chain, *_pem()], heavy=True),
        Parser("issuer-chain", parse_issuer_chain, _issuer_chains, heavy=True),
        Parser("collateral", parse_collateral, lambda: [PLATFORM.collateral], heavy=True),
        Parser("collateral-file", lambda data: collateral_of([data]), _collateral_files, heavy=True),
        Parser("tcb-info", parse_tcb_info, lambda: [c.signed_tcb_info.body for c in _collaterals()], heavy=True),
        Parser(
            "qe-identity", parse_qe_identity, lambda: [c.signed_qe_identity.body for c in _collaterals()], heavy=True
        ),
        Parser("crl", parse_crl, lambda: _evidence("08*/**/*Crl.der"), heavy=True),
        Parser("crl-file", parse_crl_file, lambda: _evidence("08*/**/*Crl.*"), heavy=True),
        Parser("pem-chain", parse_pem_chain, _pem, heavy=True),
        Parser("der-certificate", lambda data: parse_der_chain([data]), _der, heavy=True),
        Parser("text-form", lambda data: decode(data, "input"), lambda: [b"00ff", b"AP8=", b"\0"]),
        Parser("pem-form", lambda data: decode_pem(data, "input"), _pem),
        Parser("gpu-document", device_evidence, _gpu_documents, heavy=True),
        Parser("quote-document", quote_evidence, _quote_documents, heavy=True),
        Parser("kind", kind_of, _kinds, heavy=True),
        Parser("dstack-envelope", parse_dstack_envelope, _envelopes),
        Parser("wrapper", parts_of, _wrappers, heavy=True),
        Parser("composite", parse_evidence, _composite),
        Parser("gpu-policy", parse_gpu_policy, lambda: [GPU_POLICY], heavy=True),
        Parser("node-policy", parse_node_policy, lambda: [NODE_POLICY], heavy=True),
        Parser("tdx-policy", parse_tdx_policy, lambda: [TDX_POLICY], heavy=True),
        Parser("snp-policy", parse_snp_policy, lambda: [SNP_POLICY], heavy=True),
        Parser("nitro-document", parse_nitro_document, _nitro_documents, heavy=True),
        Parser("nitro-policy", parse_nitro_policy, lambda: [NITRO_POLICY], heavy=True),
        Parser("cbor", lambda data: parse_cbor(data, "input"), lambda: [b"\xa1\x01\x82\x41a\x61b"], heavy=True),
        Parser("cca-token", parse_cca_token, _cca_tokens, heavy=True),
        Parser("corim", parse_corim, _corims, heavy=True),
        Parser("tpm-quote", parse_tpm_quote, lambda: [tpm_quotes.quote()]),
        Parser("tpm-signature", parse_signature, _tpm_signatures),
        Parser("tpm-public", parse_public, lambda: [tpm_quotes.public_area(tpm_quotes.ec_key())]),
        Parser("tpm-key", parse_key, lambda: [tpm_quotes.pem(tpm_quotes.ec_key())], heavy=True),
        Parser("tpm-evidence", lambda data: parse_tpm_evidence(data, None, None), _tpm_documents, heavy=True),
        Parser("tpm-policy", parse_tpm_policy, lambda: [TPM_POLICY], heavy=True),
        Parser("agile-log", lambda data: parse_agile_log(data, 24), lambda: [tpm_quotes.log()]),
        Parser("driver-words", parse_driver_statement, lambda: [DRIVER_WORDS], heavy=True),
        Parser("result-token", parse_token, lambda: [ear_tokens.token()], heavy=True),
        Parser("result-claims", parse_claims, lambda: [json.dumps(ear_tokens.RESULT).encode()], heavy=True),
        Parser("result-key", verification_key, lambda: [ear_tokens.public_pem()], (UsageError,), heavy=True),
        Parser("result-policy", RESULT_POLICY_FORM.parse, lambda: [RESULT_POLICY], heavy=True),
        Parser("key-set", verification_keys, _key_sets, (UsageError,), heavy=True),
        Parser("service-result", parse_service_result, _service_results, heavy=True),
        Parser("service-claims", _service_claims, _claims_of_services, heavy=True),
        Parser("spdm-message", message_under_a_layout, messages_under_layouts),
        Parser("spdm-record", SecuredRecord.parse, records),
        Parser("spdm-chain", Chain.parse, lambda: [encode_chain(chain())], heavy=True),
        Parser("spdm-asking", asking, responses, (SpdmError,)),
        Parser("spdm-answering", answering, requests, (SpdmError,)),
        Parser("spdm-opaque", opaque_data, opaque_seeds, (DowngradeError,)),
        Parser("rotation-order", _order, _order_seeds, (OrderRefusedError, ProtocolError)),
        Parser("device-command", parse_command, _tagged),
        Parser("device-reply", parse_reply, _tagged),
        Parser("device-program", parse_program, lambda: [TRAINING_CODE, b"copy buffer\nplant x\n"]),
        Parser("transport-frame", parse_frame, _frames),
        Parser("greeting", parse_introduction, lambda: [join(b"alice", bytes(NONCE_BYTES))]),
        Parser("kept", Checkpoint.parse, lambda: [Checkpoint.first(b"model").encode()], heavy=True),
        Parser("ledger", Entry.parse, lambda: [Entry("alice", "s1/1", "aa", "bb").encode()], heavy=True),
        Parser("device-order", parse_order, _tagged),
        Parser("device-report", parse_firmware_report, _tagged),
        Parser("role-envelope", parse_envelope, _tagged),
        Parser("role-message", parse_role_message, _tagged),
        Parser("attested-step", parse_step_envelope, lambda: recorded(1).lines, heavy=True),
        Parser("introductions", parse_introductions, _introductions, (RefusedGraphError,), heavy=True),
        Parser("audit-claims", parse_audit_claims, _audit_claims, heavy=True),
        Parser("obligation", lambda data: read_obligation(data.decode("utf-8", "replace")), _obligations, (Refused,)),
        Parser("certificate", _certificate, lambda: [CERTIFICATE.encode()], (Refused,)),
        Parser("certificate-file", read_certificates, _certificate_files, (BadCertificateFile,), heavy=True),
    )
}
