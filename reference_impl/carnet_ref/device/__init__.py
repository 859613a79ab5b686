"""The device: GPU memory in regions, programs that run on it, copy engines with implicit IVs, and its modes."""
