#!/bin/sh
# Tool:  cryptography 50.0.2, 2026-11-27.
# Guess: names are equal if their DER is, or by the rules of RFC 5280, section 7.1, which ignore case.
# Seen:  neither. A PrintableString and a UTF8String of the same text are equal, although their DER differs; the same text in
#        another case is different, although RFC 5280 has it equal. Whoever looks for an issuer by its DER finds another set.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cryptography==50.0.2
"$scratch/venv/bin/python" - <<'EOF'
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def request(text: str) -> bytes:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
    built = x509.CertificateSigningRequestBuilder().subject_name(subject)
    return built.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(serialization.Encoding.DER)


written = request("Root")
utf8 = x509.load_der_x509_csr(written).subject
assert written.count(b"\x0c\x04Root") == 1
printable = x509.load_der_x509_csr(written.replace(b"\x0c\x04Root", b"\x13\x04Root")).subject
assert utf8.public_bytes() != printable.public_bytes()
assert utf8 == printable
assert utf8 != x509.load_der_x509_csr(request("ROOT")).subject
EOF
echo "holds: cryptography-names-are-equal-across-encodings"
