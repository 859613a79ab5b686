"""Sentences about steps, state changes and claims, and file names made from their names."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from carnet_check.loading.extent import chosen_first_values, rigid_values
from carnet_check.semantics import Env, Interpreter, State
from carnet_check.semantics.fairness import at_each, fairly, waiting_from, waits_in_vain
from carnet_command.text import join_words, plural
from carnet_spec.language import Action, Eventually, Guard, GuardKind, Instance, Invariant, Kind, Protocol, Symbol
from carnet_spec.language.notation import show
from carnet_spec.language.printing import fair_steps
from carnet_spec.language.protocol import terms_of_action
from carnet_spec.language.statements import UNNAMED
from carnet_spec.language.terms import (
    BOOL,
    And,
    Apply,
    Exists,
    Forall,
    Implies,
    Not,
    Or,
    Sort,
    Term,
    Var,
    children,
    conjuncts,
    free_variables,
    symbols_of,
)
from carnet_spec.trace import Trace

# -- Sentences about one instance: filled templates, facts, knowledge ------------------------------

ANYONE = "the adversary"


def fill_places(template: str, env: Env) -> str:
    """Fill the ``{parameter}`` places of a sentence; other names in braces are unchanged."""
    return re.sub(r"\{(\w+)\}", lambda place: env.get(place[1], place[0]), template)


def knowledge_symbols(protocol: Protocol) -> tuple[Symbol, ...]:
    """Return the relations that say what an agent knows."""
    return tuple(s for s in protocol.symbols if s.kind is Kind.KNOWLEDGE and s.result == BOOL and s.domain)


def knower_of(protocol: Protocol, symbol: Symbol) -> int:
    """Return the position of the agent among the arguments of a knowledge relation.

    It is the first argument whose sort has acting parties, according to the actions. If there is none, it is the first
    whose sort is neither drawn fresh nor an enumeration, as agents are neither. Otherwise it is the first argument.
    """
    acting = {action.actor.sort for action in protocol.actions if isinstance(action.actor, Var)}
    acting |= {action.actor.symbol.result for action in protocol.actions if isinstance(action.actor, Apply)}
    places = range(len(symbol.domain))
    agents = (place for place in places if symbol.domain[place] in acting)
    others = (place for place in places if not symbol.domain[place].fresh and symbol.domain[place].members is None)
    return next(agents, next(others, 0))


def knowledge_of(protocol: Protocol, state: State, before: State | None = None) -> dict[str, list[str]]:
    """Return what each party knows in ``state``; with ``before``, only what the party did not know in that state."""
    symbols = knowledge_symbols(protocol)
    facts: dict[tuple[str, str], list[str]] = {}
    for symbol in symbols:
        place = knower_of(protocol, symbol)
        rows = state.relations[symbol.name] - (before.relations[symbol.name] if before else frozenset())
        for row in sorted(rows):
            knower, what = (row[place], ", ".join(_without_place(row, place))) if len(row) > 1 else (ANYONE, row[0])
            facts.setdefault((knower, what), []).append(_distinguishing_suffix(symbol, symbols))
    by_party: dict[str, list[str]] = {}
    for (knower, what), ways in facts.items():
        how = ", ".join(way for way in ways if way)
        by_party.setdefault(knower, []).append(f"{what} ({how})" if how else what)
    return by_party


def _without_place(row: tuple[str, ...], place: int) -> tuple[str, ...]:
    return (*row[:place], *row[place + 1 :])


def knowers(protocol: Protocol, instance: Instance, parties: Iterable[str]) -> list[str]:
    """Return those of ``parties`` whose knowledge the protocol records."""
    symbols = [symbol for symbol in knowledge_symbols(protocol) if len(symbol.domain) > 1]
    agents = {symbol.domain[knower_of(protocol, symbol)] for symbol in symbols}
    others = {element for sort in protocol.sorts if sort not in agents for element in instance.of(sort)}
    return [party for party in parties if party not in others]


def _distinguishing_suffix(symbol: Symbol, symbols: Iterable[Symbol]) -> str:
    """Return the suffix that distinguishes a knowledge relation from others of the same sorts: h2d of knows_h2d."""
    alike = [other.name for other in symbols if other.domain == symbol.domain]
    if len(alike) == 1:
        return ""
    words = [name.split("_") for name in alike]
    shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False)))
    return " ".join(symbol.name.split("_")[shared:])


def list_assumptions(assumptions: Iterable[str]) -> str:
    """Return the list of assumptions of verdicts: by ids, A2 before A10, then axioms without an id."""
    listed = set(assumptions)
    axioms = sorted(name.removeprefix(UNNAMED) for name in listed if name.startswith(UNNAMED))
    ids = sorted(listed - {UNNAMED + name for name in axioms}, key=lambda id: (id.rstrip("0123456789"), len(id), id))
    said = [" ".join(ids)] if ids else []
    if axioms:
        said.append(f"{'axiom' if len(axioms) == 1 else 'axioms'} {', '.join(axioms)}")
    return " · ".join(said) or "none"


# -- What a step changed: only the fields that differ, each with its owner -------------------------

WIRE = "on the wire"
BOOKKEEPING = "kept for the claims alone"


@dataclass(frozen=True, slots=True)
class Change:
    """One field that a step changed: its owner, and its values before and after."""

    where: str
    symbol: str
    text: str
    says: str


def changes(protocol: Protocol, before: State, after: State) -> Iterator[Change]:
    """Yield every field that differs between two states, in the order of the specification."""
    acting = ((action.by.name, action.actor) for action in protocol.actions)
    owners = {role: actor.sort for role, actor in acting if isinstance(actor, Var)}
    for symbol in protocol.symbols:
        if symbol.mutable and symbol.is_relation:
            old, new = before.relations[symbol.name], after.relations[symbol.name]
            for sign, rows in (("−", old - new), ("+", new - old)):
                for row in sorted(rows):
                    yield _change(protocol, symbol, owners, row, f"{sign} {application(symbol, row)}")
        elif symbol.mutable:
            was, now = before.functions[symbol.name], after.functions[symbol.name]
            for row in sorted(now):
                if was[row] != now[row]:
                    yield _change(protocol, symbol, owners, row, f"{application(symbol, row)}: {was[row]} → {now[row]}")


def _change(protocol: Protocol, symbol: Symbol, owners: Mapping[str, Sort], row: tuple[str, ...], text: str) -> Change:
    return Change(_location_of(protocol, symbol, owners, row), symbol.name, text, symbol.says)


def _location_of(protocol: Protocol, symbol: Symbol, owners: Mapping[str, Sort], row: tuple[str, ...]) -> str:
    match symbol.kind:
        case Kind.MESSAGE | Kind.PUBLIC:
            return WIRE
        case Kind.KNOWLEDGE if len(row) > 1:
            return row[knower_of(protocol, symbol)]
        case Kind.STATE if symbol.role is not None:
            theirs = bool(symbol.domain) and owners.get(symbol.role.name) == symbol.domain[0]
            return row[0] if theirs else symbol.role.name
        case _:
            return BOOKKEEPING


def application(symbol: Symbol, row: tuple[str, ...]) -> str:
    """Return a symbol with elements as its arguments: ``lent(a, k)``."""
    return f"{symbol.name}({', '.join(row)})" if row else symbol.name


# --------------------------------------------------------------------------------------------------
# An attack as numbered sentences, with what the parties learn at each step and why the claim fails at the end.

INDENT = "      "
GOING_ROUND = "  and then, again and again:"
STAYING = "  and then nothing happens any more"  #: The line about a lasso without repeated steps.


def narrate(
    protocol: Protocol,
    states: Sequence[State],
    trace: Trace,
    full: bool = False,
    remarks: Mapping[int, str] | None = None,
    before: int = 0,
) -> list[str]:
    """Describe a trace: a numbered sentence for each step; below it, what the adversary deduces and the parties learn.

    The repeated steps of a lasso are described once.

    ``states`` are those along the trace, the first one included; ``full`` adds the fields that each step changed, and
    ``remarks`` has words to put below a step, by its position. So many numbered steps were taken ``before``.
    """
    lines: list[str] = []
    number = before
    for position, step in enumerate(trace.steps):
        if position == trace.loop:
            lines.append(GOING_ROUND)
        action = protocol.action(step.action)
        sentence = fill_places(action.says, step.env)
        if is_deduction(action):
            lines.append(f"{INDENT}{sentence}")
        else:
            number += 1
            lines.append(f"{number:>3}.  {sentence}")
        if remarks and position in remarks:
            lines.append(f"{INDENT}<<< {remarks[position]}")
        for knower, facts in knowledge_of(protocol, states[position + 1], states[position]).items():
            lines.append(f"{INDENT}>>> {knower} learns {join_words(facts)}")
        if full:
            changed = changes(protocol, states[position], states[position + 1])
            lines += [f"{INDENT}    {change.text}  [{change.where}]" for change in changed]
    return [*lines, STAYING] if trace.loop == len(trace.steps) else lines


def is_deduction(action: Action) -> bool:
    """Whether an action is a deduction of the adversary; a deduction has no step number."""
    return action.deduction and not action.by.honest


def step_place(actions: Sequence[Action], position: int) -> str:
    """Return where a step is in the description of its trace: at a number, or, for a deduction, after one."""
    number = sum(not is_deduction(action) for action in actions[: position + 1])
    if not is_deduction(actions[position]):
        return f"at step {number}"
    return f"after step {number}" if number else "before step 1"


def reason(judge: Interpreter, invariant: Invariant, state: State) -> list[str]:
    """Return lines that say which part of a claim is false in ``state``, for which elements, and why it applies."""
    env = judge.counterexample(invariant, state)
    if env is None:
        return [f"{invariant.name} holds here"]
    names = {param: env[param.name] for param in invariant.params}
    premises, failing = _descend(judge, invariant.body, state, names)
    chosen = ", ".join(f"{var.name.partition('.')[0]} = {element}" for var, element in names.items())
    lines = [f"{invariant.name} fails" + (f" for {chosen}:" if chosen else ":")]
    lines += _labelled_lines("  given that  ", [part for premise in premises for part in conjuncts(premise)], names)
    return [*lines, *_labelled_lines("  it is false that  ", [failing], names)]


def _labelled_lines(label: str, parts: Sequence[Term], names: dict[Var, str]) -> list[str]:
    """Write each part on its own line below ``label``."""
    texts = [show(part, names=names) for part in parts]
    return [f"{label if not number else ' ' * len(label)}{text}" for number, text in enumerate(texts)]


def _descend(judge: Interpreter, term: Term, state: State, names: dict[Var, str]) -> tuple[list[Term], Term]:
    """Return the premises and the innermost conclusion that is false; ``names`` gets the elements of its variables."""
    premises: list[Term] = []
    while True:
        match term:
            case Implies(premise, conclusion):
                premises.append(premise)
                term = conclusion
            case And(parts):
                term = next(part for part in parts if not _holds(judge, part, state, names))
            case Forall(bound, body):
                env = _counterexample(judge, bound, body, state, names)
                names.update({var: env[var.name] for var in bound})
                term = body
            case Or(parts) if any(isinstance(part, Not) for part in parts):
                premises += [part.body for part in parts if isinstance(part, Not)]
                term = Or(tuple(part for part in parts if not isinstance(part, Not)))
            case Or((only,)):
                term = only
            case _:
                return premises, term


def _holds(judge: Interpreter, term: Term, state: State, names: dict[Var, str]) -> bool:
    return judge.holds(term, state, {var.name: element for var, element in names.items()})


def _counterexample(judge: Interpreter, bound: tuple[Var, ...], body: Term, state: State, names: dict[Var, str]) -> Env:
    for row in itertools.product(*(judge.instance.of(var.sort) for var in bound)):
        env = {var.name: element for var, element in zip(bound, row, strict=True)}
        if not judge.holds(body, state, {**{var.name: e for var, e in names.items()}, **env}):
            return env
    raise AssertionError("a quantified formula that is false has a counterexample")


# --------------------------------------------------------------------------------------------------
# Why a trace is a violation: what is false in its last state, or what never happens on a lasso.


def reasons(judge: Interpreter, failing: Invariant | Eventually, trace: Trace, states: Sequence[State]) -> list[str]:
    """Return lines that say why a trace violates ``failing``; ``judge`` replayed it through ``states``.

    The last lines are the rigid facts, and the first values that the instance chooses, which the trace or ``failing``
    reads.
    """
    if isinstance(failing, Invariant):
        return [*reason(judge, failing, states[-1]), *_fixed(judge, trace, (failing.body,))]
    assert trace.loop is not None
    env, own = waits_in_vain(judge, failing, states, trace) or next(at_each(failing, judge.instance))
    chosen = ", ".join(f"{name} = {element}" for name, element in env.items())
    begin = waiting_from(judge, own, states, trace.loop)
    since = "from the start" if begin == 0 else f"after {trace.steps[begin - 1].action}" if begin else "nowhere"
    told = (
        f"{told} {fairly(judge, own, name, states, trace) or 'is treated unfairly'}"
        for name, told in zip(own.fair, fair_steps(own), strict=True)
    )
    repeated = sum(not judge.protocol.action(step.action).deduction for step in trace.steps[trace.loop :])
    rest = f"the last {plural(repeated, 'step')} are" if repeated > 1 else "the last step is"
    return [
        f"{failing.name} fails" + (f" for {chosen}:" if chosen else ":"),
        f"  {since} it holds that  {show(own.trigger)}",
        f"  and it never holds that  {show(own.response)}",
        f"  {rest} taken again and again" if repeated else "  nothing happens any more",
        *(f"  this is fair: {each}" for each in told),
        *([] if failing.fair else ["  this is fair: no fairness assumption demands a step"]),
        *_fixed(judge, trace, failing.terms, failing.fair),
    ]


def _fixed(judge: Interpreter, trace: Trace, said: Iterable[Term], fair: Iterable[str] = ()) -> Iterator[str]:
    """Yield what an instance says of the symbols that are read by a trace, by terms in ``said`` or by fair actions."""
    protocol, instance = judge.protocol, judge.instance
    actions = {protocol.action(name) for name in (*(step.action for step in trace.steps), *fair)}
    every = (*said, *(term for action in actions for term in terms_of_action(action)))
    read = frozenset[Symbol]().union(*map(symbols_of, every))
    read = read.union(*(symbols_of(initial.value) for initial in protocol.initial if initial.symbol in read))
    symbols = [symbol for symbol in protocol.symbols if symbol in read]
    fixed = {
        "never changes": rigid_values([symbol for symbol in symbols if not symbol.mutable], instance),
        "at first": chosen_first_values(symbols, instance),
    }
    for label, values in fixed.items():
        if values:
            yield f"  {label}  {' · '.join(f'{name}: {value}' for name, value in values.items())}"


# --------------------------------------------------------------------------------------------------
# Why a step is refused: the guard, its formula with the elements filled in, and the values in the state.

_REASONS = {
    GuardKind.REQUIRE: "the check '{name}' fails",
    GuardKind.GIVEN: "'{name}' does not hold",
    GuardKind.ACTOR: "the party that acts does not follow the protocol",
    GuardKind.FRESH: "'{name}': the value was used before",
}


def describe_refusal(action: Action, guard: Guard, names: Mapping[Var, str], value: Callable[[Term], str]) -> str:
    """Return a sentence that says which guard refuses a step, and which values the guard reads.

    Args:
        action: the action of the step.
        guard: the guard that is false.
        names: the element of each parameter that is known.
        value: returns the value of a term without other free variables, as text.
    """
    reads = {show(part, names=names): value(part) for part in _changing_terms(guard.formula, names)}
    seen = f", where {', '.join(f'{name} = {element}' for name, element in reads.items())}" if reads else ""
    return f"{action.name}: {_REASONS[guard.kind].format(name=guard.name)}: {show(guard.formula, names=names)}{seen}"


def _changing_terms(formula: Term, known_names: Mapping[Var, str]) -> Iterator[Apply]:
    """Yield the terms of mutable functions in a formula that have no open variables."""
    for part in _outside_quantifiers(formula):
        read = isinstance(part, Apply) and not part.symbol.is_relation and part.symbol.mutable
        if read and free_variables(part) <= known_names.keys():
            assert isinstance(part, Apply)
            yield part


def _outside_quantifiers(term: Term, hidden: frozenset[Var] = frozenset()) -> Iterator[Term]:
    """Yield the subterms of ``term`` that contain no variable bound inside it."""
    if not free_variables(term) & hidden:
        yield term
    inside = hidden | set(term.bound) if isinstance(term, Exists | Forall) else hidden
    for child in children(term):
        yield from _outside_quantifiers(child, inside)


# --------------------------------------------------------------------------------------------------
# File names, made from names in a specification or a run, which may be any text.
#
# A file name is never a path. If each part has lower-case letters, digits, '-' and '_' only, the file name is the parts
# with dots between them. Otherwise it is a digest of the parts after a readable prefix. So different parts never share
# a file name, on any file system, and every file name is short.

MOST = 120  #: The most characters of a file name without its extension.
READABLE = 40
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]*")
_MADE = re.compile(rf"[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*|[a-z0-9-]{{1,{READABLE}}}~[0-9a-f]{{32}}")
#: Names that some systems reserve for devices, with any extension.
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def file_name(*parts: str) -> str:
    """Return a valid file name without extension that is unique for these parts."""
    joined = ".".join(parts)
    plain = all(_PLAIN.fullmatch(part) for part in parts)
    if plain and len(joined) <= MOST and parts[0] not in _DEVICES:
        return joined
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    readable = re.sub(r"[^a-z0-9]+", "-", joined.lower())[:READABLE].strip("-")
    return f"{readable or 'x'}~{digest[:32]}"


def is_file_name(name: str) -> bool:
    """Whether :func:`file_name` can return this name."""
    return _MADE.fullmatch(name) is not None and len(name) <= MOST and name.partition(".")[0] not in _DEVICES


def as_file_name(name: str) -> str:
    """Return ``name`` if it is a result of :func:`file_name`, else ``file_name(name)``."""
    return name if is_file_name(name) else file_name(name)


def attack_name(variant: str, threat: str, claim: str, removed: Iterable[str] = ()) -> str:
    """Return the name of an attack, unique among those on the protocol and fit for a file name."""
    return file_name(variant, *(f"without-{defence}" for defence in removed), threat, claim)
