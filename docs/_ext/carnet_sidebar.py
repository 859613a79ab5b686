"""Sphinx extension: the sidebar is made of titles alone, and once for all pages of a folder that are not in it.

For every page Sphinx copies the contents of all the others, and then drops what lies below their titles. That took a
sixth of a build, and copying the titles for every page took as long.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from docutils.nodes import Node, bullet_list, list_item
from sphinx.addnodes import toctree
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    sidebar = Sidebar(app)
    app.connect("html-page-context", sidebar.offer, priority=400)  # the theme has 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Sidebar:
    """The trees of titles of one build."""

    def __init__(self, app: Sphinx) -> None:
        self._app = app
        self._written: dict[tuple[str, tuple[tuple[str, Any], ...]], str] = {}

    def offer(self, _app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Node) -> None:
        """Have the tree of pages made of titles, where it is to have nothing else."""
        whole = context.get("toctree")
        if whole is not None:
            context["toctree"] = self._tree(page, whole)

    def _tree(self, page: str, whole: Callable[..., object]) -> Callable[..., str]:
        def tree(*, titles_only: bool = False, **asked: Any) -> str:
            if not titles_only:
                return str(whole(**asked))
            place = self._place(page), tuple(sorted(asked.items()))
            if place not in self._written:
                self._written[place] = self._of_titles(whole, asked)
            return self._written[place]

        return tree

    def _of_titles(self, whole: Callable[..., object], asked: dict[str, Any]) -> str:
        contents = self._app.env.tocs
        self._app.env.tocs = self._titles
        try:
            return str(whole(titles_only=True, **asked))
        finally:
            self._app.env.tocs = contents

    def _place(self, page: str) -> str:
        """Return the page, or the folder of one that is not in the sidebar: all of those see the same one there."""
        return page if page in self._listed else f"{PurePosixPath(page).parent}/"

    @cached_property
    def _titles(self) -> dict[str, bullet_list]:
        return {name: title_of(contents) for name, contents in self._app.env.tocs.items()}

    @cached_property
    def _listed(self) -> set[str]:
        contents = [self._app.env.master_doctree, *self._titles.values()]
        return {name for each in contents for pages in each.findall(toctree) for _, name in pages["entries"]}


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
