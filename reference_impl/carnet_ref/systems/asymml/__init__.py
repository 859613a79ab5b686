"""AsymML (3LegRace): the TEE computes on the principal channels, the GPU on the clipped and noised rest."""
