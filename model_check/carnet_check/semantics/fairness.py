r"""Fairness: what it means that an action is taken fairly, and which rules become optional steps.

* A run is an infinite sequence of states. A run may stutter for ever, unless fairness forbids it.
* An action is *open* in a state if some step of it, with any parameters, is enabled and changes the state; this is
  ``ENABLED <<A>>_vars`` of TLA+. It is taken **fairly** (weak fairness) if it is not open from some state on for
  ever without being taken: infinitely often some step of it changes the state, or infinitely often it is not open.
  Fairness is required of the action with all its parameters together, as WF_vars(A) of TLA+ is of
  ``A == \E x : Act(x)``; which parameters are chosen is left open.
* An action is taken **strongly fairly** if it is not open infinitely often without being taken: from some state on it
  is never open, or infinitely often some step of it changes the state, as SF_vars(A) of TLA+ requires. So an action is
  taken even if another one opens and closes it again and again.
* A property with parameters is one property for each choice of elements (:func:`at_each`); its fair steps may depend on
  these.
* If a property says what is *given* of an action, only steps with these parameters count, as in WF_vars(B) of TLA+ with
  ``B == \E x : Act(x) /\ x = value``. For example, a GPU has to execute the orders of the session that the property is
  about, and may ignore those of others. Such steps are a part of the action
  (:func:`~carnet_spec.language.analysis.fair_parts.part`).
* A pool, a budget or the number of elements that can be drawn fresh may end a run that would continue in a larger
  instance. An action that is only disabled by these limits is *cut short*: whether it is open is undetermined.
* A rule (deduction) is taken as soon as it is enabled. That preserves reachability, but not liveness: no one is obliged
  to forge a message that an honest party waits for. So a rule becomes an optional step if it concludes something on
  which the property or a fair action depends (:func:`with_rules_as_steps`).

Source: L. Lamport, "The Temporal Logic of Actions", ACM TOPLAS 16(3), 1994, sections 5.3 and 5.5.
"""

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
    """Yield each choice of elements for the parameters of ``live``, with the property for these elements."""
    for row in itertools.product(*(instance.of(var.sort) for var in live.params)):
        env = {var.name: element for var, element in zip(live.params, row, strict=True)}
        yield env, live.at(Member(var.sort, element) for var, element in zip(live.params, row, strict=True))


# -- rules that are steps -------------------------------------------------------------------------


def with_rules_as_steps(protocol: Protocol, liveness: Iterable[Eventually]) -> Protocol:
    """Return the protocol in which rules on which ``liveness`` depends are optional steps."""
    steps = frozenset().union(*(rules_as_steps(protocol, live) for live in liveness))
    actions = (replace(each, deduction=False) if each.name in steps else each for each in protocol.actions)
    return replace(protocol, actions=tuple(actions))


def rules_as_steps(protocol: Protocol, live: Eventually) -> frozenset[str]:
    """Return the rules that ``live`` names as fair, and those with conclusions on which it or a fair action depends."""
    matters = _matters(protocol, live.at(live.variables))
    rules = (each for each in protocol.actions if each.deduction)
    return frozenset(
        rule.name
        for rule in rules
        if rule.name in live.fair or any(update.symbol in matters for update in rule.updates)
    )


def _matters(protocol: Protocol, live: Eventually) -> frozenset[Symbol]:
    """Return the symbols of the property and of fair actions, and the deduced symbols that decide their values."""
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
    """Return the instance for a divided protocol: all parts of an action have the pools of the action."""
    pools = {
        (action.name, var): pool
        for action in protocol.actions
        for (name, var), pool in instance.pools.items()
        if name == whole_name(action.name)
    }
    return replace(instance, pools=pools)


def agree(protocol: Protocol, some: Eventually, other: Eventually) -> bool:
    """Whether two properties without parameters name the same fair steps of each action that both name as fair."""
    both = (action for action in protocol.actions if action.name in some.fair and action.name in other.fair)
    return all(some.condition(each.name, each.params) == other.condition(each.name, each.params) for each in both)


def whole(trace: Trace) -> Trace:
    """Return a trace of a divided protocol as a trace of the original protocol."""
    return replace(trace, steps=tuple(replace(step, action=whole_name(step.action)) for step in trace.steps))


def counted_whole(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts for the actions of a divided protocol as counts for those of the original protocol."""
    found: dict[str, int] = {}
    for name, count in counts.items():
        found[whole_name(name)] = found.get(whole_name(name), 0) + count
    return found


# -- what may cut a run short ---------------------------------------------------------------------


def is_limited(action: Action, instance: Instance) -> bool:
    """Whether limits of the instance may disable an action that its guards allow."""
    pooled = any(
        len(instance.pools.get((action.name, var.name), instance.of(var.sort))) < len(instance.of(var.sort))
        for var in action.params
    )
    return pooled or bool(action.fresh) or (instance.budget is not None and action.cost > 0)


def guards_alone(action: Action) -> Term:
    """Return the formula that the guards allow the action for some elements, without pools, budget and fresh draws."""
    guards = conjunction(tuple(guard.formula for guard in action.guards if guard.kind is not GuardKind.FRESH))
    return Exists(action.params, guards) if action.params else guards


# -- which actions are open -----------------------------------------------------------------------


def is_open(judge: Interpreter, action: Action, state: State) -> bool:
    """Whether some step of the action, or of a part of it, is enabled in a state and changes it."""
    steps = (
        env
        for each, env in judge.enabled_steps(state)
        if each.name == action.name and guards_hold(judge, action, state, env)
    )
    return any(judge.step(state, action, env) != state for env in steps)


def guards_hold(judge: Interpreter, action: Action, state: State, env: Env) -> bool:
    """Whether the guards of an action, or of a part of it, hold."""
    return all(judge.holds(guard.formula, state, env) for guard in action.guards if guard.kind is not GuardKind.FRESH)


def is_cut_short(judge: Interpreter, action: Action, state: State) -> bool:
    """Whether an action that is not open may be disabled only by pools, budget or a lack of fresh elements."""
    return is_limited(action, judge.instance) and judge.holds(guards_alone(action), state)


# --------------------------------------------------------------------------------------------------
# Lassos: runs that repeat some steps for ever, and whether one refutes a liveness property.


def objection(judge: Interpreter, live: Eventually, trace: Trace) -> str:
    """Return why ``trace`` is no fair run that violates ``live``, for any elements; empty if it is one.

    Raises NotEnabled if a step cannot be taken; SpecificationError if an action is unknown, or the arguments do not fit
    its parameters.

    Args:
        judge: the interpreter of the protocol in which rules on which ``live`` depends are steps.
        live: the property.
        trace: a lasso, with all deductions or with none.
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
    """Return the first elements for which a lasso violates ``live``, and the property for these; or None."""
    every = at_each(live, judge.instance)
    return next(((env, each) for env, each in every if not _objection(judge, each, states, trace)), None)


def waiting_from(judge: Interpreter, live: Eventually, states: Sequence[State], loop: int) -> int | None:
    """Return the first place from which a lasso waits for the response for ever, or None, for no parameters."""
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
    """Return why the repeated part of a lasso is fair to an action that ``live`` names; empty if it is not fair.

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
            and guards_hold(judge, action, states[place], dict(taken.args))
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
    """Return ``trace`` with the steps of a lasso: the stem, and the repeated steps.

    Both are given without deductions. After one round, the part of the state that the search distinguishes is the same;
    the repeated steps are taken until the whole state is.

    Raises NotEnabled if a step cannot be taken.
    """
    written, state = judge.expanded_start()
    for step in stem:
        more, state = judge.step_with_deductions(state, step)
        written += more
    begins: dict[State, int] = {}
    while state not in begins:
        begins[state] = len(written)
        for step in repeated:
            more, state = judge.step_with_deductions(state, step)
            written += more
    return replace(trace, steps=tuple(written), loop=begins[state])
