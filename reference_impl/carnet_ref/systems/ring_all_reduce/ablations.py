"""Ablations of ranks: for each defence, a subclass without what it demands."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import numpy as np
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto.primitives import NONCE_BYTES, TAG_BYTES
from carnet_ref.systems.ablation import leaving_out
from carnet_ref.systems.devices import decrypt_message_unverified, exclusive_or
from carnet_ref.systems.ring_all_reduce.exchange import AlarmError, Report, ReportCheck, ReportError, verify_report
from carnet_ref.systems.ring_all_reduce.rank import Label, Phase, Rank, Vector

# -- what a rank asks of a report ------------------------------------------------------------------------------------


class ReportCheckWithExchanges(ReportCheck):
    """A report check that knows all exchanges, which the secure one does not need."""

    def __init__(self, root: ec.EllipticCurvePublicKey, code: bytes) -> None:
        super().__init__(root, code)
        self.exchanges: list[bytes] = []


class AnyExchange(ReportCheckWithExchanges):
    """Ablation: a report about any exchange is accepted."""

    def check_binding(self, report: Report, exchange: bytes) -> None:
        """Verify the signature over any exchange."""
        for other in self.exchanges:
            with suppress(ReportError):
                return verify_report(report, other)
        return super().check_binding(report, exchange)


# -- what a rank does with keys, chunks and messages -----------------------------------------------------------------


class SameKeys(Rank):
    """Ablation: an iteration can be begun again under the same keys, as from a checkpoint."""

    def begin(self, iteration: int, gradients: Vector, buckets: int = 1) -> None:
        """Begin an iteration, whatever was begun before."""
        self._latest = -1
        super().begin(iteration, gradients, buckets)


class SealsAgain(Rank):
    """Ablation: a rank forgets what it sealed."""

    def send(self, bucket: int, phase: Phase, step: int) -> bytes:
        """Seal a chunk, even if it was sealed before."""
        self._spent.clear()
        return super().send(bucket, phase, step)


class GoesOn(Rank):
    """Ablation: a rank replaces a partial sum that fails verification by its own contribution."""

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
    """Ablation: a rank adds received values without checking their tags."""

    def _verified(self, label: Label, message: bytes) -> Vector:
        return self._parsed(label, decrypt_message_unverified(self._incoming, message))


def _binding(**fixed: Any) -> type[Rank]:
    """Return a kind that binds something fixed in place of a part of the label; of several, each does its own."""

    class Loose(Rank):
        def _associated_data(self, label: Label) -> bytes:
            return super()._associated_data(replace(label, **fixed))

    return Loose


CHECKS: Final[Mapping[str, type[ReportCheck]]] = {
    "report-bound": AnyExchange,
    "gpu-certificate": leaving_out(ReportCheck, "certificate"),
    "mode-check": leaving_out(ReportCheck, "check_mode"),
    "code-check": leaving_out(ReportCheck, "check_code"),
    "neighbour-check": leaving_out(ReportCheck, "check_position"),
}
RANKS: Final[Mapping[str, type[Rank]]] = {
    "hop-key": leaving_out(Rank, "_check_hops"),
    "iteration-once": SameKeys,
    "seal-once": SealsAgain,
    "wait-for-sum": GoesOn,
    "verify-first": LateCheck,
    "bound-iteration": _binding(iteration=0),
    "bound-phase": _binding(phase=Phase.REDUCE),
    "bound-step": _binding(step=0),
    "bound-chunk": _binding(chunk=0),
    "add-once": leaving_out(Rank, "_check_first"),
    "whole-iteration": leaving_out(Rank, "_check_whole"),
    "alarm-final": leaving_out(Rank, "_heed_alarm"),
}


def xor_ciphertexts(one: bytes, other: bytes) -> bytes:
    """Return the XOR of two messages' ciphertexts: the XOR of the plaintexts, if the IV is the same."""
    return exclusive_or(one[NONCE_BYTES:-TAG_BYTES], other[NONCE_BYTES:-TAG_BYTES], strict=True)
