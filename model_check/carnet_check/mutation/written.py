"""What a campaign finds, as JSON values and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from carnet_check.mutation.judging import Fate, Judgement
from carnet_check.mutation.places import Place
from carnet_check.mutation.scenarios import Scenario
from carnet_check.mutation.weaknesses import Weakened, Weakness
from carnet_spec.language import Profile
from carnet_spec.trace import Trace

Json = Mapping[str, Any]


def judgement_as_json(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement as JSON values."""
    return {**asdict(judgement), "fate": str(judgement.fate), "by": str(judgement.by), "core": list(judgement.core)}


def judgement_from_json(value: Json) -> Judgement:
    """Read a judgement back."""
    return Judgement(**{**value, "fate": Fate(value["fate"]), "core": tuple(value["core"])})


def scenario_as_json(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as JSON values."""
    return {
        "place": _place_as_json(scenario.place),
        "states": scenario.states,
        "taken": sorted(scenario.taken),
        "ways": {name: trace.to_json() for name, trace in scenario.ways.items()},
    }


def scenario_from_json(value: Json) -> Scenario:
    """Read a scenario back."""
    ways = {name: Trace.from_json(trace) for name, trace in value["ways"].items()}
    return Scenario(_place_from_json(value["place"]), value["states"], frozenset(value["taken"]), ways)


def weaknesses_as_json(found: Iterable[Weakness]) -> dict[str, Any]:
    """Return the attacks on a weakened design as JSON values."""
    return {"attacks": [_weakness_as_json(each) for each in found]}


def weaknesses_from_json(value: Json) -> tuple[Weakness, ...]:
    """Read the attacks on a weakened design back."""
    return tuple(_weakness_from_json(each) for each in value["attacks"])


def _weakness_as_json(weakness: Weakness) -> dict[str, Any]:
    return {
        "weakened": {**asdict(weakness.weakened), "without": list(weakness.weakened.without)},
        "place": _place_as_json(weakness.place),
        "claim": weakness.claim,
        "trace": weakness.trace.to_json(),
        "states": weakness.states,
    }


def _weakness_from_json(value: Json) -> Weakness:
    told = value["weakened"]
    where = Weakened(**{**told, "without": tuple(told["without"])})
    place, trace = _place_from_json(value["place"]), Trace.from_json(value["trace"])
    return Weakness(where, place, value["claim"], trace, value["states"])


def _place_as_json(place: Place) -> dict[str, Any]:
    size = {"name": place.profile.name, "scale": dict(place.profile.scale), "budget": place.profile.budget}
    return {"variant": place.variant, "size": size, "threat": place.threat, "honest": place.honest}


def _place_from_json(value: Json) -> Place:
    size = value["size"]
    profile = Profile(size["name"], size["scale"], size["budget"])
    return Place(value["variant"], profile, value["threat"], value["honest"])
