"""The claims, goals and lemmas of verifiable claims, for any number of exclaves, statements, runs, data and code."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.verifiable_fl.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("sealed", "leaking")  #: The threat models under which every claim is made.


def state_properties(draft: Draft) -> None:
    """Add claims, goals and lemmas to ``draft``, and say which of them fall in its variant."""
    claim = Claims(draft, TEXT, THREATS)

    @claim("step-taken", "VerifiableFL, abstract: runtime attestation proofs")
    def step_taken(r: TrainingRun, s: StepStatement) -> Formula:
        return implies(accepted(r, s), performed(s))

    @claim("code-claimed", "VerifiableFL, abstract: correct training algorithm")
    def code_claimed(r: TrainingRun, s: StepStatement) -> Formula:
        return implies(accepted(r, s), vetted(task(s)))

    @claim("this-run", "Carnet (a statement of another run)")
    def this_run(r: TrainingRun, s: StepStatement) -> Formula:
        return implies(accepted(r, s), during(s) == r)

    @claim("inputs-told", "Carnet (an input exchanged)")
    def inputs_told(r: TrainingRun, s: StepStatement, d: Data) -> Formula:
        return implies(accepted(r, s) & consumed(s, d), reads(s, d))

    @claim("data-origin", "VerifiableFL, abstract: employed training data")
    def data_origin(r: TrainingRun, s: StepStatement, d: Data) -> Formula:
        origin = via(s, d)
        given = performed(origin) & (gives(origin) == d) & (during(origin) == r)
        known = (raw(s, d) >> committed(d)) & (~raw(s, d) >> given)
        return implies(accepted(r, s) & reads(s, d), known)

    @claim("custody-order", "Carnet (an input known beforehand)")
    def custody_order(r: TrainingRun, s: StepStatement, d: Data) -> Formula:
        linked = accepted(r, via(s, d)) & performed(s) & performed(via(s, d))
        return implies(accepted(r, s) & reads(s, d) & ~raw(s, d) & linked, earlier(via(s, d), s))

    @claim("only-sanitised", "VerifiableFL, abstract: used data sanitization")
    def only_sanitised(r: TrainingRun, s: StepStatement, d: Data) -> Formula:
        return implies(accepted(r, s) & trains(task(s)) & consumed(s, d), initial(d) | cleaned(d))

    @claim("log-order", "Carnet (statements in another order)")
    def log_order(r: TrainingRun, s: StepStatement) -> Formula:
        before = accepted(r, prior(s)) & implies(performed(s) & performed(prior(s)), earlier(prior(s), s))
        return implies(accepted(r, s) & (prior(s) != start), before)

    @claim("counted-once", "Carnet (a statement shown twice)")
    def counted_once(r: TrainingRun, s: StepStatement) -> Formula:
        return ~doubled(r, s)

    @claim("nothing-missing", "Carnet (a log cut short)")
    def nothing_missing(r: TrainingRun, e: Exclave, s: StepStatement) -> Formula:
        return implies(whole(r, e) & performed(s) & log_of(s, e, r), accepted(r, s))

    @claim("exclaves-genuine", "VerifiableFL, abstract: exclaves")
    def exclaves_genuine(r: TrainingRun, e: Exclave) -> Formula:
        return implies(enlisted(r, e), sound(e))

    _goals(draft)
    _lemmas(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

_UNLINKED = ("data-origin", "only-sanitised", "log-order", "counted-once", "nothing-missing")

#: For each variant the claims that fall, and under which threat models.
FALLS: Falls = {
    SOFTWARE_KEY: dict.fromkeys(
        ("step-taken", "data-origin", "custody-order", "only-sanitised", "nothing-missing"), THREATS[1:]
    ),
    "attested-once": dict.fromkeys(_UNLINKED, THREATS),
    "digests-alone": {"custody-order": THREATS},
    "read-twice": dict.fromkeys(("inputs-told", "only-sanitised"), THREATS),
    "open-ended": {"nothing-missing": THREATS},
    "any-run": dict.fromkeys(("this-run", "data-origin"), THREATS),
}

#: For each variant the lemmas that do not hold in it.
UNTRUE: dict[str, tuple[str, ...]] = {
    "attested-once": (
        *("accepted_inputs", "accepted_training", "the_newest_is_seen", "accepted_before"),
        *("accepted_from_the_start", "whole_logs"),
    ),
    "digests-alone": ("proofs_came_earlier",),
    "read-twice": ("what_was_used",),
    "open-ended": ("whole_logs",),
    "any-run": ("accepted_of_this_run",),
}


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


def _goals(draft: Draft) -> None:

    @draft.goal(sentence="The auditor accepts a step of training on what another exclave sanitised.")
    def trained(r: TrainingRun, s: StepStatement, d: Data) -> Formula:
        linked = reads(s, d) & ~raw(s, d) & (maker(via(s, d)) != maker(s))
        return accepted(r, s) & trains(task(s)) & consumed(s, d) & linked & performed(s)

    @draft.goal(sentence="The auditor takes a log of two statements for whole.")
    def two_steps(r: TrainingRun, s: StepStatement) -> Formula:
        return whole(r, maker(s)) & accepted(r, s) & (prior(s) != start) & (seen(r, maker(s)) == s)

    @draft.goal(sentence="A sound exclave takes a step that the claims do not have.")
    def unclaimed(s: StepStatement) -> Formula:
        return performed(s) & ~vetted(task(s))

    @draft.goal(sentence="The adversary reads the memory of an exclave that the auditor takes.")
    def leaked(r: TrainingRun, e: Exclave) -> Formula:
        return memory(e) & enlisted(r, e) & sound(e)


# -- lemmas ------------------------------------------------------------------------------------------------------------
# What makes the claims inductive, for any number of elements and any set of colluders.
#
# The argument: an exclave that is taken is sound, so what is signed under its key was done (statements). Its log is a
# line: each statement comes right after the one that it names (logs). The auditor goes along that line, so what it
# accepted is the beginning of the log, and all of it if the log ends there (audits).


def _lemmas(draft: Draft) -> None:
    keyed = draft.lemma_under("sealed") if draft.variant == SOFTWARE_KEY else draft.lemma

    # Statements.

    @draft.lemma
    def what_is_read(e: Exclave) -> Formula:
        """Memory is read only where it leaks."""
        return implies(memory(e), leaky(e))

    @keyed
    def what_is_signed(s: StepStatement) -> Formula:
        """What is under a sound exclave's key is what it did."""
        return implies(signed(s) & sound(maker(s)), performed(s))

    @draft.lemma
    def what_was_performed(s: StepStatement) -> Formula:
        """A step is taken by a sound exclave, which remembers it."""
        there = made(s) & signed(s) & sound(maker(s)) & (s != start) & launched(maker(s), during(s))
        return implies(performed(s), there) & implies(made(s), performed(s))

    @draft.lemma
    def what_was_used(s: StepStatement, d: Data) -> Formula:
        """A step read what its statement says."""
        return implies(consumed(s, d), performed(s) & reads(s, d))

    @draft.lemma
    def what_came_earlier(s: StepStatement, t: StepStatement) -> Formula:
        """Steps come before steps."""
        return implies(earlier(s, t), performed(s) & performed(t))

    @keyed
    def proofs_came_earlier(s: StepStatement, d: Data) -> Formula:
        """What a step read from a sound exclave's step was given before."""
        origin = via(s, d)
        there = signed(origin) & implies(sound(maker(origin)), earlier(origin, s))
        return implies(performed(s) & reads(s, d) & ~raw(s, d), there)

    @draft.lemma
    def what_was_cleaned(s: StepStatement) -> Formula:
        """What a step of cleaning code gave is clean."""
        return implies(performed(s) & cleans(task(s)), cleaned(gives(s)))

    # Logs.

    @draft.lemma
    def where_a_log_is(e: Exclave, r: TrainingRun) -> Formula:
        """A log is at its start, or at a statement of its own."""
        last = tip(e, r)
        return (last == start) | (performed(last) & log_of(last, e, r))

    @draft.lemma
    def a_log_is_a_line(s: StepStatement, e: Exclave, r: TrainingRun) -> Formula:
        """All of a log is at its tip or before it."""
        return implies(performed(s) & log_of(s, e, r), (s == tip(e, r)) | earlier(s, tip(e, r)))

    @draft.lemma
    def the_one_before(t: StepStatement) -> Formula:
        """A statement names one of its log that came before it."""
        there = earlier(prior(t), t) & same_log(prior(t), t)
        return implies(performed(t), (prior(t) == start) | there)

    @draft.lemma
    def right_before(s: StepStatement, t: StepStatement) -> Formula:
        """Whatever came before a statement in its log came no later than the one that it names."""
        return implies(earlier(s, t) & same_log(s, t), (s == prior(t)) | earlier(s, prior(t)))

    @keyed
    def where_a_log_ends(e: Exclave, r: TrainingRun, s: StepStatement) -> Formula:
        """A sound exclave's log ends at its tip, for good."""
        return implies(ended(e, r, s) & sound(e), closed(e, r) & (s == tip(e, r)))

    # Audits.

    @draft.lemma
    def who_is_enlisted(r: TrainingRun, e: Exclave) -> Formula:
        """Evidence that is taken is credible, so its exclave is sound."""
        return implies(enlisted(r, e), sound(e))

    @draft.lemma
    def what_is_accepted(r: TrainingRun, s: StepStatement) -> Formula:
        """A statement is accepted of an exclave that was taken, under its key, about code that the claims name."""
        return implies(accepted(r, s), enlisted(r, maker(s)) & signed(s) & vetted(task(s)) & (s != start))

    @draft.lemma
    def accepted_of_this_run(r: TrainingRun, s: StepStatement) -> Formula:
        """A statement is accepted for the run that it is about."""
        return implies(accepted(r, s), during(s) == r)

    @draft.lemma
    def accepted_inputs(r: TrainingRun, s: StepStatement, d: Data) -> Formula:
        """Each input of an accepted statement is a source that is claimed, or was given by another one accepted."""
        origin = via(s, d)
        given = accepted(r, origin) & (gives(origin) == d)
        known = (raw(s, d) >> committed(d)) & (~raw(s, d) >> given)
        return implies(accepted(r, s) & reads(s, d), known)

    @draft.lemma
    def accepted_training(r: TrainingRun, s: StepStatement, d: Data) -> Formula:
        """Training reads the first model, or what cleaning code gave."""
        clean = (raw(s, d) >> initial(d)) & (~raw(s, d) >> cleans(task(via(s, d))))
        return implies(accepted(r, s) & trains(task(s)) & reads(s, d), clean)

    @draft.lemma
    def where_an_audit_is(r: TrainingRun, e: Exclave) -> Formula:
        """An audit of a log is at its start, or at a statement that was accepted."""
        last = seen(r, e)
        return (last == start) | (accepted(r, last) & (maker(last) == e))

    @draft.lemma
    def the_newest_is_seen(r: TrainingRun, s: StepStatement) -> Formula:
        """An audit is at the newest statement that was accepted of a log."""
        return implies(accepted(r, s), (s == seen(r, maker(s))) | older(s, seen(r, maker(s))))

    @draft.lemma
    def accepted_before(r: TrainingRun, s: StepStatement) -> Formula:
        """What an accepted statement names as the one before was accepted."""
        return implies(accepted(r, s), (prior(s) == start) | accepted(r, prior(s)))

    @keyed
    def accepted_from_the_start(r: TrainingRun, s: StepStatement, t: StepStatement) -> Formula:
        """All that came before an accepted statement in its log was accepted."""
        return implies(accepted(r, t) & earlier(s, t) & same_log(s, t), accepted(r, s))

    @keyed
    def whole_logs(r: TrainingRun, e: Exclave) -> Formula:
        """A log that is whole has ended, and its last statement was accepted."""
        last = tip(e, r)
        return implies(whole(r, e), enlisted(r, e) & closed(e, r) & ((last == start) | accepted(r, last)))
