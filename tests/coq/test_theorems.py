"""Every claim that is to be proved has its theorem, and Coq compiles the files that state them."""

import os
import re
import shutil
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from carnet_check.cli import main as command
from carnet_check.coq import folder
from carnet_check.coq.__main__ import main
from carnet_check.coq.certificates import ConvertedCertificate
from carnet_check.coq.folder import CoqFiles, check_certificates, write_makefile
from carnet_check.coq.program import VARIABLE
from carnet_check.errors import UsageError
from carnet_check.exports.coq_data import RESERVED
from carnet_check.exports.systems import System, system
from carnet_check.loading.families import load, registered_families
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import Protocol, SpecificationError
from tests.coq.coq_files import compiled, program, require_refusal, require_theorems, shared, to_be_proved
from tests.coq.flagging import converted, flagging, protocol
from tests.fixtures import toy

STATED = re.compile(r"Theorem (\w+) : always (\w+) (\w+|\[\]) (\w+)\.")
EVERY = [(family, name) for family in registered_families() for name in family.with_layers(family.main)]
TEXTBOOK = [f"carnet_spec.examples.{name}:FAMILY" for name in ("needham_schroeder", "sigma", "tickets")]
MAIN = [(family, name) for family, name in EVERY if family.protocol(name).claims]


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
    assert stated(system(found.canonical_json)) == pairs
    assert len(pairs) > 5 or not found.actions


@pytest.mark.parametrize("reference", TEXTBOOK)
def test_so_have_the_textbook_protocols(reference: str) -> None:
    """What the theory of deductions adds are rules like all others, so they reach Coq as all others do."""
    family = load(reference).family
    for name in family.variants:
        found = family.protocol(name)
        assert stated(system(found.canonical_json)) == as_coq_calls_them(found) != set()


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
    CoqFiles(whole).write(tmp_path, converted(whole))
    write_makefile(tmp_path, ["variant_main"])
    require_theorems(tmp_path, "variant_main")


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
    CoqFiles(whole).write(tmp_path, converted(whole))
    write_makefile(tmp_path, ["variant_main"])
    require_refusal(tmp_path, "variant_main", file, old, new)


# -- every name in the Coq files of a system stands for one thing ----------------------------------------


NAMED = re.compile(r"^(?:Definition|Theorem) (\w+)", re.MULTILINE)
#: Two claims, two threat models and a variant.
HOSTILE: dict[str, tuple[tuple[str, str], tuple[str, str], str]] = {
    "names that are the same when joined": (("a_under_b", "a"), ("c", "b_under_c"), "main"),
    "names of lemmas that the proofs use": (("certified-in-general", "eq_refl"), ("nobody", "anybody"), "main"),
    "names of constructors": (("x y", "Some"), ("nobody", "anybody"), "Build-protocol"),
    "letters that are not ASCII": (("é", "è"), ("ü/ö", "u o"), "main"),
    "names without any letter": (("!", "?"), ("..", "--"), "..."),
    "names of what Carnet adds": (("digest of variant_main", "main"), ("every threat", "every_threat"), "claim-main"),
}


def renamed(name: str) -> Protocol:
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
    return system(renamed(name).canonical_json)


def certified_claims(whole: System) -> dict[str, list[ConvertedCertificate]]:
    """Return the certificates of the small protocol, which its names are no part of."""
    plain = converted(flagging()).values()
    return dict(zip((layer.threat for layer in whole.layers), plain, strict=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_is_defined_twice_and_nothing_of_coq_anew(name: str) -> None:
    whole = hostile(name)
    files, certificates = CoqFiles(whole), certified_claims(whole)
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
    return system(replace(plain, claims=tuple(claims)).canonical_json)


def test_where_nothing_is_claimed_to_hold_there_is_no_file_of_theorems(tmp_path: Path) -> None:
    whole = _expected_to_fall()
    assert CoqFiles(whole).write(tmp_path, {layer.threat: [] for layer in whole.layers}) == 0
    assert not list(tmp_path.glob("theorems_*.v"))
    assert (tmp_path / "spec_variant_main.v").is_file()
    stated = tmp_path / "stated"
    stated.mkdir()
    assert CoqFiles(flagging()).write(stated, converted(flagging())) == 3


def test_a_claim_that_no_layer_has_is_not_left_out(tmp_path: Path) -> None:
    whole = flagging()
    lost = replace(whole, layers=whole.layers[:1])
    with pytest.raises(SpecificationError, match="no layer proves 'none' under 'nobody'"):
        CoqFiles(lost).write(tmp_path, converted(whole))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", HOSTILE)
def test_coq_compiles_them(name: str, tmp_path: Path) -> None:
    whole = hostile(name)
    files = CoqFiles(whole)
    files.write(tmp_path, certified_claims(whole))
    write_makefile(tmp_path, [files.name])
    ran = compiled(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


# -- from a specification and a search for certificates to a folder that the program accepts and Coq compiles ---


def carnet(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        command(list(words))
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture(scope="module")
def certified_attacks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``carnet certify`` writes of the toy protocol."""
    folder = tmp_path_factory.mktemp("toy") / "certified"
    assert carnet("certify", f"{toy.__file__}:FAMILY", "--out", str(folder), "--jobs", "1") == ExitCode.EXPECTED
    return folder


def test_the_program_accepts_what_was_certified(certified_attacks: Path) -> None:
    (verdict,) = check_certificates(certified_attacks, program())
    assert (verdict.variant, verdict.accepted, verdict.said) == ("main", True, ("layer *: 18 of 18 accepted",))


def test_recheck_runs_the_program(
    certified_attacks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, str(program()))
    assert carnet("recheck", str(certified_attacks)) == ExitCode.EXPECTED
    assert "accepts them all" in capsys.readouterr().out


def test_another_specification_is_not_what_was_certified(certified_attacks: Path, tmp_path: Path) -> None:
    """The program makes the obligations of the specification that lies there, whatever texts lie beside it."""
    folder = tmp_path / "certified"
    shutil.copytree(certified_attacks, folder)
    file = folder / "systems" / "main.json"
    text = file.read_text("utf-8")
    guard = '["not",["apply","used_key",[["variable","key","Key"]]]],"kind":"fresh"'
    assert text.count(guard) == 1
    file.write_text(text.replace(guard, '["true"],"kind":"require"'), "utf-8")
    (verdict,) = check_certificates(folder, program())
    assert not verdict.accepted
    assert any(line.startswith("refused step/lend/") for line in verdict.said)


def test_a_folder_without_certificates_is_not_accepted(certified_attacks: Path, tmp_path: Path) -> None:
    shutil.copytree(certified_attacks / "systems", tmp_path / "systems")
    (verdict,) = check_certificates(tmp_path, program())
    assert not verdict.accepted
    assert verdict.said == ("variant main: expected 18 certificates, found none; make them again",)
    ran = CliRunner().invoke(main, [str(tmp_path)])
    assert (ran.exit_code, ran.output) == (1, f"Error: {verdict.said[0]}\n")


def test_a_folder_without_specifications_is_refused(tmp_path: Path) -> None:
    ran = CliRunner().invoke(main, [str(tmp_path)])
    assert (ran.exit_code, ran.output.count("\n")) == (1, 1)
    assert ran.output.startswith("Error: expected variants in")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_one_command_makes_theorems(certified_attacks: Path) -> None:
    ran = shared().make("theorems", f"DIR={certified_attacks}", f"PYTHON={sys.executable}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"main: 2 theorems; written to {certified_attacks / 'coq'}\n" in ran.stdout
    said = certified_attacks / "coq" / "theorems_variant_main.assumptions"
    assert said.read_text("utf-8") == "Closed under the global context\n"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("reference", TEXTBOOK)
def test_textbook_protocols_become_theorems(reference: str, tmp_path: Path) -> None:
    folder = tmp_path / "certified"
    assert carnet("certify", reference, "--out", str(folder), "--jobs", "1") == ExitCode.EXPECTED
    ran = shared().make("theorems", f"DIR={folder}", f"PYTHON={sys.executable}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = [each.read_text("utf-8") for each in (folder / "coq").glob("theorems_*.assumptions")]
    assert said == ["Closed under the global context\n"] * len(load(reference).family.variants)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nothing_that_lies_in_the_folder_is_believed(certified_attacks: Path, tmp_path: Path) -> None:
    """Neither what was compiled of another specification, however new it looks, nor theorems of somebody else."""
    folder = tmp_path / "certified"
    shutil.copytree(certified_attacks, folder)
    made = "theorems", f"DIR={folder}", f"PYTHON={sys.executable}"
    assert shared().make(*made).returncode == 0
    (folder / "coq" / "theorems_aaa.v").write_text(f'Redirect "{tmp_path / "elsewhere"}" Print nat.', "utf-8")
    assert shared().make(*made).returncode == 0
    assert not (folder / "coq" / "theorems_aaa.v").exists()
    assert not (tmp_path / "elsewhere.out").exists()
    file = folder / "systems" / "main.json"
    text = file.read_text("utf-8")
    guard = '["not",["apply","used_key",[["variable","key","Key"]]]],"kind":"fresh"'
    file.write_text(text.replace(guard, '["true"],"kind":"require"'), "utf-8")
    tomorrow = time.time() + 86_400
    for file in (*folder.glob("coq/*.vo"), *folder.glob("coq/*.assumptions")):
        os.utime(file, (tomorrow, tomorrow))
    ran = shared().make(*made)
    assert (ran.returncode != 0, "written to" in ran.stdout) == (True, True), ran.stderr
