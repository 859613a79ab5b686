#!/bin/sh
# Tool:  cwt 3.3.0, 2026-11-28.
# Guess: encode() signs the claims that it is given.
# Seen:  where they have none, it adds an expiry of one hour (4), a time before which they do not count (5) and a time
#        of issue (6), which RFC 8392 makes optional. An attestation result that should be without them has them.
# So:    claims that are to be signed as they are get signed by COSE alone.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cwt==3.3.0
"$scratch/venv/bin/python" - <<'EOF'
import cwt

key = cwt.COSEKey.from_symmetric_key(alg="HS256", kid="01")
claims = cwt.decode(cwt.encode({1: "verifier", 10: b"nonce"}, key), key)
assert sorted(claims) == [1, 4, 5, 6, 10], claims
assert claims[4] - claims[6] == 3600 and claims[5] == claims[6]
EOF
echo "holds: cwt-adds-times"
