"""The vocabulary of verifiable claims: sorts, parties, symbols of the state, and designs.

A *statement* is what an exclave signs of one step. It is a text: who says it, which code ran in which run, what it read
and gave, and which statement of the same exclave came before. So all of that is fixed, and what changes is whether it
was signed, and whether what it says was done. An *exclave* is one launch, by its key.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import by_name

# -- sorts -------------------------------------------------------------------------------------------------------------


class Exclave(Individual):
    """One launch of an exclave, by its key."""


class StepStatement(Individual):
    """What is said of one step."""


class TrainingRun(Individual):
    """One training run, by its name."""


class Data(Individual):
    """The contents of an input or an output, by its digest."""


class Code(Individual):
    """What a step runs, by its digest."""


# -- parties -----------------------------------------------------------------------------------------------------------

EXCLAVE = Role("exclave")
AUDITOR = Role("auditor")
ADVERSARY = Role("adversary", honest=False)

_truth = partial(rigid_relation, kind=Kind.TRUTH)
sound = _truth("sound", Exclave, says="its hardware is genuine and unbroken, and it runs the exclave program")
leaky = _truth("leaky", Exclave, says="its memory can be read from outside")
certified = rigid_relation("certified", Exclave, says="the certificate chain under its evidence verifies")
measured = rigid_relation("measured", Exclave, says="its evidence states the measurement of the exclave program")

# -- what statements say -----------------------------------------------------------------------------------------------

start = constant("start", StepStatement, says="no statement: what the first one of a log follows")
maker = rigid_function("maker", StepStatement, to=Exclave, says="the exclave whose statement it is")
during = rigid_function("during", StepStatement, to=TrainingRun, says="the run that it is about")
task = rigid_function("task", StepStatement, to=Code, says="the code that it says ran")
prior = rigid_function(
    "prior", StepStatement, to=StepStatement, says="the statement that it says came before in its log"
)
gives = rigid_function("gives", StepStatement, to=Data, says="what it says the step gave")
reads = rigid_relation("reads", StepStatement, Data, says="it says that the step read this")
raw = rigid_relation("raw", StepStatement, Data, says="it says that this input is a source")
via = rigid_function(
    "via", StepStatement, Data, to=StepStatement, says="the statement that it names for an input that is no source"
)
older = rigid_relation(
    "older", StepStatement, StepStatement, says="the first is in what the digests of the second cover"
)

# -- what the claims name ----------------------------------------------------------------------------------------------

vetted = rigid_relation("vetted", Code, says="the claims name the code")
trains = rigid_relation("trains", Code, says="the code trains a model")
cleans = rigid_relation("cleans", Code, says="what the code gives may be trained on")
committed = rigid_relation("committed", Data, says="the claims name it as a source")
initial = rigid_relation("initial", Data, says="the claims name it as the model that training starts from")

# -- an exclave's state ------------------------------------------------------------------------------------------------

_exclave_state = partial(relation, kind=Kind.STATE, of=EXCLAVE)
launched = _exclave_state("launched", Exclave, TrainingRun, says="the exclave was launched for the run")
made = _exclave_state("made", StepStatement, says="its exclave has made it")
closed = _exclave_state("closed", Exclave, TrainingRun, says="the exclave ended its log of the run")
tip = function(
    "tip", Exclave, TrainingRun, to=StepStatement, kind=Kind.STATE, of=EXCLAVE, says="the last statement of its log"
)

# -- an auditor's state ------------------------------------------------------------------------------------------------

_auditor_state = partial(relation, kind=Kind.STATE, of=AUDITOR)
enlisted = _auditor_state("enlisted", TrainingRun, Exclave, says="the auditor took its evidence")
accepted = _auditor_state("accepted", TrainingRun, StepStatement, says="the auditor accepted it, as one of the run")
whole = _auditor_state("whole", TrainingRun, Exclave, says="the auditor took its log for whole")
seen = function(
    "seen",
    TrainingRun,
    Exclave,
    to=StepStatement,
    kind=Kind.STATE,
    of=AUDITOR,
    says="the last one that the auditor accepted of it",
)

# -- messages and evidence ---------------------------------------------------------------------------------------------

_message = partial(relation, kind=Kind.MESSAGE)
evidence = _message("evidence", Exclave, TrainingRun, says="evidence for its key and the run")
signed = _message("signed", StepStatement, says="it is signed under its exclave's key")
ended = _message(
    "ended", Exclave, TrainingRun, StepStatement, says="under the exclave's key: its log of the run ends there"
)

# -- knowledge ---------------------------------------------------------------------------------------------------------

memory = relation("memory", Exclave, kind=Kind.KNOWLEDGE, says="the adversary read all that software there keeps")

# -- history -----------------------------------------------------------------------------------------------------------

_history = partial(relation, kind=Kind.GHOST)
performed = _history("performed", StepStatement, says="a sound exclave took the step that it tells of")
consumed = _history("consumed", StepStatement, Data, says="the step really read this")
earlier = _history("earlier", StepStatement, StepStatement, says="the first step was taken before the second")
cleaned = _history("cleaned", Data, says="code that cleans really gave this")
doubled = _history("doubled", TrainingRun, StepStatement, says="the auditor counted it twice")


# -- words -------------------------------------------------------------------------------------------------------------


def credible(exclave: Exclave) -> Formula:
    """Whether evidence of the exclave is that of the exclave program on certified hardware."""
    return certified(exclave) & measured(exclave)


def log_of(statement: StepStatement, exclave: Exclave, run: TrainingRun) -> Formula:
    """Whether the statement belongs in this log."""
    return (maker(statement) == exclave) & (during(statement) == run)


def same_log(one: StepStatement, other: StepStatement) -> Formula:
    """Whether both statements belong in one log."""
    return (maker(one) == maker(other)) & (during(one) == during(other))


# -- designs -----------------------------------------------------------------------------------------------------------
# Exclaves, the variant on present hardware, and readings of the abstract that would not be safe.

SOFTWARE_KEY = "software-key"

VARIANTS = by_name(
    Variant("attested-steps", "hardware vouches for each step, and software keeps no secret"),
    Variant(
        SOFTWARE_KEY,
        "the variant on present hardware: the key that speaks for an exclave is in its memory",
        without=("key-in-hardware",),
    ),
    Variant(
        "attested-once",
        "each exclave is attested, and nobody checks how its statements hang together",
        without=("log-followed", "inputs-linked", "sanitised", "log-ended"),
    ),
    Variant("digests-alone", "a step names the digests of its inputs, and no proof of them", without=("proof-first",)),
    Variant("read-twice", "an exclave digests what it is given, and reads it again", without=("digest-inside",)),
    Variant("open-ended", "a log has no end that anybody asks for", without=("log-ended",)),
    Variant("any-run", "a statement counts for whichever run it is shown for", without=("run-bound",)),
)
