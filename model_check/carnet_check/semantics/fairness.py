r"""Fairness: what it means that an action is taken fairly, and which rules nobody has to take.

* A run is an endless sequence of states. Nobody has to take a step, so a run may stay where it is for ever, unless
  fairness forbids it.
* An action is *open* in a state if some step of it, with whatever parameters, can be taken and changes the state. It is
  taken **fairly** (weak fairness) if it is not open for ever without being taken: again and again some step of it
  changes the state, or it is not open. Fairness is asked of the action with all its parameters together, as WF_vars(A)
  of TLA+ is of ``A == \E x : Act(x)``; which parameters are chosen is nobody's promise.
* A pool, a budget or the number of elements that can be drawn fresh ends a run that would go on in a larger instance.
  An action that only they keep from being taken is *cut short*: it is neither open nor not.
* A rule is taken at once wherever it can be. That is exact for what may be reached; but nobody has to forge a message
  that an honest party waits for. So a rule is a step of its own, which may be left out, if it concludes anything that
  decides about what is claimed or about a fair action (:func:`with_rules_as_steps`).

Source: L. Lamport, "The Temporal Logic of Actions", ACM TOPLAS 16(3), 1994, sections 5.3 and 5.5.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from carnet_check.semantics.interpreter import Interpreter
from carnet_check.semantics.state import State
from carnet_spec.language import Action, Eventually, GuardKind, Instance, Protocol, Symbol, Update
from carnet_spec.language.analysis.polarity import deduced_symbols
from carnet_spec.language.terms import Exists, Term, conjunction, symbols_of

# -- rules that are steps -------------------------------------------------------------------------


def with_rules_as_steps(protocol: Protocol, liveness: Iterable[Eventually]) -> Protocol:
    """Return the protocol in which rules that decide about ``liveness`` are steps that may be left out."""
    steps = frozenset().union(*(rules_as_steps(protocol, live) for live in liveness))
    actions = (replace(each, deduction=False) if each.name in steps else each for each in protocol.actions)
    return replace(protocol, actions=tuple(actions))


def rules_as_steps(protocol: Protocol, live: Eventually) -> frozenset[str]:
    """Return the rules that ``live`` names as fair, and those that conclude what it or a fair action depends on."""
    matters = _matters(protocol, live)
    rules = (each for each in protocol.actions if each.deduction)
    return frozenset(
        rule.name
        for rule in rules
        if rule.name in live.fair or any(update.symbol in matters for update in rule.updates)
    )


def _matters(protocol: Protocol, live: Eventually) -> frozenset[Symbol]:
    """Return what is read by the property and by the guards of fair actions, what these write, and what decides it."""
    fair = [action for action in protocol.actions if action.name in live.fair]
    found = symbols_of(live.trigger) | symbols_of(live.response)
    found = found.union(*(symbols_of(guard.formula) for action in fair for guard in action.guards))
    found |= {update.symbol for action in fair for update in action.updates}
    deduced = deduced_symbols(protocol)
    written = [(u.symbol, _read_by(u) & deduced) for a in protocol.actions if not a.deduction for u in a.updates]
    while more := frozenset().union(*(read for symbol, read in written if symbol in found)) - found:
        found |= more
    return found


def _read_by(update: Update) -> frozenset[Symbol]:
    value = () if update.value is None else (update.value,)
    return frozenset().union(*map(symbols_of, (*update.args, update.when, *value)))


# -- what may cut a run short ---------------------------------------------------------------------


def is_limited(action: Action, instance: Instance) -> bool:
    """Whether the instance may keep an action from being taken that its guards allow."""
    pooled = any(
        len(instance.pools.get((action.name, var.name), instance.of(var.sort))) < len(instance.of(var.sort))
        for var in action.params
    )
    return pooled or bool(action.fresh) or (instance.budget is not None and action.cost > 0)


def guards_alone(action: Action) -> Term:
    """Return that the guards allow the action for some elements, whatever pools, budget and unused elements say."""
    guards = conjunction(tuple(guard.formula for guard in action.guards if guard.kind is not GuardKind.FRESH))
    return Exists(action.params, guards) if action.params else guards


# -- what can be taken ----------------------------------------------------------------------------


def is_open(judge: Interpreter, action: Action, state: State) -> bool:
    """Whether some step of the action can be taken in a state and changes it."""
    steps = (env for each, env in judge.enabled(state) if each.name == action.name)
    return any(judge.step(state, action, env) != state for env in steps)


def is_cut_short(judge: Interpreter, action: Action, state: State) -> bool:
    """Whether an action that is not open may be so for want of elements or budget alone."""
    return is_limited(action, judge.instance) and judge.holds(guards_alone(action), state)
