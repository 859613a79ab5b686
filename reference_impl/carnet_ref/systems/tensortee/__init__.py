"""TensorTEE: versions and MACs per tensor; the NPU computes before the MAC is compared, and exports only after."""
