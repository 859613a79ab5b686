"""Sphinx settings: offline, without ``dot``, without intersphinx, every warning an error in CI."""

import sys
import tomllib
from pathlib import Path

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = "Carnet"
author = "The Carnet authors"
copyright = f"{author}, {_project['license']}"
version = release = _project["version"]

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
extensions = ["myst_parser", "carnet_pages"]
exclude_patterns = ["_build", "adr/0000-template.md"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True

html_theme = "furo"
html_title = f"{project} {release}"
html_show_sourcelink = False
