"""TensorTEE: versions and MACs of whole tensors, computing before the MAC is compared, and nothing exported before."""
