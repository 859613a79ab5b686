#!/bin/sh
# Tool:  PyJWT 2.15.1, jwcrypto 1.6.1 and joserfc 1.8.0 (with cryptography 50.0.2), 2026-11-29.
# Guess: libraries for JWTs that know keys of Ed25519 know the signature by both of its names: "EdDSA" (RFC 8037) and "Ed25519", which
#        RFC 9864 has in its place and which is the name for COSE, too.
# Seen:  each verifies a token whose alg is "EdDSA". PyJWT refuses one whose alg is "Ed25519" as of an unknown algorithm, where
#        jwcrypto and joserfc verify it, and jwcrypto signs it.
# So:    who signs asks which name the verifiers know.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q cryptography==50.0.2
venv/bin/pip install -q PyJWT==2.15.1
venv/bin/pip install -q jwcrypto==1.6.1
venv/bin/pip install -q joserfc==1.8.0
venv/bin/python -W ignore - <<'EOF'
import json

import jwt
from joserfc import jwt as joserfc_jwt
from joserfc.jwk import OKPKey
from jwcrypto import jwk as jwcrypto_jwk
from jwcrypto import jwt as jwcrypto_jwt

key = jwcrypto_jwk.JWK.generate(kty="OKP", crv="Ed25519")
public = key.export_public(as_dict=True)
for name, known in (("EdDSA", True), ("Ed25519", False)):
    signed = jwcrypto_jwt.JWT(header={"alg": name}, claims={"iss": "verifier"})
    signed.make_signed_token(key)
    token = signed.serialize()
    assert json.loads(jwcrypto_jwt.JWT(key=key, jwt=token, algs=[name]).claims) == {"iss": "verifier"}
    assert joserfc_jwt.decode(token, OKPKey.import_key(public), algorithms=[name]).claims == {"iss": "verifier"}
    try:
        claims = jwt.decode(token, jwt.PyJWK(public, algorithm="EdDSA").key, algorithms=[name])
    except jwt.InvalidAlgorithmError:
        assert not known
    else:
        assert known and claims == {"iss": "verifier"}
EOF
echo "holds: jose-two-names-of-ed25519"
