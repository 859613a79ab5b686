"""The page on reviewers' doubts names modules, commands, claims and defences that exist, and leaves no doubt out."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import cast

import click
import pytest

from carnet_check.cli import main as cli
from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import Protocol
from carnet_spec.protocols.gpu_travelling import FAMILY
from docs._ext.carnet_pages.shown import ROOT
from tests.repo.tracked import tracked_python
from tests.unit.model_check.command import carnet

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
    return FAMILY.drafted(variant).whole()


def unknown_names(command: str) -> set[str]:
    """Return the variants, defences, threat models and claims that a command names and that are not there to be judged.

    A claim is there where it is made, or declared to fall, under the threat model in question.
    """
    try:
        name, given = parsed(command)
    except (click.UsageError, CarnetError) as error:
        return {str(error)}
    if given.get("protocol", FAMILY.id) != FAMILY.id:
        return {str(given["protocol"])}
    variants, defences = {*listed(given, "variant", "variants")}, {*listed(given, "without")}
    known = {each.id: each for each in protocol(FAMILY.main[0]).defences}
    unknown = (variants - {*FAMILY.variants}) | (defences - {*known})
    if unknown:
        return unknown
    bases = {*variants, *(known[each].base for each in defences if known[each].base)} or {*FAMILY.main}
    layered = [protocol(each) for each in (bases if name == "attack" else FAMILY.with_layers(bases))]
    threats = {*listed(given, "threat", "threats")} or ({FAMILY.default_threat} if name == "attack" else set())
    judged = {
        claim.name
        for each in layered
        for claim in each.claims
        if not threats or threats & {*claim.under, *claim.fails_under}
    }
    unknown = threats - {threat.id for each in layered for threat in each.threats}
    return unknown | ({*listed(given, "claim", "claims")} - judged) | (set() if judged else {"a claim"})


def listed(given: Mapping[str, object], *names: str) -> list[str]:
    """Return what was given for an option, which may be one name, several, or several with commas."""
    values = [given.get(name) or () for name in names]
    flat = [each for value in values for each in ([value] if isinstance(value, str) else cast("tuple[str]", value))]
    return [part for each in flat for part in each.split(",") if part]


def test_every_command_on_these_pages_parses_and_names_what_exists() -> None:
    assert len(COMMANDS) > 50
    assert {command: unknown for command in COMMANDS if (unknown := unknown_names(command))} == {}


@pytest.mark.parametrize(
    "command",
    [
        "carnet attack gpu-travelling --variant kernel-sings",
        "carnet attack gpu-travelling --without hope",
        "carnet attack gpu-travelling --without fence --claim world-peace",
        "carnet attack gpu-travelling --without channel-counter --claim bounded-custody",
        "carnet attack gpu-travelling --without fence --threat weather",
        "carnet attack gpu-travelling --variant ratchet --threat collusion --claim forward-isolation",
        "carnet attack gpu-travelling --variant inner-key --claim provenance",
        "carnet verify gpu-travelling --claim world-peace",
        "carnet attack world-peace --without fence",
        "carnet attack gpu-travelling --softly",
        "carnet vrify gpu-travelling",
    ],
)
def test_what_does_not_exist_is_noticed(command: str) -> None:
    assert unknown_names(command)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("carnet verify gpu-travelling ")])
def test_what_these_pages_say_is_verified_is_verified(command: str) -> None:
    assert carnet(*shlex.split(command)[1:]).code == ExitCode.EXPECTED


def test_every_doubt_and_every_weak_claim_has_a_row() -> None:
    assert [row[0] for row in ADVERSARY] == [f"D{number}" for number in range(1, 12)]
    claims = {claim.name for each in FAMILY.with_layers(FAMILY.main) for claim in FAMILY.protocol(each).claims}
    assert len(WEAK) == 9
    assert {row[0] for row in WEAK} <= claims


def test_a_row_says_what_changed_where_and_what_holds_it() -> None:
    sources = [path.as_posix() for path in tracked_python() if path.parts[0] != "tests"]
    wrong: list[str] = []
    for id, doubt, changed, where, holds in (*ADVERSARY, *WEAK):
        modules = re.findall(r"`([\w/]+\.py)`", where)
        wrong += [f"{id}: no sentence: {said}" for said in (doubt, changed) if not said.endswith(".")]
        wrong += [f"{id}: no module"] * (not modules)
        wrong += [f"{id}: {each}" for each in modules if not any(path.endswith(f"/{each}") for path in sources)]
        wrong += [f"{id}: no command"] * (not re.findall(r"`carnet [^`]+`", holds))
    assert wrong == []


def test_assumptions_on_the_page_are_those_of_the_text() -> None:
    cited = {*re.findall(r"\bA\d+\b", PAGE)}
    assert {"A7", "A11", "A12", "A13", "A14"} <= cited
    assert cited <= set(FAMILY.text.requirements())
