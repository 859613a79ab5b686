"""What many protocols say alike, each theory written once: axioms of their sorts, and deductions from messages."""
