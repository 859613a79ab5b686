#!/bin/sh
# Tool:  noiseprotocol 0.3.1 (with cryptography 50.0.2), 2026-11-29.
# Guess: encrypt() and write_message() refuse a payload whose message would be longer than the 65535 bytes that Noise allows (section 3
#        of its specification, revision 34).
# Seen:  the limit is on the payload. encrypt() makes a message of up to 65551 bytes, and decrypt() refuses one of more than 65535. The
#        first message of a handshake gets as long as 65567, and read_message() takes it, which no other implementation has to.
# So:    payloads are cut to 65519 bytes, and to less in a handshake.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q cryptography==50.0.2
venv/bin/pip install -q noiseprotocol==0.3.1
venv/bin/python -W ignore - <<'EOF'
from noise.connection import NoiseConnection
from noise.exceptions import NoiseInvalidMessage


def two() -> tuple[NoiseConnection, NoiseConnection]:
    first, second = (NoiseConnection.from_name(b"Noise_NN_25519_AESGCM_SHA256") for _ in range(2))
    first.set_as_initiator()
    second.set_as_responder()
    first.start_handshake()
    second.start_handshake()
    return first, second


def is_refused(read: object, message: bytes) -> bool:
    try:
        read(message)
    except NoiseInvalidMessage:
        return True
    return False


for size, refused in ((65519, False), (65520, True), (65535, True)):
    first, second = two()
    second.read_message(first.write_message())
    first.read_message(second.write_message())
    message = first.encrypt(bytes(size))
    assert len(message) == size + 16
    assert is_refused(second.decrypt, message) is refused

first, second = two()
message = first.write_message(bytes(65535))
assert len(message) == 65567
assert not is_refused(second.read_message, message)
EOF
echo "holds: noiseprotocol-writes-longer-than-it-reads"
