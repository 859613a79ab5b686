"""The runtime: it encrypts guesses ahead in private memory, and sends copies under the next IV."""

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from carnet_ref.marks import enforces
from carnet_ref.systems.pipellm import channel

Watcher = Callable[[int], None]  #: Is told of a page that is about to be written, and may refuse.


class Memory:
    """Pages by number, invisible to the host."""

    def __init__(self) -> None:
        self._pages: dict[int, bytes] = {}
        self._watchers: list[Watcher] = []

    def __contains__(self, page: int) -> bool:
        return page in self._pages

    def watch(self, watcher: Watcher) -> None:
        """Call ``watcher`` before each write."""
        self._watchers.append(watcher)

    def read(self, page: int) -> bytes:
        """Return the content of a page. Raises CopyError if there is no such page."""
        if page not in self._pages:
            raise channel.CopyError(page, "was never written")
        return self._pages[page]

    def write(self, page: int, data: bytes) -> None:
        """Replace the content of a page.

        Raises CopyError if it is too much for a page, or a copy of the page is pending.
        """
        if not 0 < len(data) <= channel.MAX_BLOCK:
            raise channel.CopyError(page, f"{len(data)} bytes are no page")
        for watcher in self._watchers:
            watcher(page)
        self._pages[page] = bytes(data)


class Predictor(Protocol):
    """Observes pages that leave the GPU and return, and predicts the next ones to return."""

    def on_swap_out(self, page: int) -> None:
        """Note that a page was copied out of the GPU."""

    def on_swap_in_request(self, page: int) -> None:
        """Note that a copy of a page to the GPU was requested."""

    def guess(self, count: int) -> Sequence[int]:
        """Return up to ``count`` pages, the next one first."""


class Fifo:
    """Predicts that pages return in the order in which they left."""

    def __init__(self) -> None:
        self._away: list[int] = []

    def on_swap_out(self, page: int) -> None:
        """Append a page to the queue."""
        self.on_swap_in_request(page)
        self._away.append(page)

    def on_swap_in_request(self, page: int) -> None:
        """Remove a page from the queue."""
        if page in self._away:
            self._away.remove(page)

    def guess(self, count: int) -> Sequence[int]:
        """Return the first ``count`` pages of the queue."""
        return self._away[:count]


@dataclass(frozen=True, slots=True)
class Guess:
    """A page that was encrypted ahead."""

    page: int
    ciphertext: bytes


@dataclass(frozen=True, slots=True)
class Tactics:
    """The settings of speculation; they affect time only."""

    window: int = 4  #: how many pages are encrypted ahead.
    gap: int = 0  #: how many IVs are left free before the first guess.
    reach: int = 8  #: the most NOPs sent to reach a correct guess's IV.


@dataclass(slots=True)
class Counts:
    """The number of copies by how they were sent."""

    hits: int = 0
    misses: int = 0
    nops: int = 0


class Runtime:
    """The tenant's end of one channel, with speculation."""

    def __init__(
        self, keys: channel.Keys, memory: Memory, predictor: Predictor, tactics: Tactics | None = None
    ) -> None:
        self._keys, self._memory, self._predictor = keys, memory, predictor
        self._tactics = tactics or Tactics()
        self._due = 0
        self._asked = 0
        self._pending: deque[tuple[int, int]] = deque()
        self._staged: dict[int, Guess] = {}
        self.counts = Counts()
        memory.watch(self._before_write)

    @property
    def next_iv(self) -> int:
        """The number of sent messages, which is the IV of the next one."""
        return self._due

    @property
    def visible_guesses(self) -> Mapping[int, bytes]:
        """The guesses that the host sees, by IV: none, since they are in private memory."""
        return {}

    # -- the application ---------------------------------------------------------------------------------------------

    def ask(self, page: int) -> int:
        """Request a copy of a page, and return the copy's number. Raises CopyError if there is no such page."""
        self._memory.read(page)
        copy = self._asked
        self._pending.append((copy, page))
        self._asked += 1
        self._predictor.on_swap_in_request(page)
        return copy

    def swapped_out(self, page: int, data: bytes) -> None:
        """Store a page that the GPU evicted.

        Raises CopyError if it is too much for a page, or a copy of the page is pending.
        """
        self._memory.write(page, data)
        self._predictor.on_swap_out(page)

    def _before_write(self, page: int) -> None:
        self._refuse_while_pending(page)
        self._drop(page)

    @enforces("REQ-WRITE-02", "write-waits")
    def _refuse_while_pending(self, page: int) -> None:
        if any(page == waiting for _, waiting in self._pending):
            raise channel.CopyError(page, "a copy of it is pending")

    @enforces("REQ-WRITE-01", "write-invalidates")
    def _drop(self, page: int) -> None:
        self._staged = {count: guess for count, guess in self._staged.items() if guess.page != page}

    # -- guesses -----------------------------------------------------------------------------------------------------

    def speculate(self) -> None:
        """Encrypt the predicted pages for the next IVs, replacing older guesses."""
        first = self._due + len(self._pending) + self._tactics.gap
        guessed = self._predictor.guess(self._tactics.window)
        for count, page in enumerate(guessed[: self._tactics.window], first):
            if count < channel.MESSAGES and page in self._memory:
                self._guess(count, page)

    def _guess(self, count: int, page: int) -> None:
        if count not in self._staged or self._staged[count].page != page:
            self._stage(count, Guess(page, channel.encrypt(self._keys, count, self._memory.read(page))))

    @enforces("REQ-STAGE-01", "private-staging")
    def _stage(self, count: int, guess: Guess) -> None:
        """Keep a guess where the host cannot see it: another block may be sent under its IV."""
        self._staged[count] = guess

    # -- sending -----------------------------------------------------------------------------------------------------

    def send(self) -> list[channel.Message]:
        """Return the messages of all pending copies, in the order of the requests.

        Raises ChannelError if the channel has no IV left, even for the first; what is pending stays so.
        """
        messages: list[channel.Message] = []
        while self._pending:
            try:
                messages += self.send_next()
            except channel.ChannelError:
                if not messages:
                    raise
                break
        return messages

    @enforces("REQ-ORDER-01", "in-order")
    def send_next(self) -> list[channel.Message]:
        """Return the messages of the oldest pending copy.

        Raises ChannelError if the channel has no IV left for it, or no copy is pending; what is pending stays so.
        """
        if not self._pending:
            raise channel.ChannelError(self._due, "no copy is pending")
        messages = self._serve(*self._pending[0])
        self._pending.popleft()
        return messages

    def _serve(self, copy: int, page: int) -> list[channel.Message]:
        """Return the messages of one copy; if there is no IV for it, nothing has changed."""
        channel.iv(self._due)
        return list(self._messages(copy, page))

    def _messages(self, copy: int, page: int) -> Iterator[channel.Message]:
        count = self._guessed(page)
        if count is None:
            self.counts.misses += 1
            yield self._encrypt_now(copy, page)
            return
        yield from self._pad(count)
        self.counts.hits += 1
        yield self._message(self._staged[count].ciphertext, copy)

    def _guessed(self, page: int) -> int | None:
        """Return the next IV that the page was encrypted under ahead, if it is in reach and has not passed."""
        return next((count for count in self._in_reach() if self._is_of(count, page)), None)

    @enforces("REQ-SEND-02", "behind-anew")
    def _in_reach(self) -> range:
        return range(self._due, self._due + self._tactics.reach + 1)

    @enforces("REQ-SEND-01", "page-checked")
    def _is_of(self, count: int, page: int) -> bool:
        return count in self._staged and self._staged[count].page == page

    def _encrypt_now(self, copy: int, page: int) -> channel.Message:
        return self._message(channel.encrypt(self._keys, self._due, self._memory.read(page)), copy)

    @enforces("REQ-SEND-03", "pad-first")
    def _pad(self, count: int) -> Iterator[channel.Message]:
        """Yield NOPs until an IV is due."""
        while self._due < count:
            self.counts.nops += 1
            yield self._nop()

    @enforces("REQ-PAD-01", "pad-discarded")
    def _nop(self) -> channel.Message:
        """Return a message that says nothing and goes nowhere."""
        return self._message(channel.encrypt(self._keys, self._due, channel.NOP), channel.SCRATCH)

    @enforces("REQ-SEND-04", "miss-advances", "pad-advances")
    def _message(self, ciphertext: bytes, copy: int) -> channel.Message:
        """Return a message that takes the IV that is due, with which every guess for it is gone."""
        message = channel.Message(ciphertext, channel.seal_command(self._keys, self._due, copy))
        self._staged.pop(self._due, None)
        self._due += 1
        return message


class FlushingRuntime(Runtime):
    """A runtime whose guesses the host sees, and that uses each IV for one encryption only."""

    def __init__(
        self, keys: channel.Keys, memory: Memory, predictor: Predictor, tactics: Tactics | None = None
    ) -> None:
        super().__init__(keys, memory, predictor, tactics)
        self._spent: dict[int, bytes] = {}

    @property
    def visible_guesses(self) -> dict[int, bytes]:
        """The ciphertexts of guesses that the host sees, by the number of their message."""
        return dict(self._spent)

    @enforces("REQ-FLUSH-01")
    def _guess(self, count: int, page: int) -> None:
        """Leave an IV alone that encrypted something, even if that was dropped."""
        if count not in self._spent:
            super()._guess(count, page)

    def _stage(self, count: int, guess: Guess) -> None:
        self._spent[count] = guess.ciphertext
        self._staged[count] = guess

    @enforces("REQ-FLUSH-01")
    def _serve(self, copy: int, page: int) -> list[channel.Message]:
        """Flush what was guessed wrong, before a page is encrypted anew under an IV that encrypted nothing."""
        if self._guessed(page) is not None:
            return super()._serve(copy, page)
        free = next(number for number in itertools.count(self._due) if number not in self._spent)
        channel.iv(free)
        return [*self._pad(free), *super()._serve(copy, page)]

    @enforces("REQ-FLUSH-01")
    def _nop(self) -> channel.Message:
        """Return what was encrypted ahead for this number, to be discarded; or a NOP, if nothing was."""
        flushed = self._spent.get(self._due)
        return self._message(
            channel.encrypt(self._keys, self._due, channel.NOP) if flushed is None else flushed, channel.SCRATCH
        )


class AheadRuntime(Runtime):
    """A runtime whose NOPs go to the destination of the next copy, which overwrites them."""

    def __init__(
        self, keys: channel.Keys, memory: Memory, predictor: Predictor, tactics: Tactics | None = None
    ) -> None:
        super().__init__(keys, memory, predictor, tactics)
        self._sent: dict[int, int] = {}
        """The last message that went to where a copy goes, by the number of the copy."""

    @enforces("REQ-PAD-02", "stream-order")
    def launch(self, copy: int, counter: int) -> None:
        """Let a kernel read the destination of a copy, if it is after the copy on its stream.

        Args:
            copy: the number of the copy.
            counter: how many messages the GPU has decrypted.

        Raises CopyError if the copy has not come.
        """
        pending = any(copy == waiting for waiting, _ in self._pending)
        if pending or copy not in self._sent or self._sent[copy] >= counter:
            raise channel.CopyError(copy, "it has not come")

    @enforces("REQ-PAD-02")
    def _nop(self) -> channel.Message:
        copy = self._pending[0][0] if self._pending else channel.SCRATCH
        return self._message(channel.encrypt(self._keys, self._due, channel.NOP), copy)

    def _message(self, ciphertext: bytes, copy: int) -> channel.Message:
        self._sent[copy] = self._due
        return super()._message(ciphertext, copy)
