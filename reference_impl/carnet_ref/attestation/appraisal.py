"""Appraisal as a list of numbered steps, each with a verdict and a reason; nothing is accepted by default.

An appraisal procedure fills a `Checklist` and goes through its steps in a fixed order. The first step that fails
ends it, because what comes after rests on what came before. A step that was not asked for is listed with ``ok=None``.

Source: RFC 9334 (RATS architecture), sections 3 and 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True, slots=True)
class AppraisalStep:
    """One step of an appraisal: its id, whether it held (``None``: not requested), why, and who asks for it."""

    id: str
    ok: bool | None
    detail: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Appraisal:
    """What came of appraising evidence: the steps in order and, if all held, the claims that may be relied on."""

    steps: tuple[AppraisalStep, ...]
    claims: Mapping[str, object]

    @property
    def failed_step(self) -> str | None:
        """The id of the step that refused the evidence, if one did."""
        return next((step.id for step in self.steps if step.ok is False), None)

    @property
    def accepted(self) -> bool:
        """Whether some step was checked and none refused."""
        return self.failed_step is None and any(step.ok for step in self.steps)


class RefusedError(Exception):
    """Evidence was refused at a step.

    Attributes:
        step: the step, with the reason.
    """

    def __init__(self, step: AppraisalStep) -> None:
        super().__init__(f"{step.id}: {step.detail}")
        self.step = step


class Checklist:
    """The steps of an appraisal in the making."""

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: list[AppraisalStep] = []

    @property
    def held(self) -> frozenset[str]:
        """The ids of the steps that held so far."""
        return frozenset(step.id for step in self._steps if step.ok)

    def passed(self, step: str, detail: str, source: str = "") -> None:
        """Record that ``step`` held."""
        self._steps.append(AppraisalStep(step, True, detail, source))

    def not_requested(self, step: str, source: str = "") -> None:
        """Record that nobody asked for ``step``."""
        self._steps.append(AppraisalStep(step, None, "not requested", source))

    def left_out(self, step: str, why: str, source: str = "") -> None:
        """Record that ``step`` could not be taken, which a policy may mind, because the evidence has nothing for it."""
        self._steps.append(AppraisalStep(step, None, why, source))

    def refuse(self, step: str, detail: str, source: str = "") -> NoReturn:
        """Record that ``step`` failed, and end the appraisal.

        Raises:
            RefusedError: always.
        """
        self._steps.append(AppraisalStep(step, False, detail, source))
        raise RefusedError(self._steps[-1])

    def require(self, condition: bool, step: str, detail: str, otherwise: str, source: str = "") -> None:
        """Record that ``step`` held, for the reason ``detail``, or refuse with the reason ``otherwise``."""
        if not condition:
            self.refuse(step, otherwise, source)
        self.passed(step, detail, source)

    def concluded(self, claims: Mapping[str, object]) -> Appraisal:
        """Return the appraisal; claims of refused evidence are dropped."""
        refused = any(step.ok is False for step in self._steps)
        return Appraisal(tuple(self._steps), {} if refused else dict(claims))
