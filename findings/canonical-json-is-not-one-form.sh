#!/bin/sh
# Tool:  rfc8785 0.1.4, jcs 0.2.1 and canonicaljson 2.0.0, 2026-11-29.
# Guess: libraries for canonical JSON write the same bytes for the same value.
# Seen:  canonicaljson (the form of Matrix) sorts names by code points, where RFC 8785, section 3.2.3, sorts by units of UTF-16,
#        and writes 1.0 and 1e-07, where that has 1 and 1e-7 (section 3.2.2.3). jcs and rfc8785 write 1 and 1e-7. Of
#        2^53+1, which no double has, jcs writes 9007199254740992, canonicaljson 9007199254740993, and rfc8785 refuses it.
# So:    a digest over canonical JSON, as in an event log, says by which rules; numbers beyond 2^53 stay out of it.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q rfc8785==0.1.4 jcs==0.2.1 canonicaljson==2.0.0
"$scratch/venv/bin/python" - <<'EOF'
import canonicaljson
import jcs
import rfc8785

WRITERS = (rfc8785.dumps, jcs.canonicalize, canonicaljson.encode_canonical_json)


def written(value: object) -> list[str]:
    return [write(value).decode() for write in WRITERS]


by_units, by_points = '{"\U0001f600":2,"\ue000":1}', '{"\ue000":1,"\U0001f600":2}'
assert written({"\ue000": 1, "\U0001f600": 2}) == [by_units, by_units, by_points]
assert written([1.0, 1e-7]) == ["[1,1e-7]", "[1,1e-7]", "[1.0,1e-07]"]
assert [write([2**53 + 1]) for write in WRITERS[1:]] == [b"[9007199254740992]", b"[9007199254740993]"]
refused = False
try:
    rfc8785.dumps([2**53 + 1])
except rfc8785.IntegerDomainError:
    refused = True
assert refused
EOF
echo "holds: canonical-json-is-not-one-form"
