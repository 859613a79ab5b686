"""What a family builds, and when it builds it again."""

from __future__ import annotations

from dataclasses import replace

from carnet_spec.language import Draft, Family
from tests.fixtures import toy

FAMILY = toy.FAMILY


def counting(built: list[str]) -> Family:
    def draft(variant: str) -> Draft:
        built.append(variant)
        return FAMILY.draft(variant)

    return replace(FAMILY, draft=draft)


def test_a_variant_is_built_once() -> None:
    built: list[str] = []
    family = counting(built)
    first, second = family.protocol(), family.protocol(FAMILY.main[0])
    assert first is second
    assert first == FAMILY.protocol()
    assert built == [FAMILY.main[0]]


def test_a_family_with_another_draft_builds_its_own() -> None:
    FAMILY.protocol()
    built: list[str] = []
    counting(built).protocol()
    assert built == [FAMILY.main[0]]


def test_what_lacks_a_defence_is_resolved_from_the_same_draft() -> None:
    built: list[str] = []
    family = counting(built)
    defence = family.protocol().defences[0].id
    first, second = (family.protocol(without=(defence,)) for _ in range(2))
    assert first == second
    assert first.without == (defence,)
    assert first != family.protocol()
    assert family.protocol().without == ()
    assert family.drafted(FAMILY.main[0]) is family.drafted(FAMILY.main[0])
    assert built == [FAMILY.main[0]]
