"""Arguments for survivors: good for one digest, about mutants that are there, and few."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.families import Source, load
from carnet_check.mutation.campaign import Argument, arguments_of, place_beside, require_valid
from carnet_check.mutation.operators import mutants
from tests.fixtures import door

DOOR = door.FAMILY.protocol()
MUTANTS = mutants(DOOR)
NAME = "admit/guard listed/drop"
DIGESTS = {"main": DOOR.digest}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    file = Path(shutil.copy("tests/fixtures/door.py", tmp_path))
    return load(str(file))


def written(source: Source, text: str) -> None:
    place = place_beside(source)
    assert place is not None
    place.write_text(text, encoding="utf-8")


def argued(**changed: str) -> Argument:
    return Argument(**{"mutant": NAME, "variant": "main", "digest": DOOR.digest, "argument": "two lists", **changed})


def test_they_lie_beside_the_specification(source: Source) -> None:
    assert arguments_of(source) == ()
    text = f'[[argued]]\nmutant = "{NAME}"\nvariant = "main"\ndigest = "{DOOR.digest}"\nargument = "two lists"\n'
    written(source, text)
    assert arguments_of(source) == (argued(),)
    assert str(place_beside(source)).endswith("door.argued-mutants.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[argued]\n", "is no TOML"),
        ("argued = 1\n", r"expected \[\[argued\]\] alone"),
        ("other = 1\n", r"expected \[\[argued\]\] alone"),
        ('[[argued]]\nmutant = "a"\n', "expected the texts"),
        ('[[argued]]\nmutant = "a"\nvariant = "b"\ndigest = "c"\nargument = 1\n', "expected the texts"),
        ('[[argued]]\nmutant = "a"\nvariant = "b"\ndigest = "c"\nargument = " "\n', "has no argument for a"),
        ('[[argued]]\nmutant = "a"\nvariant = "b"\ndigest = "c"\nargument = "d"\n' * 2, "argues b: a twice"),
    ],
)
def test_a_malformed_file_is_refused(source: Source, text: str, told: str) -> None:
    written(source, text)
    with pytest.raises(InvalidSpecificationError, match=told):
        arguments_of(source)


def test_an_argument_for_this_digest_is_valid() -> None:
    require_valid([argued()], MUTANTS, DIGESTS)


def test_an_argument_for_another_digest_has_expired() -> None:
    with pytest.raises(InvalidSpecificationError, match=f"'main: {NAME}' has expired"):
        require_valid([argued(digest="0" * 64)], MUTANTS, DIGESTS)


def test_an_argument_about_no_mutant_is_refused() -> None:
    with pytest.raises(InvalidSpecificationError, match="there is no such mutant"):
        require_valid([argued(mutant="admit/guard missing/drop")], MUTANTS, DIGESTS)


def test_an_argument_about_a_variant_that_is_not_judged_is_passed_over() -> None:
    require_valid([argued(variant="other", digest="")], MUTANTS, DIGESTS)


def test_at_most_one_in_twenty_is_argued() -> None:
    two = [argued(), argued(mutant=MUTANTS[0].name)]
    with pytest.raises(InvalidSpecificationError, match="argues 2 of 29 mutants; at most 5% may be argued"):
        require_valid(two, MUTANTS, DIGESTS)
