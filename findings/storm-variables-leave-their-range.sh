#!/bin/sh
# Tool:  Storm by stormpy 2.0.0, 2026-11-29.
# Guess: a command that takes a variable out of its range, which the language of PRISM forbids, is an error.
# Seen:  no message. A variable of the range 0 to 2 becomes 3, which fits into its two bits; one of the range 0 to 3 becomes 0
#        after 3, and the chain has states that its text does not allow.
# So:    each update is guarded by the range.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q stormpy==2.0.0
venv/bin/python - >out 2>&1 <<'EOF'
import stormpy

def probability(largest: int, formula: str) -> tuple[float, int]:
    """Return the probability of a formula in a chain that counts on and on, and the number of its states."""
    with open("chain.prism", "w") as file:
        file.write(f"dtmc module chain s : [0..{largest}] init 0; [] s<={largest} -> (s'=s+1); endmodule")
    program = stormpy.parse_prism_program("chain.prism")
    properties = stormpy.parse_properties(f"P=? [{formula}]", program)
    model = stormpy.build_model(program, properties)
    return stormpy.model_checking(model, properties[0]).get_value(0), model.nr_states

assert probability(2, "F s=3") == (1, 4)
assert probability(3, "F (s=3 & (X s=0))") == (1, 4)
EOF
test ! -s out
echo "holds: storm-variables-leave-their-range"
