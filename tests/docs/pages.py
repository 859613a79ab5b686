"""Pages that are run: their files are written, their edits made, their commands typed, and what is printed compared.

A block is known by its language and by the comment above it, which starts with ``%``: ``file NAME`` writes the block,
``append NAME`` adds it at the end, ``patch NAME`` applies it as a diff, and ``shown`` and ``needs …``
leave it alone. A ``console`` block holds a command and what it
prints; a line ``…`` stands for any lines, and ``time``, ``versions`` and ``spec digest`` are not compared.
``python -m tests.docs.pages PAGE`` puts what commands print now where a page shows something else.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ANY = "…"
_BLOCK = re.compile(r"^(?:% (?P<what>[^\n]+)\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_UNSTABLE = re.compile(r"^(time|versions|spec digest) .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code, and the comment above it."""

    language: str
    what: str
    text: str

    @property
    def command(self) -> str:
        """What a console block types."""
        return self.text.partition("\n")[0].removeprefix("$ ")

    @property
    def shown(self) -> str:
        """What a console block shows of the answer."""
        return self.text.partition("\n")[2]


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of code of a page, in order."""
    for found in _BLOCK.finditer(page):
        yield Block(found["language"], found["what"] or "", found["text"])


def played(page: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Do in ``folder`` what the page says, block by block; yield each command's block and what it printed."""
    for block in blocks(page):
        if block.language == "console":
            yield block, typed(block.command, folder)
        else:
            _edited(block, folder)


def typed(command: str, folder: Path) -> str:
    """Return what a command prints on standard output, typed in ``folder``; the exit code is the page's affair."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80"}
    ran = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return ran.stdout or ran.stderr


def _edited(block: Block, folder: Path) -> None:
    kind, _, name = block.what.partition(" ")
    file = folder / name
    match kind:
        case "file":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, "utf-8")
        case "append":
            file.write_text(file.read_text("utf-8") + block.text, "utf-8")
        case "patch":
            file.write_text(patched(file.read_text("utf-8"), block.text), "utf-8")
        case "shown" | "needs":
            pass
        case _:
            raise ValueError(f"nobody says what to do with this block: % file NAME is missing above\n{block.text}")


def patched(text: str, diff: str) -> str:
    """Apply a diff of one hunk, without line numbers; what it replaces has to occur once."""
    lines = diff.splitlines()
    old = "\n".join(line[1:] for line in lines if line[:1] in ("-", " "))
    new = "\n".join(line[1:] for line in lines if line[:1] in ("+", " "))
    if text.count(old) != 1:
        raise ValueError(f"this occurs {text.count(old)} times:\n{old}")
    return text.replace(old, new)


def agrees(shown: str, printed: str) -> bool:
    """Whether a command printed what is shown, up to the lines that are left out."""
    parts = re.split(rf"^{ANY}\n", _stable(shown), flags=re.MULTILINE)
    pattern = "(?:.*\n)*".join(map(re.escape, parts))
    return re.fullmatch(pattern, _stable(printed)) is not None


def _stable(text: str) -> str:
    return _UNSTABLE.sub(r"\1", text)


def filled(page: str, folder: Path) -> str:
    """Return the page with what its commands print in place of what it shows."""
    for block, printed in played(page, folder):
        if not agrees(block.shown, printed):
            page = page.replace(f"```console\n{block.text}```", f"```console\n$ {block.command}\n{printed}```", 1)
    return page


if __name__ == "__main__":
    import tempfile

    for page_path in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as scratch:
            page_path.write_text(filled(page_path.read_text("utf-8"), Path(scratch)), "utf-8")
