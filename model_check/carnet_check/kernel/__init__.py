"""The kernel: the small program that decides whether a certificate proves an obligation.

``checker`` defines formulas and refutations and checks a refutation step by step; ``reader`` parses both. The kernel
imports Python's standard library only, neither searches nor writes, and knows nothing of the rest of Carnet.
``model_check/coq/Checker.v`` has the same rules, proved sound.
"""
