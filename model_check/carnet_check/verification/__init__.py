"""A verification run: planning, running the engines, and checks for vacuity and disagreement."""
