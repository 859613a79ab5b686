#!/bin/sh
# Tool:  cvc5 1.4.2 and z3-solver 5.4.1.0, 2026-11-29.
# Guess: the definitions of a model can be read back to check them, from either solver.
# Seen:  the elements of an uninterpreted sort are (as @A_0 A) in a model of cvc5, which no text declares and which cvc5 refuses
#        as input: SMT-LIB has such values in answers alone. A model of Z3 declares A!val!0 and can be read, but for the formula
#        that says which elements there are.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q cvc5==1.4.2 z3-solver==5.4.1.0
"$scratch/venv/bin/python" - <<'EOF'
import cvc5
import z3

SORT, CONSTANTS = "(declare-sort A 0)", "(declare-const a A)(declare-const b A)"
CLAIM = "(assert (distinct a b))"

def answers(text: str) -> str:
    """Return what cvc5 answers to a script; its parser raises on what it refuses."""
    solver = cvc5.Solver(cvc5.TermManager())
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, "(set-logic UF)" + text, "script")
    found = ""
    while not (command := parser.nextCommand()).isNull():
        found += command.invoke(solver, parser.getSymbolManager())
    return found

def inside(model: str) -> str:
    return model[model.index("(") + 1 : model.rindex(")")]

model = inside(answers(f"(set-option :produce-models true){SORT}{CONSTANTS}{CLAIM}(check-sat)(get-model)"))
assert "(define-fun a () A (as @A_0 A))" in model, model
try:
    answers(SORT + model + CLAIM + "(check-sat)")
except Exception as error:
    assert "@A_0" in str(error), error
else:
    raise AssertionError("it was read")

solver = z3.Solver()
solver.from_string(SORT + CONSTANTS + CLAIM)
assert solver.check() == z3.sat
reader = z3.Solver()
reader.from_string(SORT + inside(f"({solver.model().sexpr()})") + CLAIM)
assert reader.check() == z3.sat
EOF
echo "holds: cvc5-models-are-no-input"
