"""The small program that decides whether a certificate proves an obligation; it rests on Python's library alone.

``checker`` says what formulas and refutations are and follows a refutation step by step, and ``reader`` reads both from
text. Nothing here searches, writes, or knows the rest of Carnet. ``model_check/coq/Checker.v`` has the same rules,
proved sound.
"""
