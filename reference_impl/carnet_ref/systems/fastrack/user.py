"""The user: cuts data into chunks, which any number of workers seal, and takes answers for its own transfers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from carnet_ref.crypto.primitives import NONCE_BYTES, AesGcm, AuthenticationError, hmac_sha384, sha384
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.fastrack.chunks import MAX_PLACES, Label, seal
from carnet_ref.systems.fastrack.errors import TransferError
from carnet_ref.systems.fastrack.exchange import Keys
from carnet_ref.wire import join, number

_ANSWER = b"carnet fastrack answer"


class User:
    """One user under the keys of one exchange."""

    def __init__(self, keys: Keys, checks: Checks = EVERY) -> None:
        self._keys, self._checks = keys, checks
        self._counts: dict[int, int] = {}
        self._spent: dict[int, set[int]] = {}
        self._lock = threading.Lock()

    @enforces("REQ-KERNEL-01")
    def name_code(self, code: bytes) -> bytes:
        """Return what tells the GPU, under the key, that this code may run on the data."""
        digest = sha384(code)
        return digest + hmac_sha384(self._keys.codes, digest)

    @enforces("REQ-SEND-01", "transfer-fresh")
    def begin(self, transfer: int, count: int) -> None:
        """Begin a transfer of that many chunks.

        Raises:
            TransferError: its number was used already, or it has no chunk or too many.
        """
        with self._lock:
            if transfer in self._counts and self._checks.insist_on("transfer-fresh"):
                raise TransferError(transfer, "the number was used already")
            if not 0 < count <= MAX_PLACES:
                raise TransferError(transfer, f"{count} chunks")
            self._counts[transfer] = count
            self._spent[transfer] = set()

    @enforces("REQ-SEND-02", "chunk-once")
    def seal(self, transfer: int, place: int, block: bytes) -> bytes:
        """Return the chunk for one place; workers may call this side by side.

        Raises:
            TransferError: the transfer was not begun, has no such place, or has a chunk for it already.
        """
        with self._lock:
            count = self._counts.get(transfer, 0)
            if not 0 <= place < count:
                raise TransferError(transfer, f"no place {place} of {count}")
            if place in self._spent[transfer] and self._checks.insist_on("chunk-once"):
                raise TransferError(transfer, f"place {place} was sealed already")
            self._spent[transfer].add(place)
        return seal(self._keys.chunks, Label(transfer, place, count), block, self._checks)

    def send(self, transfer: int, blocks: Sequence[bytes], workers: int = 1) -> list[bytes]:
        """Begin a transfer and return its chunks, which that many workers seal.

        Raises:
            TransferError: its number was used already, or there is no block.
        """
        self.begin(transfer, len(blocks))
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda place: self.seal(transfer, place, blocks[place]), range(len(blocks))))

    @enforces("REQ-ANSWER-01", "answer-bound")
    def take_answer(self, transfer: int, answer: bytes) -> bytes:
        """Return the answer to a transfer.

        Raises:
            TransferError: the transfer was not begun, or this is no answer to it.
        """
        if transfer not in self._counts:
            raise TransferError(transfer, "was not begun")
        try:
            return open_answer(self._keys, transfer, answer, self._checks)
        except AuthenticationError as error:
            raise TransferError(transfer, f"the answer is not to it: {error}") from None


def seal_answer(keys: Keys, transfer: int, answer: bytes, checks: Checks = EVERY) -> bytes:
    """Return IV, ciphertext and tag of the one answer to a transfer."""
    nonce = bytes(4) + transfer.to_bytes(8, "big")
    return nonce + AesGcm(keys.answers).encrypt(nonce, answer, _bound(transfer, checks))


def open_answer(keys: Keys, transfer: int, sealed: bytes, checks: Checks = EVERY) -> bytes:
    """Return the answer to a transfer.

    Raises:
        AuthenticationError: this is no answer to it.
    """
    if len(sealed) < NONCE_BYTES:
        raise AuthenticationError("AES-GCM tag")
    return AesGcm(keys.answers).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _bound(transfer, checks))


def _bound(transfer: int, checks: Checks) -> bytes:
    return join(_ANSWER, number(transfer)) if checks.insist_on("answer-bound") else _ANSWER
