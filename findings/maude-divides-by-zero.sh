#!/bin/sh
# Tool:  Maude 3.2 (Debian's maude 3.2-2), 2026-11-29.
# Guess: `red 7 quo 0 .` is an error.
# Seen:  the result is the term '7 quo 0' of the kind [Rat], and a function on numbers takes it the same way: what has no value stays as
#        it is. It equals itself and no other such term. Maude ends with 0.
# So:    whether a result has a sort is asked, and not only whether there is one.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download maude=3.2-2 >downloads
apt-get -q download libbdd0c2=2.4+dfsg-1 >>downloads
apt-get -q download libtecla1=1.6.3-3+b1 >>downloads
apt-get -q download libsigsegv2=2.14-1 >>downloads
for package in *.deb; do dpkg -x "$package" debian; done
export LD_LIBRARY_PATH="$scratch/debian/usr/lib:$scratch/debian/usr/lib/x86_64-linux-gnu"
export MAUDE_LIB="$scratch/debian/usr/share/maude"
cat >terms.maude <<'MAUDE'
fmod TEST is
  protecting INT .
  protecting RAT .
  op limit : Nat -> Nat .
  eq limit(N:Nat) = min(N:Nat, 9) .
endfm
red 7 quo 0 .
red limit(7 quo 0) .
red limit(12) .
red 7 quo 0 == 7 quo 0 .
red 7 quo 0 == 8 quo 0 .
quit
MAUDE
debian/usr/bin/maude -no-banner terms.maude </dev/null >out
grep '^result' out >results
cat >expected <<'EOF'
result [Rat]: 7 quo 0
result [Rat]: limit(7 quo 0)
result NzNat: 9
result Bool: true
result Bool: false
EOF
cmp results expected
echo "holds: maude-divides-by-zero"
