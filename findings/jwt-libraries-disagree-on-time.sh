#!/bin/sh
# Tool:  PyJWT 2.15.1 and jwcrypto 1.6.1, 2026-11-29.
# Guess: a token that expired 30 seconds ago is refused, and one that was issued by a clock that is 30 seconds ahead is accepted:
#        RFC 7519 has a check for exp (section 4.1.4), and none for iat (section 4.1.6).
# Seen:  PyJWT refuses both, and one that counts from 30 seconds ahead on (nbf). jwcrypto accepts all three, as it allows for a minute
#        unless told otherwise, and looks at no iat.
# So:    leeway is always given, and the clocks of verifiers and relying parties are not assumed to agree.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q PyJWT==2.15.1 jwcrypto==1.6.1
"$scratch/venv/bin/python" - <<'EOF'
import time

import jwt
from jwcrypto.jwk import JWK
from jwcrypto.jwt import JWT, JWTExpired

key = JWK.generate(kty="EC", crv="P-384")
public = jwt.PyJWK.from_json(key.export_public()).key
now = int(time.time())


def accepted(claim: str, moment: int) -> tuple[bool, bool]:
    """Return whether PyJWT and jwcrypto accept a token with one claim about time."""
    token = JWT(header={"alg": "ES384"}, claims={claim: moment})
    token.make_signed_token(key)
    try:
        jwt.decode(token.serialize(), public, algorithms=["ES384"])
        first = True
    except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError):
        first = False
    try:
        JWT(jwt=token.serialize(), key=key)
        second = True
    except JWTExpired:
        second = False
    return first, second


assert accepted("exp", now - 30) == (False, True)
assert accepted("nbf", now + 30) == (False, True)
assert accepted("iat", now + 30) == (False, True)
assert accepted("exp", now - 600) == (False, False)
assert accepted("exp", now + 600) == (True, True)
EOF
echo "holds: jwt-libraries-disagree-on-time"
