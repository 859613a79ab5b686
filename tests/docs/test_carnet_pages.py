"""The generated pages show what the specification says, and which recorded verdicts are about it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from carnet_spec.language import Draft, SpecificationError
from carnet_spec.language.requirements import NormativeText
from docs._ext.carnet_pages import api, specification, write
from docs._ext.carnet_pages.markdown import code, label, prose, table
from tests.fixtures import toy

ROOT = Path(__file__).parents[2]
TEXT = NormativeText(
    """# Keys

**REQ-TOY-1** The lender MUST make a new key for every loan. (Source: folklore, 1)
* **REQ-TOY-2** A key MUST stay secret. (Source: folklore, 9)

**A1** The lender is never corrupt. (Source: convention)
"""
)
FAMILY = replace(toy.FAMILY, text=TEXT)


def _result(claim: str, threat: str, verdict: str, **more: Any) -> dict[str, Any]:
    row = {"protocol": "toy", "variant": "main", "claim": claim, "threat": threat, "verdict": verdict}
    return {**row, "engine": "explicit", "expected": verdict, "assumptions": ["A1"], **more}


def _run(*results: dict[str, Any], digest: str | None = None) -> dict[str, Any]:
    now = toy.FAMILY.protocol().digest
    return {
        "results": list(results),
        "summary": {"declared": ["punctual"]},
        "run": {"rerun": "carnet verify toy", "spec_digests": {"main": now if digest is None else digest}},
    }


def _pages(**results: Any) -> dict[str, str]:
    return specification([FAMILY], results)


def test_there_is_a_page_for_everything_and_the_index_leads_to_it() -> None:
    made = _pages()
    assert sorted(made) == [
        "index.md",
        "toy/actions.md",
        "toy/claims.md",
        "toy/claims/punctual.md",
        "toy/claims/secrecy.md",
        "toy/defences.md",
        "toy/diagrams.md",
        "toy/index.md",
        "toy/requirements.md",
        "toy/state.md",
        "verdicts.md",
    ]
    listed = set(re.findall(r"^[\w/-]+$", made["index.md"], re.MULTILINE))
    assert {"toy/index", "verdicts"} <= listed
    assert all(text.endswith("\n") and not text.endswith("\n\n") for text in made.values())


SHOWN: dict[str, tuple[str, str]] = {
    "a party": ("toy/index.md", "| lender | yes | {ref}`lend <toy-action-lend>`"),
    "a corrupt party": ("toy/index.md", "| adversary | no |"),
    "a sort": ("toy/index.md", "| `Key` | any number, drawn fresh |"),
    "an enumeration": ("toy/index.md", "| `Phase` | `HOME`, `AWAY` |"),
    "a threat model": ("toy/index.md", "none\n: nobody is corrupt\n\n  `∀x: Agent. ¬corrupt(x)`"),
    "an assumption": ("toy/index.md", "| {ref}`A1 <toy-requirement-a1>` | The lender is never corrupt. |"),
    "an axiom": ("toy/index.md", "| lender honest | `¬corrupt(lender)` | {ref}`A1 <toy-requirement-a1>` |"),
    "a defence": ("toy/index.md", "| `fresh-key` | Every loan has a key of its own. | {ref}`lend"),
    "a shortcut": ("toy/index.md", "{ref}`take_back <toy-action-take-back>`: the right key<br>no {ref}`forget"),
    "a variant": ("toy/index.md", "| `forgetful` | one key for all loans |  | fresh-key |"),
    "a finding": ("toy/index.md", "| `one-key` | A key lent twice has two owners |  | {ref}`secrecy"),
    "the digest": ("toy/index.md", toy.FAMILY.protocol().digest),
    "a symbol": ("toy/state.md", "| `holds(Agent, Key)` | borrower | yes | the agent took the key |"),
    "kinds of symbols": ("toy/state.md", "## History, for the claims alone"),
    "an initial value": ("toy/state.md", "* `phase = HOME`"),
    "an action": ("toy/actions.md", "(toy-action-lend)=\n### lend\n\naction `lend(to: Agent, key: Key)`"),
    "a sentence": ("toy/actions.md", "the lender makes `key` and lends it to `to`."),
    "a reason": ("toy/actions.md", "*Why:* A key of its own makes the borrower accountable."),
    "a guard": ("toy/actions.md", "| require | at home | `phase = HOME` |  |"),
    "a tagged guard": ("toy/actions.md", "| fresh | fresh key | `key is new` | `fresh-key` |"),
    "an update": ("toy/actions.md", "| update | revoke | `remove lent(agent, current) for every agent: Agent` |  |"),
    "a message": ("toy/actions.md", r"*Message:* lender -\> `to`: `key`"),
    "a source and a requirement": (
        "toy/actions.md",
        "(source: folklore, 1; enforces {ref}`REQ-TOY-1 <toy-requirement-req-toy-1>`)",
    ),
    "what is a shortcut": ("toy/actions.md", "exists only without `return-checked`"),
    "a cost": ("toy/actions.md", "counts 1 against an adversary's budget"),
    "a rule": ("toy/actions.md", "rule `read(user: Agent, key: Key)`"),
    "parties as headings": ("toy/actions.md", "\n## borrower\n"),
    "claims and threats": ("toy/claims.md", "| {ref}`secrecy <toy-claim-secrecy>` | ✓ | ✓ |"),
    "a declared claim": ("toy/claims.md", "| {ref}`punctual <toy-claim-punctual>` | declared |  |"),
    "a claim": ("toy/claims.md", "(toy-claim-secrecy)=\n## secrecy\n\nNo one but its borrower"),
    "a claim's formula": (
        "toy/claims.md",
        "```text\n∀x: Agent, k: Key. knows(x, k) ∧ ¬corrupt(owner(k)) →",
    ),
    "a claim's requirement": (
        "toy/claims.md",
        "(states {ref}`REQ-TOY-2 <toy-requirement-req-toy-2>`; source: folklore, 9)",
    ),
    "a requirement without a text": ("toy/claims.md", "(states REQ-TOY-3; source: folklore, 10)"),
    "a goal": ("toy/claims.md", "### loan-ends\n\nA loan ends.\n\n```text\n∃a: Agent"),
    "a lemma": ("toy/claims.md", "### known\\_keys\\_are\\_used\n\nNobody knows a key before it is made."),
    "a normative sentence": ("toy/requirements.md", "(toy-requirement-req-toy-1)=\n**REQ-TOY-1** The lender MUST"),
    "a normative item": ("toy/requirements.md", "\n(toy-requirement-req-toy-2)=\n**REQ-TOY-2** A key MUST"),
    "no run": ("verdicts.md", "No long run is recorded."),
}


def test_the_pages_show_everything_of_a_protocol() -> None:
    pages = _pages()
    assert [row for row, (name, text) in SHOWN.items() if text not in pages[name]] == []


def test_every_reference_has_its_target() -> None:
    whole = "\n".join(_pages().values())
    targets = re.findall(r"^\(([a-z0-9-]+)\)=$", whole, re.MULTILINE)
    assert len(targets) == len(set(targets))
    assert set(re.findall(r"\{ref\}`[^`<]+<([^`>]+)>`", whole)) <= set(targets)


def test_what_another_main_variant_does_differently_is_shown() -> None:
    def draft(variant: str) -> Draft:
        made = toy.draft(variant)
        if variant == "forgetful":
            action = made.whole().action("lend")
            made.__dict__["_actions"].append(replace(action, name="lend_again"))
        return made

    made = specification([replace(FAMILY, draft=draft, main=("main", "forgetful"))], {})
    assert "## In variant forgetful instead\n\n(toy-forgetful-action-lend-again)=" in made["toy/actions.md"]
    assert made["toy/actions.md"].count("### lend\n") == 1


# -- verdicts -------------------------------------------------------------------------------------


def test_recorded_verdicts_are_shown_with_their_command_and_digest() -> None:
    run = _run(
        _result("secrecy", "none", "EXHAUSTED", bound=1234),
        _result("secrecy", "none", "PROVED", engine="induction", assumptions=[]),
        _result("secrecy", "collusion", "VIOLATED"),
        _result("loan-ends", "none", "VACUOUS", kind="goal"),
    )
    shown = _pages(review=run)["verdicts.md"]
    assert "## review\n\n```sh\ncarnet verify toy\n```\n\n### toy, main\n" in shown
    assert f"About the current specification, digest `{toy.FAMILY.protocol().digest[:12]}`." in shown
    assert "| claim | none | collusion | assumptions |" in shown
    assert (
        "| `secrecy` | EXHAUSTED(1,234), explicit<br>PROVED, induction | VIOLATED, explicit, as expected | A1 |"
        in shown
    )
    assert "Declared, not yet provable: `punctual`." in shown
    assert "loan-ends" not in shown
    assert "Stale" not in shown


def test_an_unexpected_verdict_stands_out() -> None:
    shown = _pages(ci=_run(_result("secrecy", "none", "UNKNOWN", expected="PROVED")))["verdicts.md"]
    assert "| **UNKNOWN, explicit, expected PROVED** |" in shown


STALE: dict[str, tuple[dict[str, Any], str]] = {
    "another digest": (_run(_result("secrecy", "none", "PROVED"), digest="0" * 64), "digest `000000000000`; the"),
    "no digest": (
        {**_run(_result("secrecy", "none", "PROVED")), "run": {"rerun": "x", "spec_digests": {}}},
        "the run was about digest unknown",
    ),
    "an unknown variant": (
        _run(_result("secrecy", "none", "PROVED", variant="gone")),
        "no longer has this protocol or variant",
    ),
    "an unknown protocol": (
        _run(_result("secrecy", "none", "PROVED", protocol="gone")),
        "no longer has this protocol or variant",
    ),
}


@pytest.mark.parametrize("row", STALE)
def test_a_stale_verdict_is_marked(row: str) -> None:
    run, says = STALE[row]
    shown = _pages(old=run)["verdicts.md"]
    assert ":::{warning}\nStale: " in shown
    assert says in shown


WRONG: dict[str, Callable[[], Any]] = {
    "no object": lambda: [],
    "no results": lambda: {"run": {}},
    "no run": lambda: {"results": []},
    "rows of something else": lambda: {**_run(), "results": [{"verdict": "PROVED"}]},
}


@pytest.mark.parametrize("row", WRONG)
def test_a_file_of_something_else_is_refused(row: str) -> None:
    with pytest.raises(SpecificationError, match=r"results/odd\.json is not what `carnet verify --json` prints"):
        _pages(odd=WRONG[row]())


# -- markdown and files ---------------------------------------------------------------------------


def test_prose_shows_what_was_written() -> None:
    assert prose("a_b *c* <d> [e] | {key}'s\n  `f`") == r"a\_b \*c\* \<d\> \[e\] \| `key`'s \`f\`"
    assert code("a | b") == r"`a \| b`"
    assert code("") == ""
    assert label("gpu-travelling", "", "action", "rotate_out") == "gpu-travelling-action-rotate-out"
    assert not list(table(["a"], []))


def test_writing_leaves_alone_what_is_right_and_removes_what_is_gone(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "a", "deep/b.md": "b"})
    before = (tmp_path / "a.md").stat().st_mtime_ns
    (tmp_path / "notes.txt").write_text("mine")
    write(tmp_path, {"a.md": "a", "deep/c.md": "c"})
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")) == [
        "a.md",
        "deep/c.md",
        "notes.txt",
    ]


@pytest.mark.skipif(util.find_spec("sphinx") is None, reason="needs the docs extra; CI builds all pages anyway")
def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    source = tmp_path / "source"
    write(source, _pages(review=_run(_result("secrecy", "none", "PROVED"))))
    settings = 'extensions = ["myst_parser"]\nmyst_enable_extensions = ["colon_fence", "deflist"]\n'
    (source / "conf.py").write_text(settings)
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "-b", "html", str(source), str(tmp_path / "html")]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_recorded_runs_are_readable() -> None:
    for path in (ROOT / "docs" / "results").glob("*.json"):
        json.loads(path.read_text("utf-8"))


# -- the API reference ----------------------------------------------------------------------------


def test_every_module_is_in_the_api_reference_once() -> None:
    made = "\n".join(api.api(ROOT, {}).values())
    listed = re.findall(r"^\.\. automodule:: (\S+)$", made, re.MULTILINE)
    sources = [path for root in api.ROOTS for path in (ROOT / root).rglob("*.py")]
    assert len(listed) == len(set(listed))
    assert set(listed) == {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for path in sources
        for root in [next(ROOT / each for each in api.ROOTS if path.is_relative_to(ROOT / each))]
        if path.stem == "__init__" or not path.stem.startswith("_")
    }


def test_every_page_of_the_api_reference_is_reached() -> None:
    made = api.api(ROOT, {})
    listed = {line for text in made.values() for line in text.splitlines() if f"{line}.md" in made}
    assert {f"{name}.md" for name in listed} | {"index.md"} == set(made)
