"""The normative text: every sentence has its id and its source, and every id is referred to."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from carnet_spec.language import Family, SpecificationError
from carnet_spec.language.requirements import Level, NormativeText, Requirement, cited, text_beside
from carnet_spec.protocols.registry import OWN
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
    assert list(NormativeText(TEXT).requirements().values()) == [
        Requirement(
            "REQ-KEY-01",
            "The orchestrator MUST make a new key for every hand-over (always).",
            "deck, Epilogue",
            Level.MUST,
        ),
        Requirement("REQ-KEY-02", "A holder SHOULD check it.", "deck (slide 3); FACTS 5.3", Level.SHOULD),
        Requirement("A1", "Ciphers are ideal.", "convention", Level.ASSUMPTION),
        Requirement("CLAIM-SECRECY", "Nobody learns it.", "deck", Level.MUST),
        Requirement("ASM-CLOCK-1", "Clocks MUST be monotone.", "RFC 1", Level.ASSUMPTION),
    ]
    assert NormativeText(TEXT).title == "Keys"
    assert NormativeText("no heading").title == ""


MISTAKES: dict[str, tuple[str, str]] = {
    "no source": ("**REQ-1** It MUST.", "keys.md: REQ-1 must end with its source, as in '(Source: deck"),
    "a source in the middle": ("**REQ-1** It (Source: x) MUST.", "must end with its source"),
    "nothing binding": ("**REQ-1** It may. (Source: x)", "REQ-1 says neither MUST nor SHOULD"),
    "a binding part of a word": ("**REQ-1** MUSTARD. (Source: x)", "says neither MUST nor SHOULD"),
    "nobody obliged": ("**REQ-1** No holder MUST look. (Source: x)", "REQ-1 says that nobody must"),
    "nobody obliged on a condition": ("**REQ-1** When lent, nobody MUST look. (Source: x)", "nobody must"),
    "given twice": (
        "**REQ-1** It MUST. (Source: x)\n\n**REQ-1** It MUST. (Source: x)",
        "keys.md: REQ-1 is given twice: renumber one",
    ),
}


@pytest.mark.parametrize("row", MISTAKES)
def test_a_mistake_in_the_text_says_what_to_do(row: str) -> None:
    text, says = MISTAKES[row]
    with pytest.raises(SpecificationError, match=re.escape(says)):
        NormativeText(text, "keys.md").requirements()


def test_the_text_lies_beside_the_protocol(tmp_path: Path) -> None:
    protocol = tmp_path / "vault" / "protocol.py"
    protocol.parent.mkdir()
    assert text_beside(str(protocol)) == NormativeText()
    protocol.with_name("requirements.md").write_text(TEXT)
    assert text_beside(str(protocol)) == NormativeText(TEXT, "vault/requirements.md")
    protocol.with_name("requirements.md").write_bytes(b"\xff")
    with pytest.raises(SpecificationError, match=re.escape("vault/requirements.md cannot be read")):
        text_beside(str(protocol))


def test_an_id_means_what_its_own_protocol_says() -> None:
    one = NormativeText("**REQ-1** A MUST. (Source: x)")
    other = NormativeText("**REQ-1** B MUST. (Source: y)\n\n**A7** C. (Source: z)")
    assert (one.requirements()["REQ-1"].source, other.requirements()["REQ-1"].source) == ("x", "y")
    assert "A7" not in one.requirements()


def test_references_are_collected_from_actions_claims_and_assumptions() -> None:
    assert cited(toy.FAMILY.protocol()) == {
        "REQ-TOY-1": ("lend",),
        "REQ-TOY-2": ("secrecy",),
        "REQ-TOY-3": ("punctual",),
        "A1": ("A1",),
    }


def _families() -> list[Family]:
    addresses = (address.partition(":") for address in OWN.values())
    return [getattr(importlib.import_module(module), attribute) for module, _, attribute in addresses]


def _references(family: Family) -> dict[str, set[str]]:
    """Collect who refers to which id, in any variant of a protocol."""
    found: dict[str, set[str]] = {}
    for variant in family.variants:
        for id, names in cited(family.drafted(variant).whole()).items():
            found.setdefault(id, set()).update(names)
    return found


@pytest.mark.parametrize("family", _families(), ids=lambda family: family.id)
def test_the_text_has_the_ids_that_are_referred_to_and_no_others(family: Family) -> None:
    known, references = family.text.requirements(), _references(family)
    assert family.text.title
    assert {id: names for id, names in references.items() if id not in known} == {}
    assert sorted(set(known) - set(references)) == []


@pytest.mark.parametrize("family", _families(), ids=lambda family: family.id)
def test_an_assumption_says_the_same_in_the_text_and_in_the_protocol(family: Family) -> None:
    known = family.text.requirements()
    said = {assumption.id: assumption.sentence for assumption in family.protocol().assumptions}
    assert said == {id: known[id].sentence for id in said}
