#!/bin/sh
# Tool:  cbor2 6.1.5, 2026-11-27.
# Guess: an array decodes to a list, and a map to a dict, wherever they are.
# Seen:  as the content of a tag (COSE_Sign1 is tag 18) an array is a tuple, and a map in it is a frozendict, which is no
#        dict. Without the tag the same bytes are a list and a dict. A reader that asks for list refuses every tagged COSE message.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cbor2==6.1.5
"$scratch/venv/bin/python" - <<'EOF'
import cbor2

bare = cbor2.loads(bytes.fromhex("8440a04040"))  # [h"", {}, h"", h""]
tagged = cbor2.loads(bytes.fromhex("d28440a04040")).value
assert (type(bare), type(bare[1])) == (list, dict)
assert type(tagged) is tuple
assert not isinstance(tagged[1], dict)
assert tagged == tuple(bare)
EOF
echo "holds: cbor2-immutable-inside-a-tag"
