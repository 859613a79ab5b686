"""Weakened ranks: for each defence the class that leaves out what it asks for, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto.primitives import NONCE_BYTES, TAG_BYTES
from carnet_ref.systems.devices import decrypt_message_unverified, exclusive_or
from carnet_ref.systems.ring_all_reduce.exchange import AlarmError, Report, ReportCheck, ReportError, verify_report
from carnet_ref.systems.ring_all_reduce.rank import Label, Phase, Rank, Vector

# -- what a rank asks of a report ------------------------------------------------------------------------------------


class ReportCheckWithExchanges(ReportCheck):
    """A check that is told which exchanges there are; the real one has no use for that."""

    def __init__(self, root: ec.EllipticCurvePublicKey, code: bytes) -> None:
        super().__init__(root, code)
        self.exchanges: list[bytes] = []


class AnyExchange(ReportCheckWithExchanges):
    """Takes a report that names any exchange."""

    def check_binding(self, report: Report, exchange: bytes) -> None:
        """Verify the signature over any exchange."""
        for other in self.exchanges:
            with suppress(ReportError):
                return verify_report(report, other)
        return super().check_binding(report, exchange)


class NoCertificate(ReportCheck):
    """Takes a report that anybody signed."""

    def certificate(self, report: Report) -> None:
        """Take any signer."""


class NoMode(ReportCheck):
    """Takes a report of a GPU whose memory its owner reads."""

    def check_mode(self, report: Report) -> None:
        """Take any mode."""


class NoCode(ReportCheck):
    """Takes a report of a GPU that runs something else."""

    def check_code(self, report: Report) -> None:
        """Take any code."""


class NoPlace(ReportCheck):
    """Takes a report of any place in the ring."""

    def check_position(self, report: Report, place: int) -> None:
        """Take any place."""


# -- what a rank does with keys, chunks and messages -----------------------------------------------------------------


class OneKey(Rank):
    """Takes one key for both of its hops."""

    def _check_hops(self, outgoing: bytes, incoming: bytes) -> None:
        pass


class SameKeys(Rank):
    """Begins an iteration again, as from a checkpoint."""

    def begin(self, iteration: int, gradients: Vector, buckets: int = 1) -> None:
        """Forget which iterations there were."""
        self._latest = -1
        super().begin(iteration, gradients, buckets)


class SealsAgain(Rank):
    """Forgets what it sealed."""

    def send(self, bucket: int, phase: Phase, step: int) -> bytes:
        """Seal a chunk once more."""
        self._spent.clear()
        return super().send(bucket, phase, step)


class GoesOn(Rank):
    """Makes of a partial sum that fails one with its own contribution only."""

    def _verified(self, label: Label, message: bytes) -> Vector:
        chunks = self._chunks
        try:
            return super()._verified(label, message)
        except AlarmError:
            if label.phase is not Phase.REDUCE:
                raise
            self._alarm, self._chunks = "", chunks
            return np.zeros_like(chunks[label.chunk])


class LateCheck(Rank):
    """Adds what arrives, and looks at the tag never."""

    def _verified(self, label: Label, message: bytes) -> Vector:
        return self._parsed(label, decrypt_message_unverified(self._incoming, message))


# Each binds something else in place of a part of the label; together, each still does its own.


class AnyIteration(Rank):
    """Takes a message of any iteration."""

    def _bound(self, label: Label) -> bytes:
        return super()._bound(replace(label, iteration=0))


class AnyPhase(Rank):
    """Takes a message of either phase."""

    def _bound(self, label: Label) -> bytes:
        return super()._bound(replace(label, phase=Phase.REDUCE))


class AnyStep(Rank):
    """Takes a message of any step."""

    def _bound(self, label: Label) -> bytes:
        return super()._bound(replace(label, step=0))


class AnyChunk(Rank):
    """Takes a message about any chunk."""

    def _bound(self, label: Label) -> bytes:
        return super()._bound(replace(label, chunk=0))


class AddsAgain(Rank):
    """Forgets what came."""

    def _check_first(self, label: Label) -> None:
        pass


class Hasty(Rank):
    """Finishes with what there is."""

    def _check_whole(self) -> None:
        pass


class Deaf(Rank):
    """Takes part after its alarm."""

    def _heed_alarm(self) -> None:
        pass


CHECKS: Final[Mapping[str, type[ReportCheck]]] = {
    "report-bound": AnyExchange,
    "gpu-certificate": NoCertificate,
    "mode-check": NoMode,
    "code-check": NoCode,
    "neighbour-check": NoPlace,
}
RANKS: Final[Mapping[str, type[Rank]]] = {
    "hop-key": OneKey,
    "iteration-once": SameKeys,
    "seal-once": SealsAgain,
    "wait-for-sum": GoesOn,
    "verify-first": LateCheck,
    "bound-iteration": AnyIteration,
    "bound-phase": AnyPhase,
    "bound-step": AnyStep,
    "bound-chunk": AnyChunk,
    "add-once": AddsAgain,
    "whole-iteration": Hasty,
    "alarm-final": Deaf,
}


def summed(one: bytes, other: bytes) -> bytes:
    """Return the sum of two messages' ciphertexts: that of the plaintexts, if the IV is the same."""
    return exclusive_or(one[NONCE_BYTES:-TAG_BYTES], other[NONCE_BYTES:-TAG_BYTES], strict=True)
