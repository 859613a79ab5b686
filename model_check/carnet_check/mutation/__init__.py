"""Mutation of specifications: every part changed, and each change noticed, shown to be no change, or surviving."""
