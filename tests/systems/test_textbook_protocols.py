"""Textbook protocols written with the Dolev-Yao theory: published attacks are found, and repairs proved."""

from dataclasses import replace

import pytest

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.engines.explicit import explore
from carnet_check.engines.induction import try_claims
from carnet_check.engines.induction.solving import Workers
from carnet_check.loading.families import load
from carnet_check.results import Verdict
from carnet_check.semantics import Interpreter
from carnet_spec.examples.sigma import Agent, Exponent, accepted, corrupt, ended, secret
from carnet_spec.language import Formula, Invariant
from carnet_spec.language.lints import lint_family
from tests.unit.model_check.command import carnet

SOURCES = {name: load(f"carnet_spec.examples.{name}:FAMILY") for name in ("needham_schroeder", "sigma", "tickets")}
DESIGNS = [(name, variant) for name, source in SOURCES.items() for variant in source.family.variants]
#: The claims that fall in each design.
FALLS = {
    ("needham_schroeder", "original"): {"responder-secrecy", "responder-agreement"},
    ("sigma", "unsigned"): {"initiator-secrecy", "responder-secrecy", "initiator-agreement", "responder-agreement"},
    ("sigma", "without-macs"): {"initiator-agreement", "responder-agreement", "one-view"},
}


def hunted(name: str, variant: str, claim: str) -> Hunt:
    found = hunt(attack_target(SOURCES[name], variant=variant, claim=claim), jobs=1)
    assert found.verdict is Verdict.VIOLATED
    assert found.trace is not None
    return found


def messages(found: Hunt, names: set[str]) -> list[tuple[str, ...]]:
    """Replay an attack, and return the messages in it, in the order in which they were sent, each once.

    The claim has to hold until the last step.
    """
    assert found.trace is not None
    assert found.profile is not None
    protocol = found.target.source.protocol(found.trace.variant)
    judge = Interpreter(protocol, found.target.source.instance(protocol, found.trace.threat, found.profile))
    state, sent = judge.start(), dict[tuple[str, ...], None]()
    formula = protocol.claim(found.claim).checked.formula
    for step in found.trace.steps:
        assert judge.holds(formula, state)
        state = judge.fire(state, protocol.action(step.action), dict(step.args))
        sent |= dict.fromkeys((name, *row) for name in sorted(names) for row in state.relations[name])
    assert not judge.holds(formula, state)
    return list(sent)


def test_there_is_nothing_to_complain_about() -> None:
    assert [str(each) for source in SOURCES.values() for each in lint_family(source.family)] == []


@pytest.mark.parametrize(("name", "variant"), DESIGNS)
def test_every_claim_that_does_not_fall_is_proved(name: str, variant: str) -> None:
    protocol = SOURCES[name].protocol(variant)
    proofs = try_claims(protocol, jobs=1).claims
    every = {claim.name for claim in protocol.claims}
    assert {claim for claim, _ in proofs} == every - FALLS.get((name, variant), set())
    assert {pair: proof.missing for pair, proof in proofs.items() if not proof.is_proved} == {}


@pytest.mark.parametrize("name", SOURCES)
def test_the_kernel_accepts_the_certificates_beside_it(name: str) -> None:
    rows = carnet("verify", f"carnet_spec.examples.{name}:FAMILY", "--engine", "kernel", "--json").json["results"]
    assert {row["verdict"] for row in rows} == {"PROVED"}
    claims = (claim for variant in SOURCES[name].family.variants for claim in SOURCES[name].protocol(variant).claims)
    assert len(rows) == sum(len(claim.under) for claim in claims)


#: Messages 1.1, 2.1, 2.2, 1.3 and 2.3 of Lowe's attack. His 1.2 is 2.2 handed on as it is, which is no new message.
LOWE = [
    ("first", "mallory", "n1", "alice"),
    ("first", "bob", "n1", "alice"),
    ("second", "alice", "n1", "n2", "bob"),
    ("third", "mallory", "n2"),
    ("third", "bob", "n2"),
]


def test_lowes_attack_is_found_as_it_was_published() -> None:
    found = hunted("needham_schroeder", "original", "responder-agreement")
    assert messages(found, {"first", "second", "third"}) == LOWE
    assert found.trace is not None
    assert [step.action for step in found.trace.steps] == [
        *("begin", "open_first", "make_first"),
        *("reply", "end", "open_third", "make_third", "accept"),
    ]
    assert found.decisive is not None


def test_the_nonce_is_lost_before_the_responder_is_deceived() -> None:
    found = hunted("needham_schroeder", "original", "responder-secrecy")
    assert messages(found, {"first", "second", "third"}) == LOWE[:4]


def test_identities_are_bound_to_the_wrong_one_without_macs() -> None:
    """The responder takes the adversary for its partner; the initiator takes the responder for its own."""
    found = hunted("sigma", "without-macs", "one-view")
    assert messages(found, {"share", "signature"}) == [
        ("share", "x1"),
        ("share", "x2"),
        ("signature", "bob", "x1", "x2"),
        ("signature", "mallory", "x2", "x1"),
        ("signature", "alice", "x2", "x1"),
    ]


def test_who_finds_a_session_key_answers_for_its_owner() -> None:
    """Denning and Sacco: a ticket does not say when it was issued. What is inside of a message is shown by itself."""
    found = hunted("tickets", "main", "present")
    assert messages(found, {"asked", "granted", "ticket", "challenge", "response"}) == [
        ("asked", "ann", "ben", "n1"),
        ("granted", "ann", "n1", "ben", "k1", "ben", "k1", "ann"),
        ("ticket", "ben", "k1", "ann"),
        ("challenge", "k1", "n2"),
        ("response", "k1", "n2"),
    ]
    assert found.trace is not None
    assert "answer" not in {step.action for step in found.trace.steps}


@pytest.mark.parametrize("claim", ["initiator-secrecy", "responder-secrecy"])
def test_a_man_in_the_middle_has_a_secret_with_either_side_without_signatures(claim: str) -> None:
    found = hunted("sigma", "unsigned", claim)
    assert len(messages(found, {"share"})) == 2
    assert found.trace is not None
    assert {"draw_knows", "make_secret", "make_mac"} <= {step.action for step in found.trace.steps}


@pytest.mark.parametrize("variant", ["sigma", "unsigned"])
def test_a_man_in_the_middle_has_a_secret_with_both_sides_at_once(variant: str) -> None:
    """Two honest agents take each other for partners, and each has its secret with him."""
    source = SOURCES["sigma"]
    draft = source.family.draft(variant)

    @draft.goal(sentence="A man in the middle has a secret with each side.")
    def middle(a: Agent, b: Agent, p: Agent, x: Exponent, y: Exponent, m: Exponent) -> Formula:
        here = ended(a, b, x, m) & secret(p, x, m)
        there = accepted(b, a, m, y) & secret(p, m, y)
        return ~corrupt(a) & ~corrupt(b) & corrupt(p) & here & there

    protocol = draft.protocol(source.family.variants[variant].without)
    instance = source.instance(protocol, "network", source.profile("tiny"))
    found = explore(protocol, instance, invariants=(), goals=protocol.goals)
    assert set(found.goals) == ({"both", "middle"} if variant == "unsigned" else {"both"})
    assert found.complete


@pytest.mark.parametrize(
    ("name", "defence"), [("needham_schroeder", "responder-named"), ("sigma", "signature"), ("sigma", "mac")]
)
def test_no_defence_can_be_left_out(name: str, defence: str) -> None:
    assert hunt(attack_target(SOURCES[name], without=(defence,)), jobs=1).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("name", "variant", "unneeded"),
    [
        ("needham_schroeder", "lowe", set()),
        pytest.param("sigma", "without-macs", set(), marks=pytest.mark.slow),
        ("tickets", "main", set()),
        pytest.param("sigma", "sigma", {"signatures_are_verified"}, marks=pytest.mark.slow),
    ],
)
def test_no_lemma_can_be_left_out(name: str, variant: str, unneeded: set[str]) -> None:
    """A lemma that the claims of no design need says nothing."""
    protocol = SOURCES[name].protocol(variant)
    solver = Workers(1)  # it asks once what is proved with or without a lemma
    whole = try_claims(protocol, workers=solver)
    hints = {id: answer.core for proof in whole.proofs for id, answer in proof.answers.items()}

    def proves_all_without(lemma: Invariant) -> bool:
        others = tuple(each for each in protocol.lemmas if each is not lemma)
        found = try_claims(replace(protocol, lemmas=others), hints=hints, workers=solver)
        return all(proof.is_proved for proof in found.claims.values())

    assert {lemma.name for lemma in protocol.lemmas if proves_all_without(lemma)} == unneeded
