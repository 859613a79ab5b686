"""Every citation on the generated pages has its address or is said to have none, and no address is left over."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import pytest

from carnet_spec.language import Family
from docs._ext.carnet_pages import registered_families, specification
from docs._ext.carnet_pages.assurance import assurance, cases
from docs._ext.carnet_pages.junit import TestRun
from docs._ext.carnet_pages.sources import addresses, cited, linked, nowhere, unknown

FAMILIES = [family for family in registered_families() if family.text.text]
PAGES = ("requirements", "actions", "claims", "index")


def sources(family: Family) -> Iterator[str]:
    """Yield every source of the normative text, of services, and of steps and claims of all variants."""
    yield from (each.source for each in family.text.requirements().values())
    yield from (service.where for service in family.services)
    for name in family.variants:
        draft = family.drafted(name).whole()
        yield from (action.source for action in draft.actions)
        yield from (claim.source for claim in draft.claims)


@functools.cache
def all_sources() -> list[str]:
    return sorted({source for family in FAMILIES for source in sources(family)})


def test_every_citation_has_an_address_or_is_said_to_have_none() -> None:
    assert {source: unknown(source) for source in all_sources() if unknown(source)} == {}


def test_no_address_and_no_excuse_is_left_over() -> None:
    used = {name for source in all_sources() for name in cited(source)}
    assert set(addresses()) - used == set()
    assert [name for name in nowhere() if not any(name in source for source in all_sources())] == []


def test_what_the_table_lacks_is_noticed() -> None:
    assert unknown("RFC 9999 section 1") == ["RFC 9999"]
    assert unknown("deck, Outlook; somewhere_else.c") == ["somewhere_else.c"]
    assert unknown("hearsay") == ["hearsay"]


def test_an_address_is_one_that_lasts() -> None:
    urls = addresses().values()
    assert [url for url in urls if not re.match(r"https://[\w./?=-]+$", url) or "blob/main" in url] == []


@pytest.mark.mends("N11")
def test_a_page_leads_to_what_it_cites() -> None:
    strange: dict[str, set[str]] = {}
    for family in FAMILIES:
        pages = specification([family], {})
        for page in PAGES:
            text = pages[f"{family.id}/{page}.md"]
            links = set(re.findall(r"\[[^\]]+\]\((https://[^)]+)\)", " ".join(text.split())))
            anchors = {"", *re.findall(r"#section-[\d.]+", text)}
            strange[f"{family.id}/{page}"] = links - {
                f"{url}{rest}" for url in addresses().values() for rest in anchors
            }
            if not links and (page != "index" or family.services):
                strange[f"{family.id}/{page}"] = {"no link"}
    assert {page: links for page, links in strange.items() if links} == {}


@pytest.mark.mends("N11")
def test_the_evidence_for_a_requirement_leads_to_its_source() -> None:
    listed = [case for family in FAMILIES for case in cases([family], TestRun(), {})]
    text = assurance(FAMILIES, listed, [], TestRun())["assurance/requirements.md"]
    assert [case.id for case in listed if f"Source: {linked(case.requirement.source)}." not in text] == []
    assert text.count("](https://") > 20


def test_a_section_is_part_of_the_address() -> None:
    assert linked("RFC 5116 section 5.1.1; SP 800-38D section 8") == (
        "[RFC 5116 section 5.1.1](https://www.rfc-editor.org/rfc/rfc5116#section-5.1.1); "
        "[SP 800-38D](https://doi.org/10.6028/NIST.SP.800-38D) section 8"
    )


def test_what_is_around_a_citation_stays_as_it_was() -> None:
    assert linked("deck, *Setup*; nvtrust: a report") == (
        r"deck, \*Setup\*; [nvtrust](https://github.com/NVIDIA/nvtrust): a report"
    )


def test_the_longest_citation_counts() -> None:
    assert linked("DEMY (arXiv 2507.02770): requests").startswith("[DEMY (arXiv 2507.02770)](")
    assert cited("conf_compute_keystore_gh100.c") == ["conf_compute_keystore_gh100.c"]
