"""Lints: well-formedness rules that a specification must satisfy before any verdict.

:func:`lint` checks one protocol, :func:`lint_draft` everything a draft may contain, and the draft without each defence,
:func:`lint_family` all variants; :func:`check` raises an error for their complaints. A complaint says where it is and
what to do. Complaints of level ``note`` are for reviewers and no errors. After a complaint of a rule in
:data:`SOUNDNESS` no verdict is valid.
"""

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
    """The severity of a complaint."""

    ERROR = "error"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Complaint:
    """A violation of a rule: where, and what to do about it."""

    rule: str
    where: str
    message: str
    level: Level = Level.ERROR

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.rule, self.where, self.message)))


_Rule = Callable[[Protocol], Findings]


def lint(protocol: Protocol) -> tuple[Complaint, ...]:
    """Return the complaints about ``protocol``, rule by rule.

    A protocol does not contain the parts that exist only without some defence: :func:`lint_draft` checks those, too.
    """
    return _complaints(protocol, RULES | _RESOLVED)


def lint_draft(draft: Draft) -> tuple[Complaint, ...]:
    """Return the complaints about a draft: about everything it may contain, and about it without each defence."""
    whole = draft.whole()
    found = [*_complaints(whole, RULES | _WHOLE), *_unclaimed(draft)]
    if _complaints(_with_optional_defences(whole), _RESOLVED):  # else no choice of defences has a complaint
        found += _complaints(draft.protocol(), _RESOLVED)
        for defence in whole.defences:
            for complaint in _complaints(draft.protocol((defence.id,)), _RESOLVED):
                if complaint not in found:
                    where = f"without {defence.id}: {complaint.where}"
                    found.append(replace(complaint, where=where))
    return tuple(dict.fromkeys(found))


def _with_optional_defences(whole: Protocol) -> Protocol:
    """Return ``whole`` with every part that depends on a defence made optional.

    That over-approximates every choice of defences.
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
    """Return the complaints about all variants of ``family``, and about the names that it uses of its parts.

    A defence may be idle in some variants, but not in all.
    """
    drafts = {name: family.draft_of(name) for name in family.variants}
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
    """Return complaints about parts that a family names and does not declare; no design is built for that."""
    return tuple(Complaint("family", *each) for each in families.parts(family))


def undeclared_names(family: Family, variant: str) -> tuple[Complaint, ...]:
    """Return complaints about undeclared names in a variant and its family, and about unclaimed two-run observations.

    Everything that the draft may contain is checked. A misspelt name silently changes the meaning: a defence of another
    name, for example, is never removed.
    """
    draft = family.draft_of(variant)
    whole = draft.whole()
    found = [
        *(Complaint("family", *each) for each in families.undeclared(family, whole)),
        *_complaints(whole, {name: rule for name, rule in RULES.items() if name in NAMES}),
        *(Complaint("requirements", *each) for each in families.unwritten(whole, family.text)),
        *_unclaimed(draft),
    ]
    return tuple(dict.fromkeys(found))


def check(subject: Protocol | Draft | Family) -> None:
    """Refuse ``subject`` if there is any complaint that is more than a note.

    Raises SpecificationError if there is one; the message has all complaints, one on each line.
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
        protocol: the protocol to check.
        asked: the names of the rules, such as :data:`PROOF_SOUNDNESS` if verdicts come from certificates alone.
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
            f"quantifiers and functions form a cycle: {'; '.join(map(str, cycle))}. Replace a "
            "function by a relation, or an 'exists' by a symbol that holds the witness",
        )


def _unclaimed(draft: Draft) -> tuple[Complaint, ...]:
    """Return complaints about two-run observations that no claim covers."""
    return (
        tuple(Complaint("two-runs", *each) for each in draft.unclaimed_differences())
        if isinstance(draft, TwoRuns)
        else ()
    )


#: The rules whose complaints are notes.
#:
#: Verdicts are valid even if these rules are violated. The first rule suspects that two steps are modelled as one, the
#: second that an adversary's power depends on history variables.
NOTES = frozenset({"own-writes", "ghost-worlds"})
#: The rules about undeclared names; they are checked for everything that a draft may contain.
NAMES = frozenset({"defences", "places", "threats", "fairness", "axioms"})
#: The rules without which a verdict may be wrong, or may be about steps that no party could take.
#:
#: Engines rely on most of them. The others keep verdicts meaningful: every claim is judged, fair actions exist, and
#: honest parties decide by what they can see.
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
#: The rules without which a proof for any number of parties may be wrong.
#:
#: A function without an initial value may begin with any value, and an obligation covers all of them. Only an exploring
#: engine has to choose one, and relies on the rule that nothing reads it.
PROOF_SOUNDNESS = SOUNDNESS - {"written-before-read"}
#: Rules about single parts: a draft satisfies them if everything that it may contain does.
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
    "unused": shape.unused_parameters,
    "axioms": shape.axioms,
    "initial": shape.initial,
    "interchangeable": shape.interchangeable,
    "insert-only": shape.insert_only,
    "defences": shape.defences,
    "conflicts": conflicts.conflicts,
    "monotone": shape.hasty_reads,
    "stratified": _stratified,
}
#: Rules about behaviour, which depend on the choice of defences.
_RESOLVED: dict[str, _Rule] = {"written-before-read": _written_before_read}
#: Rules about a whole draft: a protocol no longer has its removed parts.
_WHOLE: dict[str, _Rule] = {"idle-defences": shape.idle_defences}
