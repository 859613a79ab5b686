"""Every name in the Coq files of a system stands for one thing, however the names of its specification are spelt."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.coq.certificates import ConvertedCertificate
from carnet_check.coq.folder import CoqFiles, write_makefile
from carnet_check.exports.coq_data import RESERVED
from carnet_check.exports.systems import System, system
from carnet_spec.language import Protocol, SpecificationError
from tests.coq.built import compiled
from tests.coq.flagging import converted, flagging, protocol

NAMED = re.compile(r"^(?:Definition|Theorem) (\w+)", re.MULTILINE)
HOSTILE: dict[str, tuple[tuple[str, str], tuple[str, str], str]] = {
    "names that are the same when joined": (("a_under_b", "a"), ("c", "b_under_c"), "main"),
    "names of lemmas that the proofs use": (("certified-in-general", "eq_refl"), ("nobody", "anybody"), "main"),
    "names of constructors": (("x y", "Some"), ("nobody", "anybody"), "Build-protocol"),
    "letters that are not ASCII": (("é", "è"), ("ü/ö", "u o"), "main"),
    "names without any letter": (("!", "?"), ("..", "--"), "..."),
    "names of what Carnet adds": (("digest of variant_main", "main"), ("every threat", "every_threat"), "claim-main"),
}
"""Two claims, two threat models and a variant."""


def renamed(name: str) -> Protocol:
    """Return the small protocol with hostile names."""
    claims, threats, variant = HOSTILE[name]
    plain = protocol()
    called = dict(zip((each.id for each in plain.threats), threats, strict=True))
    return replace(
        plain,
        variant=variant,
        claims=tuple(
            replace(
                each,
                name=claim,
                under=tuple(called[id] for id in each.under),
                fails_under=tuple(called[id] for id in each.fails_under),
            )
            for each, claim in zip(plain.claims, claims, strict=True)
        ),
        threats=tuple(replace(each, id=called[each.id]) for each in plain.threats),
    )


def hostile(name: str) -> System:
    return system(renamed(name).encoded)


def certified(whole: System) -> dict[str, list[ConvertedCertificate]]:
    """Return the certificates of the small protocol, which its names are no part of."""
    plain = converted(flagging()).values()
    return dict(zip((layer.threat for layer in whole.layers), plain, strict=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_is_defined_twice_and_nothing_of_coq_anew(name: str) -> None:
    whole = hostile(name)
    files, certificates = CoqFiles(whole), certified(whole)
    lines = [*files.specification(), *files.certificates(certificates), *files.theorems()]
    defined = Counter(NAMED.findall("\n".join(lines)))
    assert {each for each, times in defined.items() if times > 1} == set()
    assert RESERVED.isdisjoint(defined)
    assert sum(line.startswith("Theorem") and " : always " in line for line in lines) == 3


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_the_same_every_time(name: str) -> None:
    assert list(CoqFiles(hostile(name)).theorems()) == list(CoqFiles(hostile(name)).theorems())


def _expected_to_fall() -> System:
    plain = protocol()
    claims = (replace(each, under=(), fails_under=each.under) for each in plain.claims)
    return system(replace(plain, claims=tuple(claims)).encoded)


def test_where_nothing_is_claimed_to_hold_there_is_no_file_of_theorems(tmp_path: Path) -> None:
    whole = _expected_to_fall()
    assert CoqFiles(whole).written(tmp_path, {layer.threat: [] for layer in whole.layers}) == 0
    assert not list(tmp_path.glob("theorems_*.v"))
    assert (tmp_path / "spec_variant_main.v").is_file()
    stated = tmp_path / "stated"
    stated.mkdir()
    assert CoqFiles(flagging()).written(stated, converted(flagging())) == 3


def test_a_claim_that_no_layer_has_is_not_left_out(tmp_path: Path) -> None:
    whole = flagging()
    lost = replace(whole, layers=whole.layers[:1])
    with pytest.raises(SpecificationError, match="no layer proves 'none' under 'nobody'"):
        CoqFiles(lost).written(tmp_path, converted(whole))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", HOSTILE)
def test_coq_compiles_them(name: str, tmp_path: Path) -> None:
    whole = hostile(name)
    files = CoqFiles(whole)
    files.written(tmp_path, certified(whole))
    write_makefile(tmp_path, [files.name])
    ran = compiled(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
