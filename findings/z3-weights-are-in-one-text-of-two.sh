#!/bin/sh
# Tool:  z3-solver 5.4.1.0, 2026-11-29.
# Guess: Solver.sexpr() and Solver.to_smt2() write the same attributes of a quantifier.
# Seen:  both write its patterns and its name (:qid). Its weight and the name of its Skolem functions (:skolemid) are in sexpr()
#        alone; what to_smt2() wrote is read back with the weight 1.
# So:    a proof that rests on weights does not run again from the text of to_smt2().
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q z3-solver==5.4.1.0
"$scratch/venv/bin/python" - <<'EOF'
import z3

number, function = z3.Int("x"), z3.Function("f", z3.IntSort(), z3.IntSort())
solver = z3.Solver()
solver.add(
    z3.ForAll([number], function(number) > 0, weight=7, qid="positive", skid="witness", patterns=[function(number)])
)
both = (":pattern", ":qid positive")
assert all(word in solver.sexpr() for word in (*both, ":weight 7", ":skolemid witness"))
assert all(word in solver.to_smt2() for word in both)
assert ":weight" not in solver.to_smt2() and ":skolemid" not in solver.to_smt2()

def weight(text: str) -> int:
    reader = z3.Solver()
    reader.from_string(text)
    return reader.assertions()[0].weight()

assert (weight(solver.sexpr()), weight(solver.to_smt2())) == (7, 1)
EOF
echo "holds: z3-weights-are-in-one-text-of-two"
