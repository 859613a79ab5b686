"""Refuse an older Python with the reason; all else about the package is in `pyproject.toml`.

pip reads `requires-python` there, too. But pip 23.0, which Python 3.9 and 3.10 bring, looks for the dependencies first,
and says "No matching distribution found" for one that an older Python cannot have (seen on 2026-11-27).
"""

import sys

from setuptools import setup

if sys.version_info < (3, 11):  # noqa: UP036 # it is an older one that begins to install
    found = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"Carnet needs Python 3.11 or newer, and this is Python {found}: try python3.11 -m venv .venv")

setup()
