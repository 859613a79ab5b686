"""Small protocols that were given wrong verdicts: each is judged truly now, or refused."""

from __future__ import annotations

from dataclasses import replace
from types import FunctionType

import pytest

from carnet_check.errors import InvalidSpecificationError, UsageError
from carnet_check.loading.families import load
from carnet_spec.language import Family, Profile, SpecificationError
from tests.oracle import found
from tests.oracle.compare import EXPLORED, judge_family
from tests.oracle.questions import sorts_of

FOUND_AS = {
    "circle_of_early_reads": "R4",
    "constants_coincide": "R7",
    "flag_named_like_a_switch": "R5, R11",
    "given_back": "R1",
    "larger_premise": "R8",
    "layer_gives_a_first_value": "R6: first values of what the design below reads",
    "names_that_end_in_numbers": "R2",
    "obligations_of_one_name": "new: obligation ids are joined names",
    "premises_of_one_name": "new: goals that stand for premises are joined names",
    "premises_in_another_order": "new: goals that stand for premises are joined names",
    "read_before_written": "R10",
    "read_below_written_above": "R6",
    "sort_called_bool": "new: a sort may be called Bool",
    "sort_of_a_variable_only": "new: Protocol.sorts misses sorts of quantifiers and claims",
    "sweep_then_narrow": "what the order of updates means",
    "updates_that_disagree": "V5",
    "unset_variable_of_a_fresh_sort": "R10 with R1",
    "variable_of_two_sorts": "R9",
}


def asked(name: str) -> Family:
    """The family of a protocol, with two elements of each sort."""
    family = load(f"{found.__file__}:{name}").family
    sizes = {sort.name: EXPLORED for variant in family.variants for sort in sorts_of(family.protocol(variant))}
    known = {sort.name for variant in family.variants for sort in family.protocol(variant).sorts}
    scale = {sort: size for sort, size in sizes.items() if sort in known}
    return replace(family, profiles={"tiny": Profile("tiny", scale)})


@pytest.mark.parametrize("name", FOUND_AS)
def test_it_is_judged_truly_or_refused(name: str) -> None:
    try:
        judgement = judge_family(asked(name))
    except (SpecificationError, InvalidSpecificationError, UsageError):
        return  # refused already when it was read
    assert not judgement.too_big
    assert not judgement.disagreements, "\n".join(map(str, judgement.disagreements))


def test_every_protocol_is_judged() -> None:
    mine = {name for name, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__}
    drafts = {name for name in mine if isinstance(getattr(found, name), FunctionType) and not name.startswith("_")}
    assert {*FOUND_AS} == drafts | {name for name, value in vars(found).items() if isinstance(value, Family)}
