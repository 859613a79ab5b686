#!/bin/sh
# Tool:  safetensors 0.8.0 (with numpy 2.4.6), 2026-11-29.
# Guess: the same tensors and metadata give the same bytes.
# Seen:  the entries of the metadata stand in another order in each process and in each call, so the digest of the file differs. Without
#        metadata, or with one entry, the bytes are the same. What is read is equal each time.
# So:    a model is measured by the file that is loaded, and never by one that is saved again; several entries become one.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
python3.11 -m venv venv
venv/bin/pip install -q safetensors==0.8.0
venv/bin/pip install -q numpy==2.4.6
venv/bin/python - <<'EOF'
import numpy
from safetensors.numpy import load, save

tensors = {"weight": numpy.arange(6, dtype="f4"), "bias": numpy.arange(2, dtype="f4")}
several = {f"entry {number}": str(number) for number in range(8)}
for metadata in (None, {"all": str(several)}):
    assert len({save(tensors, metadata=metadata) for _ in range(20)}) == 1
files = {save(tensors, metadata=several) for _ in range(20)}
assert len(files) > 1
assert len({len(file) for file in files}) == 1
for file in files:
    assert {name: list(tensor) for name, tensor in load(file).items()} == {name: list(tensor) for name, tensor in tensors.items()}
EOF
echo "holds: safetensors-metadata-has-no-order"
