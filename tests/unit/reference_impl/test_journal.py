"""The journal gives back what was written, says nothing to who lacks the key, and notices what was done to it."""

from __future__ import annotations

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
