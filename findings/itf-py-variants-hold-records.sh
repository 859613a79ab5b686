#!/bin/sh
# Tool:  itf-py 0.5.0, 2026-11-29.
# Guess: it reads a variant ({"tag": T, "value": E}) whatever expression E is, as Quint writes Some(0) or Some(Set(1)).
# Seen:  E is taken for a record. A number in full ({"#bigint": "0"}), a set and a tuple are refused; a variant inside a variant
#        is read as a record with fields 'tag' and 'value'. Only an E that JSON has itself (3, "a", true) is read as it stands.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q itf-py==0.5.0
"$scratch/venv/bin/python" - <<'PYTHON'
from itf_py import value_from_json


def read(expression):
    return value_from_json({"tag": "Some", "value": expression})


assert value_from_json({"#bigint": "0"}) == 0
assert str(read({"a": 1})) == "Some(a=1)"
assert str(read(3)) == "Some(value=3)"
assert str(read({"tag": "Some", "value": 3})) == "Some(tag='Some', value=3)"
for key, inside in (("#bigint", "0"), ("#set", [1]), ("#tup", [])):
    try:
        read({key: inside})
    except ValueError as error:
        assert repr(key) in str(error)
    else:
        raise SystemExit(f"{key} in a variant is read now")
PYTHON
echo "holds: itf-py-variants-hold-records"
