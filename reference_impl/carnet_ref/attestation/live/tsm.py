"""The quote or report of this virtual machine, asked for by Linux's configfs-tsm.

A caller makes a folder of its own, an entry. The kernel fills it with attributes. What the report should be bound to is
written to ``inblob``; reading ``outblob`` then makes the report. The entry's ``generation`` counts writes, so that
nobody takes a report for its own that another process asked for.

Source: Linux, Documentation/ABI/testing/configfs-tsm, and drivers/virt/coco/tsm.c: the result of a write to ``inblob``
is lost when the file is closed, so only ``generation`` tells whether the kernel took it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from carnet_command.files import read_plain, reason
from carnet_ref.attestation.live.errors import AbsentError, CollectionError

ROOT: Final = Path("/sys/kernel/config/tsm/report")
LARGEST_BLOB: Final = 1 << 20
"""More than any quote or table of certificates; in bytes."""
LARGEST_TEXT: Final = 256
REPORT_DATA_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class CollectedVm:
    """What the kernel gave for one nonce."""

    provider: str
    """The kernel's name for the format of the report, such as ``tdx_guest`` or ``sev_guest``."""
    report: bytes
    """The quote or report."""
    auxiliary: bytes | None
    """What the platform gave along: for SEV-SNP a table of certificates; ``None`` where it gave nothing."""


class TsmFolder:
    """The folder in which the kernel makes an entry for each caller; every method raises ``OSError``."""

    def __init__(self, path: Path = ROOT) -> None:
        self.path = path

    def create(self, entry: str) -> None:
        """Make an entry, which must not be there yet."""
        (self.path / entry).mkdir()

    def remove(self, entry: str) -> None:
        """Remove an entry; the kernel takes its attributes away with it."""
        (self.path / entry).rmdir()

    def write(self, entry: str, attribute: str, data: bytes) -> None:
        """Write an attribute as a whole, by one call, as the kernel wants it."""
        descriptor = os.open(self.path / entry / attribute, os.O_WRONLY | os.O_CLOEXEC)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError(errno.EIO, f"only a part of {attribute} was written")
        finally:
            os.close(descriptor)

    def read(self, entry: str, attribute: str, most: int) -> bytes:
        """Return an attribute of at most so many bytes."""
        data = read_plain(self.path / entry / attribute, most)
        if len(data) > most:
            raise OSError(errno.EFBIG, f"{attribute} has more than {most} bytes")
        return data


def collect_vm(folder: TsmFolder, report_data: bytes, entry: str | None = None) -> CollectedVm:
    """Ask for a quote or report over 64 bytes, in an entry of its own that is removed in any case.

    Raises:
        AbsentError: the machine has no configfs-tsm, or is no confidential virtual machine that it knows.
        CollectionError: it has, and no report came, or one that another process may have asked for.
    """
    assert len(report_data) == REPORT_DATA_BYTES, "report data has 64 bytes"
    name = entry or f"carnet-{secrets.token_hex(8)}"
    try:
        with _entry(folder, name):
            return _collected(folder, name, report_data)
    except OSError as error:
        raise CollectionError(f"{_place(error, folder.path / name)}: {_told(error)}") from None


@contextlib.contextmanager
def _entry(folder: TsmFolder, name: str) -> Iterator[None]:
    try:
        folder.create(name)
    except FileNotFoundError:
        raise AbsentError(f"no configfs-tsm ({folder.path})") from None
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise AbsentError(f"configfs-tsm ({folder.path}) has no provider") from None
        raise
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):  # the first error says more than that the entry is still there
            folder.remove(name)
        raise
    folder.remove(name)


def _collected(folder: TsmFolder, name: str, report_data: bytes) -> CollectedVm:
    provider = _text(folder, name, "provider")
    before = _number(folder, name, "generation")
    folder.write(name, "inblob", report_data)
    writes = 1 + _raise_privilege_level(folder, name)
    report = folder.read(name, "outblob", LARGEST_BLOB)
    auxiliary = _if_there(folder, name, "auxblob")
    after = _number(folder, name, "generation")
    if after != before + writes:
        stale = f"its generation is {after}, not {before + writes}"
        raise CollectionError(
            f"{folder.path / name}: {stale}: the kernel did not take what was written, or another process wrote, too"
        )
    return CollectedVm(provider, report, auxiliary or None)


def _raise_privilege_level(folder: TsmFolder, name: str) -> int:
    """Ask for the highest privilege that this guest has, where that is not the highest of all; return the writes.

    A guest under a paravisor may not ask as level 0, which is what the kernel asks as if nobody says otherwise.
    """
    try:
        floor = _number(folder, name, "privlevel_floor")
    except FileNotFoundError:
        return 0
    if not floor:
        return 0
    folder.write(name, "privlevel", b"%d" % floor)
    return 1


def _if_there(folder: TsmFolder, name: str, attribute: str) -> bytes | None:
    try:
        return folder.read(name, attribute, LARGEST_BLOB)
    except FileNotFoundError:
        return None


def _number(folder: TsmFolder, name: str, attribute: str) -> int:
    text = _text(folder, name, attribute)
    if not text.isdecimal():
        raise OSError(errno.EIO, f"{attribute} is no number")
    return int(text)


def _text(folder: TsmFolder, name: str, attribute: str) -> str:
    data = folder.read(name, attribute, LARGEST_TEXT)
    try:
        return data.decode("ascii").strip()
    except UnicodeDecodeError:
        raise OSError(errno.EIO, f"{attribute} is no text") from None


def _place(error: OSError, entry: Path) -> Path:
    """Return the attribute that an error is about, or else the entry."""
    return Path(error.filename) if error.filename else entry


def _told(error: OSError) -> str:
    """Say why the kernel refused, and what to do about what callers most often meet."""
    hints = {
        errno.EACCES: ": configfs is for root",
        errno.EPERM: ": configfs is for root",
        errno.EEXIST: ": another process may use this entry",
        errno.EBUSY: ": the platform makes another report; try again",
        errno.ETIMEDOUT: ": the host's quoting service does not answer",
    }
    code = errno.errorcode.get(error.errno or 0)
    return reason(error) + (f" ({code})" if code else "") + hints.get(error.errno or 0, "")
