"""Verifiers refuse a GPU's report and an orchestrator's quote of other contents than they expect."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509

from carnet_ref.attestation.nvidia.appraisal import STEPS
from carnet_ref.attestation.simulated.gpu import OUTDATED, SimulatedGpu, SimulatedVendor, answer, gpu_request
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.crypto.primitives import Random
from carnet_ref.device import Mode
from carnet_ref.spdm.errors import SpdmError
from carnet_ref.spdm.messages import KeyExchange
from carnet_ref.systems.ablation import without
from carnet_ref.systems.gpu_travelling.ablations.deployment import GPU
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import ChecksWithout
from carnet_ref.systems.gpu_travelling.deployment import GPU_NAME, MADE, Deployment, holder_names
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage, checking
from carnet_ref.systems.gpu_travelling.evidence import GpuVerifier, TdQuoter, TdVerifier, VendorServices, gpu_responder
from carnet_ref.systems.gpu_travelling.exploits.hostile import ANY, AcceptingVerifier
from carnet_ref.systems.gpu_travelling.roles.attestation import Agreed, GpuEvidence, accept_orchestrator
from carnet_ref.systems.gpu_travelling.roles.facts import establish_attestation
from carnet_ref.transport.frames import ProtocolError
from tests.fixtures.worlds import FastRequester, draws, verifier_of

DEPLOYMENT = Deployment(holder_names(1), 1)
NONCE = bytes(range(32))
OWN = DEPLOYMENT.silicon()
FAKE = DEPLOYMENT.silicon("fake1")
VERIFIER = DEPLOYMENT.gpu_verifier

MACHINE = SimulatedPlatform(b"a platform", MADE)
MEASURED = bytes(range(48))
INSTANCE = bytes(range(64, 96))
EXPORTER, MANIFEST = bytes(range(32, 64)), b"the manifest of the job"
HOLDERS_VERIFIER = TdVerifier(MACHINE.anchors, MACHINE.collateral, MEASURED, lambda: MADE)


def test_every_check_is_made_of_a_genuine_gpu() -> None:
    appraisal = VERIFIER.appraise(GpuEvidence(OWN.report(gpu_request(NONCE)), OWN.chain_pem), NONCE)
    assert appraisal.accepted
    assert [step.id for step in appraisal.steps if step.ok] == list(STEPS)
    assert (appraisal.claims["device"], appraisal.claims["mode"]) == (GPU_NAME, "CONFIDENTIAL")


def _since(chain: tuple[x509.Certificate, ...], start: datetime) -> tuple[bytes, ...]:
    return DEPLOYMENT.vendor.answers(chain, since=start)


STALE = VendorServices(
    DEPLOYMENT.vendor.reference_values,
    lambda chain: _since(chain, MADE - timedelta(days=2) if chain == OWN.certificates else MADE),
)
STRANGER = SimulatedVendor(b"a stranger", MADE)
KEPT = DEPLOYMENT.services.answers
SILENT = VendorServices(
    DEPLOYMENT.vendor.reference_values, lambda chain: () if chain == OWN.certificates else KEPT(chain)
)


def _unknown(chain: tuple[x509.Certificate, ...]) -> tuple[bytes, ...]:
    issuer = DEPLOYMENT.vendor.devices[2]
    said = answer(chain[1], issuer, issuer, MADE, known=False)
    return (said, *KEPT(chain)[1:]) if chain == OWN.certificates else KEPT(chain)


UNKNOWN = VendorServices(DEPLOYMENT.vendor.reference_values, _unknown)
#: What is shown, the nonce asked with, what services say, the step that refuses it, and the defence that this is.
BAD: dict[str, tuple[SimulatedGpu, bytes, VendorServices, str, str]] = {
    "another nonce": (OWN, bytes(32), DEPLOYMENT.services, "nonce", "report-nonce"),
    "out of confidential mode": (DEPLOYMENT.silicon(mode=Mode.OPEN), NONCE, DEPLOYMENT.services, "mode", "mode-check"),
    "debugged": (DEPLOYMENT.silicon(mode=Mode.DEBUG), NONCE, DEPLOYMENT.services, "debug", "debug-check"),
    "outdated": (DEPLOYMENT.silicon(mode=Mode.OUTDATED), NONCE, DEPLOYMENT.services, "vbios-rim", "reference-values"),
    "a leaked key": (DEPLOYMENT.silicon("sold1"), NONCE, DEPLOYMENT.services, "revocation", "revocation-check"),
    "a fake": (FAKE, NONCE, DEPLOYMENT.services, "chain", "gpu-certificate"),
    "stale answers": (OWN, NONCE, STALE, "revocation", "revocation-check"),
    "an unknown certificate": (OWN, NONCE, UNKNOWN, "revocation", "revocation-check"),
    "silent authorities": (OWN, NONCE, SILENT, "policy", "revocation-check"),
    "no reference values": (
        OWN,
        NONCE,
        VendorServices(lambda _: (), DEPLOYMENT.services.answers),
        "policy",
        "reference-values",
    ),
    "reference values of a stranger": (
        OWN,
        NONCE,
        VendorServices(STRANGER.reference_values, DEPLOYMENT.services.answers),
        "driver-rim",
        "reference-values",
    ),
    "reference values that cannot be read": (
        OWN,
        NONCE,
        VendorServices(lambda _: (b"<a/>",), DEPLOYMENT.services.answers),
        "parse",
        "reference-values",
    ),
    "outdated, with the reference values of its time": (
        DEPLOYMENT.silicon(mode=Mode.OUTDATED),
        NONCE,
        VendorServices(lambda _: DEPLOYMENT.vendor.reference_values(OUTDATED), DEPLOYMENT.services.answers),
        "policy",
        "reference-values",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_each_flaw_is_refused_by_its_own_check(what: str, record_property: Callable[[str, object], None]) -> None:
    gpu, asked, services, step, defence = BAD[what]
    for each in REQUIREMENTS.get(defence, ()):
        record_property("verifies", f"gpu-travelling-{each}")
    evidence = GpuEvidence(gpu.report(gpu_request(asked)), gpu.chain_pem)
    refused = replace(VERIFIER, services=services).appraise(evidence, NONCE)
    assert refused.failed_step == step
    assert not refused.accepted
    weaker = without(GpuVerifier, GPU, {defence})(*_fields(replace(VERIFIER, services=services)))
    assert weaker.appraise(evidence, NONCE).accepted


#: The requirement that each defence is.
ASKED_FOR = {
    "gpu-certificate": "REQ-SETUP-03",
    "report-nonce": "REQ-SETUP-04",
    "mode-check": "REQ-SETUP-05",
    "debug-check": "REQ-SETUP-14",
    "reference-values": "REQ-SETUP-15",
    "revocation-check": "REQ-SETUP-16",
}
#: What an error says of steps for which nothing was given.
NOT_TAKEN = {"silent authorities": "not taken: revocation", "no reference values": "measurements"}


@pytest.mark.parametrize("what", BAD)
def test_the_check_that_fails_is_blamed_and_no_other_makes_up_for_it(what: str) -> None:
    gpu, asked, services, step, defence = BAD[what]
    evidence = GpuEvidence(gpu.report(gpu_request(asked)), gpu.chain_pem)
    verifier, session = replace(VERIFIER, services=services), FastRequester(draws("requester"))
    blamed = "REQ-SETUP-03" if step == "parse" else ASKED_FOR[defence]
    with checking("orchestrator") as log, pytest.raises(ProtocolError, match=rf"\({blamed}\)$") as refused:
        establish_attestation(session, evidence, NONCE, verifier, Checks(), ReceivedMessage("gpu", evidence.report))
    assert NOT_TAKEN.get(what, step) in str(refused.value)
    assert [each.requirement for each in log.made if not each.holds] == [blamed]
    gpu, asked, services, _, defence = BAD[what]
    evidence = GpuEvidence(gpu.report(gpu_request(asked)), gpu.chain_pem)
    for other in sorted(set(GPU) - {defence}):
        weaker = without(GpuVerifier, GPU, {other})(*_fields(replace(VERIFIER, services=services)))
        assert not weaker.appraise(evidence, NONCE).accepted, other


REQUIREMENTS = {
    "debug-check": ("REQ-SETUP-14",),
    "reference-values": ("REQ-SETUP-15",),
    "revocation-check": ("REQ-SETUP-16",),
}


def _fields(verifier: GpuVerifier) -> tuple[Any, ...]:
    return tuple(getattr(verifier, field.name) for field in fields(verifier))


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-03")
def test_a_session_is_opened_with_a_chain_to_the_vendors_root_only() -> None:
    VERIFIER.trust(tuple(reversed(OWN.certificates)))
    with pytest.raises(SpdmError):
        VERIFIER.trust(tuple(reversed(FAKE.certificates)))


def quoted(
    measured: bytes = MEASURED, exporter: bytes = EXPORTER, nonce: bytes = NONCE, manifest: bytes = MANIFEST
) -> bytes:
    """Return the evidence of an orchestrator with this measurement, bound to these."""
    quoter = TdQuoter(MACHINE.td(measured), INSTANCE)
    return quoter.evidence(exporter, nonce, manifest, GpuEvidence(b"report", b"chain"))


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-08", "gpu-travelling-REQ-SETUP-09", "gpu-travelling-REQ-SETUP-10")
@pytest.mark.parametrize(
    ("evidence", "refused"),
    [
        (quoted(), []),
        (quoted(measured=bytes(48)), ["quote.measurements"]),
        (quoted(exporter=bytes(32)), ["channel"]),
        (quoted(nonce=bytes(32)), ["nonce"]),
        (quoted(manifest=b"the manifest of another job"), ["manifest"]),
    ],
    ids=["as it should be", "another measurement", "another channel", "another nonce", "another manifest"],
)
def test_a_quote_is_accepted_of_the_orchestrator_in_this_channel_for_this_job_only(
    evidence: bytes, refused: list[str]
) -> None:
    appraisal = HOLDERS_VERIFIER.appraise(evidence, EXPORTER, NONCE, MANIFEST)
    assert [step.id for step in appraisal.steps if step.ok is False] == refused
    assert appraisal.accepted is (not refused)


@pytest.mark.parametrize(
    ("evidence", "named"),
    [
        pytest.param(
            quoted(measured=bytes(48)), "REQ-SETUP-08", marks=pytest.mark.verifies("gpu-travelling-REQ-SETUP-08")
        ),
        pytest.param(
            quoted(exporter=bytes(32)), "REQ-SETUP-09", marks=pytest.mark.verifies("gpu-travelling-REQ-SETUP-09")
        ),
        pytest.param(
            quoted(manifest=b"the manifest of another job"),
            "REQ-SETUP-10",
            marks=pytest.mark.verifies("gpu-travelling-REQ-SETUP-10"),
        ),
    ],
    ids=["another measurement", "another channel", "another manifest"],
)
def test_a_holder_that_refuses_a_quote_names_the_requirement_of_its_own_check(evidence: bytes, named: str) -> None:
    with pytest.raises(ProtocolError, match=named):
        accept_orchestrator(evidence, EXPORTER, NONCE, Agreed(MANIFEST, INSTANCE), HOLDERS_VERIFIER, Checks())


@pytest.mark.verifies("gpu-travelling-REQ-SETUP-17")
@pytest.mark.parametrize(
    ("instance", "waived", "refused"),
    [(INSTANCE, (), False), (bytes(32), (), True), (bytes(32), ("one-instance",), False)],
    ids=["the one agreed on", "another one", "another one, unchecked"],
)
def test_a_holder_takes_the_quote_of_one_instance_only(instance: bytes, waived: tuple[str, ...], refused: bool) -> None:
    said = pytest.raises(ProtocolError, match="expected the orchestrator's instance 0000") if refused else nullcontext()
    with said:
        accept_orchestrator(
            quoted(), EXPORTER, NONCE, Agreed(MANIFEST, instance), HOLDERS_VERIFIER, ChecksWithout(frozenset(waived))
        )


def test_what_believes_everything_passes_every_check_of_a_quote() -> None:
    accept_orchestrator(b"", bytes(32), bytes(32), ANY, AcceptingVerifier(), Checks())


NOW = datetime(2026, 1, 1, tzinfo=UTC)


def like_a_key_exchange(seed: str) -> Random:
    """Return a source of session ids whose bytes are the code of a key exchange."""
    others = draws(seed)
    return lambda size: bytes([KeyExchange.CODE] * 2) if size == 2 else others(size)


def test_a_record_that_looks_like_a_key_exchange_renames_nothing() -> None:
    silicon = SimulatedGpu(b"a GPU", NOW)
    responder = gpu_responder(silicon, like_a_key_exchange("gpu"))
    requester = verifier_of(silicon.vendor, at=NOW).requester(like_a_key_exchange("orchestrator"))
    names = []
    messages = requester.begin()
    while messages:
        answers = [answer for message in messages for answer in responder.receive(message)]
        messages = [message for answer in answers for message in requester.receive(answer)]
        if requester.label:
            names.append((requester.label, responder.label))
    assert requester.is_established
    (asked,) = responder.receive(requester.ask_report(bytes(32)))
    assert asked[2] == KeyExchange.CODE
    requester.take_evidence(asked)
    names.append((requester.label, responder.label))
    first = requester.label
    assert len(names) > 2
    assert set(names[1:]) == {(first, first)}
