"""What GPU Travelling claims: proved for any number of everything, and looked at state by state where it is small.

The two engines translate the specification apart from one another. So every lemma of the proof is also looked at in
every reachable state of a small instance, and a specification with a mistake planted in it has to displease them.
"""

import functools
from collections.abc import Callable

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Exploration, Search
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.induction import ClaimProof, try_claims
from carnet_check.engines.induction.solving import Workers
from carnet_check.semantics import Interpreter
from carnet_spec.language import Invariant, Protocol
from carnet_spec.language.requirements import Level
from tests.fixtures import travelling
from tests.fixtures.travelling import BARE, FAMILY, SOURCE, kept, without_guard, without_update
from tests.unit.model_check.command import carnet

MAIN = FAMILY.main
THREATS = ("outsider", "holder", "hypervisor", travelling.COLLUSION, "past-keys")

Proofs = dict[tuple[str, str], ClaimProof]


@functools.cache
def solver() -> Workers:
    """Return what answers about both designs: it asks once what both have to prove."""
    return Workers(1)


@functools.cache
def proved(variant: str) -> tuple[Protocol, Proofs]:
    """Prove the claims of a design."""
    protocol = SOURCE.protocol(variant)
    return protocol, try_claims(protocol, workers=solver()).claims


@pytest.fixture(params=MAIN)
def proofs(request: pytest.FixtureRequest) -> tuple[Protocol, Proofs]:
    return proved(request.param)


@functools.cache
def seen(variant: str, threat: str) -> Exploration:
    """Explore profile tiny with every claim and every lemma looked at, and every near goal looked for."""
    protocol = SOURCE.protocol(variant)
    return travelling.explored(protocol, threat, goals=tuple(goal for goal in protocol.goals if goal.rounds == 1))


# -- proofs ---------------------------------------------------------------------------------------


def test_every_claim_is_proved_wherever_it_is_made(
    proofs: tuple[Protocol, Proofs], record_property: Callable[[str, object], None]
) -> None:
    protocol, found = proofs
    record_property("verifies", ", ".join(f"{protocol.id}-{claim.requirement}" for claim in protocol.claims))
    made = {(claim, threat.id) for threat in protocol.threats for claim in travelling.stated(protocol, threat.id)}
    assert set(found) == made
    assert {pair: proof.missing for pair, proof in found.items() if not proof.is_proved} == {}


def test_no_claim_is_left_unstated(proofs: tuple[Protocol, Proofs]) -> None:
    protocol, _ = proofs
    assert not [claim.name for claim in protocol.claims if claim.declared]


def test_every_claim_is_made_somewhere(proofs: tuple[Protocol, Proofs]) -> None:
    _, found = proofs
    assert {threat for _, threat in found} == set(THREATS)
    assert {claim.name for claim in proofs[0].claims} == {claim for claim, _ in found}


def test_confidentiality_rests_on_what_it_should(proofs: tuple[Protocol, Proofs]) -> None:
    """A proof that needs no defence and no assumption would be a proof of nothing."""
    _, found = proofs
    proof = found["confidentiality", travelling.COLLUSION]
    assert {"A1", "A5"} <= set(proof.assumptions)
    assert {"gpu-certificate", "mode-check", "rotation-ack", "scrub-ack", "quote-bound-to-channel"} <= set(
        proof.defences
    )
    assert len(proof.lemmas) > 20


# -- every state of a small instance --------------------------------------------------------------

LARGEST = ("hypervisor", "past-keys")
SMALL = [
    *(pytest.param(MAIN[0], each, marks=[pytest.mark.slow] if each in LARGEST else []) for each in THREATS),
    *((variant, travelling.COLLUSION) for variant in MAIN[1:]),
]
small = pytest.mark.parametrize(("variant", "threat"), SMALL)


@small
def test_claims_and_lemmas_hold_in_every_reachable_state(variant: str, threat: str) -> None:
    """What fails is what is expected to fail, and a lemma that was proved fails nowhere."""
    found = seen(variant, threat)
    assert found.complete
    assert set(found.violations) == travelling.expected_to_fall(SOURCE.protocol(variant), threat)


@small
def test_the_adversary_does_something(variant: str, threat: str) -> None:
    steps = [a for a in SOURCE.protocol(variant).actions if not a.by.honest and not a.deduction]
    assert [action.name for action in steps if seen(variant, threat).fired[action.name]]


FLAWS = {"open-mode-reported", "debug-flag-reported", "old-firmware-reported"}
LENT = {"lent-channel"}
#: The goals that need an adversary: one with power over a GPU, where outsiders boot their own alone, which is never
#: attested, or a corrupt holder with somebody to help.
WITH_AN_ADVERSARY = {
    "outsider": {"open-mode-reported", "own-gpu"},
    "holder": set[str](),
    "hypervisor": FLAWS,
    travelling.COLLUSION: FLAWS | LENT,
    "past-keys": FLAWS | LENT,
}


@small
def test_what_is_promised_is_reached(variant: str, threat: str) -> None:
    near = {goal.name for goal in SOURCE.protocol(variant).goals if goal.rounds == 1}
    honest = near - FLAWS - LENT - {"own-gpu", "two-chunks-returned"}
    assert set(seen(variant, threat).goals) == honest | WITH_AN_ADVERSARY[threat]


@pytest.mark.parametrize("threat", ["holder", travelling.COLLUSION])
def test_a_corrupt_holder_learns_the_model(threat: str) -> None:
    """The deck says so itself, hence a tool that does not find it is wrong."""
    protocol = SOURCE.protocol(MAIN[0])
    instance = SOURCE.instance(protocol, threat, BARE)
    final = Interpreter(protocol, instance).replay(seen(MAIN[0], threat).violations["model-confidentiality"])[-1]
    assert {agent for agent, data in final.relations["learned"] if data == "the model"} & {"mallory", "platform"}


@pytest.mark.parametrize("variant", MAIN)
def test_honest_parties_reach_a_third_round(variant: str) -> None:
    far = tuple(goal.name for goal in SOURCE.protocol(variant).goals if goal.rounds > 1)
    found = search(
        EXPLICIT,
        Search(
            reference=SOURCE.reference,
            variant=variant,
            without=(),
            threat="outsider",
            profile=SOURCE.profile("directed"),
            claims=(),
            goals=far,
            directed=True,
        ),
    )
    assert not found.problems
    assert set(found.goals) == set(far) >= {"third-round"}


# -- planted mistakes -----------------------------------------------------------------------------


def _forgotten(action: str, guard: str) -> Callable[[Protocol], Protocol]:
    return lambda protocol: without_guard(protocol, action, guard)


def _not_done(action: str, update: str) -> Callable[[Protocol], Protocol]:
    return lambda protocol: without_update(protocol, action, update)


#: For each: where the mistake is, what it is, and the claims that fall first under collusion.
MISTAKES: dict[str, tuple[str, Callable[[Protocol], Protocol], str]] = {
    "it grants to whoever is there": ("grant", _forgotten("grant", "its channel"), "key-isolation"),
    "it skips a counter value": ("provision", _forgotten("provision", "next IV"), "data-agreement"),
    "it decrypts what nobody sealed": (
        "gpu_receive",
        _forgotten("gpu_receive", "verifies"),
        "gpu-genuine single-custody",
    ),
    "it counts nothing it received": ("gpu_receive", _not_done("gpu_receive", "insert received"), "no-replay"),
    "it uses an order's number again": ("send_fence", _forgotten("send_fence", "next number"), "iv-unique"),
    "it goes on in any phase": ("rotated_out", _forgotten("rotated_out", "phase"), "no-silent-reset"),
    "it trains what was not given back": ("send_train", _forgotten("send_train", "returned"), "handoff-agreement"),
    "it asks for no report on contexts": ("verified", _forgotten("verified", "no context"), "trains-verified"),
    "it reports on contexts without a look": (
        "exec_read_back",
        lambda protocol: travelling.without_condition(protocol, "exec_read_back", "contexts left"),
        "no-silent-reset",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_displeases_both_engines(mistake: str) -> None:
    """The proof breaks at the very action, and a reachable state breaks a claim that is proved without the mistake."""
    action, change, falls = MISTAKES[mistake]
    wrong = change(SOURCE.protocol("sealed-under-master"))
    assert not kept(wrong, action)
    found = travelling.explored(wrong, travelling.COLLUSION, against=_claims, stop_at_first=True)
    assert set(found.violations) == set(falls.split())


def _claims(protocol: Protocol, threat: str) -> list[Invariant]:
    return [protocol.claim(name).checked for name in travelling.stated(protocol, threat)]


# -- long -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_an_active_move_breaks_nothing_in_profile_ci() -> None:
    """Two rounds, two chunks, two genuine GPUs and a fake, two instances; the largest of them has 99 million states."""
    engines = ("--engine", "induction", "--engine", "native")  # what is proved to happen in the end is not explored
    ran = carnet("verify", "gpu-travelling", "--profile", "ci", *engines, "--jobs", "2", "--json")
    rows = [row for row in ran.json["results"] if row["engine"] == "native"]
    assert ran.code == 0
    pairs = {(row["variant"], row["threat"]) for row in rows}
    assert pairs >= {(variant, threat) for variant in MAIN for threat in THREATS}
    assert {variant for variant, _ in pairs} == set(SOURCE.family.with_layers(MAIN))
    found = {(row["verdict"], row["bound"]) for row in rows if row["expected"] != "VIOLATED"}
    assert found == {("HOLDS-TO", 1)}


# -- each requirement carries weight ---------------------------------------------------------------------


Verifies = Callable[[str, object], None]

#: Checks: the action, the guard that is forgotten, and the invariant that the action then breaks.
GUARDS = {
    "REQ-SETUP-02": ("give_report", "true mode", "reports_tell_the_mode"),
    "REQ-SETUP-03": ("accept_gpu", "certificate", "attested_is_protected"),
    "REQ-SETUP-04": ("accept_gpu", "nonce", "attested_is_protected"),
    "REQ-SETUP-05": ("accept_gpu", "mode", "attested_is_protected"),
    "REQ-SETUP-06": ("accept_gpu", "report in session", "attested_is_protected"),
    "REQ-SETUP-07": ("accept_gpu", "signer is responder", "attested_is_protected"),
    "REQ-SETUP-08": ("attest_orchestrator", "measurement", "channels_end_at_the_orchestrator"),
    "REQ-SETUP-09": ("attest_orchestrator", "bound to the channel", "channels_end_at_the_orchestrator"),
    "REQ-SETUP-10": ("attest_orchestrator", "manifest", "channels_end_at_the_orchestrator"),
    "REQ-SETUP-12": ("admit", "enrolment proof", "admitted_ends"),
    "REQ-SETUP-13": ("grant", "a lease within it", "fresh-attestation"),
    "REQ-SETUP-14": ("accept_gpu", "debug flag", "attested_is_protected"),
    "REQ-SETUP-15": ("accept_gpu", "reference values", "attested_is_protected"),
    "REQ-SETUP-16": ("accept_gpu", "not revoked", "attested_is_protected"),
    "REQ-SETUP-17": ("attest_orchestrator", "agreed on", "channels_end_at_the_orchestrator"),
    "REQ-SESSION-01": ("send_fence", "next number", "iv-unique"),
    "REQ-SESSION-02": ("exec_fence", "in order", "iv-unique"),
    "REQ-SESSION-03": ("fenced", "acknowledged", "fenced_at_home"),
    "REQ-KEY-01": ("rotate_out", "fresh k", "key-isolation"),
    "REQ-KEY-02": ("gpu_rotate_out", "ordered", "key-isolation"),
    "REQ-KEY-03": ("rotate_out", "phase", "clean-handoff"),
    "REQ-KEY-04": ("gpu_rotate_out", "not accepted before", "clean-handoff"),
    "REQ-KEY-05": ("rotated_out", "acknowledged", "live_key_is_the_link"),
    "REQ-KEY-06": ("rotated_in", "acknowledged", "live_key_is_the_link"),
    "REQ-KEY-07": ("provision", "below the key's limit", "key-lifetime"),
    "REQ-GRANT-01": ("grant", "addressee", "grants"),
    "REQ-GRANT-02": ("grant", "counter handed over", "grants"),
    "REQ-GRANT-04": ("accept_grant", "attested channel", "orchestrator-genuine"),
    "REQ-GRANT-05": ("accept_grant", "once", "handoff-agreement"),
    "REQ-DATA-01": ("provision", "own data", "senders"),
    "REQ-DATA-02": ("gpu_receive", "verifies", "received_was_sent"),
    "REQ-IV-01": ("provision", "IV unused", "iv-unique"),
    "REQ-IV-04": ("rotate_out", "next channel", "epochs_have_channels_of_their_own"),
    "REQ-MODEL-01": ("trained", "digest", "latest_is_in_memory"),
    "REQ-MODEL-02": ("trained", "digest", "provenance"),
    "REQ-IV-02": ("gpu_receive", "implicit IV", "no-replay"),
    "REQ-RETURN-01": ("give_back", "count to", "honest_returns"),
    "REQ-RETURN-02": ("take_back", "returned", "handoff-agreement"),
    "REQ-RETURN-04": ("take_back", "within the lease", "bounded-custody"),
    "REQ-HOME-02": ("fenced", "acknowledged", "fenced_at_home"),
    "REQ-HOME-04": ("verified", "code digest", "code_checked_at_home"),
    "REQ-HOME-05": ("verified", "model digest", "latest_is_in_memory"),
    "REQ-HOME-06": ("verified", "count", "count_was_compared"),
    "REQ-HOME-07": ("verified", "no context", "code_checked_at_home"),
    "REQ-TRAIN-01": ("send_train", "returned", "data-agreement"),
    "REQ-SCRUB-03": ("scrubbed", "acknowledged", "clean-handoff"),
    "REQ-STOP-01": ("open_session", "fresh s", "keys_of_sessions"),
}

#: Deeds: the action, the update that is forgotten, and the invariant that the action then breaks.
UPDATES = {
    "REQ-SETUP-01": ("open_session", "set link_h2d", "opened_session"),
    "REQ-GRANT-03": ("grant", "set lent_key", "holder_key"),
    "REQ-IV-03": ("take_back", "set count", "handoff-agreement"),
    "REQ-RETURN-03": ("evict", "set custody", "handoff-agreement"),
    "REQ-HOME-01": ("exec_fence", "insert done", "what_is_heard_is_answered"),
    "REQ-MODEL-03": ("saved", "set kept", "secured_is_kept"),
    "REQ-MODEL-04": ("open_session", "insert lost", "participation"),
    "REQ-STOP-02": ("lose_session", "remove buffer", "gpu-genuine"),
    "REQ-SCRUB-01": ("exec_scrub", "remove buffer", "scrub_holds"),
    "REQ-SCRUB-02": ("exec_scrub", "remove workspace", "scrub_holds"),
}

#: What makes a goal possible: the action, the update that is forgotten, and the goal that is then out of reach.
GOALS = {
    "REQ-SETUP-11": ("prove_enrolment", "insert enrolment_proof", "data-resident"),
    "REQ-PLATFORM-01": ("switch_mux", "set mux", "data-resident"),
    "REQ-SESSION-04": ("exec_read_back", "code digest", "trained"),
    "REQ-HOME-03": ("upload", "insert uploaded", "trained"),
    "REQ-TRAIN-02": ("exec_train", "insert workspace", "trained"),
    "REQ-TRAIN-03": ("exec_save", "insert sent_as", "model-at-home"),
}


@functools.cache
def enforcing(action: str, part: str) -> Protocol:
    """Return the first variant, layers last, in which the action has such a part."""
    for name in FAMILY.with_layers(FAMILY.main[:1]):
        protocol = SOURCE.protocol(name)
        found = protocol.action(action)
        if part in {guard.name for guard in found.guards} | {update.name for update in found.updates}:
            return protocol
    raise AssertionError(f"{action} has no '{part}'")


#: What designs with another adversary ask for; test_late_adversary has their rows.
OF_VARIANTS = ("REQ-LATE-01", "REQ-LATE-02", "REQ-ROLLBACK-01", "REQ-SETUP-18")


def test_every_requirement_has_its_row() -> None:
    rows = [*GUARDS, *UPDATES, *GOALS, *OF_VARIANTS]
    assert len(rows) == len(set(rows))
    asked = {
        id
        for id, each in FAMILY.text.requirements().items()
        if each.level is not Level.ASSUMPTION and id.startswith("REQ")
    }
    assert set(rows) == asked


@pytest.mark.parametrize("id", [*GUARDS, *UPDATES])
def test_a_requirement_that_is_forgotten_breaks_a_proof(id: str, record_property: Verifies) -> None:
    record_property("verifies", f"{FAMILY.id}-{id}")
    action, part, invariant = (GUARDS | UPDATES)[id]
    whole = enforcing(action, part)
    assert id in whole.action(action).enforces
    forget = without_guard if id in GUARDS else without_update
    assert not kept(forget(whole, action, part), action, invariant)


@pytest.mark.parametrize("id", GOALS)
def test_a_requirement_that_is_forgotten_loses_a_goal(id: str, record_property: Verifies) -> None:
    record_property("verifies", f"{FAMILY.id}-{id}")
    action, update, goal = GOALS[id]
    whole = SOURCE.protocol()
    assert id in whole.action(action).enforces
    assert reached_as_written(goal)
    assert not reached(without_update(whole, action, update), goal)


@functools.cache
def reached_as_written(goal: str) -> bool:
    return reached(SOURCE.protocol(), goal)


def reached(protocol: Protocol, goal: str) -> bool:
    instance = SOURCE.instance(protocol, "holder", BARE)
    goals = tuple(each for each in protocol.goals if each.name == goal)
    found = explore(protocol, instance, invariants=(), goals=goals, threat="holder")
    assert found.complete
    return goal in found.goals


def test_a_claim_stands_for_its_sentence() -> None:
    designs = (*FAMILY.with_layers(FAMILY.main[:1]), "leaked-device", "late-corruption")
    sentences: dict[str, str] = {}
    for claim in (claim for name in designs for claim in SOURCE.protocol(name).claims if claim.invariant):
        sentences.setdefault(claim.requirement, claim.sentence)
    normative = {id: each.sentence for id, each in FAMILY.text.requirements().items() if id.startswith("CLAIM")}
    assert {id: sentence for id, sentence in normative.items() if sentences.get(id) != sentence} == {}
