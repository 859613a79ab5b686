#!/bin/sh
# Tool:  cbor-diag 1.2.0, 2026-11-29.
# Guess: cbor2diag(..., pretty=True) writes what pretty=False writes, with white space, and marks only encodings that are not
#        the preferred ones (RFC 8949, section 8.1).
# Seen:  both write the float 1.0 of two bytes, its preferred encoding, as 1.0_1, and chunks as h'01'_i. The pretty form writes
#        byte strings of printable characters as text in single quotes: h'61' is 'a', and h'' is ''.
# So:    texts of the two forms are compared after they are read.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cbor-diag==1.2.0
"$scratch/venv/bin/python" - <<'EOF'
from cbor_diag import cbor2diag, diag2cbor

def forms(text: str) -> list[str]:
    encoded = diag2cbor(text)
    found = [cbor2diag(encoded, pretty=pretty) for pretty in (False, True)]
    assert [diag2cbor(each) for each in found] == [encoded, encoded]
    return found

assert diag2cbor("1.0").hex() == "f93c00" and forms("1.0") == ["1.0_1", "1.0_1"]
assert forms("(_ h'01', h'02')") == ["(_ h'01'_i,h'02'_i)", "(_ h'01'_i, h'02'_i)"]
assert forms("[h'61', h'', h'00']") == ["[h'61',h'',h'00']", "['a', '', h'00']"]
EOF
echo "holds: cbor-diag-pretty-is-another-notation"
