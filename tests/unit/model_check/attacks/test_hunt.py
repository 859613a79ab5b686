"""A hunt that finds no attack in a small instance proves what was weakened, and nothing else, to call it redundant."""

from __future__ import annotations

from dataclasses import replace

from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import Source
from carnet_check.results import Verdict
from carnet_spec.language import Instance, Profile, Protocol, Scale
from tests.fixtures import toy

ALONE, PAIR = Profile("alone", {"borrowers": 0}), Profile("pair", {"borrowers": 2})
"""A lender alone is attacked by nobody, whatever was removed."""


def _instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    if scale["borrowers"]:
        return toy.instance(protocol, threat, scale)
    return Instance({"Agent": ("lender",), "Key": ("k1", "k2")}, functions={"lender": {(): "lender"}})


def _hunted(*profiles: Profile, without: str) -> Hunt:
    source = Source("toy", replace(toy.FAMILY, instance=_instance, hunts=profiles), "toy")
    return hunt(attack_target(source, without=(without,)), progress=lambda _: None)


def test_a_defence_is_not_redundant_because_a_small_search_finds_no_attack() -> None:
    found = _hunted(ALONE, without="fresh-key")
    assert (found.verdict, found.claim) == (Verdict.UNKNOWN, "secrecy")
    assert "neither attacked nor proved" in found.detail


def test_the_search_goes_on_where_nothing_is_proved() -> None:
    found = _hunted(ALONE, PAIR, without="fresh-key")
    assert found.verdict is Verdict.VIOLATED
    assert found.profile == PAIR


def test_a_defence_is_redundant_if_the_protocol_is_proved_without_it() -> None:
    found = _hunted(ALONE, without="return-checked")
    assert found.verdict is Verdict.PROVED
    assert "still proved without return-checked: redundant under collusion" in found.detail


def test_a_variant_with_sizes_of_its_own_is_hunted_in_those() -> None:
    main = toy.FAMILY.variants["main"]
    variants = {"main": replace(main, hunts=(PAIR,))}
    family = replace(toy.FAMILY, instance=_instance, hunts=(ALONE,), variants=variants, main=("main",), findings=())
    found = hunt(attack_target(Source("toy", family, "toy"), without=("fresh-key",)), progress=lambda _: None)
    assert (found.verdict, found.profile) == (Verdict.VIOLATED, PAIR)
