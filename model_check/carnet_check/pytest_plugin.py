"""A pytest plugin: a protocol's obligations as test items.

In a test file beside the protocol::

    from carnet_check.pytest_plugin import carnet_verify

    test_toy = carnet_verify("toy.py")

gives one item to each obligation: what induction has to prove, each claim under each threat model in the small
instances, each liveness property, and that nothing passes for want of anything happening. ``pytest -k secrecy`` and
``pytest -n 2`` work as for any item. An item passes by the same engines and budgets as ``carnet verify``.
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
    from carnet_check.engines.induction import Obligation
    from carnet_check.loading.families import Source
    from carnet_check.verification.planning import Campaign, Plan
    from carnet_spec.language import Claim, Eventually, Invariant, Protocol, Threat


@dataclass(frozen=True, slots=True)
class CarnetVerify:
    """What is to be verified; a module that has one has its test items."""

    reference: str
    variants: tuple[str, ...]
    profile: str


def carnet_verify(
    protocol: str | Path | Callable[..., object], *, variants: Sequence[str] = (), profile: str = "tiny"
) -> CarnetVerify:
    """Ask for one test item to each obligation of a protocol; the result is to be named ``test_…`` in a test module.

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
    """Collect the obligations wherever a module or a class names a :class:`CarnetVerify`."""
    if isinstance(obj, CarnetVerify):
        found: pytest.Collector = Obligations.from_parent(collector, name=name, asked=obj)
        return found
    return None


class NotEstablishedError(Exception):
    """Why an item failed, in the words that the command would use."""


class Obligations(pytest.Collector):
    """Everything that has to hold for a protocol to be verified."""

    def __init__(self, *, asked: CarnetVerify, **rest: Any) -> None:
        super().__init__(**rest)
        self.asked = asked
        self._campaign: Campaign | None = None

    @property
    def source(self) -> Source:
        """The protocol, looked for beside the test file first."""
        from carnet_check.loading.families import load

        path, colon, name = self.asked.reference.partition(":")
        beside = self.path.parent / path
        return load(f"{beside}{colon}{name}" if path.endswith(".py") and beside.is_file() else self.asked.reference)

    def planned(self) -> Campaign:
        """Return the exploration that the items share, planned and not run."""
        from carnet_check.verification.planning import EXPLICIT, Request, planned

        return planned(Request(self.source, self.asked.variants, engines=(EXPLICIT,), profile=self.asked.profile))

    def explored(self) -> Campaign:
        """Run the exploration, once for all items."""
        from carnet_check.verification import campaign

        if self._campaign is None:
            self._campaign = campaign.verify(self.planned(), lambda _kind, _text: None)
        return self._campaign

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the items of each variant: induction, exploration, vacuity.

        Raises:
            CollectError: there is no such protocol, or it is not well formed.
        """
        try:
            plans = self.planned().plans
        except CarnetError as error:
            raise self.CollectError(str(error)) from error
        for plan in plans:
            variant = plan.protocol.variant
            for threat, obligation in inductive(plan):
                model = f"{threat.id}:" if threat else ""
                yield Proof.from_parent(self, name=f"{variant}-{model}{obligation.id}", obligation=obligation)
            for claim, threat in plan.pairs:
                name = f"{variant}-explicit/{claim.name}/{threat.id}"
                yield Explored.from_parent(self, name=name, variant=variant, claim=claim, threat=threat.id)
            for live in plan.protocol.liveness:
                name = f"{variant}-liveness/{live.name}"
                yield Lively.from_parent(self, name=name, protocol=plan.protocol, live=live)
            for claim in plan.protocol.claims:
                if claim.declared:
                    yield Declared.from_parent(self, name=f"{variant}-declared/{claim.name}")
            yield NotVacuous.from_parent(self, name=f"{variant}-not-vacuous", variant=variant)


def inductive(plan: Plan) -> Iterator[tuple[Threat | None, Obligation]]:
    """Yield what induction has to prove: what holds under every threat model, then what is limited to some.

    Fewer hypotheses are at hand under no particular threat model than under any, so what is proved there is proved
    everywhere and is not asked again.
    """
    from carnet_check.engines.induction import obligations

    protocol = plan.protocol
    general = obligations(protocol)
    yield from ((None, each) for each in general)
    proved = {each.invariant.name for each in general}
    for threat in protocol.threats:
        limited = [each for each in obligations(protocol, threat) if each.invariant.name not in proved]
        yield from ((threat, each) for each in limited)


class _Item(pytest.Item):
    """An item that fails with a sentence instead of a traceback."""

    parent: Obligations

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say why in the words of the command."""
        if isinstance(excinfo.value, NotEstablishedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Place the item in the test file."""
        return self.path, None, f"{self.parent.name}[{self.name}]"


class Proof(_Item):
    """One obligation of the induction, put to the solver by itself."""

    def __init__(self, *, obligation: Obligation, **rest: Any) -> None:
        super().__init__(**rest)
        self.obligation = obligation
        self.user_properties.extend(_verifies(obligation.invariant, obligation.system.protocol.claims))

    def runtest(self) -> None:
        """Ask the solver, and if it finds no proof say how the step breaks the invariant."""
        from carnet_check.engines.induction import DEFAULT_RLIMIT, Outcome, Workers
        from carnet_check.engines.induction.hints import load_hints
        from carnet_check.engines.induction.induction import answers_to

        system = self.obligation.system
        with Workers(1) as here:
            (answer,) = answers_to([self.obligation], system, load_hints(system.protocol), DEFAULT_RLIMIT, here)
        if answer.outcome is not Outcome.PROVED:
            from carnet_check.engines.induction import explain_cti

            raise NotEstablishedError(explain_cti(system.protocol, self.obligation.id, system.threat))


class Explored(_Item):
    """One claim under one threat model, in every state of the small instance."""

    def __init__(self, *, variant: str, claim: Claim, threat: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.key = (variant, claim.name, threat)
        self.user_properties.append(("verifies", claim.requirement or claim.name))

    def runtest(self) -> None:
        """Fail unless the verdict is the expected one, and tell the attack if there is one."""
        campaign = self.parent.explored()
        row = next(r for r in campaign.results if r.kind == "claim" and (r.variant, r.claim, r.threat) == self.key)
        if row.as_expected:
            return
        lines = [f"{row.claim} is {row.shown}, expected {row.expected}: {row.detail}"]
        if row.steps:
            from carnet_check.attacks.describing import describe_attack
            from carnet_check.report.recording import attack_of

            attack = attack_of(campaign, row)
            lines += ["", *describe_attack(attack.judge, attack.claim.checked, attack.trace, attack.states)]
        raise NotEstablishedError("\n".join(lines))


class Lively(_Item):
    """One liveness property, by fairness of one step."""

    def __init__(self, *, protocol: Protocol, live: Eventually, **rest: Any) -> None:
        super().__init__(**rest)
        self.protocol = protocol
        self.live = live

    def runtest(self) -> None:
        """Fail unless it is proved, and say what is missing."""
        from carnet_check.engines.induction.liveness import by_fairness

        outcome = by_fairness(self.protocol, self.live)
        if not outcome.proved:
            raise NotEstablishedError(f"{self.live.name} is not proved: {'; '.join(outcome.open)}")


class NotVacuous(_Item):
    """Goals are reached, steps are taken, the adversary does something."""

    def __init__(self, *, variant: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.variant = variant

    def runtest(self) -> None:
        """Fail if anything that should happen never does."""
        rows = [r for r in self.parent.explored().results if r.kind != "claim" and r.variant == self.variant]
        wrong = [f"{row.verdict}: {row.kind} {row.claim}: {row.detail}" for row in rows if not row.as_expected]
        if wrong:
            raise NotEstablishedError("\n".join(wrong))


class Declared(_Item):
    """A claim that is named and not stated yet: never counted as passed."""

    def runtest(self) -> None:
        """Skip."""
        pytest.skip("declared, not stated yet")


def _verifies(invariant: Invariant, claims: Sequence[Claim]) -> Iterator[tuple[str, str]]:
    """Yield the requirement that an invariant states, for those who trace tests to requirements."""
    for claim in claims:
        if claim.invariant is not None and claim.invariant.name == invariant.name:
            yield "verifies", claim.requirement or claim.name
