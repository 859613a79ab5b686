#!/bin/sh
# Tool:  pyModelChecking 1.3.4, 2026-11-29.
# Guess: its checkers of LTL and CTL agree where a formula is in both logics, such as A G true.
# Seen:  to the checker of LTL, no state satisfies A(G true), nor A(G p) where p always holds, nor that each p is followed by q. To that
#        of CTL all states do. A(F q) and A(X q) are right in both.
# So:    its answer on G is compared with that of another checker.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q pyModelChecking==1.3.4
venv/bin/python -W ignore - <<'EOF'
from pyModelChecking import CTL, LTL, Kripke

chain = Kripke(S=[0, 1, 2], S0=[0], R=[(0, 1), (1, 2), (2, 2)], L={0: {"p"}, 1: set(), 2: {"q"}})
loop = Kripke(S=[0], S0=[0], R=[(0, 0)], L={0: {"p"}})
for states, formula, by_ctl in (
    (chain, "A(G(true))", "A G true"),
    (chain, "A(G(p --> F q))", "A G (p --> A F q)"),
    (loop, "A(G p)", "A G p"),
):
    assert CTL.modelcheck(states, by_ctl) == set(states.states())
    assert LTL.modelcheck(states, formula) == set()
for formula, by_ctl in (("A(F q)", "A F q"), ("A(X q)", "A X q")):
    right = CTL.modelcheck(chain, by_ctl)
    assert right and LTL.modelcheck(chain, formula) == right
EOF
echo "holds: pymodelchecking-globally-holds-nowhere"
