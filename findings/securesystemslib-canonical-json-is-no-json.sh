#!/bin/sh
# Tool:  securesystemslib 1.6.0, 2026-11-29.
# Guess: the canonical JSON over which TUF and in-toto metadata are signed is JSON.
# Seen:  of the characters that JSON has to escape only the quote and the backslash are, so a text with a newline or a tab is none
#        that a parser of JSON takes. Fractions are refused.
# So:    what is signed is made anew from the parsed value, and never parsed itself.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q securesystemslib==1.6.0
"$scratch/venv/bin/python" - <<'EOF'
import json

from securesystemslib.exceptions import FormatError
from securesystemslib.formats import encode_canonical

assert encode_canonical({"b": 'a"\\', "a": True}) == '{"a":true,"b":"a\\"\\\\"}'
for control in "\n\t\x00":
    written = encode_canonical({"stdout": f"one{control}two"})
    assert written == '{"stdout":"one' + control + 'two"}'
    try:
        json.loads(written)
    except json.JSONDecodeError:
        continue
    raise SystemExit(f"{written!r} is JSON")
try:
    encode_canonical(1.5)
except FormatError:
    pass
else:
    raise SystemExit("a fraction is written")
EOF
echo "holds: securesystemslib-canonical-json-is-no-json"
