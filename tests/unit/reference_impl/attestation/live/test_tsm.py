"""Asking the virtual machine by configfs-tsm: the entry, the count of writes, and every error of the kernel."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.attestation.live.sources import LARGEST_BLOB, ROOT, AbsentError, CollectionError, TsmFolder, collect_vm
from tests.fixtures.simulated_machine import Deaf, Rival, SimulatedTsm

ASKED = bytes(range(64))


def answer(report_data: bytes) -> tuple[bytes, bytes | None]:
    return b"report of " + report_data, None


def folder(path: Path, kind: type[SimulatedTsm] = SimulatedTsm, **given: Any) -> SimulatedTsm:
    return kind(path, "tdx_guest", answer, **given)


def test_a_report_is_made_over_what_was_written_and_the_entry_goes_away(tmp_path: Path) -> None:
    tsm = folder(tmp_path)
    found = collect_vm(tsm, ASKED)
    assert (found.provider, found.report, found.auxiliary) == ("tdx_guest", b"report of " + ASKED, None)
    assert (tsm.asked, tsm.removed, list(tmp_path.iterdir())) == ([ASKED], 1, [])


@pytest.mark.parametrize(("given", "taken"), [(b"certificates", b"certificates"), (b"", None)])
def test_what_comes_along_is_taken_unless_it_is_empty(tmp_path: Path, given: bytes, taken: bytes | None) -> None:
    tsm = SimulatedTsm(tmp_path, "sev_guest", lambda _: (b"report", given))
    assert collect_vm(tsm, ASKED).auxiliary == taken


def test_entries_have_names_of_their_own(tmp_path: Path) -> None:
    names: set[str] = set()

    class Naming(SimulatedTsm):
        def create(self, entry: str) -> None:
            names.add(entry)
            super().create(entry)

    for _ in range(2):
        collect_vm(folder(tmp_path, Naming), ASKED)
    assert len(names) == 2


@pytest.mark.parametrize(("floor", "levels"), [(None, []), (0, []), (2, [b"2"])])
def test_a_guest_asks_with_the_highest_privilege_that_it_has(
    tmp_path: Path, floor: int | None, levels: list[bytes]
) -> None:
    tsm = folder(tmp_path, floor=floor)
    assert collect_vm(tsm, ASKED).report == b"report of " + ASKED
    assert tsm.levels == levels


@pytest.mark.parametrize("kind", [Rival, Deaf])
def test_a_stale_generation_is_noticed(tmp_path: Path, kind: type[SimulatedTsm]) -> None:
    tsm = folder(tmp_path, kind)
    with pytest.raises(CollectionError, match=r"its generation is [02], not 1: .* another process"):
        collect_vm(tsm, ASKED)
    assert (tsm.removed, list(tmp_path.iterdir())) == (1, [])


def test_a_write_to_the_privilege_level_is_counted(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="its generation is 3, not 2"):
        collect_vm(folder(tmp_path, Rival, floor=1), ASKED)


def test_an_entry_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inblob").write_bytes(b"of somebody else")
    with pytest.raises(CollectionError, match=r"taken: file exists \(EEXIST\): another process may use this entry"):
        collect_vm(folder(tmp_path), ASKED, "taken")
    assert (tmp_path / "taken" / "inblob").read_bytes() == b"of somebody else"


@pytest.mark.parametrize(
    ("step", "code", "why"),
    [
        ("create", errno.EACCES, r"EACCES\): configfs is for root"),
        ("create", errno.EPERM, r"EPERM\): configfs is for root"),
        ("create", errno.ENOMEM, "ENOMEM"),
        ("provider", errno.ENOENT, r"provider: no such file or directory \(ENOENT\)"),
        ("generation", errno.EIO, "generation: .*EIO"),
        ("inblob", errno.EACCES, r"inblob: permission denied \(EACCES\)"),
        ("inblob", errno.EBUSY, "inblob: .*EBUSY"),
        ("outblob", errno.EBUSY, r"outblob: .*\(EBUSY\): the platform makes another report; try again"),
        ("outblob", errno.ENXIO, r"outblob: no such device or address \(ENXIO\)"),
        ("outblob", errno.ENOTTY, "outblob: .*ENOTTY"),
        ("outblob", errno.EINVAL, "outblob: .*EINVAL"),
        ("outblob", errno.ETIMEDOUT, "the host's quoting service does not answer"),
        ("auxblob", errno.EIO, "auxblob: .*EIO"),
        ("remove", errno.EBUSY, "EBUSY"),
    ],
)
def test_an_error_of_the_kernel_ends_it_in_one_line(tmp_path: Path, step: str, code: int, why: str) -> None:
    tsm = folder(tmp_path, failing={step: code})
    with pytest.raises(CollectionError, match=why) as error:
        collect_vm(tsm, ASKED)
    assert "\n" not in str(error.value)
    assert bool(list(tmp_path.iterdir())) == (step == "remove"), "the entry is removed in any case"


def test_the_first_error_is_told_although_the_entry_cannot_be_removed(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match=r"outblob: .*EIO"):
        collect_vm(folder(tmp_path, failing={"outblob": errno.EIO, "remove": errno.EBUSY}), ASKED)


def test_an_interruption_removes_the_entry(tmp_path: Path) -> None:
    def interrupted(_: bytes) -> tuple[bytes, bytes | None]:
        raise KeyboardInterrupt

    tsm = SimulatedTsm(tmp_path, "tdx_guest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        collect_vm(tsm, ASKED)
    assert (tsm.removed, list(tmp_path.iterdir())) == (1, [])


def test_without_the_folder_or_a_provider_nothing_is_here(tmp_path: Path) -> None:
    with pytest.raises(AbsentError, match=r"no configfs-tsm .*/nowhere"):
        collect_vm(TsmFolder(tmp_path / "nowhere"), ASKED)
    with pytest.raises(AbsentError, match="has no provider"):
        collect_vm(folder(tmp_path, failing={"create": errno.ENXIO}), ASKED)
    assert Path("/sys/kernel/config/tsm/report") == TsmFolder().path == ROOT


@pytest.mark.parametrize(("attribute", "text"), [("generation", "none\n"), ("generation", ""), ("provider", "\xff")])
def test_an_attribute_that_is_none_is_refused(tmp_path: Path, attribute: str, text: str) -> None:
    class Odd(SimulatedTsm):
        def create(self, entry: str) -> None:
            super().create(entry)
            (tmp_path / entry / attribute).write_bytes(text.encode("latin-1"))

    with pytest.raises(CollectionError, match=f"{attribute} is no"):
        collect_vm(folder(tmp_path, Odd), ASKED)


def test_a_report_without_end_is_not_read(tmp_path: Path) -> None:
    tsm = SimulatedTsm(tmp_path, "tdx_guest", lambda _: (bytes(LARGEST_BLOB + 1), None))
    with pytest.raises(CollectionError, match="outblob has more than 1048576 bytes"):
        collect_vm(tsm, ASKED)


def test_a_write_that_is_cut_short_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", lambda *_: 63)
    (tmp_path / "inblob").touch()
    with pytest.raises(OSError, match="only a part of inblob"):
        TsmFolder(tmp_path.parent).write(tmp_path.name, "inblob", ASKED)
