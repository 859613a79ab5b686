"""Lines: encryption and MAC of one line under its address and version, and the MAC of a tensor as a sum of these.

Both sides do the same, so a tensor moves between their memories as it is. The MACs of lines are those of a pseudorandom
function, so their XOR may be compared in place of all of them. GCM tags may not be added up: they are linear in the
ciphertext, and the same change in two lines leaves the XOR of their tags as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from carnet_ref.crypto.primitives import TAG_BYTES, AesGcm, hmac_sha384
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.tensortee.session import Keys
from carnet_ref.wire import join, number

LINE_BYTES = 64
STORED_BYTES = LINE_BYTES + TAG_BYTES
"""What a line takes in memory, with its MAC."""
MOST = 2**32 - 1
"""The largest number of a tensor, of a line and of a version."""
_LABEL = b"carnet tensortee line"
_FIRST_COUNTER = (2).to_bytes(4, "big")
"""The counter of the first block of plaintext (SP 800-38D, section 7.1)."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where and when a line is written: in which tensor, at which place of it, and in which version."""

    tensor: int
    line: int
    version: int

    def __post_init__(self) -> None:
        if not all(0 <= part <= MOST for part in (self.tensor, self.line, self.version)):
            raise ValueError(f"no line {self.line} of tensor {self.tensor} in version {self.version}")

    @property
    def nonce(self) -> bytes:
        """The IV: four bytes of each part."""
        return b"".join(part.to_bytes(4, "big") for part in (self.tensor, self.line, self.version))


def encrypt(keys: Keys, address: Address, block: bytes) -> bytes:
    """Return the ciphertext of a line.

    Raises:
        ValueError: the block has not the size of a line.
    """
    if len(block) != LINE_BYTES:
        raise ValueError(f"a line has {LINE_BYTES} bytes, and this block {len(block)}")
    return AesGcm(keys.lines).encrypt(address.nonce, block)[:LINE_BYTES]


def decrypt(keys: Keys, address: Address, ciphertext: bytes) -> bytes:
    """Return what a ciphertext decrypts to at an address. Nothing is verified, and anybody may have made it."""
    opened = Cipher(AES(keys.lines), CTR(address.nonce + _FIRST_COUNTER)).decryptor()
    return opened.update(ciphertext) + opened.finalize()


@enforces("REQ-MAC-01", "mac-tensor", "mac-line", "mac-version", "mac-nonlinear")
def line_mac(keys: Keys, address: Address, ciphertext: bytes, checks: Checks = EVERY) -> bytes:
    """Return the MAC of a line, which binds tensor, line and version."""
    if not checks.insist_on("mac-nonlinear"):
        return AesGcm(keys.macs).encrypt(address.nonce, b"", ciphertext)
    parts = {"mac-tensor": address.tensor, "mac-line": address.line, "mac-version": address.version}
    bound = (number(part) for defence, part in parts.items() if checks.insist_on(defence))
    return hmac_sha384(keys.macs, join(_LABEL, *bound, ciphertext))[:TAG_BYTES]


def total(macs: Iterable[bytes]) -> bytes:
    """Return the MAC of a tensor: the XOR of the MACs of its lines, which may come in any order."""
    summed = 0
    for mac in macs:
        summed ^= int.from_bytes(mac, "big")
    return summed.to_bytes(TAG_BYTES, "big")
