#!/bin/sh
# Tool:  PyJWT 2.15.1, 2026-11-28.
# Guess: a time that is text is refused: RFC 7519, section 2, has numbers.
# Seen:  "exp" and "nbf" are read by int(), so text with digits counts as the number that it spells.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q PyJWT==2.15.1
"$scratch/venv/bin/python" - <<'EOF'
import jwt

secret = "s" * 32

def is_read(**claims: object) -> bool:
    try:
        jwt.decode(jwt.encode(claims, secret, "HS256"), secret, algorithms=["HS256"])
    except jwt.InvalidTokenError:
        return False
    return True

assert is_read(exp="4000000000")
assert not is_read(exp="1000000000")
assert not is_read(exp="tomorrow")
assert is_read(nbf="1000000000")
EOF
echo "holds: pyjwt-expiry-as-text"
