#!/bin/sh
# Tool:  cryptography 50.0.2, 2026-11-29.
# Guess: with extension policies that permit everything, its X.509 verifier follows a chain of Ed25519 keys, which the library signs
#        and whose signatures it verifies.
# Seen:  such a chain is refused, as is one on secp256k1: 'Forbidden public key algorithm'. P-256, P-384, P-521 and RSA are allowed,
#        and no option adds another. The profiles of DICE name Ed25519 first.
# So:    certificates of devices with such keys need another path check.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cryptography==50.0.2
"$scratch/venv/bin/python" - <<'EOF'
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.x509 import verification as v

ANY = v.ExtensionPolicy.permit_all()
CA = ANY.require_present(x509.BasicConstraints, v.Criticality.AGNOSTIC, None)


def certificate(subject, key, issuer, signer, ca):
    built = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(datetime(2026, 1, 1))
        .not_valid_after(datetime(2036, 1, 1))
        .add_extension(x509.BasicConstraints(ca, None), True)
    )
    return built.sign(signer, None if isinstance(signer, ed25519.Ed25519PrivateKey) else SHA384())


def refused(root_key, leaf_key):
    """Return why the verifier refuses a chain of two certificates, each rightly signed; empty if it does not."""
    root = certificate("root", root_key, "root", root_key, True)
    leaf = certificate("leaf", leaf_key, "root", root_key, False)
    leaf.verify_directly_issued_by(root)
    policy = v.PolicyBuilder().store(v.Store([root])).time(datetime(2026, 11, 29))
    verifier = policy.extension_policies(ca_policy=CA, ee_policy=ANY).build_client_verifier()
    try:
        verifier.verify(leaf, [])
    except v.VerificationError as error:
        return str(error)
    return ""


for curve in (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1):
    assert not refused(ec.generate_private_key(curve()), ec.generate_private_key(curve()))
edwards = [ed25519.Ed25519PrivateKey.generate() for _ in range(2)]
koblitz = [ec.generate_private_key(ec.SECP256K1()) for _ in range(2)]
for keys in (edwards, koblitz):
    assert "Forbidden public key algorithm" in refused(*keys)
EOF
echo "holds: cryptography-verifier-knows-web-keys-alone"
