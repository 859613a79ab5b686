"""Links, devices and odd names in a run folder: refused, signed or not."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from carnet_check.errors import UsageError
from carnet_check.report.bundle import BundleRefusedError, check_bundle
from carnet_check.report.run_folder import plain_name, read_run, run_of, snapshot, twins
from tests.unit.model_check.command import carnet
from tests.unit.model_check.report.signing import PUBLIC, seal


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


@pytest.mark.mends("H2")
def test_names_that_some_systems_take_for_one_are_found() -> None:
    assert twins(["a", "b", "A"]) == ("a", "A")
    assert twins(["á", "a\N{COMBINING ACUTE ACCENT}"]) is not None
    assert twins(["a", "a"]) == ("a", "a")
    assert twins(["a", "b"]) is None
