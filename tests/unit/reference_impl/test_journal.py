"""The journal gives back what was written, says nothing to who lacks the key, and notices what was done to it."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from carnet_ref.journal import Journal, JournalError
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


def test_what_was_written_is_there_after_a_restart(path: Path) -> None:
    again = opened(path)
    assert len(again) == 3
    assert again.last("accepted") == b"secret two"
    assert again.all("accepted") == [b"secret one", b"secret two"]
    assert again.last("granted") is None


def test_nothing_on_disk_says_what_was_written(path: Path) -> None:
    on_disk = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"secret" not in on_disk
    assert KEY not in on_disk


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


LOOSE = (
    "CREATE TABLE loose (number, kind, nonce, sealed); INSERT INTO loose SELECT * FROM entries;"
    "DROP TABLE entries; ALTER TABLE loose RENAME TO entries;"
)
"""The same entries in a table that takes values of any type."""


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


def test_entries_cannot_change_places(path: Path) -> None:
    altered(path, "UPDATE entries SET number = -number WHERE number > 0")
    altered(path, "UPDATE entries SET number = 3 + number WHERE number < 0")
    with pytest.raises(JournalError, match="refused"):
        opened(path)


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
