"""For each claim a design in which it falls, and no other claim but those that its fall takes along.

A design is the main variant, a variant or a removed defence, or it forgets one guard or one update of one step: small
weaknesses that no variant has. Every claim that is made under the threat model is judged: it falls in an explored
instance, or it is proved for any number of everything, or else no explored state breaks it.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from carnet_check.engines.exploration import Search
from carnet_check.engines.exploring.searches import moves, search_in
from carnet_check.engines.induction import houdini, prove
from carnet_check.engines.induction.induction import ProofResult
from carnet_check.engines.interface import Explores
from carnet_check.engines.registry import able
from carnet_check.loading.families import load
from carnet_spec.language import Action, Profile, Protocol

RECORD = Path(__file__).parents[3] / "docs" / "results" / "discriminating.csv"
COLUMNS = ("claim", "design", "threat", "steps", "falls with it", "proved", "held in every explored state", "digest")
SOURCE = load("gpu-travelling")
MAIN = SOURCE.family.main[0]
TIMED = f"{MAIN}-timed"


@dataclass(frozen=True)
class Design:
    """Where ``claim`` falls: a variant without some defences, and the step that forgets a guard or an update."""

    claim: str
    threat: str = "outsider"
    variant: str = MAIN
    without: tuple[str, ...] = ()
    step: str = ""
    forgets: tuple[str, ...] = ()
    sizes: Mapping[str, int] | None = None
    moves: int | None = None  #: The most active moves of the adversary; unlimited, if nothing is said.
    #: The threat model that the other claims are judged under, where they are not made under the first.
    others: str = ""

    @property
    def words(self) -> str:
        """Say what design it is."""
        parts = [self.variant, *(f"without {name}" for name in self.without)]
        return ", ".join([*parts, *(f"{self.step} forgets '{name}'" for name in self.forgets)])

    @property
    def protocol(self) -> Protocol:
        """Return the design."""
        return forgetting(SOURCE.protocol(self.variant, self.without), self.step, self.forgets)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of every claim in a design."""

    design: Design
    steps: int
    fallen: tuple[str, ...]
    proved: tuple[str, ...]
    held: tuple[str, ...]

    @property
    def row(self) -> tuple[str, ...]:
        """Return what is recorded."""
        design = self.design
        lists = ("; ".join(names) for names in (self.fallen, self.proved, self.held))
        return (design.claim, design.words, design.threat, str(self.steps), *lists, digest_of(design))


def digest_of(design: Design) -> str:
    """Return the digest of the specification that the design was made from."""
    return SOURCE.protocol(design.variant, design.without).digest


def forgetting(protocol: Protocol, step: str, parts: Sequence[str]) -> Protocol:
    """Return the protocol with guards or updates of one step left out, as if somebody had forgotten them."""
    if not step:
        return protocol
    whole = protocol.action(step)
    named = {guard.name for guard in whole.guards} | {update.name for update in whole.updates}
    if strange := set(parts) - named:
        raise ValueError(f"{step} has no {', '.join(sorted(strange))} that could be forgotten")
    kept: Action = replace(
        whole,
        guards=tuple(each for each in whole.guards if each.name not in parts),
        updates=tuple(each for each in whole.updates if each.name not in parts),
    )
    return replace(protocol, actions=tuple(kept if each.name == step else each for each in protocol.actions))


def judge(design: Design) -> Judged:
    """Look for the shortest fall of every claim, and prove those that do not fall.

    Raises ValueError if the claim that the design is about does not fall, or the search was cut short.
    """
    protocol = design.protocol
    profile = Profile("discriminating", {"extras": 0, **(design.sizes or {})}, design.moves)
    claims = tuple(
        claim.name
        for claim in protocol.claims
        if design.threat in claim.under or (claim.name == design.claim and design.threat in claim.fails_under)
    )
    asked = Search(SOURCE.reference, design.variant, design.without, design.threat, profile, claims)
    found = search_in(able(Explores), asked, protocol, SOURCE.instance(protocol, design.threat, profile))
    if found.problems or found.stopped_by or design.claim not in found.violations:
        raise ValueError(f"{design.words}: {design.claim} does not fall ({found.stopped_by or found.problems})")
    threat = design.others or design.threat
    made = [claim.name for claim in protocol.claims if threat in claim.under]
    left = [name for name in made if name not in found.violations]
    proved = _proved(design, protocol, threat, left)
    return Judged(
        design,
        moves(protocol, found.violations[design.claim]),
        tuple(name for name in found.violations if name != design.claim),
        proved,
        tuple(name for name in left if name not in proved),
    )


def _proved(design: Design, protocol: Protocol, threat: str, claims: Sequence[str]) -> tuple[str, ...]:
    """Prove what can be proved; what does not touch the weakness is taken over from the proof without it."""
    unchanged = _proof(TIMED if design.variant == TIMED else MAIN, threat)
    found = houdini(protocol, protocol.threat(threat), baselines=unchanged, claims=claims, jobs=1)
    return tuple(name for name in claims if found.claim(name).is_proved)


@cache
def _proof(variant: str, threat: str) -> tuple[ProofResult, ...]:
    """Prove an unweakened design: under a threat model, and what needs none."""
    general = _general(variant)
    protocol = general.protocol
    return prove(protocol, protocol.threat(threat), jobs=1, baselines=[general]), general


@cache
def _general(variant: str) -> ProofResult:
    return prove(SOURCE.protocol(variant), jobs=1)


def record() -> None:
    """Judge every design and keep what came of it."""
    with RECORD.open("w", newline="") as kept:
        written = csv.writer(kept, lineterminator="\n")
        written.writerow(COLUMNS)
        for design in DESIGNS:
            written.writerow(judge(design).row)
            kept.flush()


def recorded() -> list[dict[str, str]]:
    """Return the rows of the record."""
    with RECORD.open(newline="") as kept:
        return list(csv.DictReader(kept))


#: One for each claim.
DESIGNS = (
    Design("confidentiality", "collusion", step="write_out", forgets=("runs",), moves=0),
    Design("key-isolation", without=("grant-addressee",), sizes={"holders": 2}),
    Design("forward-isolation", "past-keys", "retired-engine-leaks", others="collusion"),
    Design("model-confidentiality", "holder"),
    Design("iv-unique", step="send_save", forgets=("next number",)),
    Design("no-replay", step="gpu_receive", forgets=("insert received",)),
    Design("clean-handoff", without=("scrub-workspace",)),
    Design("no-implant", step="plant_in_open_mode", forgets=("open mode",), moves=1),
    Design("trains-verified", "holder", step="verified", forgets=("model digest",), moves=1),
    Design("gpu-genuine", step="lose_session", forgets=("remove buffer",)),
    Design("data-agreement", step="provision", forgets=("in order",), sizes={"chunks": 2}),
    Design("handoff-agreement", step="accept_grant", forgets=("once",)),
    Design("single-custody", step="gpu_rotate_out", forgets=("retire d2h",)),
    Design("model-integrity", step="trained", forgets=("digest",)),
    Design("provenance", step="exec_train", forgets=("insert trained_on",)),
    Design("participation", step="open_session", forgets=("insert lost",), sizes={"sessions": 2}),
    Design("orchestrator-genuine", without=("one-instance",), sizes={"twins": 1, "own_keys": 1}),
    Design("no-silent-reset", step="exec_fence", forgets=("remove context", "insert done")),
    Design("key-lifetime", variant=TIMED, without=("key-usage-limit",), sizes={"chunks": 3}),
    Design("fresh-attestation", variant=TIMED, without=("attestation-age",)),
    Design("bounded-custody", variant=TIMED, step="take_back", forgets=("within the lease",)),
)

_MODEL = "the versions of the model follow one another no longer as the ledger says"
_REACH = "code on the GPU has everything there within reach"
#: For each claim, what falls with it by what the two sentences say, and why.
IMPLIED: Mapping[str, Mapping[str, str]] = {
    "key-isolation": {
        "handoff-agreement": "who accepts a key that is another's accepts what was not meant for it",
        "single-custody": "to share the key is to share the GPU",
    },
    "no-implant": {
        "trains-verified": "what is planted once the code was checked is there when training begins",
        "model-integrity": _REACH,
        "provenance": _REACH,
        "participation": _REACH,
    },
    "trains-verified": {
        "model-integrity": "what is trained from anything but the last version is off the chain",
        "provenance": _MODEL,
        "participation": _MODEL,
    },
    "model-integrity": {
        "provenance": "the ledger then names a version that no training made",
        "participation": "such a version was trained on nothing",
        "trains-verified": "the orchestrator goes on before training ends, and what is trained then is off the chain",
    },
    "orchestrator-genuine": {
        "handoff-agreement": "what another instance grants, the orchestrator did not",
        "key-isolation": "another instance knows the keys that it grants, in whatever session it grants them",
        "gpu-genuine": "another instance attested no GPU",
        "iv-unique": "each instance counts by itself",
    },
}
