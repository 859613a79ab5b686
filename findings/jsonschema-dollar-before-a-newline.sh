#!/bin/sh
# Tool:  jsonschema 4.26.0, 2026-11-27.
# Guess: the pattern ^a$ fits "a" alone: patterns are those of ECMA-262 (JSON Schema 2020-12, core, section 6.4), where $
#        without the flag m is the end.
# Seen:  patterns are those of Python, where $ also fits before a last newline. ^a$ accepts "a" with a newline after it.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q jsonschema==4.26.0
"$scratch/venv/bin/python" - <<'EOF'
from jsonschema import Draft202012Validator as Validator

schema = Validator({"pattern": "^a$"})
assert schema.is_valid("a")
assert schema.is_valid("a\n")
assert not schema.is_valid("a\n\n")
EOF
echo "holds: jsonschema-dollar-before-a-newline"
