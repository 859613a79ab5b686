"""Second solvers: provers that share no code with Z3 answer the unsimplified obligations, as text."""
