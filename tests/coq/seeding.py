"""Edits of the checker in Coq, and the certificates by which a faulty checker is fooled."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.coq.coq_files import SOURCES

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
