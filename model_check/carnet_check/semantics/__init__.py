"""The interpreter: the semantics of a protocol on one finite instance, written to be read.

Every counterexample of every engine is replayed here before it is shown, so the code is as simple as possible. The
compiled explorer is written from the same definitions, and uses nothing of this package but the first state:

* A **state** gives a value to every mutable symbol at every row of its arguments. Relations start empty, unless the
  protocol says otherwise. A function without an initial value starts with the values that the instance names, or at
  the first element of its sort. Initial values read rigid symbols only.
* **Rigid** symbols have the interpretation of the instance, in every state. A rigid relation holds of the rows that the
  instance lists; a rigid function needs a value at every row.
* An **action** is enabled for an assignment of its parameters if all its guards hold. A parameter is an element of its
  pool, or of its sort if the instance gives it no pool. A parameter that is drawn fresh is also unused, and differs
  from earlier parameters of its sort in the same step. If unused elements are interchangeable, only the first such
  element of the pool is tried; if they may differ, each is.
* **Firing** it evaluates arguments, conditions and values of all updates in the state *before* the step; updates of
  one symbol compose in the order in which they are written; other symbols and rows are unchanged.
* **Deductions** only insert, and their premises are monotone in what deductions insert. So all of them can be taken
  right after every step, in any order, with the same result: the state is *saturated*.
* An adversary **budget** bounds the sum of the costs of the actions taken; the amount spent is part of the state.
  Without a budget nothing is counted.

Pools restrict what a search tries. They are no part of the semantics of a step, so a step with given arguments may have
any element of a parameter's sort.

``evaluation`` defines states and evaluates formulas in them. ``interpreter`` defines steps, and takes deductions after
them. ``fairness`` defines what it means that an action is taken fairly.
"""

from carnet_check.semantics.evaluation import Env, State
from carnet_check.semantics.interpreter import Interpreter, NotEnabled, Replays

__all__ = ["Env", "Interpreter", "NotEnabled", "Replays", "State"]
