"""What carnet verify says of a drawn protocol, and where that and the truth differ."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self
from unittest.mock import patch

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Coverage, Search
from carnet_check.engines.exploring import explorer as exploring
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.induction import counterexample
from carnet_check.engines.induction.engine import Induction
from carnet_check.engines.interface import Engine, Explores, Plan
from carnet_check.errors import CarnetError
from carnet_check.loading import default_instance as made
from carnet_check.loading import families, scope
from carnet_check.loading.default_instance import default_instance, elements_of
from carnet_check.loading.families import NO_THREAT, Source
from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification import campaign as running
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Request, plan_campaign
from carnet_spec.language import Family, Profile, Protocol, Scale, SpecificationError
from tests.oracle.enumerate import ANYTHING, Answers, Asked, Witness, enumerate_at, shortest_at, worlds
from tests.oracle.evaluate import Sizes, Structure, TooBigError, all_sizes, premises, sorts_of
from tests.oracle.lively import ConflictError, Runs
from tests.oracle.machine import Layout, test_of
from tests.oracle.recipe import Recipe
from tests.oracle.replay import NoSuchRunError, World, falsified, replay

#: The solver's budget for one question: a random protocol may be undecidable, and UNKNOWN is no wrong verdict.
RLIMIT = 400_000
BOTH: tuple[Engine, ...] = (Induction(rlimit=RLIMIT), EXPLICIT)


class Refused(Exception):  # an outcome, not an error
    """The specification was refused, in one line that says why."""


def family(recipe: Recipe, sizes: Sizes) -> Family:
    """Wrap the recipe as the checker wraps a draft that comes without instances, at ``sizes``."""
    return Family(
        id="random",
        title="Random",
        draft=recipe.draft,
        instance=default_instance,
        variants=recipe.variants,
        main=tuple(name for name in recipe.variants if name != "layer"),
        profiles={"tiny": Profile("tiny", sizes)},
    )


def verdicts(asked: Family, engines: tuple[Engine, ...] = BOTH) -> CampaignOutcome:
    """Verify the family with these engines, exploring instances of profile ``tiny``.

    Raises Refused if the specification is not well formed, or has no instance of these sizes.
    """
    source = Source(asked.id, asked, asked.id)
    with here(source):
        try:
            return running.verify(replace(plan_campaign(Request(source)), engines=engines))
        except (SpecificationError, CarnetError) as error:
            if "in the registry" in str(error):
                raise RuntimeError("a process was asked about a protocol that it cannot load") from error
            raise Refused(str(error)) from error


def _elements_of(protocol: Protocol, scale: Scale) -> dict[str, tuple[str, ...]]:
    """Return elements at the sizes of what the protocol speaks of; others would be refused."""
    return elements_of(protocol, {sort.name: scale[sort.name] for sort in protocol.sorts if sort.name in scale})


@contextlib.contextmanager
def here(source: Source) -> Iterator[None]:
    """Explore in this process what is not registered anywhere."""
    with (
        patch.object(exploring, "run_all", _run_all),
        patch.object(counterexample, "WorkerPool", _NoPool),
        patch.object(families, "load", lambda _reference: source),
        patch.object(scope, "elements_of", _elements_of),
        patch.object(made, "elements_of", _elements_of),
    ):
        yield


class _NoPool:
    """Does in this process what a pool of workers would do."""

    def __init__(self, _jobs: int) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, work: Callable[[Any], Iterator[Any]], tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        yield from ((task, said) for task in tasks for said in work(task))


def _run_all(
    explorer: Explores, tasks: Sequence[Search], _jobs: int, _progress: Callable[[object], None], _before: object = None
) -> Iterator[tuple[Search, Coverage]]:
    for task in tasks:
        try:
            yield task, search(explorer, task)
        except Exception as error:  # what a worker process would have sent back
            yield task, exploring.failed_search(task, error)


# -- where a verdict and the truth differ: the campaign's rows beside what the enumerator found ----------


EXPLORED = 2  #: How many elements of each sort the explorer gets, as a draft without constants gets by itself.
LARGER = 3  #: What is looked at beside, where that is cheap.
BUDGET, CHEAP = 8_000, 1_500


@dataclass(frozen=True)
class Disagreement:
    """A verdict that is not true."""

    kind: str
    what: str
    said: str
    truth: str
    witness: Witness | None = None

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.what}", f"  said:  {self.said}", f"  truth: {self.truth}"]
        if self.witness is not None:
            lines += [f"  first: {_shown(self.witness.first)}", f"  steps: {list(self.witness.steps)}"]
            lines += [f"  last:  {_shown(self.witness.last)}"]
        return "\n".join(lines)


def _shown(structure: Structure) -> str:
    tables = (f"{symbol.name}={dict(table)}" for symbol, table in structure.tables.items())
    return f"{dict(structure.sizes)} {'; '.join(tables)}"


@dataclass(frozen=True)
class Truth:
    """What the enumerator found of one variant: at the explored sizes, and at all that were looked at."""

    protocol: Protocol
    there: Answers
    anywhere: Answers
    looked_at: tuple[Sizes, ...]


def truth_about(protocol: Protocol) -> Truth:
    """Enumerate ``protocol`` at all small sizes, and at larger ones as far as that is cheap.

    Raises TooBigError if the sizes that are explored are too big.
    """
    explored = dict.fromkeys((sort.name for sort in sorts_of(protocol)), EXPLORED)
    there = enumerate_at(protocol, explored, BUDGET)
    anywhere, looked_at = Answers(), []
    for sizes in all_sizes(protocol, LARGER):
        small = max(sizes.values(), default=0) <= EXPLORED
        try:
            found = there if sizes == explored else enumerate_at(protocol, sizes, BUDGET if small else CHEAP)
        except TooBigError:
            continue
        anywhere.add(found)
        looked_at.append(sizes)
    return Truth(protocol, there, anywhere, tuple(looked_at))


@dataclass
class Judgement:
    """One protocol's outcome."""

    refused: str = ""
    too_big: bool = False
    rows: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)
    #: What is true of each variant that was verified and is not too big.
    truths: dict[str, Truth] = field(default_factory=dict)


def judge(recipe: Recipe, engines: tuple[Engine, ...] = BOTH) -> Judgement:
    """Verify ``recipe``, enumerate it, and compare."""
    return judge_family(family(recipe, {sort.name: EXPLORED for sort in recipe.words.sorts}), engines)


def judge_family(asked: Family, engines: tuple[Engine, ...] = BOTH) -> Judgement:
    """Verify the family, whose profile has two elements of each sort, enumerate it, and compare."""
    judgement = Judgement()
    try:
        campaign = verdicts(asked, engines)
    except Refused as refusal:
        judgement.refused = str(refusal)
        return judgement
    except Exception as error:
        crash = Disagreement("crash", "verify", f"{type(error).__name__}: {error}", "a verdict, or a refusal")
        judgement.disagreements.append(crash)
        return judgement
    try:
        for plan in campaign.campaign.plans:
            truth = judgement.truths[plan.protocol.variant] = truth_about(plan.protocol)
            judgement.disagreements += _Comparison(campaign, plan, truth).all()
            judgement.disagreements += _untrue_in_the_end(campaign, plan.protocol)
        judgement.disagreements += _inherited(asked, campaign)
    except (TooBigError, ConflictError):  # a conflict is a disagreement already
        judgement.too_big = True
    judgement.rows = Counter(f"{row.kind} {row.engine} {row.verdict}" for row in campaign.results)
    return judgement


def _threat(id: str) -> str:
    return ANYTHING if id == NO_THREAT.id else id


class _Comparison:
    """The rows of one variant beside the truth about it."""

    def __init__(self, campaign: CampaignOutcome, plan: Plan, truth: Truth) -> None:
        self.campaign = campaign
        self.plan = plan
        self.protocol = plan.protocol
        self.truth = truth
        self.threats = [_threat(threat.id) for threat in plan.threats]
        self.shortest: dict[tuple[object, int], dict[Asked, int]] = {}

    def all(self) -> Iterator[Disagreement]:
        for row in self.campaign.results:
            if row.variant == self.protocol.variant:
                yield from self._row(row)
        for goal in self.campaign.goals:
            asked = (f"goal {goal.goal}", _threat(goal.threat))
            if goal.variant == self.protocol.variant and goal.reached and asked not in self.truth.there.reached:
                yield Disagreement("reached", f"goal {goal.goal}", "reached", "no run reaches it")
        yield from self._overlooked()
        for (action, _), witness in self.truth.anywhere.conflicts.items():
            yield Disagreement("conflict", action, "a verdict", "its updates disagree, so it has no meaning", witness)

    def _row(self, row: Result) -> Iterator[Disagreement]:
        match row.kind, row.verdict:
            case _, Verdict.ERROR:
                yield self._told(row, "error", "a verdict")
            case Kind.CLAIM, Verdict.PROVED:
                yield from self._false(row, self.truth.anywhere, "PROVED of what is false")
            case Kind.CLAIM, Verdict.EXHAUSTED:
                yield from self._false(row, self.truth.there, "EXHAUSTED of what is false")
            case Kind.CLAIM, Verdict.HOLDS_TO:
                yield from self._held(row)
            case Kind.CLAIM, Verdict.VIOLATED:
                yield from self._violated(row)
            case Kind.CLAIM, Verdict.VACUOUS:
                yield from self._vacuous(row)
            case Kind.GOAL, Verdict.VACUOUS:
                yield from self._somewhere(row, self.truth.there.reached, f"goal {row.claim}", "goal")
            case Kind.ACTION, Verdict.VACUOUS:
                fired = dict.fromkeys(self.truth.there.fired)
                yield from self._somewhere(row, fired, row.claim, "step")

    def _told(self, row: Result, kind: str, truth: str, witness: Witness | None = None) -> Disagreement:
        what = f"{row.kind} {row.claim} under {row.threat or 'any'} in {row.variant}, by {row.engine}"
        return Disagreement(kind, what, f"{row.verdict_text}: {row.detail}", truth, witness)

    def _false(self, row: Result, answers: Answers, kind: str) -> Iterator[Disagreement]:
        witness = answers.violated.get((row.claim, _threat(row.threat)))
        if witness is not None:
            yield self._told(row, kind, "false in a reachable state", witness)

    def _somewhere(
        self, row: Result, found: Mapping[tuple[str, str], Witness | None], name: str, kind: str
    ) -> Iterator[Disagreement]:
        for threat in self.threats:
            if (name, threat) in found:
                yield self._told(row, f"VACUOUS {kind}", f"possible under {threat}", found[name, threat])
                return

    def _vacuous(self, row: Result) -> Iterator[Disagreement]:
        """A claim is VACUOUS if one of its premises is reached nowhere, or its threat model has no model."""
        answers = self.truth.anywhere
        threat = _threat(row.threat)
        if threat not in answers.models:
            return
        mine = [_threat(other.id) for claim, other in self.plan.pairs if claim.name == row.claim]
        count = len(premises(self.protocol.claim(row.claim).checked.formula))
        met = [any((f"{row.claim}/{n}", id) in answers.reached for id in mine) for n in range(count)]
        if all(met):
            witness = answers.violated.get((row.claim, threat)) or answers.reached.get((f"{row.claim}/0", mine[0]))
            kind = "VACUOUS of what is false" if (row.claim, threat) in answers.violated else "VACUOUS claim"
            yield self._told(row, kind, "all its premises are met", witness)

    def _overlooked(self) -> Iterator[Disagreement]:
        """An established claim of which a premise was met nowhere is at least spoken of in a note."""
        noted = " ".join(self.campaign.notes)
        established = {row.claim for row in self.campaign.results if self._established(row)}
        for claim in self.protocol.claims:
            if claim.name in established and f" of {claim.name} holds in no state" not in noted:
                for number in range(len(premises(claim.checked.formula))):
                    if not any(asked == f"{claim.name}/{number}" for asked, _ in self.truth.there.reached):
                        yield Disagreement("premise", claim.name, "established", f"premise {number + 1} is never met")

    def _established(self, row: Result) -> bool:
        mine = row.kind is Kind.CLAIM and row.variant == self.protocol.variant
        return mine and row.verdict is Verdict.EXHAUSTED

    # -- runs of a few steps ----------------------------------------------------------------------------------------

    def _held(self, row: Result) -> Iterator[Disagreement]:
        """Nothing that few steps lead to breaks the claim: no explorer has a bound here, so it is one of steps."""
        assert row.bound is not None
        yield from self._shorter(row, row.bound)

    def _shorter(self, row: Result, most: int) -> Iterator[Disagreement]:
        """Yield a size at which ``most`` steps break the claim, or fewer."""
        witness = self.truth.anywhere.violated.get((row.claim, _threat(row.threat)))
        if witness is not None and most >= 0:
            for sizes in self.truth.looked_at:
                least = self._least(row, sizes, most)
                if least is not None:
                    yield self._told(row, "a shorter run", f"{least} steps break it at {dict(sizes)}", witness)
                    return

    def _least(self, row: Result, sizes: Sizes, most: int) -> int | None:
        """Return how many steps break the claim at these sizes, if ``most`` do."""
        key = (tuple(sizes.items()), most)
        if key not in self.shortest:
            self.shortest[key] = shortest_at(self.protocol, sizes, most, BUDGET)
        return self.shortest[key].get((row.claim, _threat(row.threat)))

    # -- traces -----------------------------------------------------------------------------------------------------

    def _violated(self, row: Result) -> Iterator[Disagreement]:
        found = self.campaign.violation_of(row)
        if found.search.alone:
            yield from self._shorter(row, len(row.steps) - 1)
            sizes = World(self.protocol, found.instance_of(row.claim)).sizes
            if sizes in self.truth.looked_at and self._least(row, sizes, len(row.steps)) != len(row.steps):
                yield self._told(row, "VIOLATED of what is true", f"no run of {len(row.steps)} steps breaks it there")
        elif (row.claim, _threat(row.threat)) not in self.truth.there.violated:
            yield self._told(row, "VIOLATED of what is true", "true in all structures of these sizes")
        yield from self._replayed(row, found)

    def _replayed(self, row: Result, found: Coverage) -> Iterator[Disagreement]:
        steps, instance = found.violations[row.claim].steps, found.instance_of(row.claim)
        formula = self.protocol.claim(row.claim).checked.formula
        try:
            if not falsified(formula, replay(self.protocol, instance, steps)):
                raise NoSuchRunError("the claim holds after it")
            if row.threat != NO_THREAT.id and not World(self.protocol, instance).allows(row.threat):
                raise NoSuchRunError(f"the instance breaks an axiom of {row.threat}")
        except NoSuchRunError as error:
            shown = "; ".join(map(str, steps))
            yield self._told(row, "not a run", f"the trace {shown} is no counterexample: {error}")


# -- what happens in the end ------------------------------------------------------------------------------------------


def _untrue_in_the_end(campaign: CampaignOutcome, protocol: Protocol) -> Iterator[Disagreement]:
    """Yield the verdicts on liveness properties that components of the enumerator's graph deny."""
    rows = [row for row in campaign.results if row.kind is Kind.LIVENESS and row.variant == protocol.variant]
    declared = [threat.id for threat in protocol.threats] or [ANYTHING]
    under = {id: answers_in_the_end(protocol, id, EXPLORED, BUDGET) for id in ([*declared, ANYTHING] if rows else [])}
    for row in rows:
        found = under[row.threat if row.threat in declared else ANYTHING].get(row.claim, set())
        begins = any(BEGINS in under[id].get(row.claim, ()) for id in declared)
        wrong = {
            Verdict.PROVED: "VIOLATED" in found,
            Verdict.EXHAUSTED: bool(found - {"EXHAUSTED", BEGINS}),
            Verdict.VIOLATED: "VIOLATED" not in found,
            Verdict.VACUOUS: begins,
        }
        if wrong.get(row.verdict, row.verdict is Verdict.ERROR):
            what = f"liveness {row.claim} under {row.threat} in {row.variant}, by {row.engine}"
            truth = f"with {EXPLORED} elements of each sort: {', '.join(sorted(found)) or 'nothing'}"
            yield Disagreement(f"{row.verdict} in the end", what, f"{row.verdict_text}: {row.detail}", truth)


BEGINS = "the waiting begins"


def answers_in_the_end(protocol: Protocol, threat: str, size: int, most: int) -> dict[str, set[str]]:
    """Return the verdicts on each liveness property in all structures that a threat model allows.

    :data:`BEGINS` is among them if the waiting begins in some of these.

    Raises TooBigError if there are too many structures, or too many states in one.
    """
    layout = Layout.of(protocol, dict.fromkeys((sort.name for sort in sorts_of(protocol)), size))
    axioms = [axiom for each in protocol.threats if each.id == threat for axiom in each.axioms]
    tests = [test_of(axiom.formula, layout) for axiom in axioms]
    found: dict[str, set[str]] = {}
    for meaning, starts in worlds(protocol, layout, most):
        if all(test(meaning) for test in tests):
            for runs in (Runs(protocol, layout, start, CHEAP) for start in starts):
                for live in protocol.liveness:
                    said = {runs.verdict(live), *([BEGINS] if runs.trigger_is_reachable(live) else [])}
                    found.setdefault(live.name, set()).update(said)
    return found


def _inherited(asked: Family, campaign: CampaignOutcome) -> Iterator[Disagreement]:
    """Yield the claims that are proved below a layer and false in it."""
    for variant in asked.variants.values():
        if variant.over:
            below, layer = asked.protocol(variant.over), asked.protocol(variant.name)
            truth = truth_about(replace(layer, claims=below.claims))
            for row in campaign.results:
                witness = truth.anywhere.violated.get((row.claim, _threat(row.threat)))
                if row.variant == variant.over and row.verdict is Verdict.PROVED and witness is not None:
                    what = f"claim {row.claim} under {row.threat} below a layer"
                    said = "PROVED, and so it holds in the layer"
                    yield Disagreement("inherited", what, said, "false in the layer", witness)
