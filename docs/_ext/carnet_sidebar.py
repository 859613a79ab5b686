"""Sphinx extension: the sidebar, which has titles of pages alone, is not made of copies of all sections of all pages.

For every page Sphinx copies the contents of all the others, and then drops what lies below their titles. That took a
sixth of a build.
"""

from __future__ import annotations

import functools
from typing import Any

from docutils.nodes import Node, bullet_list, list_item
from sphinx.addnodes import toctree
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    titles: dict[str, bullet_list] = {}
    app.connect("html-page-context", functools.partial(_with_titles, titles), priority=400)  # the theme has 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _with_titles(
    titles: dict[str, bullet_list], app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Node
) -> None:
    """Have the tree of pages made of titles, where it is to have nothing else."""
    whole = context.get("toctree")
    if whole is None:
        return
    if not titles:
        titles.update({name: title_of(contents) for name, contents in app.env.tocs.items()})

    def tree(*, titles_only: bool = False, **asked: Any) -> str:
        contents = app.env.tocs
        app.env.tocs = titles if titles_only else contents
        try:
            return str(whole(titles_only=titles_only, **asked))
        finally:
            app.env.tocs = contents

    context["toctree"] = tree


def title_of(contents: bullet_list) -> bullet_list:
    """Return the contents of a page without its sections; the lists of pages that it has stay below its title."""
    found = contents.deepcopy()
    for title in found.children:
        if isinstance(title, list_item) and len(title) > 1:
            if lists := list(title.findall(toctree)):
                title[1][:] = lists
            else:
                title.pop(1)
    return found
