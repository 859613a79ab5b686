"""Lints: well-formedness rules that a specification must satisfy before any verdict.

:func:`lint` looks at one protocol, :func:`lint_draft` at everything a draft may contain and at what is
left of it without each defence, :func:`lint_family` at all variants; :func:`check` refuses what
they complain about. A complaint says where it is and what to do. Those at level ``note`` are for a
reviewer's eye and refuse nothing; those of :data:`SOUNDNESS` mean that no engine may be believed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import Enum

from carnet_spec.language.analysis.initialisation import early_reads
from carnet_spec.language.analysis.stratification import stratification
from carnet_spec.language.draft import Draft
from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.family import Family
from carnet_spec.language.lints import conflicts, families, shape, visibility, wording
from carnet_spec.language.lints.common import Findings, at
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import BOOL, Apply, Kind, Symbol, conjunction
from carnet_spec.language.two_runs import TwoRuns


class Level(Enum):
    """How much a complaint weighs."""

    ERROR = "error"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Complaint:
    """A rule that is broken, where, and what to do about it."""

    rule: str
    where: str
    message: str
    level: Level = Level.ERROR

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.rule, self.where, self.message)))


_Rule = Callable[[Protocol], Findings]


def lint(protocol: Protocol) -> tuple[Complaint, ...]:
    """Return what is wrong with ``protocol``, rule by rule.

    Parts that exist only without some defence are not in it: :func:`lint_draft` sees those too.
    """
    return _complaints(protocol, RULES | _RESOLVED)


def lint_draft(draft: Draft) -> tuple[Complaint, ...]:
    """Return what is wrong with a draft: with all it may contain, and without each defence."""
    whole = draft.whole()
    found = [*_complaints(whole, RULES | _WHOLE), *_unclaimed(draft)]
    if _complaints(_with_optional_defences(whole), _RESOLVED):  # else nothing is wrong whichever defences are in place
        found += _complaints(draft.protocol(), _RESOLVED)
        for defence in whole.defences:
            for complaint in _complaints(draft.protocol((defence.id,)), _RESOLVED):
                if complaint not in found:
                    where = f"without {defence.id}: {complaint.where}"
                    found.append(replace(complaint, where=where))
    return tuple(dict.fromkeys(found))


def _with_optional_defences(whole: Protocol) -> Protocol:
    """Return ``whole`` with all that depends on a defence made nondeterministic.

    That is an over-approximation of every choice of defences.
    """
    chance = Apply(Symbol("chance", (), BOOL, Kind.TRUTH, mutable=False), ())
    actions = tuple(
        replace(
            action,
            guards=tuple(guard for guard in action.guards if not (guard.defence or guard.unless)),
            updates=tuple(
                replace(update, when=conjunction((update.when, chance))) if update.defence or update.unless else update
                for update in action.updates
            ),
        )
        for action in whole.actions
    )
    return replace(whole, actions=actions)


def lint_family(family: Family) -> tuple[Complaint, ...]:
    """Return what is wrong with any variant of ``family``, or between its parts.

    A defence may be idle in some variants, but not in all.
    """
    drafts = {name: family.drafted(name) for name in family.variants}
    wholes = {name: draft.whole() for name, draft in drafts.items()}
    found = [Complaint("family", *each) for each in (*families.parts(family), *families.designs(family, wholes))]
    found += [
        Complaint("requirements", *each)
        for each in dict.fromkeys(each for whole in wholes.values() for each in families.unwritten(whole, family.text))
    ]
    variants = {name: lint_draft(draft) for name, draft in drafts.items()}
    seen: set[Complaint] = set()
    for name, complaints in variants.items():
        for complaint in complaints:
            partly = complaint.rule in _WHOLE and not all(complaint in others for others in variants.values())
            if complaint not in seen and not partly:
                seen.add(complaint)
                found.append(replace(complaint, where=f"variant {name}: {complaint.where}"))
    return tuple(found)


def undeclared_parts(family: Family) -> tuple[Complaint, ...]:
    """Return the names of its own parts that a family uses and does not declare, before any design is built."""
    return tuple(Complaint("family", *each) for each in families.parts(family))


def undeclared_names(family: Family, variant: str) -> tuple[Complaint, ...]:
    """Return what a variant, and the family about it, names and nobody declares, and what two runs leave unclaimed.

    It holds of all that the draft may contain. A misspelt name means something else than its author wrote, or nothing:
    a defence of another name is never removed.
    """
    draft = family.drafted(variant)
    whole = draft.whole()
    found = [
        *(Complaint("family", *each) for each in families.undeclared(family, whole)),
        *_complaints(whole, {name: rule for name, rule in RULES.items() if name in NAMES}),
        *(Complaint("requirements", *each) for each in families.unwritten(whole, family.text)),
        *_unclaimed(draft),
    ]
    return tuple(dict.fromkeys(found))


def check(subject: Protocol | Draft | Family) -> None:
    """Refuse ``subject`` if there is any complaint that is not a mere note.

    Raises:
        SpecificationError: with all complaints, one to a line.
    """
    if isinstance(subject, Family):
        found = lint_family(subject)
    else:
        found = lint_draft(subject) if isinstance(subject, Draft) else lint(subject)
    errors = [str(complaint) for complaint in found if complaint.level is Level.ERROR]
    if errors:
        many = f"{len(errors)} complaint{'s' if len(errors) > 1 else ''} about {subject.id}"
        raise SpecificationError("\n".join([f"{many}:", *errors]))


def unsound(protocol: Protocol, asked: Collection[str] | None = None) -> tuple[Complaint, ...]:
    """Return the complaints about ``protocol`` that forbid any verdict: see :data:`SOUNDNESS`.

    Args:
        protocol: what a verdict would be about.
        asked: the rules that are asked, :data:`PROOF_SOUNDNESS` where verdicts come from certificates alone.
    """
    wanted = SOUNDNESS if asked is None else asked
    rules = {name: rule for name, rule in (RULES | _RESOLVED).items() if name in wanted}
    return _complaints(protocol, rules)


def _complaints(protocol: Protocol, rules: dict[str, _Rule]) -> tuple[Complaint, ...]:
    return tuple(
        Complaint(name, where, message, Level.NOTE if name in NOTES else Level.ERROR)
        for name, rule in rules.items()
        for where, message in rule(protocol)
    )


def _written_before_read(protocol: Protocol) -> Findings:
    for read in early_reads(protocol):
        writers = ", ".join(read.writers) or "nothing"
        yield (
            f"{at(protocol.action(read.action))}, {read.where}",
            f"may read {read.symbol.name} before it is written (by {writers}): give it an initial "
            "value, or require a phase or a fact that only comes after",
        )


def _stratified(protocol: Protocol) -> Findings:
    cycle = stratification(protocol).cycle
    if cycle:
        yield (
            protocol.id,
            f"quantifiers and functions run in a circle: {'; '.join(map(str, cycle))}. Replace a "
            "function by a relation, or an 'exists' by a symbol that holds the witness",
        )


def _unclaimed(draft: Draft) -> tuple[Complaint, ...]:
    """Return complaints about two-run observations that no claim covers."""
    return tuple(Complaint("two-runs", *each) for each in draft.unclaimed()) if isinstance(draft, TwoRuns) else ()


NOTES = frozenset({"own-writes", "ghost-worlds"})
"""The rules whose complaints are notes.

A verdict is true of the steps as they are written, whether these rules hold or not: the first says that two changes
may be one step too few, the second that what an adversary can do depends on what happened before.
"""
NAMES = frozenset({"defences", "places", "threats", "fairness", "axioms"})
"""The rules about names that are used and nobody declares, which hold of all that a draft may contain."""
SOUNDNESS = frozenset(
    {
        "labels",
        "names",
        "spelling",
        "judged",
        "threats",
        "fairness",
        "visibility",
        "own-state",
        "honesty",
        "kinds",
        "ghosts",
        "scope",
        "axioms",
        "initial",
        "interchangeable",
        "insert-only",
        "monotone",
        "written-before-read",
        "conflicts",
    }
)
"""The rules without which a verdict may be wrong, or may speak of steps that no party could take.

Engines rely on most of them. The others say what a verdict would be about: a claim that somebody judges, fairness of
actions that exist, and honest parties that decide by what they can see.
"""
PROOF_SOUNDNESS = SOUNDNESS - {"written-before-read"}
"""The rules without which a proof for any number of parties may be wrong.

A function without a first value may begin with any, and an obligation holds for every one of them; only an engine that
explores has to choose, and needs to know that nobody reads what it chose.
"""
RULES: dict[str, _Rule] = {
    "labels": wording.labels,
    "names": wording.names,
    "spelling": wording.spelling,
    "sentence": wording.sentence,
    "places": wording.places,
    "source": wording.source,
    "message": wording.message,
    "claims": wording.claims,
    "judged": wording.judged,
    "threats": wording.threats,
    "fairness": wording.fairness,
    "visibility": visibility.visibility,
    "own-state": visibility.own_state,
    "honesty": visibility.honesty,
    "own-writes": visibility.own_writes,
    "ghosts": visibility.ghosts,
    "ghost-worlds": visibility.ghost_worlds,
    "kinds": visibility.kinds,
    "scope": shape.scope,
    "unused": shape.unused,
    "axioms": shape.axioms,
    "initial": shape.initial,
    "interchangeable": shape.interchangeable,
    "insert-only": shape.insert_only,
    "defences": shape.defences,
    "conflicts": conflicts.conflicts,
    "monotone": shape.hasty_reads,
    "stratified": _stratified,
}
"""Rules about each part by itself: they hold of a draft if they hold of all it may contain."""
_RESOLVED: dict[str, _Rule] = {"written-before-read": _written_before_read}
"""Rules about what can happen, which depend on the defences that are in place."""
_WHOLE: dict[str, _Rule] = {"idle-defences": shape.idle_defences}
"""Rules about a whole draft: a protocol does not show what its removed parts are."""
