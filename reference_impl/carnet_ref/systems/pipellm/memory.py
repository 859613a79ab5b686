"""The application's pages. A watcher is told of each write to a page that was encrypted ahead, before it is made."""

from __future__ import annotations

from collections.abc import Callable

from carnet_ref.systems.pipellm.channel import MAX_BLOCK
from carnet_ref.systems.pipellm.errors import CopyError

Watcher = Callable[[int], None]
"""Is told of a page that is about to be written, and may refuse."""


class Memory:
    """Pages by their number, none of which the host can see."""

    def __init__(self) -> None:
        self._pages: dict[int, bytes] = {}
        self._watchers: list[Watcher] = []

    def __contains__(self, page: int) -> bool:
        return page in self._pages

    def watch(self, watcher: Watcher) -> None:
        """Have ``watcher`` told of each write before it is made."""
        self._watchers.append(watcher)

    def read(self, page: int) -> bytes:
        """Return what a page holds.

        Raises:
            CopyError: there is no such page.
        """
        if page not in self._pages:
            raise CopyError(page, "was never written")
        return self._pages[page]

    def write(self, page: int, data: bytes) -> None:
        """Let a page hold something else.

        Raises:
            CopyError: it is too much for a page, or a copy of the page is pending.
        """
        if not 0 < len(data) <= MAX_BLOCK:
            raise CopyError(page, f"{len(data)} bytes are no page")
        for watcher in self._watchers:
            watcher(page)
        self._pages[page] = bytes(data)
