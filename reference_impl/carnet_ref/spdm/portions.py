"""Portions of certificate chains, as either end hands them out.

Source: DMTF DSP0274 1.3.2, section "CERTIFICATE response".
"""

from __future__ import annotations

from typing import Final

from carnet_ref.spdm.messages import Certificate, GetCertificate
from carnet_ref.spdm.transfer import Sizes
from carnet_ref.wire.reader import MalformedError

_HEADER_BYTES: Final = 8
_CARRIER_BYTES: Final = 8
"""What an encapsulated message has around it, at most."""


def portion_of(chain: bytes, request: GetCertificate, sizes: Sizes, *, carried: bool = False) -> Certificate:
    """Return the portion that was asked for, or as much of it as the peer takes.

    Raises:
        MalformedError: there is no such portion.
    """
    if request.slot or request.offset >= len(chain) or not request.length:
        raise MalformedError("GET_CERTIFICATE", "a portion of slot 0", f"{request.length} bytes at {request.offset}")
    length = request.length
    if (longest := sizes.longest) is not None:
        length = min(length, longest - _HEADER_BYTES - (_CARRIER_BYTES if carried else 0))
    portion = chain[request.offset : request.offset + length]
    return Certificate(request.version, 0, portion, len(chain) - request.offset - len(portion))
