"""What variants ask of firmware is listed for each of them, with what is publicly known of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from carnet_spec.language import Service
from carnet_spec.protocols.gpu_travelling import FAMILY
from carnet_spec.protocols.gpu_travelling.design import HIDDEN, LACKING, SHOWN
from docs._ext.carnet_pages.protocols import services
from tests.fixtures import toy

SERVICES = {service.id: service for service in FAMILY.services}


def needed(variant: str, *kinds: str) -> set[str]:
    return {id for id, each in SERVICES.items() if variant in each.needed_by and each.available in kinds}


def test_the_page_has_each_service_with_its_source_and_each_variant_with_its_needs() -> None:
    asked = (
        Service("seal", "seals keys", SHOWN, "seal.c", frozenset({"main"})),
        Service("ledger", "keeps a ledger", LACKING, "no file", frozenset({"main", "forgetful"})),
    )
    page = list(services(replace(toy.FAMILY, services=asked)))
    assert "| `seal` | seals keys | shown | seal.c |" in page
    assert "| `main` |  | `seal` | `ledger` |" in page
    assert "| `forgetful` |  |  | `ledger` |" in page


def test_a_protocol_that_asks_nothing_has_no_such_section() -> None:
    assert list(services(toy.FAMILY)) == []


def test_every_service_is_needed_by_known_variants_and_has_a_kind_and_a_source() -> None:
    assert {each.available for each in SERVICES.values()} == {SHOWN, HIDDEN, LACKING}
    for service in SERVICES.values():
        assert service.needed_by
        assert service.needed_by <= set(FAMILY.variants)
        assert re.search(r"\.[ch]\b|no file", service.where)


@pytest.mark.parametrize("variant", FAMILY.with_layers(FAMILY.main))
def test_a_main_variant_that_asks_for_more_than_the_driver_shows_says_so(variant: str) -> None:
    asks = needed(variant, HIDDEN, LACKING)
    assert asks
    assert FAMILY.variants[variant].label == "needs firmware"


def test_the_two_designs_differ_in_where_keys_come_from() -> None:
    engine, sealed = FAMILY.main
    every = (SHOWN, HIDDEN, LACKING)
    assert needed(engine, *every) ^ needed(sealed, *every) == {"engine-keys", "engine-retirement", "fresh-key"}


def test_a_layer_asks_for_what_its_variant_asks_for() -> None:
    layered = [each for each in FAMILY.variants.values() if each.over]
    assert layered
    for layer in layered:
        assert all((layer.name in each.needed_by) == (layer.over in each.needed_by) for each in SERVICES.values())


def test_reports_on_the_link_do_without_reports_in_the_session() -> None:
    gone = needed("sealed-under-master", HIDDEN, LACKING) - needed("kernel-answers", HIDDEN, LACKING)
    assert gone == {"counter", "rotation-report", "reports", "digests", "contexts-left"}


def test_the_normative_text_leads_to_the_table_and_has_none_of_its_own() -> None:
    section = FAMILY.text.text.partition("## Firmware services")[2].partition("\n## ")[0]
    assert "firmware.py" in section
    assert all(f"*{kind}*" in section for kind in (SHOWN, HIDDEN, LACKING))
    assert "|" not in section
