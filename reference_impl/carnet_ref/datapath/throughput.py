"""A benchmark of the link: chunked, pipelined AES-256-GCM against a bare loop over the same buffers.

Every thread has a lane of its own, with its own key and counter, as each logical copy engine of an H100 has; lanes take
chunks in turn, so that one seals while another opens. The bare loop calls `encrypt_into` and `decrypt_into` on the same
buffers, with as many threads, and nothing else: no counters, no limits, no order.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from carnet_ref.crypto.primitives import KEY_BYTES, NONCE_BYTES, TAG_BYTES, Random
from carnet_ref.datapath.figures import BOUNCE_BUFFERS
from carnet_ref.datapath.quantities import QuantityError, Rate, Seconds, Size, chunks_of
from carnet_ref.keys import ONE_CHANNEL, IvCounter, KeyUsage, Opener, Sealer

Clock = Callable[[], Seconds]
Run = Callable[["Buffers", int, Random, Clock], Seconds]
OPENSSL_SECONDS = 1
OPENSSL_RATE = "+F:"


class Buffers:
    """The buffers of a run: the plaintext, one bounce buffer per chunk in flight, and the result.

    Raises QuantityError if the plaintext is no whole number of chunks.
    """

    def __init__(self, volume: Size, chunk: Size, random: Random) -> None:
        if any(size != chunk for size in chunks_of(volume, chunk)):
            raise QuantityError(f"{volume} is no whole number of chunks of {chunk}")
        count = volume.octets // chunk.octets
        data, result = random(volume.octets), bytearray(volume.octets)
        self.chunk = chunk
        self.plain = _pieces(memoryview(data), chunk)
        self.opened = _pieces(memoryview(result), chunk)
        self.slots = [bytearray(chunk.octets + TAG_BYTES) for _ in range(min(BOUNCE_BUFFERS, count))]

    @property
    def octets(self) -> int:
        """The number of plaintext bytes."""
        return len(self.plain) * self.chunk.octets

    def of_lane(self, first: int, lanes: int) -> Iterator[tuple[memoryview, bytearray, memoryview]]:
        """Yield plaintext, bounce buffer and place of result for every ``lanes``-th chunk, beginning with ``first``."""
        for index in range(first, len(self.plain), lanes):
            yield self.plain[index], self.slots[index % len(self.slots)], self.opened[index]

    def check(self) -> None:
        """Compare the result with the plaintext, and clear it. Raises RuntimeError if they differ."""
        if any(opened != plain for opened, plain in zip(self.opened, self.plain, strict=True)):
            raise RuntimeError("the link delivered other bytes than it was given")
        for opened in self.opened:
            opened[:] = bytes(len(opened))


def _pieces(view: memoryview, chunk: Size) -> list[memoryview]:
    return [view[start : start + chunk.octets] for start in range(0, len(view), chunk.octets)]


def link_seconds(buffers: Buffers, threads: int, random: Random, clock: Clock) -> Seconds:
    """Return the seconds for all chunks through a link of 1 or 2 lanes.

    Raises QuantityError if another number of lanes.
    """

    def lane(first: int) -> None:
        key = random(KEY_BYTES)
        sealer, opener = (
            Sealer(key, IvCounter(ONE_CHANNEL), KeyUsage()),
            Opener(key, IvCounter(ONE_CHANNEL), KeyUsage()),
        )
        for plain, slot, opened in buffers.of_lane(first, threads):
            sealer.seal_into(plain, slot)
            opener.open_into(slot, opened)

    return _in_threads(lane, threads, clock)


def bare_seconds(buffers: Buffers, threads: int, random: Random, clock: Clock) -> Seconds:
    """Return the seconds of the bare loop over the same buffers with as many threads.

    Raises QuantityError if there are neither 1 nor 2.
    """

    def loop(first: int) -> None:
        cipher = AESGCM(random(KEY_BYTES))
        for index, (plain, slot, opened) in enumerate(buffers.of_lane(first, threads)):
            nonce = index.to_bytes(NONCE_BYTES, "little")
            cipher.encrypt_into(nonce, plain, None, slot)
            cipher.decrypt_into(nonce, slot, None, opened)

    return _in_threads(loop, threads, clock)


def _in_threads(work: Callable[[int], None], threads: int, clock: Clock) -> Seconds:
    """Return how long ``work(0)`` and, beside it, ``work(1)`` take."""
    if threads not in {1, 2}:
        raise QuantityError(f"the link has one lane or two, not {threads}")
    with ThreadPoolExecutor(1) as pool:
        began = clock()
        beside = [pool.submit(work, lane) for lane in range(1, threads)]
        work(0)
        for other in beside:
            other.result()
        return clock() - began


@dataclass(frozen=True, slots=True)
class Throughput:
    """Link and bare loop at one chunk size and number of lanes."""

    chunk: Size  #: the size of a chunk.
    threads: int  #: how many lanes.
    link: Rate  #: the link's best rate; a byte counts once, though it is sealed and opened.
    bare: Rate  #: the bare loop's best rate.
    share: float  #: the median, over pairs of runs one right after the other, of the link's rate over the bare loop's.


def measure(volume: Size, chunk: Size, threads: int, rounds: int, random: Random, clock: Clock) -> Throughput:
    """Measure link and bare loop in pairs, ``rounds`` of them, and check every byte that came out.

    A machine that others use as well changes its speed from one moment to the next, so only neighbours are compared,
    and which of them comes first alternates. Raises QuantityError if fewer than one round, or a size or number of lanes
    that makes no sense.
    """
    if rounds < 1:
        raise QuantityError(f"a measurement takes at least one round, not {rounds}")
    buffers = Buffers(volume, chunk, random)
    taken: dict[Run, list[Seconds]] = {link_seconds: [], bare_seconds: []}
    for number in range(rounds):
        for run in sorted(taken, key=lambda one: (one is bare_seconds) is (number % 2 == 0)):
            taken[run].append(run(buffers, threads, random, clock))
            buffers.check()
    link, bare = taken[link_seconds], taken[bare_seconds]
    share = median(one / other for one, other in zip(bare, link, strict=True))
    return Throughput(chunk, threads, Rate(buffers.octets / min(link)), Rate(buffers.octets / min(bare)), share)


def openssl_speed(chunk: Size, decrypt: bool) -> Rate | None:
    """Return the rate that ``openssl speed`` reports for AES-256-GCM on one core, or None if it is not installed."""
    command = shutil.which("openssl")
    if command is None:
        return None
    options = ["-elapsed", "-mr", "-seconds", str(OPENSSL_SECONDS), "-bytes", str(chunk.octets), "-evp", "aes-256-gcm"]
    ran = subprocess.run(
        [command, "speed", *(["-decrypt"] if decrypt else []), *options], capture_output=True, text=True, check=False
    )
    rates = [line.split(":")[-1] for line in ran.stdout.splitlines() if line.startswith(OPENSSL_RATE)]
    return Rate(float(rates[0])) if rates else None
