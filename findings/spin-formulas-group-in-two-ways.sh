#!/bin/sh
# Tool:  Spin 6.5.2 (Debian's spin 6.5.2+dfsg-1), 2026-11-29.
# Guess: 'p -> q && r' is p -> (q && r), and 'p -> q -> r' is p -> (q -> r), both for spin -f and in an ltl block.
# Seen:  to spin -f, the operators &&, ||, -> and <-> all bind alike and group to the left: it reads (p -> q) && r, and of 'p || q && r'
#        (p || q) && r. In an ltl block && binds more than || and ->. 'p -> q -> r' is (p -> q) -> r in both.
# So:    formulas have parentheses before one is moved from one place to the other.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download spin=6.5.2+dfsg-1 >downloads
dpkg -x spin_*.deb debian
claim() {
    debian/usr/bin/spin -f "$1" | tail -n +2
}
block() {
    printf 'bool p, q, r;\nactive proctype main() { skip }\nltl formula { %s }\n' "$1" >model.pml
    debian/usr/bin/spin -a model.pml
}
claims_agree() {
    test "$(claim "$1")" = "$(claim "$2")"
}
blocks_agree() {
    test "$(block "$1")" = "$(block "$2")"
}
claims_agree 'p -> q && r' '(p -> q) && r'
! claims_agree 'p -> q && r' 'p -> (q && r)' || exit 1
blocks_agree 'p -> q && r' 'p -> (q && r)'
! blocks_agree 'p -> q && r' '(p -> q) && r' || exit 1
claims_agree 'p -> q -> r' '(p -> q) -> r'
! claims_agree 'p -> q -> r' 'p -> (q -> r)' || exit 1
blocks_agree 'p -> q -> r' '(p -> q) -> r'
! blocks_agree 'p -> q -> r' 'p -> (q -> r)' || exit 1
blocks_agree 'p || q && r' 'p || (q && r)'
claim 'p || q && r' | grep -qF '(((p) && (r)) || ((q) && (r)))'
echo "holds: spin-formulas-group-in-two-ways"
