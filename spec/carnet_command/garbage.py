"""How often Python looks for objects that refer to one another alone.

By default it looks after every 700 objects made. Most of what is made here is kept, and little of it is such a cycle:
looking for them took a tenth of a search's time.
"""

from __future__ import annotations

import gc
from typing import Final

MADE: Final = 50_000
"""After how many objects made it looks among the latest ones."""


def look_rarely() -> None:
    """Look less often in this process."""
    _, *older = gc.get_threshold()
    gc.set_threshold(MADE, *older)


def look_no_more() -> None:
    """Let what this process has go with it: looking through all of it at the end took a tenth of a short command."""
    gc.freeze()
