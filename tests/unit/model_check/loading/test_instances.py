"""The instance that a family gives: what it says of a symbol that is in no design of the family is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_check.errors import UsageError
from carnet_check.loading.families import Source, load
from carnet_spec.language import Instance, Protocol, Scale
from tests.unit.model_check.command import TOY


def _source(**misspelt: str) -> Source:
    """Return the toy with some symbols of its instances misspelt."""
    source = load(TOY)

    def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
        right = source.family.instance(protocol, threat, scale)
        relations = {misspelt.get(name, name): rows for name, rows in right.relations.items()}
        return replace(right, relations=relations)

    return replace(source, family=replace(source.family, instance=instance))


def test_a_misspelt_relation_is_refused_in_one_line() -> None:
    source = _source(corrupt="corupt")
    with pytest.raises(UsageError, match=r"the instance: no symbol that never changes 'corupt' in toy") as refused:
        source.instance(source.protocol(), "collusion", source.profile("tiny"))
    assert "did you mean 'corrupt'?" in str(refused.value)


@pytest.mark.parametrize("variant", load("gpu-travelling").family.main)
def test_one_instance_serves_designs_without_a_symbol(variant: str) -> None:
    """Removing what alone spoke of a symbol takes it out of the protocol, and not out of the instance."""
    source = load("gpu-travelling")
    for defence in source.protocol(variant).defences[:3]:
        if defence.id not in source.protocol(variant).without:
            protocol = source.protocol(variant, (defence.id,))
            assert source.instance(protocol, "collusion", source.profile("tiny")).elements


def test_a_size_that_only_the_function_knows_is_taken() -> None:
    """A size with a default need not stand in any profile: the family's own function looks it up."""
    source = load(TOY)

    def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
        made = source.family.instance(protocol, threat, scale)
        return replace(made, describes=f"{scale.get('spare', 1)} spare")

    sized = replace(source, family=replace(source.family, instance=instance))
    profile = sized.profile("tiny")
    wider = replace(profile, scale={**profile.scale, "spare": 4})
    assert sized.instance(sized.protocol(), "none", wider).describes == "4 spare"
    stray = replace(profile, scale={**profile.scale, "spart": 4})
    with pytest.raises(UsageError, match=r"^no size 'spart' in toy; did .* \(known: borrowers, spare\)$"):
        sized.instance(sized.protocol(), "none", stray)


@pytest.mark.parametrize("id", ["pipellm", "sgx-lkl", "teechain", "fastrack", "ring-all-reduce", "tensortee"])
def test_every_protocol_refuses_a_size_that_it_does_not_have(id: str) -> None:
    """Its instance would be the same without it, and look as large as was asked for."""
    source = load(id)
    protocol, profile = source.protocol(), source.profile("tiny")
    for stray in ("rounds", "nonsense"):
        sized = replace(profile, scale={**profile.scale, stray: 3})
        with pytest.raises(UsageError, match=rf"^no size '{stray}' in {id}; known: "):
            source.instance(protocol, source.family.default_threat, sized)


def test_a_size_that_is_taken_with_all_others_must_make_a_difference() -> None:
    source = load(TOY)
    defaults = {"borrowers": 1, "spare": 1}

    def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
        sizes = {**defaults, **scale}
        made = source.family.instance(protocol, threat, sizes)
        if sizes["spare"] > 8:
            raise ValueError("too many")
        return replace(made, describes=f"{sizes['spare']} spare")

    sized = replace(source, family=replace(source.family, instance=instance))
    profile = sized.profile("tiny")
    for spare in (4, 8):
        wider = replace(profile, scale={**profile.scale, "spare": spare})
        assert sized.instance(sized.protocol(), "none", wider).describes == f"{spare} spare"
    stray = replace(profile, scale={**profile.scale, "spart": 4})
    with pytest.raises(UsageError, match=r"^no size 'spart' in toy"):
        sized.instance(sized.protocol(), "none", stray)


def test_sizes_of_gpu_travelling_need_no_profile() -> None:
    source = load("gpu-travelling")
    profile = source.profile("tiny")
    assert "slots" not in profile.scale
    slots = source.instance(source.protocol(), "collusion", replace(profile, scale={**profile.scale, "slots": 7}))
    assert len(slots.elements["Slot"]) == 7
