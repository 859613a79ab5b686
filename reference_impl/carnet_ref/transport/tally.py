"""What the platform's process counts, kept beside its trace so that the next one goes on from there."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from carnet_ref.recorder import TraceFileError

_NAME: Final = "carried"
_NUMBERS: Final = struct.Struct("<QQQ")


class Tally:
    """How many messages and bytes were carried, and how far the logical clock came, in a file of one fixed size."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
        kept = os.pread(self._file, _NUMBERS.size, 0)
        self.messages, self.octets, self.clock = _NUMBERS.unpack(kept.ljust(_NUMBERS.size, b"\0"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def note(self, messages: int, octets: int, clock: int) -> None:
        """Take down the numbers as they are now.

        Raises:
            TraceFileError: they cannot be written.
        """
        self.messages, self.octets, self.clock = messages, octets, clock
        try:
            os.pwrite(self._file, _NUMBERS.pack(messages, octets, clock), 0)
        except OSError as error:
            raise TraceFileError(f"cannot keep what the platform counts: {error.strerror}") from error
