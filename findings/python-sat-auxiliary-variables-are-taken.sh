#!/bin/sh
# Tool:  python-sat 1.9.dev24, 2026-11-29.
# Guess: the auxiliary variables of a cardinality constraint are none that the formula has.
# Seen:  unless a top_id is given, they follow the largest literal of the constraint. With at most one of 1 to 4, the first is 5. A formula
#        that has a variable 5 of its own, set to false, is unsatisfiable together with variable 1.
# So:    the largest variable of the whole formula is given as top_id, or a pool of variables.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q python-sat==1.9.dev24
venv/bin/python - <<'EOF'
from pysat.card import CardEnc, EncType
from pysat.solvers import Solver

own = [[1], [-5]]
for top, satisfiable in ((None, False), (5, True)):
    card = CardEnc.atmost(lits=[1, 2, 3, 4], bound=1, top_id=top, encoding=EncType.seqcounter)
    used = {abs(literal) for clause in card.clauses for literal in clause}
    assert (5 in used) == (top is None)
    with Solver(bootstrap_with=card.clauses + own) as solver:
        assert solver.solve() is satisfiable
EOF
echo "holds: python-sat-auxiliary-variables-are-taken"
