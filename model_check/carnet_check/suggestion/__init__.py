"""Suggested lemmas where an induction fails: candidates are read off the protocol, filtered, proved, and printed.

:mod:`.facts` reads what holds where a fact is written, :mod:`.shapes` makes candidates of that, and :mod:`.guesses`
looks for states that falsify them. An engine finds out which of the rest prove a claim.
:mod:`.suggestions` asks it where a claim of a run has no proof, and :mod:`.source_text` writes what it found as authors
do, with the names that :mod:`.scope` finds beside their claims. Decided in
docs/adr/0071-suggested-lemmas-are-guessed-by-shape.md.
"""
