"""The kernel follows certificates: here, or in worker processes, which need nothing but the kernel for that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from carnet_check.kernel.checker import Refused, check
from carnet_check.kernel.reader import read_obligation, read_refutation
from carnet_command.worker import Lost
from carnet_command.workers import Pool

BATCH = 100
"""How many certificates a worker is given at once."""

Identity = tuple[str, tuple[str, ...], str]
"""The full digest of a text, with the names and tokens of a certificate: what the kernel's answer depends on."""


class Bound(NamedTuple):
    """A certificate that is bound to a text, as the kernel reads both."""

    digest: str
    text: str
    names: tuple[str, ...]
    tokens: str

    @property
    def identity(self) -> Identity:
        """What the kernel's answer depends on."""
        return self.digest, self.names, self.tokens

    def why_refused(self) -> str:
        """Return why the kernel refuses the certificate, or nothing if it accepts it."""
        try:
            follow(self.text, self.names, self.tokens)
        except Refused as refused:
            return f"the certificate is refused: {refused}"
        return ""


def follow(text: str, names: Sequence[str], tokens: str) -> tuple[str, ...]:
    """Have the kernel follow a certificate of a text; return what the hypotheses of the text are called.

    Raises:
        Refused: it proves nothing of this text.
    """
    obligation, hypotheses = read_obligation(text)
    try:
        check(obligation, read_refutation(tokens, names, obligation.functions))
    except RecursionError:
        raise Refused("its terms are nested too deeply") from None
    return hypotheses


Follow = Callable[[Iterable[Bound]], Mapping[Identity, str]]
"""Says of every certificate why the kernel refuses it, or nothing if it accepts it."""


def in_turn(every: Iterable[Bound]) -> dict[Identity, str]:
    """Follow certificates in this process."""
    return {each.identity: each.why_refused() for each in every}


def in_workers(pool: Pool) -> Follow:
    """Return what has the workers of a pool follow certificates; a lost worker costs the one that it was at."""

    def followed(every: Iterable[Bound]) -> dict[Identity, str]:
        said: dict[Identity, str] = {}
        batches: Iterable[tuple[Bound, ...]] = _batches(iter(every))
        while batches:
            left: list[tuple[Bound, ...]] = []
            for batch, answer in pool.results(_answered, batches, _is_last):
                if isinstance(answer, Lost):
                    lost, *rest = (each for each in batch if each.identity not in said)
                    said[lost.identity] = f"no answer: {answer.reason}"
                    left += [tuple(rest)] if rest else []
                else:
                    said.update([answer])
            batches = left
        return said

    return followed


def _batches(every: Iterator[Bound]) -> Iterator[tuple[Bound, ...]]:
    """Yield certificates in batches, each when a worker is there to take it."""
    while batch := tuple(islice(every, BATCH)):
        yield batch


def _is_last(batch: tuple[Bound, ...], answer: tuple[Identity, str]) -> bool:
    return answer[0] == batch[-1].identity


def _answered(batch: tuple[Bound, ...]) -> Iterator[tuple[Identity, str]]:
    """Answer in a worker."""
    yield from ((each.identity, each.why_refused()) for each in batch)
