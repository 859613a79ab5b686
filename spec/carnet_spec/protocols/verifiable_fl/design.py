"""The family of verifiable claims: axioms, threat models, instances and findings."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.verifiable_fl.claims import TEXT, state_properties
from carnet_spec.protocols.verifiable_fl.protocol import specify
from carnet_spec.protocols.verifiable_fl.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- design ------------------------------------------------------------------------------------------------------------

ID = "verifiable-fl"
TITLE = "VerifiableFL: exclaves attest each step of training, and an auditor accepts nothing that is not so"


def verifiable_fl(variant: str) -> Draft:
    """Draft the named variant of verifiable claims."""
    draft = Draft(ID, TITLE, variant)
    # In the shape of the steps are: what a signature says, and that integrity holds.
    assumptions_from(draft, TEXT, built_in=("A1", "A2"))
    genuine = forall(lambda e: implies(credible(e), sound(e)), Exclave)
    draft.axiom("evidence tells", genuine, assumption="A3")
    StrictOrder("statements", StepStatement, older, "A4").assume(draft, start)
    axiom = partial(draft.axiom, assumption="A4")
    named = forall(lambda s: (prior(s) == start) | older(prior(s), s), StepStatement)
    axiom("a statement is newer than the one that it names", named)
    draft.threat(
        "sealed",
        "colluders own platforms and exclaves of their own; memory of sound exclaves does not leak",
        no_leak=forall(lambda e: implies(sound(e), ~leaky(e)), Exclave),
    )
    draft.threat("leaking", "the memory of any exclave may leak, too")
    specify(draft)
    state_properties(draft)
    return draft


# -- instances ---------------------------------------------------------------------------------------------------------
# Finite instances: which statements could be made. What they say is fixed, and an exploration sees who makes which.

#: Sizes by name, unless a profile or ``--set`` says otherwise.
DEFAULTS = {
    "second_step": 0,
    "raw_training": 0,
    "uncleaned": 0,
    "foreign_source": 0,
    "unclaimed_code": 0,
    "other_run": 0,
    "outsider": 0,
    "relied": 0,
}


@dataclass(frozen=True)
class Card:
    """What one statement says; ``reads`` has the statement that each input comes from, an empty one for a source."""

    name: str
    maker: str
    task: str
    reads: tuple[tuple[str, str], ...]
    gives: str
    prior: str = "start"
    during: str = "run"


def _cards(size: dict[str, int]) -> Iterator[Card]:
    """Yield the statements that there could be: what a run needs, and one for each kind of lie that sizes ask for."""
    yield Card("clean1", "provider", "sanitiser", (("records", ""),), "cleaned")
    yield Card("train1", "trainer", "training", (("model0", ""), ("cleaned", "clean1")), "model1")
    if size["second_step"]:
        yield Card("train2", "trainer", "training", (("model0", ""), ("cleaned", "clean1")), "model2", "train1")
    if size["raw_training"]:
        yield Card("train-raw", "trainer", "training", (("records", ""),), "model3")
    if size["uncleaned"]:
        yield Card("count1", "provider", "counting", (("records", ""),), "counts")
        yield Card("train-counts", "trainer", "training", (("counts", "count1"),), "model5")
    if size["foreign_source"]:
        yield Card("clean-other", "provider", "sanitiser", (("poison", ""),), "cleaned")
    if size["unclaimed_code"]:
        yield Card("other", "provider", "backdoor", (), "poison")
    if size["other_run"]:
        yield Card("clean0", "provider", "sanitiser", (("records", ""),), "cleaned", during="other run")
    if size["outsider"]:
        yield Card("made-up", _outsider(size), "sanitiser", (("records", ""),), "cleaned")
    if size["relied"]:
        yield Card("train-on", "trainer", "training", (("cleaned", "made-up"),), "model4")


def _outsider(size: dict[str, int]) -> str:
    return ("fake", "other program")[size["outsider"] - 1]


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Build the instance of the given sizes: a provider that sanitises, a trainer, and the statements of one run.

    ``second_step`` adds a second step of training; ``raw_training`` a step that trains on a source that nobody
    sanitised, ``uncleaned`` one that trains on what claimed code gave that cleans nothing, ``foreign_source`` one that
    reads what the claims do not name, ``unclaimed_code`` one of code that they do not name, ``other_run`` one of
    another run. An ``outsider`` is an exclave that no vendor certified (1), or one that runs something else (2), and
    ``relied`` adds training on what it gave.
    """
    size = all_sizes(scale, DEFAULTS, protocol.id)
    cards = tuple(_cards(size))
    outside = (_outsider(size),) if size["outsider"] else ()
    exclaves = ("provider", "trainer", *outside)
    data = ("records", "cleaned", "model0", "model1", *_further(cards))
    reads = [(card.name, each, origin or "start") for card in cards for each, origin in card.reads]
    statements = ("start", *(card.name for card in cards))
    content = {card.name: card for card in cards}
    vetted = ("sanitiser", "training", *(("counting",) if size["uncleaned"] else ()))
    nothing = Card("start", "provider", "sanitiser", (), "records")
    told = {name: content.get(name, nothing) for name in statements}
    return Instance(
        elements={
            "Exclave": exclaves,
            "StepStatement": statements,
            "TrainingRun": ("run", *(("other run",) if size["other_run"] else ())),
            "Data": data,
            "Code": (*vetted, *(("backdoor",) if size["unclaimed_code"] else ())),
        },
        relations={
            "sound": unary(("provider", "trainer")),
            "leaky": unary(exclaves if threat == "leaking" else outside),
            "certified": unary(each for each in exclaves if each != "fake"),
            "measured": unary(each for each in exclaves if each != "other program"),
            "reads": frozenset((name, each) for name, each, _ in reads),
            "raw": frozenset((name, each) for name, each, origin in reads if origin == "start"),
            "older": _older(cards),
            "vetted": unary(vetted),
            "trains": unary(("training",)),
            "cleans": unary(("sanitiser", "training")),
            "committed": unary(("records", "model0")),
            "initial": unary(("model0",)),
        },
        functions={
            "start": {(): "start"},
            "maker": {(name,): card.maker for name, card in told.items()},
            "during": {(name,): card.during for name, card in told.items()},
            "task": {(name,): card.task for name, card in told.items()},
            "prior": {(name,): card.prior for name, card in told.items()},
            "gives": {(name,): card.gives for name, card in told.items()},
            "via": {
                (name, each): dict(card.reads).get(each) or "start" for name, card in told.items() for each in data
            },
        },
        describes=amounts_in_words(
            (len(exclaves), "exclave"), (len(cards), "statement"), (1 + size["other_run"], "run"), (len(data), "input")
        ),
    )


def _further(cards: tuple[Card, ...]) -> Row:
    """Return the data that only some sizes have."""
    known = {"records", "cleaned", "model0", "model1"}
    named = [each for card in cards for each in (*(read for read, _ in card.reads), card.gives)]
    return tuple(dict.fromkeys(each for each in named if each not in known))


def _older(cards: tuple[Card, ...]) -> frozenset[Row]:
    """Return which statements are covered by the digests of which, directly or not."""
    covered: dict[str, set[str]] = {}
    for card in cards:  # a card comes after those that it names
        direct = {card.prior, *(origin or "start" for _, origin in card.reads)}
        covered[card.name] = direct.union(*(covered.get(each, set()) for each in direct))
    return frozenset((old, new) for new, olds in covered.items() for old in olds)


# -- family ------------------------------------------------------------------------------------------------------------
# What the abstract does not say, and what a design without it accepts.

PRESENT = "the variant on present hardware, as Carnet reads the abstract"
_finding = Findings("sealed", "the abstract of the paper, read literally")

#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.OTHERS,
        "auditor",
        Visibility.DIGESTS,
        "statements about each step: digests of code and data, and evidence",
    ),
    PartyView(
        PartyKind.TEE,
        "exclave",
        Visibility.CLEAR,
        "the data of the step that it takes",
        trusted_for="running the code that its evidence names, and letting nobody change its state",
        assumed_in=("A2", "A3"),
    ),
    PartyView(
        PartyKind.HOST,
        "owner of an exclave's platform",
        Visibility.CLEAR,
        "an exclave has no secrets: its memory may leak, and no claim is about secrecy",
    ),
)


FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=verifiable_fl,
    instance=instance,
    variants=VARIANTS,
    profiles=by_name(
        Profile(
            "tiny",
            {"second_step": 1, "unclaimed_code": 1, "outsider": 1},
            title="two exclaves, and one of the adversary's",
        ),
        Profile(
            "raw",
            {"second_step": 1, "raw_training": 1, "foreign_source": 1},
            title="statements about data that may not be used",
        ),
        Profile("runs", {"other_run": 1, "outsider": 2}, title="two runs"),
    ),
    hunts=(
        Profile("one run", {}),
        Profile("two steps", {"second_step": 1}),
        Profile("raw data", {"raw_training": 1}),
        Profile("a foreign source", {"foreign_source": 1}),
        Profile("other code", {"unclaimed_code": 1}),
        Profile("another run", {"other_run": 1}),
        Profile("a fake", {"outsider": 1, "relied": 1}),
        Profile("another program", {"outsider": 2, "relied": 1}),
        Profile("code that cleans nothing", {"uncleaned": 1}),
    ),
    findings=(
        _finding(1, SOFTWARE_KEY, "step-taken", threat="leaking", about=PRESENT)(
            "the key that speaks for an exclave is in its memory: once that leaks, steps are told that nobody took"
        ),
        _finding(2, "attested-once", "only-sanitised")(
            "every exclave is attested, and what it was fed is not looked at: it trains on what nobody sanitised"
        ),
        _finding(3, "digests-alone", "custody-order")(
            "a digest of an input is no proof that it was given: who knows the data has the later step taken first"
        ),
        _finding(4, "read-twice", "inputs-told")(
            "an input is digested, and read again: what the step reads is not what its statement names"
        ),
        _finding(5, "open-ended", "nothing-missing")(
            "every statement that is shown holds, and the last steps are not shown"
        ),
        _finding(6, "any-run", "this-run")("a statement of another run counts for this one"),
    ),
    default_threat="sealed",
    round_goal="trained",
    views=VIEWS,
    text=TEXT,
)
