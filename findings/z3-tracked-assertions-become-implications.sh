#!/bin/sh
# Tool:  z3-solver 5.4.1.0, 2026-11-29.
# Guess: Solver.to_smt2() writes what the solver has: where it is unsatisfiable, so is the text.
# Seen:  an assertion that was added by assert_and_track(p, "a") is written as (=> a p) with a free constant a, and the names
#        are assumed nowhere. The solver says unsat, and its text is satisfiable for z3 itself and for any other prover.
# So:    what another prover is asked is written with names as attributes, or without names.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q z3-solver==5.4.1.0
"$scratch/venv/bin/python" - <<'EOF'
import z3

proposition = z3.Bool("p")
solver = z3.Solver()
solver.assert_and_track(proposition, "a")
solver.assert_and_track(z3.Not(proposition), "b")
assert solver.check() == z3.unsat

text = solver.to_smt2()
assert "(=> a p)" in text and "check-sat-assuming" not in text, text
reader = z3.Solver()
reader.from_string(text)
assert reader.check() == z3.sat
assert reader.check(z3.Bools("a b")) == z3.unsat
EOF
echo "holds: z3-tracked-assertions-become-implications"
