r"""Fairness: what it means that an action is taken fairly, and which rules nobody has to take.

* A run is an endless sequence of states. Nobody has to take a step, so a run may stay where it is for ever, unless
  fairness forbids it.
* An action is *open* in a state if some step of it, with whatever parameters, can be taken and changes the state. It is
  taken **fairly** (weak fairness) if it is not open for ever without being taken: again and again some step of it
  changes the state, or it is not open. Fairness is asked of the action with all its parameters together, as WF_vars(A)
  of TLA+ is of ``A == \E x : Act(x)``; which parameters are chosen is nobody's promise.
* It is taken **strongly fairly** if it is not open again and again without being taken: from some state on it is never
  open, or again and again some step of it changes the state, as SF_vars(A) of TLA+ asks. An action that another one
  opens and closes is taken then, too.
* A property with parameters is one for each choice of elements (:func:`at_each`): what is fair may depend on them.
* Where a property says what is *given* of an action, only its steps with these parameters count, as WF_vars(B) of TLA+
  does for ``B == \E x : Act(x) /\ x = value``: a GPU is asked to carry out the orders of the session that is waited
  for, and may do what it likes in others. Such steps are a part of
  the action (:func:`~carnet_spec.language.analysis.fair_parts.part`).
* A pool, a budget or the number of elements that can be drawn fresh ends a run that would go on in a larger instance.
  An action that only they keep from being taken is *cut short*: it is neither open nor not.
* A rule is taken at once wherever it can be. That is exact for what may be reached; but nobody has to forge a message
  that an honest party waits for. So a rule is a step of its own, which may be left out, if it concludes anything that
  decides about what is claimed or about a fair action (:func:`with_rules_as_steps`).

Source: L. Lamport, "The Temporal Logic of Actions", ACM TOPLAS 16(3), 1994, sections 5.3 and 5.5.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from carnet_check.semantics.evaluation import Env, State
from carnet_check.semantics.interpreter import Interpreter
from carnet_spec.language import Action, Eventually, GuardKind, Instance, Protocol, Symbol, Update
from carnet_spec.language.analysis.fair_parts import part, whole_name
from carnet_spec.language.analysis.polarity import deduced_symbols
from carnet_spec.language.terms import Exists, Member, Term, conjunction, symbols_of
from carnet_spec.trace import Trace, TraceStep

# -- properties of some elements ------------------------------------------------------------------


def at_each(live: Eventually, instance: Instance) -> Iterator[tuple[Env, Eventually]]:
    """Yield each choice of elements for the parameters of ``live``, and the property of these elements alone."""
    for row in itertools.product(*(instance.of(var.sort) for var in live.params)):
        env = {var.name: element for var, element in zip(live.params, row, strict=True)}
        yield env, live.at(Member(var.sort, element) for var, element in zip(live.params, row, strict=True))


# -- rules that are steps -------------------------------------------------------------------------


def with_rules_as_steps(protocol: Protocol, liveness: Iterable[Eventually]) -> Protocol:
    """Return the protocol in which rules that decide about ``liveness`` are steps that may be left out."""
    steps = frozenset().union(*(rules_as_steps(protocol, live) for live in liveness))
    actions = (replace(each, deduction=False) if each.name in steps else each for each in protocol.actions)
    return replace(protocol, actions=tuple(actions))


def rules_as_steps(protocol: Protocol, live: Eventually) -> frozenset[str]:
    """Return the rules that ``live`` names as fair, and those that conclude what it or a fair action depends on."""
    matters = _matters(protocol, live.at(live.variables))
    rules = (each for each in protocol.actions if each.deduction)
    return frozenset(
        rule.name
        for rule in rules
        if rule.name in live.fair or any(update.symbol in matters for update in rule.updates)
    )


def _matters(protocol: Protocol, live: Eventually) -> frozenset[Symbol]:
    """Return what is read by the property and by the guards of fair actions, what these write, and what decides it."""
    fair = [part(action, live) for action in protocol.actions if action.name in live.fair]
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


# -- instances and traces of divided protocols -----------------------------------------------------


def divided_instance(instance: Instance, protocol: Protocol) -> Instance:
    """Return the instance for a divided protocol: all parts of an action draw from the same elements."""
    pools = {
        (action.name, var): pool
        for action in protocol.actions
        for (name, var), pool in instance.pools.items()
        if name == whole_name(action.name)
    }
    return replace(instance, pools=pools)


def agree(protocol: Protocol, some: Eventually, other: Eventually) -> bool:
    """Whether two properties without parameters want the same steps of each action taken fairly that both name."""
    both = (action for action in protocol.actions if action.name in some.fair and action.name in other.fair)
    return all(some.condition(each.name, each.params) == other.condition(each.name, each.params) for each in both)


def whole(trace: Trace) -> Trace:
    """Return a trace of a divided protocol as one of the protocol."""
    return replace(trace, steps=tuple(replace(step, action=whole_name(step.action)) for step in trace.steps))


def counted_whole(counts: Mapping[str, int]) -> dict[str, int]:
    """Return what is counted of each action of a divided protocol as counts of the protocol's."""
    found: dict[str, int] = {}
    for name, count in counts.items():
        found[whole_name(name)] = found.get(whole_name(name), 0) + count
    return found


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
    """Whether some step of the action, or of a part of it, can be taken in a state and changes it."""
    steps = (
        env for each, env in judge.enabled(state) if each.name == action.name and allowed(judge, action, state, env)
    )
    return any(judge.step(state, action, env) != state for env in steps)


def allowed(judge: Interpreter, action: Action, state: State, env: Env) -> bool:
    """Whether the guards of an action, or of a part of it, hold."""
    return all(judge.holds(guard.formula, state, env) for guard in action.guards if guard.kind is not GuardKind.FRESH)


def is_cut_short(judge: Interpreter, action: Action, state: State) -> bool:
    """Whether an action that is not open may be so for want of elements or budget alone."""
    return is_limited(action, judge.instance) and judge.holds(guards_alone(action), state)


# --------------------------------------------------------------------------------------------------
# Lassos: runs that go round for ever, and whether one refutes that something happens in the end.


def objection(judge: Interpreter, live: Eventually, trace: Trace) -> str:
    """Say why ``trace`` is no fair run in which ``live`` waits in vain, for whichever elements; nothing, if it is one.

    Args:
        judge: of the protocol with the rules as steps that decide about ``live``.
        live: what is said to fail.
        trace: a lasso, with all deductions written out or with none.

    Raises:
        NotEnabled: a step cannot be taken.
        SpecificationError: an action is unknown, or its arguments are not the action's.
    """
    states = judge.replay(trace)
    if trace.loop is None:
        return "it goes round nowhere"
    if states[trace.loop] != states[-1]:
        return "it does not return to the state in which it begins to go round"
    if judge.saturate(states[-1]) != states[-1]:
        return "a deduction is left out where it goes round"
    found = [_objection(judge, each, states, trace) for _, each in at_each(live, judge.instance)]
    return "" if "" in found else "; or ".join(dict.fromkeys(found))


def _objection(judge: Interpreter, live: Eventually, states: Sequence[State], trace: Trace) -> str:
    assert trace.loop is not None
    if waiting_from(judge, live, states, trace.loop) is None:
        return "it does not wait in vain"
    unfair = [name for name in live.fair if not fairly(judge, live, name, states, trace)]
    return f"it is not fair to {', '.join(unfair)}" if unfair else ""


def waits_in_vain(
    judge: Interpreter, live: Eventually, states: Sequence[State], trace: Trace
) -> tuple[Env, Eventually] | None:
    """Return the first elements for which a lasso waits in vain, and the property of these; ``states`` are along it."""
    every = at_each(live, judge.instance)
    return next(((env, each) for env, each in every if not _objection(judge, each, states, trace)), None)


def waiting_from(judge: Interpreter, live: Eventually, states: Sequence[State], loop: int) -> int | None:
    """Return the first place of a lasso from which it waits for ever, if it does; ``live`` has no parameters."""
    begin = None
    for place, state in enumerate(states):
        if judge.holds(live.response, state):
            if place >= loop:
                return None
            begin = None
        elif begin is None and judge.holds(live.trigger, state):
            begin = place
    return begin


def fairly(judge: Interpreter, live: Eventually, name: str, states: Sequence[State], trace: Trace) -> str:
    """Say how the part of a lasso that is repeated is fair to an action that ``live`` names; nothing, if it is not.

    The property has no parameters.
    """
    assert trace.loop is not None
    action = part(judge.protocol.action(name), live)
    repeated = range(trace.loop, len(trace.steps))
    for place in repeated:
        taken = trace.steps[place]
        if (
            taken.action == name
            and states[place] != states[place + 1]
            and allowed(judge, action, states[place], dict(taken.args))
        ):
            return "is taken again and again"
    rests = (state for state in states[trace.loop :] if judge.saturate(state) == state)
    closed = (not is_open(judge, action, state) and not is_cut_short(judge, action, state) for state in rests)
    if name in live.strong:
        return "cannot change anything any more" if all(closed) else ""
    if any(closed):
        return "cannot change anything, again and again" if repeated else "cannot change anything"
    return ""


def going_round(judge: Interpreter, stem: Iterable[TraceStep], repeated: Sequence[TraceStep], trace: Trace) -> Trace:
    """Return ``trace`` with the steps of a lasso: a way to where it begins, and steps that are taken again and again.

    Both list no deduction. What matters to a search returns after one round, and the whole state after some more.

    Raises:
        NotEnabled: a step cannot be taken.
    """
    written, state = judge.expanded_start()
    for step in stem:
        more, state = judge.expanded(state, step)
        written += more
    begins: dict[State, int] = {}
    while state not in begins:
        begins[state] = len(written)
        for step in repeated:
            more, state = judge.expanded(state, step)
            written += more
    return replace(trace, steps=tuple(written), loop=begins[state])
