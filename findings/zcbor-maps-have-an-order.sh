#!/bin/sh
# Tool:  zcbor 0.9.1 (with cbor2 5.6.5), 2026-11-29.
# Guess: the entries of a map may come in any order, since a map is a mapping of keys to values (RFC 8949, section 2).
# Seen:  they are matched one after the other, in the order of the CDDL. The map {2: "a", 1: 1} is refused under
#        {1: int, 2: tstr}, and {1: 1, 2: "a"} is not.
# So:    evidence that zcbor refuses may have another order and be right; RFC 8949 lets writers choose it, and other tools sort.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q zcbor==0.9.1 cbor2==5.6.5
"$scratch/venv/bin/python" - <<'EOF'
from zcbor import CddlValidationError, DataTranslator

pair = DataTranslator.from_cddl(cddl_string="pair = {1: int, 2: tstr}", default_max_qty=3).my_types["pair"]


def accepts(encoded: str) -> bool:
    try:
        pair.validate_str(bytes.fromhex(encoded))
    except CddlValidationError:
        return False
    return True


assert accepts("a201010261" + "61")  # {1: 1, 2: "a"}
assert not accepts("a2026161" + "0101")  # {2: "a", 1: 1}
EOF
echo "holds: zcbor-maps-have-an-order"
