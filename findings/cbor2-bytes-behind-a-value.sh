#!/bin/sh
# Tool:  cbor2 6.3.0, 2026-11-28.
# Guess: loads() refuses what has bytes behind its value, as json.loads() does.
# Seen:  it returns the value and passes over the rest, without a word and with every strict option given.
# So:    who has to know that nothing follows decodes from a file, and compares where the decoder stopped with the end.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cbor2==6.3.0
"$scratch/venv/bin/python" - <<'EOF'
import io

import cbor2

assert cbor2.loads(b"\x01\x02", max_depth=1, allow_indefinite=False, allow_duplicate_keys=False) == 1
file = io.BytesIO(b"\x01\x02")
assert (cbor2.CBORDecoder(file).decode(), file.tell()) == (1, 1)
EOF
echo "holds: cbor2-bytes-behind-a-value"
