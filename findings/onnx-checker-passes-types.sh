#!/bin/sh
# Tool:  onnx 1.22.0 (with numpy 2.4.6), 2026-11-29.
# Guess: check_model refuses a model that adds floats to integers, or whose output has another type or shape than is declared.
# Seen:  it passes all three unless full_check is given. An operator that is
#        unknown is refused either way.
# So:    a model that is to be measured or sent on is checked with full_check=True.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q numpy==2.4.6
venv/bin/pip install -q onnx==1.22.0
venv/bin/python -W ignore - <<'EOF'
from onnx import ModelProto, TensorProto, checker, helper, shape_inference


def model(operator: str, right: int, out: int, length: int) -> ModelProto:
    inputs = [helper.make_tensor_value_info("a", TensorProto.FLOAT, [2]), helper.make_tensor_value_info("b", right, [2])]
    output = helper.make_tensor_value_info("c", out, [length])
    graph = helper.make_graph([helper.make_node(operator, ["a", "b"], ["c"])], "graph", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def is_refused(built: ModelProto, *, full_check: bool) -> bool:
    try:
        checker.check_model(built, full_check=full_check)
    except (checker.ValidationError, shape_inference.InferenceError):
        return True
    return False


FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
assert is_refused(model("Unknown", FLOAT, FLOAT, 2), full_check=False)
assert not is_refused(model("Add", FLOAT, FLOAT, 2), full_check=True)
for built in (model("Add", INT64, FLOAT, 2), model("Add", FLOAT, INT64, 2), model("Add", FLOAT, FLOAT, 7)):
    assert not is_refused(built, full_check=False)
    assert is_refused(built, full_check=True)
EOF
echo "holds: onnx-checker-passes-types"
