"""Ring all-reduce: GPU TEEs that add up gradients over links that nobody trusts, a key and a report for each hop."""
