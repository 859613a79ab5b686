#!/bin/sh
# Tool:  metamath 0.195 (Debian's metamath 0.195-1), 2026-11-29.
# Guess: if a proof is wrong, the program ends with another code than 0, and does not say that all proofs are right.
# Seen:  'verify proof *' prints '?Error' and what is wrong, and then 'All proofs in the database were verified'. It ends with 0,
#        after a file that is not there, too. Of a proof with a gap it warns, and leaves that line out.
# So:    whoever calls it looks for '?' at the beginning of a line.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download metamath=0.195-1 >downloads
dpkg -x metamath_*.deb debian

# verified NAME FORMULA PROOF: verify a file with one axiom and one proof; the program has to end with 0.
verified() {
    cat >"$1.mm" <<MM
\$c ( ) -> |- wff \$.
\$v p q \$.
wp \$f wff p \$.
wq \$f wff q \$.
wi \$a wff ( p -> q ) \$.
ax1 \$a |- ( p -> ( q -> p ) ) \$.
it \$p |- $2 \$= $3 \$.
MM
    debian/usr/bin/metamath "read $1.mm" "verify proof *" exit </dev/null >out
}

verified right '( p -> ( q -> p ) )' 'wp wq ax1'
test "$(grep -c '^?' out)" = 0
grep -q '^All proofs in the database were verified' out

verified wrong '( p -> ( q -> q ) )' 'wp wq ax1'
grep -q '^?Error on line 7' out
grep -q 'does not match the statement being proved' out
grep -q '^All proofs in the database were verified' out

verified gap '( p -> ( q -> q ) )' '?'
grep -q 'were not proved:  it' out
test "$(grep -c 'were verified' out)" = 0

debian/usr/bin/metamath "read absent.mm" "verify proof *" exit </dev/null >out
grep -q '^?Sorry, couldn.t open' out
echo "holds: metamath-says-verified-after-an-error"
