"""The journal gives back what was written, says nothing to who lacks the key, and notices what was done to it."""

import json
import os
import random
import secrets
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from carnet_check.cli import main
from carnet_command.files import create_durably, write_durably
from carnet_ref.journal import Journal, JournalError, load_or_make_key
from tests.fixtures.killing import KILLED, faulty, forked
from tests.fixtures.worlds import draws

KEY = bytes(range(32))
OWNER = b"a job, alice"


def opened(path: Path, key: bytes = KEY, owner: bytes = OWNER) -> Journal:
    return Journal(path, key, owner, draws("journal"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    written = opened(tmp_path / "journal")
    for kind, payload in (("session", b"1"), ("accepted", b"secret one"), ("accepted", b"secret two")):
        written.append(kind, payload)
    written.close()
    return tmp_path / "journal"


def altered(path: Path, statement: str) -> None:
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


def test_what_was_written_is_there_after_a_restart_sealed_and_in_its_place(path: Path) -> None:
    again = opened(path)
    assert len(again) == 3
    assert again.last("accepted") == b"secret two"
    assert again.all("accepted") == [b"secret one", b"secret two"]
    assert again.last("granted") is None
    on_disk = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"secret" not in on_disk
    assert KEY not in on_disk
    again.close()
    altered(path, "UPDATE entries SET number = -number WHERE number > 0")
    altered(path, "UPDATE entries SET number = 3 + number WHERE number < 0")
    with pytest.raises(JournalError, match="refused"):
        opened(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET sealed = zeroblob(26) WHERE number = 1",
        "UPDATE entries SET kind = 'session' WHERE number = 1",
        "DELETE FROM entries WHERE number = 1",
        "UPDATE entries SET number = number + 7",
    ],
)
def test_a_changed_journal_is_refused(path: Path, statement: str) -> None:
    altered(path, statement)
    with pytest.raises(JournalError, match="refused"):
        opened(path)


#: The same entries in a table that takes values of any type.
LOOSE = (
    "CREATE TABLE loose (number, kind, nonce, sealed); INSERT INTO loose SELECT * FROM entries;"
    "DROP TABLE entries; ALTER TABLE loose RENAME TO entries;"
)


@pytest.mark.parametrize(
    "script",
    [
        "UPDATE entries SET nonce = x'00' WHERE number = 1",
        "UPDATE entries SET sealed = x'' WHERE number = 1",
        "UPDATE entries SET kind = cast(x'ff' AS TEXT) WHERE number = 0",
        LOOSE + "UPDATE entries SET kind = NULL WHERE number = 1",
        LOOSE + "UPDATE entries SET nonce = 'twelve bytes' WHERE number = 1",
        LOOSE + "UPDATE entries SET sealed = 5 WHERE number = 1",
        LOOSE + "UPDATE entries SET number = 'one' WHERE number = 1",
        "DROP TABLE entries; CREATE TABLE entries (name TEXT)",
        "ALTER TABLE entries RENAME TO kept; CREATE VIEW entries AS SELECT * FROM kept",
        "CREATE TRIGGER forgets AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE number = new.number; END",
        "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = cast(x'ff' AS TEXT)",
    ],
    ids=[
        "short nonce",
        "nothing sealed",
        "kind not in UTF-8",
        "no kind",
        "a nonce that is text",
        "a number for what is sealed",
        "a number that is text",
        "other columns",
        "a view",
        "a trigger",
        "a schema not in UTF-8",
    ],
)
def test_a_journal_of_any_other_shape_is_refused(path: Path, script: str) -> None:
    database = sqlite3.connect(path)
    database.executescript(script)
    database.close()
    with pytest.raises(JournalError):
        opened(path)


def test_damage_of_any_kind_is_refused_or_harms_nothing(tmp_path: Path) -> None:
    """Bytes changed at random, or cut off: the journal opens with all that was written, and goes on, or is refused."""
    (tmp_path / "whole").mkdir()
    written = opened(tmp_path / "whole" / "journal")
    payloads = [bytes([each]) * 300 for each in range(30)]
    for payload in payloads:
        written.append("accepted", payload)
    written.close()
    whole, chance, outcomes = (tmp_path / "whole" / "journal").read_bytes(), random.Random(3), set()
    for number in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 20))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        damaged = tmp_path / f"damaged {number}"
        shutil.copytree(tmp_path / "whole", damaged)
        (damaged / "journal").write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        outcomes.add(_survived(damaged / "journal", payloads))
    assert outcomes == {True, False}


def _survived(path: Path, payloads: list[bytes]) -> bool:
    try:
        journal = opened(path)
    except JournalError:
        return False
    try:
        assert journal.all("accepted") == payloads
        journal.append("accepted", b"more")
    except JournalError:
        return False
    finally:
        journal.close()
    return True


@pytest.mark.parametrize(("key", "owner"), [(bytes(32), OWNER), (KEY, b"another job")], ids=["key", "job"])
def test_a_foreign_journal_is_refused(path: Path, key: bytes, owner: bytes) -> None:
    with pytest.raises(JournalError, match="another"):
        opened(path, key, owner)


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to look like a file" * 10)
    with pytest.raises(JournalError, match="no journal"):
        opened(tmp_path / "text")
    altered(tmp_path / "other", "CREATE TABLE things (name TEXT)")
    with pytest.raises(JournalError, match="something else"):
        opened(tmp_path / "other")
    with pytest.raises(JournalError):
        opened(tmp_path / "missing" / "journal")


def test_a_journal_has_one_writer(path: Path) -> None:
    first = opened(path)
    first.append("session", b"2")
    with pytest.raises(JournalError, match="locked"):
        opened(path)


def test_a_full_disk_is_said_and_loses_nothing(path: Path) -> None:
    journal = opened(path)
    journal._database.execute("PRAGMA max_page_count = 4")
    with pytest.raises(JournalError, match="full"):
        journal.append("trained", bytes(1 << 16))
    assert len(journal) == 3
    journal.close()
    assert len(opened(path)) == 3


def test_an_entry_is_on_disk_before_anything_else_happens(path: Path) -> None:
    """What SQLite calls FULL: the log is flushed at every commit."""
    database = opened(path)._database
    assert database.execute("PRAGMA synchronous").fetchone() == (2,)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


SMALL = ("run", "--holders", "1", "--rounds", "1", "--json")


def carnet(folder: Path, *more: str) -> Result:
    kept = ("--journal", f"{folder}/journal", "--journal-key", f"{folder}/key")
    return CliRunner().invoke(main, [*SMALL, *kept, *more])


def test_a_key_is_made_once(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        key = load_or_make_key(tmp_path / "key", [])
    finally:
        os.umask(before)
    assert len(key) == 32
    assert load_or_make_key(tmp_path / "key", [tmp_path / "journal"]) == key
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def makes(path: Path) -> Callable[[Callable[[int], None]], None]:
    def work(say: Callable[[int], None]) -> None:
        say(load_or_make_key(path, [])[0])

    return work


@pytest.mark.mends("T1")
@pytest.mark.mends("M2")
@pytest.mark.parametrize("fault", ["killed", "no space"])
def test_whatever_step_fails_there_is_no_key_or_a_whole_one(fault: str, tmp_path: Path) -> None:
    outcomes = set()
    for step in range(1, 16):
        folder = tmp_path / f"{step}"
        folder.mkdir()
        said, code = forked(makes(folder / "key"), fault, step)
        assert code in {0, 1, KILLED}
        outcomes.add((code == 0, (folder / "key").exists()))
        if (folder / "key").exists():
            assert len(bytes.fromhex((folder / "key").read_text())) == 32
        key = load_or_make_key(folder / "key", [])
        assert said in ([], [key[0]])
        assert load_or_make_key(folder / "key", [folder / "journal"]) == key
    assert outcomes == {(True, True), (False, False), (False, True)}


@pytest.mark.mends("M2")
def test_a_run_that_could_not_write_its_key_refuses_no_later_one(tmp_path: Path) -> None:
    with faulty("no space", 2):
        full = carnet(tmp_path)
    assert (full.exit_code, "cannot write a key" in full.stderr, "Traceback" in full.stderr) == (2, True, False)
    assert list(tmp_path.iterdir()) == []
    again = carnet(tmp_path)
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)["conforms"] is True


@pytest.mark.mends("M2")
def test_no_key_is_made_beside_journals_that_another_seals(tmp_path: Path) -> None:
    assert carnet(tmp_path).exit_code == 0
    (tmp_path / "key").rename(tmp_path / "kept")
    refused = carnet(tmp_path)
    assert refused.exit_code == 2
    assert f"there is no key in {tmp_path}/key, and {tmp_path}/journal was sealed with one" in refused.stderr
    assert "put the key back, or remove the journals" in refused.stderr
    assert not (tmp_path / "key").exists()
    (tmp_path / "kept").rename(tmp_path / "key")
    assert carnet(tmp_path).exit_code == 0


NO_KEYS = (b"00" * 31, b"00" * 33, b"00" * 999, b"0" * 63, b"no key at all", b"\xff" * 64)


@pytest.mark.mends("M2", "L8")
@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (
            b"",
            0o600,
            "is empty, because the run that was to write it was stopped: if nothing was sealed with another, re",
        ),
        (b" \n", 0o600, "is empty"),
        *((text, 0o600, "expected 64 hexadecimal digits in") for text in NO_KEYS),
        (b"00" * 32, 0o644, "others may use the key in"),
        (b"00" * 32, 0o640, "whose mode is 640: make it 600"),
        (b"00" * 32, 0o602, "others may use the key in"),
    ],
)
def test_a_file_without_a_whole_and_private_key_is_refused_and_kept(
    text: bytes, mode: int, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "key"
    path.write_bytes(text)
    path.chmod(mode)
    with pytest.raises(JournalError) as refused:
        load_or_make_key(path, [])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == text


def test_of_two_runs_that_make_a_key_both_use_that_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, first = secrets.token_hex, bytes(range(32))

    def while_another_is_first(size: int) -> str:
        if size == len(first):
            create_durably(tmp_path / "key", first.hex().encode())
        return drawn(size)

    monkeypatch.setattr("carnet_ref.journal.secrets.token_hex", while_another_is_first)
    assert load_or_make_key(tmp_path / "key", []) == first


def test_a_key_through_a_pipe_needs_no_mode(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, bytes(range(32)).hex().encode())
    os.close(write)
    try:
        assert load_or_make_key(Path(f"/dev/fd/{read}"), []) == bytes(range(32))
    finally:
        os.close(read)


@pytest.mark.mends("M2")
@pytest.mark.parametrize("fault", ["killed", "no space"])
def test_a_file_is_replaced_whole_or_not_at_all(fault: str, tmp_path: Path) -> None:
    path, found = tmp_path / "file", set()
    for step in range(1, 12):
        path.write_bytes(b"before")
        forked(lambda _: write_durably(path, b"after" * 1000), fault, step)
        found.add(path.read_bytes())
    assert found == {b"before", b"after" * 1000}


@pytest.mark.mends("M2")
@pytest.mark.parametrize(("write", "moves"), [(write_durably, "replace"), (create_durably, "link")])
def test_a_file_is_on_disk_before_it_has_its_name_and_its_name_before_all_else(
    write: Callable[[Path, bytes], None], moves: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Synced, moved, and the folder synced: without each, a loss of power leaves an empty file, or none."""
    order, synced, moved = list[str](), os.fsync, getattr(os, moves)

    def fsync(descriptor: int) -> None:
        order.append("sync folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "sync file")
        synced(descriptor)

    def move(*args: Any, **more: Any) -> None:
        order.append(moves)
        moved(*args, **more)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, moves, move)
    write(tmp_path / "file", b"data")
    assert order == ["sync file", moves, "sync folder"]


def test_what_is_there_is_never_created_anew(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")
    with pytest.raises(FileExistsError):
        create_durably(tmp_path / "file", b"after")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_journals_are_made_after_their_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no crash leaves journals without one."""
    there = []

    class Looking(Journal):
        def __init__(self, path: Path, *more: object) -> None:
            there.append((tmp_path / "key").exists())
            super().__init__(path, *more)  # type: ignore[arg-type]

    monkeypatch.setattr("carnet_ref.systems.gpu_travelling.commands.running.Journal", Looking)
    assert carnet(tmp_path).exit_code == 0
    assert there == [True] * 3, "the orchestrator's when its instance is founded, and again with the holder's"
