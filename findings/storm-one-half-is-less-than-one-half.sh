#!/bin/sh
# Tool:  Storm by stormpy 2.0.0, 2026-11-29.
# Guess: of a chain that ends in one of two states with the same probability, P>=0.5 holds for each, or the answer is said to be open.
# Seen:  with 1/3 for each end and 1/3 to begin again, the probability is 0.49999999999999994 in the arithmetic that is used unless
#        another is asked for. P>=0.5 is false, and P<0.5 is true, without a message.
# So:    a bound that may be met exactly is checked in exact arithmetic, or with a margin.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q stormpy==2.0.0
cat >chain.prism <<'EOF'
dtmc
module chain
  s : [0..2] init 0;
  [] s=0 -> 1/3 : (s'=0) + 1/3 : (s'=1) + 1/3 : (s'=2);
  [] s>0 -> (s'=s);
endmodule
EOF
venv/bin/python - >out 2>&1 <<'EOF'
import stormpy

program = stormpy.parse_prism_program("chain.prism")


def answer(formula: str) -> object:
    properties = stormpy.parse_properties(formula, program)
    model = stormpy.build_model(program, properties)
    result = stormpy.model_checking(model, properties[0])
    state = model.initial_states[0]
    return result.get_value(state) if "?" in formula else bool(result.get_truth_values_vector()[state])


for end in (1, 2):
    assert 0 < 0.5 - answer(f"P=? [F s={end}]") < 1e-15
    assert (answer(f"P>=0.5 [F s={end}]"), answer(f"P<0.5 [F s={end}]")) == (False, True)
EOF
test ! -s out
echo "holds: storm-one-half-is-less-than-one-half"
