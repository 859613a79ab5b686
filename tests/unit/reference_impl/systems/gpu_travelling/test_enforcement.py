"""Checks log what they saw and what came of it, and a step takes along those that were made for it."""

from __future__ import annotations

import ast
import hashlib

import pytest

from carnet_ref.citations import CHECKS, PACKAGE
from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import ChecksWithout
from carnet_ref.systems.gpu_travelling.enforcement import (
    Checks,
    ReceivedMessage,
    checking,
    digest_of,
    log_step,
    unattributed_checks,
)
from carnet_ref.transport.frames import Checked, ProtocolError

SECURE = Checks()
FENCED = step("fenced", "orchestrator")


def test_a_step_takes_along_what_was_checked_for_it_and_nothing_else() -> None:
    with checking("orchestrator"):
        SECURE.require("fence-ack", "REQ-HOME-02", True, saw=ReceivedMessage("gpu", b"report"), otherwise="")
        first = log_step(FENCED, b"message")
        SECURE.require("scrub-ack", "REQ-SCRUB-03", True, saw=(1, 2), otherwise="")
        second = log_step(step("scrubbed", "orchestrator"))
    (made,) = first.checks
    assert (made.by, made.defence, made.requirement) == ("orchestrator", "fence-ack", "REQ-HOME-02")
    assert (made.action, made.sender, made.holds) == ("fenced", "gpu", True)
    assert made.saw == hashlib.sha256(b"report").hexdigest()
    assert first.sent == (hashlib.sha256(b"message").hexdigest(),)
    assert [(check.defence, check.action) for check in second.checks] == [("scrub-ack", "scrubbed")]


def test_a_check_that_fails_is_logged_and_made_for_no_step() -> None:
    with checking("gpu") as log:
        with pytest.raises(ProtocolError, match=r"too late \(REQ-HOME-02\)"):
            SECURE.require("fence-ack", "REQ-HOME-02", False, saw=b"late", otherwise="too late")
        assert not SECURE.passes("lease", "REQ-RETURN-04", False, saw=(1.5, 1.0))
        (effect,) = unattributed_checks(log)
    assert isinstance(effect, Checked)
    assert [(check.defence, check.holds, check.action) for check in effect.checks] == [
        ("fence-ack", False, ""),
        ("lease", False, ""),
    ]


def test_what_fails_does_not_count_for_the_step_that_is_taken_nevertheless() -> None:
    with checking("gpu"):
        SECURE.passes("lease", "REQ-RETURN-04", False, saw=1)
        SECURE.passes("fence-ack", "REQ-HOME-02", True, saw=2)
        note = log_step(FENCED)
    assert [(check.defence, check.action) for check in note.checks] == [("lease", ""), ("fence-ack", "fenced")]


def test_what_was_checked_for_no_step_is_told_once() -> None:
    with checking("gpu") as log:
        SECURE.passes("lease", "REQ-RETURN-04", True, saw=1)
        assert len(unattributed_checks(log)) == 1
        assert not unattributed_checks(log)


def test_a_check_that_an_ablation_leaves_out_is_not_logged() -> None:
    with checking("gpu"):
        ChecksWithout(frozenset({"fence-ack"})).require("fence-ack", "REQ-HOME-02", False, saw=b"", otherwise="")
        assert not log_step(FENCED).checks


def test_a_verification_is_logged_with_the_sender_that_it_reveals() -> None:
    with checking("gpu"):
        opened = SECURE.verify("session-orders", "REQ-SESSION-01", lambda: "plain", saw=b"x", sender=str.upper)
        (made,) = log_step(FENCED).checks
    assert (opened, made.sender, made.holds, made.saw) == ("plain", "PLAIN", True, digest_of(b"x"))


def test_a_verification_that_fails_is_logged_and_raises() -> None:
    def refuse() -> str:
        raise AuthenticationError("no")

    with checking("gpu") as log:
        with pytest.raises(AuthenticationError):
            SECURE.verify("session-orders", "REQ-SESSION-01", refuse, saw=b"x")
        (effect,) = unattributed_checks(log)
    assert isinstance(effect, Checked)
    assert [check.holds for check in effect.checks] == [False]


def test_a_reply_of_another_kind_is_logged_as_failing() -> None:
    with checking("gpu") as log:
        with pytest.raises(ProtocolError, match="expected int, found str"):
            SECURE.expect("fence-ack", "REQ-HOME-02", "text", int, saw=b"x")
        (effect,) = unattributed_checks(log)
    assert isinstance(effect, Checked)
    assert not effect.checks[0].holds


def test_two_roles_in_one_process_keep_their_checks_apart() -> None:
    with checking("gpu"):
        SECURE.passes("lease", "REQ-RETURN-04", True, saw=1)
        with checking("holder") as inner:
            SECURE.passes("grant-once", "REQ-GRANT-05", True, saw=2)
        assert [check.by for check in inner.made] == ["holder"]
        assert [check.defence for check in log_step(FENCED).checks] == ["lease"]


@pytest.mark.parametrize(("one", "other"), [((1, 2), (12,)), (("1",), (1,)), (b"1", "1"), (None, 0), ((), "")])
def test_different_things_have_different_digests(one: bytes, other: bytes) -> None:
    assert digest_of(one) != digest_of(other)
    assert digest_of(one) == digest_of(one)


def test_every_check_says_what_it_saw() -> None:
    """A digest of nothing connects a check with nothing."""
    silent = []
    for file in sorted((PACKAGE / "systems").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = ast.unparse(node.func.value).rpartition(".")[2].removeprefix("_")
            if node.func.attr in CHECKS and owner == "checks" and "saw" not in {word.arg for word in node.keywords}:
                silent.append(f"{file.name}:{node.lineno}")
    assert not silent
