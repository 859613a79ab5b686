"""What the platform's process counts, kept beside its trace so that the next one goes on from there."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from carnet_ref.recorder import TraceFileError
from carnet_ref.transport.crossings import Stretch, Where

_NAME: Final = "carried"
_NUMBERS: Final = struct.Struct("<QQQ")
_STRETCHES: Final = "crossed"
_STRETCH: Final = struct.Struct("<QQQQQ")


class Tally:
    """How many messages and bytes were carried, how far the logical clock came, and what crossed to the device.

    The first three are in a file of one fixed size; what crossed is in another, which gets a record for each stretch.
    """

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
        kept = os.pread(self._file, _NUMBERS.size, 0)
        self.messages, self.octets, self.clock = _NUMBERS.unpack(kept.ljust(_NUMBERS.size, b"\0"))
        self._crossed = os.open(folder / _STRETCHES, os.O_RDWR | os.O_CREAT, 0o600)
        self.stretches = _stretches(os.pread(self._crossed, os.fstat(self._crossed).st_size, 0))
        self._before = len(self.stretches)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        os.close(self._file)
        os.close(self._crossed)

    def note(self, messages: int, octets: int, clock: int, stretches: Sequence[Stretch] = ()) -> None:
        """Take down the numbers as they are now, and the last of the stretches since this process began.

        Raises:
            TraceFileError: they cannot be written.
        """
        self.messages, self.octets, self.clock = messages, octets, clock
        try:
            os.pwrite(self._file, _NUMBERS.pack(messages, octets, clock), 0)
            if stretches:
                os.pwrite(self._crossed, _packed(stretches[-1]), (self._before + len(stretches) - 1) * _STRETCH.size)
        except OSError as error:
            raise TraceFileError(f"cannot keep what the platform counts: {error.strerror}") from error


def _packed(stretch: Stretch) -> bytes:
    return _STRETCH.pack(stretch.where, stretch.link, stretch.session, stretch.last_home, stretch.journey)


def _stretches(kept: bytes) -> list[Stretch]:
    whole = kept[: len(kept) // _STRETCH.size * _STRETCH.size]
    return [Stretch(Where(where), *sizes) for where, *sizes in _STRETCH.iter_unpack(whole)]
