"""Checks for disagreement and vacuity: premises that cannot hold, goals and actions that are never reached.

Every honest action has to be taken and every goal reached in the baseline. Under each threat model the adversary has to
take an action. An adversary's action that is never taken may be prevented by a defence or by the size. So it is only
mentioned, unless the protocol has no defence to remove or the action's guards contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from types import MappingProxyType

from carnet_check.cache import AnswerCache, CacheStatistics
from carnet_check.engines import interface
from carnet_check.engines.exploration import Coverage, premise_goals, trigger_of
from carnet_check.engines.exploring.searches import moves
from carnet_check.engines.registry import able, registered_engines
from carnet_check.engines.runner import ONE_PROCESS, Runner
from carnet_check.loading.families import NO_THREAT
from carnet_check.loading.meanings import has_model
from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification.outcome import CampaignOutcome, GoalOutcome
from carnet_check.verification.planning import Campaign
from carnet_command.text import join_words, plural
from carnet_spec.language import Action, Claim, Eventually, Goal, LemmaClaim, Protocol, Threat
from carnet_spec.language.printing import fair_steps
from carnet_spec.language.terms import TRUE, Term, conjunction

# --------------------------------------------------------------------------------------------------
# Shortcomings for a strict reader: claims that only one engine establishes, and claims that are only declared.

#: The verdicts that establish a claim, as opposed to those that report a search without a violation.
ESTABLISHES = frozenset({Verdict.PROVED, Verdict.EXHAUSTED})


def shortcomings(outcome: CampaignOutcome) -> list[str]:
    """Return the shortcomings of a run whose rows are all as expected, in the order of its rows."""
    return [
        *_alone(outcome),
        *(f"{each}: declared, without a formula yet" for each in outcome.campaign.declared_claims),
    ]


def _alone(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield each claim that is expected to hold and that fewer than two engines establish."""
    said = (row for row in outcome.results if row.kind in (Kind.CLAIM, Kind.LIVENESS, Kind.LEMMA_CLAIM))
    rows = [row for row in said if row.expected is not Verdict.VIOLATED]
    for (variant, claim, threat), group in groupby(sorted(rows, key=_question), key=_question):
        engines = [row.engine for row in group if row.verdict in ESTABLISHES]
        plan = outcome.campaign.task.plan(variant)
        lemma_claim = next((each for each in plan.protocol.lemma_claims if each.name == claim), None)
        engines += proving(plan, outcome.results, lemma_claim) if lemma_claim else ()
        if len(engines) < 2:
            by = f"by {engines[0]} alone" if engines else "by no engine"
            yield f"{claim} under {threat}, {variant}: established {by}"


def proving(plan: interface.Plan, rows: Iterable[Result], claim: LemmaClaim) -> tuple[str, ...]:
    """Return the engines that prove all theorems of a lemma claim under every threat model; empty without theorems."""
    stated = {(other.name, threat.id) for other, threat in plan.pairs if other.name in claim.theorems}
    proved: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        if row.variant == plan.protocol.variant and row.kind is Kind.CLAIM and row.verdict is Verdict.PROVED:
            proved.setdefault(row.engine, set()).add((row.claim, row.threat))
    return tuple(engine for engine, pairs in proved.items() if stated and stated <= pairs)


def _question(row: Result) -> tuple[str, str, str]:
    return row.variant, row.claim, row.threat


#: What is wrong with a threat model under which every step is an honest one.
NO_ADVERSARY = (
    "the adversary never takes a step: a threat model of honest runs is called 'none', and one whose adversary only "
    "deduces is declared with passive=True"
)


# -- What can ever happen, in an instance of any size, decided by an engine with a solver ----------
#
# The question over-approximates reachability. So "never" is established for every instance, while "perhaps" establishes
# nothing.

Known = Mapping[str, Term]  #: Formulas that are proved to hold in every reachable state, by name.
NOTHING_KNOWN: Known = MappingProxyType({})


def possibilities(
    protocol: Protocol, threat: Threat | None, known: Known = NOTHING_KNOWN, runner: Runner = ONE_PROCESS
) -> interface.Possibilities:
    """Return an object that answers whether something may ever happen, in instances of any size."""
    return able(interface.DecidesPossibility).possibilities(protocol, threat, known, runner)


def possible_actions(protocol: Protocol, asked: interface.Possibilities, seen: Collection[str]) -> tuple[Action, ...]:
    """Return the actions that may ever be taken; no instance has a run with another action.

    The actions named in ``seen`` were taken in an exploration, so no question about them is needed.
    """
    found = [action for action in protocol.actions if action.name in seen]
    waiting = [action for action in protocol.actions if action.name not in seen]
    grew = True
    while grew:
        grew = False
        for action in tuple(waiting):
            if asked.may(enabling_goal(action), found):
                found.append(action)
                waiting.remove(action)
                grew = True
    return tuple(action for action in protocol.actions if action in found)


def enabling_goal(action: Action) -> Goal:
    """Return the goal that ``action`` is enabled."""
    return Goal(action.name, action.params, conjunction(tuple(guard.formula for guard in action.guards)), "")


# --------------------------------------------------------------------------------------------------
# Disagreement and vacuity: premises that cannot hold, goals and actions that are never reached.

ANY_THREAT = "any"
NOTHING_WAITS = "what it waits after never happens"
RowKey = tuple[str, str, str, str, str]
NO_ANSWER = interface.LivenessAnswer(open=("the engine gives no answer",))
NO_BASES: Mapping[RowKey, interface.ProofBasis] = {}


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The checked rows, and the goals and notes that the checks added."""

    rows: tuple[Result, ...]
    goals: tuple[GoalOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    asides: frozenset[str] = frozenset()  #: The notes that a short report may omit, as they cast no doubt on a verdict.


def disagreements(
    rows: Sequence[Result], plan: interface.Plan, bases: Mapping[RowKey, interface.ProofBasis] = NO_BASES
) -> list[Result]:
    """Return the rows, with errors where one engine proves what another refutes, by a trace or by an obligation."""
    whys: dict[RowKey, str] = {}
    mine = [row for row in rows if row.variant == plan.protocol.variant and row.kind in (Kind.CLAIM, Kind.LIVENESS)]
    for proved in (row for row in mine if row.verdict is Verdict.PROVED):
        for other in mine:
            if why := _contradicts(other, proved, bases) if _is_about_the_same(other, proved) else "":
                whys[proved.key] = whys[other.key] = f"the engines disagree: {proved.engine} proves what {why}"
    return [
        replace(row, verdict=Verdict.ERROR, bound=None, detail=whys[row.key]) if row.key in whys else row
        for row in rows
    ]


def _is_about_the_same(row: Result, proved: Result) -> bool:
    """Whether a proof is about the subject of a row; a proof of liveness is valid under every threat model."""
    everywhere = proved.kind is Kind.LIVENESS and proved.threat == ANY_THREAT
    return (row.kind, row.claim) == (proved.kind, proved.claim) and (everywhere or row.threat == proved.threat)


def _contradicts(row: Result, proved: Result, bases: Mapping[RowKey, interface.ProofBasis]) -> str:
    """Return how a row contradicts a PROVED row of the same pair; empty if it does not.

    A proof that uses no axioms of a threat model is valid under it, too.
    """
    if row.verdict is Verdict.VIOLATED:
        return "a replayed trace refutes"
    proof, doubt = bases.get(proved.key), bases.get(row.key)
    if proof and doubt and doubt.satisfiable and proof.layer in ("", doubt.layer):
        return f"{row.engine} finds satisfiable: {doubt.satisfiable[0]}"
    return ""


def check_plan(campaign: Campaign, plan: interface.Plan, evidence: Evidence, found: CheckedRows) -> CheckedRows:
    """Return the rows with vacuous claims marked, and with a row for every other kind of vacuity."""
    check = _Check(campaign, plan, evidence, found.rows)
    marked = list(check.with_premises_checked(found.rows))
    if plan.protocol.lemma_claims and not plan.protocol.actions:  # lemma claims alone: there are no steps and no goals
        return replace(found, rows=tuple(marked), notes=(*found.notes, *check.notes))
    if check.is_unsure:
        check.note("no solver was used, so the run did not look for premises that never hold")
    if not evidence.searches:
        check.note("not explored, so unreachable goals and steps that no run takes were not looked for")
    elif campaign.request.claims:
        check.note(
            "only some claims were explored, so unreachable goals and steps that no run takes were not looked for"
        )
    else:
        marked += [*check.goals(), *check.actions(), *check.threats()]
    rows = tuple(disagreements((*check.with_triggers_checked(marked), *check.liveness()), plan))
    for note in check.remembered:
        check.note(f"reachability in any instance: {note}")
    goals, notes = (*found.goals, *check.reached), (*found.notes, *check.notes)
    return CheckedRows(rows, goals, notes, found.asides | check.asides)


def _fairness(live: Eventually, names: Iterable[str]) -> str:
    """Return the words for the actions whose weak and strong fairness a proof needs."""
    by = live.fair_to(names)
    kinds = {"weak": [name for name in by.fair if name not in by.strong], "strong": by.strong}
    steps = {kind: fair_steps(replace(by.fair_to(some), strong=())) for kind, some in kinds.items() if some}
    return " and ".join(f"{kind} fairness of {join_words(some)}" for kind, some in steps.items())


def _called(number: int, several: bool) -> str:
    """Return the name of a premise, with its number if the claim has several."""
    return f"premise {number}" if several else "the premise"


class _Check:
    def __init__(self, campaign: Campaign, plan: interface.Plan, evidence: Evidence, rows: Sequence[Result]) -> None:
        self.campaign = campaign
        self.family = campaign.request.source.family
        self.plan = plan
        self.protocol = plan.protocol
        self.evidence = evidence
        self.rows = [row for row in rows if row.variant == plan.protocol.variant and row.kind is Kind.CLAIM]
        self.reached: list[GoalOutcome] = []
        self.notes: list[str] = []
        self.asides: set[str] = set()
        self.before: list[AnswerCache] = []
        self._possible: dict[str, tuple[Action, ...]] = {}
        self._possibilities: dict[str, interface.Possibilities] = {}
        self._worlds = AxiomModels(campaign, self.protocol, evidence, self._possibilities_under)
        self._whatever_happens = self._possibilities_under(None)
        self.is_unsure = isinstance(self._whatever_happens, interface.NoSolver)

    def _possibilities_under(self, threat: Threat | None, known: Known = NOTHING_KNOWN) -> interface.Possibilities:
        """Return what answers questions of possibility; without a solver if all engines of the run trust none."""
        if all(engine.believes_no_solver for engine in self.campaign.engines):
            return interface.NoSolver()
        found = possibilities(self.protocol, threat, known, self.campaign.task.runner)
        if found.before is not None:
            self.before.append(found.before)
        return found

    @property
    def remembered(self) -> tuple[str, ...]:
        """The notes about cached answers to questions of possibility."""
        together = CacheStatistics()
        for each in self.before:
            together.add(each.used)
        return together.notes if together.asked else ()

    # -- premises ---------------------------------------------------------------------------------

    def with_premises_checked(self, rows: Sequence[Result]) -> Iterator[Result]:
        """Yield the rows; those of a claim with an impossible premise, or under contradictory axioms, are VACUOUS."""
        claims = {claim.name: claim for claim, _ in self.plan.pairs}
        vacuous = {name: why for name, claim in claims.items() if (why := self._vacuous_claim(claim))}
        impossible = {threat.id for threat in self.plan.threats if self._worlds.has_contradiction(threat)}
        unmet = {threat.id: why for threat in self.plan.threats if (why := self._worlds.why_no_model(threat))}
        for row in rows:
            mine = row.variant == self.protocol.variant and row.kind is Kind.CLAIM
            spoken = row.verdict in (Verdict.VIOLATED, Verdict.ERROR)
            why = vacuous.get(row.claim, "")
            if row.threat in impossible:
                why = f"the assumptions under {row.threat} contradict each other, so anything follows"
            if mine and not spoken and why:
                yield replace(row, verdict=Verdict.VACUOUS, bound=None, detail=why)
            elif mine and row.verdict in (Verdict.PROVED, Verdict.HOLDS_TO) and row.threat in unmet:
                yield replace(row, verdict=Verdict.UNKNOWN, bound=None, detail=unmet[row.threat])
            else:
                yield row

    def _vacuous_claim(self, claim: Claim) -> str:
        """Return why ``claim``, or a part of it, can never apply; empty if it can."""
        premises = premise_goals(claim.checked)
        named = {_called(number, len(premises) > 1): premise for number, premise in enumerate(premises, 1)}
        return next((why for called, premise in named.items() if (why := self._vacuous(claim, called, premise))), "")

    def _vacuous(self, claim: Claim, called: str, premise: Goal) -> str:
        if self.evidence.shortest_search(premise.name):
            return ""
        threats = [None if threat == NO_THREAT else threat for other, threat in self.plan.pairs if other == claim]
        if able_under := [threat for threat in threats if self._may_happen(premise, threat)]:
            if not self.is_unsure and not any(self._asked(threat).is_established(premise) for threat in able_under):
                seen = (
                    f"{called} of {claim.name} holds in no state of this profile, and " if self.evidence.broad else ""
                )
                what = "it" if seen else f"{called} of {claim.name}"
                self.note(f"{seen}it is unknown whether {what} can be satisfied: no answer by the solver")
            elif self.evidence.broad:
                self.note(f"{called} of {claim.name} holds in no state of this profile (it may in a larger instance)")
            return ""
        return f"{called} never holds, so the claim is vacuous"

    def _may_happen(self, what: Goal, threat: Threat | None) -> bool:
        """Whether some instance, of any size, may reach ``what``; False is established, True is not."""
        return self._asked(threat).may(what, self._takeable(threat))

    def _takeable(self, threat: Threat | None) -> tuple[Action, ...]:
        key = threat.id if threat else ""
        if key not in self._possible:
            seen = self.evidence.actions_taken((threat or NO_THREAT).id)
            self._possible[key] = possible_actions(self.protocol, self._asked(threat), seen)
        return self._possible[key]

    def _asked(self, threat: Threat | None) -> interface.Possibilities:
        """Return what answers questions of possibility under a threat model, from what is proved there."""
        key = threat.id if threat else ""
        if key not in self._possibilities:
            self._possibilities[key] = self._possibilities_under(threat, self._known(threat))
        return self._possibilities[key]

    def _known(self, threat: Threat | None) -> dict[str, Term]:
        """Return the formulas that are proved to hold in every state under a threat model: claims and their lemmas."""
        where = (threat or NO_THREAT).id
        proved = [row for row in self.rows if row.threat == where and row.verdict is Verdict.PROVED]
        names = {name for row in proved for name in (row.claim, *row.lemmas)}
        return {each.name: each.formula for each in self.protocol.invariants if each.name in names}

    def _models(self) -> list[Threat | None]:
        """Return every threat model: what is impossible under the requested ones may happen under another."""
        return list(self.protocol.threats) or [None]

    def _never_taken(self, action: Action) -> bool:
        return all(action not in self._takeable(threat) for threat in self._models())

    # -- goals ------------------------------------------------------------------------------------

    def goals(self) -> Iterator[Result]:
        """Record which goals were reached, and yield a row for each that was not."""
        if not self.protocol.goals:
            self.note("no goal is stated, so the claims may hold only because nothing ever happens")
        for goal in self.protocol.goals:
            found = self.evidence.shortest_search(goal.name)
            self.reached.append(self._goal_outcome(goal, found))
            if found is not None:
                continue
            tried = self.evidence.searches_for(goal.name)
            if any(search.problems for search in tried):
                continue
            never = not any(self._may_happen(goal, threat) for threat in self._models())
            tried_in = "; ".join(search.description for search in tried) or "not tried"
            detail = f"{'never' if never else 'not'} reached ({tried_in}): {goal.sentence}"
            yield self._row(Kind.GOAL, goal.name, ANY_THREAT, never, detail)

    def _goal_outcome(self, goal: Goal, found: Coverage | None) -> GoalOutcome:
        variant = self.protocol.variant
        if found is None:
            return GoalOutcome(variant, goal.name, goal.sentence, goal.rounds, reached=False)
        return GoalOutcome(
            variant,
            goal.name,
            goal.sentence,
            goal.rounds,
            reached=True,
            threat=found.search.threat,
            steps=moves(self.protocol, found.goals[goal.name]),
            where=found.instances,
            directed=found.search.directed,
        )

    # -- liveness ---------------------------------------------------------------------------------

    def liveness(self) -> Iterator[Result]:
        """Yield a row for each liveness property and each engine that proves liveness; note what no engine judges."""
        engines = self.campaign.engines
        deciding = any(isinstance(engine, interface.DecidesLiveness) for engine in engines)
        provers = [engine for engine in engines if isinstance(engine, interface.ProvesLiveness)]
        proved = self.plan.liveness_to_prove if provers else ()
        left_out = () if deciding else tuple(live.name for live in self.plan.liveness if live not in proved)
        if left_out:
            kinds = interface.DecidesLiveness if provers else interface.ProvesLiveness | interface.DecidesLiveness
            judging = " or ".join(each.name for each in registered_engines() if isinstance(each, kinds))
            what = "a lasso is shown" if provers else "liveness is judged"
            self.note(f"{what} by {judging} alone, so these were not checked: {', '.join(left_out)}")
        for live in self.plan.liveness_to_prove:
            yield from (self._lively(prover, live) for prover in provers)

    def with_triggers_checked(self, rows: Sequence[Result]) -> Iterator[Result]:
        """Yield the rows; those of engines that decide liveness are VACUOUS if the trigger is never reached."""
        live = {each.name: each for each in self.plan.liveness}
        for row in rows:
            mine = row.variant == self.protocol.variant and row.kind is Kind.LIVENESS
            spoken = row.verdict in (Verdict.VIOLATED, Verdict.ERROR)
            if mine and not spoken and not self._may_wait(live[row.claim]):
                yield replace(row, verdict=Verdict.VACUOUS, bound=None, detail=NOTHING_WAITS)
            else:
                yield row

    def _may_wait(self, live: Eventually) -> bool:
        """Whether the trigger of a liveness property may ever hold, in an instance of any size."""
        trigger = trigger_of(live)
        if self.evidence.shortest_search(trigger.name):
            return True
        able_under = [threat for threat in self._models() if self._may_happen(trigger, threat)]
        if not able_under:
            return False
        if not self.is_unsure and not any(self._asked(threat).is_established(trigger) for threat in able_under):
            self.note(f"it is unknown whether the trigger of {live.name} is reachable: the solver gives no answer")
        elif self.evidence.decides(live.name):
            self.note(f"the trigger of {live.name} holds in no state of this profile (it may in a larger instance)")
        return True

    def _lively(self, prover: interface.ProvesLiveness, live: Eventually) -> Result:
        answer = self.evidence.liveness.get((prover.name, live.name), NO_ANSWER)
        verdict = Verdict.PROVED if answer.is_proved else Verdict.UNKNOWN
        detail = f"by {_fairness(live, answer.fair)}" if answer.is_proved else "; ".join(answer.open)
        detail += f"; rests on {plural(len(answer.lemmas), 'lemma')}" if answer.lemmas else ""
        detail += f"; {plural(answer.certified, 'condition')} by certificate" if answer.certified else ""
        detail += f"; a solver is believed in {plural(answer.believed, 'condition')}" if answer.believed else ""
        unmet = [self._worlds.why_no_model(threat) for threat in self.plan.threats]
        if not self._may_wait(live):
            verdict, detail = Verdict.VACUOUS, NOTHING_WAITS
        elif answer.is_proved and unmet and all(unmet):
            verdict, detail = Verdict.UNKNOWN, unmet[0]
        axioms = (axiom for axiom in self.protocol.axioms if axiom.name in answer.axioms)
        return Result(
            protocol=self.family.id,
            variant=self.protocol.variant,
            claim=live.name,
            threat=ANY_THREAT,
            engine=prover.name,
            verdict=verdict,
            expected=Verdict.PROVED,
            detail=f"{live.sentence} ({detail})",
            seconds=answer.seconds,
            lemmas=answer.lemmas,
            assumptions=self.protocol.resting_on(axiom.states for axiom in axioms),
            kind=Kind.LIVENESS,
        )

    # -- steps ------------------------------------------------------------------------------------

    def actions(self) -> Iterator[Result]:
        """Yield a row for each action that should have been taken and never was."""
        idle = [action for action in self.protocol.actions if not self.evidence.has_taken(action.name)]
        stopped = []
        for action in idle:
            what = "rule" if action.deduction else "action"
            if action.by.honest:
                detail = f"no run takes this {what} of the {action.by.name}"
                yield self._row(Kind.ACTION, action.name, ANY_THREAT, self._never_taken(action), detail)
            elif self.plan.every_threat:
                why = self._hopeless(action)
                if why:
                    yield self._row(Kind.ACTION, action.name, ANY_THREAT, self._never_taken(action), why)
                else:
                    stopped.append(action.name)
        layer = self.family.variants[self.protocol.variant].over
        if stopped and not layer:  # a layer omits actions that its claims do not need; the variant below has them
            said = f"adversary steps that no explored run takes (larger instances may take them): {', '.join(stopped)}"
            self.asides.add(self.note(said))

    def _hopeless(self, action: Action) -> str:
        """Return why the adversary can never take ``action``, even with all defences removed; empty if it can."""
        if not self._whatever_happens.may(enabling_goal(action), None):
            return "its guards contradict one another"
        nothing_to_remove = not self.protocol.defences and len(self.family.variants) == 1
        if nothing_to_remove and self.evidence.exhaustive:
            return "no run takes it, and there is no defence that could prevent it"
        return ""

    def threats(self) -> Iterator[Result]:
        """Yield a row for each threat model under which the adversary takes no action."""
        hostile = [action for action in self.protocol.actions if not action.by.honest]
        active = [action for action in hostile if not action.deduction] or hostile
        explored = {found.search.threat for found in self.evidence.broad if not found.problems}
        for model in self.protocol.threats if active else ():
            if model.id not in explored or model.without_adversary:
                continue
            steps = hostile if model.passive else active
            if not any(self.evidence.took(model.id, action.name) for action in steps):
                never = not any(action in self._takeable(model) for action in steps)
                yield self._row(Kind.THREAT, "adversary", model.id, never, NO_ADVERSARY)

    # -- rows -------------------------------------------------------------------------------------

    def _row(self, kind: Kind, name: str, threat: str, certain: bool, detail: str) -> Result:
        explorer = next(engine for engine in self.campaign.engines if engine.name == self.evidence.engine)
        return Result(
            protocol=self.family.id,
            variant=self.protocol.variant,
            claim=name,
            threat=threat,
            engine=explorer.name,
            verdict=Verdict.VACUOUS if certain else Verdict.UNKNOWN,
            expected=explorer.expected_verdict(self.campaign.profile),
            detail=detail,
            kind=kind,
        )

    def note(self, text: str) -> str:
        """Add a note about this variant to the end of the run, unless it is there, and return it."""
        remark = f"{self.protocol.variant}: {text}"
        if remark not in self.notes:
            self.notes.append(remark)
        return remark


# --------------------------------------------------------------------------------------------------
# Whether the axioms, with those of a threat model, have a model: otherwise a proof is vacuous.

#: The reason why a proof is no verdict if no model of the axioms is known.
NO_MODEL = "no small structure that satisfies the assumptions under {} was found, so the proof may be vacuous: {}"
ASK = "ask a solver, as `--engine {}` does"
NO_SOLVER_ANSWER = "the solver gives no answer whether one exists"
ANYTHING = Goal("anything", (), TRUE, "")


class AxiomModels:
    """Whether one protocol's axioms have models; ``asked`` returns the possibilities under a threat model or none."""

    def __init__(
        self,
        campaign: Campaign,
        protocol: Protocol,
        evidence: Evidence,
        asked: Callable[[Threat | None], interface.Possibilities],
    ) -> None:
        self._campaign = campaign
        self._protocol = protocol
        self._evidence = evidence
        self._possibilities = asked
        self._asked: dict[str, tuple[bool, interface.Possibilities]] = {}

    def has_contradiction(self, threat: Threat) -> bool:
        """Whether the axioms contradict each other; an explored instance is a model of them."""
        return not self._was_explored(threat) and not self._may_be(threat)[0]

    def why_no_model(self, threat: Threat) -> str:
        """Return why no model of the axioms is known; empty if a solver, an instance or a small structure shows one."""
        if self._was_explored(threat):
            return ""
        _, asked = self._may_be(threat)
        source, profile = self._campaign.request.source, self._campaign.profile
        if asked.is_established(ANYTHING) or has_model(source, self._protocol, threat, profile):
            return ""
        able_to_tell = able(interface.DecidesPossibility).name
        return NO_MODEL.format(
            threat.id, ASK.format(able_to_tell) if isinstance(asked, interface.NoSolver) else NO_SOLVER_ANSWER
        )

    def _may_be(self, threat: Threat) -> tuple[bool, interface.Possibilities]:
        """Return whether there may be a model, and the object that answered."""
        if threat.id not in self._asked:
            asked = self._possibilities(None if threat == NO_THREAT else threat)
            self._asked[threat.id] = asked.may(ANYTHING, None), asked
        return self._asked[threat.id]

    def _was_explored(self, threat: Threat) -> bool:
        return any(found.states for found in self._evidence.broad if found.search.threat == threat.id)


# -- The evidence of all explorations of one variant, by all engines and under all threat models ---


@dataclass(frozen=True)
class Evidence:
    """The searches of one variant; ``engine`` is the first engine that explored it, or empty.

    ``liveness`` has the answer about each liveness property of each engine that proves liveness.
    """

    engine: str = ""
    searches: tuple[Coverage, ...] = ()
    liveness: Mapping[tuple[str, str], interface.LivenessAnswer] = field(default_factory=dict)

    @staticmethod
    def of(variant: str, answers: Sequence[interface.EngineResult]) -> Evidence:
        """Collect the searches of a variant, without random walks: they show nothing about what they did not visit."""
        found = [(answer.engine, each) for answer in answers for each in answer.searches]
        found = [(by, each) for by, each in found if not each.search.alone and each.walk_coverage is None]
        mine = [(by, each) for by, each in found if each.search.variant == variant]
        lively = {
            (answer.engine, name): said
            for answer in answers
            for (about, name), said in answer.liveness.items()
            if about == variant
        }
        return Evidence(mine[0][0] if mine else "", tuple(each for _, each in mine), lively)

    @property
    def broad(self) -> tuple[Coverage, ...]:
        """The searches of the profile's instances for claims; not those directed at goals or at expected violations."""
        searches = ((found, found.search) for found in self.searches)
        return tuple(found for found, search in searches if not (search.directed or search.sought or search.liveness))

    @property
    def exhaustive(self) -> bool:
        """Whether every reachable state of the instances was visited under every requested threat model."""
        return all(found.exhaustive for found in self.broad)

    def has_taken(self, action: str) -> bool:
        """Whether some search took the action."""
        return any(found.fired.get(action, 0) for found in self.searches)

    def took(self, threat: str, action: str) -> bool:
        """Whether some broad search under a threat model took the action."""
        return any(found.fired.get(action, 0) for found in self.broad if found.search.threat == threat)

    def actions_taken(self, threat: str) -> frozenset[str]:
        """Return the actions that were taken under a threat model."""
        searches = (found for found in self.searches if found.search.threat == threat)
        return frozenset(name for found in searches for name, count in found.fired.items() if count)

    def shortest_search(self, goal: str) -> Coverage | None:
        """Return the search that reached the goal in the fewest steps, or None."""
        with_goal = [found for found in self.searches if goal in found.goals]
        return min(with_goal, key=lambda f: (len(f.goals[goal].steps), f.search.threat), default=None)

    def decides(self, live: str) -> bool:
        """Whether some search decided a liveness property, or checked whether its trigger is reached."""
        return any(live in (*found.search.liveness, *found.search.triggers) for found in self.searches)

    def searches_for(self, goal: str) -> tuple[Coverage, ...]:
        """Return the searches that looked for the goal."""
        return tuple(found for found in self.searches if goal in found.search.goals)
