#!/bin/sh
# Tool:  cbor2 6.1.5, 2026-11-27.
# Guess: a map keeps each of its keys.
# Seen:  the keys 1 and true, or 1 and 1.0, are different in CBOR (RFC 8949, sections 2 and 5.6), and one key in a Python
#        dict. Of a map with both, loads() returns one entry, the first key with the last value, without a word.
# So:    what signs or compares a map goes by the bytes received, never by what was decoded and encoded again.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cbor2==6.1.5
"$scratch/venv/bin/python" - <<'EOF'
import cbor2

# {1: 1, true: 2} and {1: 1, 1.0: 2}
assert cbor2.loads(bytes.fromhex("a20101f502")) == {1: 2}
assert cbor2.loads(bytes.fromhex("a20101f93c0002")) == {1: 2}
EOF
echo "holds: cbor2-keys-that-are-equal-in-python"
