"""The findings stand in three lists, each with its command and with what can be said for and against it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from carnet_spec.language import Finding
from carnet_spec.protocols.gpu_travelling import FAMILY
from carnet_spec.protocols.gpu_travelling.design import DECK, DRIVER, LISTS, OURS
from docs._ext.carnet_pages.records import recorders
from docs._ext.carnet_pages.shown import ROOT

PAGE = (ROOT / "docs" / "findings.md").read_text("utf-8")
COMMANDS = {finding: " ".join(command) for finding, command in recorders.commands(FAMILY) if finding}
SAID = ("**Replay:**", "**Holds if**", "**What would fix it:**")
ANSWERS = {DECK: "**The authors could answer**", DRIVER: "**The authors could answer**", OURS: "**The answer**"}


def sections() -> Iterator[tuple[str, str]]:
    """Yield what is said of each attack, or of a few that belong together, with the list that it is in."""
    for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        heading, *listed = re.split(r"^### ", part, flags=re.MULTILINE)
        for text in listed:
            yield heading.splitlines()[0], text


def cited(text: str) -> list[tuple[str, str]]:
    return re.findall(r"\*\*Found by\*\* \*(finding-[\w-]+)\*: `([^`]+)`", text)


FOUND = {id: (heading, command, text) for heading, text in sections() for id, command in cited(text)}


def test_every_finding_is_on_the_page_once_and_nothing_else_is() -> None:
    listed = [id for _, text in sections() for id, _ in cited(text)]
    assert sorted(listed) == sorted(COMMANDS)


def test_the_lists_come_in_their_order() -> None:
    headings = list(dict.fromkeys(heading for heading, text in sections() if cited(text)))
    assert headings == [about[0].upper() + about[1:] for about in LISTS]


@pytest.mark.mends("N18")
@pytest.mark.parametrize("finding", FAMILY.findings, ids=lambda finding: finding.id)
def test_a_finding_has_its_place_its_command_and_its_two_sides(finding: Finding) -> None:

    heading, command, text = FOUND[finding.id]
    assert heading.lower() == finding.about.lower()
    assert command == COMMANDS[finding.id]
    for said in (*SAID, ANSWERS[finding.about]):
        assert text.count(said) == 1


def test_a_nonce_that_names_the_session_is_among_the_remedies() -> None:
    _, _, text = FOUND["finding-8"]
    assert "`nonce_in_session`" in text.partition("**What would fix it:**")[2]
