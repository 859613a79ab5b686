"""That certified claims hold in every reachable state is proved in Coq, of the language as it is, and of something."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from carnet_check.exports.coq_data import CoqText
from carnet_check.exports.systems import system
from carnet_check.loading.families import load
from docs._ext.carnet_pages.shown import ROOT, blocks, patched
from tests.coq.coq_files import SOURCES, Library, needs_coq

_LISTED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("seeded_meaning.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of text, and the file whose proofs notice it; none do if it is harmless."""

    id: str
    says: str
    file: str
    old: str
    new: str
    noticed_by: str = ""

    def made(self, folder: Path) -> None:
        """Replace the text."""
        file = folder / self.file
        file.write_text(file.read_text("utf-8").replace(self.old, self.new), "utf-8")


FAULTS = {each["id"]: Edit(**each) for each in _LISTED["fault"]}
HARMLESS = {each["id"]: Edit(**each) for each in _LISTED["harmless"]}
MEANING, GENERATOR = "Protocol.v", "Obligations.v"

STATEMENTS = {
    "Induction.certified_always": """
        forall (P : Protocol.protocol) (threat known claims : list Logic.formula)
          (certificates : list Checker.refutation),
        Obligations.certified P threat known claims certificates = true ->
        (forall k : Logic.formula, List.In k known -> Protocol.always P threat k) ->
        forall c : Logic.formula, List.In c claims -> Protocol.always P threat c""",
    "Induction.always_under": """
        forall (P : Protocol.protocol) (threat : list Logic.formula) (claim : Logic.formula),
        Protocol.always P nil claim -> Protocol.always P threat claim""",
    "Tutorial.secrecy_needs_the_defence": """
        ~ Protocol.always Tutorial.without_fresh_key Handoff.threat_theft Handoff.claim_secrecy""",
    "Plain.plain_secrecy": """
        forall (Holder Key : Type) (corrupt : Holder -> Prop),
        (forall X : Prop, X \\/ ~ X) ->
        forall s : Plain.state Holder Key,
        Plain.can_be Holder Key corrupt s ->
        forall x y : Holder, Plain.learned Holder Key s x y -> ~ corrupt y -> x = y""",
}
"""What some theorems say, word by word."""


def test_an_edit_can_still_be_made() -> None:
    edits = [*FAULTS.values(), *HARMLESS.values()]
    texts = {name: (SOURCES / name).read_text("utf-8") for name in (MEANING, GENERATOR)}
    assert [edit.id for edit in edits if texts[edit.file].count(edit.old) != 1 or edit.old == edit.new] == []
    assert len({edit.id for edit in edits}) == len(edits)
    assert all(sum(fault.file == name for fault in FAULTS.values()) >= 15 for name in texts)


@needs_coq
def test_the_theorems_say_what_they_say(library: Library) -> None:
    asked = "".join(f"Check {name}.\n" for name in STATEMENTS)
    said = library.said("Says", f"From Carnet Require Induction Tutorial Plain.\n{asked}")
    assert said.split() == " ".join(f"{name} : {text}" for name, text in STATEMENTS.items()).split()


def tutorial() -> str:
    """Return the protocol that the tutorial ends with."""
    text = ""
    for block in blocks((ROOT / "docs" / "tutorial.md").read_text("utf-8")):
        match block.what.partition(" ")[0]:
            case "file":
                text = block.text
            case "append":
                text += block.text
            case "patch":
                text = patched(text, block.text)
    return text


@needs_coq
def test_the_example_is_the_protocol_of_the_tutorial(library: Library, tmp_path: Path) -> None:
    """As data: names, claims, steps. Written by hand in Handoff.v, and by the exporter from the tutorial."""
    (tmp_path / "handoff.py").write_text(tutorial(), "utf-8")
    exported = CoqText(system(load(str(tmp_path / "handoff.py")).family.protocol().encoded))
    definitions = "\n".join(exported.definitions())
    imports = "From Coq Require Import List PArith. Import ListNotations. From Carnet Require Import Logic Protocol."
    assert library.said("Exported", f"{imports}\n{definitions}") == ""
    same = (exported.protocol, "handoff"), ("threat_theft", "threat_theft"), ("claimed_under_every_threat", "claims")
    goals = (f"Goal Exported.{theirs} = Handoff.{ours}. Proof. reflexivity. Qed.\n" for theirs, ours in same)
    assert library.said("Same", f"From Carnet Require Exported Handoff.\n{''.join(goals)}") == ""


def complaint(edit: Edit, library: Library, folder: Path, *wanted: str) -> str:
    """Make an edit in a copy of the compiled library, compile what is wanted, or all, and return what Coq refuses."""
    copy = Library.copied(library.folder, folder / "library")
    edit.made(copy.folder)
    compiled = copy.make(edit.file.replace(".v", ".vo"))
    assert compiled.returncode == 0, compiled.stderr
    ran = copy.make(*(name.replace(".v", ".vo") for name in wanted))
    refused = re.search(r'^File "\./(\w+\.v)"', ran.stderr, re.MULTILINE)
    assert (refused is None) == (ran.returncode == 0), ran.stderr
    return refused.group(1) if refused else ""


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_a_proof_notices_a_fault_of_the_meaning_or_the_generator(fault: Edit, library: Library, tmp_path: Path) -> None:
    assert fault.noticed_by
    assert complaint(fault, library, tmp_path, fault.noticed_by) == fault.noticed_by


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("edit", HARMLESS.values(), ids=list(HARMLESS))
def test_no_proof_complains_of_a_harmless_edit(edit: Edit, library: Library, tmp_path: Path) -> None:
    assert complaint(edit, library, tmp_path) == ""
