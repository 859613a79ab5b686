"""The page on reviewers' doubts names modules, commands, claims and defences that exist, and leaves no doubt out."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from carnet_check.cli import main as cli
from carnet_command.errors import CarnetError
from carnet_spec.language import Protocol
from carnet_spec.protocols.gpu_travelling import FAMILY
from docs._ext.carnet_pages.shown import ROOT

PAGES = ("docs/assurance/what-reviewers-asked.md", "docs/findings.md", "docs/guide/gpu-travelling.md")
PAGE = (ROOT / PAGES[0]).read_text("utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")]
ADVERSARY = [row for row in ROWS if re.fullmatch(r"D\d+", row[0])]
WEAK = [row for row in ROWS if len(row) == 5 and row not in ADVERSARY and row[0] not in ("", "claim")]


def commands() -> Iterator[str]:
    for page in PAGES:
        yield from re.findall(r"`(carnet \w+ [^`…]+)`", (ROOT / page).read_text("utf-8"))


COMMANDS = sorted({*commands()})


def parsed(command: str) -> tuple[str, dict[str, object]]:
    """Parse a command as a shell and click do, and return its name and options; nothing is run."""
    arguments = shlex.split(command)[1:]
    group = click.Context(cli, info_name="carnet")
    name, subcommand, rest = cli.resolve_command(group, arguments)
    assert name
    assert subcommand
    return name, subcommand.make_context(name, rest, parent=group).params


@functools.cache
def protocol(variant: str) -> Protocol:
    return FAMILY.draft(variant).whole()


def unknown_names(command: str) -> set[str]:
    """Return the variants, defences, threat models and claims that a command names and the protocol does not have."""
    _, given = parsed(command)
    if given.get("protocol", FAMILY.id) != FAMILY.id:
        return {str(given["protocol"])}
    variant, defences = str(given.get("variant") or ""), {each.id: each for each in protocol(FAMILY.main[0]).defences}
    named = [*filter(None, str(given.get("without") or "").split(","))]
    if {variant} - {"", *FAMILY.variants} or {*named} - {*defences}:
        return ({variant} - {"", *FAMILY.variants}) | ({*named} - {*defences})
    bases = [variant] if variant else [defences[each].base for each in named if defences[each].base]
    layered = [protocol(each) for each in (bases or FAMILY.with_layers(FAMILY.main))]
    claims = {claim.name for each in layered for claim in each.claims}
    threats = {threat.id for each in layered for threat in each.threats}
    sought = {str(given.get("claim") or ""), *map(str, given.get("claims") or ())} - {""}  # type: ignore[call-overload]
    return (sought - claims) | ({str(given.get("threat") or "")} - {""} - threats)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_on_these_pages_parses_and_names_what_exists(command: str) -> None:
    assert unknown_names(command) == set()


@pytest.mark.parametrize(
    "command",
    [
        "carnet attack gpu-travelling --variant kernel-sings",
        "carnet attack gpu-travelling --without hope",
        "carnet attack gpu-travelling --without fence --claim world-peace",
        "carnet attack gpu-travelling --without channel-counter --claim bounded-custody",
        "carnet verify gpu-travelling --claim world-peace",
        "carnet attack world-peace --without fence",
    ],
)
def test_a_name_that_does_not_exist_is_noticed(command: str) -> None:
    assert unknown_names(command)


@pytest.mark.parametrize("command", ["carnet attack gpu-travelling --softly", "carnet vrify gpu-travelling"])
def test_a_command_that_does_not_parse_is_noticed(command: str) -> None:
    with pytest.raises((click.UsageError, CarnetError)):
        parsed(command)


def test_every_doubt_and_every_weak_claim_has_a_row() -> None:
    assert [row[0] for row in ADVERSARY] == [f"D{number}" for number in range(1, 12)]
    claims = {claim.name for each in FAMILY.with_layers(FAMILY.main) for claim in FAMILY.protocol(each).claims}
    assert len(WEAK) == 9
    assert {row[0] for row in WEAK} <= claims


@pytest.mark.parametrize("row", [*ADVERSARY, *WEAK], ids=lambda row: row[0])
def test_a_row_says_what_changed_where_and_what_holds_it(row: list[str]) -> None:
    _, doubt, changed, where, holds = row
    assert doubt.endswith(".")
    assert changed.endswith(".")
    modules = re.findall(r"`([\w/]+\.py)`", where)
    assert modules
    for module in modules:
        assert [*sources(module)], module
    assert re.findall(r"`carnet [^`]+`", holds)


def sources(module: str) -> Iterator[Path]:
    for folder in ("spec/carnet_spec", "model_check/carnet_check", "reference_impl/carnet_ref"):
        yield from (ROOT / folder).rglob(module)


def test_assumptions_on_the_page_are_those_of_the_text() -> None:
    cited = {*re.findall(r"\bA\d+\b", PAGE)}
    assert {"A7", "A11", "A12", "A13", "A14"} <= cited
    assert cited <= set(FAMILY.text.requirements())
