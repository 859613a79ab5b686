#!/bin/sh
# Tool:  rtamt 0.4.10, 2026-11-29.
# Guess: where the window of a formula begins after the end of the trace, both monitors of signal temporal logic say the same, or that it
#        is open. A window of the discrete one is measured in the time of its samples.
# Seen:  of samples at 0, 1 and 2, always[5,6] is satisfied without end to the discrete monitor, and violated by the value of the samples
#        to the dense one; eventually[5,6] is violated by one and satisfied to the other. To the discrete one, always[0,1] at time 1
#        sees the next sample, though that is at time 5: it counts samples, and sampling_violation_counter stays 0.
# So:    a trace is as long as the formula looks ahead, and its samples are evenly spaced.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q rtamt==0.4.10
venv/bin/python -W ignore - <<'EOF'
from math import inf

import rtamt


def monitor(monitor: object, formula: str) -> object:
    monitor.declare_var("x", "float")
    monitor.spec = f"out = {formula}"
    monitor.parse()
    return monitor


def discrete(formula: str, times: list[int], values: list[float]) -> list[float]:
    built = monitor(rtamt.StlDiscreteTimeSpecification(), formula)
    robustness = [value for _, value in built.evaluate({"time": times, "x": values})]
    assert built.sampling_violation_counter == 0
    return robustness


def dense(formula: str, times: list[int], values: list[float]) -> list[float]:
    built = monitor(rtamt.StlDenseTimeSpecification(), formula)
    return [value for _, value in built.evaluate(["x", [list(sample) for sample in zip(times, values, strict=True)]])]


for formula, value, by_discrete in (("always[5,6] (x >= 0)", -1.0, inf), ("eventually[5,6] (x >= 0)", 1.0, -inf)):
    assert discrete(formula, [0, 1, 2], [value] * 3) == [by_discrete] * 3
    assert dense(formula, [0, 1, 2], [value] * 3) == [value]
assert discrete("always[0,1] (x >= 0)", [0, 1, 5], [1.0, 2.0, -3.0]) == [1.0, -3.0, -3.0]
EOF
echo "holds: rtamt-window-behind-the-end"
