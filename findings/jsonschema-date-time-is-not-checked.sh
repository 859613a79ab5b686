#!/bin/sh
# Tool:  jsonschema 4.26.0, 2026-11-27.
# Guess: a validator that is given a format checker checks formats.
# Seen:  it checks those for which a package is installed, and passes the others: "date" is checked, "date-time" and
#        "uri" are not without the extra "format", and nothing says so.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q jsonschema==4.26.0
"$scratch/venv/bin/python" - <<'EOF'
from jsonschema import Draft202012Validator as Validator

def accepts(format: str) -> bool:
    return Validator({"format": format}, format_checker=Validator.FORMAT_CHECKER).is_valid("nonsense, and no uri")

assert not accepts("date")
assert accepts("date-time")
assert accepts("uri")
EOF
echo "holds: jsonschema-date-time-is-not-checked"
