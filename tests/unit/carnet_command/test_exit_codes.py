"""Exit codes: each has one number, and one precedence decides between several."""

from __future__ import annotations

import itertools

import pytest

from carnet_command.errors import CarnetError, InterruptedRunError, UsageError
from carnet_command.exit_codes import PRECEDENCE, ExitCode, deciding


def test_the_numbers_are_those_of_the_decision_record() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "EXPECTED": 0,
        "VIOLATED": 1,
        "USAGE": 2,
        "UNKNOWN": 3,
        "VACUOUS": 4,
        "INTERNAL": 5,
        "INTERRUPTED": 130,
        "UNREAD": 141,
    }


@pytest.mark.parametrize("codes", [codes for n in range(5) for codes in itertools.combinations(PRECEDENCE, n)])
def test_the_worst_code_decides(codes: tuple[ExitCode, ...]) -> None:
    order = [5, 1, 4, 3]
    assert deciding([ExitCode.EXPECTED, *reversed(codes)]) == min(codes, key=order.index, default=0)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [(CarnetError, "internal", 5), (UsageError, "usage", 2), (InterruptedRunError, "interrupted", 130)],
)
def test_errors_carry_kind_and_code(error: type[CarnetError], kind: str, code: int) -> None:
    assert (error.kind, error.exit_code) == (kind, code)
