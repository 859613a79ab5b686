"""Nothing of a journal is lost in silence: not to flipped bits, not to files cut short or gone, not to a crash."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.journal import (
    CHECKPOINT,
    MOST_ENTRIES,
    MOST_GROWTH,
    RETAINED_KINDS,
    HeadFile,
    Journal,
    JournalError,
    JournalHead,
)
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from tests.fixtures.killing import KILLED, faulty, forked
from tests.fixtures.worlds import ChainTrainer, FastDeployment, draws, world_of

KEY = bytes(range(32))
OWNER = b"a job, alice"
FILES = ("journal", "journal-wal", "journal-head")
Contents = dict[str, bytes]
ENTRIES = 12


def opened(folder: Path, seed: str = "damage") -> Journal:
    return Journal(folder / "journal", KEY, OWNER, draws(seed))


def contents(folder: Path) -> Contents:
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


def put(folder: Path, files: Contents) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def payload(number: int) -> bytes:
    return b"entry %d " % number * 20


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> list[Contents]:
    """Return what a process that is killed after each entry leaves, and at last one that closed its journal.

    Half of the entries are in the database, the others in the log beside it, until they are closed into it too.
    """
    folder = tmp_path_factory.mktemp("snapshots")
    journal, found = opened(folder), list[Contents]()
    for number in range(ENTRIES):
        if number == ENTRIES // 2:
            journal.close()
            journal = opened(folder, "second half")
        journal.append("accepted", payload(number))
        found.append(contents(folder))
    journal.close()
    return [*found, contents(folder)]


def outcome(folder: Path) -> str:
    """Return why a journal is refused, or nothing: then all that was written is there."""
    try:
        journal = opened(folder, "again")
    except JournalError as error:
        return str(error)
    assert journal.all("accepted") == [payload(number) for number in range(ENTRIES)]
    journal.close()
    return ""


def flips(whole: Contents, name: str, folder: Path, step: int) -> list[str]:
    """Return the outcomes of flipping one bit of a file, at every ``step``-th byte."""
    outcomes = []
    for place in range(0, len(whole[name]), step):
        damaged = bytearray(whole[name])
        damaged[place] ^= 1 << place % 8
        outcomes.append(outcome(put(folder, {**whole, name: bytes(damaged)})))
    return outcomes


def check_flips(snapshots: list[Contents], folder: Path, step: int) -> None:
    *_, killed, closed = snapshots
    assert "journal-wal" not in closed
    assert all(flips(killed, "journal-head", folder, 1))
    assert any("entries, and 12 were written" in said for said in flips(killed, "journal-wal", folder, step))
    flips(killed, "journal", folder, step)
    assert set(map(bool, flips(closed, "journal", folder, step))) == {True, False}  # unused bytes harm nothing


@pytest.mark.mends("M3")
@pytest.mark.parametrize("step", [499, pytest.param(7, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_refused_or_loses_nothing(snapshots: list[Contents], tmp_path: Path, step: int) -> None:
    check_flips(snapshots, tmp_path / "damaged", step)


@pytest.mark.mends("M3")
@pytest.mark.parametrize("left", range(ENTRIES // 2, ENTRIES - 1))
def test_a_log_that_is_cut_short_is_refused(left: int, snapshots: list[Contents], tmp_path: Path) -> None:
    """At every end of an entry, where SQLite takes what is left for the whole."""
    shorter = snapshots[-2]["journal-wal"][: len(snapshots[left]["journal-wal"])]
    said = outcome(put(tmp_path / "cut", {**snapshots[-2], "journal-wal": shorter}))
    assert f"it has {left + 1} entries, and {ENTRIES} were written" in said


@pytest.mark.mends("M3")
@pytest.mark.parametrize("left", range(ENTRIES - 1))
def test_an_older_database_is_refused(left: int, snapshots: list[Contents], tmp_path: Path) -> None:
    older = {**snapshots[left], "journal-head": snapshots[-2]["journal-head"]}
    assert f"it has {left + 1} entries, and {ENTRIES} were written" in outcome(put(tmp_path / "older", older))


@pytest.mark.mends("M3")
@pytest.mark.parametrize("left", range(ENTRIES - 2))
def test_an_older_head_is_refused(left: int, snapshots: list[Contents], tmp_path: Path) -> None:
    older = {**snapshots[-2], "journal-head": snapshots[left]["journal-head"]}
    assert f"it has {ENTRIES} entries, and {left + 1} were written" in outcome(put(tmp_path / "older", older))


@pytest.mark.mends("M3")
@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (("journal-wal",), "it has 6 entries, and 12 were written"),
        (("journal-head",), "journal-head is missing"),
        (("journal", "journal-wal"), "it has 0 entries, and 12 were written"),
        (("journal",), "journal"),
    ],
    ids=["the log", "the head", "the database and its log", "the database"],
)
def test_a_file_that_is_gone_is_noticed(
    gone: tuple[str, ...], said: str, snapshots: list[Contents], tmp_path: Path
) -> None:
    left = {name: data for name, data in snapshots[-2].items() if name not in gone}
    assert said in outcome(put(tmp_path / "left", left))


@pytest.mark.mends("M3")
def test_a_crash_between_an_entry_and_its_head_loses_nothing(snapshots: list[Contents], tmp_path: Path) -> None:
    behind = put(tmp_path / "behind", {**snapshots[-2], "journal-head": snapshots[-3]["journal-head"]})
    assert outcome(behind) == ""
    (behind / "journal-wal").unlink(missing_ok=True)
    put(tmp_path / "behind", {**snapshots[-3], "journal-head": contents(behind)["journal-head"]})
    assert "it has 11 entries, and 12 were written" in outcome(behind)  # the start wrote the head that was lacking


def test_no_entry_follows_one_without_a_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = opened(tmp_path)
    journal.append("accepted", b"one")
    written = HeadFile.write

    def fails(_: HeadFile, mark: JournalHead) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(HeadFile, "write", fails)
    for _ in range(3):
        with pytest.raises(JournalError, match="cannot write"):
            journal.append("accepted", b"two")
    journal.close()
    monkeypatch.setattr(HeadFile, "write", written)
    again = opened(tmp_path, "again")
    assert again.all("accepted") == [b"one", b"two"]
    again.append("accepted", b"three")
    again.close()
    assert len(opened(tmp_path, "and again")) == 3


def appends(folder: Path, count: int) -> Callable[[Callable[[int], None]], None]:
    """Return work that opens a journal, appends to it, and says each entry that was written."""

    def work(say: Callable[[int], None]) -> None:
        journal = opened(folder, f"{os.getpid()}")
        for number in range(len(journal), count):
            journal.append("accepted", payload(number))
            say(number)
        journal.close()

    return work


STEPS = 32  #: More calls of the operating system than the head of two entries takes.


@pytest.mark.mends("M2", "M3", "T1")
@pytest.mark.parametrize("fault", ["killed", "no space"])
def test_whatever_step_fails_nothing_that_was_written_is_lost(fault: str, tmp_path: Path) -> None:
    """Each call that the journal's own files take fails, or is the last of its process, in turn."""
    reached = 0
    for step in range(1, STEPS):
        folder = tmp_path / f"{step}"
        folder.mkdir()
        said, code = forked(appends(folder, 2), fault, step)
        assert code in {0, 1, KILLED}
        reached += code != 0
        journal = opened(folder, "after")
        assert len(journal) >= len(said)
        assert journal.all("accepted") == [payload(number) for number in range(len(journal))]
        journal.append("accepted", payload(len(journal)))
        journal.close()
    assert 10 < reached < STEPS - 3  # every step there is was tried, and then some


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk, where only the size of what is written matters."""
    connect = sqlite3.connect

    def connected(*args: Any, **more: Any) -> sqlite3.Connection:
        return connect(*args, **more, factory=Unsynced)

    monkeypatch.setattr("carnet_ref.journal.sqlite3.connect", connected)
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Unsynced(sqlite3.Connection):
    """A connection that leaves it to the operating system when something is on disk."""

    def execute(self, statement: str, *more: Any) -> sqlite3.Cursor:
        return super().execute(statement.replace("synchronous=FULL", "synchronous=OFF"), *more)


@pytest.mark.mends("L7")
def test_two_hundred_rounds_leave_small_journals(tmp_path: Path, unsynced: None) -> None:
    """Rounds of fast parties, each with a journal: what stays per round is the name of one epoch."""
    deployment = FastDeployment(("alice", "anna"), 200, trainer=ChainTrainer())
    world, _ = world_of(deployment)
    journals = {}
    for name in (ORCHESTRATOR, *deployment.holders):
        journals[name] = Journal(tmp_path / name, KEY, deployment.journal_owner(name), draws(f"journal of {name}"))
        world.nodes[name].store = journals[name]
    world.run(200_000)
    assert world.orchestrator.job.progress.rounds == 200
    for name, journal in journals.items():
        assert len(journal) >= 500
        assert journal._database.execute("SELECT count(*) FROM entries").fetchone()[0] <= max(
            MOST_ENTRIES, len(journal._entries)
        )
        journal.close()
        assert (tmp_path / name).stat().st_size < 100_000
        again = Journal(tmp_path / name, KEY, deployment.journal_owner(name), draws("again"))
        assert len(again.all("accepted")) == (0 if name == ORCHESTRATOR else 100)
        again.close()
    again = Journal(tmp_path / ORCHESTRATOR, KEY, deployment.journal_owner(ORCHESTRATOR), draws("and again"))
    assert deployment.orchestrator_from(again, draws("x")).job.progress.rounds == 200


@pytest.mark.parametrize("rounds", [200, 800, 3200])
def test_all_that_is_ever_written_grows_no_faster_than_what_is_appended(
    rounds: int, tmp_path: Path, unsynced: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts for good is written again in each checkpoint, so there are the fewer of them, the more it is."""
    written, sealed = list[int](), Journal._sealed

    def counted(self: Journal, place: int, kind: str, before: bytes, payload: bytes) -> tuple[bytes, bytes]:
        written.append(len(payload))
        return sealed(self, place, kind, before, payload)

    monkeypatch.setattr(Journal, "_sealed", counted)
    journal, entries = opened(tmp_path), [("returned", bytes(40)), ("ledger", bytes(300)), ("trained", bytes(600))]
    for kind, payload in entries * rounds:
        journal.append(kind, payload)
    journal.close()
    assert sum(written) < 3 * rounds * sum(len(payload) for _, payload in entries)
    assert len(opened(tmp_path, "again").all("ledger")) == rounds


@pytest.mark.mends("L7")
def test_a_journal_does_not_grow_without_end(tmp_path: Path, unsynced: None) -> None:
    journal, rows = opened(tmp_path), set[int]()
    for number in range(10 * MOST_ENTRIES):
        journal.append("accepted" if number % 10 == 0 else "trained", b"model %d " % number * 100)
        rows.add(journal._database.execute("SELECT count(*) FROM entries").fetchone()[0])
    journal.close()
    assert max(rows) == MOST_ENTRIES
    assert (tmp_path / "journal").stat().st_size < 3 * MOST_ENTRIES * 1200
    again = opened(tmp_path, "again")
    assert len(again) == 10 * MOST_ENTRIES
    assert again.last("trained") == b"model 639 " * 100
    assert again.all("accepted") == [b"model %d " % number * 100 for number in range(0, 640, 10)]


@pytest.mark.mends("L7")
def test_large_entries_are_compacted_sooner(tmp_path: Path, unsynced: None) -> None:
    journal, most = opened(tmp_path), 0
    size = MOST_GROWTH // 4
    for number in range(40):
        journal.append("trained", bytes([number]) * size)
        most = max(most, journal._rows)
    assert most < 12
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 40 * size


def compacted(folder: Path) -> list[bytes]:
    """Write until there is a checkpoint with entries after it; return what is accepted."""
    journal = opened(folder)
    for number in range(MOST_ENTRIES + 5):
        journal.append("accepted", payload(number))
    assert journal._database.execute("SELECT kind FROM entries").fetchone() == (CHECKPOINT,)
    journal.close()
    return [payload(number) for number in range(MOST_ENTRIES + 5)]


@pytest.mark.mends("L7")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET sealed = zeroblob(300) WHERE kind = 'checkpoint'",
        "DELETE FROM entries WHERE kind = 'checkpoint'",
        "UPDATE entries SET kind = 'accepted' WHERE kind = 'checkpoint'",
        "UPDATE entries SET number = number - 1 WHERE kind = 'checkpoint'",
        "UPDATE entries SET kind = 'checkpoint'",
        "DELETE FROM entries WHERE kind <> 'checkpoint'",
    ],
)
def test_a_changed_checkpoint_is_refused(statement: str, tmp_path: Path, unsynced: None) -> None:
    assert opened_again(tmp_path) == compacted(tmp_path)
    database = sqlite3.connect(tmp_path / "journal")
    database.execute(statement)
    database.commit()
    database.close()
    with pytest.raises(JournalError, match="refused"):
        opened(tmp_path, "changed")


def opened_again(folder: Path) -> list[bytes]:
    expected = compacted(folder)
    journal = opened(folder, "again")
    assert journal.all("accepted") == expected
    journal.close()
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    return expected


@pytest.mark.mends("L7", "T1")
@pytest.mark.parametrize("fault", ["killed", "no space"])
def test_a_crash_while_a_checkpoint_is_written_loses_nothing(fault: str, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    journal = opened(full)
    for number in range(MOST_ENTRIES):
        journal.append("accepted", payload(number))
    journal.close()
    reached = 0
    for step in range(1, 20):
        folder = put(tmp_path / "crashed", contents(full))
        said, code = forked(appends(folder, MOST_ENTRIES + 1), fault, step)
        reached += code != 0
        after = opened(folder, "after")
        assert len(after) in {MOST_ENTRIES, MOST_ENTRIES + 1}
        assert len(after) >= MOST_ENTRIES + len(said)
        assert after.all("accepted") == [payload(number) for number in range(len(after))]
        after.close()
    assert reached > 5


def test_a_checkpoint_is_no_kind_for_others_and_dropped_entries_are_not_asked_for(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    with pytest.raises(ValueError, match="no kind of entry"):
        journal.append(CHECKPOINT, b"")
    assert "trained" not in RETAINED_KINDS
    with pytest.raises(ValueError, match="only the last"):
        journal.all("trained")


@pytest.mark.mends("L8")
def test_nobody_else_reads_a_journal(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        journal = opened(tmp_path)
        journal.append("accepted", b"one")
    finally:
        os.umask(before)
    assert {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in FILES} == dict.fromkeys(FILES, 0o600)
    journal.close()
    for path in tmp_path.iterdir():
        path.chmod(0o644)
    opened(tmp_path, "again").close()
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_faults_are_put_where_they_are_asked_for(tmp_path: Path) -> None:
    """The faults of these tests themselves: an undisturbed run says everything, and a fault is where it should be."""
    (tmp_path / "calm").mkdir()
    assert forked(appends(tmp_path / "calm", 3), "none", 0) == ([0, 1, 2], 0)
    with faulty("no space", 1), pytest.raises(OSError, match="No space left"):
        os.open(tmp_path / "file", os.O_CREAT | os.O_WRONLY)
