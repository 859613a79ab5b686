"""Where the certificates of a family lie: beside the module that it is loaded from."""

from __future__ import annotations

import importlib.util
import secrets
from pathlib import Path

from carnet_check.certificates.file import LARGEST_FILE, BadCertificateFile, Certificates, read, written
from carnet_check.errors import UsageError
from carnet_check.loading.families import Source, known_protocols
from carnet_command.files import read_plain, reason

NAME = "certificates.json.xz"


def place_of(source: Source) -> Path | None:
    """Return where the certificates of a family lie, whether there are any or not; nothing if it is in no file.

    A package has them inside; a file ``path.py:name`` has them beside it, in ``path.name.certificates.json.xz``.
    """
    target = known_protocols().get(source.reference, source.reference)
    module, _, name = (target, "", "") if target.endswith(".py") else target.rpartition(":")
    file = _file_of(module)
    if file is None:
        return None
    if file.name == "__init__.py":
        return file.with_name(NAME)
    return file.with_name(".".join(part for part in (file.stem, name, NAME) if part))


def _file_of(module: str) -> Path | None:
    if module.endswith(".py"):
        return Path(module)
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(found.origin) if found and found.origin and found.has_location else None


def load_certificates(path: Path) -> Certificates:
    """Return the certificates in a file; none if there is no file.

    Raises:
        BadCertificateFile: it is no file of certificates, or it cannot be read.
    """
    try:
        return read(read_plain(path, LARGEST_FILE), f"'{path}'")
    except FileNotFoundError:
        return Certificates({})
    except OSError as error:
        raise BadCertificateFile(f"cannot read '{path}': {reason(error)}") from None


def save_certificates(path: Path, certificates: Certificates) -> int:
    """Write a file, whole or not at all, and return how many bytes it has.

    Raises:
        UsageError: it cannot be written.
    """
    data = written(certificates)
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {reason(error)}") from None
    finally:
        beside.unlink(missing_ok=True)
    return len(data)
