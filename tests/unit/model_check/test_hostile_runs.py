"""Run folders that somebody changed: refused in one line, or shown; nothing else happens, and nothing outside."""

from __future__ import annotations

import ast
import contextlib
import copy
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.errors import UsageError
from carnet_check.report.artefacts import claimed
from carnet_check.report.bundle import BundleRefusedError, checked, sealed
from carnet_check.report.html import write_html
from carnet_check.report.run_folder import Run, read_run, run_of, write_attack
from carnet_check.report.snapshot import plain_name, snapshot, twins
from carnet_check.wording.file_names import MOST, as_file_name, attack_name, file_name, is_file_name
from tests.unit.model_check.command import FIXTURES, TOY, carnet, control
from tests.unit.model_check.test_bundle import PRIVATE, PUBLIC


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with an attack and a graph."""
    folder = tmp_path_factory.mktemp("hostile") / "run"
    carnet("verify", control("wrong_claim"), "--out", str(folder))
    return folder


@pytest.fixture
def changed(folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder, to be changed."""
    return Path(shutil.copytree(folder, tmp_path / "changed"))


# -- every field removed, of another kind, huge ----------------------------------------------------

OTHERS: tuple[Any, ...] = (None, True, -1, 10**30, 0.5, "x", "\x1b[2J", [], [[]], {}, {"x": 1})


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to everything inside a JSON value; of a list, to the first two entries and the last."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*path, name))
    elif isinstance(value, list):
        for place in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
            yield from places(value[place], (*path, place))


def mutants(value: Any) -> Iterator[Any]:
    """Yield the value with each part of it removed, and with each part replaced."""
    for path in places(value):
        for other in ("removed", *OTHERS):
            mutant = copy.deepcopy(value)
            inner = mutant
            for step in path[:-1]:
                inner = inner[step]
            if other == "removed":
                del inner[path[-1]]
            elif inner[path[-1]] == other:
                continue
            else:
                inner[path[-1]] = other
            yield mutant


def files_with_mutants(files: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Yield the files with one value in one of them changed."""
    for name, content in files.items():
        if name.endswith(".itf.json"):
            continue
        first, _, rest = content.partition(b"\n") if name.endswith(".jsonl") else (content, b"", b"")
        for mutant in mutants(json.loads(first)):
            yield {**files, name: json.dumps(mutant).encode() + b"\n" + rest}


@pytest.mark.mends("L1")
def test_a_run_is_refused_or_shown_whatever_is_changed_in_it(folder: Path, tmp_path: Path) -> None:
    refused = shown = 0
    for files in files_with_mutants(snapshot(folder)):
        try:
            run = run_of(files, folder)
        except UsageError:
            refused += 1
            continue
        shown += 1
        if shown % 25 == 0:  # the others have the same shape
            write_html(run, tmp_path / "pages")
            assert run.exit_code in (0, 1, 3, 4, 5)
    assert refused > 1_000
    assert shown > 500


RUIN: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda content: content[:-3],
    "empty": lambda _: b"",
    "not UTF-8": lambda content: content + b"\xff",
    "deep": lambda _: b"[" * 100_000 + b"]" * 100_000,
    "a list": lambda _: b"[]",
    "a number of many digits": lambda _: b"9" * 5_000,
    "no number": lambda _: b'{"seconds": NaN}',
    "half a character": lambda _: b'{"seconds": "\\ud800"}',
    "a field twice": lambda _: b'{"format": "carnet-run/1", "format": "carnet-run/1"}',
}


@pytest.mark.mends("L1")
@pytest.mark.parametrize("name", ["run.json", "spec.json", "verdicts.jsonl", "timings.jsonl", "attacks", "graphs"])
@pytest.mark.parametrize("kind", RUIN)
def test_a_ruined_file_ends_a_report_in_one_line(changed: Path, tmp_path: Path, name: str, kind: str) -> None:
    file = changed / name
    if file.is_dir():
        file = next(each for each in sorted(file.iterdir()) if not each.name.endswith(".itf.json"))
    file.write_bytes(RUIN[kind](file.read_bytes()))
    ran = carnet("report", str(changed), "--html", str(tmp_path / "html"), "--json")
    if (name, kind) == ("timings.jsonl", "empty"):
        assert ran.code == 0  # nothing was measured
        return
    assert (ran.code, ran.json["error"]["kind"]) == (2, "usage")
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "html").exists()


@pytest.mark.mends("L1")
def test_a_verdict_that_is_called_expected_and_is_not_is_refused(changed: Path) -> None:
    rows = [json.loads(line) for line in (changed / "verdicts.jsonl").read_text().splitlines()]
    for row in rows:
        row["as_expected"] = True
    (changed / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(
        UsageError, match=r"line \d, is no part of a run: .* is said to be as expected, where .* is expected"
    ):
        read_run(changed)


@pytest.mark.mends("L1")
def test_what_a_run_says_reaches_the_terminal_as_text(changed: Path, tmp_path: Path) -> None:
    run = json.loads((changed / "run.json").read_text())
    run["run"] |= {"outcome": "fine\x1b[2J", "budget": "\x9b31m", "verdicts": {"\x1b]0;x\x07": 1}}
    (changed / "run.json").write_text(json.dumps(run))
    ran = carnet("report", str(changed), "--html", str(tmp_path / "html"))
    assert ran.code == 0
    assert ran.out.replace("\n", "").isprintable()
    assert "fine\\x1b[2J" in ran.out


@pytest.mark.mends("L1")
@pytest.mark.parametrize("value", [None, "x", [], 10**40, float("inf")])
@pytest.mark.parametrize("field", ["published", "reproduced", "relative_error", "name", "rows", "unit", "remarks"])
def test_a_table_of_figures_is_refused_or_shown(folder: Path, tmp_path: Path, field: str, value: Any) -> None:
    row = {"name": "x", "published": 1.0, "reproduced": 2.0, "relative_error": 1.0}
    table: dict[str, Any] = {"table": "x", "rows": [row]}
    (table if field in ("rows", "remarks") else row)[field] = value
    (tmp_path / "table.json").write_text(json.dumps(table))
    ran = carnet("report", str(folder), "--html", str(tmp_path / "html"), "--table", str(tmp_path / "table.json"))
    assert ran.code in (0, 2)
    assert ran.code == 0 or ran.err.count("\n") == 1


# -- names -----------------------------------------------------------------------------------------

ODD = (
    "../../x",
    "/etc/x",
    "..",
    ".",
    "",
    "CON",
    "con",
    "nul.json",
    "a" * 5_000,
    "a\x00b",
    "a\nb",
    "a b",
    "A",
    "a\\b",
    "c:x",
    "\N{CYRILLIC SMALL LETTER A}",
    "\N{FULLWIDTH SOLIDUS}",
    "a\N{COMBINING ACUTE ACCENT}",
    "á",
    "-rf",
    "x~" + "0" * 32,
)


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
        *("Expr", "ImportFrom", "AnnAssign", "AnnAssign", "FunctionDef")
    ]


@pytest.mark.mends("M6")
def test_different_parts_never_share_a_name() -> None:
    parts = [(one, other) for one in ODD for other in (*ODD, "a.b", "b")] + [("a", "b"), ("a.b",), ("a", "b", "c")]
    names = [file_name(*each).casefold() for each in parts]
    assert len(set(names)) == len(set(parts))
    assert all(map(is_file_name, map(str, names)))


@pytest.mark.mends("M6")
@given(st.lists(st.text(max_size=40), min_size=1, max_size=4), st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_names_are_injective_and_stay_as_they_are(one: list[str], other: list[str]) -> None:
    assert (file_name(*one) == file_name(*other)) == (one == other)
    assert as_file_name(file_name(*one)) == file_name(*one)
    assert len(file_name(*one)) <= MOST


@pytest.mark.mends("M6")
def test_usual_names_are_the_names_of_files() -> None:
    assert attack_name("main", "collusion", "secrecy") == "main.collusion.secrecy"
    assert attack_name("main", "collusion", "secrecy", ["fence"]) == "main.without-fence.collusion.secrecy"
    assert attack_name("m", "t", "c", ["a", "b"]) != attack_name("m", "t", "c", ["a-b"])


@pytest.mark.mends("M6")
def test_an_attack_whose_file_has_another_name_is_refused(changed: Path) -> None:
    file = changed / "attacks" / "main.anyone.stays-home.json"
    file.rename(file.with_name("main.anyone.other.json"))
    with pytest.raises(UsageError, match="is not called after the name in it"):
        read_run(changed)


# -- links, and what is no file --------------------------------------------------------------------


def linked_folder(run: Path, aside: Path) -> None:
    shutil.move(run / "attacks", aside)
    (run / "attacks").symlink_to(aside)


def linked_file(run: Path, aside: Path) -> None:
    shutil.move(run / "spec.json", aside)
    (run / "spec.json").symlink_to(aside)


def broken_link(run: Path, aside: Path) -> None:
    (run / "more").symlink_to(aside)


def pipe(run: Path, _: Path) -> None:
    os.mkfifo(run / "more")


def unix_socket(run: Path, _: Path) -> None:
    with contextlib.chdir(run), socket.socket(socket.AF_UNIX) as listener:  # a path of a socket has to be short
        listener.bind("more")


SPECIAL = (linked_folder, linked_file, broken_link, pipe, unix_socket)


def seal(folder: Path) -> bytes:
    files = snapshot(folder)
    return sealed(files, run_of(files, folder), PRIVATE)


@pytest.mark.mends("H2")
@pytest.mark.parametrize("make", SPECIAL, ids=lambda make: make.__name__)
def test_what_is_no_plain_file_is_refused_by_a_bundle(changed: Path, tmp_path: Path, make: Any) -> None:
    envelope = seal(changed)
    make(changed, tmp_path / "aside")
    with pytest.raises(BundleRefusedError, match="neither a plain file nor a folder"):
        checked(envelope, changed, PUBLIC)
    with pytest.raises(UsageError, match="neither a plain file nor a folder"):
        seal(changed)


@pytest.mark.mends("H2")
def test_unsigned_files_behind_a_link_are_not_shown(folder: Path, changed: Path, tmp_path: Path) -> None:
    """Signed without its attacks, the run is given others behind a linked folder."""
    attacks = changed / "attacks"
    shutil.move(attacks, tmp_path / "attacks")
    envelope = seal(changed)
    attacks.symlink_to(tmp_path / "attacks")
    (tmp_path / "evidence").write_bytes(envelope)
    (tmp_path / "key.pub").write_bytes(PUBLIC)
    ran = carnet(
        *("report", str(changed), "--check-bundle", str(tmp_path / "evidence"), "--key", str(tmp_path / "key.pub")),
        *("--html", str(tmp_path / "html")),
    )
    assert ran.code == 1
    assert "links and devices are refused" in ran.err
    assert not (tmp_path / "html").exists()
    with pytest.raises(UsageError, match="neither a plain file nor a folder"):
        read_run(changed)


@pytest.mark.mends("H2")
def test_what_is_shown_is_what_was_checked(changed: Path) -> None:
    """The folder changes after its bytes were compared: what was compared is what is read."""
    envelope = seal(changed)
    found = checked(envelope, changed, PUBLIC)
    (changed / "spec.json").write_text("{}")
    assert run_of(found.files, changed).spec["title"]


@pytest.mark.mends("H2")
@pytest.mark.parametrize("name", ["a\\b", "a\nb", "c:b", " b", "a\u202eb"])
def test_a_file_without_a_plain_name_is_refused(changed: Path, name: str) -> None:
    (changed / name).write_text("x")
    with pytest.raises(UsageError, match="without a plain name"):
        snapshot(changed)


@pytest.mark.mends("H2")
@pytest.mark.parametrize("name", ["", "/x", "../x", "a/../b", "a//b", "./a", "a/.", "a\\b", "a\x00", "a\tb", "c:a"])
def test_a_manifest_has_plain_names_only(name: str) -> None:
    assert not plain_name(name)


@pytest.mark.mends("H2")
def test_names_that_some_systems_take_for_one_are_found() -> None:
    assert twins(["a", "b", "A"]) == ("a", "A")
    assert twins(["á", "a\N{COMBINING ACUTE ACCENT}"]) is not None
    assert twins(["a", "a"]) == ("a", "a")
    assert twins(["a", "b"]) is None


@pytest.mark.mends("H2")
@pytest.mark.parametrize("more", [{"note": "approved"}, {"keyid": "ab", "sig": "AAAA"}], ids=["field", "signature"])
def test_nothing_stands_beside_the_one_signature(folder: Path, more: dict[str, str]) -> None:
    import rfc8785

    envelope = json.loads(seal(folder))
    signatures = envelope["signatures"]
    if "sig" in more:
        signatures.append(more)
    else:
        signatures[0].update(more)
    with pytest.raises(BundleRefusedError, match="expected one signature, and nothing beside it"):
        checked(bytes(rfc8785.dumps(envelope)), folder, PUBLIC)


def signed_about(subject: list[Any]) -> bytes:
    """Sign a statement as it is given; the key may be trusted and its owner careless."""
    import rfc8785
    from securesystemslib.dsse import Envelope

    from carnet_check.report import bundle

    said: dict[str, Any] = {"result": "PASSED", "passedTests": [], "warnedTests": [], "failedTests": []}
    statement: dict[str, Any] = {"_type": bundle.STATEMENT, "predicateType": bundle.PREDICATE, "subject": subject}
    envelope = Envelope(rfc8785.dumps({**statement, "predicate": said}), bundle.PAYLOAD, {})
    envelope.sign(bundle._signer(PRIVATE))
    return bytes(rfc8785.dumps(envelope.to_dict()))


@pytest.mark.mends("H2")
@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ([{"name": "../x"}], "no plain name"),
        ([{"name": "x"}, {"name": "x"}], "names one file twice"),
        ([{"name": "x"}, {"name": "X"}], "names one file twice"),
        ([{"name": 7}], "expected a text"),
        ([{"name": "x", "annotations": {}}], "expected 'size'"),
        ([{"name": "x", "digest": {}}], "expected 'sha256'"),
        ([7], "expected an object"),
        ([], "was not signed"),
    ],
)
def test_a_signed_manifest_is_checked_too(folder: Path, subject: list[Any], said: str) -> None:
    whole: dict[str, Any] = {"digest": {"sha256": "0" * 64}, "annotations": {"size": 1}}
    listed: list[Any] = [{**whole, **each} if isinstance(each, dict) else each for each in subject]
    with pytest.raises(BundleRefusedError, match=said):
        checked(signed_about(listed), folder, PUBLIC)


# -- the exit code of what was signed --------------------------------------------------------------


@pytest.mark.mends("L10")
@pytest.mark.parametrize(("protocol", "code"), [(control("wrong_claim"), 1), (TOY, 0)])
def test_the_check_of_a_bundle_ends_as_the_run_did(tmp_path: Path, protocol: str, code: int) -> None:
    run, private, public, bundle = (str(tmp_path / name) for name in ("run", "key.pem", "key.pub", "evidence"))
    Path(private).write_bytes(PRIVATE)
    Path(public).write_bytes(PUBLIC)
    assert carnet("verify", protocol, "--engine", "explicit", "--out", run).code == code
    assert carnet("report", run, "--bundle", bundle, "--key", private).code == 0
    ran = carnet("report", run, "--check-bundle", bundle, "--key", public)
    assert ran.code == code
    assert ran.out.startswith("FAILED" if code else "PASSED")
    assert carnet("report", run, "--html", str(tmp_path / "html")).code == 0


# -- two at once -----------------------------------------------------------------------------------


@pytest.mark.mends("L2")
@pytest.mark.parametrize("option", ["--out", "--html"])
def test_a_folder_that_another_run_writes_is_refused_at_once(tmp_path: Path, option: str) -> None:
    with claimed(tmp_path / "run"):
        ran = carnet("verify", TOY, option, str(tmp_path / "run"))
        assert ran.code == 2
        assert "another command is writing into" in ran.err
        assert ran.err.count("\n") == 1
    assert carnet("verify", TOY, "--engine", "explicit", option, str(tmp_path / "run")).code == 0


@pytest.mark.mends("L2")
def test_a_claim_leaves_nothing_behind(tmp_path: Path) -> None:
    with claimed(tmp_path / "a" / "b"), pytest.raises(UsageError), claimed(tmp_path / "a" / "b"):
        pytest.fail("it was claimed twice")
    assert list(tmp_path.iterdir()) == []
    with claimed(tmp_path / "a"):
        (tmp_path / "a" / "kept").touch()
    with claimed(tmp_path / "a"), claimed(tmp_path / "b"):
        pass
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


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


def test_the_shape_of_a_run_is_that_of_a_run(folder: Path) -> None:
    assert isinstance(read_run(folder), Run)
