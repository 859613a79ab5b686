#!/bin/sh
# Tool:  pySMT 0.9.6 and z3-solver 5.4.1.0, 2026-11-29.
# Guess: simplify() gives a term the value that SMT-LIB's theory of strings gives it, as its own solvers do.
# Seen:  it gives the value of Python. str.to_int of "-5" is -5 and of "1_0" is 10, where SMT-LIB has -1 for both. A substring from
#        -3 on counts from the end, and one of length -2 ends two before it, where SMT-LIB has the empty string; "o" is found from
#        -1 on, where it has -1. "\u{41}" has six characters, where SMT-LIB has one.
# So:    a formula with strings goes to the solver as it is.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q pysmt==0.9.6
venv/bin/pip install -q z3-solver==5.4.1.0
venv/bin/python -W ignore - >out 2>&1 <<'EOF'
import z3
from pysmt.shortcuts import Int, String, StrIndexOf, StrLength, StrSubstr, StrToInt, simplify


def by_z3(term: str) -> str:
    return str(z3.simplify(z3.parse_smt2_string(f"(assert (= {term} {term}))")[0].arg(0)))


hello = String("hello")
for term, text, by_pysmt, by_smtlib in (
    (StrToInt(String("-5")), '(str.to_int "-5")', "-5", "-1"),
    (StrToInt(String("1_0")), '(str.to_int "1_0")', "10", "-1"),
    (StrSubstr(hello, Int(-3), Int(2)), '(str.substr "hello" (- 3) 2)', '"ll"', '""'),
    (StrSubstr(hello, Int(1), Int(-2)), '(str.substr "hello" 1 (- 2))', '"ell"', '""'),
    (StrIndexOf(hello, String("o"), Int(-1)), '(str.indexof "hello" "o" (- 1))', "4", "-1"),
    (StrLength(String("\\u{41}")), '(str.len "\\u{41}")', "6", "1"),
):
    assert (str(simplify(term)), by_z3(text)) == (by_pysmt, by_smtlib), text
EOF
test ! -s out
echo "holds: pysmt-computes-strings-as-python"
