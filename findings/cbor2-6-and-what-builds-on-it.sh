#!/bin/sh
# Tool:  pycose 1.1.0 and zcbor 0.9.1 with cbor2 6.3.0, 2026-11-29.
# Guess: both work with the cbor2 that pip installs with them, since neither names a version of it.
# Seen:  pycose writes a COSE_Sign1 and cannot read it: "Bytes cannot be decoded as COSE message". The content of a tag is a tuple
#        in cbor2 6, and pycose wants a list. zcbor cannot be imported: it asks cbor2 for a name that is gone. With cbor2
#        5.6.5 both work.
# So:    who reads COSE through a library pins the library for CBOR as well.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/written_and_read.py" <<'EOF'
from pycose.algorithms import Es384
from pycose.headers import Algorithm
from pycose.keys import EC2Key
from pycose.keys.curves import P384
from pycose.messages import CoseMessage, Sign1Message

message = Sign1Message(phdr={Algorithm: Es384}, payload=b"evidence")
message.key = EC2Key.generate_key(crv=P384)
try:
    print(CoseMessage.decode(message.encode()).payload.decode())
except TypeError as error:
    print(error)
EOF
for cbor2 in 6.3.0 5.6.5; do
    python3.11 -m venv "$scratch/$cbor2"
    "$scratch/$cbor2/bin/pip" install -q pycose==1.1.0 zcbor==0.9.1 cbor2==$cbor2
    "$scratch/$cbor2/bin/python" "$scratch/written_and_read.py" >"$scratch/$cbor2.read"
    if "$scratch/$cbor2/bin/python" -c 'import zcbor' 2>"$scratch/$cbor2.errors"; then echo imported; else echo refused; fi >"$scratch/$cbor2.import"
done
grep -qx 'Bytes cannot be decoded as COSE message' "$scratch/6.3.0.read"
grep -qx 'evidence' "$scratch/5.6.5.read"
grep -qx 'refused' "$scratch/6.3.0.import"
grep -q 'CBORDecodeValueError' "$scratch/6.3.0.errors"
grep -qx 'imported' "$scratch/5.6.5.import"
echo "holds: cbor2-6-and-what-builds-on-it"
