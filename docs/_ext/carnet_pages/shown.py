"""Shown output: each page is played, and what its commands print is compared with what the page shows.

A block of code is known by its language and by the comment above it, which starts with ``%``: ``file NAME`` writes the
block, ``append NAME`` adds it at the end, ``patch NAME`` applies it as a diff, and ``shown`` marks an excerpt of code
that nobody runs. A ``console`` block holds a command and what it prints. ``rendered COMMAND`` stands above raw HTML
that the command prints. A line that starts with ``⋮`` stands for any lines; times and the version of Python are not
compared.

The record ``shown`` types every command again and mends the blocks that are stale. A command that is too long for that
is typed once and its output kept in ``results/printed``; CI compares the kept text with what the README's command
prints: ``python -m docs._ext.carnet_pages.shown FILE``. Beside it, ``pages.json`` says for each page which protocols
its commands are about, each by a digest of all its designs. A page about a protocol that has changed since is stale.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from carnet_check.loading.families import known_protocols, load

ANY = "⋮"
RENDERED = "rendered "
ROOT = Path(__file__).parents[3]
PRINTED = ROOT / "docs" / "results" / "printed"
VERIFY = "carnet verify gpu-travelling"
#: Commands that take a minute, each with the file that keeps what it printed.
KEPT = {VERIFY: PRINTED / "verify-gpu-travelling.txt"}
SPECIFICATIONS = PRINTED / "pages.json"
AGAIN = "python -m docs._ext.carnet_pages.records make shown"
_COLUMNS = {"COLUMNS": "80"}
_BLOCK = re.compile(
    r"^(?:% (?P<what>[^\n]+)\n)?(?P<fence> *```)(?P<language>[^\n`]+)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_UNSTABLE = (
    re.compile(r"^(time +)\S.*$", re.MULTILINE),
    re.compile(r"( python )\S+$", re.MULTILINE),
    re.compile(r"( in )[\d.,]+ s(?=: )"),
    re.compile(r"( cc )[\d.]+"),  # the C compiler is the machine's
)
_VARYING = re.compile(r"[0-9a-f]{16}|\d[\d,.]*")
_EXCERPTS = ("python", "json", "yaml", "coq", "lua", "toml")
_QUOTED = ROOT / "model_check" / "coq"  # a page may include these files word for word
_CODE_DIRECTIVES = ("{code", "{parsed-literal", "{sourcecode", "{mermaid")


class StaleError(Exception):
    """A page shows what its command no longer prints."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code, and the comment above it."""

    language: str
    what: str
    text: str

    @property
    def answers(self) -> bool:
        """Whether it shows what a command prints."""
        return self.language == "console" or self.rendered

    @property
    def rendered(self) -> bool:
        """Whether what the command prints is HTML, which the page shows as a browser does."""
        return self.language == "{raw} html" and self.what.startswith(RENDERED)

    @property
    def command(self) -> str:
        """What is typed."""
        return self.what.removeprefix(RENDERED) if self.rendered else self.text.partition("\n")[0].removeprefix("$ ")

    @property
    def shown(self) -> str:
        """What is shown of the answer."""
        return self.text if self.rendered else self.text.partition("\n")[2]

    def answered(self, shown: str) -> Block:
        """Return the block with another answer."""
        return replace(self, text=shown if self.rendered else f"$ {self.command}\n{shown}")

    @property
    def fenced(self) -> str:
        """The block as it stands on a page, without what is above it."""
        return f"```{self.language}\n{self.text}```"

    @property
    def covered(self) -> bool:
        """Whether a rule says where the block comes from."""
        kind, _, name = self.what.partition(" ")
        if self.language == "console":
            return self.text.startswith("$ ")
        if self.language.startswith("{literalinclude}"):
            included = Path(self.language).name
            return included in {file.name for file in KEPT.values()} or (_QUOTED / included).is_file()
        if self.language.startswith("{raw"):
            return self.rendered
        if self.language.startswith("{"):
            return not self.language.startswith(_CODE_DIRECTIVES)
        if kind == "shown":
            return self.language in _EXCERPTS
        return self.language == "sh" or (kind in ("file", "append", "patch") and bool(name))


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages that people wrote: those that the build makes have a folder that git ignores."""
    command = ["git", "ls-files", "-z", "*.md"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    named = [Path(name) for name in listed.split("\0") if name]
    written = [path for path in named if len(path.parts) == 1 or path.parts[0] == "docs"]
    return [root / path for path in written if (root / path).exists()]


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of code of a page, in order."""
    for found in _BLOCK.finditer(page):
        yield Block(found["language"].strip(), found["what"] or "", found["text"])


def played(page: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Do in ``folder`` what the page says, block by block; yield each command's block and what it printed."""
    for block in blocks(page):
        if block.answers:
            yield block, answered(block.command, folder)
        else:
            _edited(block, folder)


def answered(command: str, folder: Path) -> str:
    """Return what a command prints: as it was kept, or as it prints now."""
    return KEPT[command].read_text("utf-8") if command in KEPT else typed(command, folder)


def typed(command: str, folder: Path) -> str:
    """Return what a command prints on standard output, typed in ``folder``; the exit code is the page's affair."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **_COLUMNS}
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
        case _ if not block.covered:
            raise ValueError(f"no rule says where this block comes from: % file NAME is missing above\n{block.text}")


def patched(text: str, diff: str) -> str:
    """Apply a diff of one hunk, without line numbers; what it replaces has to occur once."""
    lines = diff.splitlines()
    old = "\n".join(line[1:] for line in lines if line[:1] in ("-", " "))
    new = "\n".join(line[1:] for line in lines if line[:1] in ("+", " "))
    if text.count(old) != 1:
        raise ValueError(f"this occurs {text.count(old)} times:\n{old}")
    return text.replace(old, new)


# -- comparing ------------------------------------------------------------------------------------


def agrees(shown: str, printed: str) -> bool:
    """Whether a command printed what is shown, up to the lines that are left out."""
    parts = re.split(rf"^{ANY}.*\n", _stable(shown), flags=re.MULTILINE)
    pattern = "(?:.*\n)*".join(map(re.escape, parts))
    return re.fullmatch(pattern, _stable(printed)) is not None


def _stable(text: str) -> str:
    for varying in _UNSTABLE:
        text = varying.sub(r"\1", text)
    return text


def differences(page: str, folder: Path) -> Iterator[str]:
    """Yield a diff for every command of a page that no longer prints what is shown."""
    for block, printed in played(page, folder):
        if not agrees(block.shown, printed):
            yield f"$ {block.command}\n{_diff(block.shown, printed)}\n{AGAIN} writes it anew"


def _diff(shown: str, printed: str) -> str:
    with suppress(StaleError):  # where what is left out cannot be placed, the whole is compared
        printed = refreshed(shown, printed)
    lines = difflib.unified_diff(
        _stable(shown).splitlines(), _stable(printed).splitlines(), "shown", "printed", lineterm=""
    )
    return "\n".join(lines)


# -- mending --------------------------------------------------------------------------------------


def refreshed(shown: str, printed: str) -> str:
    """Return what is printed now, with the same lines left out.

    Raises StaleError where the lines that are left out begin or end is not to be seen any more.
    """
    lines, answer = shown.splitlines(), printed.splitlines()
    gaps = [-1, *(place for place, line in enumerate(lines) if line.startswith(ANY)), len(lines)]
    kept: list[str] = []
    cursor = 0
    for before, after in pairwise(gaps):
        part = lines[before + 1 : after]
        start, end = _placed(part, answer, cursor, first=before < 0, last=after == len(lines))
        kept += answer[start:end] + lines[after : after + 1]
        cursor = end
    return "".join(f"{line}\n" for line in kept)


def _placed(part: Sequence[str], answer: Sequence[str], cursor: int, *, first: bool, last: bool) -> tuple[int, int]:
    """Return where in the answer a part of what is shown lies now: all of it, or its first and its last line."""
    likes, wanted = [_like(line) for line in answer], [_like(line) for line in part]
    starts = [cursor] if first else range(cursor, len(likes) + 1)
    for start in starts:
        end = start + len(wanted)
        if likes[start:end] == wanted and (not last or end == len(likes)):
            return start, end
    start = cursor if first else _found(wanted[0], likes, cursor, part)
    return start, len(likes) if last else _found(wanted[-1], likes, start, part) + 1


def _found(like: str, likes: Sequence[str], cursor: int, part: Sequence[str]) -> int:
    if like in likes[cursor:]:
        return likes.index(like, cursor)
    shown = "\n".join(part)
    raise StaleError(f"cut these lines again by hand, the command prints nothing like them any more:\n{shown}")


def _like(line: str) -> str:
    """Return what stays of a line when only numbers and digests change."""
    return _VARYING.sub("#", line)


def filled(page: str, folder: Path) -> str:
    """Return the page with what its commands print in place of what it shows. Raises StaleError as ``refreshed``."""
    for block, printed in played(page, folder):
        if not agrees(block.shown, printed):
            page = page.replace(block.fenced, block.answered(refreshed(block.shown, printed)).fenced, 1)
    return page


def about(page: str) -> dict[str, str]:
    """Return the protocols that the commands of a page name, each with a digest of all its designs."""
    commands = " ".join(block.command for block in blocks(page) if block.answers)
    return {id: _digest(id) for id in known_protocols() if re.search(rf"\b{id}\b", commands)}


@cache
def _digest(protocol: str) -> str:
    family = load(protocol).family
    return hashlib.sha256(" ".join(map(family.digest, family.variants)).encode()).hexdigest()


def parts() -> list[tuple[str, str | None, str]]:
    """Return each page with the digests of what it showed, and of what it would show now."""
    then = json.loads(SPECIFICATIONS.read_text("utf-8")) if SPECIFICATIONS.exists() else {}
    now = {path.relative_to(ROOT).as_posix(): about(path.read_text("utf-8")) for path in pages()}
    return [(name, str(then.get(name)), str(now[name])) for name in now if now[name]]


def record() -> None:
    """Type every shown command again, and write what is stale anew."""
    for command, file in KEPT.items():
        with tempfile.TemporaryDirectory() as folder:
            keep(file, typed(command, Path(folder)))
    for path in pages():
        text = path.read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder:
            new = filled(text, Path(folder))
        if new != text:
            path.write_text(new, "utf-8")
    written = {path.relative_to(ROOT).as_posix(): about(path.read_text("utf-8")) for path in pages()}
    SPECIFICATIONS.write_text(json.dumps({name: each for name, each in written.items() if each}, indent=1) + "\n")


def keep(file: Path, printed: str) -> None:
    """Write what a command printed, unless the file already says the same."""
    if not file.is_file() or not agrees(file.read_text("utf-8"), printed):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(printed, "utf-8")


def compare(printed: Path) -> None:
    """Compare what the README's command printed, after all that its installation said, with what is kept.

    Raises SystemExit if they differ.
    """
    kept, now = KEPT[VERIFY].read_text("utf-8"), printed.read_text("utf-8")
    if not agrees(f"{ANY}\n{kept}", now):
        raise SystemExit(f"{VERIFY} does not print what is shown of it; {AGAIN} writes it anew\n{_diff(kept, now)}")


if __name__ == "__main__":
    compare(Path(sys.argv[1]))
