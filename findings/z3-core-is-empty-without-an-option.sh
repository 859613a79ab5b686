#!/bin/sh
# Tool:  z3-solver 5.4.0.0, 2026-11-27.
# Guess: Solver.unsat_core() of named assertions names them, or says that cores are off, as SMT-LIB 2.6 has get-unsat-core do
#        (section 4.2.7).
# Seen:  without (set-option :produce-unsat-cores true) in the text the core is empty, and no error is raised: as if nothing
#        that has a name were needed.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q z3-solver==5.4.0.0
"$scratch/venv/bin/python" - <<'EOF'
import z3

TEXT = "(declare-const p Bool)(assert (! p :named a))(assert (! (not p) :named b))"

def core(text: str) -> list[str]:
    solver = z3.Solver()
    solver.from_string(text)
    assert solver.check() == z3.unsat
    return sorted(map(str, solver.unsat_core()))

assert core(TEXT) == []
assert core("(set-option :produce-unsat-cores true)" + TEXT) == ["a", "b"]
EOF
echo "holds: z3-core-is-empty-without-an-option"
