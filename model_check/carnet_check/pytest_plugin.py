"""A pytest plugin that runs the proof obligations of a protocol as test items.

In a test file beside the protocol::

    from carnet_check.pytest_plugin import carnet_verify

    test_toy = carnet_verify("toy.py")

collects an item for each proof obligation, for each claim under each threat model and each exploring engine, for each
liveness property, and for vacuity. ``pytest -k secrecy`` and ``pytest -n 2`` work as for any item. An item passes by
the same engines and budgets as ``carnet verify``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from carnet_command.errors import CarnetError

if TYPE_CHECKING:
    from carnet_check.engines.interface import Check, Engine, Plan, ProvesLiveness
    from carnet_check.loading.families import Source
    from carnet_check.verification.outcome import CampaignOutcome
    from carnet_check.verification.planning import Campaign
    from carnet_spec.language import Eventually, Protocol


@dataclass(frozen=True, slots=True)
class CarnetVerify:
    """The protocol, variants and profile to verify; a test module with such a value has its test items."""

    reference: str
    variants: tuple[str, ...]
    profile: str


def carnet_verify(
    protocol: str | Path | Callable[..., object], *, variants: Sequence[str] = (), profile: str = "tiny"
) -> CarnetVerify:
    """Return a request for the test items of a protocol; assign it to a name ``test_…`` in a test module.

    Args:
        protocol: a registered id, a path (looked for beside the test file first), ``path.py:name``, ``module:name``, or
            a function of a file that returns a draft.
        variants: the designs to verify; by default those that ``carnet verify`` covers.
        profile: the size of the explored instances.
    """
    reference = f"{inspect.getsourcefile(protocol)}:{protocol.__name__}" if callable(protocol) else str(protocol)
    return CarnetVerify(reference, tuple(variants), profile)


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> pytest.Collector | None:
    """Collect the obligations of every :class:`CarnetVerify` in a module or a class."""
    if isinstance(obj, CarnetVerify):
        found: pytest.Collector = Obligations.from_parent(collector, name=name, asked=obj)
        return found
    return None


class NotEstablishedError(Exception):
    """An item failed; the message is the one that the command prints."""


class Obligations(pytest.Collector):
    """The collector of a protocol's obligations."""

    def __init__(self, *, asked: CarnetVerify, **rest: Any) -> None:
        super().__init__(**rest)
        self.asked = asked
        self._outcome: CampaignOutcome | None = None

    @property
    def source(self) -> Source:
        """The protocol, looked for beside the test file first."""
        from carnet_check.loading.families import load, parts_of

        path, name = parts_of(self.asked.reference)
        beside = self.path.parent / path
        return load(
            f"{beside}{name and f':{name}'}" if path.endswith(".py") and beside.is_file() else self.asked.reference
        )

    def plan(self) -> Campaign:
        """Return the planned run, not yet started, of the engines that answer many items at once."""
        from carnet_check.verification.planning import Request, plan_campaign

        names = tuple(engine.name for engine in engines() if not _is_separable(engine))
        return plan_campaign(Request(self.source, self.asked.variants, engines=names, profile=self.asked.profile))

    def outcome(self) -> CampaignOutcome:
        """Run the engines, once for all items."""
        from carnet_check.verification import campaign

        if self._outcome is None:
            self._outcome = campaign.verify(self.plan())
        return self._outcome

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the items of each variant: engine by engine, liveness, vacuity.

        Raises CollectError if there is no such protocol, or it is not well formed.
        """
        try:
            plans = self.plan().plans
        except CarnetError as error:
            raise self.CollectError(str(error)) from error
        for plan in plans:
            variant = plan.protocol.variant
            for engine in engines():
                yield from self._of_engine(engine, plan)
            yield from self._of_liveness(plan)
            for claim in plan.protocol.claims:
                if claim.declared:
                    yield DeclaredItem.from_parent(self, name=f"{variant}-declared/{claim.name}")
            yield VacuityItem.from_parent(self, name=f"{variant}-not-vacuous", variant=variant)

    def _of_engine(self, engine: Engine, plan: Plan) -> Iterator[pytest.Item]:
        from carnet_check.engines.interface import JudgesLemmaClaims, Separable

        variant = plan.protocol.variant
        if isinstance(engine, JudgesLemmaClaims):
            wanted = engine.decided_claims(plan)
            for lemma_claim, threat in (pair for pair in plan.lemma_claims if pair[0] in wanted):
                name = f"{variant}-{engine.name}/{lemma_claim.name}/{threat.id}"
                key = ("lemma-claim", engine.name, variant, lemma_claim.name, threat.id)
                yield VerdictItem.from_parent(self, name=name, key=key, verifies=lemma_claim.requirement)
            return
        if isinstance(engine, Separable):
            for check in engine.checks(plan):
                yield ProofItem.from_parent(self, name=f"{variant}-{check.name}", check=check)
            return
        for claim, threat in plan.pairs:
            name = f"{variant}-{engine.name}/{claim.name}/{threat.id}"
            key = ("claim", engine.name, variant, claim.name, threat.id)
            yield VerdictItem.from_parent(self, name=name, key=key, verifies=claim.requirement or claim.name)

    def _of_liveness(self, plan: Plan) -> Iterator[pytest.Item]:
        from carnet_check.engines.interface import DecidesLiveness, ProvesLiveness

        variant = plan.protocol.variant
        for live in plan.liveness:
            for engine in engines():
                if isinstance(engine, ProvesLiveness) and live in plan.liveness_to_prove:
                    name = f"{variant}-liveness/{live.name}"
                    yield LivenessItem.from_parent(self, name=name, prover=engine, protocol=plan.protocol, live=live)
                if isinstance(engine, DecidesLiveness):
                    for threat in plan.threats:
                        name = f"{variant}-{engine.name}/{live.name}/{threat.id}"
                        key = ("liveness", engine.name, variant, live.name, threat.id)
                        yield VerdictItem.from_parent(self, name=name, key=key, verifies=live.name)


def engines() -> tuple[Engine, ...]:
    """Return the engines that ``carnet verify`` runs by default."""
    from carnet_check.engines.registry import select_engines

    return select_engines(())


def _is_separable(engine: Engine) -> bool:
    from carnet_check.engines.interface import Separable

    return isinstance(engine, Separable)


class _Item(pytest.Item):
    """An item that fails with a sentence instead of a traceback."""

    parent: Obligations

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the reason in the words of the command."""
        if isinstance(excinfo.value, NotEstablishedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Place the item in the test file."""
        return self.path, None, f"{self.parent.name}[{self.name}]"


class ProofItem(_Item):
    """One proof obligation, given to the solver on its own."""

    def __init__(self, *, check: Check, **rest: Any) -> None:
        super().__init__(**rest)
        self.check = check
        self.user_properties.extend(("verifies", each) for each in check.verifies)

    def runtest(self) -> None:
        """Fail unless the obligation is proved; the message says why it is not."""
        failure = self.check.failure()
        if failure:
            raise NotEstablishedError(failure)


class VerdictItem(_Item):
    """One claim or liveness property under one threat model, by one engine."""

    def __init__(self, *, key: tuple[str, str, str, str, str], verifies: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.key = key
        self.user_properties.append(("verifies", verifies))

    def runtest(self) -> None:
        """Fail unless the verdict is the expected one; the message describes the attack if there is one."""
        outcome = self.parent.outcome()
        row = next(r for r in outcome.results if (str(r.kind), r.engine, r.variant, r.claim, r.threat) == self.key)
        if row.as_expected:
            return
        lines = [f"{row.claim} is {row.verdict_text}, expected {row.expected}: {row.detail}"]
        if row.has_trace:
            from carnet_check.attacks.describing import describe_attack
            from carnet_check.report.recording import attack_of

            attack = attack_of(outcome, row)
            lines += ["", *describe_attack(attack.judge, attack.failing, attack.trace, attack.states)]
        raise NotEstablishedError("\n".join(lines))


class LivenessItem(_Item):
    """One liveness property, by one engine."""

    def __init__(self, *, prover: ProvesLiveness, protocol: Protocol, live: Eventually, **rest: Any) -> None:
        super().__init__(**rest)
        self.prover = prover
        self.protocol = protocol
        self.live = live

    def runtest(self) -> None:
        """Fail unless the property is proved; the message says what is missing."""
        answer = self.prover.liveness(self.parent.source, self.protocol, self.live)
        if not answer.is_proved:
            raise NotEstablishedError(f"{self.live.name} is not proved: {'; '.join(answer.open)}")


class VacuityItem(_Item):
    """The vacuity check: goals are reached, actions are taken, and the adversary has moves."""

    def __init__(self, *, variant: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.variant = variant

    def runtest(self) -> None:
        """Fail if a goal is never reached or an action never taken."""
        rows = [
            r
            for r in self.parent.outcome().results
            if r.variant == self.variant and r.kind not in ("claim", "liveness")
        ]
        wrong = [f"{row.verdict}: {row.kind} {row.claim}: {row.detail}" for row in rows if not row.as_expected]
        if wrong:
            raise NotEstablishedError("\n".join(wrong))


class DeclaredItem(_Item):
    """A claim that is declared and not stated yet: it never counts as passed."""

    def runtest(self) -> None:
        """Skip."""
        pytest.skip("declared, not stated yet")
