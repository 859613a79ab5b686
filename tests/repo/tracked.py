"""The files that git tracks, read once: what the tests of the repository's rules look at."""

import ast
import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = tuple(ROOT / folder for folder in ("spec", "model_check", "reference_impl"))


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """List the tracked files that exist in the work tree, as paths relative to the root."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return tuple(Path(name) for name in listing.split("\0") if name and (ROOT / name).is_file())


def tracked_python() -> tuple[Path, ...]:
    return tuple(path for path in tracked_files() if path.suffix == ".py")


def read(path: Path) -> str:
    """Read one tracked file as text, replacing bytes that are not UTF-8."""
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Parse one tracked file of Python."""
    return ast.parse(read(path))
