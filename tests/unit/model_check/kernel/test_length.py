"""The kernel is as short as the documentation says."""

from __future__ import annotations

import re
from pathlib import Path

from carnet_check.kernel import checker

NO_CODE = re.compile(r' *("""|#|$)')
"""Lines that are empty or begin as a docstring or a comment; `docs/assurance/proofs.md` counts the others alike."""


def test_the_kernel_is_as_short_as_it_is_said_to_be() -> None:
    assert checker.__file__ is not None
    text = Path(checker.__file__).read_text("utf-8")
    assert sum(NO_CODE.match(line) is None for line in text.splitlines()) <= 120
    assert text.count('"""') == 2 * len(re.findall(r'^ *""".*"""$', text, flags=re.MULTILINE)), "a long docstring"
