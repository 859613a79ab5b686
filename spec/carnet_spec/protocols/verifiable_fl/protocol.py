"""The steps of verifiable claims: exclaves and their statements, the auditor, and the adversary's moves."""

from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.verifiable_fl.vocabulary import *


def specify(draft: Draft) -> None:
    """Add the initial state and all steps to ``draft``."""
    draft.initially(tip, lambda e, r: start)
    draft.initially(seen, lambda r, e: start)

    _exclaves(draft)
    _auditing(draft)
    _adversary(draft)


# -- exclaves ----------------------------------------------------------------------------------------------------------
# An exclave is launched for a run, takes steps in any number, says of each what it did, and ends its log.

_EXCLAVES = "VerifiableFL, abstract: exclaves"
_PROOFS = "VerifiableFL, abstract: runtime attestation proofs"


def _exclaves(draft: Draft) -> None:
    draft.defence("log-grows", "an exclave names the last statement of its log")
    draft.defence("end-final", "an exclave takes no step after it ended its log")
    draft.defence("proof-first", "an exclave reads what a step gave only with that step's signed statement")
    draft.defence("digest-inside", "an exclave digests the very bytes that its step reads")
    draft.defence("key-in-hardware", "hardware vouches for each statement; software has no key for it")

    by_exclave = partial(draft.action, EXCLAVE, actor=sound)

    @by_exclave(_EXCLAVES, "REQ-EXCLAVE-01")
    def launch(step: Step, e: Exclave, r: TrainingRun) -> None:
        """Nobody has to keep a secret for an exclave, so anybody may launch one."""
        step.says("{e} is launched for {r}, and shows evidence.")
        step.message("{e} -> platform: evidence for its key and {r}")
        step.given("not before", ~launched(e, r))
        step.insert(launched(e, r), evidence(e, r))

    @by_exclave(_PROOFS, *(f"REQ-STEP-0{number}" for number in range(1, 6)), "REQ-KEY-01")
    def perform(step: Step, e: Exclave, s: StepStatement) -> None:
        """What was read, what ran and what was given, the exclave finds out by itself."""
        step.says("{e} takes a step, and makes {s} of it.")
        step.message("{e} -> platform: {s}, signed")
        step.require("its own", (maker(s) == e) & (s != start))
        step.require("of its run", launched(e, during(s)))
        step.require("not made before", ~made(s))
        step.given("signed, what it names", (prior(s) == start) | signed(prior(s)))
        step.require("the next of its log", prior(s) == tip(e, during(s)), defence="log-grows")
        step.require("log not ended", ~closed(e, during(s)), defence="end-final")
        proofs = forall(lambda d: implies(reads(s, d) & ~raw(s, d), signed(via(s, d))), Data)
        step.require("a proof of each input", proofs, defence="proof-first")
        data, before = step.each(Data), step.each(StepStatement)
        step.insert(consumed(s, data), when=reads(s, data))
        step.insert(earlier(before, s), when=performed(before))
        step.insert(made(s), performed(s), signed(s))
        step.insert(cleaned(gives(s)), when=cleans(task(s)))
        step.set(tip(e, during(s)), s)

    @by_exclave("Carnet (a log cut short)", "REQ-STEP-05")
    def end(step: Step, e: Exclave, r: TrainingRun) -> None:
        """Only an end tells a whole log from one of which the rest is kept back."""
        step.says("{e} ends its log of {r}.")
        step.message("{e} -> platform: the log of {r} ends with {e}'s last statement")
        step.require("its run", launched(e, r))
        step.require("not ended before", ~closed(e, r))
        step.insert(closed(e, r), ended(e, r, tip(e, r)))


# -- auditing ----------------------------------------------------------------------------------------------------------
# An auditor takes evidence, then statements one by one, and then each log for whole.

_GRAPH = "VerifiableFL, abstract: attested dataflow graph"
_RELAY = "Carnet (relayed evidence)"


def _auditing(draft: Draft) -> None:
    draft.defence("key-bound", "evidence counts for the key that it is bound to only")
    draft.defence("certificate", "the auditor checks the certificate chain of evidence")
    draft.defence("measurement", "the auditor checks that evidence is of the exclave program")
    draft.defence("run-bound", "evidence and statements count for the run that they name only")
    draft.defence("signature", "the auditor checks the signature of each statement")
    draft.defence("log-followed", "a statement is accepted only after the one that it names as the one before")
    draft.defence("inputs-linked", "each input is a claimed source, or what an accepted statement gave")
    draft.defence("code-claimed", "a statement is accepted only for code that the claims name")
    draft.defence("sanitised", "what is trained on comes from where the claims say")
    draft.defence("log-ended", "a log is whole only if it ends with the last statement accepted")

    by_auditor = partial(draft.action, AUDITOR)

    @by_auditor(_RELAY, "REQ-AUDIT-01", "REQ-AUDIT-02", "REQ-AUDIT-03", "REQ-AUDIT-04")
    def enlist(step: Step, r: TrainingRun, e: Exclave, x: Exclave, q: TrainingRun) -> None:
        """Evidence says which program has the key, and for which run it was launched."""
        step.says("The auditor of {r} takes evidence of {x} for {q} as that of {e}.")
        step.require("evidence", evidence(x, q))
        step.require("of this key", x == e, defence="key-bound")
        step.require("of this run", q == r, defence="run-bound")
        step.require("certificate", certified(x), defence="certificate")
        step.require("measurement", measured(x), defence="measurement")
        step.insert(enlisted(r, e))

    @by_auditor(_GRAPH, "REQ-AUDIT-04", "REQ-AUDIT-05", "REQ-AUDIT-06", "REQ-AUDIT-07", "REQ-AUDIT-08", "REQ-AUDIT-10")
    def accept(step: Step, r: TrainingRun, s: StepStatement) -> None:
        """Who shows a statement, and in which order, does not matter: what it names has to be there."""
        step.says("The auditor accepts {s} as one of {r}.")
        step.require("a statement of an exclave taken", enlisted(r, maker(s)) & (s != start))
        step.require("signature", signed(s), defence="signature")
        step.require("of this run", during(s) == r, defence="run-bound")
        step.require("the next of its log", prior(s) == seen(r, maker(s)), defence="log-followed")
        step.require("claimed code", vetted(task(s)), defence="code-claimed")
        linked = forall(lambda d: implies(reads(s, d), _linked(r, s, d)), Data)
        step.require("inputs", linked, defence="inputs-linked")
        clean = forall(lambda d: implies(trains(task(s)) & reads(s, d), _clean(s, d)), Data)
        step.require("trained on what may be", clean, defence="sanitised")
        step.insert(doubled(r, s), when=accepted(r, s))
        step.insert(accepted(r, s))
        step.set(seen(r, maker(s)), s)

    @by_auditor("Carnet (a log cut short)", "REQ-AUDIT-09")
    def conclude(step: Step, r: TrainingRun, e: Exclave) -> None:
        """Without an end, the platform keeps back whatever does not suit it."""
        step.says("The auditor takes the log of {e} in {r} for whole.")
        step.require("taken", enlisted(r, e))
        step.require("ends there", ended(e, r, seen(r, e)), defence="log-ended")
        step.insert(whole(r, e))


def _linked(run: TrainingRun, statement: StepStatement, data: Data) -> Formula:
    """Whether an input is a source that the claims name, or what the named statement gave, which was accepted."""
    origin = via(statement, data)
    given = accepted(run, origin) & (gives(origin) == data)
    return (raw(statement, data) >> committed(data)) & (~raw(statement, data) >> given)


def _clean(statement: StepStatement, data: Data) -> Formula:
    """Whether an input of training is the first model, or comes from code that cleans."""
    source = raw(statement, data) >> initial(data)
    return source & (~raw(statement, data) >> cleans(task(via(statement, data))))


# -- adversary ---------------------------------------------------------------------------------------------------------
# The platform, any number of colluders with exclaves of their own, and an adversary that reads memory.


def _adversary(draft: Draft) -> None:
    by_adversary = partial(draft.action, ADVERSARY)
    rule = partial(draft.rule, ADVERSARY)

    @rule("VerifiableFL, abstract: data leakage attacks")
    def read_memory(step: Step, e: Exclave, r: TrainingRun) -> None:
        """An exclave keeps nothing that would have to be kept: whatever leaks, it vouches for no other step."""
        step.says("The adversary reads the memory of {e}.")
        step.given("it leaks", leaky(e) & launched(e, r))
        step.insert(memory(e))

    @rule("Carnet (an exclave of its own)")
    def forge_evidence(step: Step, e: Exclave, r: TrainingRun) -> None:
        step.says("The adversary shows evidence of its own for {e} and {r}.")
        step.given("its own", ~sound(e))
        step.insert(evidence(e, r))

    @rule("Carnet (who has the key speaks)")
    def forge(step: Step, s: StepStatement) -> None:
        step.says("The adversary signs {s} under a key of its own.")
        step.given("its own", ~sound(maker(s)) & (s != start))
        step.insert(signed(s))

    @rule("Carnet (who has the key speaks)")
    def forge_end(step: Step, e: Exclave, r: TrainingRun, s: StepStatement) -> None:
        step.says("The adversary ends the log of {e} in {r} with {s}.")
        step.given("its own", ~sound(e))
        step.insert(ended(e, r, s))

    @rule("VerifiableFL, abstract: data leakage attacks", shortcut_of="key-in-hardware")
    def sign_with_leaked_key(step: Step, s: StepStatement) -> None:
        step.says("The adversary signs {s} under the key that it read.")
        step.given("read", memory(maker(s)) & (s != start))
        step.insert(signed(s))

    @rule("VerifiableFL, abstract: data leakage attacks", shortcut_of="key-in-hardware")
    def end_with_leaked_key(step: Step, e: Exclave, r: TrainingRun, s: StepStatement) -> None:
        step.says("The adversary ends the log of {e} in {r} with {s}, under the key that it read.")
        step.given("read", memory(e))
        step.insert(ended(e, r, s))

    @by_adversary("Carnet (an input exchanged)", shortcut_of="digest-inside")
    def exchange(step: Step, s: StepStatement, d: Data) -> None:
        """Between the digest and the step, memory outside is the platform's."""
        step.says("The platform exchanges an input of {s} for {d} after it was digested.")
        step.given("read outside", made(s))
        step.insert(consumed(s, d))
