"""The evidence bundle and run folders: signed, about these very files; what was changed is refused or only shown."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_check.errors import UsageError
from carnet_check.report.bundle import BundleRefusedError, EvidenceBundle, check_bundle, sign_run
from carnet_check.report.html import write_html
from carnet_check.report.run_folder import Run, plain_name, read_run, run_of, snapshot, twins
from tests.unit.model_check.command import TOY, carnet, control


def pems(key: Any) -> tuple[bytes, bytes]:
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


PRIVATE, PUBLIC = pems(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


def seal(folder: Path, private: bytes = PRIVATE) -> bytes:
    """Return signed evidence of what is in a folder now."""
    files = snapshot(folder)
    return sign_run(files, run_of(files, folder), private)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "run"
    carnet("verify", TOY, "--engine", "explicit", "--out", str(folder))
    return folder


@pytest.fixture(scope="module")
def envelope(run: Path) -> bytes:
    return seal(run)


def test_a_bundle_is_accepted_with_keys_of_both_kinds(run: Path, envelope: bytes) -> None:
    evidence = check_bundle(envelope, run, PUBLIC).evidence
    assert evidence == EvidenceBundle("PASSED", 2, 0, 0, 5, evidence.key_id)
    private, public = pems(ec.derive_private_key(7, ec.SECP384R1()))
    assert check_bundle(seal(run, private), run, public).evidence.result == "PASSED"
    _, other = pems(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)))
    with pytest.raises(BundleRefusedError, match="does not verify under this key"):
        check_bundle(envelope, run, other)


def test_the_statement_is_an_in_toto_test_result_in_canonical_json(run: Path, envelope: bytes) -> None:
    import rfc8785

    payload = base64.b64decode(json.loads(envelope)["payload"])
    statement = json.loads(payload)
    assert payload == rfc8785.dumps(statement)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert {each["name"] for each in statement["subject"]} >= {"verdicts.jsonl", "spec.json", "run.json"}
    (configuration,) = statement["predicate"]["configuration"]
    assert configuration["digest"]["sha256"] == read_run(run).spec["variants"][0]["digest"]


@settings(max_examples=200, deadline=None)
@given(place=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_a_changed_byte_of_the_envelope_is_refused(run: Path, envelope: bytes, place: int, flip: int) -> None:
    place %= len(envelope)
    changed = envelope[:place] + bytes([envelope[place] ^ flip]) + envelope[place + 1 :]
    with pytest.raises(BundleRefusedError):
        check_bundle(changed, run, PUBLIC)


def test_an_envelope_that_merely_reads_the_same_is_refused(run: Path, envelope: bytes) -> None:
    spaced = envelope.replace(b'","', b'", "', 1)
    assert json.loads(spaced) == json.loads(envelope)
    signature = json.loads(envelope)["signatures"][0]["sig"]
    twin = signature[:-3] + chr(ord(signature[-3]) + 1) + "=="  # differs in bits that base64 leaves unused
    assert base64.b64decode(twin) == base64.b64decode(signature)
    for same in (spaced, envelope.replace(signature.encode(), twin.encode())):
        with pytest.raises(BundleRefusedError, match="not written as it was"):
            check_bundle(same, run, PUBLIC)


def test_a_changed_missing_or_added_file_is_refused(run: Path, envelope: bytes, tmp_path: Path) -> None:
    for file in [path.relative_to(run) for path in run.rglob("*") if path.is_file()]:
        copy = tmp_path / "run"
        shutil.copytree(run, copy)
        content = (copy / file).read_bytes()
        (copy / file).write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
        with pytest.raises(BundleRefusedError, match=f"'{file}' has changed"):
            check_bundle(envelope, copy, PUBLIC)
        shutil.rmtree(copy)
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    (copy / "note.txt").write_text("more")
    with pytest.raises(BundleRefusedError, match=r"'note\.txt' is in .* and was not signed"):
        check_bundle(envelope, copy, PUBLIC)
    (copy / "note.txt").unlink()
    (copy / "timings.jsonl").unlink()
    with pytest.raises(BundleRefusedError, match=r"'timings\.jsonl' was signed and is missing"):
        check_bundle(envelope, copy, PUBLIC)


@pytest.mark.parametrize("pem", [b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", PUBLIC])
def test_what_is_no_key_is_said_to_be_none_and_not_shown(run: Path, pem: bytes) -> None:
    with pytest.raises(UsageError, match="expected an unencrypted private key in PEM") as refused:
        seal(run, pem)
    assert "AAAA" not in str(refused.value)


def test_the_command_signs_and_checks(run: Path, tmp_path: Path) -> None:
    private, public, bundle = tmp_path / "key.pem", tmp_path / "key.pub", tmp_path / "evidence.json"
    private.write_bytes(PRIVATE)
    public.write_bytes(PUBLIC)
    assert carnet("report", str(run), "--bundle", str(bundle), "--key", str(private)).code == 0
    ran = carnet("report", str(run), "--check-bundle", str(bundle), "--key", str(public), "--json")
    assert (ran.code, ran.json["evidence"]["result"]) == (0, "PASSED")
    bundle.write_bytes(bundle.read_bytes().replace(b"payload", b"paylaod", 1))
    ran = carnet("report", str(run), "--check-bundle", str(bundle), "--key", str(public), "--json")
    assert (ran.code, ran.json["error"]["kind"]) == (1, "refused")


def test_evidence_of_a_run_that_strict_objects_to_passes_nothing(run: Path, tmp_path: Path) -> None:
    strict, private, public, bundle = (tmp_path / each for each in ("run", "key.pem", "key.pub", "evidence.json"))
    shutil.copytree(run, strict)
    private.write_bytes(PRIVATE)
    public.write_bytes(PUBLIC)
    kept = json.loads((strict / "run.json").read_text())
    (strict / "run.json").write_text(json.dumps({**kept, "shortcomings": ["secrecy: established by one alone"]}))
    assert carnet("report", str(strict), "--bundle", str(bundle), "--key", str(private)).code == 0
    ran = carnet("report", str(strict), "--check-bundle", str(bundle), "--key", str(public), "--json")
    assert (ran.code, ran.json["evidence"]["result"], ran.json["evidence"]["warned"]) == (3, "WARNED", 1)


def test_a_bundle_inside_the_run_is_refused_before_it_is_written(run: Path, tmp_path: Path) -> None:
    private = tmp_path / "key.pem"
    private.write_bytes(PRIVATE)
    ran = carnet("report", str(run), "--bundle", str(run / "evidence.json"), "--key", str(private))
    assert ran.code == 2
    assert not (run / "evidence.json").exists()


@pytest.mark.mends("H2")
def test_a_violated_claim_makes_the_result_failed_and_twins_of_names_are_found(tmp_path: Path) -> None:
    carnet("verify", control("wrong_claim"), "--engine", "explicit", "--out", str(tmp_path))
    evidence = check_bundle(seal(tmp_path), tmp_path, PUBLIC).evidence
    assert (evidence.result, evidence.passed, evidence.failed) == ("FAILED", 1, 1)
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
        check_bundle(bytes(rfc8785.dumps(envelope)), folder, PUBLIC)


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
        check_bundle(signed_about(listed), folder, PUBLIC)


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


@pytest.mark.mends("H2")
@pytest.mark.parametrize("make", SPECIAL, ids=lambda make: make.__name__)
def test_what_is_no_plain_file_is_refused_by_a_bundle(changed: Path, tmp_path: Path, make: Any) -> None:
    envelope = seal(changed)
    make(changed, tmp_path / "aside")
    with pytest.raises(BundleRefusedError, match="neither a plain file nor a folder"):
        check_bundle(envelope, changed, PUBLIC)
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
    found = check_bundle(envelope, changed, PUBLIC)
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


def test_the_shape_of_a_run_is_that_of_a_run(folder: Path) -> None:
    assert isinstance(read_run(folder), Run)


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
