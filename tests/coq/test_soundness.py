"""The checker is proved sound in Coq, of the language as it is; of what is edited so that it is wrong, proofs fail."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from carnet_check.exports.coq_data import CoqText
from carnet_check.exports.systems import system
from carnet_check.loading.families import load
from docs._ext.carnet_pages.shown import ROOT, blocks, patched
from tests.coq.coq_files import SOURCES, Edit, Library, listed, needs_coq

CHECKER = "Checker.v"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong(Edit):
    """An edit that lets the checker accept a certificate for an obligation that is not contradictory."""

    constants: str
    hypotheses: str
    certificate: str

    def accepted(self, verdict: str) -> str:
        """State in Coq that the certificate is accepted, or that it is not."""
        obligation = f"{{| constants := [{self.constants}]; hypotheses := [{self.hypotheses}] |}}"
        return f"Goal accepts small {obligation} ({self.certificate}) = {verdict}. Proof. reflexivity. Qed.\n"


FAULTS = [Wrong(**each) for each in listed("seeded.toml")]
HARMLESS = [Edit(**each) for each in listed("seeded.toml", "harmless")]
OF_THE_MEANING = [Edit(**each) for each in listed("seeded_meaning.toml")]
HARMLESS_TO_THE_MEANING = [Edit(**each) for each in listed("seeded_meaning.toml", "harmless")]
OF_EXHAUSTION = [Edit(**each) for each in listed("exhaustion.toml")]
MEANING, GENERATOR, FAIRNESS = "Protocol.v", "Obligations.v", "Fairness.v"


def stated(faults: Iterable[Wrong], verdict: str) -> str:
    """Return a Coq file that states of each certificate that it is accepted, or that it is not."""
    examples = (SOURCES / "CheckerExamples.v").read_text("utf-8")
    _, _, rest = examples.partition("(** ** A signature *)")
    signature, _, _ = rest.partition("(** ** An obligation")
    head = "From Coq Require Import List PArith.\nImport ListNotations.\nFrom Carnet Require Import Logic Checker.\n"
    return head + signature + "".join(fault.accepted(verdict) for fault in faults)


#: What lets Coq take something for proved that is not.
ASSUMED = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|bypass_check|"
    r"Unset (Guard|Positivity|Universe) Checking)\b"
)
CLOSED = "Closed under the global context"
PROOF = "Soundness.vo"
STATED = re.compile(r"^(?:Theorem|Corollary|Example) (\w+)", re.MULTILINE)
#: What coqchk lists as axioms of a file that it does not check: here a sealed module of Coq's library.
TRUSTED = ("<none>", "Coq.ssr.ssrunder.Under_rel.")


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
    """Its text is there once, no two of a table have one name, and there are many of each part."""
    tables: tuple[list[Edit], ...] = ([*FAULTS, *HARMLESS], [*OF_THE_MEANING, *HARMLESS_TO_THE_MEANING], OF_EXHAUSTION)
    edits = [edit for table in tables for edit in table]
    texts = {name: (SOURCES / name).read_text("utf-8") for name in {edit.file for edit in edits}}
    assert [edit.id for edit in edits if texts[edit.file].count(edit.old) != 1 or edit.old == edit.new] == []
    assert [len({edit.id for edit in table}) for table in tables] == [*map(len, tables)]
    assert (len(FAULTS) >= 40, len(OF_EXHAUSTION) > 20) == (True, True)
    counted = Counter(edit.file for edit in OF_THE_MEANING)
    assert {*counted} == {MEANING, GENERATOR, FAIRNESS}
    assert min(counted[file] for file in (MEANING, GENERATOR)) >= 15
    assert counted[FAIRNESS] > 10


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
    assert library.said("Refused", stated(FAULTS, "false")) == ""


@pytest.mark.slow
@pytest.mark.timeout(300)
@needs_coq
def test_coqchk_finds_no_axiom(library: Library) -> None:
    ran = library.make("check")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "* Axioms: <none>" in ran.stdout


def edited(edit: Edit, library: Library, folder: Path) -> Library:
    """Make an edit in a copy of the compiled library, and compile the file."""
    copy = edit.made(library, folder)
    ran = copy.make(edit.file.replace(".v", ".vo"))
    assert ran.returncode == 0, ran.stderr
    return copy


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_an_unsound_checker_is_not_proved_sound(fault: Wrong, library: Library, tmp_path: Path) -> None:
    copy = edited(fault, library, tmp_path)
    copy.said("Fooled", stated([fault], "true"))
    ran = copy.make(PROOF)
    assert ran.returncode != 0
    assert "Error" in ran.stderr


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("edit", HARMLESS, ids=lambda edit: edit.id)
def test_a_checker_with_a_harmless_edit_is_still_proved_sound(edit: Edit, library: Library, tmp_path: Path) -> None:
    ran = edited(edit, library, tmp_path).make(PROOF)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("fault", OF_EXHAUSTION, ids=lambda fault: fault.id)
def test_a_check_of_instances_that_lets_wrongs_through_has_no_proof(
    fault: Edit, library: Library, tmp_path: Path
) -> None:
    assert library.make("Exhaustion.vo").returncode == 0
    ran = fault.made(library, tmp_path).make("Exhaustion.vo")
    assert ran.returncode != 0
    assert "Error" in ran.stderr


# -- that certified claims hold in every reachable state is proved of the language as it is, and of something ------


#: What some theorems say, word by word.
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
    "Liveness.certified_in_the_end": """
        forall (P : Protocol.protocol) (threat claims : list Logic.formula) (live : Fairness.liveness)
          (certificates : list Checker.refutation),
        Fairness.certified_of_liveness P claims live certificates = true ->
        (forall c : Logic.formula, List.In c claims -> Protocol.always P threat c) ->
        Fairness.in_the_end P threat live""",
    "Tutorial.secrecy_needs_the_defence": """
        ~ Protocol.always Tutorial.without_fresh_key Handoff.threat_theft Handoff.claim_secrecy""",
    "Plain.plain_secrecy": """
        forall (Holder Key : Type) (corrupt : Holder -> Prop),
        (forall X : Prop, X \\/ ~ X) ->
        forall s : Plain.state Holder Key,
        Plain.can_be Holder Key corrupt s ->
        forall x y : Holder, Plain.learned Holder Key s x y -> ~ corrupt y -> x = y""",
}


@needs_coq
def test_the_theorems_say_what_they_say(library: Library) -> None:
    asked = "".join(f"Check {name}.\n" for name in STATEMENTS)
    said = library.said("Says", f"From Carnet Require Induction Liveness Tutorial Plain.\n{asked}")
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
    exported = CoqText(system(load(str(tmp_path / "handoff.py")).family.protocol().canonical_json))
    definitions = "\n".join(exported.definitions())
    imports = "From Coq Require Import List PArith. Import ListNotations. From Carnet Require Import Logic Protocol."
    assert library.said("Exported", f"{imports}\n{definitions}") == ""
    same = (exported.protocol, "handoff"), ("threat_theft", "threat_theft"), ("claimed_under_every_threat", "claims")
    goals = (f"Goal Exported.{theirs} = Handoff.{ours}. Proof. reflexivity. Qed.\n" for theirs, ours in same)
    assert library.said("Same", f"From Carnet Require Exported Handoff.\n{''.join(goals)}") == ""


def complaint(edit: Edit, library: Library, folder: Path, *wanted: str) -> str:
    """Make an edit in a copy of the compiled library, compile what is wanted, or all, and return what Coq refuses."""
    copy = edited(edit, library, folder)
    ran = copy.make(*(name.replace(".v", ".vo") for name in wanted))
    refused = re.search(r'^File "\./(\w+\.v)"', ran.stderr, re.MULTILINE)
    assert (refused is None) == (ran.returncode == 0), ran.stderr
    return refused.group(1) if refused else ""


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("fault", OF_THE_MEANING, ids=lambda fault: fault.id)
def test_a_proof_notices_a_fault_of_the_meaning_or_the_generator(fault: Edit, library: Library, tmp_path: Path) -> None:
    assert fault.noticed_by
    assert complaint(fault, library, tmp_path, fault.noticed_by) == fault.noticed_by


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("edit", HARMLESS_TO_THE_MEANING, ids=lambda edit: edit.id)
def test_no_proof_complains_of_a_harmless_edit(edit: Edit, library: Library, tmp_path: Path) -> None:
    assert complaint(edit, library, tmp_path) == ""
