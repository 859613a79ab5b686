"""``carnet export``: files by digest, an index, and nothing of anybody else's overwritten."""

import csv
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from carnet_check.certificates.file import DIGITS, Certificates, Entry, encoded_certificates, place_of
from carnet_check.certificates.judging import LayerObligations, key_of
from carnet_check.exports.obligation_text import Writer, digest
from carnet_check.loading.families import load
from carnet_check.obligations import layers
from carnet_spec.language.decoding import decode
from tests.fixtures import toy
from tests.unit.model_check.command import TOY, carnet, control

LENDING = "tests.unit.model_check.obligations.lending:sound_lending"
PAIRS = 32  #: Of the toy: four invariants, in the first state and with each of seven actions.


def _index(folder: Path) -> list[dict[str, str]]:
    with (folder / "index.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _files(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_every_obligation_is_in_the_file_that_its_digest_names(tmp_path: Path) -> None:
    ran = carnet("export", TOY, "--to", "smtlib", "--out", str(tmp_path))
    rows = _index(tmp_path)
    assert ran.code == 0
    assert "main: 18 obligations, and 14 pairs" in ran.out
    assert len({row["obligation"] for row in rows}) == len(rows) == PAIRS
    assert _files(tmp_path) == {"index.csv", *(f"obligations/{row['digest']}.smt2" for row in rows)}
    for row in rows:
        text = (tmp_path / "obligations" / f"{row['digest']}.smt2").read_bytes()
        assert hashlib.sha256(text).hexdigest() == row["digest"]
        names = json.loads(row["hypotheses"])
        assert text.decode().count("(assert (! ") == len(names) + 1


def test_the_counts_and_the_digests_are_those_of_the_index(tmp_path: Path) -> None:
    ran = carnet("export", LENDING, "--to", "smtlib", "--out", str(tmp_path), "--json")
    (variant,) = ran.json["variants"]
    assert variant["obligations"] + variant["skipped"] == len(_index(tmp_path))
    assert ran.json["files"] == len(_files(tmp_path)) - 1
    assert ran.json["to"] == "smtlib"
    for form in ("smtlib", "tptp"):
        assert carnet("export", TOY, "--to", form, "--out", str(tmp_path / form)).code == 0
    assert _index(tmp_path / "smtlib") == _index(tmp_path / "tptp")
    assert {file.suffix for file in (tmp_path / "tptp" / "obligations").iterdir()} == {".p"}


def test_json_is_the_canonical_encoding_of_every_variant_and_of_fewer_defences(tmp_path: Path) -> None:
    ran = carnet("export", TOY, "--to", "json", "--variant", "main", "--variant", "forgetful", "--out", str(tmp_path))
    assert ran.code == 0
    assert _files(tmp_path) == {"main.json", "forgetful.json"}
    for name in ("main", "forgetful"):
        text = (tmp_path / f"{name}.json").read_text("ascii")
        assert text == toy.FAMILY.protocol(name).canonical_json
        assert decode(text) == toy.FAMILY.protocol(name)
    ran = carnet("export", TOY, "--to", "json", "--without", "return-checked", "--out", str(tmp_path))
    assert ran.code == 0
    assert decode((tmp_path / "main.json").read_text("ascii")) == toy.FAMILY.protocol("main", ("return-checked",))


def test_main_variants_and_their_layers_are_written_unless_others_are_named(tmp_path: Path) -> None:
    ran = carnet("export", "gpu-travelling", "--to", "json", "--out", str(tmp_path), "--json")
    names = [each["variant"] for each in ran.json["variants"]]
    assert names == ["engine-per-holder", "engine-per-holder-timed", "sealed-under-master", "sealed-under-master-timed"]
    assert _files(tmp_path) == {f"{name}.json" for name in names}
    assert ran.json["files"] == len(names)
    assert {key for each in ran.json["variants"] for key in each} == {"variant", "digest"}
    assert ran.json["rerun"].startswith("carnet export gpu-travelling --to json --out ")


def test_one_threat_model_needs_its_own_and_what_holds_under_all(tmp_path: Path) -> None:
    assert carnet("export", TOY, "--to", "smtlib", "--threat", "collusion", "--out", str(tmp_path)).code == 0
    assert {row["threat"] for row in _index(tmp_path)} == {""}
    for threat, needed in {"one": {"", "one"}, "any": {""}}.items():
        assert carnet("export", LENDING, "--to", "smtlib", "--threat", threat, "--out", str(tmp_path)).code == 0
        assert {row["threat"] for row in _index(tmp_path)} == needed


def test_nothing_is_written_of_what_is_unsound_or_behind_a_link(tmp_path: Path) -> None:
    unsound = LENDING.replace("sound_lending", "lending")
    ran = carnet("export", unsound, "--to", "smtlib", "--out", str(tmp_path / "out"))
    assert (ran.code, "no verdict would be sound" in ran.err) == (2, True)
    assert not (tmp_path / "out").exists()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "obligations").symlink_to(tmp_path / "elsewhere")
    ran = carnet("export", TOY, "--to", "smtlib", "--out", str(tmp_path / "out"))
    assert (ran.code, _files(tmp_path / "elsewhere")) == (2, set())
    assert "is a link" in ran.err


def test_an_earlier_export_is_replaced_whole(tmp_path: Path) -> None:
    carnet("export", control("sound"), "--to", "tptp", "--out", str(tmp_path))
    carnet("export", TOY, "--to", "smtlib", "--out", str(tmp_path))
    assert _files(tmp_path) == {"index.csv", *(f"obligations/{row['digest']}.smt2" for row in _index(tmp_path))}
    (tmp_path / "main.json").write_text(toy.FAMILY.protocol("main", ("fresh-key",)).canonical_json, "ascii")
    assert carnet("export", TOY, "--to", "json", "--out", str(tmp_path)).code == 0
    assert (tmp_path / "main.json").read_text("ascii") == toy.FAMILY.protocol().canonical_json


def _certified(folder: Path, cores: Mapping[str, tuple[str, ...]], old: str = "", new: str = "") -> Path:
    """Write the toy down, with a change, and beside it certificates of the toy itself that use these hypotheses."""
    protocol = folder / "lent.py"
    protocol.write_text(Path(TOY).read_text("utf-8").replace(old, new, 1), "utf-8")
    (layer,) = layers(toy.FAMILY.protocol())
    writer, found = Writer(), {}
    for each in LayerObligations.of(layer):
        if each.id in cores:
            kept = cores[each.id]
            found[each.id] = Entry(digest(writer.text(each, kept))[:DIGITS], kept, (), "u 0")
    place = place_of(load(str(protocol)))
    assert place is not None
    assert place.parent == folder
    place.write_bytes(
        encoded_certificates(Certificates({key_of(layer): LayerObligations.of(layer).certificates(found)}))
    )
    return protocol


def test_a_file_has_the_hypotheses_that_the_certificate_uses(tmp_path: Path) -> None:
    cores = {"init/secrecy": (), "step/borrow/known_keys_are_used": ("inv:lent_keys_are_owned", "guard:sent to it")}
    protocol = _certified(tmp_path, cores)
    out = tmp_path / "out"
    assert carnet("export", str(protocol), "--to", "smtlib", "--out", str(out)).code == 0
    named = {row["obligation"]: json.loads(row["hypotheses"]) for row in _index(out)}
    assert {id: named[id] for id in cores} == {id: list(names) for id, names in cores.items()}
    assert len(named["step/give_back/known_keys_are_used"]) == 1
    assert "axiom:lender honest" in named["init/known_keys_are_used"]
    assert carnet("export", str(protocol), "--to", "smtlib", "--full", "--out", str(out)).code == 0
    assert all(
        "axiom:lender honest" in json.loads(row["hypotheses"]) for row in _index(out) if row["obligation"] in cores
    )


def test_a_stale_certificate_says_nothing_of_what_is_used(tmp_path: Path) -> None:
    cores = {"step/borrow/known_keys_are_used": ("guard:sent to it",)}
    protocol = _certified(tmp_path, cores, "step.insert(knows(user, key))", "step.insert(knows(user, current))")
    assert carnet("export", str(protocol), "--to", "smtlib", "--out", str(tmp_path / "out")).code == 0
    named = {row["obligation"]: json.loads(row["hypotheses"]) for row in _index(tmp_path / "out")}
    assert "inv:known_keys_are_used" in named["step/borrow/known_keys_are_used"]


IN_THE_WAY = {
    "index.csv": "expected the index of an export or nothing",
    "obligations/notes.txt": "expected obligations that an export wrote",
    f"obligations/{'0' * 64}.smt2/inside": "expected obligations that an export wrote",
}


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_what_no_export_wrote_stays_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine\n", "utf-8")
    ran = carnet("export", TOY, "--to", "smtlib", "--out", str(tmp_path))
    assert ran.code == 2
    assert IN_THE_WAY[name] in ran.err
    assert _files(tmp_path) == {name}
    assert (tmp_path / name).read_text("utf-8") == "mine\n"


@pytest.mark.parametrize(
    "text", ["mine", '{"format": "mine"}', "[" * 100_000, "[]"], ids=["text", "object", "deep", "list"]
)
def test_a_file_of_a_variants_name_that_is_no_protocol_stays(text: str, tmp_path: Path) -> None:
    (tmp_path / "main.json").write_text(text, "utf-8")
    ran = carnet("export", TOY, "--to", "json", "--out", str(tmp_path))
    assert ran.code == 2
    assert "expected a protocol in JSON or nothing" in ran.err
    assert (tmp_path / "main.json").read_text("utf-8") == text


BAD = {
    "no form": ([], "--to", ""),
    "another form": (["--to", "coq"], "'coq' is not one of", "tptp"),
    "unknown variant": (["--to", "tptp", "--variant", "x"], "no variant 'x'", "forgetful"),
    "unknown threat": (["--to", "tptp", "--threat", "aliens"], "no threat model 'aliens'", "collusion"),
    "unknown defence": (["--to", "tptp", "--without", "moat"], "no defence 'moat'", ""),
    "a threat for JSON": (["--to", "json", "--threat", "collusion"], "whole protocols", "--threat"),
    "all hypotheses for JSON": (["--to", "json", "--full"], "whole protocols", "--full"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gives_one_line_and_writes_nothing(name: str, tmp_path: Path) -> None:
    words, *said = BAD[name]
    ran = carnet("export", TOY, "--out", str(tmp_path / "out"), *words)
    (line,) = ran.err.splitlines()
    assert (ran.code, ran.out) == (2, "")
    assert all(text in line for text in said), line
    assert not (tmp_path / "out").exists()
