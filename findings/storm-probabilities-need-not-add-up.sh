#!/bin/sh
# Tool:  Storm by stormpy 2.0.0, 2026-11-29.
# Guess: a discrete-time Markov chain in the language of PRISM in which the probabilities of a command add up to 0.9 is refused.
# Seen:  it is built and checked without a message. The two ends are reached with 0.5 and 0.4, and one of them with 1.
# So:    a model that is generated has its sums checked before.
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
  [] s=0 -> 0.5 : (s'=1) + 0.4 : (s'=2);
  [] s>0 -> (s'=s);
endmodule
EOF
venv/bin/python - >out 2>&1 <<'EOF'
import stormpy

program = stormpy.parse_prism_program("chain.prism")

def probability(formula: str) -> float:
    properties = stormpy.parse_properties(formula, program)
    model = stormpy.build_model(program, properties)
    return stormpy.model_checking(model, properties[0]).get_value(model.initial_states[0])

found = [round(probability(f"P=? [F {end}]"), 6) for end in ("s=1", "s=2", "s>0")]
assert found == [0.5, 0.4, 1], found
EOF
test ! -s out
echo "holds: storm-probabilities-need-not-add-up"
