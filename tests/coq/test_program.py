"""The extracted program accepts certificates that prove their obligation, and says what is wrong with others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings

from carnet_check.coq.folder import program_files
from carnet_check.coq.program import KIBIBYTES, MALFORMED, REFUSED, SECONDS, run_program
from carnet_check.exports.coq_data import program_text
from carnet_check.exports.systems import system
from carnet_check.loading.families import load
from carnet_spec.language import Protocol
from tests.coq.certifiable import certifiable, thorny
from tests.coq.coq_files import program, said
from tests.coq.flagging import converted, flagging
from tests.coq.generated import made_in_coq, made_in_python, names_for_certificates

SYSTEM, CERTIFICATES = program_files(flagging(), converted(flagging()))


def ran(folder: Path, command: str, *texts: str) -> subprocess.CompletedProcess[str]:
    files = []
    for number, text in enumerate(texts):
        files.append(folder / f"{number}.txt")
        files[-1].write_text(text, "utf-8")
    return subprocess.run([program(), command, *files], capture_output=True, text=True, timeout=60, check=False)


def test_certificates_by_hand_are_accepted(tmp_path: Path) -> None:
    found = ran(tmp_path, "check", SYSTEM, CERTIFICATES)
    assert found.stdout == "layer *: 2 of 2 accepted\nlayer nobody: 2 of 2 accepted\n"
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ("u 1 w 0 x 1 1 0\n", "u 0 w 0 x 1 1 0\n", "init/only%20bad"),
        ("u 1 w 0 x 1 1 0\n", "u 1 w 0 x 1 0 0\n", "init/only%20bad"),
        ("u 1 w 0 x 1 1 0\n", "x 0 0\n", "init/only%20bad"),
        ("i 0 1 e1", "i 0 1 e0", "step/flag/only%20bad"),
        ("i 0 1 e1", "i 0 1 e9", "step/flag/only%20bad"),
        ("x 2 0 5 0 u 2", "x 2 0 5 0 u 9", "step/flag/only%20bad"),
        ("x 3 0 2 4 1 1 0", "x 3 0 2 4 0", "step/flag/only%20bad"),
        ("x 3 0 2 4 1 1 0", "x 3 0 2 4 1 1 1", None),
        ("u 4 u 1", "u 4 u 2", "step/flag/none"),
    ],
)
def test_a_certificate_that_is_changed_is_refused(tmp_path: Path, old: str, new: str, refused: str | None) -> None:
    """An equation may be read in either direction; everything else that is changed here proves nothing."""
    assert CERTIFICATES.count(old) == 1
    found = ran(tmp_path, "check", SYSTEM, CERTIFICATES.replace(old, new))
    assert found.returncode == (REFUSED if refused else 0)
    assert [line for line in found.stdout.splitlines() if line.startswith("refused")] == (
        [f"refused {refused}"] if refused else []
    )


def test_a_certificate_of_another_obligation_is_refused(tmp_path: Path) -> None:
    lines = CERTIFICATES.splitlines()
    lines[1], lines[2] = lines[2], lines[1]
    found = ran(tmp_path, "check", SYSTEM, "\n".join(lines))
    assert found.returncode == REFUSED
    assert "layer *: 0 of 2 accepted" in found.stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(Build_declaration 2 (1) None true)", "(Build_declaration 1 (1) None true)"),
        ("(Build_declaration 2 (1) None true)", "(Build_declaration 2 (1) None false)"),
        ("(Build_action (1)", "(Build_action (2)"),
        (" () ((Exists 1 (Const true))) ", " ((pair 1 (1)) (pair 1 (2))) ((Exists 1 (Const true))) "),
        ("(Holds 1 ((Bound 0)))) ((Build_update", "(Holds 1 ((Bound 1)))) ((Build_update"),
        ("(Layer nobody ((Forall 1 (Not (Holds 1 ", "(Layer nobody ((Forall 1 (Not (Holds 2 "),
    ],
)
def test_a_system_that_is_not_well_stated_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert old in SYSTEM
    found = ran(tmp_path, "check", SYSTEM.replace(old, new), CERTIFICATES)
    assert found.returncode == REFUSED
    assert "NOT WELL STATED" in found.stdout


@pytest.mark.parametrize(
    ("system", "certificates", "error"),
    [
        ("", CERTIFICATES, "expected a protocol, the names of its actions, and layers"),
        (SYSTEM[:-3], CERTIFICATES, "a bracket is not closed"),
        (SYSTEM + ")", CERTIFICATES, "a bracket is closed that was not opened"),
        (SYSTEM.replace("(Bound 0)", "(Bound 1073741824)"), CERTIFICATES, "expected a number below 2^30"),
        (SYSTEM.replace("(Bound 0)", "(Bound 99999999999999999999)"), CERTIFICATES, "expected a number, found"),
        (SYSTEM.replace("(Bound 0)", "(Bound -1)"), CERTIFICATES, "expected a number, found -1"),
        (SYSTEM.replace("(Bound 0)", "(Bound 0x1)"), CERTIFICATES, "expected a number, found 0x1"),
        (SYSTEM.replace("(Holds 1", "(Holds 0"), CERTIFICATES, "expected a number from 1, found 0"),
        (SYSTEM.replace("(Bound 0)", "(Eigen 0)"), CERTIFICATES, "expected a term, found (Eigen 0)"),
        (SYSTEM.replace("Implies", "Iff"), CERTIFICATES, "expected a formula, found (Iff"),
        (SYSTEM.replace("(Insert)", "(Toggle)"), CERTIFICATES, "expected an effect, found (Toggle)"),
        (
            SYSTEM.replace("(Actions flag)", "(Actions flag flog)"),
            CERTIFICATES,
            "a name for each of 1 actions, found 2",
        ),
        (SYSTEM.replace("(none))", "())"), CERTIFICATES, "a name for each of 1 claims, found 0"),
        ("(" * 3_000_000, CERTIFICATES, "a bracket is not closed"),
        ("(Actions " + "(" * 3_000_000 + ")" * 3_000_001, CERTIFICATES, "expected a protocol"),
        (SYSTEM, "", "expected certificates of the layers *, nobody"),
        (SYSTEM, "u 0\n", "expected a line that names a layer, found u 0"),
        (SYSTEM, CERTIFICATES.replace("layer nobody", "layer anybody"), "expected certificates of the layers"),
        (SYSTEM, CERTIFICATES.replace("u 2 w 0 x 1 0 0\n", ""), "layer nobody: expected 2 certificates, found 1"),
        (SYSTEM, CERTIFICATES.replace("x 1 1 0", "x 1 1 0 x"), "goes on after its end with x"),
        (SYSTEM, CERTIFICATES.replace("x 1 1 0", "x 1 1"), "a certificate ends too early"),
        (SYSTEM, CERTIFICATES.replace("x 1 1 0", "x 1073741823 1 0"), "a certificate ends too early"),
        (SYSTEM, CERTIFICATES.replace("i 0 1 e1", "i 0 1 b1"), "expected a term in a certificate, found b1"),
        (SYSTEM, CERTIFICATES.replace("i 0 1 e1", "i 0 1 f7"), "applies symbol 7, which is not declared"),
        (SYSTEM, CERTIFICATES.replace("u 1 w", "v 1 w"), "expected a step of a certificate, found v"),
    ],
)
def test_what_cannot_be_read_has_one_clear_error(tmp_path: Path, system: str, certificates: str, error: str) -> None:
    found = ran(tmp_path, "check", system, certificates)
    assert found.returncode == MALFORMED
    assert found.stderr.startswith("error: ")
    assert found.stderr.count("\n") == 1
    assert error in found.stderr
    assert found.stdout == "" or "layer nobody: expected" in error


@pytest.mark.parametrize("words", [(), ("prove", "it"), ("check", "/no/such/file", "/none"), ("obligations", "/")])
def test_what_is_asked_wrongly_has_one_clear_error(words: tuple[str, ...]) -> None:
    found = subprocess.run([program(), *words], capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (MALFORMED, "", 1)
    assert found.stderr.startswith("error: ")


def test_it_prints_obligations_and_what_needs_none(tmp_path: Path) -> None:
    found = ran(tmp_path, "obligations", program_text(flagging()))
    lines = found.stdout.splitlines()
    assert lines[0] == "layer *"
    assert [line for line in lines if line.startswith("obligation")] == [
        "obligation init/only%20bad () (0 1)",
        "obligation step/flag/only%20bad (1) (0 2 3 4)",
        "obligation init/none () (0 5 6)",
        "obligation step/flag/none (1) (0 5 2 7 3 8)",
    ]
    goal = "(Or (Holds 2 ((Bound 0))) (And (Equal (Bound 0) (Bound 1)) (Const true)))"
    assert f"formula 4 (Not (Forall 1 (Implies {goal} (Holds 1 ((Bound 0))))))" in lines


def test_the_program_runs_within_limits(tmp_path: Path) -> None:
    file = tmp_path / "limits"
    file.write_text('#!/bin/sh\necho "$1"; ulimit -t; ulimit -v\n')
    file.chmod(0o755)
    accepted, lines = run_program(file, "word")
    assert (accepted, list(lines)) == (True, ["word", str(SECONDS), str(KIBIBYTES)])


# -- the generators in Coq and in Python make the same obligations, formula by formula -------------------


FAMILY = load("gpu-travelling").family


def require_agreement(protocol: Protocol) -> int:
    """Compare the generators, and return how many obligations they make."""
    in_coq, untouched_in_coq = made_in_coq(said("obligations", system(protocol.canonical_json)))
    in_python, untouched, names = made_in_python(protocol)
    for one, other in zip(in_coq, in_python, strict=True):
        assert one == other
    assert untouched_in_coq == untouched
    assert list(names_for_certificates(protocol)) == names
    return len(in_coq)


@pytest.mark.parametrize("examples", [25, pytest.param(500, marks=pytest.mark.slow)])
def test_obligations_of_random_protocols_are_the_same(examples: int) -> None:
    program()
    seen = []

    @settings(max_examples=examples, deadline=None)
    @given(certifiable())
    def compared(protocol: Protocol) -> None:
        seen.append(require_agreement(protocol))

    compared()
    assert sum(seen) > examples


def test_obligations_of_thorny_steps_are_the_same() -> None:
    assert require_agreement(thorny()) > 5


@pytest.mark.parametrize("variant", FAMILY.with_layers(FAMILY.main)[1::2])
def test_obligations_of_timed_layers_are_the_same(variant: str) -> None:
    assert require_agreement(FAMILY.protocol(variant)) > 200


@pytest.mark.slow
@pytest.mark.parametrize("variant", FAMILY.with_layers(FAMILY.main)[::2])
def test_obligations_of_main_variants_are_the_same(variant: str) -> None:
    assert require_agreement(FAMILY.protocol(variant)) > 2_000
