#!/bin/sh
# Tool:  pycose 1.1.0 with cbor2 5.6.5, 2026-11-29.
# Guess: Sign1Message.decode() reads what Sign1Message.encode(tag=False) writes: the class says what the message is, and RFC 9052,
#        section 2, makes the tag optional, as in documents of AWS's Nitro enclaves.
# Seen:  AttributeError, "Message was not tagged". The way is from_cose_obj(cbor2.loads(...), False), whose second argument
#        says whether unknown header parameters are allowed and has no default.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q pycose==1.1.0 cbor2==5.6.5
"$scratch/venv/bin/python" - <<'EOF'
import cbor2
from pycose.algorithms import Es384
from pycose.headers import Algorithm
from pycose.keys import EC2Key
from pycose.messages import Sign1Message

key = EC2Key.generate_key(crv="P_384")
message = Sign1Message(phdr={Algorithm: Es384}, payload=b"payload")
message.key = key
assert Sign1Message.decode(message.encode()).payload == b"payload"
untagged = message.encode(tag=False)

def error(read) -> str:
    try:
        read()
    except (AttributeError, TypeError) as raised:
        return f"{type(raised).__name__}: {raised}"
    return "none"

assert error(lambda: Sign1Message.decode(untagged)) == "AttributeError: Message was not tagged."
assert "allow_unknown_attributes" in error(lambda: Sign1Message.from_cose_obj(cbor2.loads(untagged)))
found = Sign1Message.from_cose_obj(cbor2.loads(untagged), False)
found.key = key
assert found.verify_signature() and found.payload == b"payload"
EOF
echo "holds: pycose-reads-tagged-messages-alone"
