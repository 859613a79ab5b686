"""What each defence is good for: the attack that its removal opens, found and carried out, or a proof without it."""

import functools
from typing import Any

import pytest

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import load
from carnet_check.results import Verdict, steps_as_json
from carnet_check.semantics import Interpreter
from carnet_ref.systems import replay_of
from carnet_spec.protocols.pipellm.claims import FALLS
from carnet_spec.protocols.pipellm.vocabulary import FLUSHED

#: For each protocol the threat model in which its defences are removed.
THREATS = {
    "fastrack": "collusion",
    "pipellm": "lone-host",
    "ring-all-reduce": "tenants",
    "sgx-lkl": "meddling",
    "teechain": "platform",
    "tensortee": "neighbour",
    "verifiable-fl": "sealed",
}
SOURCES = {id: load(id) for id in THREATS}
#: For each defence a claim that its removal breaks, and the requirements that it is there for.
ATTACKS = {
    "fastrack": {
        "direct-key": ("confidentiality", "REQ-SETUP-01"),
        "report-bound": ("confidentiality", "REQ-SETUP-03"),
        "gpu-certificate": ("confidentiality", "REQ-SETUP-04"),
        "mode-check": ("confidentiality", "REQ-SETUP-05"),
        "kernel-named": ("confidentiality", "REQ-KERNEL-01"),
        "transfer-fresh": ("iv-unique", "REQ-SEND-01"),
        "chunk-once": ("iv-unique", "REQ-SEND-02"),
        "tag-transfer": ("chunk-agreement", "REQ-SEND-03, REQ-RECEIVE-04"),
        "tag-place": ("chunk-agreement", "REQ-SEND-03, REQ-RECEIVE-04"),
        "transfer-once": ("no-replay", "REQ-RECEIVE-01"),
        "one-fetch": ("verified-release", "REQ-RECEIVE-02"),
        "private-staging": ("verified-release", "REQ-RECEIVE-03"),
        "verify-first": ("verified-release", "REQ-RECEIVE-05"),
        "whole-transfer": ("whole-transfer", "REQ-RECEIVE-06"),
        "answer-bound": ("answer-agreement", "REQ-ANSWER-01"),
    },
    "pipellm": {
        "own-key": ("confidentiality", "REQ-KEY-01"),
        "new-key": ("iv-unique", "REQ-KEY-02"),
        "private-staging": ("iv-unique", "REQ-STAGE-01"),
        "write-invalidates": ("copy-agreement", "REQ-WRITE-01"),
        "write-waits": ("copy-agreement", "REQ-WRITE-02"),
        "in-order": ("order-kept", "REQ-ORDER-01"),
        "page-checked": ("copy-agreement", "REQ-SEND-01"),
        "behind-anew": ("no-passed-iv", "REQ-SEND-02"),
        "pad-first": ("in-step", "REQ-SEND-03"),
        "miss-advances": ("iv-unique", "REQ-SEND-04"),
        "pad-advances": ("counters-agree", "REQ-SEND-04"),
        "pad-discarded": ("copy-agreement", "REQ-PAD-01"),
        "implicit-counter": ("copy-agreement", "REQ-RECEIVE-01"),
        "tag-checked": ("copy-agreement", "REQ-RECEIVE-02"),
        "command-counted": ("order-kept", "REQ-RECEIVE-03"),
        "fail-closed": ("no-gap", "REQ-RECEIVE-04"),
    },
    "ring-all-reduce": {
        "hop-key": ("iv-unique", "REQ-SETUP-01"),
        "report-bound": ("neighbour-genuine", "REQ-SETUP-02, REQ-SETUP-03"),
        "gpu-certificate": ("confidentiality", "REQ-SETUP-04"),
        "mode-check": ("confidentiality", "REQ-SETUP-05"),
        "code-check": ("confidentiality", "REQ-SETUP-06"),
        "neighbour-check": ("neighbour-genuine", "REQ-SETUP-07"),
        "iteration-once": ("confidentiality", "REQ-SEND-03"),
        "seal-once": ("iv-unique", "REQ-SEND-02"),
        "verify-first": ("nothing-else", "REQ-REDUCE-02, REQ-GATHER-01"),
        "bound-iteration": ("nothing-else", "REQ-SEND-01"),
        "bound-chunk": ("partial-sum-agreement", "REQ-SEND-01"),
        "add-once": ("counted-once", "REQ-REDUCE-03"),
        "wait-for-sum": ("whole-sum", "REQ-REDUCE-04"),
        "whole-iteration": ("whole-sum", "REQ-GATHER-02"),
        "alarm-final": ("alarm-heeded", "REQ-ALARM-02"),
    },
    "sgx-lkl": {
        "pad-frames": ("size", "REQ-SIZE-01"),
        "cut-to-frames": ("size", "REQ-SIZE-02"),
        "dummy-calls": ("count", "REQ-COUNT-01"),
        "fixed-order": ("order", "REQ-ORDER-01"),
        "constant-rate": ("time", "REQ-TIME-01"),
        "fixed-scan": ("address", "REQ-ADDRESS-01"),
        "fresh-iv": ("equality", "REQ-CONTENT-01"),
        "retry-alike": ("refusal", "REQ-REFUSAL-01"),
        "check-dummies": ("error", "REQ-ERROR-02"),
        "verify-answer": ("verified", "REQ-ERROR-01"),
        "fixed-end": ("end", "REQ-END-01"),
        "uniform-status": ("error", "REQ-END-02"),
        "pad-result": ("result", "REQ-END-03"),
        "fill-chunks": ("hand-over-count", "REQ-HAND-OVER-01"),
        "fixed-hand-over": ("hand-over-end", "REQ-HAND-OVER-03"),
        "pad-chunks": ("hand-over-size", "REQ-HAND-OVER-02"),
    },
    "teechain": {
        "quote-bound": ("members-genuine", "REQ-SETUP-03"),
        "quote-certificate": ("members-genuine", "REQ-SETUP-04"),
        "quote-measurement": ("members-genuine", "REQ-SETUP-04"),
        "head-quote": ("fail-over-after", "REQ-SETUP-05"),
        "floor-handed": ("fail-over-after", "REQ-SETUP-06"),
        "issue-grows": ("iv-unique", "REQ-ISSUE-01"),
        "log-grows": ("frozen-silent", "REQ-ISSUE-03"),
        "increment-first": ("no-rollback", "REQ-STORE-01"),
        "counter-check": ("no-rollback", "REQ-STORE-02"),
        "launch-identity": ("no-rollback", "REQ-STORE-02"),
        "freeze": ("frozen-silent", "REQ-TAKE-02"),
        "one-vote": ("one-successor", "REQ-TAKE-01"),
        "votes-for-members": ("log-secret", "REQ-TAKE-03"),
        "from-the-chain": ("fail-over-after", "REQ-TAKE-04"),
        "vote-bound": ("one-successor", "REQ-TAKE-05"),
        "newest-log": ("fail-over-after", "REQ-TAKE-06"),
        "quorum": ("fail-over-after", "REQ-TAKE-07"),
        "grant-holder": ("grant-agreement", "REQ-HOLDER-01"),
        "holder-check": ("grant-agreement", "REQ-HOLDER-02"),
    },
    "tensortee": {
        "npu-attested": ("key-isolation", "REQ-KEY-01"),
        "job-key": ("confidentiality", "REQ-KEY-02"),
        "new-key": ("iv-unique", "REQ-KEY-03"),
        "one-writer": ("iv-unique", "REQ-WRITE-01"),
        "version-advances": ("iv-unique", "REQ-WRITE-02"),
        "line-once": ("iv-unique", "REQ-WRITE-03"),
        "mac-tensor": ("line-agreement", "REQ-MAC-01, REQ-READ-01"),
        "mac-line": ("tensor-agreement", "REQ-MAC-01"),
        "mac-version": ("line-agreement", "REQ-MAC-01, REQ-READ-01"),
        "mac-nonlinear": ("tensor-agreement", "REQ-MAC-01"),
        "table-protected": ("no-rollback", "REQ-TABLE-01"),
        "whole-write": ("whole-hand-over", "REQ-HAND-01"),
        "descriptor-sealed": ("hand-over-agreement", "REQ-HAND-02"),
        "descriptor-fresh": ("no-rollback", "REQ-HAND-03"),
        "settle-first": ("verified-hand-over", "REQ-LOAD-01"),
        "one-fetch": ("tensor-agreement", "REQ-LOAD-02"),
        "every-line": ("whole-tensor", "REQ-VERIFY-01"),
        "mac-compared": ("tensor-agreement", "REQ-VERIFY-02"),
        "taint-passed-on": ("verified-export", "REQ-TAINT-01"),
        "taint-kept": ("verified-export", "REQ-TAINT-01"),
        "verified-hand-over": ("verified-hand-over", "REQ-EXPORT-01"),
        "verified-release": ("verified-export", "REQ-EXPORT-01"),
        "fail-stop": ("failure-heeded", "REQ-VERIFY-03"),
    },
    "verifiable-fl": {
        "log-grows": ("nothing-missing", "REQ-STEP-04"),
        "end-final": ("nothing-missing", "REQ-STEP-05"),
        "proof-first": ("custody-order", "REQ-STEP-03"),
        "digest-inside": ("inputs-told", "REQ-STEP-02"),
        "key-bound": ("exclaves-genuine", "REQ-EXCLAVE-01, REQ-AUDIT-01"),
        "certificate": ("exclaves-genuine", "REQ-AUDIT-02"),
        "measurement": ("exclaves-genuine", "REQ-AUDIT-03"),
        "run-bound": ("this-run", "REQ-AUDIT-04"),
        "signature": ("step-taken", "REQ-STEP-01, REQ-AUDIT-05"),
        "log-followed": ("log-order", "REQ-AUDIT-06"),
        "inputs-linked": ("data-origin", "REQ-AUDIT-07"),
        "code-claimed": ("code-claimed", "REQ-AUDIT-10"),
        "sanitised": ("only-sanitised", "REQ-AUDIT-08"),
        "log-ended": ("nothing-missing", "REQ-AUDIT-09"),
    },
}
#: Either number or last is enough to tell how long a transfer is; the hop key says who sent a message, and the sub-step
#: in which phase; while every member of a chain has to speak, their order is a second line.
REDUNDANT = {
    "fastrack": ("tag-number", "tag-last"),
    "ring-all-reduce": ("bound-step", "bound-phase"),
    "teechain": ("chain-order",),
}
#: What only a broken backup makes necessary, or memory that leaks.
UNDER_ANOTHER_THREAT = {"teechain": ("every-member",), "verifiable-fl": ("key-in-hardware",)}
#: Attacks that the bytes do not allow: who is no member of a chain has no key for the logs of its members.
SEALED_ANYWAY = ("votes-for-members", "from-the-chain")
#: Further claims that fall: an IV that is used twice tells the data, a defence and the one that stands in for it.
FURTHER: list[tuple[str, tuple[str, ...], str]] = [
    ("fastrack", ("transfer-fresh",), "confidentiality"),
    ("fastrack", ("chunk-once",), "confidentiality"),
    ("fastrack", REDUNDANT["fastrack"], "whole-transfer"),
    ("pipellm", ("new-key",), "confidentiality"),
    ("pipellm", ("private-staging",), "confidentiality"),
    ("pipellm", ("behind-anew",), "confidentiality"),
    ("pipellm", ("pad-first",), "confidentiality"),
    ("pipellm", ("miss-advances",), "confidentiality"),
    ("pipellm", ("own-key",), "key-isolation"),
    ("ring-all-reduce", ("bound-phase", "bound-step"), "sum-agreement"),
    ("sgx-lkl", ("fixed-scan",), "revisits"),
    ("teechain", ("chain-order", "every-member"), "nothing-lost"),
    ("tensortee", ("whole-write",), "verified-hand-over"),
    ("tensortee", ("descriptor-sealed",), "verified-hand-over"),
    ("tensortee", ("one-writer",), "verified-hand-over"),
    ("tensortee", ("new-key",), "confidentiality"),
    ("tensortee", ("one-writer",), "confidentiality"),
    ("tensortee", ("version-advances",), "confidentiality"),
    ("tensortee", ("line-once",), "confidentiality"),
    ("verifiable-fl", ("log-followed",), "counted-once"),
    ("verifiable-fl", ("digest-inside",), "only-sanitised"),
    ("verifiable-fl", ("run-bound",), "data-origin"),
    ("verifiable-fl", ("signature",), "data-origin"),
]
#: Claims that a reading loses.
LOST = [
    *(("pipellm", variant, claim) for variant, falls in FALLS.items() for claim in falls),
    ("ring-all-reduce", "group-key", "hop-isolation"),
    ("ring-all-reduce", "any-phase", "same-sum"),
]


@functools.cache
def hunted(id: str, without: tuple[str, ...] = (), threat: str = "", claim: str = "", variant: str = "") -> Hunt:
    source = SOURCES[id]
    target = attack_target(source, variant=variant, without=without, threat=threat or THREATS[id], claim=claim)
    return hunt(target, jobs=1, progress=lambda _: None)


def replay(found: Hunt) -> dict[str, Any]:
    """Carry an attack out with real bytes, on the design that it is on and with every defence."""
    assert found.trace is not None
    carry_out = replay_of(found.target.protocol.id)
    assert carry_out is not None
    said = {"variant": found.trace.variant, "removed": found.target.removed, "claim": found.claim}
    return carry_out({**said, "steps": steps_as_json(found.trace.steps)})


def assert_attack(found: Hunt, claim: str, *, stopped: bool = False) -> dict[str, Any]:
    """Replay an attack from its trace alone, and with real bytes: the claim falls with the last step.

    With every defence the bytes show nothing. One that is ``stopped`` cannot be carried out with real bytes at all.
    Returned is what the replay says.
    """
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, claim), found.detail
    assert found.trace is not None
    assert found.profile is not None
    source = found.target.source
    protocol = source.protocol(found.trace.variant, found.target.removed)
    judge = Interpreter(protocol, source.instance(protocol, found.trace.threat, found.profile))
    states = judge.replay(found.trace)
    formula = protocol.claim(claim).checked.formula
    assert [judge.holds(formula, state) for state in states[-2:]] == [True, False]
    replayed = replay(found)
    assert replayed["reproduced"] == (not stopped), replayed["stopped"]
    assert not replayed["defended"]["reproduced"], replayed["defended"]["recovered"]
    return replayed


def assert_stopped(id: str, found: Hunt, claim: str, *, stopped: bool = False) -> None:
    """Check that a claim falls, with real bytes too, and that every defence together stops the attack."""
    assert assert_attack(found, claim, stopped=stopped)["defended"]["stopped"] or id != "tensortee"


@pytest.mark.parametrize("id", THREATS)
def test_every_defence_has_an_outcome(id: str) -> None:
    assert {*ATTACKS[id], *UNDER_ANOTHER_THREAT.get(id, ()), *REDUNDANT.get(id, ())} == {
        each.id for each in SOURCES[id].protocol().defences
    }


def verifying(id: str, requirements: str, *row: str) -> Any:
    ids = [f"{id}-{each}" for each in requirements.split(", ")]
    return pytest.param(id, *row, marks=pytest.mark.verifies(*ids))


@pytest.mark.parametrize(
    ("id", "without"),
    [
        verifying(id, requirements, without)
        for id, attacks in ATTACKS.items()
        for without, (_, requirements) in attacks.items()
    ],
)
def test_removing_it_opens_an_attack(id: str, without: str) -> None:
    claim, _ = ATTACKS[id][without]
    assert_stopped(id, hunted(id, (without,), claim=claim), claim, stopped=without in SEALED_ANYWAY)


@pytest.mark.verifies("teechain-REQ-ISSUE-04")
def test_removing_it_opens_an_attack_by_a_broken_backup() -> None:
    assert hunted("teechain", ("every-member",), claim="nothing-lost").verdict is Verdict.PROVED
    assert_attack(hunted("teechain", ("every-member",), "broken", "nothing-lost"), "nothing-lost")


@pytest.mark.verifies("verifiable-fl-REQ-KEY-01")
@pytest.mark.parametrize("claim", ["step-taken", "data-origin", "custody-order", "only-sanitised", "nothing-missing"])
def test_a_key_in_software_is_enough_until_memory_leaks(claim: str) -> None:
    assert hunted("verifiable-fl", ("key-in-hardware",), claim=claim).verdict is Verdict.PROVED
    assert_attack(hunted("verifiable-fl", ("key-in-hardware",), "leaking", claim), claim)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "without", "also"),
    [
        ("step-taken", "signature", {"data-origin"}),
        ("code-claimed", "code-claimed", set()),
        ("this-run", "run-bound", {"data-origin"}),
        ("inputs-told", "digest-inside", {"only-sanitised"}),
        ("data-origin", "inputs-linked", {"only-sanitised"}),
        ("custody-order", "proof-first", set()),
        ("only-sanitised", "sanitised", set()),
        ("log-order", "log-followed", {"counted-once", "nothing-missing"}),
        ("counted-once", "log-followed", {"log-order", "nothing-missing"}),
        ("nothing-missing", "log-ended", set()),
        ("exclaves-genuine", "certificate", {"step-taken", "data-origin", "only-sanitised"}),
    ],
)
def test_a_claim_falls_in_a_design_and_no_other_but_those_that_its_fall_takes_along(
    claim: str, without: str, also: set[str]
) -> None:
    claims = [each.name for each in SOURCES["verifiable-fl"].protocol().claims]
    verdicts = {each: hunted("verifiable-fl", (without,), claim=each).verdict for each in claims}
    assert {each for each, verdict in verdicts.items() if verdict is Verdict.VIOLATED} == {claim, *also}


@pytest.mark.parametrize(
    ("id", "without", "threat", "claim"),
    [
        *((id, without, THREATS[id], "") for id in ("fastrack", "ring-all-reduce") for without in REDUNDANT[id]),
        *(("teechain", "chain-order", threat, "nothing-lost") for threat in ("platform", "broken")),
    ],
)
def test_it_is_proved_to_be_a_second_line(id: str, without: str, threat: str, claim: str) -> None:
    assert hunted(id, (without,), threat, claim).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("id", "without", "claim"),
    [
        pytest.param(
            *row,
            id=f"{row[0]} {' '.join(row[1])} {row[2]}",
            marks=[pytest.mark.verifies("teechain-REQ-ISSUE-02")] if row[0] == "teechain" else [],
        )
        for row in FURTHER
    ],
)
def test_removing_it_breaks_another_claim_as_well(id: str, without: tuple[str, ...], claim: str) -> None:
    asked = "" if without == REDUNDANT["fastrack"] else claim
    assert_stopped(id, hunted(id, without, claim=asked), claim)


def test_flushing_rests_on_encrypting_once() -> None:
    found = hunted("pipellm", ("encrypt-once",), claim="confidentiality", variant=FLUSHED)
    assert_attack(found, "confidentiality")


def test_one_key_for_the_machine_is_read_by_honest_neighbours_too() -> None:
    """The threat model in which every job follows the protocol has the attack as well."""
    found = hunted("tensortee", ("job-key",), "bus", "confidentiality")
    assert_stopped("tensortee", found, "confidentiality")


@pytest.mark.parametrize(("id", "variant", "claim"), LOST)
def test_what_a_reading_loses_is_attacked(id: str, variant: str, claim: str) -> None:
    assert_attack(hunted(id, claim=claim, variant=variant), claim)


@pytest.mark.parametrize(
    ("id", "finding"),
    [pytest.param(id, each, id=f"{id} {each.id}") for id, source in SOURCES.items() for each in source.family.findings],
)
def test_every_finding_is_found(id: str, finding: Any) -> None:
    found = hunted(id, finding.without, finding.threat, finding.claim, finding.variant)
    assert_stopped(id, found, finding.claim)
