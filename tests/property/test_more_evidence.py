"""More evidence never turns a refusal into an acceptance, nor an acceptance into a refusal that needed nothing more.

For everything that is appraised twice, first with some parts and then with these and more:

* Each step ends as before, or is not reached because an earlier one refuses, unless it says itself that it was
  ``without`` options of which there is more now. So what was refused is refused at that step or before it, except
  for lack of something; and what was accepted is refused only at a step that was not taken, or not wholly, for lack of
  just that.
* What is accepted stays so with everything that fits it. So no step says that it lacks something which would not help.
* Another policy that asks for more refuses what was refused.

What cannot be read is refused at ``parse``, whatever else is given, and so are two RIMs about the same thing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.attestation.appraisal import POLICY, Appraisal
from carnet_ref.attestation.formats import FORMATS, OptionKind
from carnet_ref.attestation.nvidia.node import SWITCHES
from tests.fixtures.given_parts import Situation, every_situation, of_this_machine
from tests.fixtures.intel_evidence import FOLDER, MISSING
from tests.fixtures.real_parts import real_situations

Choice = tuple[int | None, ...]
"""For each part the number of its value, or that it is not given."""
SITUATIONS = tuple(every_situation())
REAL = tuple(real_situations())
FEW, ALL = slice(2), slice(None)
NO_PARTS = {"device"}
"""Options that say which evidence is meant."""


def choices(situation: Situation) -> Iterator[Choice]:
    """Yield every way to give some of the parts."""
    return itertools.product(*((None, *range(len(part.values))) for part in situation.parts.values()))


def given(situation: Situation, choice: Choice) -> Mapping[str, Any]:
    """Return the parts that a choice gives, with their values."""
    parts = zip(situation.parts.items(), choice, strict=True)
    return {name: part.values[place] for (name, part), place in parts if place is not None}


def fewer(choice: Choice) -> Iterator[Choice]:
    """Yield the choice without one or more of its parts."""
    without = itertools.product(*((place,) if place is None else (place, None) for place in choice))
    return (each for each in without if each != choice)


def completed(situation: Situation, choice: Choice) -> Choice:
    """Return the choice with every other part that fits."""
    parts = zip(situation.parts.values(), choice, strict=True)
    return tuple(0 if place is None and part.fits else place for part, place in parts)


def broken(some: Appraisal, more: Appraisal, options: frozenset[str]) -> list[str]:
    """Return the steps that end otherwise with more, although they need none of these options."""
    ends = {step.id: step.ok for step in more.steps}
    bound = [step for step in some.steps if options.isdisjoint(step.without)]
    wrong = [f"{step.id}: {step.ok}, then {ends[step.id]}" for step in bound if ends.get(step.id, step.ok) != step.ok]
    if more.accepted:
        wrong += [f"{step.id}: {step.ok}, then not there" for step in bound if step.id not in ends]
    elif some.accepted and more.failed_step not in {step.id for step in some.steps}:
        wrong.append(f"{more.failed_step}: not there, then False")
    return wrong


def check(situation: Situation, policies: slice = FEW) -> int:
    """Check every pair of choices by each policy, and return how many of them were refused with more alone."""
    options = [part.option for part in situation.parts.values()]
    refused = 0
    first: dict[Choice, Appraisal] = {}
    for policy in situation.policies[policies]:
        appraisals = {each: situation.appraised(given(situation, each), policy) for each in choices(situation)}
        for choice, more in appraisals.items():
            for less in fewer(choice):
                some = appraisals[less]
                changed = zip(options, choice, less, strict=True)
                added = frozenset(option for option, now, then in changed if now != then)
                assert not broken(some, more, added), (situation.name, given(situation, less).keys(), added, policy)
                refused += some.accepted and not more.accepted
            if more.accepted:
                whole = appraisals[completed(situation, choice)]
                assert whole.accepted, (situation.name, given(situation, choice).keys(), whole.steps[-1], policy)
            before = first.setdefault(choice, more)
            if before.failed_step is not None and not before.steps[-1].without:
                assert not more.accepted, (situation.name, choice, policy)
                assert {step.id: step.ok for step in more.steps}.get(before.failed_step, False) is not True
    return refused


@pytest.mark.mends("R404")
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: f"{each.kind} {each.name}")
def test_more_evidence_only_decides_what_lacked_it(situation: Situation) -> None:
    refused = check(situation)
    assert refused or not situation.appraised({}).accepted, "nothing that was given besides was refused"


def test_more_evidence_only_decides_what_lacked_it_on_this_machine(tmp_path: Path) -> None:
    assert check(of_this_machine(tmp_path)), "nothing was refused for what was given besides"


@pytest.mark.slow
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: f"{each.kind} {each.name}")
def test_more_evidence_only_decides_what_lacked_it_by_every_policy(situation: Situation) -> None:
    check(situation, ALL)


@pytest.mark.skipif(FOLDER is None, reason=MISSING)
@pytest.mark.parametrize("situation", REAL, ids=lambda each: f"{each.kind} {each.name}")
def test_more_evidence_only_decides_what_lacked_it_of_real_machines(situation: Situation) -> None:
    check(situation)


def test_every_option_of_every_format_is_given_in_some_situation() -> None:
    for kind, registered in FORMATS.items():
        options = {option.name for option in registered.load().options} - NO_PARTS
        assert options <= {part.option for each in SITUATIONS if each.kind == kind for part in each.parts.values()}


def test_steps_lack_nothing_but_options_that_their_format_has() -> None:
    options = {kind: {option.name for option in registered.load().options} for kind, registered in FORMATS.items()}
    options["composite"] = options["tdx"] | options["gpu"]
    for each in SITUATIONS:
        lacking = {option for step in each.appraised({}).steps for option in step.without}
        assert lacking - {POLICY, SWITCHES} <= options[each.kind]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: f"{each.kind} {each.name}")
def test_what_cannot_be_read_is_refused_whatever_is_given_besides(situation: Situation) -> None:
    every = {name: part.values[0] for name, part in situation.parts.items() if part.fits}
    files = [name for name, value in every.items() if situation.parts[name].option in FILES]
    for name in files:
        value = every[name]
        spoilt: dict[str, Any] = {name: (b"\xff",) if isinstance(value, tuple) else b"\xff"}
        needed: dict[str, Any] = {key: every[key] for key in ("chain", "key") if key in every}
        for besides in (needed, every):
            assert not situation.appraised({**besides, **spoilt}).accepted


FILES = {
    option.name
    for registered in FORMATS.values()
    for option in registered.load().options
    if option.kind in (OptionKind.FILE, OptionKind.FILES)
}
