"""Ring all-reduce: GPU TEEs add up gradients over untrusted links, with a key and two reports for each hop."""
