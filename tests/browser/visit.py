"""A page that a test looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page


@dataclass
class Visit:
    """A page that is being looked at, and what it did besides being looked at."""

    folder: Path
    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, name: str) -> Page:
        """Open a page of the report."""
        self.page.goto((self.folder / name.partition("#")[0]).as_uri() + "".join(name.partition("#")[1:]))
        return self.page
