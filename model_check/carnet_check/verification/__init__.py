"""A verification run: planned, carried out by the engines, and checked for what would make a pass worthless."""
