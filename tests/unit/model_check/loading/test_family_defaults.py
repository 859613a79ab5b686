"""What a family may leave out, and what is said of a field that holds something else than what belongs there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from carnet_check.loading.families import Source, load
from tests.unit.model_check.command import CONTROLS, FASTEST, carnet, control

OPENING = """
from carnet_spec.language import *
from controls import sound


def draft(variant):
    token = sound()
    token.variant = variant
    token.defence("calm", "Only who is calm passes it on.")
    return token


def instance(protocol, threat, scale):
    return Instance({"Party": ("ann", "bob")}, functions={"first": {(): "ann"}}, describes="ann and bob")


"""
VARIANTS = {"main": 'Variant("main", "as it is")', "open": 'Variant("open", "nobody takes anything twice")'}
BOTH = "variants={" + ", ".join(f'"{name}": {said}' for name, said in VARIANTS.items()) + '}, main=("main",)'
WHOLE = f'id="token", title="A token", draft=draft, instance=instance, {BOTH}'


def written(folder: Path, family: str) -> str:
    """Write a family into a file of its own, and return what it is called by."""
    file = folder / "family.py"
    file.write_text(f"{OPENING}FAMILY = Family({family})\n")
    return str(file)


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """Return a family that gives instances, and neither profiles nor hunts."""
    return written(tmp_path, WHOLE)


@pytest.mark.mends("R460")
@pytest.mark.parametrize(
    "command",
    [
        ("verify",),
        ("explore",),
        ("attack", "--variant", "open", "--claim", "one-holder"),
        ("exhaust", "--out", "OUT"),
        ("export", "--to", "tla", "--out", "OUT"),
        ("mutate", "--only", "look/", "--out", "OUT"),
    ],
    ids=lambda command: str(command[0]),
)
def test_a_family_without_profiles_is_taken_by_every_command(
    bare: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    options = [option.replace("OUT", str(tmp_path / "out")) for option in command[1:]]
    ran = carnet(command[0], bare, *options)
    assert (ran.code in (0, 1, 3), ran.err.startswith("carnet: ")) == (True, False), ran.err


def test_its_one_profile_is_an_empty_scale_and_hunts_go_through_it(bare: str) -> None:
    family = load(bare).family
    assert {name: dict(profile.scale) for name, profile in family.profiles.items()} == {"tiny": {}}
    assert family.sizes_to_hunt("main") == tuple(family.profiles.values())


@pytest.mark.mends("R461")
@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("main", '"main"', "'main' takes a tuple of strings, not 'main': write ('main',)"),
        ("variants", "('main',)", "'variants' takes a mapping from strings to Variants"),
        ("profiles", "{'tiny': 2}", "'profiles' takes a mapping from strings to Profiles"),
        ("hunts", "Profile('tiny', {})", "'hunts' takes a tuple of Profiles"),
        ("findings", "'twice'", "'findings' takes a tuple of Findings, not 'twice'"),
        ("instance", "None", "'instance' takes a function, not None"),
        ("draft", "sound()", "'draft' takes a function"),
        ("id", "7", "'id' takes a string, not 7"),
        ("options", "{'n': 'n'}", "'options' takes a mapping from strings to tuples of strings"),
        ("variants", "{}", "has no variants: leave them out"),
    ],
)
def test_a_field_of_a_family_that_holds_something_else_is_named(
    field: str, given: str, said: str, tmp_path: Path
) -> None:
    parts = {"id": '"token"', "title": '"A token"', "draft": "draft", "instance": "instance", field: given}
    ran = carnet("verify", written(tmp_path, ", ".join(f"{name}={value}" for name, value in parts.items())))
    assert (ran.code, ran.out) == (2, "")
    assert "family.py:17: Family" in ran.err
    assert said in " ".join(ran.err.split())


@pytest.mark.mends("R461")
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('Variant("open", "…", without="calm")', "Variant 'open': 'without' takes a tuple of strings, not 'calm'"),
        (
            'Finding("f", "…", "anyone", "one-holder", "open", "calm")',
            "Finding 'f': 'without' takes a tuple of strings",
        ),
        ('Profile("tiny", 2)', "Profile 'tiny': 'scale' takes a mapping from strings to numbers, not 2"),
        ('Profile("tiny", {}, budget="2")', "Profile 'tiny': 'budget' takes a number or None, not '2'"),
        ('Service("s", "…", "yes", "there", "open")', "Service 's': 'needed_by' takes a set, not 'open'"),
        ('Instance({"Party": "ann"})', "Instance: 'elements' takes a mapping from strings to tuples"),
        ('Instance({}, {"corrupt": "ann"})', "Instance: 'relations' takes a mapping from strings to sets"),
        ('Instance({}, functions={"first": "ann"})', "Instance: 'functions' takes a mapping from strings to mappings"),
    ],
)
def test_so_are_those_of_what_a_family_holds(value: str, said: str, tmp_path: Path) -> None:
    imported = "Service" if value.startswith("Service") else "Draft"
    file = tmp_path / "family.py"
    file.write_text(f"from carnet_spec.language import {imported}\n{OPENING}wrong = {value}\n")
    ran = carnet("verify", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert "family.py:18: " in ran.err
    assert said in " ".join(ran.err.split())


@pytest.mark.mends("R462")
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ('{"Party": ("ann",)}', "family.py:4: 'instance' returns a dict: return an Instance"),
        ("None", "family.py:4: 'instance' returns a NoneType: return an Instance"),
        ('Instance({"Party": "ann"})', "family.py:5: Instance: 'elements' takes"),
        ('Instance({"Party": (1, 2)}, functions={"first": {(): 1}})', "sort Party: an element is a string, not 1"),
    ],
)
def test_an_instance_function_that_returns_something_else_is_told_with_its_place(
    returned: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "family.py"
    file.write_text(
        "from carnet_spec.language import *\nfrom controls import sound\n\n"
        f"def instance(protocol, threat, scale):\n    return {returned}\n\n"
        'FAMILY = Family("token", "A token", lambda variant: sound(), instance)\n'
    )
    ran = carnet("verify", str(file))
    assert (ran.code, said in " ".join(ran.err.split()), "verdicts" in ran.out) == (2, True, False), ran.err


@pytest.mark.mends("R462")
def test_a_draft_function_that_returns_nothing_is_told(tmp_path: Path) -> None:
    ran = carnet("verify", written(tmp_path, 'id="token", title="A token", draft=lambda variant: None'))
    assert ran.code == 2
    assert "'draft' of token returns a NoneType for variant 'main': return a Draft" in " ".join(ran.err.split())


@pytest.mark.mends("R463")
def test_a_family_without_instances_has_those_of_a_draft_alone(tmp_path: Path) -> None:
    made = load(written(tmp_path, f'id="token", title="A token", draft=draft, {BOTH}'))
    alone = load(control("sound"))
    assert made.instances_are_made
    assert (made.family.profiles, made.family.hunts) == (alone.family.profiles, alone.family.hunts)
    assert _strengths(made) == _strengths(alone)


@pytest.mark.mends("R463")
def test_a_family_without_instances_may_have_sizes_of_its_own(tmp_path: Path) -> None:
    profiles = 'profiles={"tiny": Profile("tiny", {"Party": 4})}'
    made = load(written(tmp_path, f'id="token", title="A token", draft=draft, {profiles}'))
    assert {name: dict(profile.scale) for name, profile in made.family.profiles.items()} == {"tiny": {"Party": 4}}
    assert [row["bound"] for row in _explored(made)] == [4]


def _explored(source: Source) -> list[dict[str, object]]:
    rows = carnet("verify", source.reference, "--engine", FASTEST, "--json").json["results"]
    return [row for row in rows if row["claim"] == "one-holder"]


def _strengths(source: Source) -> list[object]:
    return [(row["verdict"], row["bound"], row["detail"]) for row in _explored(source)]
