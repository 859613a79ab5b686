"""Every claim that is to be proved has its theorem, and Coq compiles the files that state them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.coq import folder
from carnet_check.coq.folder import CoqFiles, write_makefile
from carnet_check.errors import UsageError
from carnet_check.exports.systems import System, system
from carnet_check.loading.families import registered_families
from carnet_spec.language import Protocol
from tests.coq.built import compiled
from tests.coq.flagging import converted, flagging, protocol
from tests.coq.proved import to_be_proved

STATED = re.compile(r"Theorem (\w+) : always (\w+) (\w+|\[\]) (\w+)\.")
MAIN = [(family, name) for family in registered_families() for name in family.with_layers(family.main)]


def stated(whole: System) -> set[tuple[str, str]]:
    """Return the threat models and claims of which the files of a system have theorems, as they call them."""
    lines = list(CoqFiles(whole).theorems())
    found = [match for line in lines if (match := STATED.fullmatch(line))]
    assert len(found) == sum(line.startswith("Theorem") for line in lines)
    every = re.fullmatch(r"Definition (\w+) := \((.*)\)\.", lines[-2])
    assert every
    assert every[2].split(", ") == [each[1] for each in found]
    assert lines[-1] == f"Print Assumptions {every[1]}."
    assert len({match[2] for match in found}) == 1
    pairs = {(match[3], match[4]) for match in found}
    assert len(pairs) == len(found)
    return pairs


def as_coq_calls_them(protocol: Protocol) -> set[tuple[str, str]]:
    """Return the threat models and claims that ``carnet verify`` is to call PROVED, as Coq calls them."""
    return {(_coq("threat", threat), _coq("claim", claim)) for threat, claim in to_be_proved(protocol)}


def _coq(what: str, name: str) -> str:
    return re.sub(r"\W", "_", f"{what}_{name}")


@pytest.mark.parametrize(("family", "variant"), MAIN, ids=[f"{family.id}-{variant}" for family, variant in MAIN])
def test_every_claim_and_threat_model_have_their_theorem(family: object, variant: str) -> None:
    found = next(each for each in registered_families() if each == family).protocol(variant)
    pairs = as_coq_calls_them(found)
    assert stated(system(found.encoded)) == pairs
    assert len(pairs) > 5


def test_a_theorem_is_about_the_threat_model_under_which_the_claim_is_proved() -> None:
    assert (
        stated(flagging())
        == as_coq_calls_them(protocol())
        == {
            ("threat_nobody", "claim_only_bad"),
            ("threat_anybody", "claim_only_bad"),
            ("threat_nobody", "claim_none"),
        }
    )


def test_the_specification_says_whose_it_is() -> None:
    lines = list(CoqFiles(flagging()).specification())
    digest = protocol().digest
    assert lines[:2] == ["(** flagging, variant main.", f"    SHA-256 of its canonical JSON: {digest} *)"]
    assert f'Definition digest_of_variant_main : string := "{digest}".' in lines


def test_no_name_ends_the_comment_that_it_stands_in() -> None:
    """What a hostile name says is no Coq: it could define ``always`` anew, and every lemma that is used."""
    name = "token *) Definition always := True. (*"
    whole = replace(flagging(), protocol=name, variant=name, without=(name, '"'))
    comment = list(CoqFiles(whole).specification())[:2]
    assert comment[0].count("*") == 2
    assert '"' not in comment[0]
    assert comment[1].endswith(" *)")


def test_two_variants_of_one_name_in_coq_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The theorems of one would take the place of the other's."""
    both = [replace(flagging(), variant=variant) for variant in ("a-b", "a b")]
    monkeypatch.setattr(folder, "variants", lambda _: iter(both))
    monkeypatch.setattr(folder, "certificates_of", lambda *_: converted(flagging()))
    with pytest.raises(UsageError, match="both 'a_b' in Coq"):
        list(folder.write_theorems(tmp_path, tmp_path))


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that theorems were written into once; they are those of one variant whenever they are written."""
    monkeypatch.setattr(folder, "variants", lambda _: iter([flagging()]))
    monkeypatch.setattr(folder, "certificates_of", lambda *_: converted(flagging()))
    assert [variant for variant, _ in folder.write_theorems(tmp_path, tmp_path / "coq")] == ["main"]
    return tmp_path / "coq"


FILES = {"Makefile", "spec_variant_main.v", "certificates_variant_main.v", "theorems_variant_main.v"}


def test_the_folder_has_what_was_written_and_nothing_else(out: Path) -> None:
    """Not what somebody left there under a name of ours, and not what was compiled of it."""
    before = {each.name: each.read_text("utf-8") for each in out.iterdir()}
    for name in ("theorems_aaa.v", "spec_variant_main.vo", "theorems_variant_main.assumptions", ".spec_aaa.aux"):
        (out / name).write_text('Redirect "elsewhere" Print nat.', "utf-8")
    (out / "spec_variant_main.v").write_text("", "utf-8")
    list(folder.write_theorems(out.parent, out))
    assert {each.name: each.read_text("utf-8") for each in out.iterdir()} == before
    assert set(before) == FILES
    assert "THEOREMS = theorems_variant_main.v\n" in before["Makefile"]


@pytest.mark.parametrize("name", sorted(FILES))
def test_nothing_is_written_through_a_link(out: Path, name: str) -> None:
    precious = out.parent / "precious"
    precious.write_text("kept", "utf-8")
    (out / name).unlink()
    (out / name).symlink_to(precious)
    list(folder.write_theorems(out.parent, out))
    assert precious.read_text("utf-8") == "kept"
    assert not (out / name).is_symlink()


@pytest.mark.parametrize("name", ["GNUmakefile", "notes", "theorems_x.v/inside", "sub/spec_x.vo", "Logic.vo"])
def test_what_somebody_else_wrote_stays_and_is_refused(out: Path, name: str) -> None:
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("kept", "utf-8")
    with pytest.raises(UsageError, match="but what an earlier run wrote, and found"):
        list(folder.write_theorems(out.parent, out))
    assert {each.name for each in out.iterdir()} >= FILES
    assert (out / name).read_text("utf-8") == "kept"


def test_a_link_in_the_place_of_the_folder_is_refused(out: Path) -> None:
    elsewhere = out.rename(out.with_name("elsewhere"))
    out.symlink_to(elsewhere)
    with pytest.raises(UsageError, match="is a link"):
        list(folder.write_theorems(out.parent, out))
    assert {each.name for each in elsewhere.iterdir()} == FILES


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_coq_compiles_theorems_that_rest_on_nothing(tmp_path: Path) -> None:
    whole = flagging()
    CoqFiles(whole).written(tmp_path, converted(whole))
    write_makefile(tmp_path, ["variant_main"])
    ran = compiled(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = (tmp_path / "theorems_variant_main.assumptions").read_text("utf-8")
    assert said.splitlines() == ["Closed under the global context"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("certificates_variant_main.v", "(Instance n0 [(Eigen n1)]", "(Instance n0 [(Eigen n0)]"),
        ("certificates_variant_main.v", "[c0; c1]", "[c0]"),
        ("certificates_variant_main.v", "Proof. vm_cast_no_check (eq_refl true). Qed.", "Admitted."),
        ("spec_variant_main.v", "[guard_flag_is_bad] [", "[] ["),
        (
            "theorems_variant_main.v",
            "always variant_main threat_nobody claim_none",
            "always variant_main [] claim_none",
        ),
    ],
)
def test_coq_compiles_nothing_that_is_not_proved(tmp_path: Path, file: str, old: str, new: str) -> None:
    whole = flagging()
    CoqFiles(whole).written(tmp_path, converted(whole))
    write_makefile(tmp_path, ["variant_main"])
    text = (tmp_path / file).read_text("utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new), "utf-8")
    assert compiled(tmp_path).returncode != 0
    assert not (tmp_path / "theorems_variant_main.assumptions").exists()
