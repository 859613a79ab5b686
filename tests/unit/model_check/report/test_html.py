"""The pages of a report: heat map, proofs, search, and names that lead to no file outside the folder."""

import ast
import json
import multiprocessing
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from carnet_check.errors import UsageError
from carnet_check.report.formats import sarif
from carnet_check.report.html import as_html, views, write_html
from carnet_check.report.html.views import STEPS, attack_cell, cell, heat_map, overview, row, search_index
from carnet_check.report.run_folder import Run, plain_name, read_run, write_attack
from carnet_check.wording import MOST
from carnet_command.files import lock_folders
from tests.fixtures import toy
from tests.fixtures.odd_texts import ODD
from tests.unit.model_check.command import FIXTURES, TOY, carnet, control


def table(heat: Any) -> ElementTree.Element:
    return ElementTree.fromstring(as_html(heat).replace("<br>", "<br/>"))


@pytest.mark.parametrize(
    ("made", "text", "words"),
    [
        (cell(0, 0), "–", "no claim is made there"),
        (cell(0, 17), "0", "of 17 claims are violated"),
        (cell(0, 17, decided=False), "?", "of 17 claims none is known to be violated, and not all are decided"),
        (cell(3, 17), "3", "of 17 claims are violated"),
        (cell(3, 17, decided=False), "3", "of 17 claims are known to be violated"),
        (cell(1, 17, decided=False), "1", "of 17 claims is known to be violated"),
        (cell(1, 1, expected=False), "1!", "of 1 claim is violated, not as expected"),
        (attack_cell(0), "–", "no attack was looked for, or none was found"),
        (attack_cell(2), "2", "attacked claims are violated"),
    ],
)
def test_a_cell_says_everything_as_text(made: dict[str, str], text: str, words: str) -> None:
    assert (made["text"], made["words"]) == (text, words)


def test_more_falls_are_never_in_a_lower_class_and_a_row_has_all_columns() -> None:
    classes = [cell(number, 30)["class"] for number in range(1, 20)]
    assert classes == sorted(classes)
    assert len(set(classes)) == len(STEPS)
    assert not {cell(0, 1)["class"], cell(0, 1, decided=False)["class"], cell(0, 0)["class"]} & set(classes)
    with pytest.raises(ValueError, match="lock has another number of cells"):
        heat_map("How many", "without", ["near", "far"], [row("lock", "", [cell(1, 2)])])


def test_a_map_is_a_table_with_a_caption_and_scopes() -> None:
    heat = heat_map("How many", "without", ["near", "far"], [row("lock", "#lock", [cell(1, 2), cell(0, 2)], "in old")])
    found = table(heat)
    assert found.findtext("caption") == "How many"
    assert [(each.get("scope"), "".join(each.itertext())) for each in found.iter("th")] == [
        *(("col", "without"), ("col", "near"), ("col", "far")),
        ("row", "lockin old"),
    ]
    assert [each.get("href") for each in found.iter("a")] == ["#lock"]
    assert ["".join(each.itertext()) for each in found.iter("td")] == [
        "1 of 2 claims is violated",
        "0 of 2 claims are violated",
    ]
    assert "style" not in {name for each in found.iter() for name in each.attrib}


def test_whatever_a_design_is_called_it_is_text() -> None:
    name = "<script>\"'&</script>"
    found = table(heat_map(name, name, [name], [row(name, f"#{name}", [{**cell(1, 2), "words": name}], name)]))
    assert not list(found.iter("script"))
    assert "".join(found.itertext()).count(name) == 6


@pytest.fixture
def run(folder: Path) -> Run:
    """Return a run of one variant, in which a claim falls that is not expected to."""
    return read_run(folder)


def weakened(run: Run, removed: list[str]) -> Run:
    (attack, *_) = run.attacks
    return replace(run, attacks=(*run.attacks, {**attack, "removed": removed, "name": "weakened"}))


def doubled(run: Run) -> Run:
    """Return a run of two variants: of the second, nothing was asked."""
    (variant,) = run.spec["variants"]
    return replace(run, spec={**run.spec, "variants": [variant, {**variant, "name": "other"}]})


def test_a_row_for_each_variant_counts_the_claims_that_fall_there(run: Run) -> None:
    assert overview(run) is None
    heat = overview(doubled(run))
    assert heat is not None
    fallen = {(row["claim"], row["threat"]) for row in run.verdicts if row["verdict"] == "VIOLATED"}
    first, second = heat["rows"]
    assert first["href"] == f"#matrix-{first['name']}"
    assert fallen
    for threat, found in zip(heat["columns"], first["cells"], strict=True):
        count = sum(other == threat for _, other in fallen)
        assert found["text"].rstrip("!") in ({str(count)} if count else {"0", "?", "–"})
    assert {each["text"] for each in second["cells"]} == {"–"}


def test_a_fall_that_was_not_expected_is_marked(run: Run) -> None:
    assert [row["as_expected"] for row in run.verdicts if row["verdict"] == "VIOLATED"] == [False]
    heat = overview(doubled(run))
    assert heat is not None
    assert "1!" in [each["text"] for each in heat["rows"][0]["cells"]]
    rows = [{**row, "as_expected": True} for row in run.verdicts]
    expected = overview(replace(doubled(run), verdicts=tuple(rows)))
    assert expected is not None
    assert "1" in [each["text"] for each in expected["rows"][0]["cells"]]


@pytest.mark.parametrize(
    ("verdict", "text"),
    [("PROVED", "0"), ("EXHAUSTED", "0"), ("HOLDS-TO", "?"), ("SAMPLED", "?"), ("UNKNOWN", "?"), ("ERROR", "?")],
)
def test_a_zero_needs_a_verdict_on_every_claim(run: Run, verdict: str, text: str) -> None:
    (first, *_) = run.verdicts
    judged = {**first, "verdict": verdict, "as_expected": True}
    heat = overview(replace(doubled(run), verdicts=(judged,), attacks=()))
    assert heat is not None
    assert {each["text"] for each in heat["rows"][0]["cells"]} - {"–"} == {text}


def test_what_was_attacked_without_a_defence_has_a_row(run: Run) -> None:
    heat = overview(weakened(run, ["lock", "bolt"]))
    assert heat is not None
    first, second = heat["rows"]
    assert second["name"] == f"{first['name']} without lock, bolt"
    assert [each["text"] for each in second["cells"] if each["text"] != "–"] == ["1"]


def test_a_variant_whose_states_are_too_many_to_draw_is_named(run: Run, tmp_path: Path) -> None:
    visited = tuple({**row, "verdict": "EXHAUSTED"} for row in run.verdicts)
    for name, graphs in {"drawn": run.graphs, "undrawn": ()}.items():
        write_html(replace(run, verdicts=visited, graphs=graphs), tmp_path / name)
        page = (tmp_path / name / "index.html").read_text("utf-8")
        assert ("Not drawn: main. All states were visited" in page) == (name == "undrawn")
    write_html(replace(run, graphs=(), verdicts=()), tmp_path / "nothing")
    assert "Not drawn" not in (tmp_path / "nothing" / "index.html").read_text("utf-8")


@pytest.mark.mends("M6")
@pytest.mark.parametrize("name", ODD)
def test_nothing_is_written_outside_whatever_an_attack_is_called(folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    run = read_run(folder)
    attack = {**run.attacks[0], "name": name}
    write_html(replace(run, attacks=(attack,)), tmp_path / "in" / "pages")
    write_attack(tmp_path / "in" / "kept", attack, {})
    replace(run, graphs=({**run.graphs[0], "name": name},), attacks=()).write(tmp_path / "in" / "run")
    assert {each.name for each in tmp_path.iterdir()} == {"in"}
    assert {each.name for each in (tmp_path / "in").iterdir()} == {"pages", "kept", "run"}
    for kept in (tmp_path / "in").rglob("*"):
        assert plain_name(kept.name)
        assert kept.name.isascii()
        assert len(kept.name) <= MOST + len("attack-.itf.json")
    assert len(read_run(tmp_path / "in" / "run").graphs) == 1


@pytest.mark.mends("M6")
def test_a_protocol_with_odd_names_is_kept_shown_and_written_as_a_test(tmp_path: Path) -> None:
    protocol, inside = str(FIXTURES / "odd_names.py"), tmp_path / "in"
    inside.mkdir()
    kept = ("--out", str(inside / "run"), "--html", str(inside / "html"))
    assert carnet("verify", protocol, "--engine", "explicit", *kept).code == 1
    assert carnet("report", str(inside / "run"), "--html", str(inside / "again")).code == 0
    written = ("--as-test", str(inside / "test_it.py"), "--itf", str(inside / "it.json"), "--out", str(inside / "run"))
    assert carnet("attack", protocol, "--variant", "main", *written).code == 1
    assert {each.name for each in tmp_path.iterdir()} == {"in"}
    assert {each.name for each in inside.iterdir()} == {"run", "html", "again", "test_it.py", "it.json"}
    module = ast.parse((inside / "test_it.py").read_text())
    assert [type(each).__name__ for each in module.body] == [
        *("Expr", "ImportFrom", "ImportFrom", "AnnAssign", "AnnAssign", "AnnAssign", "FunctionDef")
    ]


@pytest.mark.mends("M6")
def test_an_attack_whose_file_has_another_name_is_refused(changed: Path) -> None:
    file = changed / "attacks" / "main.anyone.stays-home.json"
    file.rename(file.with_name("main.anyone.other.json"))
    with pytest.raises(UsageError, match="is not called after the name in it"):
        read_run(changed)


@pytest.mark.mends("M6")
def test_marks_that_turn_the_direction_of_text_are_shown_as_escapes(folder: Path, tmp_path: Path) -> None:
    run = read_run(folder)
    turned = json.loads(
        json.dumps({"spec": run.spec, "verdicts": run.verdicts}).replace("as written", "safe\u202etset")
    )
    for each in turned["spec"]["variants"]:
        each["claims"][0]["sentence"] += "\u202e\u2066"
    row = {**turned["verdicts"][0], "as_expected": False, "detail": "all\u202ellew"}
    odd = replace(run, spec=turned["spec"], verdicts=(row,))
    write_html(odd, tmp_path)
    pages = "".join(page.read_text() for page in tmp_path.iterdir())
    shown = json.dumps(sarif(odd), ensure_ascii=False)
    assert "\\u202e" in pages
    assert "\\u202e" in shown
    assert not {"\u202e", "\u2066"} & {*pages, *shown}


PROOF = "Defences whose guards the proof used", "Lemmas the proof rests on"
ATTEMPT = "Lemmas that the attempt to prove it used"


def _told(folder: Path, *command: str) -> str:
    """Return the page about one run, one claim after the other."""
    carnet("verify", *command, "--jobs", "1", "--out", str(folder / "run"))
    write_html(read_run(folder / "run"), folder / "pages")
    return (folder / "pages" / "index.html").read_text()


def _article(page: str, claim: str) -> str:
    (article,) = [part for part in page.split('<article class="claim">')[1:] if f'Verdicts on {claim}"' in part]
    return article.partition("</article>")[0]


@pytest.mark.mends("R468")
def test_only_a_claim_that_is_proved_has_a_proof(tmp_path: Path) -> None:
    page = _told(tmp_path, control("wrong_claim"))
    proved, fallen = _article(page, "one-holder"), _article(page, "stays-home")
    assert [label in proved for label in (*PROOF, ATTEMPT)] == [True, True, False]
    assert "<dt>Proof</dt>\n<dd>under anyone</dd>" in proved
    assert [label in fallen for label in (*PROOF, ATTEMPT)] == [False, False, False]
    assert "none under anyone, where it is UNKNOWN and VIOLATED" in fallen
    assert "nothing is established" in fallen
    (tmp_path / "sound").mkdir()
    page = _article(_told(tmp_path / "sound", control("sound"), "--engine", "explicit"), "one-holder")
    assert "<dd>none under anyone, where it is EXHAUSTED</dd>" in page
    assert "nothing is established" not in page


@pytest.mark.mends("R468")
def test_a_claim_that_nothing_decides_has_an_attempt_at_most(tmp_path: Path) -> None:
    begun = tmp_path / "tickets"
    carnet("init", str(begun))
    file = begun / "protocol.py"
    file.write_text(file.read_text().replace('step.fresh(ticket, defence="fresh-ticket")', "pass"))
    page = _article(_told(tmp_path, str(file), "--engine", "induction"), "own-ticket")
    assert [label in page for label in (*PROOF, ATTEMPT)] == [False, False, True]
    assert "<dd>none under collusion, where it is UNKNOWN</dd>" in page
    assert "honest_guests_keep_their_tickets" in page.partition(ATTEMPT)[2]


def _row(threat: str, verdict: str, *lemmas: str) -> dict[str, Any]:
    return {"threat": threat, "verdict": verdict, "lemmas": lemmas}


@pytest.mark.mends("R468")
def test_each_threat_model_is_told_by_itself() -> None:
    rows = [_row("host", "PROVED", "a"), _row("host", "EXHAUSTED"), _row("guest", "UNKNOWN", "b")]
    rows += [_row("both", "UNKNOWN", "c"), _row("both", "VIOLATED")]
    assert views._proof(rows) == (
        "under host; none under guest, where it is UNKNOWN; none under both, where it is UNKNOWN and VIOLATED"
    )
    assert views._attempt(rows) == ["b"]
    assert views._proof([]) == "none: no engine judged the claim"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    folder = tmp_path_factory.mktemp("run")
    carnet("verify", TOY, "--engine", "explicit", "--out", str(folder))
    carnet("attack", TOY, "--variant", "forgetful", "--out", str(folder))
    return search_index(read_run(folder))


def hits(found: list[dict[str, str]], word: str) -> set[tuple[str, str]]:
    """Return kind and name of every entry that the page shows for a word."""
    return {(each["kind"], each["name"]) for each in found if word in f"{each['name']} {each['text']}"}


@pytest.mark.mends("N14")
def test_findings_and_requirements_are_found_by_their_ids(found: list[dict[str, str]]) -> None:
    (finding,) = toy.FAMILY.findings
    assert hits(found, finding.id) == {("finding", finding.id)}
    (entry,) = (each for each in found if each["kind"] == "finding")
    assert entry["url"].startswith("attack-")
    assert ("step", "lend") in hits(found, "REQ-TOY-1")
    claim = toy.FAMILY.protocol("forgetful").claim("secrecy")
    assert {("claim", "secrecy"), ("attack", "secrecy")} <= hits(found, claim.requirement)


@pytest.mark.mends("L2")
@pytest.mark.parametrize("option", ["--out", "--html"])
def test_a_folder_that_another_run_writes_is_refused_at_once(tmp_path: Path, option: str) -> None:
    with lock_folders(tmp_path / "run"):
        ran = carnet("verify", TOY, option, str(tmp_path / "run"))
        assert ran.code == 2
        assert "another command is writing into" in ran.err
        assert ran.err.count("\n") == 1
    assert carnet("verify", TOY, "--engine", "explicit", option, str(tmp_path / "run")).code == 0


@pytest.mark.mends("L2")
def test_a_claim_leaves_nothing_behind(tmp_path: Path) -> None:
    with lock_folders(tmp_path / "a" / "b"), pytest.raises(UsageError), lock_folders(tmp_path / "a" / "b"):
        pytest.fail("it was claimed twice")
    assert list(tmp_path.iterdir()) == []
    with lock_folders(tmp_path / "a"):
        (tmp_path / "a" / "kept").touch()
    with lock_folders(tmp_path / "a"), lock_folders(tmp_path / "b"):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_worker_that_outlives_its_command_keeps_no_folder(tmp_path: Path) -> None:
    worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    with lock_folders(tmp_path):
        worker.start()
    try:
        with lock_folders(tmp_path):
            pass
    finally:
        worker.kill()
        worker.join()


@pytest.mark.mends("L2")
def test_one_command_may_write_one_folder_for_two_reasons(tmp_path: Path) -> None:
    where = str(tmp_path / "both")
    assert carnet("verify", TOY, "--engine", "explicit", "--out", where, "--html", where).code == 0


@pytest.mark.mends("L2")
def test_a_run_is_not_written_behind_a_link(changed: Path, tmp_path: Path) -> None:
    precious = tmp_path / "elsewhere"
    precious.mkdir()
    (precious / "precious.json").write_text("{}")
    shutil.rmtree(changed / "attacks")
    (changed / "attacks").symlink_to(precious)
    ran = carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(changed))
    assert ran.code == 2
    assert "is a link" in ran.err
    assert [each.name for each in precious.iterdir()] == ["precious.json"]
