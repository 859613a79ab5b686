"""A protocol is added by its folder and one registration: an entry point, as an installed package has it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.families import load
from carnet_spec.language import SpecificationError
from carnet_spec.protocols.registry import ENTRY_POINTS, OWN, registered_protocols
from docs._ext.carnet_pages import is_implemented, registered_families, specification
from docs._ext.carnet_pages.assurance import VERIFIES, assurance, cases, places, refuse_gaps
from docs._ext.carnet_pages.junit import JUNIT, read
from docs._ext.carnet_pages.mended import marks
from tests.unit.model_check import command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TOY = "sealed-letter"
COMMAND = "import sys; from carnet_check.cli import main; sys.argv[0] = 'carnet'; main()"
ADDRESS = "tests.systems.toy_protocol:FAMILY"


def _register(folder: Path, id: str, address: str) -> Path:
    """Write what installing a package writes about its entry points, and return the folder to import from."""
    about = folder / f"{id.replace('-', '_')}_protocol-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {id}-protocol\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{id} = {address}\n")
    return folder


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = _register(tmp_path / "site", TOY, ADDRESS)
    monkeypatch.syspath_prepend(str(folder))
    return folder


def carnet(installed: Path, *arguments: str, code: int = 0) -> Any:
    """Run the command as its user does, in a folder with nothing to import, and return what it prints as JSON."""
    command = [sys.executable, "-c", COMMAND, *arguments, "--json"]
    path = os.pathsep.join(map(str, (installed, ROOT, *(ROOT / part for part in ("spec", "model_check")))))
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        cwd=installed.parent,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_it_is_listed_verified_by_its_id_and_attacked(installed: Path) -> None:
    assert [each["id"] for each in carnet(installed, "list")["protocols"]] == [*OWN, TOY]
    printed = carnet(installed, "verify", TOY, "--jobs", "1")
    assert printed["summary"]["as_expected"]
    claimed = {(row["engine"], row["verdict"]) for row in printed["results"] if row["claim"] == "sealed"}
    assert claimed == {("induction", "PROVED"), (command.FASTEST, "EXHAUSTED")}
    found = carnet(installed, "attack", TOY, "--without", "address-check", "--threat", "anyone", code=1)
    assert [step["action"] for step in found["steps"]] == ["deliver", "open_letter"]


def test_an_id_that_two_protocols_have_is_explained_for_each(installed: Path) -> None:
    told = {entry["protocol"]: entry["sentence"] for entry in carnet(installed, "explain", "REQ-KEY-01")["entries"]}
    having = [id for id in (*OWN, TOY) if "REQ-KEY-01" in load(id).family.text.requirements()]
    assert list(told) == having
    assert {"gpu-travelling", TOY} <= set(having)
    assert told[TOY] == "The post MUST deliver a letter to the box of its addressee."
    (only,) = carnet(installed, "explain", "A1", "--protocol", TOY)["entries"]
    assert only["sentence"] == "Boxes are locked."


def test_its_text_changes_neither_the_assumptions_nor_the_digest_of_another_protocol(installed: Path) -> None:
    """Once all texts were one, and a second protocol's assumptions were assumed of the first, too."""
    travelling = load("gpu-travelling")
    before = travelling.protocol()
    assert load(TOY).family.text.requirements()["A1"].sentence == "Boxes are locked."
    after = travelling.protocol()
    assert after.assumptions == before.assumptions
    assert after.digest == before.digest
    assert "Boxes are locked." not in {assumption.sentence for assumption in after.assumptions}
    assert "CLAIM-SEALED" not in travelling.family.text.requirements()


def test_it_has_its_pages(installed: Path) -> None:
    pages = specification(registered_families(), {})
    mine = {path: text for path, text in pages.items() if path.startswith(f"{TOY}/")}
    others = {path.removeprefix("gpu-travelling/") for path in pages if path.startswith("gpu-travelling/")}
    alike = {path for path in others if not path.startswith("claims/")}
    assert {path.removeprefix(f"{TOY}/") for path in mine} == alike | {"claims/sealed.md"}
    assert f"{TOY}/index" in pages["index.md"]
    targets = re.findall(r"^\(([a-z0-9-]+)\)=$", "\n".join(pages.values()), re.MULTILINE)
    assert len(targets) == len(set(targets)), "a claim, its sentence and another protocol's are told apart"
    assert "(sealed-letter-requirement-req-key-01)=\n**REQ-KEY-01** The post MUST" in mine[f"{TOY}/requirements.md"]
    assert "enforces {ref}`REQ-KEY-01 <sealed-letter-requirement-req-key-01>`" in mine[f"{TOY}/actions.md"]


def test_it_has_its_part_of_the_assurance_case(installed: Path) -> None:
    """It has no implementation, and so no tests and no places in code; what is known of another protocol stays."""
    families = registered_families()
    ran = read(DOCS / JUNIT)
    recorded = [json.loads((DOCS / "results" / f"{id}.json").read_text("utf-8")) for id in OWN]
    code = {each.id: places([each], recorded) for each in families if is_implemented(each)}
    found = cases(families, ran, code, slow=marks(DOCS.parent / "tests", VERIFIES), complete=True)
    refuse_gaps(found)
    assert list(code) == list(OWN)
    pages = "\n".join(assurance(families, found, (), ran).values())
    assert ":id: sealed-letter-REQ-KEY-01\n:status: not implemented\n" in pages
    assert ":id: gpu-travelling-REQ-KEY-01\n:proved:" in pages


def _copied(folder: Path) -> Path:
    file = folder / "letters.py"
    file.write_text((Path(__file__).parent / "toy_protocol" / "__init__.py").read_text("utf-8"))
    return file


def test_a_protocol_in_a_file_has_the_text_beside_the_file(tmp_path: Path) -> None:
    file = _copied(tmp_path)
    assert not load(f"{file}:draft").family.text.requirements()
    file.with_name("requirements.md").write_text("**REQ-KEY-01** The post MUST hurry. (Source: folklore, 1)\n")
    assert load(f"{file}:FAMILY").family.text.requirements()["REQ-KEY-01"].sentence == "The post MUST hurry."


def test_a_malformed_text_is_refused_in_one_line(tmp_path: Path) -> None:
    file = _copied(tmp_path)
    file.with_name("requirements.md").write_text("**REQ-KEY-01** The post hurries. (Source: folklore, 1)\n")
    with pytest.raises(InvalidSpecificationError, match=r"requirements\.md: REQ-KEY-01 says neither MUST nor SHOULD"):
        load(str(file))


def test_two_packages_cannot_register_one_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(_register(tmp_path, "gpu-travelling", ADDRESS)))
    with pytest.raises(SpecificationError, match="protocol 'gpu-travelling' is registered twice, as carnet_spec"):
        registered_protocols()


def test_an_id_that_the_family_does_not_have_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(_register(tmp_path, "open-letter", ADDRESS)))
    said = rf"^protocol 'open-letter' \({ADDRESS}\) is a family whose id is '{TOY}': register it as '{TOY}'$"
    with pytest.raises(InvalidSpecificationError, match=said):
        load("open-letter")


MISSING = "no_such_package.letters:FAMILY"
BROKEN = {
    "a module that does not exist": (MISSING, "No module named 'no_such_package'"),
    "a module that raises an error": ("raises_an_error:FAMILY", "raises_an_error.py:1: ZeroDivisionError"),
    "a name that does not exist": ("tests.systems.toy_protocol:NOTHING", "the module has no 'NOTHING'"),
}


@pytest.fixture
def broken(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Register a protocol that cannot be imported, and return what an error says of it first."""
    address = getattr(request, "param", MISSING)
    (tmp_path / "raises_an_error.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(_register(tmp_path, "broken", address)))
    return f"protocol 'broken' ({address}) cannot be imported: "


@pytest.mark.parametrize(("broken", "why"), BROKEN.values(), ids=BROKEN, indirect=["broken"])
def test_a_broken_registration_is_named_with_its_target(broken: str, why: str) -> None:
    with pytest.raises(InvalidSpecificationError) as refused:
        load("broken")
    assert str(refused.value).startswith(broken)
    assert why in str(refused.value)


@pytest.mark.parametrize("arguments", [["list"], ["explain", "fence"], ["explore", "broken"], ["verify", "broken"]])
def test_a_command_that_needs_a_broken_protocol_says_so_in_one_line(broken: str, arguments: list[str]) -> None:
    ran = command.carnet(*arguments)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith(f"carnet: {broken}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "gpu-travelling"],
        ["explain", "fence", "--protocol", "gpu-travelling"],
        ["explore", "--help"],
        ["explore", command.TOY],
        ["explore", "gpu-travelling", "--holders", "1", "--max-states", "10"],
    ],
    ids=["list", "explain", "help", "explore a file", "explore by id"],
)
def test_a_broken_protocol_is_in_nobody_elses_way(broken: str, arguments: list[str]) -> None:
    ran = command.carnet(*arguments)
    assert ran.code == (3 if "--max-states" in arguments else 0)
    assert ran.out
    assert broken not in ran.err
