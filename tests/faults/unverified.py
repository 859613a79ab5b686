"""Opening what is sealed though its tag does not verify, as code does that forgot to look at the tag."""

from collections.abc import Callable
from typing import Final, TypeVar
from unittest.mock import patch

from carnet_ref.crypto.primitives import AesGcm, Buffer

TAG: Final = 16
_Result = TypeVar("_Result")


class _Unverified(AesGcm):
    """AES-GCM that gives plaintext away whatever its tag says."""

    def decrypt(self, nonce: bytes, ciphertext: bytes, associated: bytes = b"") -> bytes:
        """Return the plaintext: without its tag, GCM is counter mode, and that is its own inverse."""
        del associated
        return self.encrypt(nonce, ciphertext[:-TAG])[:-TAG]

    def decrypt_into(self, nonce: bytes, ciphertext: Buffer, out: bytearray | memoryview) -> int:
        """Write the plaintext, and return its size."""
        plaintext = self.decrypt(nonce, bytes(ciphertext))
        out[: len(plaintext)] = plaintext
        return len(plaintext)


def of(opened: Callable[[], _Result]) -> Callable[[], _Result]:
    """Return what opens the same message and takes its content whatever the tag says."""

    def taken() -> _Result:
        ways = {name: getattr(_Unverified, name) for name in ("decrypt", "decrypt_into")}
        with patch.multiple(AesGcm, **ways):
            return opened()

    return taken
