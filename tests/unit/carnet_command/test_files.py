"""Files that are written whole or not at all, and refused before work that would be lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from carnet_command.errors import UsageError
from carnet_command.files import replacing, require_writable_file


def test_an_earlier_file_stays_until_all_is_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("before")
    with pytest.raises(ZeroDivisionError), replacing(file) as stream:
        stream.write(f"half, and {1 / 0}")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "before")]
    with replacing(file) as stream:
        stream.write("after")
        assert file.read_text() == "before"
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "after")]


def test_a_device_is_written_to_as_it_is() -> None:
    require_writable_file(Path("/dev/null"))
    with replacing(Path("/dev/null")) as stream:
        stream.write("gone")


@pytest.mark.parametrize(
    ("name", "said"),
    [("", "is a folder"), ("no/file", "its folder '.*no' does not exist"), ("locked", "permission denied")],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    (tmp_path / "locked").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match=f"expected a file .*{said}"):
        require_writable_file(tmp_path / name)


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    require_writable_file(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
