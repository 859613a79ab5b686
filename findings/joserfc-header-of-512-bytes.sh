#!/bin/sh
# Tool:  joserfc 1.8.0, 2026-11-28.
# Guess: a library that knows the header parameter x5c reads tokens that bring their certificates.
# Seen:  headers that are read have at most 512 bytes by default, and one certificate is longer. The library signs such a
#        token, and refuses to verify it unless a registry with another limit is given.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q joserfc==1.8.0
"$scratch/venv/bin/python" - <<'EOF'
from joserfc import jws
from joserfc.errors import ExceededSizeError
from joserfc.jwk import ECKey

key = ECKey.generate_key("P-256")
header = {"alg": "ES256", "x5c": ["A" * 600]}
longer = jws.JWSRegistry(algorithms=["ES256"])
longer.max_header_length = 1 << 14
token = jws.serialize_compact(header, b"{}", key)
try:
    jws.deserialize_compact(token, key, algorithms=["ES256"])
except ExceededSizeError:
    pass
else:
    raise SystemExit("a header of more than 512 bytes is read")
assert jws.deserialize_compact(token, key, registry=longer).payload == b"{}"
EOF
echo "holds: joserfc-header-of-512-bytes"
