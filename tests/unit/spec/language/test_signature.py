"""The signature of a protocol has every sort that anything in it names."""

from __future__ import annotations

from carnet_spec.language import Formula, Individual, member
from tests.unit.spec.language.vocabulary import drafted


class Light(Individual):
    """What a lamp shows."""

    RED = member()
    GREEN = member()


def test_a_sort_of_which_members_alone_are_named_is_declared() -> None:
    draft = drafted()

    @draft.lemma
    def lights_differ() -> Formula:
        return Light.RED != Light.GREEN

    assert Light.sort in draft.protocol().sorts
