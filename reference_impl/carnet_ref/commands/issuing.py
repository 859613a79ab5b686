"""``--ear FILE --key FILE``: write what an appraisal found as a signed attestation result."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from carnet_command.errors import UsageError
from carnet_command.files import reason, replacing, require_apart, require_writable_file
from carnet_ref.commands.appraisals import contents, readable

if TYPE_CHECKING:
    from carnet_ref.attestation.ear import SigningKey
    from carnet_ref.attestation.results import AppraisalRecord, Profiles

EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
"""The times that a token can have; the last leaves room for an expiry."""
DEFAULT: Final = "carnet-default:{}"
"""The id of the default policy of a format."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """Writes results to a file, signed by a key."""

    path: Path
    """The file."""
    key: SigningKey
    """The key."""

    def issue(self, appraised: AppraisalRecord, profiles: Profiles) -> None:
        """Write the result. Raises UsageError if no token can have it, or it could not be written."""
        from carnet_ref.attestation.ear import signed_token
        from carnet_ref.attestation.results import claims_set

        if not EARLIEST <= appraised.at < LATEST:
            raise UsageError(f"--ear needs a time from {EARLIEST.year} to {LATEST.year - 1}")
        token = signed_token(claims_set(appraised, profiles), self.key)
        try:
            with replacing(self.path) as file:
                file.write(token)
        except OSError as error:
            raise UsageError(f"cannot write '{self.path}': {reason(error)}") from None


def issuer_given(ear: Path | None, key: Path | None) -> Issuer | None:
    """Return what writes the result, if one is asked for.

    Raises UsageError if a file or a key is missing or of no use.
    """
    if ear is None and key is None:
        return None
    if ear is None or key is None:
        raise UsageError("--ear and --key go together: the file to write, and the private key that signs it")
    from carnet_ref.attestation.ear import signing_key

    require_apart({"--ear": ear}, [key])
    signer = signing_key(contents(key))
    require_writable_file(ear)
    return Issuer(ear, signer)


def with_ear_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that ask for a signed result."""
    key = click.option(
        "--key", type=readable, metavar="FILE", help="The private key in PEM, on P-256 or P-384, that signs it."
    )
    ear = click.option(
        "--ear", type=readable, metavar="FILE", help="Write the result as a signed token for others (EAR)."
    )
    return ear(key(command))


def policy_id(kind: str, path: Path | None) -> str:
    """Return an id of the policy in a file, or of a format's default."""
    return DEFAULT.format(kind) if path is None else f"sha-256:{hashlib.sha256(contents(path)).hexdigest()}"
