"""Every defence of the specification is enforced at the one place that is named for it."""

from __future__ import annotations

import inspect
import pkgutil

import pytest

from carnet_ref.systems.gpu_travelling.defences import COUNTERPARTS
from carnet_spec.protocols.gpu_travelling import FAMILY


def test_every_defence_of_the_specification_has_a_counterpart() -> None:
    specified = {defence.id for defence in FAMILY.protocol("sealed-under-master").defences}
    specified |= {defence.id for defence in FAMILY.protocol("engine-per-holder").defences}
    assert specified <= set(COUNTERPARTS)


@pytest.mark.parametrize(("defence", "place"), COUNTERPARTS.items())
def test_the_place_named_for_a_defence_asks_for_it(defence: str, place: str) -> None:
    assert f'"{defence}"' in inspect.getsource(pkgutil.resolve_name(place))
