#!/bin/sh
# Tool:  Spin 6.5.2 (Debian's spin), with the C compiler of the system, 2026-11-27.
# Guess: the verifier ends with another code than 0 if an assertion fails, or if it could not look at everything.
# Seen:  it ends with 0 each time. A failed assertion shows as 'errors: 1'. A search that was cut off at its depth says
#        'errors: 0' like one that is complete, and does not say 'Search not completed': only the line
#        'error: max search depth too small' differs. One cut off by its memory says 'Search not completed', 'errors: 0'.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -q download spin=6.5.2+dfsg-1 >downloads
dpkg -x spin_*.deb debian
debian/usr/bin/spin -V | grep -q 'Version 6.5.2'

# verified PROMELA OPTIONS C-OPTIONS: verify the body of a process; it has to end with 0.
verified() {
    echo "int x, y; active proctype p() { $1 }" >model.pml
    debian/usr/bin/spin -a -o2 model.pml
    # shellcheck disable=SC2086 # options are words
    gcc -O2 -DSAFETY $3 -o pan pan.c
    # shellcheck disable=SC2086
    ./pan $2 >out 2>&1
}
LOOP='do :: x < 300 -> x++ :: else -> break od'

verified 'x = 1; assert(x == 0)' '' ''
grep -q 'errors: 1$' out

verified "$LOOP" '-m5000' ''
grep -q 'errors: 0$' out
test "$(grep -c 'max search depth too small' out)" = 0

verified "$LOOP" '-m50' ''
grep -q 'errors: 0$' out
grep -q 'error: max search depth too small' out
test "$(grep -c 'Search not completed' out)" = 0

verified 'do :: x++ :: y++ od' '-m100000 -w10' '-DMEMLIM=20'
grep -q 'reached -DMEMLIM bound' out
grep -q 'Search not completed' out
grep -q 'errors: 0$' out
echo "holds: spin-exit-status"
