"""The interpreter: what a protocol means on one finite instance, written to be read.

This is the judge. Every counterexample of every engine is replayed here before it is shown, so nothing here is clever
and the compiled explorer, which is written from the same definitions, takes nothing from here but the first state:

* A **state** gives a value to every mutable symbol at every row of its arguments. Relations start empty, unless the
  protocol says otherwise. A function without an initial value starts with the values that the instance names, or at
  the first element of its sort. Initial values read what never changes, and nothing else.
* **Rigid** symbols mean what the instance says, in every state. A rigid relation holds of the rows that the instance
  lists; a rigid function needs a value at every row.
* An **action** is enabled for an assignment of its parameters if all its guards hold. A parameter is an element of its
  pool, or of its sort where the instance gives it no pool. One that is drawn fresh is unused as well, and no earlier
  parameter of its sort was given it in the same step: it is the first such element of the pool, where unused elements
  are alike, and each of them, where they may differ.
* **Firing** it evaluates arguments, conditions and values of all updates in the state *before* the step; updates of
  one symbol compose in the order they are written; whatever is not mentioned stays as it was.
* **Deductions** only insert, and their premises are monotone in what deductions insert, so all of them can be taken
  right after every step, in any order, with the same result: the state is *saturated*.
* An adversary **budget** bounds the sum of the costs of the actions taken; what was spent is part of the state.
  Without a budget nothing is counted.

Pools say what a search tries. They are no part of what a step means, so a step that is asked for by its arguments may
take any element of a parameter's sort.

A state is a value, and formulas are true or false in it (``evaluation``); steps lead from one to the next, and
:class:`Interpreter` adds what follows by itself (``interpreter``). What it means that an action is taken fairly is in
``fairness``.
"""

from __future__ import annotations

from carnet_check.semantics.evaluation import Env, State
from carnet_check.semantics.interpreter import Interpreter, NotEnabled, Replays

__all__ = ["Env", "Interpreter", "NotEnabled", "Replays", "State"]
