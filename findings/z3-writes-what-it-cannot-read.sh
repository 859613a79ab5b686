#!/bin/sh
# Tool:  z3-solver 5.4.0.0, 2026-11-27.
# Guess: Solver.from_string reads what Solver.to_smt2 writes.
# Seen:  constants of one name and two sorts are two constants in the API. to_smt2() writes both under that name, which
#        SMT-LIB does not allow, and from_string() refuses the text as ambiguous.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q z3-solver==5.4.0.0
"$scratch/venv/bin/python" - <<'EOF'
import z3

first = z3.Solver()
first.add(z3.Int("n") > 0, z3.Bool("n"))
assert first.check() == z3.sat
text = first.to_smt2()
assert "(declare-fun n () Int)" in text and "(declare-fun n () Bool)" in text
try:
    z3.Solver().from_string(text)
except z3.Z3Exception as error:
    assert "ambiguous constant reference" in str(error)
else:
    raise SystemExit("the text is read now")
EOF
echo "holds: z3-writes-what-it-cannot-read"
