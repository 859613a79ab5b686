"""Edits of the checker in Coq, and the certificates by which a faulty checker is fooled."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.coq.coq_files import SOURCES, Library, needs_coq

CHECKER = "Checker.v"
_LISTED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("seeded.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of text in the checker."""

    id: str
    old: str
    new: str

    def made(self, folder: Path) -> None:
        """Replace the text, which is there once."""
        file = folder / CHECKER
        before = file.read_text("utf-8")
        assert before.count(self.old) == 1, self.id
        file.write_text(before.replace(self.old, self.new), "utf-8")


@dataclass(frozen=True, slots=True)
class Wrong(Edit):
    """An edit that lets the checker accept a certificate for an obligation that is not contradictory."""

    says: str
    constants: str
    hypotheses: str
    certificate: str

    def accepted(self, verdict: str) -> str:
        """State in Coq that the certificate is accepted, or that it is not."""
        obligation = f"{{| constants := [{self.constants}]; hypotheses := [{self.hypotheses}] |}}"
        return f"Goal accepts small {obligation} ({self.certificate}) = {verdict}. Proof. reflexivity. Qed.\n"


FAULTS = {each["id"]: Wrong(**each) for each in _LISTED["fault"]}
HARMLESS = {each["id"]: Edit(each["id"], each["old"], each["new"]) for each in _LISTED["harmless"]}


def stated(faults: Iterable[Wrong], verdict: str) -> str:
    """Return a Coq file that states of each certificate that it is accepted, or that it is not."""
    examples = (SOURCES / "CheckerExamples.v").read_text("utf-8")
    _, _, rest = examples.partition("(** ** A signature *)")
    signature, _, _ = rest.partition("(** ** An obligation")
    head = "From Coq Require Import List PArith.\nImport ListNotations.\nFrom Carnet Require Import Logic Checker.\n"
    return head + signature + "".join(fault.accepted(verdict) for fault in faults)


# -- the checker is proved sound in Coq ------------------------------------------------------------------


ASSUMED = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|bypass_check|"
    r"Unset (Guard|Positivity|Universe) Checking)\b"
)
"""What lets Coq take something for proved that is not."""
CLOSED = "Closed under the global context"
PROOF = "Soundness.vo"
STATED = re.compile(r"^(?:Theorem|Corollary|Example) (\w+)", re.MULTILINE)
TRUSTED = ("<none>", "Coq.ssr.ssrunder.Under_rel.")
"""What coqchk lists as axioms of a file that it does not check: here a sealed module of Coq's library."""


def without_comments(text: str) -> str:
    """Return Coq source without its comments, which may be nested."""
    innermost = re.compile(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", re.DOTALL)
    while innermost.search(text):
        text = innermost.sub(" ", text)
    return text


def assumed(text: str) -> list[str]:
    """Return the words of Coq source that assume something."""
    return [found.group() for found in ASSUMED.finditer(without_comments(text))]


def test_no_file_assumes_anything() -> None:
    files = sorted(SOURCES.glob("*.v"))
    assert {"Logic.v", CHECKER, "Soundness.v", "CheckerExamples.v"} <= {file.name for file in files}
    assert {file.name: assumed(file.read_text("utf-8")) for file in files} == {file.name: [] for file in files}


@pytest.mark.parametrize(
    "text",
    [
        "Axiom strange : False.",
        "Proof. (* (* *) *) Admitted.",
        "Proof. admit. Defined.",
        "Parameter stray : nat.",
        "Unset Guard Checking.",
        "#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.",
    ],
)
def test_what_is_assumed_is_noticed(text: str) -> None:
    assert assumed(text)
    assert not assumed(f"(* {text} *)")


def test_an_edit_can_still_be_made() -> None:
    checker = (SOURCES / CHECKER).read_text("utf-8")
    edits: list[Edit] = [*FAULTS.values(), *HARMLESS.values()]
    assert [edit.id for edit in edits if checker.count(edit.old) != 1 or edit.old == edit.new] == []
    assert len(FAULTS) >= 40


@needs_coq
def test_the_theorem_says_that_what_is_accepted_is_contradictory(library: Library) -> None:
    found = library.said("Asked", "From Carnet Require Soundness.\nCheck Soundness.sound.\n")
    statement = "forall (S : Logic.signature) (o : Logic.obligation) (r : Checker.refutation), "
    assert " ".join(found.split()) == (
        f"Soundness.sound : {statement}Checker.accepts S o r = true -> Logic.contradictory S o"
    )


@needs_coq
def test_every_theorem_rests_on_nothing(library: Library) -> None:
    theorems = [
        f"{module}.{name}"
        for module in library.modules()
        for name in STATED.findall((library.folder / f"{module}.v").read_text("utf-8"))
    ]
    assert "Soundness.sound" in theorems
    together = f"Definition together := ({', '.join(theorems)}).\nPrint Assumptions together.\n"
    assert library.said("Assumed", f"From Carnet Require {' '.join(library.modules())}.\n{together}") == CLOSED


@needs_coq
def test_compiled_files_pass_the_independent_checker(library: Library) -> None:
    """Coq's own library is taken on trust here, and checked by ``make check`` in half a minute."""
    modules = [word for module in library.modules() for word in ("-norec", f"Carnet.{module}")]
    ran = library.run("coqchk", "-silent", "-o", "-R", ".", "Carnet", *modules)
    assert ran.returncode == 0, ran.stderr
    _, _, axioms, *unchecked = re.split(r"^\* ", ran.stdout + ran.stderr, flags=re.MULTILINE)
    head, *names = axioms.split()
    assert head == "Axioms:"
    assert [name for name in names if not name.startswith(TRUSTED)] == []
    assert len(unchecked) == 3
    assert all(each.rstrip().endswith(": <none>") for each in unchecked)


@needs_coq
def test_certificates_that_would_fool_a_faulty_checker_are_refused(library: Library) -> None:
    assert library.said("Refused", stated(FAULTS.values(), "false")) == ""


@pytest.mark.slow
@pytest.mark.timeout(300)
@needs_coq
def test_coqchk_finds_no_axiom(library: Library) -> None:
    ran = library.make("check")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "* Axioms: <none>" in ran.stdout


def edited(edit: Edit, library: Library, folder: Path) -> Library:
    """Make an edit in a copy of the compiled library, and compile the checker."""
    copy = Library.copied(library.folder, folder / "library")
    edit.made(copy.folder)
    ran = copy.make("Checker.vo")
    assert ran.returncode == 0, ran.stderr
    return copy


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_an_unsound_checker_is_not_proved_sound(fault: Wrong, library: Library, tmp_path: Path) -> None:
    copy = edited(fault, library, tmp_path)
    copy.said("Fooled", stated([fault], "true"))
    ran = copy.make(PROOF)
    assert ran.returncode != 0
    assert "Error" in ran.stderr


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("edit", HARMLESS.values(), ids=list(HARMLESS))
def test_a_checker_with_a_harmless_edit_is_still_proved_sound(edit: Edit, library: Library, tmp_path: Path) -> None:
    ran = edited(edit, library, tmp_path).make(PROOF)
    assert ran.returncode == 0, ran.stderr
