"""Setup steps: the orchestrator attests the GPU in a session; holders attest the orchestrator and authenticate.

One-way attestation is what makes GPU Travelling possible (deck, Proposal: "Single-way attestation"): a CVM attests a
GPU, never the reverse. Nothing here is secret to outsiders; everything is *bound*: the report to the session it
arrives in and to a nonce, the quote to the channel it arrives on, the enrolment key to the channel it is proved in.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.family import Profile
from carnet_spec.protocols.gpu_travelling.adversary import wipe
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *

_DECK = "deck, How it works: Setup"


def specify_setup(draft: Draft, schedule: Schedule) -> None:
    """Add the setup steps to ``draft``."""
    by_orchestrator = partial(draft.action, ORCHESTRATOR)
    by_gpu = partial(draft.action, GPU, actor=genuine)

    @by_orchestrator(
        f"{_DECK}; open-gpu-kernel-modules spdm.c, KEY_EXCHANGE",
        "REQ-STOP-01",
        "REQ-SETUP-01",
        "REQ-IV-04",
        "REQ-MODEL-04",
    )
    def open_session(step: Step, s: Session, k: Key, c: Slot) -> None:
        """Fail-stop is starting again from what was kept: what was trained since then is recorded as lost."""
        step.says("The orchestrator gives up whatever went before and asks what is in its slot for a session, {s}.")
        step.message("orchestrator -> gpu: KEY_EXCHANGE ({s})")
        ask_for_session(step, s, k, c, schedule)
        start_again(step, k, kept)

    @by_orchestrator("Carnet (attest, reset, re-attach without attestation)", shortcut_of="fail-stop-on-reset")
    def reattach(step: Step, s: Session, k: Key, c: Slot) -> None:
        """What a driver does that reconnects by itself."""
        step.says("The orchestrator re-attaches to what is in its slot, in session {s}, and goes on where it was.")
        step.message("orchestrator -> gpu: KEY_EXCHANGE ({s})")
        step.require("under way", (phase != Phase.SETUP) & (phase != Phase.OPENED))
        ask_for_session(step, s, k, c, schedule)
        step.insert(issued(k))

    @by_gpu(
        "open-gpu-kernel-modules spdm.c; conf_compute_keystore_gh100.c: first keys come from the session",
        "REQ-SETUP-01",
    )
    def answer_session(step: Step, g: Gpu, s: Session, k: Key) -> None:
        """A genuine GPU takes part in one session at a time, in whatever mode it was booted."""
        step.says("{g} answers the key exchange of {s}.")
        step.message("{g} -> orchestrator: KEY_EXCHANGE_RSP ({s})")
        step.given("in the slot", in_slot(g))
        step.given("one end", ~answered(s))
        step.require("idle", ~occupied(g))
        step.require("asked", key_exchange(s, k))
        step.insert(answered(s), responder(s, g))
        step.set(ends_at(s), g)
        step.insert(protected(s), when=confidential(g))
        step.insert(occupied(g), in_session(g, s), live_h2d(g, k), live_d2h(g, k), stale(g, k))

    @draft.action(ADVERSARY, "deck, Security Analysis: fake or malicious GPU", cost=1)
    def fake_answers(step: Step, g: Gpu, s: Session, k: Key, q: Gpu) -> None:
        """A fake in the slot completes the exchange under its own name, or with a device key that leaked."""
        step.says("The fake {g} answers the key exchange of {s}, signed with the key of {q}.")
        step.message("{g} -> orchestrator: KEY_EXCHANGE_RSP ({s})")
        step.given("fake in the slot", interferes & ~genuine(g) & in_slot(g))
        step.given("one end", ~answered(s))
        step.given("asked", key_exchange(s, k))
        step.given("has the key", (q == g) | leaked(q))
        step.insert(answered(s), responder(s, q))
        step.set(ends_at(s), g)

    @by_gpu("open-gpu-kernel-modules kernel_gsp_gh100.c: reset wipes memory and keys (A4)", "REQ-STOP-02")
    def lose_session(step: Step, g: Gpu) -> None:
        """Nobody needs to be corrupt for a GPU to lose its session: what was in it is gone, and so are its keys."""
        step.says("{g} is reset, by a fault or by whoever runs it, and boots as it was booted before.")
        wipe(step, g)

    @draft.rule(GPU, "nvtrust local_gpu_verifier: GET_MEASUREMENTS; DSP0274 measurements", "REQ-SETUP-02")
    def give_report(step: Step, g: Gpu, s: Session, mode: Mode) -> None:
        """The report is signed by the device and states its mode; inside the session it comes from the responder."""
        step.says("{g} answers inside session {s} with a report of mode {mode} for its nonce.")
        step.message("{g} -> orchestrator: MEASUREMENTS (nonce {s}, {mode})")
        step.actor(g, genuine(g))
        step.require("own session", in_session(g, s))
        step.require("asked", responder(s, g))
        step.require("true mode", shows(g, mode))
        step.insert(report(g, s, mode), report_inside(s, g, s, mode))

    @by_orchestrator(
        "nvtrust local_gpu_verifier, cc_admin.py; deck, Introducing Confidential GPUs",
        "REQ-SETUP-03",
        "REQ-SETUP-04",
        "REQ-SETUP-05",
        "REQ-SETUP-06",
        "REQ-SETUP-07",
        "REQ-SETUP-14",
        "REQ-SETUP-15",
        "REQ-SETUP-16",
    )
    def accept_gpu(step: Step, q: Gpu, n: Session, mode: Mode) -> None:
        """Appraise evidence: certificate and revocation, nonce, flags, measurements, how it came, and its signer."""
        step.says("The orchestrator accepts the GPU on a report by {q} for nonce {n}, mode {mode}.")
        step.require("phase", phase == Phase.OPENED)
        step.require("report in session", report_inside(session, q, n, mode), defence="report-in-session")
        step.require("report anywhere", report(q, n, mode), unless="report-in-session")
        step.require("certificate", certified(q), defence="gpu-certificate")
        step.require("nonce", n == session, defence="report-nonce")
        step.require("not revoked", ~revoked(q), defence="revocation-check")
        step.require("mode", mode != Mode.OPEN, defence="mode-check")
        step.require("debug flag", mode != Mode.DEBUG, defence="debug-check")
        step.require("reference values", mode != Mode.OUTDATED, defence="reference-values")
        step.require("signer is responder", responder(session, q), defence="signer-is-responder")
        step.insert(attested(session), issued(link_h2d))
        step.set(phase, Phase.ROTATED_IN)

    @draft.rule(
        HOLDER,
        "deck, Threat Model; Sardar et al., Identity Crisis (post-handshake binding)",
        "REQ-SETUP-08",
        "REQ-SETUP-09",
        "REQ-SETUP-10",
        "REQ-SETUP-17",
    )
    def attest_orchestrator(step: Step, a: Agent, p: Agent, q: Agent) -> None:
        """A quote says little by itself: of the right code, for this channel, about this job, by the one instance."""
        step.says("Holder {a} attests its channel, which ends at {p}, on a quote of {q}.")
        step.message("{p} -> {a}: TD quote of {q}")
        step.actor(a, ~corrupt(a))
        step.given("the network chooses the far end", (p == orchestrator) | corrupt(p) | twin(p))
        step.require("a holder", enrolled(a))
        step.require("measurement", measured(q), defence="orchestrator-quote")
        step.require("bound to the channel", p == q, defence="quote-bound-to-channel")
        step.require("manifest", job_manifest(q) | ~measured(q), defence="manifest-check")
        step.require("agreed on", schedule.agreed_on(q), defence="one-instance")
        step.insert(channel(a, p))

    @by_orchestrator(
        "Carnet (a forked orchestrator): whoever owns the machine starts an image as often as it likes",
        shortcut_of="one-instance",
    )
    def second_instance_grants(step: Step, p: Agent, a: Agent, k: Key, v: Slot, b: Address, s: Session) -> None:
        """It is as honest as the first; but what it is given goes into another model."""
        step.says(
            "A second instance {p}, started on the same manifest, grants {a} the key {k} of a session of its own."
        )
        step.message("{p} -> {a}: grant of {k}")
        step.actor(p, ~corrupt(p))
        step.given("started on the same manifest", twin(p) & answered(s))
        step.given("its channel", channel(a, p))
        step.fresh(k)
        step.set(owner(k), a)
        step.set(key_session(k), s)
        step.insert(knows_h2d(p, k), knows_d2h(p, k), offer(p, a, k, v), addressed(p, a, k, b))

    _enrol(draft)
    _route(draft)


def ask_for_session(step: Step, s: Session, k: Key, c: Slot, schedule: Schedule) -> None:
    """Ask for a session and draw its first link key."""
    step.fresh(s)
    step.fresh(k)
    step.set(session, s)
    step.set(link_h2d, k)
    step.set(link_d2h, k)
    step.set(key_session(k), s)
    step.set(owner(k), orchestrator)
    step.insert(key_exchange(s, k), orchestrated(s))
    step.insert(knows_h2d(orchestrator, k), name="orchestrator h2d")
    step.insert(knows_d2h(orchestrator, k), name="orchestrator d2h")
    step.insert(knows_launch(orchestrator, s), name="orchestrator launch key")
    schedule.open_channel(step, s, orchestrator, k, c)


def start_again(step: Step, first_key: Key, version: Expression) -> None:
    """Continue from ``version`` in a new session; epochs returned since it was saved are recorded as lost."""
    step.remove(mux_request(step.each(Agent)), name="withdraw route")
    step.insert(mux_request(orchestrator), name="ask for route")
    step.set(latest, version)
    gone = step.each(Key)
    step.insert(lost(gone), when=taken_back(gone) & ~secured(gone))
    step.set(lent_key, first_key)
    step.set(custody, Custody.NONE)
    step.set(phase, Phase.OPENED)


def twin(p: Agent) -> Formula:
    """Whether it is a second instance of the same code with the same manifest, as honest as the first."""
    return measured(p) & job_manifest(p) & (p != orchestrator)


def _enrol(draft: Draft) -> None:
    @draft.rule(HOLDER, "Carnet (impersonated holder)", "REQ-SETUP-11")
    def prove_enrolment(step: Step, a: Agent) -> None:
        """The proof names the channel it is made in, so that relaying it is of no use."""
        step.says("Holder {a} proves its enrolment key in the attested channel.")
        step.message("{a} -> orchestrator: enrolment proof")
        step.actor(a, ~corrupt(a))
        step.require("a holder", enrolled(a))
        step.require("attested channel", channel(a, orchestrator))
        step.insert(enrolment_proof(a, a))

    @draft.rule(ADVERSARY, "Carnet: corrupt holders pool what they have")
    def lend_enrolment(step: Step, a: Agent, p: Agent) -> None:
        """A corrupt holder may let any corrupt agent sit at the end of its channel."""
        step.says("Corrupt holder {a} lets {p} use its enrolment key.")
        step.given("corrupt", corrupt(a) & enrolled(a) & corrupt(p))
        step.insert(enrolment_proof(a, p))

    @draft.rule(ORCHESTRATOR, "Carnet (impersonated holder)", "REQ-SETUP-12")
    def admit(step: Step, a: Agent, p: Agent) -> None:
        """Whoever is at the other end has to prove the key of the holder that the grant will be for."""
        step.says("The orchestrator takes the channel of {p} for holder {a}'s.")
        step.given("who is there", (p == a) & ~corrupt(a) & channel(a, orchestrator) | corrupt(p))
        step.require("a holder", enrolled(a))
        step.require("enrolment proof", enrolment_proof(a, p), defence="enrolment-check")
        step.insert(admitted(a, p))


def _route(draft: Draft) -> None:
    @draft.action(PLATFORM, "deck, Enabler: PCIe/SXM MUX", "REQ-PLATFORM-01")
    def switch_mux(step: Step, x: Agent) -> None:
        """An honest platform follows the request, in its own time; a corrupt one reaches every bus anyway."""
        step.says("The platform routes the GPU to {x}, as asked.")
        step.message("orchestrator -> platform: route to {x}")
        step.actor(platform, ~corrupt(platform))
        step.require("asked", mux_request(x))
        step.require("not there yet", mux != x)
        step.set(mux, x)


# -- endorsed ----------------------------------------------------------------------------------------------------------
# The holders agree on one instance of the orchestrator by a mechanism, and need not assume it.
#
# Whoever owns the machine starts the same image with the same manifest as often as it likes, and each instance is
# honest. Every holder *endorses* one instance, the first whose quote it checked: it signs that instance's key with its
# enrolment key, once for the job. A holder takes grants from an instance only with the endorsements of all enrolled
# holders. As no honest holder endorses two, no two of them take grants from different instances. A corrupt holder can
# refuse, which costs availability; it can endorse as many as it likes, which gains nothing.
#
# Where the honest holders endorse one and the same proper instance, that one is called the orchestrator: this is a
# name, and assumes nothing.

#: A size with a second instance, and one with a corrupt holder.
ENDORSEMENT_HUNTS = (
    Profile("two instances", {"rounds": 1, "chunks": 0, "corrupt": 0, "twins": 1, "own_keys": 1}, budget=0),
    Profile("a corrupt holder", {"rounds": 1, "chunks": 1, "corrupt": 1}, budget=1),
)

first_seen = rigid_relation("first_seen", Agent, Agent, says="the instance is the one that the holder endorses")
endorsed = relation(
    "endorsed", Agent, Agent, kind=Kind.MESSAGE, says="the holder signed, with its enrolment key, that it is the one"
)


class Endorsed(Schedule):
    """A schedule with a fresh key for every epoch, granted by the instance that every holder endorsed."""

    name = "endorsed-instance"

    def agreed_on(self, instance: Agent) -> Formula:
        """Whether every enrolled holder endorsed it."""
        return forall(lambda b: implies(enrolled(b), endorsed(b, instance)), Agent)

    def rules(self, draft: Draft) -> None:
        """Add the endorsement by holders."""
        super().rules(draft)
        _endorse(draft)

    def lemmas(self, draft: Draft) -> None:
        """Add the lemmas about endorsements."""
        super().lemmas(draft)

        @draft.lemma
        def endorsements_are_single(b: Agent, q: Agent) -> Formula:
            """An honest holder endorses the one instance that it saw first, which runs the job."""
            return implies(endorsed(b, q) & ~corrupt(b), first_seen(b, q) & measured(q) & job_manifest(q))

        @draft.lemma
        def channels_are_endorsed(a: Agent, b: Agent, p: Agent) -> Formula:
            """A channel that a holder attested ends at an instance that all endorsed."""
            return implies(channel(a, p) & enrolled(b), endorsed(b, p))


def name_the_orchestrator(draft: Draft) -> None:
    """Define the orchestrator: of several instances, the one that all honest holders endorse, if there is one."""
    draft.axiom(
        "a holder endorses one instance",
        forall(lambda a, p, q: implies(_endorses(a, p) & _endorses(a, q), p == q), Agent, Agent, Agent),
        assumption="A15",
    )
    one = forall(lambda a, p: implies(_endorses(a, p), p == orchestrator), Agent, Agent)
    several = exists(lambda a, b, p, q: _endorses(a, p) & _endorses(b, q) & (p != q), *(Agent, Agent, Agent, Agent))
    improper = exists(lambda a, p: _endorses(a, p) & ~(measured(p) & job_manifest(p)), Agent, Agent)
    draft.axiom("the orchestrator is the one endorsed", one | several | improper, assumption="A22")


def _endorses(holder: Agent, instance: Agent) -> Formula:
    """Whether it is the one instance that an honest holder endorses."""
    return enrolled(holder) & ~corrupt(holder) & first_seen(holder, instance)


def _endorse(draft: Draft) -> None:
    @draft.rule(HOLDER, "Carnet (a forked orchestrator)", "REQ-SETUP-18")
    def endorse(step: Step, a: Agent, q: Agent) -> None:
        """One instance only, for the whole job: the first that it saw."""
        step.says("Holder {a} endorses the instance {q}, whose quote it checked.")
        step.message("{a} -> {q}: endorsement of {q}")
        step.actor(a, ~corrupt(a))
        step.require("a holder", enrolled(a))
        step.require("measurement", measured(q))
        step.require("manifest", job_manifest(q))
        step.require("the first", first_seen(a, q))
        step.insert(endorsed(a, q))

    @draft.rule(ADVERSARY, "Carnet (a forked orchestrator)")
    def endorse_anything(step: Step, b: Agent, q: Agent) -> None:
        """As many as it likes."""
        step.says("Corrupt holder {b} endorses {q}.")
        step.given("corrupt", corrupt(b))
        step.insert(endorsed(b, q))


# -- backup ------------------------------------------------------------------------------------------------------------
# A backup orchestrator, as a pattern: a second instance of the same manifest takes over when the first has stopped.
#
# Here *the orchestrator* is the line of instances that the holders agreed on, of which one at a time is in charge. A
# take-over is a fail-stop whose next session another instance opens. It needs the record: the model last kept with its
# digest, the ledger, and which epochs were returned, secured or lost. Sessions, keys and counters are not handed over;
# they die with the first instance, and GPU and holders are attested anew.
#
# Two things have to be right. The record must be the newest one, although storage is the platform's and rolls back
# (*whole-hand-over*); how instances agree on it, by a counter or by acknowledgements of holders, is left to
# replication. And the first instance must have stopped: without that agreement (*one-instance*) both run, which is a
# fork.

deposited = relation("deposited", Version, kind=Kind.MESSAGE, says="a record that keeps the version is in storage")
_PATTERN = "deck, Outlook: backup orchestrator; Carnet (pattern only, without replication)"


def specify_backup(draft: Draft, schedule: Schedule) -> None:
    """Add the deposit of the custody record, and the take-over by a backup."""

    @draft.rule(ORCHESTRATOR, _PATTERN)
    def deposit(step: Step, n: Version) -> None:
        """Every record is deposited as soon as there is one, and storage keeps old ones too."""
        step.says("The orchestrator deposits its record, which keeps {n}.")
        step.message("orchestrator -> platform: the record with {n}, sealed for its instances")
        step.require("in force", kept == n)
        step.insert(deposited(n))

    @draft.action(ORCHESTRATOR, _PATTERN)
    def take_over(step: Step, s: Session, k: Key, c: Slot, n: Version) -> None:
        """What the first instance had under way is lost with its session, as after any fail-stop."""
        step.says("The second instance takes over with the record that keeps {n}, and asks for a session, {s}.")
        step.message("orchestrator -> gpu: KEY_EXCHANGE ({s})")
        step.require("there was a first", phase != Phase.SETUP)
        step.require("a record", deposited(n))
        step.require("the newest record", n == kept, defence="whole-hand-over")
        ask_for_session(step, s, k, c, schedule)
        start_again(step, k, n)
        step.set(kept, n)
