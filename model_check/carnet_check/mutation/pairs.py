"""Pairs: where one change alone is none, because something else does the same, that is taken away too.

An equivalent dropped part names what makes it redundant. Dropped together with each guard that it names, it makes a
mutant of two parts; where that one is killed, both are a minimal cut set of size two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from carnet_check.loading.families import Source
from carnet_check.mutation.judging import Fate, Judgement
from carnet_check.mutation.mutant import Mutant, Operator, without_parts

UNNOTICED = (Fate.EQUIVALENT, Fate.STRONGER, Fate.SURVIVED)


def pairs_of(mutants: Sequence[Mutant], judgements: Sequence[Judgement], source: Source) -> tuple[Mutant, ...]:
    """Return the mutants of two parts, each once: both were dropped alone in that variant, and neither was noticed."""
    fates = {each.key: each for each in judgements}
    unnoticed = {
        part for each in mutants if _drops(each) and fates[each.key].fate in UNNOTICED for part in _placed(each)
    }
    found: dict[str, Mutant] = {}
    for mutant in mutants:
        judgement = fates[mutant.key]
        if not _drops(mutant) or judgement.fate is not Fate.EQUIVALENT or mutant.action is None:
            continue
        (part,) = mutant.parts
        whole = source.protocol(mutant.variant).action(mutant.action.name)
        known = {f"guard:{guard.name}" for guard in whole.guards}
        for other in judgement.core:
            if other in known and other != part and (mutant.variant, whole.name, other) in unnoticed:
                pair = tuple(sorted((part, other)))
                made = Mutant(mutant.variant, _name(whole.name, pair), Operator.DROP, pair, without_parts(whole, pair))
                found.setdefault(made.key, made)
    return tuple(found.values())


def possible_pairs(mutants: Iterable[Mutant]) -> frozenset[str]:
    """Return the keys of all pairs that might be judged: two parts of one action."""
    parts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for mutant in mutants:
        for variant, action, part in _placed(mutant) if _drops(mutant) else ():
            parts[variant, action].append(part)
    return frozenset(
        f"{variant}: {_name(action, tuple(sorted(pair)))}"
        for (variant, action), each in parts.items()
        for pair in combinations(each, 2)
    )


def _name(action: str, pair: Iterable[str]) -> str:
    return f"{action}/{' and '.join(each.replace(':', ' ', 1) for each in pair)}/drop"


def telling_pairs(
    mutants: Sequence[Mutant], judgements: Sequence[Judgement], pairs: Iterable[tuple[Mutant, Judgement]]
) -> tuple[tuple[Mutant, Judgement], ...]:
    """Return the pairs that tell something new: a pair survives of itself where one part alone survives."""
    alone = {
        part
        for mutant, judgement in zip(mutants, judgements, strict=True)
        if _drops(mutant) and judgement.fate is Fate.SURVIVED
        for part in _placed(mutant)
    }
    return tuple(
        (pair, judgement)
        for pair, judgement in pairs
        if judgement.fate is not Fate.SURVIVED or alone.isdisjoint(_placed(pair))
    )


def _drops(mutant: Mutant) -> bool:
    return mutant.operator is Operator.DROP and len(mutant.parts) == 1


def _placed(mutant: Mutant) -> tuple[tuple[str, str, str], ...]:
    name = mutant.action.name if mutant.action else ""
    return tuple((mutant.variant, name, part) for part in mutant.parts)
