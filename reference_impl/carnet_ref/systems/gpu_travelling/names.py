"""The names of parties, addresses and versions, on the wire and in traces."""

from typing import Final

from carnet_ref.device import BASE, CAPACITY, Region

ORCHESTRATOR: Final = "orchestrator"
HOLDER: Final = "holder"  #: What traces call the holder that has the GPU; on the wire, every holder has its own name.
GPU: Final = "gpu"
#: The body of a request to reset the GPU because the key schedule asks for a new session before it travels.
FOR_JOURNEY: Final = b"before a journey"
#: The body of a request to reset the GPU because its session is over, or is given up.
FOR_NEW_SESSION: Final = b"for a new session"
BUFFER: Final = "the buffer"
ELSEWHERE: Final = "elsewhere"
MODEL: Final = "model"
DATA: Final = "data"
RAW_DATA: Final = "raw data"
GIVEN_GRANT: Final = "grant"
REMAINS: Final = "buffer"  #: What attested steps read and give; the last is what a scrub leaves.
_DIGITS: Final = 16


def address_name(address: int) -> str:
    """Return the name of an address in traces, which says whether it is in the dataset buffer."""
    return BUFFER if 0 <= address - BASE[Region.BUFFER] < CAPACITY else ELSEWHERE


def version_name(digest: bytes, epoch: str) -> str:
    """Return the name of a model version in traces: its digest, and the epoch of its training.

    The same training again, after a session was lost, makes another version with the same digest.
    """
    return f"{digest.hex()[:_DIGITS]} of {epoch}"
