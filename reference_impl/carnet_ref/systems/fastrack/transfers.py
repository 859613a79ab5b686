"""Transfers: a user cuts data into chunks, and a GPU releases a transfer once every tag has been verified.

A chunk is an IV, a ciphertext and a tag. AES-256-GCM decrypts in counter mode, and the tag is independent of that. So
decryption need not wait for the tag, and the tags of several chunks are computed side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import NoReturn

from carnet_ref.crypto import primitives
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.devices import decrypt_message_unverified
from carnet_ref.systems.fastrack.exchange import KernelError, Keys, TransferError
from carnet_ref.wire import join, number

MAX_PLACES = 2**32
LEAST_BYTES = primitives.NONCE_BYTES + primitives.TAG_BYTES  #: What a chunk has at least.
_LABEL = b"carnet fastrack chunk"


@dataclass(frozen=True, slots=True)
class Label:
    """The position of a chunk: its transfer, its place, and the number of places."""

    transfer: int
    place: int
    count: int

    def __post_init__(self) -> None:
        if not (0 <= self.transfer < 2**64 and 0 <= self.place < self.count <= MAX_PLACES):
            raise ValueError(f"no place {self.place} of {self.count} in transfer {self.transfer}")

    @property
    def nonce(self) -> bytes:
        """The IV: eight bytes for the transfer and four for the place."""
        return self.transfer.to_bytes(8, "big") + self.place.to_bytes(4, "big")

    @enforces("REQ-SEND-03", "tag-transfer", "tag-place", "tag-number", "tag-last")
    def associated_data(self, checks: Checks = EVERY) -> bytes:
        """Return the associated data: transfer, place, number of chunks, and whether this is the last."""
        parts = {
            "tag-transfer": number(self.transfer),
            "tag-place": number(self.place),
            "tag-number": number(self.count),
            "tag-last": b"last" if self.place == self.count - 1 else b"more",
        }
        return join(_LABEL, *(part for defence, part in parts.items() if checks.insist_on(defence)))


def seal(key: bytes, label: Label, block: bytes, checks: Checks = EVERY) -> bytes:
    """Return IV, ciphertext and tag of a block."""
    return label.nonce + primitives.AesGcm(key).encrypt(label.nonce, block, label.associated_data(checks))


def decrypt(key: bytes, chunk: bytes) -> bytes:
    """Return the decryption of a chunk without verifying its tag, so that nobody may read it yet."""
    return decrypt_message_unverified(key, chunk)


@enforces("REQ-RECEIVE-04")
def verify(key: bytes, label: Label, chunk: bytes, checks: Checks = EVERY) -> None:
    """Check the tag of a chunk for its place. Raises AuthenticationError if it does not verify."""
    primitives.AesGcm(key).decrypt(
        chunk[: primitives.NONCE_BYTES], chunk[primitives.NONCE_BYTES :], label.associated_data(checks)
    )


_ANSWER = b"carnet fastrack answer"


class User:
    """A user with the keys of one exchange."""

    def __init__(self, keys: Keys, checks: Checks = EVERY) -> None:
        self._keys, self._checks = keys, checks
        self._counts: dict[int, int] = {}
        self._spent: dict[int, set[int]] = {}
        self._lock = threading.Lock()

    @enforces("REQ-KERNEL-01")
    def name_code(self, code: bytes) -> bytes:
        """Return the message by which the user permits ``code`` to run on the data."""
        digest = primitives.sha384(code)
        return digest + primitives.hmac_sha384(self._keys.codes, digest)

    @enforces("REQ-SEND-01", "transfer-fresh")
    def begin(self, transfer: int, count: int) -> None:
        """Begin a transfer of ``count`` chunks.

        Raises TransferError if its number was used already, or it has no chunk or too many.
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
        """Return the chunk for one place; workers may call this concurrently.

        Raises TransferError if the transfer was not begun, has no such place, or has a chunk for it already.
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
        """Begin a transfer, and return its chunks, sealed by ``workers`` workers.

        Raises TransferError if its number was used already, or there is no block.
        """
        self.begin(transfer, len(blocks))
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda place: self.seal(transfer, place, blocks[place]), range(len(blocks))))

    @enforces("REQ-ANSWER-01", "answer-bound")
    def take_answer(self, transfer: int, answer: bytes) -> bytes:
        """Return the content of the answer to a transfer.

        Raises TransferError if the transfer was not begun, or this is no answer to it.
        """
        if transfer not in self._counts:
            raise TransferError(transfer, "was not begun")
        try:
            if len(answer) < primitives.NONCE_BYTES:
                raise primitives.AuthenticationError("AES-GCM tag")
            return primitives.AesGcm(self._keys.answers).decrypt(
                answer[: primitives.NONCE_BYTES], answer[primitives.NONCE_BYTES :], _bound(transfer, self._checks)
            )
        except primitives.AuthenticationError as error:
            raise TransferError(transfer, f"the answer is not to it: {error}") from None


def seal_answer(keys: Keys, transfer: int, answer: bytes, checks: Checks = EVERY) -> bytes:
    """Return IV, ciphertext and tag of the only answer to a transfer."""
    nonce = bytes(4) + transfer.to_bytes(8, "big")
    return nonce + primitives.AesGcm(keys.answers).encrypt(nonce, answer, _bound(transfer, checks))


def _bound(transfer: int, checks: Checks) -> bytes:
    return join(_ANSWER, number(transfer)) if checks.insist_on("answer-bound") else _ANSWER


Kernel = Callable[[bytes], bytes]  #: What runs on a whole transfer, and gives the answer to it.


@dataclass(slots=True)
class _Transfer:
    """A transfer under way: what is staged, which no kernel reads, and the tags that workers look at meanwhile."""

    count: int
    staged: dict[int, Future[bytes]] = field(default_factory=dict)
    checked: dict[int, Future[None]] = field(default_factory=dict)


class Gpu:
    """The GPU's end of one key; ``workers`` threads decrypt and verify chunks concurrently."""

    def __init__(self, keys: Keys, workers: int = 1, checks: Checks = EVERY) -> None:
        self._keys, self._checks = keys, checks
        self._pool = ThreadPoolExecutor(workers)
        self._named: set[bytes] = set()
        self._seen: set[int] = set()
        self._open: dict[int, _Transfer] = {}
        self._released: dict[int, dict[int, bytes]] = {}
        self._answered: set[int] = set()

    def __enter__(self) -> Gpu:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown()

    @enforces("REQ-RECEIVE-01", "transfer-once")
    def start(self, transfer: int, count: int) -> None:
        """Allocate a transfer of ``count`` chunks; the count comes from the host, and only the tags confirm it.

        Raises TransferError if it began before, or has no chunk or too many.
        """
        if transfer in self._seen and self._checks.insist_on("transfer-once"):
            raise TransferError(transfer, "began before")
        if not 0 < count <= MAX_PLACES:
            raise TransferError(transfer, f"{count} chunks")
        self._seen.add(transfer)
        self._open[transfer] = _Transfer(count)

    @enforces("REQ-RECEIVE-02", "REQ-RECEIVE-03", "one-fetch", "private-staging")
    def arrive(self, transfer: int, place: int, chunk: primitives.Buffer) -> None:
        """Copy a chunk once, and decrypt and verify that copy concurrently.

        Raises TransferError if there is no such place, it has a chunk already, or the chunk is too short to have a tag.
        """
        under_way = self._under_way(transfer)
        if not 0 <= place < under_way.count:
            self._give_up(transfer, f"no place {place} of {under_way.count}")
        if place in under_way.staged and self._checks.insist_on("one-fetch"):
            self._give_up(transfer, f"place {place} has a chunk already")
        copy = bytes(chunk)
        if len(copy) < LEAST_BYTES:
            self._give_up(transfer, f"the chunk at place {place} has {len(copy)} bytes, and no IV and tag")
        label = Label(transfer, place, under_way.count)
        under_way.staged[place] = self._pool.submit(decrypt, self._keys.chunks, copy)
        if place not in under_way.checked:
            under_way.checked[place] = self._pool.submit(verify, self._keys.chunks, label, copy, self._checks)

    @enforces("REQ-RECEIVE-05", "REQ-RECEIVE-06", "verify-first", "whole-transfer")
    def release(self, transfer: int) -> bytes:
        """Return a whole transfer, once every chunk has arrived and every tag has been verified.

        Raises TransferError if a chunk is missing, or a tag does not verify; nothing of the transfer is released.
        """
        under_way = self._under_way(transfer)
        missing = under_way.count - len(under_way.staged)
        if missing and self._checks.insist_on("whole-transfer"):
            self._give_up(transfer, f"{missing} of {under_way.count} chunks are missing")
        if self._checks.insist_on("verify-first"):
            for place, checked in sorted(under_way.checked.items()):
                try:
                    checked.result()
                except primitives.AuthenticationError as error:
                    self._give_up(transfer, f"place {place}: {error}")
        del self._open[transfer]
        self._released[transfer] = {place: under_way.staged[place].result() for place in sorted(under_way.staged)}
        return b"".join(self._released[transfer].values())

    def readable(self, transfer: int) -> dict[int, bytes]:
        """Return the chunks of a transfer that a kernel can read, by place: none before the release."""
        under_way = self._open.get(transfer)
        if under_way is not None and not self._checks.insist_on("private-staging"):
            return {place: staged.result() for place, staged in under_way.staged.items()}
        return dict(self._released.get(transfer, {}))

    def name_code(self, message: bytes) -> None:
        """Accept the user's message about code that may run. Raises AuthenticationError if it is not the user's."""
        digest, tag = message[: primitives.SHA384_BYTES], message[primitives.SHA384_BYTES :]
        primitives.verify_hmac_sha384(self._keys.codes, digest, tag, "name of code")
        self._named.add(digest)

    @enforces("REQ-KERNEL-01", "kernel-named")
    def admit(self, code: bytes) -> None:
        """Check that code may run on the data under the key.

        Raises KernelError if the user did not name it; who submits it does not matter.
        """
        digest = primitives.sha384(code)
        if digest not in self._named and self._checks.insist_on("kernel-named"):
            raise KernelError(digest)

    @enforces("REQ-ANSWER-01")
    def run(self, code: bytes, kernel: Kernel, transfer: int) -> bytes:
        """Run permitted code on a released transfer, and seal the only answer to it.

        Raises KernelError if the user did not name the code; who submits it does not matter. Raises TransferError if
        the transfer was not released, or has its answer.
        """
        self.admit(code)
        if transfer not in self._released:
            raise TransferError(transfer, "was not released")
        if transfer in self._answered:
            raise TransferError(transfer, "has its answer")
        self._answered.add(transfer)
        answer = kernel(b"".join(self._released[transfer].values()))
        return seal_answer(self._keys, transfer, answer, self._checks)

    def _under_way(self, transfer: int) -> _Transfer:
        if transfer not in self._open:
            raise TransferError(transfer, "is not under way")
        return self._open[transfer]

    def _give_up(self, transfer: int, reason: str) -> NoReturn:
        """End a transfer, and drop what was staged."""
        del self._open[transfer]
        raise TransferError(transfer, reason)
