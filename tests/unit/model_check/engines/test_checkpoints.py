"""Checkpoints: nothing but what was written is read, and what cannot be written takes nothing away."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carnet_check.engines.checkpoints import Checkpoint, SearchCheckpoint
from carnet_check.engines.explicit import explore
from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from carnet_spec.language import Profile

QUESTION = {"protocol": "desk", "size": [["people", 2]], "engine": "explicit"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    checkpoint = Checkpoint(tmp_path / "kept")
    checkpoint.folder.mkdir()
    checkpoint.begin(QUESTION)
    return checkpoint


def read(saved: SearchCheckpoint, series: str = "states", items: int = 2) -> list[tuple[int, bytes]]:
    return list(saved.blocks(series, items))


def test_what_is_kept_is_read_again_in_its_order(checkpoint: Checkpoint) -> None:
    saved = checkpoint.saved("one")
    assert saved.notes is None
    saved.keep({"level": 1}, {"states": (1, [b"ab", b"c"]), "origins": (2, [b"wxyz"])})
    saved.keep({"level": 2}, {"states": (2, [b"defg"])})
    again = checkpoint.saved("one")
    assert again.notes == saved.notes == {"level": 2}
    assert read(again) == [(1, b"ab"), (1, b"c"), (2, b"defg")]
    assert read(again, "origins") == [(2, b"wxyz")]
    assert (again.items("states"), again.items("origins"), again.items("others")) == (5, 2, 0)
    assert checkpoint.saved("another").notes is None
    assert checkpoint.begin(QUESTION) == 5


def full() -> Iterator[bytes]:
    yield b"d"
    raise OSError(errno.ENOSPC, "no space left on device")


def test_what_cannot_be_written_takes_nothing_away(checkpoint: Checkpoint) -> None:
    saved = checkpoint.saved("one")
    saved.keep({"level": 1}, {"states": (1, [b"abc"])})
    before = sorted(file.name for file in checkpoint.folder.iterdir())
    with pytest.raises(OSError, match="no space"):
        saved.keep({"level": 2}, {"states": (1, full())})
    assert sorted(file.name for file in checkpoint.folder.iterdir()) == before
    assert (saved.notes, read(saved, items=9)) == ({"level": 1}, [(1, b"abc")])
    saved.keep({"level": 2}, {"states": (1, [b"ef"])})
    assert read(checkpoint.saved("one"), items=9) == [(1, b"abc"), (1, b"ef")]


def test_no_more_is_written_than_may_lie_there(checkpoint: Checkpoint) -> None:
    checkpoint.saved("one").keep({}, {})
    used = sum(file.stat().st_size for file in checkpoint.folder.iterdir())
    bounded = Checkpoint(checkpoint.folder, used + 10)
    with pytest.raises(OSError, match="larger than it may be"):
        bounded.saved("one").keep({}, {"states": (1, [b"12345", b"678901"])})
    bounded.saved("one").keep({}, {"states": (1, [b"12345", b"67890"])})


@pytest.mark.parametrize("name", QUESTION)
def test_the_checkpoint_of_another_search_is_refused(checkpoint: Checkpoint, name: str) -> None:
    with pytest.raises(UsageError, match=f"another {name}"):
        checkpoint.begin({**QUESTION, name: "other"})


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(UsageError, match="neither"):
        Checkpoint(tmp_path).begin(QUESTION)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_whatever_byte_is_another_is_noticed(checkpoint: Checkpoint) -> None:
    checkpoint.saved("one").keep({"level": 1}, {"states": (1, [b"abc"]), "origins": (2, [b"wxyz"])})

    def look() -> None:
        checkpoint.begin(QUESTION)
        saved = checkpoint.saved("one")
        assert (saved.notes, read(saved, items=9)) == ({"level": 1}, [(1, b"abc")])
        assert read(saved, "origins", 9) == [(2, b"wxyz")]

    for file in sorted(checkpoint.folder.iterdir()):
        content = file.read_bytes()
        for place in range(len(content)):
            file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(UsageError):
                look()
        for shorter in range(len(content)):
            file.write_bytes(content[:shorter])
            with pytest.raises(UsageError):
                look()
        file.unlink()
        if file.suffix != ".head":  # without it nothing was kept
            with pytest.raises(UsageError):
                look()
        file.write_bytes(content)
    look()


SPOILT: dict[str, dict[str, Any]] = {
    "a field is of no symbol": {"fields": [["nothing", ["alice"]]]},
    "a field is of no element": {"fields": [["sent", ["nobody"]]]},
    "a note is missing": {"levels": None},
    "states have other bits": {"fields": []},
    "it ends elsewhere": {"level_ends": 1},
}


@pytest.mark.parametrize("what", SPOILT)
def test_what_no_search_kept_is_refused(checkpoint: Checkpoint, what: str) -> None:
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "network", Profile("sizes", {"holders": 1, "rounds": 1}, budget=0))

    def explored(saved: SearchCheckpoint) -> int:
        return explore(protocol, instance, invariants=(), stop_at_first=False, saved=saved).states

    saved = checkpoint.saved("one")
    whole = explored(saved)
    assert explored(checkpoint.saved("one")) == whole
    spoilt = checkpoint.saved("one")
    assert spoilt.notes is not None
    notes = {**spoilt.notes, **SPOILT[what]}
    spoilt.keep({name: value for name, value in notes.items() if value is not None}, {})
    with pytest.raises(UsageError, match="checkpoint is broken"):
        explored(checkpoint.saved("one"))


def test_the_head_of_another_instance_is_refused(checkpoint: Checkpoint) -> None:
    """Heads are called by the instance, and say so themselves: a file that was moved is of no use."""
    checkpoint.saved("one").keep({}, {"states": (1, [b"a"])})
    (head,) = checkpoint.folder.glob("*.head")
    there = checkpoint.saved("other")
    there.keep({}, {})
    (other,) = {*checkpoint.folder.glob("*.head")} - {head}
    other.write_bytes(head.read_bytes())
    with pytest.raises(UsageError, match="is of another instance"):
        checkpoint.saved("other")


@pytest.mark.parametrize("content", ["[1]", '{"of": ""}', '{"of": "", "notes": {}, "series": {"states": [[1]]}}'])
def test_a_head_that_is_none_is_refused(checkpoint: Checkpoint, content: str) -> None:
    checkpoint.saved("one").keep({}, {})
    (head,) = checkpoint.folder.glob("*.head")
    head.write_bytes(content.encode() + b"\n" + hashlib.sha256(content.encode()).hexdigest().encode())
    with pytest.raises(UsageError, match="is no head"):
        checkpoint.saved("one")
