"""Sphinx settings: offline, without ``dot``, without intersphinx, every warning an error in CI."""

import logging
import sys
import tomllib
from pathlib import Path

from carnet_check.loading.families import known_protocols
from carnet_command.garbage import look_rarely

look_rarely()  # as the command does: pages are trees that stay until they are written
logging.getLogger("sphinx.sphinx").setLevel(logging.INFO)  # records of events and objects took a thirtieth of a build

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = "Carnet"
author = "The Carnet authors"
copyright = f"{author}, {_project['license']}"
version = release = _project["version"]

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
extensions += [
    "sphinx_needs",
    "sphinx_remove_toctrees",
    "sphinx_test_reports",
    "carnet_names",
    "carnet_pages",
    "carnet_sidebar",
    "carnet_traces",
]
exclude_patterns = ["_build", "adr/0000-template.md"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True
# Signatures name what has no page. Names in docstrings are checked on pages or not: tests/repo/test_docstrings.py.
nitpick_ignore_regex = [(r"py:.*", r".*")]
suppress_warnings = ["ref.python"]

autodoc_mock_imports = ["torch"]  # optional, and not needed to be read
toc_object_entries = False  # the sidebar of every page would repeat the names of all functions
autodoc_member_order = "bysource"
autodoc_use_type_comments = False  # there are none, and looking for them parses every function again
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

html_theme = "furo"
# The sidebar is on every page, so it leaves out what is a long list on a page of its own.
remove_from_toctrees = ["api/carnet_*", "adr/0*", "specification/*/claims/*"]
remove_from_toctrees += [f"specification/{id}/[!i]*" for id in known_protocols() if id != "gpu-travelling"]
html_title = f"{project} {release}"
html_show_sourcelink = False
html_show_search_summary = False  # it is fetched, which pages that are opened from disk may not do
html_static_path = ["_static"]
html_css_files = ["carnet.css"]

# The assurance case: every link is checked, and what a requirement lacks is a warning, hence an error in CI.
needs_types = [
    {"directive": kind, "title": title, "prefix": "", "color": "#BFD8D2", "style": "node"}
    for kind, title in (
        ("req", "Requirement"),
        ("assumption", "Assumption"),
        ("obligation", "Proof obligation"),
        ("place", "Enforcing place"),
    )
]
needs_links = {
    "proved": {"incoming": "proves", "outgoing": "proved by"},
    "verifies": {"incoming": "verified by", "outgoing": "verifies"},
    "enforced": {"incoming": "enforces", "outgoing": "enforced by"},
}
needs_role_need_template = "{{ title }}"  # the id without its protocol
needs_role_need_max_title_length = -1  # nothing is cut off
# A card has its title once, and what it links to by title: ids are made of protocol, file and name, and long.
needs_show_link_title, needs_show_link_id = True, False
needs_layouts = {
    "card": {
        "grid": "simple",
        "layout": {
            "head": ["<<meta('type_name')>>: **<<meta('title')>>**"],
            "meta": ["<<meta_all(no_links=True, exclude=['layout', 'id'])>>", "<<meta_links_all()>>"],
        },
    }
}
needs_default_layout = "card"
needs_id_regex = "^[A-Za-z0-9-]+$"
needs_warnings = {
    "requirement_without_obligation": "type == 'req' and not proved",
    "requirement_without_test": "type == 'req' and status is None and not verifies_back",
    "requirement_without_place": "type == 'req' and status is None and not enforced",
}
# The recorded run of the tests; each test says in a property of its own what it verifies.
tr_property_link_types = {"verifies": "verifies"}
