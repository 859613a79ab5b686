"""The normative text: every sentence has its id and its source, and every id is referred to."""

from __future__ import annotations

import importlib
import re

import pytest

from carnet_spec.language import Family, SpecificationError
from carnet_spec.protocols.registry import REGISTRY
from carnet_spec.requirements import Level, Page, Requirement, cited, pages, requirements
from tests.fixtures import toy

TEXT = """# Keys

Introduction, with **bold** words and **MUST**.

**REQ-KEY-01** The orchestrator MUST make a new key
for every hand-over (always). (Source: deck, Epilogue)

* **REQ-KEY-02** A holder SHOULD check it. (Source: deck (slide 3); FACTS 5.3)
* **A1** Ciphers are ideal. (Source: convention)

**CLAIM-SECRECY** Nobody learns it. (Source: deck)

**ASM-CLOCK-1** Clocks MUST be monotone. (Source: RFC 1)
"""


def test_sentences_are_read_with_their_sources_and_levels() -> None:
    assert list(requirements([Page("keys", TEXT)]).values()) == [
        Requirement(
            "REQ-KEY-01",
            "The orchestrator MUST make a new key for every hand-over (always).",
            "deck, Epilogue",
            Level.MUST,
            "keys",
        ),
        Requirement("REQ-KEY-02", "A holder SHOULD check it.", "deck (slide 3); FACTS 5.3", Level.SHOULD, "keys"),
        Requirement("A1", "Ciphers are ideal.", "convention", Level.ASSUMPTION, "keys"),
        Requirement("CLAIM-SECRECY", "Nobody learns it.", "deck", Level.MUST, "keys"),
        Requirement("ASM-CLOCK-1", "Clocks MUST be monotone.", "RFC 1", Level.ASSUMPTION, "keys"),
    ]
    assert Page("keys", TEXT).title == "Keys"
    assert Page("keys", "no heading").title == "keys"


MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "no source": (("**REQ-1** It MUST.",), "page0: REQ-1 must end with its source, as in '(Source: deck"),
    "a source in the middle": (("**REQ-1** It (Source: x) MUST.",), "must end with its source"),
    "nothing binding": (("**REQ-1** It may. (Source: x)",), "REQ-1 says neither MUST nor SHOULD"),
    "a binding part of a word": (("**REQ-1** MUSTARD. (Source: x)",), "says neither MUST nor SHOULD"),
    "nobody obliged": (("**REQ-1** No holder MUST look. (Source: x)",), "REQ-1 says that nobody must"),
    "nobody obliged on a condition": (("**REQ-1** When lent, nobody MUST look. (Source: x)",), "nobody must"),
    "given twice": (
        ("**REQ-1** It MUST. (Source: x)\n\n**REQ-1** It MUST. (Source: x)",),
        "page0: REQ-1 is given twice, first in page0: renumber one",
    ),
    "given twice on two pages": (
        ("**REQ-1** It MUST. (Source: x)", "**REQ-1** It MUST. (Source: x)"),
        "page1: REQ-1 is given twice, first in page0",
    ),
}


@pytest.mark.parametrize("row", MISTAKES)
def test_a_mistake_in_the_text_says_what_to_do(row: str) -> None:
    texts, says = MISTAKES[row]
    with pytest.raises(SpecificationError, match=re.escape(says)):
        requirements([Page(f"page{number}", text) for number, text in enumerate(texts)])


def test_references_are_collected_from_actions_claims_and_assumptions() -> None:
    assert cited(toy.FAMILY.protocol()) == {
        "REQ-TOY-1": ("lend",),
        "REQ-TOY-2": ("secrecy",),
        "REQ-TOY-3": ("punctual",),
        "A1": ("A1",),
    }


def _registered() -> list[Family]:
    families = []
    for address in REGISTRY.values():
        module, _, attribute = address.partition(":")
        families.append(getattr(importlib.import_module(module), attribute))
    return families


def _references() -> dict[str, set[str]]:
    """Collect who refers to which id, in any variant of any registered protocol."""
    found: dict[str, set[str]] = {}
    for family in _registered():
        for variant in family.variants:
            for id, names in cited(family.draft(variant).whole()).items():
                found.setdefault(id, set()).update(f"{family.id}: {name}" for name in names)
    return found


def test_every_id_that_is_referred_to_is_in_the_text() -> None:
    known = requirements()
    assert not {id: sorted(names) for id, names in _references().items() if id not in known}


def test_every_sentence_is_referred_to() -> None:
    assert not sorted(set(requirements()) - set(_references()))


def _words(sentence: str) -> list[str]:
    """Leave quotation marks, which are a matter of typography, out of the comparison."""
    return re.findall(r"[^\s'\"’“”]+", sentence)


def test_an_assumption_says_the_same_in_the_text_and_in_the_protocol() -> None:
    known = requirements()
    differing = {
        (assumption.id, assumption.sentence, known[assumption.id].sentence)
        for family in _registered()
        for assumption in family.protocol().assumptions
        if assumption.id in known and _words(assumption.sentence) != _words(known[assumption.id].sentence)
    }
    assert not differing


def test_the_text_is_there() -> None:
    assert pages()
