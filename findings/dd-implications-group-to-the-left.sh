#!/bin/sh
# Tool:  dd 0.6.0, PyEDA 0.29.0 and z3-solver 5.4.1.0, 2026-11-29.
# Guess: the formula 'a => b => c' is a => (b => c).
# Seen:  to the parser of dd it is (a => b) => c, which is false where all three are false; so is 'a -> b -> c'. To PyEDA, and to Z3 with
#        the (=> a b c) of SMT-LIB, it is a => (b => c).
# So:    nested implications are written with parentheses.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q dd==0.6.0
venv/bin/pip install -q pyeda==0.29.0
venv/bin/pip install -q z3-solver==5.4.1.0
venv/bin/python -W ignore - <<'EOF'
import z3
from dd.autoref import BDD
from pyeda.inter import expr

bdd = BDD()
bdd.declare("a", "b", "c")
for arrow in ("=>", "->"):
    read = bdd.add_expr(f"a {arrow} b {arrow} c")
    assert read == bdd.add_expr("(a => b) => c")
    assert read != bdd.add_expr("a => (b => c)")
assert expr("a => b => c").equivalent(expr("a => (b => c)"))
declared = "".join(f"(declare-const {name} Bool)" for name in "abc")
(formula,) = z3.parse_smt2_string(declared + "(assert (=> a b c))")
a, b, c = z3.Bools("a b c")
assert formula.eq(z3.Implies(a, z3.Implies(b, c)))
EOF
echo "holds: dd-implications-group-to-the-left"
