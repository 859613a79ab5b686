#!/bin/sh
# Tool:  asn1tools 0.169.0, 2026-11-28.
# Guess: its codec "der" writes the one encoding that X.690 has for a value.
# Seen:  a SET OF is written in the order given, where section 11.6 sorts the encodings. A BIT STRING with named bits
#        keeps zero bits at its end, where section 11.2.2 removes them. So equal values have several encodings.
# So:    what signs or compares DER does not encode again with it; X.509 and SPDM's certificates rest on one encoding.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q asn1tools==0.169.0
"$scratch/venv/bin/python" - <<'EOF'
import asn1tools

text = "M DEFINITIONS ::= BEGIN O ::= SET OF INTEGER B ::= BIT STRING { x(0), y(3) } END"
codec = asn1tools.compile_string(text, "der")
assert codec.encode("O", [3, 1, 2]).hex() == "3109020103020101020102"
assert codec.encode("O", [1, 2, 3]).hex() == "3109020101020102020103"
assert codec.encode("B", (b"\x80", 8)).hex() == "03020080"
assert codec.encode("B", (b"\x80", 1)).hex() == "03020780"
EOF
echo "holds: asn1tools-der-is-not-distinguished"
