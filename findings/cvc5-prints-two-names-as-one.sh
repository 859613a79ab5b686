#!/bin/sh
# Tool:  cvc5 1.4.2, 2026-11-29.
# Guess: a constant whose name SMT-LIB cannot write ("|" and "\" are in no symbol, section 3.1 of 2.6) is refused or gets a
#        name of its own.
# Seen:  it is printed with "_" in their place, without a word. So "a|b" and "a_b" are two constants in the API and one in
#        the text. A formula that the solver calls satisfiable is printed as one that is not.
# So:    names that go to a solver are made of what SMT-LIB allows before, and compared with each other.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cvc5==1.4.2
"$scratch/venv/bin/python" - <<'EOF'
import cvc5
from cvc5 import InputParser, Kind, SymbolManager

terms = cvc5.TermManager()
one, other = (terms.mkConst(terms.getBooleanSort(), name) for name in ("a|b", "a_b"))
formula = terms.mkTerm(Kind.AND, one, terms.mkTerm(Kind.NOT, other))
solver = cvc5.Solver(terms)
solver.assertFormula(formula)
assert solver.checkSat().isSat()
assert str(formula) == "(and |a_b| (not a_b))", str(formula)

again = cvc5.Solver(terms)
symbols = SymbolManager(terms)
parser = InputParser(again, symbols)
text = f"(set-logic QF_UF)(declare-const a_b Bool)(assert {formula})(check-sat)"
parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "printed")
answers = []
while not (command := parser.nextCommand()).isNull():
    answers.append(command.invoke(again, symbols).strip())
assert answers[-1] == "unsat", answers
EOF
echo "holds: cvc5-prints-two-names-as-one"
