"""DarKnight: batches of inputs are combined with noise, for accelerators of which some may collude."""
