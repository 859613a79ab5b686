#!/bin/sh
# Tool:  ltlf2dfa 2.0.0 and pylogics 0.2.1, 2026-11-29.
# Guess: 'X a' in linear temporal logic on finite traces says that there is a next instant, and that a holds there: so at the last
#        instant it is false.
# Seen:  that is so to ltlf2dfa. To pylogics X is the weak next, which is true at the last instant; the strong one is written X[!], which
#        ltlf2dfa does not read, and the weak one of that, WX, is not read by pylogics.
# So:    a formula with X says of which syntax it is.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q ltlf2dfa==2.0.0
venv/bin/pip install -q pylogics==0.2.1
venv/bin/python -W ignore - <<'EOF'
from ltlf2dfa.parser.ltlf import LTLfParser
from pylogics.parsers import parse_ltl


def kind(parse: object, text: str) -> str:
    try:
        return type(parse(text)).__name__
    except Exception:
        return "refused"


assert [kind(LTLfParser(), text) for text in ("X a", "WX a", "X[!] a")] == ["LTLfNext", "LTLfWeakNext", "refused"]
assert LTLfParser()("X a").to_mona() == "(ex1 v_1: v_1 in $ & v_1=1 & (v_1 in A))"
assert [kind(parse_ltl, text) for text in ("X a", "WX a", "X[!] a")] == ["WeakNext", "refused", "Next"]
EOF
echo "holds: ltlf-next-is-weak-or-strong"
