"""DarKnight: batches of inputs that are added up with noise, for processors of which some may work together."""
