#!/bin/sh
# Tool:  z3-solver 5.4.1.0, 2026-11-29.
# Guess: the model that Optimize gives has the optimum, or comes close to it where no value reaches it.
# Seen:  of x < 1 the largest x is said to be 1 - epsilon, and the model has x = 0; of an x without a bound it is oo, and the model has
#        x = 0 as well. check() says sat each time. Only where the optimum is reached does the model have it.
# So:    upper() or lower() is read, and a value that is infinite or has an epsilon is not taken from the model.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q z3-solver==5.4.1.0
venv/bin/python - <<'EOF'
import z3

x = z3.Real("x")
for bounds, largest, in_model in (
    ([x <= 1, x > -5], "1", "1"),
    ([x < 1, x > -5], "1 + -1*epsilon", "0"),
    ([], "oo", "0"),
):
    optimum = z3.Optimize()
    optimum.add(bounds)
    goal = optimum.maximize(x)
    assert optimum.check() == z3.sat
    assert (str(optimum.upper(goal)), str(optimum.model()[x])) == (largest, in_model)
EOF
echo "holds: z3-optimum-is-not-in-the-model"
