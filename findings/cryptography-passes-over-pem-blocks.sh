#!/bin/sh
# Tool:  cryptography 50.0.2, 2026-11-29.
# Guess: load_pem_x509_certificates refuses a file in which a block is no certificate that it reads.
# Seen:  it passes over the block. A chain whose root is a TRUSTED CERTIFICATE, as "openssl x509 -trustout" writes it, loads without
#        its root, and a file with a private key between certificates loads as if the key were not there. "X509 CERTIFICATE" is
#        read.
# So:    who needs a chain of a known length counts the blocks, and does not take what was loaded for all that was there.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cryptography==50.0.2
"$scratch/venv/bin/python" - <<'EOF'
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

key = ec.generate_private_key(ec.SECP384R1())
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a root")])
builder = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2026, 1, 1), datetime(2027, 1, 1))
plain = builder.sign(key, hashes.SHA384()).public_bytes(Encoding.PEM)
secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def loaded(*blocks: bytes) -> int:
    return len(x509.load_pem_x509_certificates(b"".join(blocks)))


assert loaded(plain, plain) == 2
assert loaded(plain, plain.replace(b"CERTIFICATE", b"X509 CERTIFICATE")) == 2
assert loaded(plain, plain.replace(b"CERTIFICATE", b"TRUSTED CERTIFICATE")) == 1
assert loaded(plain, secret, plain) == 2
EOF
echo "holds: cryptography-passes-over-pem-blocks"
