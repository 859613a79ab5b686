"""One search in several places: each owns the states whose number falls to it, and keeps and expands these alone."""
