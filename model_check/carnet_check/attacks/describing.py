"""A counterexample from beginning to end: the steps, why the claim fails, what each party knows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from carnet_check.loading.families import Source
from carnet_check.semantics import Interpreter, State
from carnet_check.semantics.interpreter import NotEnabled
from carnet_check.wording import (
    ANYONE,
    Change,
    changes,
    fill_places,
    is_deduction,
    knower_of,
    knowledge_of,
    knowledge_symbols,
    narrate,
    reasons,
)
from carnet_command.text import join_words, plural, wrap_text
from carnet_spec.language import Action, Eventually, Invariant, Protocol, SpecificationError, markup
from carnet_spec.language.terms import Apply, Sort, Var
from carnet_spec.trace import Trace, TraceStep

#: The step number or the fixed words at the beginning of a line, before its sentence or formula.
OPENING = re.compile(r"\s*(\d+(-\d+)?\.\s+|>>> |<<< |given that  |it is false that  |never changes  |at first  )?")


def describe_attack(
    judge: Interpreter,
    failing: Invariant | Eventually,
    trace: Trace,
    states: Sequence[State],
    full: bool = False,
    remarks: Mapping[int, str] | None = None,
) -> list[str]:
    """Describe a minimised trace along which ``states`` were reached.

    Args:
        judge: the interpreter that replayed the trace.
        failing: the invariant that fails in the last state, or the liveness property that a lasso violates.
        trace: the steps.
        states: those along the trace, the first one included.
        full: add the fields that each step changed.
        remarks: words to put below a step, by its position.
    """
    story = narrate(judge.protocol, states, trace, full, remarks)
    why = [f"  {line}" for line in reasons(judge, failing, trace, states)]
    lines = [part for line in [*story, "", *why] for part in wrap_line(line)]
    facts_of = knowledge_of(judge.protocol, states[-1])
    if facts_of:
        indent = max(len(name) for name in facts_of) + 8
        lines += ["", "  known at the end"]
        for name, facts in facts_of.items():
            lines += wrap_text(f"    {name}", ", ".join(facts), indent)
    return [*lines, ""]


def describe_briefly(
    judge: Interpreter, failing: Invariant, trace: Trace, states: Sequence[State], remarks: Mapping[int, str]
) -> list[str]:
    """Describe a minimised trace in a few lines; the arguments are those of `describe_attack`."""
    why, *_ = reasons(judge, failing, trace, states)
    lines = [*brief(judge, states, trace, remarks), "", f"  {why.removesuffix(':')}"]
    return [*(part for line in lines for part in wrap_line(line)), ""]


def wrap_line(line: str) -> list[str]:
    """Wrap a line at the width of the report; continuation lines are aligned with its sentence or formula."""
    opening = OPENING.match(line)
    begins = opening.end() if opening else 0
    return wrap_text(line[:begins], line[begins:], begins)


# --------------------------------------------------------------------------------------------------
# A trace as a sequence chart: steps and messages between named parties, as diagrams and the report draw them.

MESSAGE = re.compile(r"^(?P<sender>.+?)\s*->\s*(?P<receiver>.+?)\s*:\s*(?P<text>.+)$")


@dataclass(frozen=True, slots=True)
class Arrow:
    """One message from one party to another."""

    sender: str
    receiver: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One step of a trace, prepared for display.

    ``number`` counts the steps, except the adversary's deductions, which have no number. ``known`` is everything that
    each party knows after the step, ``learned`` the part of it that the party did not know before.
    """

    number: int | None
    step: TraceStep
    action: Action
    sentence: str
    actor: str
    arrow: Arrow | None
    changes: tuple[Change, ...]
    learned: Mapping[str, Sequence[str]]
    known: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class SequenceChart:
    """The parties of a trace, in the order in which they appear, and its steps."""

    parties: tuple[str, ...]
    steps: tuple[ShownStep, ...]


def sequence_chart(judge: Interpreter, states: Sequence[State], trace: Trace) -> SequenceChart:
    """Return the sequence chart of ``trace``, along which ``states`` were reached; each agent has one column."""
    names = _PartyNames(judge)
    steps = _one_name_each(list(_shown_steps(judge.protocol, names, states, trace)), names)
    parties = dict.fromkeys(party for shown in steps for party in _parties(shown))
    return SequenceChart(tuple(parties), tuple(steps))


def _shown_steps(protocol: Protocol, names: _PartyNames, states: Sequence[State], trace: Trace) -> Iterator[ShownStep]:
    number = 0
    for position, step in enumerate(trace.steps):
        action = protocol.action(step.action)
        before, after = states[position], states[position + 1]
        number += not is_deduction(action)
        yield ShownStep(
            number=None if is_deduction(action) else number,
            step=step,
            action=action,
            sentence=fill_places(action.says, step.env),
            actor=names.actor(action, step, before) or action.by.name,
            arrow=names.arrow(action, step, before),
            changes=tuple(changes(protocol, before, after)),
            learned=names.of_knowers(knowledge_of(protocol, after, before)),
            known=names.of_knowers(knowledge_of(protocol, after)),
        )


def _parties(shown: ShownStep) -> Iterator[str]:
    if shown.arrow is not None:
        yield from (shown.arrow.sender, shown.arrow.receiver)
    elif shown.number is not None:
        yield shown.actor
    yield from shown.learned


PLACE = re.compile(r"\{(\w+)\}")  #: The place of a parameter, in a sentence or as one end of a message.


class _PartyNames:
    """What the parties of a trace are called: an agent by its element, wherever the specification names one.

    An action names who takes it, in this order, by what it declares, by the parameter that sends its message, by the
    parameter that receives it, by the parameter that its sentence begins with, and by the only parameter of a sort. The
    last three are of a sort that its role has: it has the sorts of whom other actions of it name, and that of its name.
    """

    def __init__(self, judge: Interpreter) -> None:
        protocol = judge.protocol
        self._judge = judge
        self._adversaries = {action.by.name for action in protocol.actions if not action.by.honest}
        self._sorts: dict[str, set[Sort]] = {action.by.name: set() for action in protocol.actions}
        for action in protocol.actions:
            self._sorts[action.by.name] |= _declared_sorts(action)
            named = (var.sort for var in action.params if var.sort.name.casefold() == action.by.name.casefold())
            self._sorts[action.by.name].update(named)
        knowing = {symbol.domain[knower_of(protocol, symbol)] for symbol in knowledge_symbols(protocol)}
        self._agents = knowing.union(*self._sorts.values())
        self._functions = {symbol.name: symbol for symbol in protocol.symbols if symbol.result in self._agents}
        self.elements = {element for sort in self._agents for element in judge.instance.of(sort)}

    def actor(self, action: Action, step: TraceStep, state: State) -> str | None:
        """Return who takes a step, or nothing where the specification names its role alone."""
        if action.actor is not None:
            return str(self._judge.value(action.actor, state, step.env))
        var = _sender(action) or self._receiver(action) or self._subject(action)
        if var is not None:
            return step.env[var.name]
        return action.by.name if action.by.name in self.elements else None

    def players(self, role: str) -> set[str]:
        """Return the elements that may act for a role by what actions declare or by who sends their messages."""
        return {element for sort in self._sorts[role] for element in self._judge.instance.of(sort)}

    def _receiver(self, action: Action) -> Var | None:
        """Return the parameter that receives a message from another role, and so takes the step of an honest one."""
        found = MESSAGE.match(action.message)
        if found is None or not action.by.honest or found["sender"] == action.by.name:
            return None
        var = _parameter(action, found["receiver"])
        return var if var is not None and var.sort in self._sorts[action.by.name] else None

    def _subject(self, action: Action) -> Var | None:
        """Return the parameter that acts by the sentence of an action without a message."""
        if action.message:
            return None
        begins = PLACE.match(action.says)
        own = self._sorts[action.by.name] if action.by.honest else self._agents
        first = [var for var in action.params if begins and var.name == begins[1] and var.sort in own]
        fitting = [var for var in action.params if action.by.honest and var.sort in own]
        return first[0] if first else fitting[0] if len(fitting) == 1 else None

    def arrow(self, action: Action, step: TraceStep, state: State) -> Arrow | None:
        """Return the message of a step, between the elements that its ends stand for."""
        found = MESSAGE.match(action.message)
        if found is None:
            return None
        sender, receiver = (self._end(found[part], action, step, state) for part in ("sender", "receiver"))
        return Arrow(sender, receiver, fill_places(found["text"], step.env))

    def _end(self, name: str, action: Action, step: TraceStep, state: State) -> str:
        """Return the element that an end of a message stands for, such as the head of the only chain that is named."""
        if name in self._functions:
            symbol = self._functions[name]
            fitting = [[var for var in action.params if var.sort == sort] for sort in symbol.domain]
            if all(len(variables) == 1 for variables in fitting):
                term = Apply(symbol, tuple(var for (var,) in fitting))
                return str(self._judge.value(term, state, step.env))
        return fill_places(name, step.env)

    def of_knowers(self, facts: dict[str, list[str]]) -> dict[str, list[str]]:
        """Return facts by party, where what the adversary knows is under its role if it has one alone."""
        if ANYONE not in facts or len(self._adversaries) != 1:
            return facts
        (role,) = self._adversaries
        named: dict[str, list[str]] = {}
        for knower, known_facts in facts.items():
            named.setdefault(role if knower == ANYONE else knower, []).extend(known_facts)
        return named


def _declared_sorts(action: Action) -> set[Sort]:
    """Return the sort of the actor of an action, as far as it is declared or that of the sender of its message."""
    match action.actor:
        case Var(_, sort):
            return {sort}
        case Apply(symbol, _):
            return {symbol.result}
        case _:
            var = _sender(action)
            return set() if var is None else {var.sort}


def _sender(action: Action) -> Var | None:
    """Return the parameter that sends the message of an action, unless its role receives it and so takes the step."""
    found = MESSAGE.match(action.message)
    if found is None or found["receiver"] == action.by.name:
        return None
    return _parameter(action, found["sender"])


def _parameter(action: Action, end: str) -> Var | None:
    """Return the parameter that one end of a message is."""
    place = PLACE.fullmatch(end)
    return next((var for var in action.params if place and var.name == place[1]), None)


def _one_name_each(steps: Sequence[ShownStep], names: _PartyNames) -> list[ShownStep]:
    """Where a role has one player in the whole trace, call the role by the player's name: gpu is gpu1."""
    players: dict[str, set[str]] = {}
    for shown in steps:
        own, by = shown.actor, shown.action.by
        if by.honest and own == by.name and own not in names.elements:
            own = ""
        players.setdefault(by.name, set()).add(own)
    single = {role: those - {""} for role, those in players.items() if role not in names.elements}
    named = {role: min(those) for role, those in single.items() if len(those) == 1 and those <= names.players(role)}

    def renamed(name: str) -> str:
        return named.get(name, name)

    return [
        replace(
            shown,
            actor=renamed(shown.actor) if shown.action.by.honest else shown.actor,
            arrow=shown.arrow and Arrow(renamed(shown.arrow.sender), renamed(shown.arrow.receiver), shown.arrow.text),
        )
        for shown in steps
    ]


# -- An attack as a Mermaid sequence diagram: one lane per party, one arrow per message ------------


def mermaid(judge: Interpreter, states: Sequence[State], trace: Trace) -> str:
    """Return a Mermaid sequence diagram of a trace; steps without a message, and what is learned, are notes."""
    chart = sequence_chart(judge, states, trace)
    lanes = {party: f"p{number}" for number, party in enumerate(chart.parties)}
    body: list[str] = []
    for shown in chart.steps:
        if shown.arrow is not None:
            sender, receiver = lanes[shown.arrow.sender], lanes[shown.arrow.receiver]
            body.append(f"    {sender}->>{receiver}: {_plain(shown.arrow.text)}")
        elif shown.number is not None:
            body.append(f"    Note over {lanes[shown.actor]}: {_plain(shown.sentence)}")
        for knower, facts in shown.learned.items():
            body.append(f"    Note over {lanes[knower]}: learns {_plain(', '.join(facts))}")
    heads = [f"    participant {id} as {_plain(name)}" for name, id in lanes.items()]
    return "\n".join(["sequenceDiagram", "    autonumber", *heads, *body])


def _plain(text: str) -> str:
    """Escape ``text``, so that Mermaid reads no part of it as syntax."""
    return text.translate({ord("#"): "#35;", ord(";"): "#59;", ord("\n"): " "})


# --------------------------------------------------------------------------------------------------
# An attack in a few lines: honest steps and deductions are summarised, and the decisive step is written out.


def brief(judge: Interpreter, states: Sequence[State], trace: Trace, remarks: Mapping[int, str]) -> list[str]:
    """Describe an attack in a few lines; steps keep the numbers that they have in the full description.

    Args:
        judge: replayed the trace.
        states: those along the trace, the first one included.
        trace: the steps.
        remarks: words to put below a step, by its position; such a step is always written out.
    """
    shown = list(enumerate(sequence_chart(judge, states, trace).steps))
    last = len(shown) - 1

    def stays(place: tuple[int, ShownStep]) -> bool:
        position, step = place
        return position in remarks or position == last or (step.number is not None and not step.action.by.honest)

    lines: list[str] = []
    for kept, group in groupby(shown, key=stays):
        places = list(group)
        lines += _step_lines(places, remarks) if kept else _in_one_line([step for _, step in places])
    return lines


def _step_lines(places: Sequence[tuple[int, ShownStep]], remarks: Mapping[int, str]) -> Iterator[str]:
    for position, step in places:
        yield f"{_label(step, step)}{step.sentence}"
        if position in remarks:
            yield f"{_NO_NUMBER}<<< {remarks[position]}"
        yield from (f"{_NO_NUMBER}>>> {party} learns {join_words(facts)}" for party, facts in step.learned.items())


def _in_one_line(steps: Sequence[ShownStep]) -> Iterator[str]:
    """Yield a line for consecutive steps: which parties take them, and what the adversary deduces meanwhile."""
    numbered = [step for step in steps if step.number is not None]
    deduced = {
        party: [fact for step in steps if step.number is None for fact in step.learned.get(party, ())]
        for party in dict.fromkeys(party for step in steps for party in step.learned)
    }
    learned = [f"{party} works out {join_words(facts)}" for party, facts in deduced.items() if facts]
    taken = []
    if len(numbered) == 1:
        taken = [numbered[0].sentence.removesuffix(".")]
    elif numbered:
        taken = [f"{plural(len(numbered), 'step')} of {join_words(dict.fromkeys(step.actor for step in numbered))}"]
    if said := "; ".join((*taken, *learned)):
        label = _label(numbered[0], numbered[-1]) if numbered else _NO_NUMBER
        yield f"{label}{said}."


_WIDTH = 9
_NO_NUMBER = " " * _WIDTH


def _label(first: ShownStep, last: ShownStep) -> str:
    """Return the numbers of consecutive steps, padded to the common width of labels."""
    if first.number is None:
        return _NO_NUMBER
    numbers = f"{first.number}" if first is last else f"{first.number}-{last.number}"
    return f"{numbers:>{_WIDTH - 3}}.  "


# --------------------------------------------------------------------------------------------------
# The decisive step of an attack: the first that the intact design refuses, or that has another outcome there.
#
# The steps of the attack are taken in the intact design, from the attack's first state. A refusal is explained by the
# guard that does not hold, and another outcome by the first state that differs from the attacked design's. No step is
# decisive where the claim is violated in the intact design, too.

MOST_CHANGES = 3  #: How many of the fields in which two outcomes differ are named.


@dataclass(frozen=True, slots=True)
class DecisiveStep:
    """The step of an attack at which the intact design behaves differently."""

    position: int  #: The position of the step in the trace, from 0.
    design: str  #: The design that the attacked one is compared with: a variant, or the defences that were put back.
    guard: str  #: The guard that refuses the step there; empty if the step is taken, or does not exist.
    defence: str  #: The defence that the guard belongs to; empty if there is none.
    says: str  #: A sentence that says what happens in that design instead.

    @property
    def remark(self) -> Mapping[int, str]:
        """The words to put below the step."""
        return {self.position: f"decisive: {self.says}"}


@dataclass(frozen=True, slots=True)
class IntactOutcome:
    """The outcome of an attack in the intact design."""

    #: the first step that has another outcome there; None if there is none, or the claim falls there, too.
    decisive: DecisiveStep | None = None
    violated: str = ""  #: a sentence that says that the claim is violated there, too; empty if that is not known.


def intact_outcome(
    source: Source,
    attacked: Protocol,
    removed: Sequence[str],
    claim: str,
    judge: Interpreter,
    trace: Trace,
    states: Sequence[State],
) -> IntactOutcome:
    """Return how an attack ends in the intact design, with the first step that it does not take with the same outcome.

    A variant from which no defence was removed is compared with the main variant that shares most actions with it.

    Args:
        source: where the designs are from.
        attacked: the protocol of the attack.
        removed: the defences that were removed from its variant.
        claim: the name of the claim that the attack violates.
        judge: the interpreter that replayed the attack.
        trace: the steps.
        states: those along the trace, the first one included.

    Returns:
        Nothing decisive if every step has the same outcome there, or if the instance does not fit the intact design.
    """
    of_variant = _without(source, attacked.variant)
    lacking = (*of_variant, *removed)
    if lacking:
        name, whole = f"with {join_words(lacking)}", source.family.draft_of(attacked.variant).protocol(())
    else:
        others = sorted(_others(source, attacked), key=lambda other: _count_shared_actions(attacked, other))
        if not others:
            return IntactOutcome()
        name, whole = f"in {others[-1].variant}", others[-1]
    claimed = next((each for each in whole.claims if each.name == claim), None)
    # What a variant without defences expects is not said of it with them
    if claimed is not None and trace.threat in claimed.fails_under and not of_variant:
        return IntactOutcome(violated=f"{name}, the claim is violated under {trace.threat}, too, as expected")
    return _followed(name, whole, claimed.invariant if claimed else None, judge, trace, states)


def _without(source: Source, variant: str) -> Sequence[str]:
    return source.family.variants[variant].without if variant in source.family.variants else ()


def _others(source: Source, attacked: Protocol) -> Iterator[Protocol]:
    return (source.protocol(name) for name in source.family.with_layers(source.family.main) if name != attacked.variant)


def _count_shared_actions(one: Protocol, other: Protocol) -> int:
    """Count the actions that are exactly equal in two designs."""
    named = {action.name: action for action in one.actions}
    return sum(named.get(action.name) == action for action in other.actions)


def _followed(
    name: str,
    whole: Protocol,
    claimed: Invariant | None,
    attacker: Interpreter,
    trace: Trace,
    states: Sequence[State],
) -> IntactOutcome:
    """Take the steps of the attack in the intact design, up to one that is not taken or violates what is claimed."""
    try:
        judge = Interpreter(whole, attacker.instance)
    except SpecificationError:
        return IntactOutcome()  # the instance interprets not all symbols of the design
    actions = {action.name: action for action in whole.actions}
    literal = any(attacker.protocol.action(step.action).deduction for step in trace.steps)
    state, take = (judge.start(), judge.fire) if literal else (judge.initial(), judge.step)
    different: DecisiveStep | None = None
    for position, step in enumerate(trace.steps):
        action = actions.get(step.action)
        if action is None or {var.name for var in action.params} != step.env.keys():
            return IntactOutcome(DecisiveStep(position, name, "", "", f"{name}, there is no such step"))
        try:
            state = take(state, action, step.env)
        except NotEnabled as refused:
            return IntactOutcome(_refused(position, name, action, refused.guard))
        if claimed is not None and not judge.holds(claimed.formula, state):
            return IntactOutcome(violated=f"{name}, the same steps violate the claim, too")
        if different is None and (more := _difference(whole, states[position + 1], state)):
            different = DecisiveStep(position, name, "", "", f"{name}, also {more}")
    return IntactOutcome(different)


def _refused(position: int, name: str, action: Action, refused: str) -> DecisiveStep:
    defences = [guard.defence for guard in action.guards if guard.name == refused and guard.defence]
    defence = defences[0] if defences else ""
    of = f" of {defence}" if defence and defence not in name else ""
    return DecisiveStep(position, name, refused, defence, f"{name}, the guard '{refused}'{of} refuses this")


def _difference(whole: Protocol, attacked: State, defended: State) -> str:
    """Describe how the outcome differs between the intact and the attacked design, if both have the same fields."""
    if attacked.relations.keys() != defended.relations.keys() or attacked.functions.keys() != defended.functions.keys():
        return ""
    different = [change.text for change in changes(whole, attacked, defended)]
    more = ", …" if len(different) > MOST_CHANGES else ""
    return ", ".join(different[:MOST_CHANGES]) + more


# --------------------------------------------------------------------------------------------------
# An attack as HTML for notebooks: the numbered steps, the decisive one marked, and why the claim fails.

HEAD = ("step", "by", "what happens", "who learns what")


def as_html(
    judge: Interpreter,
    failing: Invariant | Eventually,
    trace: Trace,
    states: Sequence[State],
    decisive: DecisiveStep | None,
) -> markup.Html:
    """Return an attack as HTML.

    Args:
        judge: the interpreter that replayed the trace.
        failing: the invariant that fails in the last state, or the liveness property that a lasso violates.
        trace: the steps.
        states: those along the trace, the first one included.
        decisive: where the intact design behaves differently, if that is known.
    """
    chart = sequence_chart(judge, states, trace)
    taken = sum(shown.number is not None for shown in chart.steps)
    caption = f"{plural(taken, 'step')} and {plural(len(chart.steps) - taken, 'deduction')}"
    about = markup.design(trace.protocol, trace.variant, trace.without)
    return markup.document(
        f"{failing.name} is violated under {trace.threat}: {about}",
        markup.table(caption, HEAD, _rows(chart.steps, decisive)),
        _for_ever(chart.steps, trace),
        markup.text_block(reasons(judge, failing, trace, states)),
    )


def _rows(steps: Sequence[ShownStep], decisive: DecisiveStep | None) -> Iterator[tuple[str, ...]]:
    for position, shown in enumerate(steps):
        number = "" if shown.number is None else str(shown.number)
        learned = markup.lines(f"{party} learns {', '.join(facts)}" for party, facts in shown.learned.items())
        remark = decisive.remark.get(position) if decisive else None
        if remark is None:
            yield number, shown.actor, shown.sentence, learned
        else:
            told = markup.lines([markup.strong(shown.sentence), markup.strong(remark)])
            yield markup.strong(f"▶ {number}".strip()), shown.actor, told, learned


def _for_ever(steps: Sequence[ShownStep], trace: Trace) -> markup.Html:
    """Return a sentence that names the steps that a lasso repeats for ever."""
    if trace.loop is None:
        return markup.Html()
    again = [str(shown.number) for shown in steps[trace.loop :] if shown.number is not None]
    return markup.paragraph(
        f"Again and again: steps {', '.join(again)}." if again else "Then nothing happens any more."
    )
