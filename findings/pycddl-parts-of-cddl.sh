#!/bin/sh
# Tool:  pycddl 0.6.4, 2026-11-28.
# Guess: it checks data against every construct of RFC 8610 and of RFC 9165.
# Seen:  it refuses the range 0.0..1.0 itself, though RFC 8610, section 2.2.2.1, has ranges of floats. It refuses a byte
#        string under ".cborseq [* uint]" (RFC 8610, section 3.8.4), because it reads the first item alone. And it refuses
#        {"x": "s"} under {? "x" => uint, * tstr => any}, where no cut stops the second entry from matching (section
#        3.5.4).
# So:    a schema of evidence that this library refuses may be right, and the evidence, too.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q pycddl==0.6.4 cbor2==6.1.5
"$scratch/venv/bin/python" - <<'EOF'
import cbor2
import pycddl


def why(schema: str, data: bytes) -> str:
    try:
        pycddl.Schema(schema).validate_cbor(data)
    except pycddl.ValidationError as error:
        return str(error)
    return ""


assert "upper and lower values must be uint types" in why("a = 0.0..1.0", cbor2.dumps(0.5))
assert "expected array type" in why("a = bstr .cborseq [* uint]", cbor2.dumps(b"\x01\x02"))
assert "expected type uint" in why('a = {? "x" => uint, * tstr => any}', cbor2.dumps({"x": "s"}))
assert not why("a = 0..1", cbor2.dumps(1))
EOF
echo "holds: pycddl-parts-of-cddl"
