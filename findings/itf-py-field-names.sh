#!/bin/sh
# Tool:  itf-py 0.5.0, 2026-11-27.
# Guess: it reads every record of the Informal Trace Format, whose fields are JSON strings (Apalache, ADR-015).
# Seen:  records become named tuples, so a field that is no Python identifier, or is one of its keywords, is refused.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q itf-py==0.5.0
"$scratch/venv/bin/python" - <<'EOF'
import itf_py

assert itf_py.value_from_json({"kind": 1}).kind == 1
for field in ("b c", "class"):
    try:
        itf_py.value_from_json({field: 1})
    except ValueError as error:
        assert repr(field) in str(error)
    else:
        raise SystemExit(f"{field!r} is read now")
EOF
echo "holds: itf-py-field-names"
