"""How collecting ends without evidence: nothing of the kind is here, or what is here does not answer."""

from __future__ import annotations

from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode


class AbsentError(Exception):
    """What was looked for is not on this machine; the text says what was found missing, in a few words."""


class CollectionError(CarnetError):
    """Nothing was established: there is no evidence on this machine, or something that is there gave none."""

    kind = "unknown"
    exit_code = ExitCode.UNKNOWN
