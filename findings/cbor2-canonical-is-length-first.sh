#!/bin/sh
# Tool:  cbor2 6.1.5, 2026-11-27.
# Guess: dumps(…, canonical=True) writes the deterministic encoding that RFC 8949 asks for (section 4.2.1): keys in the
#        order of their encoded bytes.
# Seen:  it has the order of RFC 7049 (in RFC 8949 the older alternative, section 4.2.3): short keys first, and only then by bytes.
#        So 10, -1, false, 100, "a", where RFC 8949 has 10, 100, -1, "a", false.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cbor2==6.1.5
"$scratch/venv/bin/python" - <<'EOF'
import cbor2

keys = [100, -1, 10, "a", False]
written = cbor2.dumps(dict.fromkeys(keys, 0), canonical=True)
assert list(cbor2.loads(written)) == [10, -1, False, 100, "a"]
assert sorted(keys, key=cbor2.dumps) == [10, 100, -1, "a", False]
EOF
echo "holds: cbor2-canonical-is-length-first"
