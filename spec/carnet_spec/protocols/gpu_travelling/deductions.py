"""The adversary's deductions: what follows, at no cost, from what it knows and has seen.

Corrupt agents pool what they know, whoever knows a key forges under it, and every ciphertext that crossed unprotected
memory is on record until its key is known.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Step
from carnet_spec.protocols.gpu_travelling.adversary import WHOLE_GPU
from carnet_spec.protocols.gpu_travelling.hardware import PLAIN, Hardware
from carnet_spec.protocols.gpu_travelling.history import sealed_again
from carnet_spec.protocols.gpu_travelling.link_messages import specify_messages_on_the_link
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    Agent,
    Data,
    Gpu,
    Key,
    Mode,
    Order,
    Session,
    Slot,
    Version,
    acknowledged,
    answered,
    buffer,
    confidential,
    corrupt,
    counted,
    digested,
    ends_at,
    foreign,
    forges_d2h,
    forges_h2d,
    genuine,
    holds_model,
    in_session,
    interferes,
    issued,
    key_exchange,
    key_session,
    knows_d2h,
    knows_h2d,
    knows_master,
    leaked,
    learned,
    model_sent,
    model_uploaded,
    platform,
    repeated,
    report,
    report_inside,
    sealed,
    semaphore,
    sent_as,
    stash,
    the_model,
    traffic,
    trained_to,
    uploaded,
    workspace,
)


def specify_deductions(draft: Draft, hardware: Hardware = PLAIN, *, inner_key: bool = False) -> None:
    """Add the adversary's deductions on that hardware; with an ``inner_key`` the link key alone opens no chunk."""
    _pooling(draft)
    _forgery(draft, hardware)
    specify_messages_on_the_link(draft)
    _masters(draft)
    if not inner_key:
        _opening_chunks(draft)
    _opening_pads(draft)
    _opening_the_rest(draft)
    _reading(draft, hardware)


def responder_is(s: Session, gpu: Gpu) -> Formula:
    """Whether ``gpu`` really is at the far end of a session that was opened."""
    return answered(s) & (ends_at(s) == gpu)


def key_of(s: Session, key: Key) -> Formula:
    """Whether the key belongs to the session of the orchestrator's."""
    return key_exchange(s, key) | (issued(key) & (key_session(key) == s))


def _pooling(draft: Draft) -> None:
    for relation, what in ((knows_h2d, "h2d"), (knows_d2h, "d2h")):

        def pool(step: Step, x: Agent, y: Agent, k: Key) -> None:
            """Corrupt agents share what they know."""
            step.given("collude", corrupt(x) & corrupt(y) & relation(x, k))  # noqa: B023  # traced at once
            step.insert(relation(y, k))  # noqa: B023  # traced at once

        pool.__name__ = f"pool_{what}"
        draft.rule(by=ADVERSARY, says=f"{{x}} tells {{y}} the {what} half of {{k}}.", source="deck, Collusion")(pool)

    @draft.rule(by=ADVERSARY, says="{x} tells {y} the data {m}.", source="deck, Collusion")
    def pool_data(step: Step, x: Agent, y: Agent, m: Data) -> None:
        """Corrupt agents share what they have learned."""
        step.given("collude", corrupt(x) & corrupt(y) & learned(x, m))
        step.insert(learned(y, m))


def _forgery(draft: Draft, hardware: Hardware) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="A report of {q}, which is a fake or whose device key leaked, says what the adversary likes.",
        source="deck, Security Analysis: fake or malicious GPU",
    )
    def fake_reports(step: Step, q: Gpu, n: Session, mode: Mode) -> None:
        """A fake GPU has no certified key but signs any report; whoever has a device key signs any of its GPU's."""
        step.given("fake", ~genuine(q) | leaked(q))
        step.insert(report(q, n, mode))

    @draft.rule(
        by=ADVERSARY,
        says="The far end of {s} shows the report of {q} inside it.",
        source="nvtrust: the report is not bound to the session (cuckoo attack)",
    )
    def relay_report(step: Step, s: Session, e: Gpu, q: Gpu, n: Session, mode: Mode) -> None:
        """Whoever holds the session's secrets, a fake or the platform of a GPU in open mode, can show any report."""
        step.given("the session's far end", responder_is(s, e))
        step.given("in the adversary's hands", ~genuine(e) | (in_session(e, s) & ~confidential(e) & hardware.taps()))
        step.given("has it", report(q, n, mode))
        step.insert(report_inside(s, q, n, mode))

    @draft.rule(
        by=ADVERSARY,
        says="{x} forges the report {o} on the epoch of {k}, inside {s}.",
        source="AEAD: whoever knows the key makes valid messages",
    )
    def forge_acknowledgement(step: Step, x: Agent, s: Session, k: Key, o: Order) -> None:
        """What comes inside a session proves that somebody has its secrets, no more."""
        step.given("has the secrets", interferes & corrupt(x) & knows_master(x, s))
        step.given("key of the session", key_of(s, k))
        step.insert(acknowledged(k, o))

    @draft.rule(
        by=ADVERSARY,
        says="{x} forges a counter of {c} in the epoch of {k}, inside {s}.",
        source="AEAD: whoever knows the key makes valid messages",
    )
    def forge_count(step: Step, x: Agent, s: Session, k: Key, c: Key, n: Slot) -> None:
        """So with counters reported inside the session."""
        step.given("has the secrets", interferes & corrupt(x) & knows_master(x, s))
        step.given("key of the session", key_of(s, k))
        step.insert(counted(k, c, n))

    @draft.rule(
        by=ADVERSARY,
        says="{x} forges the digest of {n} in the epoch of {k}, inside {s}.",
        source="AEAD: whoever knows the key makes valid messages",
    )
    def forge_digest(step: Step, x: Agent, s: Session, k: Key, n: Version) -> None:
        """So with digests."""
        step.given("has the secrets", interferes & corrupt(x) & knows_master(x, s))
        step.given("key of the session", key_of(s, k))
        for told_of in (digested, trained_to, sent_as):
            step.insert(told_of(k, n))

    @draft.rule(
        by=ADVERSARY,
        says="The platform sets the plain semaphore {o}.",
        source="DEMY (arXiv 2507.02770): the completion semaphore is in unprotected memory",
    )
    def forge_semaphore(step: Step, o: Order) -> None:
        """Plain host-visible memory says what the host wants."""
        step.given("on the bus", interferes & corrupt(platform))
        step.insert(semaphore(o))


def _masters(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="The platform has the master of {s}, whose far end {e} is not protected.",
        source="deck, Security Analysis: fake or malicious GPU; nvtrust mode flags (open mode)",
    )
    def master_leaks(step: Step, s: Session, e: Gpu) -> None:
        """A fake GPU hands its secrets over; outside confidential mode the host reads them."""
        step.given("the session's far end", responder_is(s, e))
        step.given("the adversary's", corrupt(platform) & (~genuine(e) | (in_session(e, s) & ~confidential(e))))
        step.insert(knows_master(platform, s))

    @draft.rule(
        by=ADVERSARY,
        says="The platform derives or unwraps {k} with the master of {s}.",
        source="open-gpu-kernel-modules conf_compute_keystore_gh100.c: every key hangs on the session's master",
    )
    def master_opens_keys(step: Step, s: Session, k: Key) -> None:
        """Whoever has the master has every key of the session, early or late."""
        step.given("keys of the session", key_of(s, k))
        step.given("has the master", corrupt(platform) & knows_master(platform, s))
        step.insert(knows_h2d(platform, k))
        step.insert(knows_d2h(platform, k))


def _opening_chunks(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="The platform decrypts {m}, which {a} sent under {k}.",
        message="platform -> platform: decrypts {m} with {k}",
        source="open-gpu-kernel-modules uvm: ciphertext lies in unprotected memory",
    )
    def decrypt(step: Step, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """The platform records every ciphertext."""
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & knows_h2d(platform, k))
        step.insert(learned(platform, m))


def _opening_pads(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="Two chunks under {k} share the IV {v}: the platform has both plaintexts.",
        source="RFC 5116 section 5.1.1; SP 800-38D section 8 (two writers)",
    )
    def two_time_pad(step: Step, a: Agent, b: Agent, k: Key, v: Slot, m: Data, n: Data) -> None:
        """One key stream twice gives the difference, and the authentication key: the spec counts all as lost."""
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & sealed(b, k, v, n) & (m != n))
        step.insert(learned(platform, m), name="learn m")
        step.insert(learned(platform, n), name="learn n")
        step.insert(forges_h2d(platform, k))

    @draft.rule(
        by=ADVERSARY,
        says="A chunk and an upload under {k} share the IV {v}: the platform has {m}, and forges under {k}.",
        source="RFC 5116 section 5.1.1; SP 800-38D section 8 (two writers); Joux, Authentication Failures in NIST GCM",
    )
    def known_plaintext_pad(step: Step, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """The code that is uploaded is no secret, so its key stream is known, and then the authentication key."""
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & uploaded(k, v))
        step.insert(learned(platform, m))
        step.insert(forges_h2d(platform, k))

    @draft.rule(
        by=ADVERSARY,
        says="A chunk and the upload of the model under {k} share the IV {v}: the platform has the model.",
        source="RFC 5116 section 5.1.1; SP 800-38D section 8 (two writers)",
    )
    def model_pad(step: Step, a: Agent, k: Key, v: Slot, m: Data) -> None:
        """So with the model, if that was in the upload."""
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & model_uploaded(k, v))
        step.insert(learned(platform, the_model))

    @draft.rule(
        by=ADVERSARY,
        says="Two uploads under {k} share the IV {v}: the platform forges under {k}.",
        source="RFC 5116 section 5.1.1; SP 800-38D section 8; Joux, Authentication Failures in NIST GCM",
    )
    def upload_pad(step: Step, k: Key, v: Slot) -> None:
        """Two messages with one IV give the authentication key away, whatever they say."""
        step.given("recorded", corrupt(platform) & sealed_again(k, v))
        step.insert(forges_h2d(platform, k))

    @draft.rule(
        by=ADVERSARY,
        says="Two uploads under {k} share the IV {v}, one with the model: the platform has it.",
        source="RFC 5116 section 5.1.1; SP 800-38D section 8",
    )
    def upload_opened(step: Step, k: Key, v: Slot) -> None:
        """The other one is the code, which is no secret."""
        step.given("recorded", corrupt(platform) & sealed_again(k, v) & model_uploaded(k, v))
        step.insert(learned(platform, the_model))


def _opening_the_rest(draft: Draft) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="The platform decrypts training traffic derived from {m} under {k}.",
        source="open-gpu-kernel-modules cc_drv.h: the d2h half",
    )
    def decrypt_traffic(step: Step, k: Key, m: Data) -> None:
        """What training sends home is derived from data."""
        step.given("recorded", corrupt(platform) & traffic(k, m) & knows_d2h(platform, k))
        step.insert(learned(platform, m))

    @draft.rule(
        by=ADVERSARY,
        says="The platform decrypts the upload of the model under {k}.",
        source="open-gpu-kernel-modules uvm: ciphertext lies in unprotected memory",
    )
    def decrypt_upload(step: Step, k: Key, v: Slot) -> None:
        """The first upload of a session holds the model."""
        step.given("recorded", corrupt(platform) & model_uploaded(k, v) & knows_h2d(platform, k))
        step.insert(learned(platform, the_model))

    @draft.rule(
        by=ADVERSARY,
        says="The platform decrypts the model that went home under {k}.",
        source="open-gpu-kernel-modules cc_drv.h: the d2h half",
    )
    def decrypt_model(step: Step, k: Key) -> None:
        """What the GPU sent home is on record until its key is known."""
        step.given("recorded", corrupt(platform) & model_sent(k) & knows_d2h(platform, k))
        step.insert(learned(platform, the_model))

    @draft.rule(
        by=ADVERSARY,
        says="Two messages home under {k} share the IV {v}: the platform forges under {k}.",
        source="RFC 5116 section 5.1.1; SP 800-38D section 8 (half-done rotation)",
    )
    def reply_pad(step: Step, k: Key, v: Slot) -> None:
        """The same in the other direction: the authentication key is lost."""
        step.given("recorded", corrupt(platform) & repeated(k, v))
        step.insert(forges_d2h(platform, k))

    @draft.rule(
        by=ADVERSARY,
        says="Two messages home under {k} share an IV: the platform has {m}, which one of them derives from.",
        source="RFC 5116 section 5.1.1; SP 800-38D section 8 (half-done rotation)",
    )
    def reply_opened(step: Step, k: Key, m: Data) -> None:
        """One key stream twice gives the difference; the spec counts all that went home as lost."""
        step.given("recorded", corrupt(platform) & forges_d2h(platform, k) & traffic(k, m))
        step.insert(learned(platform, m))

    @draft.rule(
        by=ADVERSARY,
        says="Two messages home under {k} share an IV: the platform has the model, which went home under it.",
        source="RFC 5116 section 5.1.1; SP 800-38D section 8 (half-done rotation)",
    )
    def model_opened(step: Step, k: Key) -> None:
        """So with the model."""
        step.given("recorded", corrupt(platform) & forges_d2h(platform, k) & model_sent(k))
        step.insert(learned(platform, the_model))


def _there(gpu: Gpu, data: Data) -> Formula:
    """Whether ``data`` is where whoever reaches all of the GPU's memory finds it."""
    held = buffer(gpu, data) | workspace(gpu, data) | stash(gpu, data)
    return held | (holds_model(gpu) & (data == the_model))


def _reading(draft: Draft, hardware: Hardware) -> None:
    @draft.rule(
        by=ADVERSARY,
        says="{x} reads {m} from {g} through the link, under {k}.",
        message="{g} -> {x}: {m}, read under {k}",
        source=f"{WHOLE_GPU} (residue)",
    )
    def read_gpu(step: Step, x: Agent, g: Gpu, k: Key, m: Data) -> None:
        """Whichever half was lent, its owner can make the GPU write out what is in memory."""
        step.given("access", hardware.reaches(x, g, k))
        step.given("there", buffer(g, m) if hardware.confined else _there(g, m))
        step.insert(learned(x, m))

    @draft.rule(
        by=ADVERSARY,
        says="Code planted on {g} copies {m} to where no scrub looks.",
        source=WHOLE_GPU,
    )
    def hide_copy(step: Step, g: Gpu, m: Data) -> None:
        """Planted code waits for the next turn of whoever planted it."""
        step.given("runs", foreign(g) & (buffer(g, m) | workspace(g, m)))
        step.insert(stash(g, m))

    @draft.rule(
        by=ADVERSARY,
        says="Code planted on {g} writes {m} to plain host memory.",
        message="{g} -> platform: {m}, in the clear",
        source=WHOLE_GPU,
    )
    def write_out(step: Step, g: Gpu, m: Data) -> None:
        """Code on the GPU can write unprotected host memory without any key."""
        step.given("runs", corrupt(platform) & foreign(g))
        step.given("there", _there(g, m))
        step.insert(learned(platform, m))

    @draft.rule(
        by=ADVERSARY,
        says="The platform reads {m} from {g}, which is out of confidential mode.",
        message="{g} -> platform: {m}, read in open mode",
        source="nvtrust mode flags (open mode)",
    )
    def read_in_open_mode(step: Step, g: Gpu, m: Data) -> None:
        """Outside confidential mode, memory is the platform's."""
        step.given("open mode", corrupt(platform) & genuine(g) & ~confidential(g))
        step.given("there", _there(g, m))
        step.insert(learned(platform, m))
