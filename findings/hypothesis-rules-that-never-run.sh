#!/bin/sh
# Tool:  hypothesis 6.170.17, 2026-11-29.
# Guess: a rule of a state machine whose precondition never holds is reported, as a test is whose assumption never holds.
# Seen:  the test passes without a warning, whatever the rule would do. assume(False) in a test fails it.
# So:    a test counts how often each rule ran.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q hypothesis==6.170.17
"$scratch/venv/bin/python" -W error - >"$scratch/out" 2>&1 <<'EOF'
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import FailedHealthCheck, Unsatisfiable
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

QUICK = settings(max_examples=20, database=None, derandomize=True)


class Machine(RuleBasedStateMachine):
    count = 0

    @rule()
    def step(self) -> None:
        self.count += 1

    @precondition(lambda self: self.count < 0)
    @rule()
    def attack(self) -> None:
        raise AssertionError("an attack works")


@QUICK
@given(st.integers())
def never(number: int) -> None:
    assume(False)


run_state_machine_as_test(Machine, settings=QUICK)
try:
    never()
except (FailedHealthCheck, Unsatisfiable):
    pass
else:
    raise SystemExit("an assumption that never holds passes")
EOF
test ! -s "$scratch/out"
echo "holds: hypothesis-rules-that-never-run"
