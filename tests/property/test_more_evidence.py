"""Evidence with less than may be given: what more of it decides, simulated and of real machines."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_command.errors import UsageError
from carnet_ref.attestation.amd import appraisal as amd_policy
from carnet_ref.attestation.amd.certificates import KeyKind
from carnet_ref.attestation.amd.report import GuestPolicy
from carnet_ref.attestation.appraisal import (
    POLICY,
    Anchors,
    Appraisal,
    AppraisalStep,
    anchors_from_pem,
    default_anchors,
)
from carnet_ref.attestation.cca import appraisal as cca_policy
from carnet_ref.attestation.composite import Binding, CompositeEvidence, Expected, Verifier, appraise_composite
from carnet_ref.attestation.documents import decode
from carnet_ref.attestation.formats import (
    FORMATS,
    AppraisalContext,
    NeedsOptionError,
    OptionKind,
    OptionValues,
    appraise_files,
)
from carnet_ref.attestation.intel import appraisal as td_policy
from carnet_ref.attestation.intel.appraisal import DEFAULT_POLICY
from carnet_ref.attestation.intel.collateral import TcbStatus
from carnet_ref.attestation.live.appraisal import AppraisalTerms, appraise_collection
from carnet_ref.attestation.live.collection import collect
from carnet_ref.attestation.nitro import appraisal as nitro_policy
from carnet_ref.attestation.nvidia import appraisal as gpu_policy
from carnet_ref.attestation.nvidia.appraisal import NodePolicy
from carnet_ref.attestation.nvidia.node import SWITCHES
from carnet_ref.attestation.nvidia.report import Mode
from carnet_ref.attestation.simulated.gpu import gpu_request
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.attestation.tpm import appraisal as tpm_policy
from carnet_ref.crypto.primitives import sha384, sign_p256
from tests.fixtures import (
    cca_tokens,
    corims,
    ear_tokens,
    nitro_documents,
    nvidia_node,
    nvidia_pki,
    service_tokens,
    simulated_machine,
    simulated_quotes,
    simulated_snp,
    tpm_quotes,
)
from tests.fixtures import intel_evidence as intel
from tests.fixtures import nvidia_evidence as nvidia
from tests.fixtures import snp_evidence as snp
from tests.fixtures.intel_evidence import FOLDER, MISSING
from tests.fixtures.simulated_machine import SimulatedNvml
from tests.fixtures.wrapped_evidence import EVENTS, QUOTE_DOCUMENTS, entry, event_log, logged_rtmrs


@dataclass(frozen=True)
class Part:
    """Something that can be given by an option: first what ``fits``, if anything does, then what does not.

    A value is a tuple where the option takes several files, so that parts can have an option together.
    """

    option: str
    values: tuple[Any, ...]
    fits: bool = True


#: Appraises evidence with what options stand for, by a policy or, with ``None``, by that of the format.
Appraise = Callable[[Mapping[str, Any], Any], Appraisal]


@dataclass(frozen=True)
class Situation:
    """Evidence with what can be given about it, by names of parts."""

    name: str
    kind: str
    appraise: Appraise = field(repr=False)
    parts: Mapping[str, Part] = field(repr=False)
    #: Each is asked by itself. The first is that of the format, and each other one asks more or something else.
    policies: tuple[Any, ...] = (None,)

    def appraised(self, values: Mapping[str, Any], policy: Any = None) -> Appraisal:
        """Return the appraisal with some parts, each with a value; one that is needed and missing is a refusal."""
        given: dict[str, Any] = {}
        for name, value in values.items():
            option = self.parts[name].option
            given[option] = (*given.get(option, ()), *value) if isinstance(value, tuple) else value
        try:
            return self.appraise(given, policy)
        except UsageError as error:
            option = error.option if isinstance(error, NeedsOptionError) else "key"
            return Appraisal((AppraisalStep("usage", False, str(error), without=(option,)),), {})


def of_format(kind: str, evidence: bytes, anchors: Anchors, at: datetime) -> Appraise:
    form = FORMATS[kind].load()
    nothing = {option.name: () if option.kind is OptionKind.FILES else None for option in form.options}

    def appraise(given: Mapping[str, Any], policy: Any) -> Appraisal:
        against = AppraisalContext(at, form.default_policy if policy is None else policy, anchors)
        return appraise_files(kind, [evidence], OptionValues({**nothing, **given}), against)

    return appraise


def every_situation() -> Iterator[Situation]:
    yield from _quotes()
    yield from _reports()
    yield from _gpus()
    yield from _nodes()
    yield from _nitro_documents()
    yield from _realms()
    yield from _tpm_quotes()
    yield _result()
    yield from _of_services()
    yield _composite()


def _quotes() -> Iterator[Situation]:
    quotes, platform = simulated_quotes, simulated_quotes.PLATFORM
    other = SimulatedPlatform(b"another platform", quotes.NOW, fmspc=b"\1" * 6)
    late = platform.issue_collateral(quotes.NOW - timedelta(days=60))
    poor = platform.issue_collateral(quotes.NOW, status=TcbStatus.OUT_OF_DATE)
    revoked = platform.issue_collateral(quotes.NOW, revoked=[platform.pck_chain[0].certificate])
    empty, log = b"[]", json.dumps(event_log(*EVENTS)).encode()
    parts = {
        "collateral": Part("collateral", tuple((each,) for each in (platform.collateral, poor, revoked, late))),
        "report-data": Part("report-data", (quotes.REPORT_DATA, bytes(64))),
    }
    asking = replace(td_policy.DEFAULT_POLICY, require=frozenset({"tcb-status", "report-data", "event-log"}))
    policies = (None, asking, td_policy.Policy())
    logged = platform.td(rtmrs=logged_rtmrs()).quote(quotes.REPORT_DATA)
    debug = platform.td(debug=True).quote(quotes.REPORT_DATA)
    whole = {
        "a TD": quotes.QUOTE,
        "a debug TD": debug,
        "a TD that loses pages": quotes.with_attributes(0),
        "a profiled TD": quotes.with_attributes(1 << 28 | 1 << 5),
        "a TD with a service TD": quotes.of_tdx_15(b"\x53" * 48),
        "a TD of TDX 1.5": quotes.of_tdx_15(),
        "another platform's": other.td().quote(quotes.REPORT_DATA),
        "another enclave's": _by_enclave((256, b"\x77\x77")),
        "an enclave's that is debugged": _by_enclave((48, b"\x13")),
        "a changed quote": quotes.edited(quotes.QUOTE, 60, b"\xff"),
    }
    for name, quote in whole.items():
        with_log = {**parts, "event-log": Part("event-log", (empty, log))}
        yield Situation(name, "tdx", of_format("tdx", quote, platform.anchors, quotes.NOW), with_log, policies)
    for name, quote in {"a log that ends elsewhere": quotes.QUOTE, "a log": logged}.items():
        document = json.dumps(QUOTE_DOCUMENTS["dstack getquote"](quote)).encode()
        given = {**parts, "event-log": Part("event-log", (log if quote is logged else empty, b"[]"))}
        yield Situation(
            f"beside {name}", "tdx", of_format("tdx", document, platform.anchors, quotes.NOW), given, policies
        )


def _by_enclave(change: tuple[int, bytes]) -> bytes:
    """Return a quote by another enclave, whose report differs in one place, and which the platform certifies."""
    quotes = simulated_quotes
    start = quotes.SIGNED + 4 + 134
    report = quotes.edited(quotes.QUOTE[start : start + 384], *change)
    key = quotes.PLATFORM.pck_chain[0].key
    return quotes.edited(quotes.QUOTE, start, report + sign_p256(key, report))


def _reports() -> Iterator[Situation]:
    reports = simulated_snp
    amd = reports.amd()
    good, bad = (
        amd.revocation_list(*revoked, at=reports.NOW).public_bytes(Encoding.DER)
        for revoked in ((), (amd.authority(KeyKind.VCEK),))
    )
    other = reports.der(reports.chip(seed=b"another chip").endorsement(KeyKind.VCEK), amd.authority(KeyKind.VCEK))
    parts = {
        "chain": Part("chain", (reports.chain(), other)),
        "crl": Part("crl", ((good,), (bad,))),
        "report-data": Part("report-data", (reports.REPORT_DATA, bytes(64))),
    }
    asking = replace(amd_policy.DEFAULT_POLICY, require=frozenset({"revocation", "report-data"}), maximum_vmpl=0)
    policies = (None, asking, amd_policy.Policy())
    every = {
        "an SNP guest": reports.signed(),
        "a debug guest": reports.changed(policy=GuestPolicy(reports.chip().report(bytes(64)).policy.bits | 1 << 19)),
        "a guest at VMPL 3": reports.changed(vmpl=3),
        "a changed report": reports.flipped(reports.signed(), 8 * 0x90),
    }
    for name, report in every.items():
        yield Situation(name, "snp", of_format("snp", report, amd.anchors, reports.NOW), parts, policies)


def _gpu_parts() -> dict[str, Part]:
    pki, world = nvidia_pki, nvidia_pki.world()
    driver, vbios = world.rims()
    wrong = {index: [bytes(48)] for index in pki.DRIVER_INDICES}
    drivers = (world.rims(driver=wrong)[0], world.rims(driver={})[0])
    return {
        "driver": Part("rim", ((driver,), *((each,) for each in drivers))),
        "vbios": Part("rim", ((vbios,), (world.rims(vbios={})[1],))),
        "signer": Part("ocsp", (tuple(world.rim_replies()),)),
        "nonce": Part("nonce", (pki.NONCE, bytes(32))),
    }


def _gpus() -> Iterator[Situation]:
    pki, world = nvidia_pki, nvidia_pki.world()
    path = world.device.path
    revoked = tuple(pki.ocsp_reply(path[place], path[place - 1], revoked=True) for place in (1,))
    replies = tuple(world.replies())
    parts = {**_gpu_parts(), "device": Part("ocsp", (replies, replies[1:], revoked + replies[1:]))}
    asking = gpu_policy.Policy(require=frozenset({"revocation", "signature"}), modes=frozenset({Mode.SINGLE_GPU}))
    strict = replace(gpu_policy.DEFAULT_POLICY, require=frozenset({"measurements", "nonce"}), minimum_driver="999")
    policies = (None, gpu_policy.Policy(require=frozenset({"revocation"})), asking, strict, gpu_policy.Policy())
    every = {
        "a GPU": pki.report(world.device.leaf),
        "a GPU of other firmware": pki.report(world.device.leaf, opaque={**pki.OPAQUE, 3: b"1.2.3\0"}),
        "a GPU that states another firmware id": pki.report(world.device.leaf, opaque={**pki.OPAQUE, 20: bytes(48)}),
    }
    for name, report in every.items():
        fits = parts
        if name != "a GPU":
            rims = {key: replace(parts[key], values=parts[key].values[:1], fits=False) for key in ("driver", "vbios")}
            fits = {**parts, **rims, "signer": replace(parts["signer"], fits=False)}
        document = json.dumps(entry((report, world.device.chain()))).encode()
        yield Situation(name, "gpu", of_format("gpu", document, world.anchors, pki.AT), fits, policies)
    alone = {"chain": Part("chain", (world.device.chain(),)), "nonce": parts["nonce"], "device": parts["device"]}
    yield Situation(
        "a GPU's report alone", "gpu", of_format("gpu", every["a GPU"], world.anchors, pki.AT), alone, policies
    )


def _nodes() -> Iterator[Situation]:
    node, world = nvidia_node, nvidia_pki.world()
    members = node.members()[:2]
    stranger = nvidia_pki.sign_rim(nvidia_pki.rim_xml("1", {0: [bytes(48)]}, "GB100"), world.rim_signer, world.rim_root)
    older = nvidia_pki.sign_rim(nvidia_pki.rim_xml("1", {0: [bytes(48)]}), world.rim_signer, world.rim_root)
    replies = tuple(reply for member in members for reply in member.replies())
    of_gpu = _gpu_parts()
    parts = {
        "driver": replace(of_gpu["driver"], values=of_gpu["driver"].values[:2]),
        "vbios": replace(of_gpu["vbios"], values=of_gpu["vbios"].values[:1]),
        "nonce": replace(of_gpu["nonce"], values=of_gpu["nonce"].values[:1]),
        "device": Part("ocsp", (replies, replies[:-1])),
        "stranger": Part("rim", ((stranger,),), fits=False),
        "older": Part("rim", ((older,),), fits=False),
    }
    policies = (None, NodePolicy(require_links=False), NodePolicy(require_links=True))
    for name, changes in {"a protected node": {}, "a node": {"field21": b"\x55"}}.items():
        entries = [
            entry((each.report, each.chain or b"")) for each in (m.saying(**changes).evidence() for m in members)
        ]
        yield Situation(
            name, "node", of_format("node", json.dumps(entries).encode(), world.anchors, nvidia_pki.AT), parts, policies
        )


def _of_services() -> Iterator[Situation]:
    """Yield results of services: with a key, by certificates, and one whose issuer has to be named."""
    tokens = service_tokens
    chain, root = tokens.certified(tokens.EC_KEY)
    staging = {"iss": "https://nras.attestation-stg.nvidia.com"}
    whole = {
        "a bundle": (tokens.bundle(), Anchors({}), tokens.NVIDIA["iss"]),
        "a token with certificates": (tokens.token("NVIDIA", header={"x5c": chain}), anchors_from_pem(root), "x"),
        "a token of another issuer": (tokens.token("NVIDIA", staging), Anchors({}), staging["iss"]),
        "a debugged machine's": (tokens.token("Google", {"dbgstat": "enabled"}), Anchors({}), "x"),
    }
    for name, (data, anchors, issuer) in whole.items():
        parts = {
            "key": Part("key", (tokens.key_set(), tokens.pem(tokens.OTHER_EC_KEY))),
            "issuer": Part("issuer", (issuer, "https://example.com"), fits=issuer != "x"),
            "audience": Part("audience", ("https://sts.googleapis.com",), fits=False),
            "nonce": Part("nonce", (tokens.NONCE, bytes(32))),
        }
        yield Situation(name, "result", of_format("result", data, anchors, tokens.NOW), parts)


def _nitro_documents() -> Iterator[Situation]:
    nitro = nitro_documents
    parts = {
        "nonce": Part("nonce", (nitro.NONCE, bytes(20))),
        "user-data": Part("user-data", (nitro.USER_DATA, b"x")),
        "public-key": Part("public-key", (nitro.PUBLIC_KEY, b"x")),
    }
    asking = replace(nitro_policy.DEFAULT_POLICY, require=frozenset({"nonce", "user-data"}))
    every = {
        "an enclave": nitro.document(),
        "an instance with NitroTPM": nitro.document(nitro.fields(tpm=True)),
        "an enclave in debug mode": nitro.document(nitro.fields({"pcrs": {0: bytes(48)}})),
    }
    for name, document in every.items():
        appraise = of_format("nitro", document, nitro.anchors(), nitro.AT)
        yield Situation(name, "nitro", appraise, parts, (None, asking, nitro_policy.Policy()))


def _realms() -> Iterator[Situation]:
    cca, published = cca_tokens, corims.signed(corims.of_platform())
    parts = {
        "key": Part("platform-key", (cca.pem(), cca.pem(cca.key("stranger")))),
        "nonce": Part("nonce", (cca.NONCE, bytes(64))),
        "platform": Part("reference", ((published,), (corims.of_platform(corims.software()[:1]),))),
        "realm": Part("reference", ((corims.signed(corims.of_realm()),), (corims.of_realm(rim=bytes(32)),))),
        "maker": Part("reference-key", (cca.pem(cca.key("maker")), cca.pem(cca.key("stranger")))),
    }
    asking = replace(cca_policy.DEFAULT_POLICY, require=frozenset({"nonce"}))
    every = {"a realm": cca.token(), "a realm on a debugged platform": cca.token(platform={2395: 0x4000})}
    for name, token in every.items():
        appraise = of_format("cca", token, Anchors({}), nitro_documents.AT)
        yield Situation(name, "cca", appraise, parts, (None, asking, cca_policy.Policy()))


def _tpm_quotes() -> Iterator[Situation]:
    tpm, policy = tpm_quotes, tpm_policy
    message = tpm.quote()
    files = {
        "signature": Part("signature", (tpm.signature(message), tpm.signature(tpm.quote(nonce=b"x")))),
        "pcrs": Part("pcrs", (tpm.serialized(tpm.registers()), tpm.serialized({**tpm.registers(), 4: bytes(32)}))),
        "ak": Part("ak", (tpm.pem(tpm.rsa_key()), tpm.pem(tpm.rsa_key(1)))),
    }
    nonce = Part("nonce", (tpm.NONCE, b"x"))
    log = Part("event-log", (tpm.log(), tpm.log(tpm.EVENTS[1:])))
    crls = [
        simulated_snp.amd().revocation_list(*revoked, at=tpm.NOW).public_bytes(Encoding.DER)
        for revoked in ((), (simulated_snp.amd().authority(KeyKind.VCEK),))
    ]
    platform = simulated_quotes.PLATFORM
    revoked = platform.issue_collateral(simulated_quotes.NOW, revoked=[platform.pck_chain[0].certificate])
    collateral = Part("collateral", ((platform.collateral,), (revoked,)))
    every: dict[str, tuple[Any, dict[str, Part]]] = {
        "a quote": (message, {**files, "nonce": nonce, "log": log}),
        "a certified quote": (tpm.google(), {"ak": files["ak"], "nonce": nonce, "log": log}),
        "a quote with its key": (tpm.google(certified=False), {"ak": files["ak"], "nonce": nonce, "log": log}),
        "Azure's quote": (tpm.azure(), {"nonce": nonce, "crl": Part("crl", tuple((each,) for each in crls))}),
        "Azure's quote of a TD": (tpm.azure(tdx=True), {"nonce": nonce, "collateral": collateral}),
    }
    asking = replace(policy.DEFAULT_POLICY, require=frozenset({"nonce", "pcr-digest"}))
    for name, (evidence, parts) in every.items():
        data = evidence if isinstance(evidence, bytes) else json.dumps(evidence).encode()
        appraise = of_format("tpm", data, tpm.anchors(), tpm.NOW)
        yield Situation(name, "tpm", appraise, parts, (None, asking, policy.Policy()))


def _result() -> Situation:
    parts = {"key": Part("key", (ear_tokens.public_pem(),)), "nonce": Part("nonce", (ear_tokens.NONCE, bytes(32)))}
    return Situation("a result", "ear", of_format("ear", ear_tokens.token(), Anchors({}), ear_tokens.NOW), parts)


def _composite() -> Situation:
    """Return what a TD shows of itself and of its GPU on one channel."""
    gpu, platform, at = simulated_machine.gpu(), simulated_machine.PLATFORM, simulated_machine.NOW
    report = gpu.report(gpu_request(bytes(32)))
    binding = Binding("orchestrator", b"e" * 48, sha384(report), b"n" * 32, 1, sha384(b"a job"), b"i" * 32)
    quote = platform.td().quote(binding.report_data())
    evidence = CompositeEvidence(binding, quote, report, gpu.chain_pem).encode()
    expected = Expected("orchestrator", b"e" * 48, b"n" * 32, 1, sha384(b"a job"))

    def appraise(given: Mapping[str, Any], policy: Any) -> Appraisal:
        (collateral,) = given.get("collateral", (None,))
        asked = td_policy.DEFAULT_POLICY if policy is None else policy
        about_gpu = gpu_policy.DEFAULT_POLICY, collateral, given.get("rim", ()), given.get("ocsp", ())
        return appraise_composite(evidence, expected, Verifier(simulated_machine.anchors(), asked, *about_gpu), at=at)

    asking = replace(td_policy.DEFAULT_POLICY, require=frozenset({"tcb-status"}))
    return Situation("a TD with its GPU", "composite", appraise, _machine_parts(), (None, asking))


def of_this_machine(folder: Path) -> Situation:
    """Return what is collected on a machine with a GPU and a TD, whose folder of reports is in ``folder``."""
    nvml = SimulatedNvml([simulated_machine.gpu()])
    host = simulated_machine.machine(nvml, simulated_machine.td(folder))
    collection = collect(host, simulated_machine.NONCE)

    def appraise(given: Mapping[str, Any], policy: Any) -> Appraisal:
        policies = {} if policy is None else {"tdx": policy}
        return appraise_collection(
            collection, AppraisalTerms(simulated_machine.NOW, simulated_machine.anchors(), policies, given)
        )

    asking = replace(td_policy.DEFAULT_POLICY, require=frozenset({"tcb-status"}))
    return Situation("this machine", "live", appraise, _machine_parts(), (None, asking))


def _machine_parts() -> dict[str, Part]:
    vendor, platform = simulated_machine.VENDOR, simulated_machine.PLATFORM
    driver, vbios = vendor.reference_values()
    since = simulated_machine.NOW
    answers = vendor.answers(simulated_machine.gpu().certificates, since=since)
    signers = vendor.answers([each.certificate for each in reversed(vendor.signers)], since=since)
    old = platform.issue_collateral(simulated_machine.SINCE - timedelta(days=60))
    return {
        "collateral": Part("collateral", ((platform.collateral,), (old,))),
        "rims": Part("rim", ((driver, vbios), (vbios,))),
        "device": Part("ocsp", (answers, answers[1:])),
        "signers": Part("ocsp", (signers,)),
    }


# -- evidence of real machines with all that there is to give about it -----------------------------------


#: Documents with a quote, and times at which its certificates are valid.
DOCUMENTS = {
    "18-tdx-dstack/dstack/verifier/fixtures/tdx-lite-getquote.json": datetime(2026, 6, 1, tzinfo=UTC),
    "19-coco-trustee/deps/verifier/test_data/az-tdx-vtpm/evidence-v0.json": datetime(2024, 12, 1, tzinfo=UTC),
}
REPORT_DATA = {4: 48 + 520, 5: 54 + 520}  #: Where a quote has its report data, by its version.


def real_situations() -> Iterator[Situation]:
    """Yield every report and quote; nothing, where there is no folder of evidence."""
    if intel.FOLDER is not None:
        yield from _real_quotes()
        yield from _real_reports()
        yield from _real_gpus()
        yield from _real_nodes()


def _real_quotes() -> Iterator[Situation]:
    log = intel.read(f"{intel.CCEL}/ccel_data.dat")
    readable = (each for each in intel.pairs() if each[1] != intel.SGX_COLLATERAL)
    for path, collateral, at in readable:
        quote = intel.read_quote(path)
        published = intel.read(collateral) if "/" in collateral else intel.assembled(collateral)
        start = REPORT_DATA.get(quote[0], 0)
        parts = {
            "collateral": Part("collateral", ((published,),), fits=False),
            "report-data": Part("report-data", (quote[start : start + 64], bytes(64)), fits=False),
            "event-log": Part("event-log", (log,), fits=False),
        }
        name = f"{path.rpartition('/')[2]} with {collateral.rpartition('/')[2]}"
        yield Situation(name, "tdx", of_format("tdx", quote, default_anchors(), at), parts)
    for path, at in DOCUMENTS.items():
        parts = {
            "collateral": Part("collateral", ((intel.read(intel.CURRENT_COLLATERAL),),), fits=False),
            "report-data": Part("report-data", (bytes(64),), fits=False),
            "event-log": Part("event-log", (log, b"[]"), fits=False),
        }
        appraise = of_format("tdx", intel.read(path), default_anchors(), at)
        asked = replace(DEFAULT_POLICY, require_sept_ve_disable=False)
        yield Situation(path.rpartition("/")[2], "tdx", appraise, parts, (asked,))


def _real_reports() -> Iterator[Situation]:
    for case in snp.genuine():
        parts = {"report-data": Part("report-data", (bytes(64),), fits=False)}
        if case.chain is not None and snp.found(case.evidence).certificates is None:
            parts["chain"] = Part("chain", (snp.read(case.chain),), fits=False)
        appraise = of_format("snp", snp.read(case.evidence), default_anchors(), case.at)
        yield Situation(case.name, "snp", appraise, parts)


def _real_gpus() -> Iterator[Situation]:
    driver, vbios = nvidia.read(nvidia.DRIVER_RIM), nvidia.read(nvidia.VBIOS_RIM)
    signer = decode(nvidia.read(nvidia.RIM_OCSP_REPLY), "OCSP reply")
    for case in nvidia.cases():
        parts = {
            "chain": Part("chain", (case.chain,), fits=False),
            "nonce": Part("nonce", (case.report[4:36], bytes(32)), fits=False),
            "driver": Part("rim", ((driver,),), fits=False),
            "vbios": Part("rim", ((vbios,),), fits=False),
        }
        if case.ocsp:
            parts["device"] = Part("ocsp", (tuple(case.ocsp),), fits=False)
            parts["signer"] = Part("ocsp", ((signer,),), fits=False)
        appraise = of_format("gpu", case.report, default_anchors(), case.at)
        yield Situation(case.name.rpartition("/")[2], "gpu", appraise, parts)


def _real_nodes() -> Iterator[Situation]:
    rims = (nvidia.read(nvidia.DRIVER_RIM), nvidia.read(nvidia.VBIOS_RIM))
    for path in nvidia.BUNDLES:
        parts = {"rims": Part("rim", (rims,), fits=False), "nonce": Part("nonce", (bytes(32),), fits=False)}
        appraise = of_format("node", nvidia.read(path), default_anchors(), nvidia.RIM_OCSP_TIME)
        yield Situation(path.rpartition("/")[2], "node", appraise, parts)


# -- more evidence never turns a refusal into an acceptance ----------------------------------------------


Choice = tuple[int | None, ...]  #: For each part the number of its value, or that it is not given.
SITUATIONS = tuple(every_situation())
REAL = tuple(real_situations())
FEW, ALL = slice(2), slice(None)
NO_PARTS = {"device"}  #: Options that say which evidence is meant.


def choices(situation: Situation) -> Iterator[Choice]:
    """Yield every way to give some of the parts."""
    return itertools.product(*((None, *range(len(part.values))) for part in situation.parts.values()))


def given(situation: Situation, choice: Choice) -> Mapping[str, Any]:
    parts = zip(situation.parts.items(), choice, strict=True)
    return {name: part.values[place] for (name, part), place in parts if place is not None}


def fewer(choice: Choice) -> Iterator[Choice]:
    """Yield the choice without one or more of its parts."""
    without = itertools.product(*((place,) if place is None else (place, None) for place in choice))
    return (each for each in without if each != choice)


def completed(situation: Situation, choice: Choice) -> Choice:
    """Return the choice with every other part that fits."""
    parts = zip(situation.parts.values(), choice, strict=True)
    return tuple(0 if place is None and part.fits else place for part, place in parts)


def broken(some: Appraisal, more: Appraisal, options: frozenset[str]) -> list[str]:
    """Return the steps that end otherwise with more, although they need none of these options."""
    ends = {step.id: step.ok for step in more.steps}
    bound = [step for step in some.steps if options.isdisjoint(step.without)]
    wrong = [f"{step.id}: {step.ok}, then {ends[step.id]}" for step in bound if ends.get(step.id, step.ok) != step.ok]
    if more.accepted:
        wrong += [f"{step.id}: {step.ok}, then not there" for step in bound if step.id not in ends]
    elif some.accepted and more.failed_step not in {step.id for step in some.steps}:
        wrong.append(f"{more.failed_step}: not there, then False")
    return wrong


def check(situation: Situation, policies: slice = FEW) -> int:
    """Check every pair of choices by each policy, and return how many of them were refused with more alone."""
    options = [part.option for part in situation.parts.values()]
    refused = 0
    first: dict[Choice, Appraisal] = {}
    for policy in situation.policies[policies]:
        appraisals = {each: situation.appraised(given(situation, each), policy) for each in choices(situation)}
        for choice, more in appraisals.items():
            for less in fewer(choice):
                some = appraisals[less]
                changed = zip(options, choice, less, strict=True)
                added = frozenset(option for option, now, then in changed if now != then)
                assert not broken(some, more, added), (situation.name, given(situation, less).keys(), added, policy)
                refused += some.accepted and not more.accepted
            if more.accepted:
                whole = appraisals[completed(situation, choice)]
                assert whole.accepted, (situation.name, given(situation, choice).keys(), whole.steps[-1], policy)
            before = first.setdefault(choice, more)
            if before.failed_step is not None and not before.steps[-1].without:
                assert not more.accepted, (situation.name, choice, policy)
                assert {step.id: step.ok for step in more.steps}.get(before.failed_step, False) is not True
    return refused


@pytest.mark.mends("R404")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: f"{each.kind} {each.name}")
def test_more_evidence_only_decides_what_lacked_it(situation: Situation) -> None:
    refused = check(situation)
    assert refused or not situation.appraised({}).accepted, "nothing that was given besides was refused"


def test_more_evidence_only_decides_what_lacked_it_on_this_machine(tmp_path: Path) -> None:
    assert check(of_this_machine(tmp_path)), "nothing was refused for what was given besides"


@pytest.mark.slow
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: f"{each.kind} {each.name}")
def test_more_evidence_only_decides_what_lacked_it_by_every_policy(situation: Situation) -> None:
    check(situation, ALL)


@pytest.mark.skipif(FOLDER is None, reason=MISSING)
@pytest.mark.parametrize("situation", REAL, ids=lambda each: f"{each.kind} {each.name}")
def test_more_evidence_only_decides_what_lacked_it_of_real_machines(situation: Situation) -> None:
    check(situation)


def test_every_option_of_every_format_is_given_in_some_situation() -> None:
    for kind, registered in FORMATS.items():
        options = {option.name for option in registered.load().options} - NO_PARTS
        given = {part.option for each in SITUATIONS if each.kind == kind for part in each.parts.values()}
        assert options <= given, f"a situation of {kind} in SITUATIONS of this file has to give each option"


def test_steps_lack_nothing_but_options_that_their_format_has() -> None:
    options = {kind: {option.name for option in registered.load().options} for kind, registered in FORMATS.items()}
    options["composite"] = options["tdx"] | options["gpu"]
    for each in SITUATIONS:
        lacking = {option for step in each.appraised({}).steps for option in step.without}
        assert lacking - {POLICY, SWITCHES} <= options[each.kind]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: f"{each.kind} {each.name}")
def test_what_cannot_be_read_is_refused_whatever_is_given_besides(situation: Situation) -> None:
    every = {name: part.values[0] for name, part in situation.parts.items() if part.fits}
    files = [name for name, value in every.items() if situation.parts[name].option in FILES]
    for name in files:
        value = every[name]
        spoilt: dict[str, Any] = {name: (b"\xff",) if isinstance(value, tuple) else b"\xff"}
        needed: dict[str, Any] = {key: every[key] for key in ("chain", "key") if key in every}
        for besides in (needed, every):
            assert not situation.appraised({**besides, **spoilt}).accepted


FILES = {
    option.name
    for registered in FORMATS.values()
    for option in registered.load().options
    if option.kind in (OptionKind.FILE, OptionKind.FILES)
}
