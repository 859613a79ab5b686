"""The assurance case links what exists, and refuses to be built around a gap."""

from __future__ import annotations

import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from carnet_spec.language import SpecificationError
from carnet_spec.requirements import Page, pages
from docs._ext.carnet_pages import registered, write
from docs._ext.carnet_pages.assurance import Case, assurance, cases, refuse_gaps
from docs._ext.carnet_pages.record import commands, recorded
from docs._ext.carnet_pages.traces import enforced_by_code, named_by_tests
from tests.fixtures import toy

ROOT = Path(__file__).parents[3]
TEXT = Page(
    "keys",
    """# Keys

**REQ-TOY-1** The lender MUST make a new key for every loan. (Source: folklore, 1)

**REQ-TOY-2** A key MUST stay secret. (Source: folklore, 9)

**A1** The lender is never corrupt. (Source: convention)
""",
)
TESTS = {"REQ-TOY-1": ["tests/test_toy.py::test_new"], "secrecy": ["tests/test_toy.py"]}
CODE = {"REQ-TOY-1": ["toy.lend"]}


def found(text: Page = TEXT, tests: Any = TESTS, code: Any = CODE) -> dict[str, Case]:
    return {case.requirement.id: case for case in cases([toy.FAMILY], [text], tests, code)}


def test_a_requirement_is_linked_to_steps_claims_tests_and_code() -> None:
    one, two = found()["REQ-TOY-1"], found()["REQ-TOY-2"]
    assert (list(one.steps), one.tests, one.code) == (
        ["step-toy-lend"],
        ("tests/test_toy.py::test_new",),
        ("toy.lend",),
    )
    assert (list(two.claims), two.tests) == (["claim-toy-secrecy"], ("tests/test_toy.py",))
    assert found()["A1"].assumed == ("axiom lender honest",)


def test_what_is_whole_is_not_refused() -> None:
    refuse_gaps(found().values())


MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "a test": ({"tests": {}}, "REQ-TOY-1: no test names it"),
    "an obligation": (
        {"text": Page("keys", "# Keys\n\n**REQ-TOY-7** A key MUST shine. (Source: none)\n")},
        "REQ-TOY-7: no obligation",
    ),
    "an enforcing place": (
        {"text": Page("keys", "# Keys\n\n**REQ-TOY-7** A key MUST shine. (Source: none)\n")},
        "REQ-TOY-7: no enforcing place",
    ),
    "where it is assumed": (
        {"text": Page("keys", "# Keys\n\n**A7** Keys shine. (Source: none)\n")},
        "A7: no axiom",
    ),
}


@pytest.mark.parametrize("what", MISSING)
def test_a_gap_is_refused_by_name(what: str) -> None:
    change, says = MISSING[what]
    with pytest.raises(SpecificationError, match=says):
        refuse_gaps(found(**change).values())


def test_places_in_code_can_be_asked_for() -> None:
    """Claims hold of runs, so no one place in code enforces them."""
    refuse_gaps(found().values(), in_code=True)
    with pytest.raises(SpecificationError, match="REQ-TOY-1: no code says that it enforces it"):
        refuse_gaps(found(code={}).values(), in_code=True)


def test_a_sentence_that_is_cited_and_not_written_is_refused() -> None:
    """The text is the only place of sentences, so an id that is cited nowhere in it is a gap as well."""
    half = Page("keys", TEXT.text.replace("**REQ-TOY-2** A key MUST stay secret. (Source: folklore, 9)", ""))
    with pytest.raises(SpecificationError, match="REQ-TOY-2: cited by toy, and no sentence has this id"):
        cases([toy.FAMILY], [half], TESTS, CODE, complete=True)


def test_the_case_of_the_registered_protocols_is_whole() -> None:
    refuse_gaps(cases(registered(), pages(), named_by_tests(ROOT), enforced_by_code(ROOT), complete=True))


# -- what is read out of sources ------------------------------------------------------------------


def test_tests_name_ids_as_strings_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, {"tests/test_a.py": 'ROWS = {"REQ-A": 1}\n\n\ndef test_b():\n    assert "REQ-B" and "see REQ-C"\n'})
    named = named_by_tests(tmp_path)
    assert named["REQ-A"] == ["tests/test_a.py"]
    assert named["REQ-B"] == ["tests/test_a.py::test_b"]
    assert "REQ-C" not in named


DOOR = '''"""Open.

Enforces: REQ-A-1."""


class B:
    """Shut.

    Enforces: REQ-B-1,
    REQ-B-2.

    REQ-C-1 is about something else.
    """
'''


def test_code_says_in_docstrings_what_it_enforces(tmp_path: Path) -> None:
    write(tmp_path, {"reference_impl/ref/door.py": DOOR})
    assert enforced_by_code(tmp_path) == {
        "REQ-A-1": ["ref.door"],
        "REQ-B-1": ["ref.door.B"],
        "REQ-B-2": ["ref.door.B"],
    }


# -- attacks --------------------------------------------------------------------------------------


def run(**changes: Any) -> dict[str, Any]:
    without = toy.FAMILY.protocol("main", ("fresh-key",))
    printed = {
        "protocol": "toy",
        "variant": "main",
        "removed": ["fresh-key"],
        "threat": "collusion",
        "claim": "secrecy",
        "verdict": "VIOLATED",
        "detail": "3 steps",
        "run": {"spec_digests": {"main": without.digest}},
    }
    return recorded("", ["carnet", "attack", "toy"], printed | changes)


def attacks(*runs: dict[str, Any]) -> str:
    return assurance([toy.FAMILY], list(found().values()), runs)["assurance/attacks.md"]


def test_an_attack_is_shown_with_what_it_breaks_and_its_command() -> None:
    shown = attacks(run())
    digest = toy.FAMILY.protocol("main", ("fresh-key",)).digest[:12]
    row = f"`fresh-key`<br>Every loan has a key of its own. | secrecy falls under collusion | 3 steps | `{digest}` |"
    assert row in shown
    known = attacks(run() | {"finding": "one-key"})
    assert "| `one-key`<br>A key lent twice has two owners<br>`carnet attack toy` |" in known


def test_what_is_redundant_or_undecided_or_stale_says_so() -> None:
    assert "| redundant |" in attacks(run(verdict="PROVED"))
    assert "| **not decided** |" in attacks(run(verdict="UNKNOWN"))
    assert "**stale**" in attacks(run(run={"spec_digests": {"main": "0" * 64}}))


def test_every_defence_and_every_finding_is_recorded() -> None:
    asked = [command for _, command in commands(toy.FAMILY)]
    assert ["carnet", "attack", "toy", "--without", "fresh-key"] in asked
    assert asked[-1][3:] == ["--variant", "forgetful", "--threat", "collusion", "--claim", "secrecy"]


@pytest.mark.skipif(util.find_spec("sphinx_needs") is None, reason="needs the docs extra; CI builds all pages anyway")
def test_the_pages_build_and_their_links_lead_somewhere(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, assurance([toy.FAMILY], list(found().values()), [run()]))
    settings = (ROOT / "docs" / "conf.py").read_text("utf-8").partition("# The assurance case")[2]
    head = 'extensions = ["myst_parser", "sphinx_needs"]\nroot_doc = "assurance"\n# The assurance case'
    (source / "conf.py").write_text(head + settings)
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "-b", "html", str(source), str(tmp_path / "html")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "html" / "assurance" / "requirements.html").read_text("utf-8")
    assert "REQ-TOY-1" in page
    assert "evidence.html#step-toy-lend" in page
