"""The GPU: decrypts chunks as they arrive, in any order, and hands on whole transfers whose every tag verified."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import NoReturn

from carnet_ref.crypto.primitives import (
    SHA384_BYTES,
    AuthenticationError,
    Buffer,
    sha384,
    verify_hmac_sha384,
)
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.fastrack.chunks import LEAST_BYTES, MAX_PLACES, Label, decrypt, verify
from carnet_ref.systems.fastrack.errors import KernelError, TransferError
from carnet_ref.systems.fastrack.exchange import Keys
from carnet_ref.systems.fastrack.user import seal_answer

Kernel = Callable[[bytes], bytes]
"""What runs on a whole transfer, and gives the answer to it."""


@dataclass(slots=True)
class _Transfer:
    """A transfer under way: what is staged, which no kernel reads, and the tags that workers look at meanwhile."""

    count: int
    staged: dict[int, Future[bytes]] = field(default_factory=dict)
    checked: dict[int, Future[None]] = field(default_factory=dict)


class Gpu:
    """The GPU's end of one key: ``workers`` decrypt and verify, whatever else arrives meanwhile."""

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
        """Make room for a transfer; the host says how long it is, and only the tags tell whether that is true.

        Raises:
            TransferError: it began before, or has no chunk or too many.
        """
        if transfer in self._seen and self._checks.insist_on("transfer-once"):
            raise TransferError(transfer, "began before")
        if not 0 < count <= MAX_PLACES:
            raise TransferError(transfer, f"{count} chunks")
        self._seen.add(transfer)
        self._open[transfer] = _Transfer(count)

    @enforces("REQ-RECEIVE-02", "REQ-RECEIVE-03", "one-fetch", "private-staging")
    def arrive(self, transfer: int, place: int, chunk: Buffer) -> None:
        """Copy a chunk, once, and have it decrypted and verified from that copy while others arrive.

        Raises:
            TransferError: there is no such place, it has a chunk already, or the chunk is too short to have a tag.
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
        """Hand a whole transfer on, once every chunk has arrived and every tag has been verified.

        Raises:
            TransferError: a chunk is missing, or a tag does not verify; nothing of the transfer is released.
        """
        under_way = self._under_way(transfer)
        missing = under_way.count - len(under_way.staged)
        if missing and self._checks.insist_on("whole-transfer"):
            self._give_up(transfer, f"{missing} of {under_way.count} chunks are missing")
        if self._checks.insist_on("verify-first"):
            self._verified(transfer, under_way)
        del self._open[transfer]
        self._released[transfer] = {place: under_way.staged[place].result() for place in sorted(under_way.staged)}
        return b"".join(self._released[transfer].values())

    def readable(self, transfer: int) -> dict[int, bytes]:
        """Return what a kernel can read of a transfer, by place: nothing before the whole is released."""
        under_way = self._open.get(transfer)
        if under_way is not None and not self._checks.insist_on("private-staging"):
            return {place: staged.result() for place, staged in under_way.staged.items()}
        return dict(self._released.get(transfer, {}))

    def _verified(self, transfer: int, under_way: _Transfer) -> None:
        for place, checked in sorted(under_way.checked.items()):
            try:
                checked.result()
            except AuthenticationError as error:
                self._give_up(transfer, f"place {place}: {error}")

    def name_code(self, message: bytes) -> None:
        """Take the user's word for which code may run.

        Raises:
            AuthenticationError: it is not the user's.
        """
        digest, tag = message[:SHA384_BYTES], message[SHA384_BYTES:]
        verify_hmac_sha384(self._keys.codes, digest, tag, "name of code")
        self._named.add(digest)

    @enforces("REQ-KERNEL-01", "kernel-named")
    def admit(self, code: bytes) -> None:
        """Let code run on the data under the key.

        Raises:
            KernelError: the user did not name it; who submits it does not matter.
        """
        digest = sha384(code)
        if digest not in self._named and self._checks.insist_on("kernel-named"):
            raise KernelError(digest)

    @enforces("REQ-ANSWER-01")
    def run(self, code: bytes, kernel: Kernel, transfer: int) -> bytes:
        """Run code that the user named on a transfer that was released, and seal the one answer to it.

        Raises:
            KernelError: the user did not name the code; who submits it does not matter.
            TransferError: the transfer was not released, or has its answer.
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
