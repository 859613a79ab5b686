#!/bin/sh
# Tool:  Quint 0.33.1 (npm's @informalsystems/quint), its simulator in TypeScript, 2026-11-29.
# Guess: Quint has the division of TLA+, on which it is based: a remainder by n is between 0 and n - 1, and a quotient is rounded down.
# Seen:  quotients are rounded to zero, and a remainder has the sign of what is divided: -7 / 2 is -3, where TLA+ has -4, and -7 % 2 is
#        -1, where it has 1. A counter that goes down by x' = (x - 1) % 3 leaves the range 0 to 2.
# So:    a counter that goes down adds n before it takes the remainder.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
npm install -q @informalsystems/quint@0.33.1 antlr4ts@0.5.0-alpha.4 --no-audit --no-fund >downloads 2>&1
cat >counter.qnt <<'QUINT'
module counter {
  var x: int
  action init = x' = 0
  action step = x' = (x - 1) % 3
  val small = 0 <= x and x < 3
  run quotientTest = assert(-7 / 2 == -3)
  run remainderTest = assert(-7 % 2 == -1)
}
QUINT
node_modules/.bin/quint test --backend=typescript counter.qnt >out 2>&1
grep -q '2 passing' out
code=0
node_modules/.bin/quint run --backend=typescript --max-samples=1 --max-steps=3 --invariant=small counter.qnt >out 2>&1 || code=$?
test "$code" = 1
grep -q 'x: -1' out
echo "holds: quint-remainders-are-negative"
