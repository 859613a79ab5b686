#!/bin/sh
# Tool:  in-toto-attestation 0.9.3 (with protobuf 7.36.2), 2026-11-29.
# Guess: a statement keeps the whole numbers of its predicate.
# Seen:  a predicate is a google.protobuf.Struct, whose numbers are doubles: 5 is written as 5.0, and 2^53+1 becomes
#        9007199254740992.0, without a word. So a statement that is read and written again says something else.
# So:    versions, counters and sizes beyond 2^53 go into a predicate as text, and what was signed is kept as bytes.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q in-toto-attestation==0.9.3 protobuf==7.36.2
"$scratch/venv/bin/python" - <<'EOF'
import json

from google.protobuf.json_format import MessageToJson, Parse
from in_toto_attestation.v1.statement_pb2 import Statement

given = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": "model", "digest": {"sha256": "ab" * 32}}],
    "predicateType": "https://example.org/step",
    "predicate": {"round": 5, "counter": 2**53 + 1},
}
written = MessageToJson(Parse(json.dumps(given), Statement()))
assert '"round": 5.0' in written, written
assert '"counter": 9007199254740992.0' in written, written
assert json.loads(written)["subject"] == given["subject"]
EOF
echo "holds: in-toto-attestation-numbers"
