"""What lints say against a protocol is said whole, however much it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.model_check.command import carnet

DRAFT = """
from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, relation


class Person(Individual):
    pass


GUEST = Role("guest")
inside = relation("inside", Person, kind=Kind.STATE, of=GUEST, says="who is in")


def hall() -> Draft:
    draft = Draft("hall", "Hall")

    @draft.action(by=GUEST, says="{p} goes in.", source="hall")
    def enter(step: Step, p: Person) -> None:
        step.insert(inside(p))

    for number in range(8):

        @draft.claim(name=f"claim-{number}", sentence="Nothing.", requirement="R", source="hall", under=())
        def nothing(p: Person) -> Formula:
            return inside(p) >> inside(p)

    return draft
"""


@pytest.mark.mends("P8")
def test_every_complaint_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "hall.py"
    file.write_text(DRAFT)
    ran = carnet("verify", str(file), "--json")
    said = ran.out + ran.err
    assert [number for number in range(8) if f"claim-{number}" not in said] == []
    assert "more complaint" not in said
