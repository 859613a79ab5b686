#!/bin/sh
# Tool:  clingo 5.8.3, 2026-11-29.
# Guess: numbers of a logic program are whole numbers of any size, or a larger one than fits is an error.
# Seen:  they have 32 bits and wrap without a message: 65536 * 65536 is 0, 2147483647 + 1 is -2147483648, and so is the literal
#        2147483648. Only an operation without a value, such as 1 / 0, is told to the logger.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3.11 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q clingo==5.8.3
"$scratch/venv/bin/python" - <<'EOF'
import clingo

def atoms(program: str) -> tuple[list[str], int]:
    """Return what follows from a program, and how many messages it causes."""
    messages, found = [], []
    control = clingo.Control(logger=lambda code, text: messages.append(code))
    control.add("base", [], program)
    control.ground([("base", [])])
    control.solve(on_model=lambda model: found.extend(map(str, model.symbols(shown=True))))
    return sorted(found), len(messages)

assert atoms("a(65536 * 65536).") == (["a(0)"], 0)
assert atoms("a(2147483647 + 1). b(2147483648).") == (["a(-2147483648)", "b(-2147483648)"], 0)
assert atoms("smaller :- 2147483647 + 1 < 0.") == (["smaller"], 0)
assert atoms("a(1 / 0).") == ([], 1)
EOF
echo "holds: clingo-numbers-wrap"
