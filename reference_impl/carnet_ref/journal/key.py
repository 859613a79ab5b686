"""The key that seals the journals of a run, in a file of its own: made once, whole, and durably, before any journal.

A crash therefore leaves neither, or a key with journals that it seals. A journal without its key, or a file without a
whole key, is never taken for a beginning: a new key would make what is journalled unreadable for good.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from carnet_command.files import create_durably
from carnet_ref.crypto.primitives import KEY_BYTES
from carnet_ref.journal.head import SUFFIX
from carnet_ref.journal.store import JournalError

_MOST: Final = 2 * KEY_BYTES + 2
"""Characters of a key's file: its hexadecimal digits and the end of the line."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def kept_key(path: Path, journals: Iterable[Path]) -> bytes:
    """Return the key in a file, which is made if it is not there and nothing was sealed yet.

    Args:
        path: where the key is to be.
        journals: where the journals that it seals are, if there are any.

    Raises:
        JournalError: there is no whole key and none may be made, or others can read it.
    """
    if not path.exists():
        _make(path, journals)
    try:
        with path.open("rb") as file:
            _check_private(path, file.fileno())
            text = file.read(_MOST + 1)
    except OSError as error:
        raise JournalError(f"cannot read a key from {path}: {error.strerror}") from error
    return _parsed(path, text)


def _make(path: Path, journals: Iterable[Path]) -> None:
    sealed = next((journal for journal in journals if journal.with_name(journal.name + SUFFIX).exists()), None)
    if sealed is not None:
        raise JournalError(
            f"there is no key in {path}, and {sealed} was sealed with one: put the key back, or remove the journals "
            "to begin anew"
        )
    try:
        create_durably(path, secrets.token_hex(KEY_BYTES).encode("ascii") + b"\n")
    except FileExistsError:
        return  # another run was first, with a whole key
    except OSError as error:
        raise JournalError(f"cannot write a key to {path}: {error.strerror}") from error


def _check_private(path: Path, descriptor: int) -> None:
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_mode & _OTHERS:
        mode = stat.S_IMODE(found.st_mode)
        raise JournalError(f"others may use the key in {path}, whose mode is {mode:o}: make it 600 (chmod 600)")


def _parsed(path: Path, text: bytes) -> bytes:
    """Return the key that a text is.

    Raises:
        JournalError: it is none; an earlier version of Carnet left an empty one when it was stopped.
    """
    digits = text.strip()
    if not digits:
        raise JournalError(
            f"the key in {path} is empty, because the run that was to write it was stopped: if nothing was sealed with "
            "another, remove the file, and the next run makes a key"
        )
    try:
        key = bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise JournalError(f"expected {2 * KEY_BYTES} hexadecimal digits in {path}, found something else")
    return key
