"""AsymML (3LegRace): the principal channels stay in the TEE, and the rest, clipped and noised, goes to the GPU."""
