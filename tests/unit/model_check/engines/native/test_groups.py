"""What an action does with each element apart: nothing is lost, and it is asked for only where that helps."""

from __future__ import annotations

import functools
import importlib

import pytest

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.native.search import NativeSearch
from carnet_check.semantics import Interpreter
from carnet_spec.language import Instance, Protocol
from tests.fixtures.unseen import letters, relay, sites, vote

groups = importlib.import_module("carnet_check.engines.explicit.search")
WATCH = Watch(max_states=2_000, max_memory=None, progress=None)


def searched(protocol: Protocol, instance: Instance) -> NativeSearch:
    """Return a search that went on beyond the kernel's taking over."""
    model = build(Interpreter(protocol, instance), (), (), reduce=False)
    search = NativeSearch(model, WATCH, enough=0, dominance=True, hand_over_at=500)
    search.run()
    return search


@pytest.mark.parametrize(
    ("protocol", "instance"), [(vote(), sites(3)), (relay(), letters(2, among=3))], ids=["vote", "relay"]
)
def test_actions_in_parts_do_what_they_do_whole(
    protocol: Protocol, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "FEW", 1)
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    expected, found = (
        explore(protocol, instance, invariants=invariants, packed=packed, stop_at_first=False)
        for packed in (PackedSearch, functools.partial(NativeSearch, hand_over_at=100))
    )
    assert expected.complete
    assert (found.states, found.transitions, found.depth) == (expected.states, expected.transitions, expected.depth)
    assert found.fired == expected.fired


def test_actions_that_depend_on_few_bits_stay_whole() -> None:
    protocol = vote()
    assert len(searched(protocol, sites(1)).expanders) == len(protocol.actions)


def test_actions_fall_into_parts_until_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = vote()
    monkeypatch.setattr(groups, "FEW", 1)
    some = len(searched(protocol, sites(3)).expanders)
    assert some > len(protocol.actions)
    monkeypatch.setattr(groups, "MANY", some - 1)
    assert len(protocol.actions) < len(searched(protocol, sites(3)).expanders) < some
