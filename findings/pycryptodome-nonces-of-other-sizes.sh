#!/bin/sh
# Tool:  pycryptodome 4.4.0, 2026-11-29.
# Guess: where no nonce is given, AES-GCM and ChaCha20 draw one of 96 bits, as SP 800-38D recommends and RFC 8439 demands.
# Seen:  AES-GCM draws 16 bytes, and ChaCha20 8: the cipher of before RFC 8439. A record format with 12 bytes for it, such as that of
#        TLS or SPDM, does not hold the one and is not filled by the other.
# So:    the nonce is always given.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q pycryptodome==4.4.0
"$scratch/venv/bin/python" - <<'EOF'
from Crypto.Cipher import AES, ChaCha20, ChaCha20_Poly1305

key = bytes(32)
assert len(AES.new(key, AES.MODE_GCM).nonce) == 16
assert len(ChaCha20.new(key=key).nonce) == 8
assert len(ChaCha20_Poly1305.new(key=key).nonce) == 12
assert len(AES.new(key, AES.MODE_CCM).nonce) == 11
EOF
echo "holds: pycryptodome-nonces-of-other-sizes"
