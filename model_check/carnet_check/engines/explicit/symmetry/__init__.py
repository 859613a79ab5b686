"""Symmetry: of states that differ only in which interchangeable element is which, one stands for all.

What tells elements apart is listed as facts (``distinctions``). Elements may change places if every fact then says of
others what is a fact, too; that is checked for each pair of them, whatever led to it (``interchange``). Places of the
state that elements carry to one another get their bits together (``orbits``). The state that stands for others is the
one with the elements in the order of what the state says of each alone; ties are broken by what it says of several
together (``ties``), and nothing is left to a hash (``standing``).

A permutation of interchangeable elements maps steps to steps, as it leaves everything as it is that steps are made of.
So what follows from a state is what follows from the one that stands for it, with other names, and the same invariants
and goals hold there. Decided in docs/adr/0036-one-state-stands-for-those-that-differ-in-names.md.
"""
