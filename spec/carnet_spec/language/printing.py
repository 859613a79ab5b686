"""Actions, claims and other statements for display; :mod:`.notation` writes their terms."""

from carnet_spec.language.actions import Action, Effect, Guard, GuardKind, Update
from carnet_spec.language.notation import MATH, Notation, binders, reserved_names, show, unused_name
from carnet_spec.language.statements import Axiom, Claim, Eventually, Goal, Initial, Invariant
from carnet_spec.language.terms import (
    TRUE,
    Apply,
    Exists,
    Not,
    Symbol,
    Var,
    negation,
)


def show_symbol(symbol: Symbol) -> str:
    """Return the declaration of ``symbol``: ``lent(Agent, Key)``, ``owner(Key): Agent``."""
    domain = f"({', '.join(sort.name for sort in symbol.domain)})" if symbol.domain else ""
    return symbol.name + domain + ("" if symbol.is_relation else f": {symbol.result.name}")


def show_signature(action: Action) -> str:
    """Return the name and the parameters of ``action``: ``lend(a: Agent, k: Key)``."""
    return f"{action.name}({', '.join(f'{var.name}: {var.sort.name}' for var in action.params)})"


def show_guard(guard: Guard, notation: Notation = MATH) -> str:
    """Return the condition of ``guard``; freshness is written in words."""
    match guard:
        case Guard(kind=GuardKind.FRESH, formula=Not(Apply(_, (argument,)))):
            return f"{show(argument, notation)} is new"
        case _:
            return show(guard.formula, notation)


def show_update(update: Update, notation: Notation = MATH) -> str:
    """Return the change of ``update``, with its elements and its condition."""
    names = _names_of_each(update)
    arguments = f"({', '.join(show(arg, notation, names) for arg in update.args)})"
    place = update.symbol.name + (arguments if update.args else "")
    if update.effect is Effect.ASSIGN and update.value is not None:
        change = f"{place} := {show(update.value, notation, names)}"
    else:
        change = f"{update.effect.value} {place}"
    if update.each:
        change += f" for every {binders((var, names[var]) for var in update.each)}"
    if update.when != TRUE:
        change += f" when {show(update.when, notation, names)}"
    return change


def show_action(action: Action, notation: Notation = MATH) -> str:
    """Return ``action`` as text: a line with its role, then one for each part."""
    kind = "rule" if action.deduction else "action"
    lines = [f"{kind} {show_signature(action)} by {action.by.name}"]
    lines += [
        f"    {guard.kind.value} '{guard.name}': {show_guard(guard, notation)}{_tags(guard)}" for guard in action.guards
    ]
    lines += [
        f"    update '{update.name}': {show_update(update, notation)}{_tags(update)}" for update in action.updates
    ]
    return "\n".join(lines)


def show_invariant(invariant: Invariant, notation: Notation = MATH) -> str:
    """Return ``invariant`` as a closed formula after its name."""
    return f"{invariant.name}: {show(invariant.formula, notation)}"


def show_claim(claim: Claim, notation: Notation = MATH) -> str:
    """Return the formula of ``claim``, or the words that it is only declared."""
    if claim.invariant is None:
        return f"{claim.name}: declared, not stated yet"
    return show_invariant(claim.invariant, notation)


def show_goal(goal: Goal, notation: Notation = MATH) -> str:
    """Return ``goal`` as a closed formula after its name."""
    closed = Exists(goal.params, goal.body) if goal.params else goal.body
    return f"{goal.name}: {show(closed, notation)}"


def show_axiom(axiom: Axiom, notation: Notation = MATH) -> str:
    """Return ``axiom`` after its name."""
    return f"{axiom.name}: {show(axiom.formula, notation)}"


def show_initial(initial: Initial, notation: Notation = MATH) -> str:
    """Return the value that ``initial`` gives its symbol: ``phase = HOME``."""
    place = show(Apply(initial.symbol, initial.params), notation)
    if initial.value in (TRUE, negation(TRUE)):
        return place if initial.value == TRUE else f"{notation.negation}{place}"
    sign = "if and only if" if initial.symbol.is_relation else "="
    return f"{place} {sign} {show(initial.value, notation)}"


def _tags(part: Guard | Update) -> str:
    tag = f"  [{part.defence}]" if part.defence else ""
    return tag + (f"  [only without {part.unless}]" if part.unless else "")


def _names_of_each(update: Update) -> dict[Var, str]:
    """Return names for the variables of ``each``, made from their sorts and different from all others."""
    terms = [*update.args, update.when, *([update.value] if update.value is not None else [])]
    taken = set().union(*(reserved_names(term) for term in terms))
    names: dict[Var, str] = {}
    for var in update.each:
        names[var] = unused_name(var.name.removeprefix("each_").rstrip("0123456789"), taken)
        taken.add(names[var])
    return names


def fair_steps(live: Eventually) -> list[str]:
    """Return for each fair action of a property its name, its fixed arguments, and whether it is strongly fair."""
    return [_fair_steps(live, action) for action in live.fair]


def _fair_steps(live: Eventually, action: str) -> str:
    given = [f"{each.parameter} = {show(each.value)}" for each in live.given if each.action == action]
    strongly = " (strongly)" if action in live.strong else ""
    return f"{action} with {' and '.join(given)}{strongly}" if given else f"{action}{strongly}"
