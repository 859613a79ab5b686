"""What ``verify`` says of random protocols is true: every verdict beside an enumeration of all small structures.

``CARNET_RANDOM_PROTOCOLS=5000 CARNET_RANDOM_SEED=1 pytest -s tests/property/test_verdicts_are_true.py`` judges more of
them, drawn anew from the seed, and prints what it counted; ``CARNET_RANDOM_RECORD=FILE`` keeps it as a table.
``CARNET_RANDOM_SHRINK=1`` stops at the first verdict that is not true and makes its protocol small.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fixtures.thorough import share
from tests.oracle.compare import EXPLORED, Disagreement, Judgement, judge
from tests.oracle.pipeline import Refused, family, verdicts
from tests.oracle.protocols import recipes
from tests.oracle.recipe import Recipe
from tests.oracle.spoiled import SPOILING

COUNT = int(os.environ.get("CARNET_RANDOM_PROTOCOLS", share(450)))
SEED = int(os.environ.get("CARNET_RANDOM_SEED", "1"))
RECORD = os.environ.get("CARNET_RANDOM_RECORD", "")
SHRINK = bool(os.environ.get("CARNET_RANDOM_SHRINK"))
SHOWN = ("PROVED", "EXHAUSTED", "VIOLATED", "VACUOUS")
SECONDS = 120 + COUNT
"""What the judging of them may take, generously."""

CHUNK = 25
"""How many are drawn from one seed: what Hypothesis draws later is more and more like what it drew before."""

drawn = settings(
    max_examples=min(CHUNK, COUNT),
    derandomize=False,  # the seed says which are drawn
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink) if SHRINK else (Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Tally:
    """What was judged, and each verdict that is not true with the protocol that it was given."""

    judged: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    too_big: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    untrue: dict[str, list[tuple[str, Disagreement]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, recipe: Recipe, judgement: Judgement) -> None:
        self.judged += 1
        self.too_big += judgement.too_big
        self.verdicts.update(judgement.rows)
        if judgement.refused:
            self.refused[judgement.refused.partition(":")[0][:60]] += 1
        for found in judgement.disagreements:
            self.untrue[found.kind].append((repr(recipe), found))

    def text(self) -> str:
        refused = sum(self.refused.values())
        lines = [f"{self.judged} protocols of seed {SEED}: {refused} refused, {self.too_big} too big to enumerate"]
        lines += [f"  {count:6} {verdict}" for verdict, count in sorted(self.verdicts.items())]
        return "\n".join([*lines, *(f"  {len(found):6} × {kind}" for kind, found in sorted(self.untrue.items()))])

    def table(self) -> str:
        """The counts as the documentation shows them: verdicts on claims, by either engine."""
        said: Counter[str] = Counter()
        for row, count in self.verdicts.items():
            kind, _, verdict = row.split()
            said[verdict] += count if kind == "claim" else 0
        counts = [SEED, self.judged, sum(self.refused.values()), self.too_big, *(said[word] for word in SHOWN)]
        counts.append(sum(len(found) for found in self.untrue.values()))
        head = ["seed", "protocols", "refused", "too big to enumerate", *SHOWN, "verdicts that are not true"]
        return f"{','.join(head)}\n{','.join(map(str, counts))}\n"

    def smallest(self, kinds: Iterable[str]) -> str:
        """The smallest protocol with a verdict of one of ``kinds`` that is not true."""
        found: list[tuple[str, Disagreement]] = [each for kind in kinds for each in self.untrue.get(kind, [])]
        if not found:
            return ""
        recipe, untrue = min(found, key=lambda pair: len(pair[0]))
        return f"{recipe}\n{untrue}"


def tally() -> Tally:
    """Judge all of them, once."""
    counted = Tally()

    def judged(recipe: Recipe) -> None:
        judgement = judge(recipe)
        counted.add(recipe, judgement)
        assert not (SHRINK and judgement.disagreements), "\n".join(map(str, judgement.disagreements))

    for chunk in range(-(-COUNT // CHUNK)):
        seed(f"{SEED}/{chunk}")(drawn(given(recipes())(judged)))()
    sys.stdout.write(f"\n{counted.text()}\n")
    if RECORD:
        Path(RECORD).write_text(counted.table(), "utf-8")
    return counted


@pytest.mark.long
@pytest.mark.timeout(SECONDS)
def test_verdicts_on_random_protocols_are_true() -> None:
    counted = tally()
    assert not counted.untrue, f"{counted.text()}\n{counted.smallest(counted.untrue)}"
    _require_variety(counted)


def _require_variety(counted: Tally) -> None:
    """Each verdict occurs often, so that the test can fail; few protocols are refused or too big."""
    rows, claims = counted.verdicts, sum(n for row, n in counted.verdicts.items() if row.startswith("claim induction"))
    assert counted.judged >= COUNT
    assert rows["claim induction PROVED"] >= claims / 4
    assert rows["claim explicit EXHAUSTED"] >= claims / 5
    assert rows["claim explicit VIOLATED"] >= claims / 8
    assert rows["claim explicit VACUOUS"] >= claims / 50
    assert sum(counted.refused.values()) <= counted.judged / 3
    assert counted.too_big <= 0.05 * counted.judged


@pytest.mark.parametrize("spoil", SPOILING)
def test_what_has_no_meaning_is_refused(spoil: Callable[[Recipe], Recipe]) -> None:
    few = settings(drawn, max_examples=8, phases=(Phase.generate,))

    @seed(SEED)
    @few
    @given(recipes())
    def refused(recipe: Recipe) -> None:
        spoilt = spoil(recipe)
        with pytest.raises(Refused):
            verdicts(family(spoilt, {sort.name: EXPLORED for sort in spoilt.words.sorts}))

    refused()
