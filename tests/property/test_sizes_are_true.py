"""What is announced, what is said afterwards, and what brute force finds in exactly these sizes are the same.

Protocols with many rigid symbols are drawn: constants, functions, relations with one and two arguments, under axioms
that leave one interpretation or thousands. A claim falls in some interpretations only, so that one that is not explored
hides a violation. ``CARNET_SIZES=3000 CARNET_RANDOM_SEED=7`` judges more of them, drawn from another seed.
"""

import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.loading import scope
from carnet_check.loading.default_instance import default_instance
from carnet_check.loading.extent import Explored
from carnet_check.loading.families import Source
from carnet_check.results import Verdict
from carnet_check.verification import campaign as running
from carnet_check.verification.planning import Request, plan_campaign
from carnet_spec import language
from tests.fixtures.thorough import share
from tests.oracle.compare import here
from tests.oracle.enumerate import enumerate_at, worlds
from tests.oracle.machine import Layout

COUNT = int(os.environ.get("CARNET_SIZES", share(300)))
SEED = int(os.environ.get("CARNET_RANDOM_SEED", "1"))
STRUCTURES = 1 << 15  #: How many tables of all rigid symbols together the brute force looks at.
EXPLORED = 24  #: How many interpretations are explored in this test; where there are more, some are drawn.


class Party(language.Individual):
    """Somebody."""


class Place(language.Individual):
    """Where somebody may be."""


ANYONE = language.Role("anyone", honest=False)
ANN, BEN, HALL = language.constant("ann", Party), language.constant("ben", Party), language.constant("hall", Place)
HOME, MATE = language.rigid_function("home", Party, to=Place), language.rigid_function("mate", Party, to=Party)
BEFORE, LIKES = language.rigid_relation("before", Party, Party), language.rigid_relation("likes", Party, Place)
BAD = language.rigid_relation("bad", Party)
MARKED = language.relation("marked", Party, kind=language.Kind.MESSAGE)

LITERALS: Mapping[str, Callable[[Party, Party], language.Formula]] = {
    "is ann": lambda x, _: x == ANN,
    "is not ben": lambda x, _: x != BEN,
    "bad": lambda x, _: BAD(x),
    "not bad": lambda x, _: ~BAD(x),
    "at home in the hall": lambda x, _: HOME(x) == HALL,
    "lives with": lambda x, y: HOME(x) == HOME(y),
    "is mate": lambda x, y: MATE(x) == y,
    "has a bad mate": lambda x, _: BAD(MATE(x)),
    "before": BEFORE,
    "not before": lambda x, y: ~BEFORE(y, x),
    "likes home": lambda x, _: LIKES(x, HOME(x)),
    "likes the hall": lambda x, y: LIKES(x, HALL) | (x == y),
}
AXIOMS: Mapping[str, Callable[[], language.Formula]] = {
    "apart": lambda: ANN != BEN,
    "ann is good": lambda: ~BAD(ANN),
    "somebody is bad": lambda: language.exists(BAD, Party),
    "one home": lambda: language.forall(lambda x, y: HOME(x) == HOME(y), Party, Party),
    "mates are mutual": lambda: language.forall(lambda x: MATE(MATE(x)) == x, Party),
    "no order": lambda: language.forall(lambda x: ~BEFORE(x, x), Party),
    "transitive": lambda: language.forall(
        lambda x, y, z: language.implies(BEFORE(x, y) & BEFORE(y, z), BEFORE(x, z)), *3 * [Party]
    ),
    "total": lambda: language.forall(lambda x, y: (x == y) | BEFORE(x, y) | BEFORE(y, x), Party, Party),
    "everybody likes home": lambda: language.forall(lambda x: LIKES(x, HOME(x)), Party),
    "the bad like nothing": lambda: language.forall(lambda x, p: language.implies(BAD(x), ~LIKES(x, p)), Party, Place),
}


@dataclass(frozen=True)
class Case:
    """A protocol by what was drawn for it, and its sizes."""

    marks: tuple[str, ...]
    hands_on: tuple[str, ...]
    claimed: tuple[str, ...]
    axioms: tuple[str, ...]
    sizes: Mapping[str, int]

    def draft(self, variant: str) -> language.Draft:
        draft = language.Draft("drawn", "Drawn", variant)
        for name in self.axioms:
            draft.axiom(name, AXIOMS[name]())

        @draft.action(by=ANYONE, says="{x} is marked.", source="a test")
        def mark(step: language.Step, x: Party) -> None:
            for name in self.marks:
                step.given(name, LITERALS[name](x, x))
            step.insert(MARKED(x))

        @draft.action(by=ANYONE, says="{x} marks {y}.", source="a test")
        def hand_on(step: language.Step, x: Party, y: Party) -> None:
            step.given("marked", MARKED(x))
            for name in self.hands_on:
                step.given(name, LITERALS[name](x, y))
            step.insert(MARKED(y))

        @draft.claim(name="holds", sentence="Who is marked is so.", requirement="R1", source="a test", under=())
        def holds(x: Party) -> language.Formula:
            told = [~LITERALS[name](x, x) for name in self.claimed]
            return language.implies(MARKED(x), told[0] if len(told) == 1 else told[0] | told[1])

        return draft

    def source(self) -> Source:
        """Return the protocol as one that has no instances of its own."""
        family = language.Family(
            id="drawn",
            title="Drawn",
            draft=self.draft,
            instance=default_instance,
            variants={"main": language.Variant("main", "as drawn")},
            profiles={"tiny": language.Profile("tiny", self.sizes, title="whatever was drawn")},
        )
        return Source("drawn", family, "drawn")


def drawn(chance: random.Random) -> Case:
    """Draw a protocol whose interpretations brute force can look at."""
    while True:
        names = list(LITERALS)
        case = Case(
            marks=tuple(chance.sample(names, chance.randint(0, 2))),
            hands_on=tuple(chance.sample(names, chance.randint(1, 2))),
            claimed=tuple(chance.sample(names, chance.randint(1, 2))),
            axioms=tuple(sorted(chance.sample(list(AXIOMS), chance.randint(0, 4)))),
            sizes={"Party": chance.randint(1, 3), "Place": chance.randint(1, 2)},
        )
        protocol = case.draft("main").protocol()
        if 1 < structures(protocol, case.sizes) <= STRUCTURES:
            return case


def structures(protocol: language.Protocol, sizes: Mapping[str, int]) -> int:
    """Return how many tables the rigid symbols may have, whatever the axioms say."""
    number = 1
    for symbol in protocol.symbols:
        if not symbol.mutable:
            rows = 1
            for sort in symbol.domain:
                rows *= sizes[sort.name]
            number *= (2 if symbol.is_relation else sizes[symbol.result.name]) ** rows
    return number


@dataclass(frozen=True)
class Truth:
    """What brute force finds in exactly these sizes."""

    interpretations: int
    violated: bool


def brute_force(case: Case) -> Truth:
    """Look at every interpretation and every state."""
    protocol = case.draft("main").protocol()
    sizes = {sort.name: case.sizes[sort.name] for sort in protocol.sorts}
    found = enumerate_at(protocol, sizes, STRUCTURES)
    number = sum(1 for _ in worlds(protocol, Layout.of(protocol, sizes), STRUCTURES))
    return Truth(number, any(name == "holds" for name, _ in found.violated))


def judged(case: Case, counts: Counter[str]) -> None:
    """Compare what the run says before and after with what is true."""
    truth, source = brute_force(case), case.source()
    counts["no interpretation"] += not truth.interpretations
    if not truth.interpretations:
        return
    with here(source):
        campaign = replace(plan_campaign(Request(source)), engines=(EXPLICIT,))
        before = EXPLICIT.intention(campaign.task)
        outcome = running.verify(campaign)
    (answer,) = outcome.answers
    (search,) = answer.searches
    assert search.search.explored is not None
    assert search.scope is not None
    told = search.scope.explored
    assert told == search.search.explored
    assert told.words in before
    assert told.words in " · ".join(EXPLICIT.strength(campaign.task, answer))
    _require_true(told, truth, {sort: case.sizes[sort] for sort, _ in told.elements})
    for part in search.parts:
        assert part.instance.sizes == dict(told.elements)
    (row,) = [row for row in outcome.results if row.claim == "holds" and row.kind == "claim"]
    _require_right(row.verdict, told, truth, before)
    counts[str(row.verdict)] += 1
    counts["drawn"] += bool(told.shortfall)
    counts["several interpretations"] += told.interpretations > 1


def _require_true(told: Explored, truth: Truth, sizes: Mapping[str, int]) -> None:
    assert dict(told.elements) == sizes
    assert told.allowed == truth.interpretations
    assert told.interpretations == truth.interpretations or told.shortfall
    assert bool(told.shortfall) == (truth.interpretations > EXPLORED)


def _require_right(verdict: Verdict, told: Explored, truth: Truth, before: str) -> None:
    if told.shortfall:
        assert "profile tiny is not met" in before
        assert verdict in (Verdict.UNKNOWN, Verdict.VIOLATED, Verdict.VACUOUS)
        assert truth.violated or verdict is not Verdict.VIOLATED
    else:
        assert "not met" not in before
        assert (verdict is Verdict.VIOLATED) is truth.violated
        assert verdict in (Verdict.EXHAUSTED, Verdict.VIOLATED, Verdict.VACUOUS)


@pytest.mark.long
@pytest.mark.timeout(120 + COUNT)
def test_what_is_said_of_sizes_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "MOST_MEANINGS", EXPLORED)
    monkeypatch.setattr(scope, "DRAWN", EXPLORED // 2)
    counts: Counter[str] = Counter()
    for number in range(COUNT):
        case = drawn(random.Random(f"{SEED}/{number}"))
        try:
            judged(case, counts)
        except AssertionError as error:
            raise AssertionError(f"{case}: {error}") from error
    sys.stdout.write(f"\n{COUNT} protocols of seed {SEED}: {dict(counts)}\n")
    assert counts["EXHAUSTED"] >= COUNT // 10
    assert counts["VIOLATED"] >= COUNT // 10
    assert counts["drawn"] >= COUNT // 20
    assert counts["several interpretations"] >= COUNT // 3
