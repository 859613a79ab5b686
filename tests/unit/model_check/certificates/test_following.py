"""The kernel in workers: the same answers as here, each certificate once, and a lost worker costs one answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from carnet_check.certificates.judging import BATCH, Bound, in_turn, in_workers
from carnet_command.worker import Lost
from carnet_command.workers import Pool, WorkerPool

FALSE = """\
(set-option :produce-unsat-cores true)
(set-logic ALL)
(assert (! false :named goal))
(check-sat)
(get-unsat-core)
"""
PROVES, PROVES_NOTHING, IS_NONE = "u 0 x 1 0 0", "u 0", "nonsense"


def bound(number: int, tokens: str = PROVES) -> Bound:
    """Return a certificate that is told apart by its digest alone."""
    return Bound(f"{number:064}", FALSE, (), tokens)


EVERY = [bound(0), bound(1, PROVES_NOTHING), bound(2, IS_NONE), *map(bound, range(3, 2 * BATCH + 3))]


def test_workers_say_what_is_said_here() -> None:
    here = in_turn(EVERY)
    assert list(here)[1:] == [each.identity for each in EVERY][1:]
    assert [bool(why) for why in here.values()] == [False, True, True] + [False] * 2 * BATCH
    with WorkerPool(2, keep=False) as pool:
        assert in_workers(pool)(iter(EVERY)) == here
        assert in_workers(pool)(()) == {}


class Falls(Pool):
    """Answers in this process, and falls over some digests."""

    def __init__(self, *over: int) -> None:
        self.over = {bound(number).digest for number in over}
        self.asked: list[int] = []

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, function: Any, parts: Iterable[Any], last: object = None) -> Iterator[tuple[Any, Any]]:
        for part in parts:
            self.asked.append(len(part))
            for (key, why), each in zip(function(part), part, strict=True):
                if each.digest in self.over:
                    yield part, Lost("it fell")
                    break
                yield part, (key, why)


def test_a_lost_worker_costs_the_certificate_that_it_was_at() -> None:
    pool = Falls(0, 5, BATCH - 1, 2 * BATCH + 2)
    said = in_workers(pool)(EVERY)
    lost = [int(digest) for (digest, _, _), why in said.items() if "no answer: it fell" in why]
    assert sorted(lost) == [0, 5, BATCH - 1, 2 * BATCH + 2]
    assert {key: why for key, why in said.items() if "no answer" not in why} == {
        key: why for key, why in in_turn(EVERY).items() if int(key[0]) not in lost
    }
    assert pool.asked[:3] == [BATCH, BATCH, 3]
