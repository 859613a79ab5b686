"""Obligations in TPTP: the prover E reads them and agrees."""

import shutil
import subprocess
from pathlib import Path

import pytest

from carnet_check.exports.tptp import quote_name, tptp
from carnet_check.obligations import Obligation
from carnet_spec.language import Formula, SpecificationError, Step, forall
from tests.unit.model_check.obligations.lending import lending, obligation
from tests.unit.model_check.small import *

EPROVER = shutil.which("eprover")
needs_e = pytest.mark.skipif(EPROVER is None, reason="needs E, the package 'eprover' of Debian")
LENDING = lending().protocol()


def _status(each: Obligation, folder: Path, seconds: int = 20) -> str:
    file = folder / "problem.p"
    file.write_text(tptp(each), "utf-8")
    command = [str(EPROVER), "--auto", "-s", f"--cpu-limit={seconds}", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    (status,) = [line for line in ran.stdout.splitlines() if "SZS status" in line]
    return status.rpartition(" ")[2]


@needs_e
@pytest.mark.parametrize("id", ["init/owned", "step/end/owned", "step/lend/owned", "step/look/known_are_seen"])
def test_e_proves_what_holds(id: str, tmp_path: Path) -> None:
    assert _status(obligation(LENDING, id), tmp_path) == "Unsatisfiable"


def late(step: Step, by: Party) -> None:
    """Say who is last, if a flag is up, and that it is over."""
    step.set(last, by, when=first)
    step.set(phase, Phase.OVER, when=first)


@needs_e
def test_members_of_an_enumeration_differ_and_are_all_there_is(tmp_path: Path) -> None:
    def answer(claim: Formula) -> str:
        return _status(obligation(claimed(drafted(late), it=lambda: claim), "init/it"), tmp_path, 1)

    early, late_or_over = phase == Phase.EARLY, (phase == Phase.LATE) | (phase == Phase.OVER)
    assert answer(~early | (phase != Phase.LATE)) == "Unsatisfiable"
    assert answer(early | late_or_over) == "Unsatisfiable"
    assert answer(late_or_over) in ("Satisfiable", "ResourceOut")


@needs_e
def test_a_choice_is_what_it_says_in_both_cases(tmp_path: Path) -> None:
    both = claimed(drafted(late), it=lambda: (last == alice) | (last != alice))
    one = claimed(drafted(late), it=lambda: last == alice)
    assert _status(obligation(both, "step/late/it"), tmp_path) == "Unsatisfiable"
    assert _status(obligation(one, "step/late/it"), tmp_path) == "Satisfiable"


def test_a_name_is_quoted_and_what_has_no_quotation_is_refused() -> None:
    assert quote_name("guard:it's \\ here") == r"'guard:it\'s \\ here'"
    with pytest.raises(SpecificationError, match="characters that TPTP cannot write"):
        quote_name("naïve")


@needs_e
def test_odd_names_are_read(tmp_path: Path) -> None:
    def act(step: Step, by: Party) -> None:
        step.require("it's a \"name\", $isn't it?", first)
        step.insert(seen(by))

    protocol = claimed(drafted(act), it=lambda: forall(lambda q: seen(q) | ~seen(q), Party))
    assert _status(obligation(protocol, "step/act/it"), tmp_path) == "Unsatisfiable"
