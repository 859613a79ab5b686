"""What is remembered between appraisals changes none: it is little, and a question is answered as if it were the first.

What may be remembered depends on bytes alone: what a certificate or a list says, and who signed it. Times, policies and
anchors are asked about anew.
"""

import json
import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.appraisal import Appraisal, default_anchors
from carnet_ref.attestation.intel.appraisal import DEFAULT_POLICY as TDX_POLICY
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.nvidia.appraisal import DEFAULT_POLICY as GPU_POLICY
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
from tests.fixtures import nvidia_pki, simulated_quotes, simulated_snp
from tests.fixtures.remembered import forget, memories
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE, Question, mutated

MOST = 256
W = nvidia_pki.world()
REPORT, CHAIN, RIMS = nvidia_pki.report(W.device.leaf), W.device.chain(), W.rims()
REPLIES = (*W.replies(), *W.rim_replies())
YEARS = timedelta(days=50 * 365)


def tdx(quote: bytes = QUOTE, collateral: bytes = PLATFORM.collateral) -> Appraisal:
    return simulated_quotes.appraised(quote, collateral=collateral)


def gpu(report: bytes = REPORT, chain: bytes = CHAIN, rim: bytes = RIMS[0], reply: bytes = REPLIES[0]) -> Appraisal:
    return appraise_gpu(
        report,
        chain,
        at=nvidia_pki.AT,
        policy=GPU_POLICY,
        anchors=W.anchors,
        rims=(rim, *RIMS[1:]),
        ocsp=(reply, *REPLIES[1:]),
    )


def snp(report: bytes, certificates: bytes, crl: bytes) -> Appraisal:
    return simulated_snp.appraised(report, certificates=certificates, crls=(crl,))


def test_what_is_remembered_is_bounded() -> None:
    assert len(memories()) > 10
    sizes = {place: memory.cache_parameters()["maxsize"] for place, memory in memories().items()}
    assert {place: size for place, size in sizes.items() if size is None or size > MOST} == {}


def alike(appraise: Callable[[], Appraisal]) -> Appraisal:
    """Return an appraisal, which is the same where nothing is remembered."""
    with_memory = appraise()
    forget()
    assert appraise() == with_memory
    return with_memory


def test_a_changed_quote_is_judged_as_if_it_were_the_first() -> None:
    other = PLATFORM.sibling(b"another platform")
    own, foreign = (Question(each.td().quote(bytes(64)), each.collateral, NOW) for each in (PLATFORM, other))
    draw = random.Random(44)
    refused_at: set[str | None] = set()
    for _ in range(200):
        for genuine in (own, foreign):
            tdx(genuine.quote, genuine.collateral)
        _, asked = mutated(draw, *draw.sample((own, foreign), 2))
        refused_at.add(alike(partial(tdx, asked.quote, asked.collateral)).failed_step)
    assert {"parse", "pck-chain", "quote-signature", "collateral-signature"} <= refused_at


SIGNED_PARTS = {
    "tcb_info": lambda text: text.replace("UpToDate", "OutOfDate", 1),
    "qe_identity": lambda text: text.replace("UpToDate", "OutOfDate", 1),
    **dict.fromkeys(
        ("tcb_info_signature", "qe_identity_signature", "root_ca_crl", "pck_crl"),
        lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
    ),
}


@pytest.mark.parametrize("name", SIGNED_PARTS)
def test_a_signature_that_was_good_for_other_bytes_is_good_for_no_others(name: str) -> None:
    assert tdx().accepted
    fields = json.loads(PLATFORM.collateral)
    changed = json.dumps({**fields, name: SIGNED_PARTS[name](fields[name])}).encode()
    assert alike(partial(tdx, collateral=changed)).failed_step == "collateral-signature"


def test_a_changed_guest_report_is_judged_as_if_it_were_the_first() -> None:
    amd = simulated_snp.amd()
    genuine = (simulated_snp.signed(), simulated_snp.chain(), amd.revocation_list().public_bytes(Encoding.DER))
    draw = random.Random(44)
    refused_at: set[str | None] = set()
    for turn in range(60):
        assert snp(*genuine).accepted
        changed = list(genuine)
        changed[turn % 3] = simulated_snp.flipped(changed[turn % 3], draw.randrange(8 * len(changed[turn % 3])))
        refused_at.add(alike(partial(snp, *changed)).failed_step)
    assert {"parse", "signature", "revocation"} <= refused_at


def test_a_changed_device_report_is_judged_as_if_it_were_the_first() -> None:
    genuine = (REPORT, CHAIN, RIMS[0], REPLIES[0])
    draw = random.Random(44)
    refused_at: set[str | None] = set()
    for turn in range(40):
        assert gpu(*genuine).accepted
        changed = list(genuine)
        changed[turn % 4] = simulated_snp.flipped(changed[turn % 4], draw.randrange(8 * len(changed[turn % 4])))
        refused_at.add(alike(partial(gpu, *changed)).failed_step)
    assert {"parse", "signature", "driver-rim", "revocation"} <= refused_at


def test_time_and_anchors_are_asked_about_anew() -> None:
    assert tdx().accepted
    assert gpu().accepted
    ask = partial(appraise_quote, QUOTE, policy=TDX_POLICY, collateral=PLATFORM.collateral)
    assert ask(at=NOW + YEARS, anchors=PLATFORM.anchors).failed_step == "validity"
    assert ask(at=NOW, anchors=default_anchors()).failed_step == "pck-chain"
    device = partial(appraise_gpu, REPORT, CHAIN, policy=GPU_POLICY, rims=RIMS, ocsp=REPLIES)
    assert device(at=nvidia_pki.AT + YEARS, anchors=W.anchors).failed_step == "validity"
    assert device(at=nvidia_pki.AT, anchors=default_anchors()).failed_step == "chain"
    assert simulated_snp.appraised().accepted
    assert simulated_snp.appraised(at=NOW + YEARS).failed_step == "validity"
    assert simulated_snp.appraised(anchors=default_anchors()).failed_step == "chain"
