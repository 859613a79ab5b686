#!/bin/sh
# Tool:  python-sat 1.9.dev24 and PicoSAT 965 (Debian's picosat 965-2), 2026-11-29.
# Guess: it reads what the format of DIMACS allows: a clause ends with 0, and lines say nothing.
# Seen:  a clause on two lines is refused, and so are two clauses on one. PicoSAT reads both.
# So:    a formula for it has one clause on each line.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download picosat=965-2 >downloads
dpkg -x picosat_*.deb debian
python3.11 -m venv venv
venv/bin/pip install -q python-sat==1.9.dev24
printf 'p cnf 3 2\n1 2 0\n-1 3 0\n' >plain.cnf
printf 'p cnf 3 2\n1\n2 0\n-1 3 0\n' >spans.cnf
printf 'p cnf 3 2\n1 2 0 -1 3 0\n' >shares.cnf
for file in plain spans shares; do
    code=0
    debian/usr/bin/picosat "$file.cnf" >"$file.out" || code=$?
    test "$code" = 10
    cmp "$file.out" plain.out
done
venv/bin/python - <<'EOF'
from pysat.formula import CNF

assert CNF(from_file="plain.cnf").clauses == [[1, 2], [-1, 3]]
for file in ("spans.cnf", "shares.cnf"):
    try:
        CNF(from_file=file)
    except ValueError:
        continue
    raise SystemExit(f"{file} is read now")
EOF
echo "holds: python-sat-a-line-is-a-clause"
