"""An attack as a JSON record, and as a regression test that fails as long as the design allows the attack."""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carnet_check.attacks.describing import DecisiveStep, ShownStep, as_html, sequence_chart
from carnet_check.attacks.hunt import Hunt
from carnet_check.loading.families import Source, axiom_violations, load, parts_of, threat_of
from carnet_check.semantics import Interpreter, NotEnabled, State
from carnet_check.wording import attack_name, knowers, narrate, reasons
from carnet_command.printable import printable
from carnet_command.text import hanging, join_words
from carnet_spec import language
from carnet_spec.trace import Trace, TraceStep

__all__ = ["Steps", "Structure", "as_test", "reproduces", "stands"]

WIDTH = 120  #: The most columns of a generated test.

#: The names of the actions taken, each with the element chosen for each parameter.
Steps = Sequence[tuple[str, Mapping[str, str]]]


def stands(
    protocol: str,
    claim: str,
    steps: Steps,
    *,
    threat: str,
    variant: str,
    instance: Structure,
    without: Sequence[str] = (),
    budget: int | None = None,
) -> None:
    """Replay an attack; return if it fails now, because a step is impossible or ``claim`` holds at its end.

    A step that exists only without a defence is impossible once the design has the defence.

    Raises AssertionError if the attack still works; the message describes it. Raises UsageError if the protocol has no
    such claim, variant or defence. Raises SpecificationError if an action or parameter no longer exists, or the
    instance no longer satisfies the axioms of the threat model; the attack then says nothing about this design.

    Args:
        protocol: a registered id, ``path.py[:name]`` or ``module:name``.
        claim: the claim that the attack violated.
        steps: the steps of the attack, deductions included.
        threat: the threat model of the attack.
        variant: the design that was attacked.
        instance: the instance in which the attack was found; the attack is replayed in this instance only.
        without: defences that were removed from the variant; a defence that it no longer has is an error.
        budget: the most active moves that the adversary has.
    """
    source = load(protocol)
    design = source.protocol(variant, tuple(without))
    judge = _judge(design, threat, instance, budget)
    invariant = design.claim(claim).checked
    if _is_absent_shortcut(source, design, [name for name, _ in steps]):
        return
    taken = tuple(TraceStep(name, design.action(name).by.name, tuple(args.items())) for name, args in steps)
    trace = Trace(design.id, variant, tuple(without), threat, taken)
    try:
        states = judge.replay(trace)
    except NotEnabled:
        return
    if not judge.holds(invariant.formula, states[-1]):
        story = [*narrate(design, states, trace), *reasons(judge, invariant, trace, states)]
        raise AssertionError("\n".join([f"the attack on {claim} still works:", *story]))


def reproduces(attack: Mapping[str, Any], reference: str) -> bool:
    """Return whether the test that `as_test` writes of this attack fails now, as it must on the attacked design."""
    steps = [(event["action"], event["args"]) for event in attack["events"]]
    try:
        stands(
            reference,
            attack["claim"],
            steps,
            threat=attack["threat"]["id"],
            variant=attack["trace"]["variant"],
            instance=attack["structure"],
            without=attack["removed"],
            budget=attack["profile"]["budget"],
        )
    except AssertionError:
        return True
    return False


def _judge(design: language.Protocol, threat: str, structure: Structure, budget: int | None) -> Interpreter:
    """Return an interpreter of the instance, which has to satisfy the axioms of the threat model to allow an attack."""
    instance = instance_of(structure, budget)
    require_about(structure, design)
    judge = Interpreter(design, instance)
    if violated := axiom_violations(judge, threat_of(design, threat)):
        raise language.SpecificationError(f"the attack says nothing about this design: {violated[0]}")
    return judge


def _is_absent_shortcut(source: Source, design: language.Protocol, names: Sequence[str]) -> bool:
    """Whether a step is an action that a defence of the design takes away; every other step has to be an action."""
    shortcuts = {action.name for action in source.family.draft_of(design.variant).actions if action.shortcut_of}
    present = {action.name for action in design.actions}
    missing = [name for name in names if name not in present]
    for name in missing:
        if name not in shortcuts:
            design.action(name)
    return bool(missing)


def as_test(attack: Mapping[str, Any], reference: str, folder: Path) -> str:
    """Return the text of a pytest file that replays an attack, whatever the current folder of the test run is.

    Args:
        attack: the record of the attack.
        reference: names the protocol; a protocol in a file has an absolute path.
        folder: the folder in which the test will be.
    """
    trace, profile = attack["trace"], attack["profile"]
    protocol, imports = _protocol_import(reference, folder)
    steps = "".join(f"{line}\n" for event in attack["events"] for line in _step(event))
    name = re.sub(r"\W", "_", f"{trace['protocol']}_stands_against_an_attack_on_{attack['claim']}", flags=re.ASCII)
    removed = "Put the defence back by emptying WITHOUT." if attack["removed"] else ""
    title = f"An attack on {attack['claim']} of {trace['protocol']}."
    return f'''"""{_prose(title)}

{_prose(attack["sentence"])}

Fails until the defect is gone. {removed or "Repair the design and it passes."} Written by:

{_prose("    " + attack["rerun"])}
"""

{imports}from carnet_check.attacks.regression import Steps, Structure, stands

WITHOUT: list[str] = {_literal(attack["removed"])}
INSTANCE: Structure = {_laid_out(attack["structure"], 0, len("INSTANCE: Structure = "))}
STEPS: Steps = [
{steps}]


def test_{name}() -> None:
    stands(
        {protocol},
        {_literal(attack["claim"])},
        STEPS,
        threat={_literal(attack["threat"]["id"])},
        variant={_literal(trace["variant"])},
        instance=INSTANCE,
        without=WITHOUT,
        budget={profile["budget"]},
    )
'''


def _step(event: Mapping[str, Any]) -> list[str]:
    """Return the lines of a step, its sentence first as a comment."""
    action, args = _literal(event["action"]), event["args"]
    said = hanging(f"    # {printable(event['sentence'])}", 0, WIDTH - 2)
    comment = [said[0], *(f"    # {line.lstrip()}" for line in said[1:])]
    whole = f"    ({action}, {_literal(args)}),"
    if len(whole) <= WIDTH:
        return [*comment, whole]
    return [*comment, "    (", f"        {action},", f"        {_laid_out(args, 8, 1)},", "    ),"]


def _protocol_import(reference: str, folder: Path) -> tuple[str, str]:
    """Return the expression that names the protocol in a test in ``folder``, and the import that it needs."""
    path, name = parts_of(reference)
    if name and path.isidentifier() and Path(f"{path}.py").is_file():  # a module of the current folder, by its file
        path = str(Path(f"{path}.py").absolute())
    if not Path(path).is_absolute():
        return _literal(reference), ""
    from_here = Path(os.path.relpath(Path(path).resolve(), folder.resolve())).as_posix()
    called = f" + {_literal(f':{name}')}" if name else ""
    return f"str(Path(__file__).resolve().parent / {_literal(from_here)}){called}", "from pathlib import Path\n\n"


def _laid_out(value: Any, margin: int, beside: int) -> str:
    """Write a value on one line if it fits beside ``margin`` and ``beside`` columns, else one part on each line."""
    line = _literal(value)
    if margin + beside + len(line) <= WIDTH or not value or not isinstance(value, Mapping | list):
        return line
    inner = " " * (margin + 4)
    if isinstance(value, Mapping):
        named = {_literal(key): item for key, item in value.items()}
        parts = [f"{key}: {_laid_out(item, margin + 4, len(key) + 3)}" for key, item in named.items()]
    else:
        parts = [_laid_out(item, margin + 4, 1) for item in value]
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    return "".join([f"{opening}\n", *(f"{inner}{part},\n" for part in parts), " " * margin, closing])


def _prose(text: str) -> str:
    """Escape a sentence for a docstring, so that no character of it ends the docstring."""
    quoted = printable(text).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "\n".join(hanging(quoted, 0, WIDTH))


def _literal(value: object) -> str:
    """Write a text, or lists and objects of texts, as a Python literal in the layout of code formatters."""
    return json.dumps(value, ensure_ascii=False)


# --------------------------------------------------------------------------------------------------
# The instance in which an attack was found, as plain JSON values, so that it can be replayed in the same instance.

Rows = Sequence[Sequence[str]]
#: The ``elements`` of each sort, and the rows of rigid ``relations``, of rigid ``functions`` and of ``first`` values.
#:
#: A row of a function ends with its value.
Structure = Mapping[str, Mapping[str, Sequence[Any]]]


def structure_of(instance: language.Instance, protocol: language.Protocol) -> dict[str, dict[str, Any]]:
    """Return the elements of an instance and its interpretation of the symbols of ``protocol``."""
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    relations = {
        symbol.name: instance.relations.get(symbol.name, frozenset()) for symbol in rigid if symbol.is_relation
    }
    functions = {symbol.name: instance.functions[symbol.name] for symbol in rigid if not symbol.is_relation}
    return {
        "elements": {sort: list(names) for sort, names in instance.elements.items()},
        "relations": {name: [list(row) for row in sorted(rows)] for name, rows in relations.items()},
        "functions": {name: _table_rows(table) for name, table in functions.items()},
        "first": {name: _table_rows(table) for name, table in instance.first.items()},
    }


def instance_of(structure: Structure, budget: int | None) -> language.Instance:
    """Return the instance that :func:`structure_of` wrote; the adversary has at most ``budget`` active moves in it.

    Raises SpecificationError if the value is no structure.
    """
    try:
        return language.Instance(
            elements={sort: tuple(names) for sort, names in structure["elements"].items()},
            relations={name: frozenset(map(tuple, rows)) for name, rows in structure["relations"].items()},
            functions={name: _table(rows) for name, rows in structure["functions"].items()},
            first={name: _table(rows) for name, rows in structure["first"].items()},
            budget=budget,
        )
    except KeyError as missing:
        raise language.SpecificationError(
            f"expected elements, relations, functions and first; {missing} is missing"
        ) from None


def require_about(structure: Structure, protocol: language.Protocol) -> None:
    """Require that a structure interprets each rigid symbol of ``protocol``, and no other symbol.

    Raises SpecificationError if it does not, so it is an instance of another protocol.
    """
    for part, relations in (("relations", True), ("functions", False)):
        rigid = {each.name for each in protocol.symbols if not each.mutable and each.is_relation is relations}
        for name in sorted(rigid ^ structure[part].keys()):
            lacks = "says nothing of" if name in rigid else "speaks of what the protocol does not know:"
            raise language.SpecificationError(
                f"the instance that the attack was found in {lacks} '{name}'; write the test anew"
            )


def _table_rows(table: Mapping[language.Row, str]) -> list[list[str]]:
    return [[*row, value] for row, value in sorted(table.items())]


def _table(rows: Rows) -> dict[language.Row, str]:
    return {tuple(row[:-1]): row[-1] for row in rows}


# --------------------------------------------------------------------------------------------------
# An attack as plain JSON values: what a run folder keeps and what the report shows.


FORMAT = "carnet-attack/1"


@dataclass(frozen=True, slots=True)
class Attack:
    """A minimised and replayed violation, and where it was found."""

    judge: Interpreter
    claim: language.Claim | language.Eventually
    threat: language.Threat
    trace: Trace
    states: Sequence[State]
    profile: language.Profile
    expected: bool  #: Whether the specification declares that the claim is violated here.
    rerun: str
    #: The digest of the specification; it is stored since the interpreter of a lasso has a modified protocol.
    digest: str
    removed: tuple[str, ...] = ()
    finding: language.Finding | None = None
    decisive: DecisiveStep | None = None

    @property
    def name(self) -> str:
        """The name of the attack, unique among those on the protocol; fit for a file name."""
        return attack_name(self.trace.variant, self.threat.id, self.claim.name, self.removed)

    @property
    def failing(self) -> language.Invariant | language.Eventually:
        """The invariant or liveness property that the trace violates."""
        return self.claim.checked if isinstance(self.claim, language.Claim) else self.claim

    def _repr_html_(self) -> str:
        return as_html(self.judge, self.failing, self.trace, self.states, self.decisive)

    def as_json(self) -> dict[str, Any]:
        """Return everything about the attack as JSON values; equal attacks give equal values."""
        protocol = self.judge.protocol
        chart = sequence_chart(self.judge, self.states, self.trace)
        decides = self.decisive.remark if self.decisive else {}
        return {
            "format": FORMAT,
            "name": self.name,
            "trace": self.trace.to_json(),
            "removed": list(self.removed),
            "claim": self.claim.name,
            "sentence": self.claim.sentence,
            "requirement": self.claim.requirement if isinstance(self.claim, language.Claim) else "",
            "threat": {"id": self.threat.id, "title": self.threat.title},
            "expected": self.expected,
            "finding": {"id": self.finding.id, "title": self.finding.title} if self.finding else None,
            "profile": {"name": self.profile.name, "scale": dict(self.profile.scale), "budget": self.profile.budget},
            "instance": self.judge.instance.words,
            "structure": structure_of(self.judge.instance, protocol),
            "digest": self.digest,
            "parties": list(chart.parties),
            "knowers": knowers(protocol, self.judge.instance, chart.parties),
            "events": [
                {**step_as_json(step), "decisive": decides.get(place, "")} for place, step in enumerate(chart.steps)
            ],
            "reason": reasons(self.judge, self.failing, self.trace, self.states),
            "rerun": self.rerun,
        }


def step_as_json(shown: ShownStep) -> dict[str, Any]:
    """Return one step of a sequence chart as JSON values."""
    arrow = shown.arrow
    return {
        "number": shown.number,
        "action": shown.step.action,
        "args": dict(shown.step.args),
        "by": shown.step.by,
        "actor": shown.actor,
        "honest": shown.action.by.honest,
        "sentence": shown.sentence,
        "why": shown.action.why,
        "source": shown.action.source,
        "enforces": list(shown.action.enforces),
        "arrow": {"from": arrow.sender, "to": arrow.receiver, "text": arrow.text} if arrow else None,
        "changes": [
            {"where": change.where, "symbol": change.symbol, "text": change.text, "says": change.says}
            for change in shown.changes
        ],
        "learned": {party: list(facts) for party, facts in shown.learned.items()},
        "known": {party: list(facts) for party, facts in shown.known.items()},
    }


def of_hunt(result: Hunt, rerun: str) -> Attack:
    """Return the attack that a hunt found; ``rerun`` is the command that finds it again."""
    assert result.trace is not None
    assert result.judge is not None
    assert result.profile is not None
    target = result.target
    named = target.finding is not None and target.finding.claim == result.claim
    return Attack(
        judge=result.judge,
        claim=target.protocol.claim(result.claim),
        threat=target.threat,
        trace=result.trace,
        states=result.states,
        profile=result.profile,
        expected=named or target.threat.id in target.protocol.claim(result.claim).fails_under,
        rerun=rerun,
        digest=target.protocol.digest,
        removed=target.removed,
        finding=target.finding if named else None,
        decisive=result.decisive,
    )


def card(attack: Attack, family: language.Family) -> dict[str, str]:
    """Return the words of a gallery card: what the attacker does, on which design, and what fixes it."""
    return {"attack": _outline(attack), "design": _attacked_design(attack, family), "fix": _fix(attack, family)}


def _outline(attack: Attack) -> str:
    """Return what the attacker does where the designs part, or first after that, and what it does in the end."""
    chart = sequence_chart(attack.judge, attack.states, attack.trace)
    decisive = attack.decisive.position if attack.decisive else 0
    dishonest = [place for place, step in enumerate(chart.steps) if not step.action.by.honest]
    places = [*[place for place in dishonest if place >= decisive][:1], *dishonest[-1:]] or [len(chart.steps) - 1]
    sentences = [chart.steps[place].sentence.rstrip(".") for place in sorted({*places})]
    return ". Finally: ".join(sentences)


def _attacked_design(attack: Attack, family: language.Family) -> str:
    """Return whose design it is, if the finding says so, its title, and the defences that were removed."""
    title, about = family.variants[attack.trace.variant].title, attack.finding.about if attack.finding else ""
    named = title if title.startswith(about) else f"{about}: {title}"
    return f"{named}, without {join_words(attack.removed)}" if attack.removed else named


def _fix(attack: Attack, family: language.Family) -> str:
    """Return the defences that the attacked design lacks, or else the title of the main design that is compared."""
    variant = family.variants[attack.trace.variant]
    lacking = {*variant.without, *attack.removed}
    defences = [each.title.rstrip(".") for each in family.draft_of(variant.name).whole().defences if each.id in lacking]
    compared = attack.decisive.design.removeprefix("in ") if attack.decisive else family.main[0]
    return "; ".join(defences) or family.variants[compared].title
