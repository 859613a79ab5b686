"""Reading files within limits, and writing them atomically."""

import errno
import fcntl
import itertools
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from carnet_command.errors import UsageError

OWNER_ONLY: Final = 0o600  #: The mode of a file that its owner alone may read and write.
#: The name pattern of a file that is being written; one that remains is from a process that was killed.
UNFINISHED: Final = f".{'[0-9a-f]' * 16}.part"


def require_writable_file(path: Path) -> None:
    """Check that a file can be written, before any work is done whose result would be lost.

    Raises UsageError if its folder does not exist or cannot be written to, or it is a folder or read-only.
    """
    if path.is_dir():
        raise UsageError(f"expected a file to write, and '{path}' is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"expected a file to write, and its folder '{path.parent}' does not exist")
    with failing_as(f"expected a file that can be written, and '{path}'"):
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if path.is_file() or not path.exists():  # a pipe or a device is written to as it is
            _try_to_write_into(path.parent)


def _try_to_write_into(folder: Path) -> None:
    """Create a file without a name in a folder, and discard it; raise OSError if that fails."""
    import tempfile

    with tempfile.TemporaryFile(dir=folder):
        pass


def read_plain(path: Path, most: int, *, flags: int = 0) -> bytes:
    """Return the bytes of a plain file, or its first ``most + 1`` bytes if it is longer.

    Pipes and devices are refused: a pipe may block for ever, and a device may have no end.

    Raises OSError if the file cannot be read, or is no plain file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no plain file")
        return file.read(most + 1)


def reason(error: OSError) -> str:
    """Return why an operation on a file failed, as words for the middle of a line."""
    return (error.strerror or str(error)).lower()


@contextmanager
def failing_as(failure: str) -> Iterator[None]:
    """Raise UsageError with what failed, and why, in the place of an OSError."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{failure}: {reason(error)}") from None


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Open a file beside ``path``, and move it to ``path`` when the block ends; an earlier file stays until then.

    A pipe or a device is written to directly.

    Raises OSError if the file could not be written.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    beside = _temporary_sibling(path)
    try:
        with beside.open("x", encoding="utf-8", newline="") as file:
            yield file
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def write_durably(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, readable by its owner alone; once this returns, the file survives a loss of power.

    A crash before that leaves the earlier file or ``data``, and perhaps an unfinished file beside it; nothing reads it.

    Raises OSError if the file could not be written; an earlier file is unchanged.
    """
    with replacing_durably(path) as file:
        file.write(data)


@contextmanager
def replacing_durably(path: Path) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces ``path`` when the block ends, with the guarantees of `write_durably`.

    Raises OSError if the file could not be written; an earlier file is unchanged.
    """
    with _written_beside(path) as (beside, file):
        yield file
        _sync(file)
        beside.replace(path)
    _sync_folder(path)


def create_durably(path: Path, data: bytes) -> None:
    """Write as `write_durably` does, but only if there is no file; at most one process succeeds in that.

    Raises FileExistsError if the file exists. Raises OSError if it could not be written; the file still does not exist.
    """
    with _written_beside(path) as (beside, file):
        file.write(data)
        _sync(file)
        path.hardlink_to(beside)
    _sync_folder(path)


@contextmanager
def _written_beside(path: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Open a file beside ``path``; when the block ends, remove it unless it was moved."""
    beside = _temporary_sibling(path)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield beside, file
    finally:
        beside.unlink(missing_ok=True)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file, which need not exist."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)
    except OSError:
        return False


def require_apart(written: Mapping[str, Path | None], read: Iterable[Path]) -> None:
    """Check that no file is both written and read, and that no two options write the same file: data would be lost.

    Raises UsageError if two of them are the same file.

    Args:
        written: the files to write, by option.
        read: the files that are read.
    """
    files = {option: path for option, path in written.items() if path is not None}
    for (one, path), (other, again) in itertools.combinations(files.items(), 2):
        if same(path, again):
            raise UsageError(f"{one} and {other} write to one file, '{path}'")
    for (option, path), source in itertools.product(files.items(), tuple(read)):
        if same(path, source):
            raise UsageError(f"{option} would write over '{source}', which is read")


def _temporary_sibling(path: Path) -> Path:
    return path.with_name(f".{os.urandom(8).hex()}.part")


# --------------------------------------------------------------------------------------------------
# The results of a run: each file is written atomically, each folder by one command at a time.


def require_writable_folder(folder: Path) -> None:
    """Check that files can be written into ``folder``, or that it can be created; nothing is created.

    Raises UsageError if the folder cannot be created or written to, or is a file.
    """
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    with failing_as(f"expected a folder that can be written to, and '{folder}' is none"):
        _try_to_write_into(nearest)


@contextmanager
def lock_folders(*folders: Path) -> Iterator[None]:
    """Lock these folders for the block, so that no other command writes into them; missing ones are created.

    A folder that was created here and is empty at the end is removed. The operating system holds the locks: however
    this process ends, nothing has to be cleaned up.

    Raises UsageError if another command is writing into one of them, or one cannot be created.
    """
    with ExitStack() as stack:
        for folder in dict.fromkeys(folder.resolve() for folder in folders):
            stack.enter_context(_claimed(folder))
        yield


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    require_writable_folder(folder)
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    make_folder(folder)
    with failing_as(f"cannot write into '{folder}'"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise UsageError(f"another command is writing into '{folder}': wait for it, or give another folder") from None
    finally:
        with suppress(OSError):  # another process put a file there
            for place in missing:
                place.rmdir()
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a worker that was forked meanwhile has the descriptor, too
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create ``folder`` unless it exists. Raises UsageError if it cannot be created, or is a file."""
    with failing_as(f"cannot create the folder '{folder}'"):
        folder.mkdir(parents=True, exist_ok=True)


def write_text(file: Path, text: str) -> None:
    """Write ``file`` atomically. Raises UsageError if the file cannot be written."""
    with failing_as(f"cannot write '{file}'"), replacing(file) as stream:
        stream.write(text)


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Write one JSON object, whole or not at all."""
    write_text(file, json_text(value))


def json_text(value: Mapping[str, Any]) -> str:
    """Return one JSON object as a file of it has it."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file with one JSON object on each line, atomically."""
    write_text(file, "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows))
