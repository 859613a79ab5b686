"""What the documentation shows of a command is what the command prints; nothing is shown that no command printed."""

import contextlib
import io
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from carnet_check.loading.families import load
from carnet_check.results import MARKS, Verdict
from docs._ext.carnet_pages import shown
from docs._ext.carnet_pages.records.graph import targets
from tests.repo.tracked import ROOT
from tests.unit.model_check.command import carnet

PAGES = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in shown.pages()}
PLAYED = [name for name, text in PAGES.items() if "```console" in text]


TYPED = shown.typed
IN_SHELL = re.compile("[;&<>]")
IN_FOLDER = re.compile(r"cd (\w+) && ")
OF_PYTHON = re.compile(r'python -c "(.*)"')


def typed_here(command: str, folder: Path) -> str:
    """Return what a line of shell prints.

    A ``carnet`` that is all of it, or before a pipe, runs in this process, and so does a line of Python: what it
    imports is made once for all lines of a page.
    """
    if python := OF_PYTHON.fullmatch(command):
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as out:
            exec(python[1])
        return out.getvalue()
    inside = IN_FOLDER.match(command)
    line, pipe, filters = command[inside.end() if inside else 0 :].partition(" | ")
    if not line.startswith("carnet ") or IN_SHELL.search(line):
        return TYPED(command, folder)
    load.cache_clear()  # a page may have changed the file
    with contextlib.chdir(folder / inside[1] if inside else folder):
        ran = carnet(*shlex.split(line)[1:])
    if not pipe:
        return ran.out or ran.err
    return subprocess.run(filters, shell=True, check=False, input=ran.out, capture_output=True, text=True).stdout


@pytest.mark.long
@pytest.mark.timeout(400)  # four attacks on GPU Travelling on one page, on a machine that may be busy
@pytest.mark.parametrize("page", PLAYED)
def test_every_command_prints_what_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that differs since it shows an older specification is reported: its age is no fault of the code."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(shown, "typed", typed_here)
    monkeypatch.syspath_prepend(tmp_path)
    different = [f"{page} is stale\n{difference}" for difference in shown.differences(PAGES[page], tmp_path)]
    if different and page in targets()["shown"].stale:
        pytest.skip("stale: python -m docs._ext.carnet_pages.records make shown")
    assert not different, "\n\n".join(different)


def test_the_readme_the_tutorial_and_the_guides_are_looked_at() -> None:
    assert {"README.md", "docs/tutorial.md", "docs/guide/getting-started.md"} < set(PAGES)
    assert {"README.md", "docs/tutorial.md", "docs/how-to/read-a-counterexample.md"} <= set(PLAYED)


def test_a_rule_covers_every_block_and_no_block_escapes_the_rules() -> None:
    """Every fence of a page is one that ``blocks`` sees; other ways to show code are not used."""
    fences = {page: re.findall(r"^ *(?:```|~~~)", text, re.MULTILINE) for page, text in PAGES.items()}
    assert [page for page in PAGES if len(fences[page]) != 2 * len([*shown.blocks(PAGES[page])])] == []
    assert [
        f"{page}: {each.text}" for page, text in PAGES.items() for each in shown.blocks(text) if not each.covered
    ] == []


def test_digests_are_shown_where_they_are_compared_and_nowhere_else() -> None:
    """Decision records are exempt: they say what was so when they were written."""
    found: dict[str, list[str]] = {}
    for page in (each for each in PAGES if not each.startswith("docs/adr/")):
        prose = PAGES[page]
        for block in shown.blocks(PAGES[page]):
            prose = prose.replace(block.text, "") if block.language == "console" else prose
        found[page] = re.findall(r"\b[0-9a-f]{16,}\b", prose)
    assert {page: digests for page, digests in found.items() if digests} == {}


# -- the command that is kept ---------------------------------------------------------------------

TEXT = shown.KEPT[shown.VERIFY].read_text("utf-8")
RECORDED = json.loads((ROOT / "docs" / "results" / "gpu-travelling.json").read_text("utf-8"))


def cells() -> dict[str, dict[str, str]]:
    """Return the marks of each claim of the kept table by threat model; claims that share a row are apart."""
    head, *rows = TEXT[TEXT.index("\n   ") + 1 : TEXT.index("\nviolated ")].splitlines()
    columns = [(threat[0], threat.start()) for threat in re.finditer(r"\S+", head)]
    found: dict[str, dict[str, str]] = {}
    row: dict[str, str] = {}
    for line in rows:
        if not line.startswith(" "):
            row = {threat: line[at:].split("  ")[0] for threat, at in columns}
            label = line[: columns[0][1]].strip()
            found |= {} if label.endswith(":") else {label: row}
        else:
            found |= dict.fromkeys(re.findall(r"[\w-]+", line), row)
    return {claim: marks for claim, marks in found.items() if not claim.startswith(MARKS[Verdict.EXHAUSTED])}


def test_the_kept_verdicts_are_the_recorded_ones() -> None:
    """Both designs share the table, so what is recorded of either has to be what stands there."""
    rows = [row for row in RECORDED["results"] if row["kind"] == "claim"]
    for design in ("engine-per-holder", "sealed-under-master"):
        recorded: dict[str, dict[str, str]] = {}
        mine = [row for row in rows if row["variant"] in (design, f"{design}-timed")]
        for row in sorted(mine, key=lambda row: row["engine"] != "induction"):
            marks = recorded.setdefault(row["claim"], {})
            marks[row["threat"]] = marks.get(row["threat"], "") + MARKS[row["verdict"]]
        assert {
            claim: {threat: marks for threat, marks in row.items() if marks not in ("", "–")}
            for claim, row in cells().items()
        } == recorded


def test_ci_compares_the_kept_text_with_what_the_newcomer_sees(tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    printed.write_text(f"Collecting click\n{TEXT}", "utf-8")
    shown.compare(printed)
    printed.write_text(f"Collecting click\n{TEXT.replace('PROVED', 'UNKNOWN', 1)}", "utf-8")
    with pytest.raises(SystemExit, match="make shown"):
        shown.compare(printed)


def test_what_the_script_of_ci_keeps_is_compared() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert 'tee "$scratch/verify"' in script
    assert 'python -m docs._ext.carnet_pages.shown "$scratch/verify"' in script


# -- the tutorial ---------------------------------------------------------------------------------

TUTORIAL = tuple(shown.blocks(PAGES["docs/tutorial.md"]))


def console(number: int) -> shown.Block:
    return [block for block in TUTORIAL if block.language == "console"][number]


def test_a_toy_protocol_takes_under_60_lines() -> None:
    (written,) = [block for block in TUTORIAL if block.what == "file handoff.py"]
    assert len(written.text.splitlines()) < 60


def test_its_planted_flaw_is_found_and_explained() -> None:
    printed = console(0).shown
    assert "secrecy  ?!✗!" in printed
    assert ">>> holder2 learns holder1" in printed
    assert "secrecy fails for x = holder2, y = holder1" in printed


def test_its_repair_is_proved_and_breaks_without_it() -> None:
    assert "secrecy  ✓●" in console(2).shown
    assert "VIOLATED: secrecy under theft" in console(3).shown


# -- how pages are played, compared and mended ----------------------------------------------------


def test_lines_may_be_left_out_and_times_differ() -> None:
    assert shown.agrees("first\n⋮\nlast\n", "first\nsecond\nthird\nlast\n")
    assert shown.agrees("first\n⋮  (one line more)\nlast\n", "first\nsecond\nlast\n")
    assert shown.agrees("time 1 s\n", "time 2 s\n")
    assert shown.agrees("versions carnet 1 · python 3.11\n", "versions carnet 1 · python 3.12\n")
    assert shown.agrees("versions z3 5.4 · cc 12.2.0 · python\n", "versions z3 5.4 · cc 14.2.0 · python\n")
    assert shown.agrees("first\n⋮\n", "first\n")


@pytest.mark.parametrize(
    ("told", "printed"),
    {
        "a line too few": ("first\nlast\n", "first\nsecond\nlast\n"),
        "the end is missing": ("first\n⋮\nlast\n", "first\nsecond\n"),
        "another line": ("first\n", "second\n"),
        "another digest": ("spec digest  main dbecc98ef7b6b54d\n", "spec digest  main 0becc98ef7b6b54d\n"),
        "another solver": ("versions z3 5.4 · python 3.11\n", "versions z3 5.5 · python 3.11\n"),
    }.values(),
)
def test_what_is_shown_has_to_be_printed(told: str, printed: str) -> None:
    assert not shown.agrees(told, printed)


def test_a_stale_block_names_the_command_that_mends_it(tmp_path: Path) -> None:
    (told,) = shown.differences("```console\n$ echo 2 states\n1 state\n```\n", tmp_path)
    assert "-1 state\n+2 states" in told
    assert told.endswith("python -m docs._ext.carnet_pages.records make shown writes it anew")


def test_a_stale_block_is_mended_and_leaves_out_what_it_left_out(tmp_path: Path) -> None:
    page = "```console\n$ printf 'a\\nb\\nc 12 d\\ne\\nf\\n'\n⋮\nc 3 d\n⋮  (more)\nf\n```\n"
    assert shown.filled(page, tmp_path).endswith("⋮\nc 12 d\n⋮  (more)\nf\n```\n")
    assert list(shown.differences(shown.filled(page, tmp_path), tmp_path)) == []


RENDERED = "% rendered echo '<b>2</b>'\n```{raw} html\n<b>1</b>\n```\n"


def test_rendered_html_is_what_the_command_above_it_prints(tmp_path: Path) -> None:
    (told,) = shown.differences(RENDERED, tmp_path)
    assert told.startswith("$ echo '<b>2</b>'\n")
    assert "-<b>1</b>\n+<b>2</b>" in told
    assert shown.filled(RENDERED, tmp_path) == RENDERED.replace("1", "2")
    assert list(shown.differences(shown.filled(RENDERED, tmp_path), tmp_path)) == []


def test_lines_that_come_in_between_are_taken_up() -> None:
    assert shown.refreshed("⋮\na\nc\n⋮\n", "x\na\nb\nc\ny\n") == "⋮\na\nb\nc\n⋮\n"


def test_lines_that_cannot_be_placed_are_left_to_a_person() -> None:
    with pytest.raises(shown.StaleError, match="by hand"):
        shown.refreshed("⋮\nverdicts PROVED 3\n", "nothing of the kind\n⋮\n")
    with pytest.raises(shown.StaleError, match="by hand"):
        shown.refreshed("⋮\nverdicts PROVED 3\n⋮\n", "nothing of the kind\n")


def test_a_kept_command_is_not_typed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "typed", None)
    ((_, printed),) = shown.played(f"```console\n$ {shown.VERIFY}\n⋮\n```\n", tmp_path)
    assert printed == TEXT


def test_a_diff_replaces_what_occurs_once() -> None:
    assert shown.patched("a\nb\nc\n", " a\n-b\n+x\n") == "a\nx\nc\n"
    with pytest.raises(ValueError, match="occurs 0 times"):
        shown.patched("a\n", "-b\n")


@pytest.mark.parametrize(
    "page",
    {
        "output that no command printed": "```text\nPROVED\n```\n",
        "output that is called an excerpt": "% shown\n```text\nPROVED\n```\n",
        "a console without a command": "```console\nPROVED\n```\n",
        "code that nobody writes anywhere": "```python\nx = 1\n```\n",
        "a directive that shows code": "```{code-block} text\nPROVED\n```\n",
        "a file that no command wrote": "```{literalinclude} notes.txt\n```\n",
        "HTML that no command printed": "```{raw} html\n<p>PROVED</p>\n```\n",
    }.values(),
)
def test_a_block_that_no_rule_covers_is_noticed(page: str) -> None:
    assert [block.covered for block in shown.blocks(page)] == [False]


def test_a_block_of_which_nothing_is_said_is_not_played(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="% file NAME is missing"):
        list(shown.played("```python\nx = 1\n```\n", tmp_path))
