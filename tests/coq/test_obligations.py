"""The generators in Coq and in Python make the same obligations, formula by formula."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from carnet_check.exports.systems import system
from carnet_check.loading.families import load
from carnet_spec.language import Protocol
from tests.coq.built import program, said
from tests.coq.certifiable import certifiable
from tests.coq.generated import made_in_coq, made_in_python, names_for_certificates
from tests.coq.thorny import thorny

FAMILY = load("gpu-travelling").family


def require_agreement(protocol: Protocol) -> int:
    """Compare the generators, and return how many obligations they make."""
    in_coq, untouched_in_coq = made_in_coq(said("obligations", system(protocol.encoded)))
    in_python, untouched, names = made_in_python(protocol)
    for one, other in zip(in_coq, in_python, strict=True):
        assert one == other
    assert untouched_in_coq == untouched
    assert list(names_for_certificates(protocol)) == names
    return len(in_coq)


@pytest.mark.parametrize("examples", [25, pytest.param(500, marks=pytest.mark.slow)])
def test_obligations_of_random_protocols_are_the_same(examples: int) -> None:
    program()
    seen = []

    @settings(max_examples=examples, deadline=None)
    @given(certifiable())
    def compared(protocol: Protocol) -> None:
        seen.append(require_agreement(protocol))

    compared()
    assert sum(seen) > examples


def test_obligations_of_thorny_steps_are_the_same() -> None:
    assert require_agreement(thorny()) > 5


@pytest.mark.parametrize("variant", FAMILY.with_layers(FAMILY.main)[1::2])
def test_obligations_of_timed_layers_are_the_same(variant: str) -> None:
    assert require_agreement(FAMILY.protocol(variant)) > 200


@pytest.mark.slow
@pytest.mark.parametrize("variant", FAMILY.with_layers(FAMILY.main)[::2])
def test_obligations_of_main_variants_are_the_same(variant: str) -> None:
    assert require_agreement(FAMILY.protocol(variant)) > 2_000
