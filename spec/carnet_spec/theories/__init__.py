"""Theories that several protocols share: axioms of their sorts, and deductions from messages."""
