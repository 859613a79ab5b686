#!/bin/sh
# Tool:  ecdsa 0.19.2, 2026-11-29.
# Guess: without another word, a key on P-384 signs the SHA-384 of a message.
# Seen:  keys on P-256, P-384 and P-521 sign its SHA-1, and verify by it. Another library that verifies by the hash of the curve
#        refuses the signature.
# So:    hashfunc is always given.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q ecdsa==0.19.2 cryptography==50.0.2
"$scratch/venv/bin/python" - <<'EOF'
import ecdsa
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
from cryptography.hazmat.primitives.serialization import load_der_public_key
from ecdsa.util import sigencode_der


def verifies(key, signature, algorithm):
    try:
        key.verify(signature, b"report", ECDSA(algorithm))
    except InvalidSignature:
        return False
    return True


for curve, usual in ((ecdsa.NIST256p, hashes.SHA256()), (ecdsa.NIST384p, hashes.SHA384()), (ecdsa.NIST521p, hashes.SHA512())):
    key = ecdsa.SigningKey.generate(curve)
    signature = key.sign(b"report", sigencode=sigencode_der)
    other = load_der_public_key(key.verifying_key.to_der())
    assert (verifies(other, signature, usual), verifies(other, signature, hashes.SHA1())) == (False, True), curve
EOF
echo "holds: ecdsa-hashes-with-sha1"
