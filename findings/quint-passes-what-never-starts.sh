#!/bin/sh
# Tool:  Quint 0.33.1 (npm's @informalsystems/quint), its simulator in TypeScript, 2026-11-29.
# Guess: `quint run` reports a state in which no step is possible, or a model without a first state, and `quint test` that no test
#        has the name that it was given.
# Seen:  each ends with 0. A run of at most 20 steps that stops after three says 'No violation found'; so does one whose init can
#        never be taken, with traces of length 0. `quint test` without a test, or with none that matches, prints no more than the name
#        of the module.
# So:    the lengths of traces and the number of tests are compared with what is expected.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
npm install -q @informalsystems/quint@0.33.1 antlr4ts@0.5.0-alpha.4 --no-audit --no-fund >downloads 2>&1
cat >counter.qnt <<'QUINT'
module counter {
  var x: int
  action init = x' = 0
  action impossible = all { false, x' = 0 }
  action step = all { x < 3, x' = x + 1 }
  val small = x < 10
  run upTest = init.then(step)
}
QUINT
quint() {
    command=$1
    shift
    node_modules/.bin/quint "$command" --backend=typescript "$@" counter.qnt >out 2>&1
}
quint run --max-samples=10 --max-steps=20 --invariant=small
grep -q 'No violation found' out
grep -q 'max=4, min=4' out
quint run --max-samples=10 --init=impossible --invariant=small
grep -q 'No violation found' out
grep -q 'max=0, min=0' out
quint test
grep -q '1 passing' out
quint test --match=nothing
test "$(tr -d '[:space:]' <out)" = counter
echo "holds: quint-passes-what-never-starts"
