"""The pytest plugin: an item to each obligation, and each fails for its own reason."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.unit.model_check.command import CONTROLS, FASTEST, FIXTURES, TOY

pytest_plugins = ["pytester"]

for name in ("carnet_command.workers", "z3", "carnet_check.verification.campaign", "carnet_check.engines.induction"):
    import_module(name)  # pytester forgets what a test imports, and processes and solvers must not be imported twice


def verified(pytester: pytest.Pytester, asked: str, *arguments: str) -> pytest.RunResult:
    """Run pytest on a module that asks for one protocol to be verified."""
    pytester.makepyfile(f"from carnet_check.pytest_plugin import carnet_verify\n\ntest_it = carnet_verify({asked})\n")
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-v", *arguments)


def test_a_sound_protocol_passes_item_by_item_and_what_is_only_declared_is_skipped(pytester: pytest.Pytester) -> None:
    ran = verified(pytester, repr(TOY))
    ran.assert_outcomes(passed=21, skipped=1)
    ran.stdout.fnmatch_lines(
        [
            "*::test_it::main-init/secrecy PASSED*",
            "*::test_it::main-step/lend/secrecy PASSED*",
            f"*::test_it::main-{FASTEST}/secrecy/collusion PASSED*",
            "*::test_it::main-declared/punctual SKIPPED*",
            "*::test_it::main-not-vacuous PASSED*",
        ]
    )


def test_a_wrong_claim_fails_where_it_breaks_and_is_told(pytester: pytest.Pytester) -> None:
    ran = verified(pytester, repr(f"{CONTROLS}:wrong_claim"))
    ran.assert_outcomes(passed=5, failed=2)
    ran.stdout.fnmatch_lines(
        [
            "step/pass_on/stays-home fails with 2 Party",
            "*before     mood = CALM, has(first)",
            "stays-home is VIOLATED, expected EXHAUSTED*",
            "  1.  first passes the token on to party1",
            "*it is false that  party1 = first",
        ]
    )
    assert "Traceback" not in ran.stdout.str()


@pytest.mark.mends("S10")
def test_liveness_passes_if_it_is_proved_and_fails_otherwise(pytester: pytest.Pytester) -> None:
    ran = verified(pytester, repr(f"{FIXTURES / 'mended.py'}:liveness_that_nobody_brings"))
    ran.assert_outcomes(passed=5, failed=2)
    ran.stdout.fnmatch_lines(
        [
            "lights-up is not proved: no action is to be taken fairly",
            "lights-up is VIOLATED, expected EXHAUSTED*",
            "  and then nothing happens any more",
        ]
    )
    ran = verified(pytester, repr(f"{FIXTURES / 'mended.py'}:liveness_that_fairness_brings"))
    ran.assert_outcomes(passed=7)


def test_what_is_no_protocol_or_out_of_reach_fails_in_one_line(pytester: pytest.Pytester) -> None:
    ran = verified(pytester, repr(f"{CONTROLS}:unreachable_goal"), "-k", "not-vacuous")
    ran.assert_outcomes(failed=1, deselected=3)
    ran.stdout.fnmatch_lines(["UNKNOWN: goal shared: not reached*"])
    ran = verified(pytester, "'nothing.py'")
    ran.assert_outcomes(errors=1)
    ran.stdout.fnmatch_lines(["expected a Python file, and 'nothing.py' does not exist"])
    assert "Traceback" not in ran.stdout.str()


def test_a_protocol_beside_the_test_is_found_and_its_requirements_recorded(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(toy=Path(TOY).read_text())
    verified(pytester, "'toy.py'", "-k", "init").assert_outcomes(passed=4, deselected=18)
    file = pytester.path / "junit.xml"
    verified(pytester, repr(TOY), "-k", "init/secrecy", f"--junitxml={file}")
    assert '<property name="verifies" value="REQ-TOY-2"' in file.read_text()


def test_a_lemma_claim_is_an_item_of_each_means(pytester: pytest.Pytester) -> None:
    passed = verified(pytester, repr(f"{FIXTURES / 'parity.py'}:FAMILY"))
    passed.assert_outcomes(passed=3)
    failed = verified(pytester, repr(f"{FIXTURES / 'parity.py'}:FAILING"))
    failed.stdout.fnmatch_lines(["*even-sum is VIOLATED, expected EXHAUSTED: it does not hold for number = 3"])
