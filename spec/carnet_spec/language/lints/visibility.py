"""Lints about visibility: honest parties decide by evidence, and ghosts affect nothing."""

from collections.abc import Iterator

from carnet_spec.language import terms
from carnet_spec.language.actions import Action, GuardKind
from carnet_spec.language.lints.common import Findings, at, by_name, read_by
from carnet_spec.language.protocol import Protocol


def visibility(protocol: Protocol) -> Findings:
    """Guards of honest parties read only public symbols, messages and the party's own state."""
    for action in protocol.actions:
        if action.by.honest:
            for where, term in _decisions(action):
                for symbol in by_name(terms.symbols_of(term)):
                    if not (
                        symbol.kind in (terms.Kind.PUBLIC, terms.Kind.MESSAGE)
                        or (symbol.kind is terms.Kind.STATE and symbol.role == action.by)
                    ):
                        whose = f" of {symbol.role.name}" if symbol.role else ""
                        yield (
                            where,
                            f"{action.by.name} cannot see {symbol.name} ({symbol.kind.value}"
                            f"{whose}): read a message or own state, or, if it is a fact of the "
                            "world that nobody checks, write given(…)",
                        )


def own_state(protocol: Protocol) -> Findings:
    """An honest agent does not read the state of another agent, even if both have the same role."""
    for action in protocol.actions:
        if action.by.honest:
            for where, term in _decisions(action):
                for sub in terms.subterms(term):
                    if isinstance(sub, terms.Apply) and _anothers(action, sub.symbol, sub.args):
                        yield (
                            where,
                            f"reads {sub.symbol.name} of an agent other than the actor: its first "
                            "argument must be the agent that step.actor names",
                        )


def honesty(protocol: Protocol) -> Findings:
    """No honest step requires a fixed fact of the world about others, such as that they are honest.

    Otherwise the claims would only be about runs without such steps towards dishonest parties.
    """
    for action in protocol.actions:
        for guard in action.guards if action.by.honest else ():
            if guard.kind in (GuardKind.GIVEN, GuardKind.ACTOR):
                for fact in _hidden_facts(guard.formula):
                    if action.actor not in fact.args:
                        yield (
                            at(action, guard),
                            f"lets the {action.by.name} act only if {fact.symbol.name} holds of somebody else, a fixed "
                            "fact that no party can read: state it as an axiom, or check evidence",
                        )


def _hidden_facts(formula: terms.Term) -> Iterator[terms.Apply]:
    """Yield the facts that no party sees and that never change, without which ``formula`` cannot be true."""
    match formula:
        case terms.And(parts):
            for part in parts:
                yield from _hidden_facts(part)
        case terms.Forall(_, body) | terms.Exists(_, body) | terms.Implies(_, body) | terms.Not(body):
            if not isinstance(formula, terms.Not) or isinstance(body, terms.Apply):
                yield from _hidden_facts(body)
        case terms.Apply(symbol, _) if symbol.is_relation and symbol.kind is terms.Kind.TRUTH and not symbol.mutable:
            yield formula


def own_writes(protocol: Protocol) -> Findings:
    """An honest party writes only its own state."""
    for action in protocol.actions:
        for update in action.updates if action.by.honest else ():
            symbol = update.symbol
            of_another = symbol.kind is terms.Kind.STATE and symbol.role != action.by
            if of_another or _anothers(action, symbol, update.args):
                yield (
                    at(action, update),
                    f"changes {symbol.name}, the state of another party: an attack may come between the "
                    "two changes, so give that party a step of its own",
                )


def _decisions(action: Action) -> Iterator[tuple[str, terms.Term]]:
    """Yield what the acting party decides by: its checks, and what it keeps and sends.

    What it changes of another party's state is that party's doing, and noted by :func:`own_writes`.
    """
    for guard in action.guards:
        if guard.kind is GuardKind.REQUIRE:
            yield at(action, guard), guard.formula
    for update in action.updates:
        if update.symbol.kind is terms.Kind.MESSAGE or update.symbol.role == action.by:
            for term in read_by(update):
                yield at(action, update), term


def _anothers(action: Action, symbol: terms.Symbol, args: tuple[terms.Term, ...]) -> bool:
    """Whether ``symbol`` at ``args`` is state of the acting role, but not of the actor.

    An actor with a name of its own is the only one of its role, so its state is not indexed by agents.
    """
    return (
        isinstance(action.actor, terms.Var)
        and symbol.kind is terms.Kind.STATE
        and symbol.role == action.by
        and symbol.domain[:1] == (terms.sort_of(action.actor),)
        and args[0] != action.actor
    )


def ghosts(protocol: Protocol) -> Findings:
    """Ghosts (history for the claims) do not affect behaviour."""
    for action in protocol.actions:
        for where, term, is_world in _non_ghost_readings(action):
            for symbol in by_name(terms.symbols_of(term)):
                if symbol.kind is terms.Kind.GHOST and not (is_world and not action.by.honest):
                    yield (
                        where,
                        f"reads the ghost {symbol.name}: only ghosts, claims, lemmas and goals may",
                    )


def ghost_worlds(protocol: Protocol) -> Findings:
    """Ghosts that the guards of the adversary read are reported as notes, for review."""
    for action in protocol.actions:
        for where, term, is_world in _non_ghost_readings(action):
            for symbol in by_name(terms.symbols_of(term)):
                if symbol.kind is terms.Kind.GHOST and is_world and not action.by.honest:
                    yield where, f"lets the ghost {symbol.name} decide which steps are possible"


def _non_ghost_readings(action: Action) -> Iterator[tuple[str, terms.Term, bool]]:
    """Yield what may read no ghost, and whether it is a fact of the world, which may read all."""
    for guard in action.guards:
        if guard.kind is not GuardKind.FRESH:
            yield at(action, guard), guard.formula, guard.kind is GuardKind.GIVEN
    for update in action.updates:
        if update.symbol.kind is not terms.Kind.GHOST:
            for term in read_by(update):
                yield at(action, update), term, False


def kinds(protocol: Protocol) -> Findings:
    """State symbols have an owner, and public symbols are rigid."""
    for symbol in protocol.symbols:
        where = f"symbol {symbol.name}"
        if symbol.kind is terms.Kind.STATE and symbol.role is None:
            yield where, "is local state without an owner: name the role in 'of'"
        if symbol.kind is terms.Kind.PUBLIC and symbol.mutable:
            yield where, "is public but mutable: mutable state is a message, or the state of a role"
