#!/bin/sh
# Tool:  pySMT 0.9.6, 2026-11-29.
# Guess: its parser reads the core theory and the integers of SMT-LIB 2.6.
# Seen:  (=> p q r), (xor p q r), (= a b c) and (< a b c), which SMT-LIB chains or groups, end in a TypeError about a method's arguments.
#        (distinct a b c) and (and p q r) are read. div, mod and abs are unknown. A constant that was declared after (push 1) is
#        still there after (pop 1), so that it cannot be declared with another sort (section 4.2.3).
# So:    a script for it is written with two arguments each and with one sort for each name.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q pysmt==0.9.6
venv/bin/python -W ignore - >out 2>&1 <<'EOF'
from io import StringIO

from pysmt.exceptions import PysmtTypeError
from pysmt.shortcuts import reset_env
from pysmt.smtlib.parser import SmtLibParser

NAMES = "".join(f"(declare-const {name} Bool)" for name in "pqr") + "".join(f"(declare-const {name} Int)" for name in "abc")


def error(text: str) -> type[Exception] | None:
    reset_env()
    try:
        SmtLibParser().get_script(StringIO(text))
    except Exception as error:
        return type(error)
    return None


for formula in ("(and p q r)", "(distinct a b c)", "(=> p q)", "(= a b)", "(< a b)"):
    assert error(f"{NAMES}(assert {formula})") is None, formula
for formula in ("(=> p q r)", "(xor p q r)", "(= a b c)", "(< a b c)"):
    assert error(f"{NAMES}(assert {formula})") is TypeError, formula
for term in ("(div a 2)", "(mod a 2)", "(abs a)"):
    assert error(f"{NAMES}(assert (= {term} 0))") is NotImplementedError, term
assert error("(push 1)(declare-const x Bool)(pop 1)(declare-const x Int)") is PysmtTypeError
EOF
test ! -s out
echo "holds: pysmt-parts-of-smt-lib"
