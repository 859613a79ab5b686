"""The HTML report: a folder of static pages that needs no network and no server, and can be read without scripts."""

import functools
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carnet_check.report.html import views
from carnet_check.report.html.graphs import layout_graph
from carnet_check.report.run_folder import Run
from carnet_command.exit_codes import ExitCode
from carnet_command.files import make_folder, write_text
from carnet_command.printable import printable_lines, printable_values

if TYPE_CHECKING:
    import jinja2

STATIC = ("report.css", "report.js")
INDEX = "index.html"
SEARCH = "search.js"


def write_html(run: Run, folder: Path, tables: Sequence[Mapping[str, Any]] = ()) -> None:
    """Write the report of ``run``: ``index.html``, one style sheet, one script, and a page for each counterexample.

    Equal runs give equal bytes. ``tables`` compare published with reproduced figures, as ``carnet datapath --json``
    prints them.

    Raises UsageError if a file cannot be written.
    """
    pages = {INDEX: _render("index.html", _index(run, tables))}
    for attack in run.attacks:
        pages[views.attack_page(attack)] = _render("attack.html", {**_common(run), "attack": views.attack(attack)})
    for page, cti in views.ctis(run).items():
        pages[page] = _render("cti.html", {**_common(run), "cti": cti})
    _write(folder, pages, views.search_index(run))


def write_gallery(attacks: Sequence[Mapping[str, Any]], heading: str, folder: Path) -> None:
    """Write a page for each of ``attacks``, which need not belong to a run, and an ``index.html`` with links to them.

    Raises UsageError if a file cannot be written.

    Args:
        attacks: the attacks in the form of a run folder, each with a
            :func:`~carnet_check.attacks.regression.card` as ``card``; a field ``replay`` may have the command that
            replays one.
        heading: the heading of the index.
        folder: the folder for the pages.
    """
    common = {"spec": {"protocol": heading}, "closing": None, "gallery": True}
    shown = [{**views.attack(each), "replay": each.get("replay", ""), "card": each["card"]} for each in attacks]
    pages = {attack["page"]: _render("attack.html", {**common, "attack": attack}) for attack in shown}
    pages[INDEX] = _render("gallery.html", {**common, "heading": heading, "attacks": shown})
    _write(folder, pages, views.search_attacks(attacks))


def as_walk_page(walk: Mapping[str, Any]) -> str:
    """Return the HTML page of a walk; :mod:`carnet_check.commands.step_server` serves its style sheet and script, too.

    Args:
        walk: what the page shows, by the names in ``templates/walk.html``; ``parties`` and ``events`` are drawn.
    """
    return _render("walk.html", {**walk, "events": views.sequence(walk["parties"], walk["events"])})


def static(name: str) -> str:
    """Return the text of the style sheet or the script, whose ``name`` is one of ``STATIC``."""
    return files(__name__).joinpath("static", name).read_text(encoding="utf-8")


def write_graph(graph: Mapping[str, Any], heading: str, folder: Path) -> None:
    """Write one page with a state graph, as a run folder keeps it, which belongs to no run."""
    common = {"spec": {"protocol": heading}, "closing": None, "gallery": True}
    page = _render("states.html", {**common, "heading": heading, "graphs": [layout_graph(graph)]})
    _write(folder, {INDEX: page}, ())


def as_html(heat_map: Mapping[str, Any]) -> str:
    """Return a heat map as an HTML table for other pages, which have to define the styles of its classes."""
    return _render("heat_map.html", {"map": heat_map})


def _write(folder: Path, pages: Mapping[str, str], index: Sequence[Mapping[str, str]]) -> None:
    """Write pages, the style sheet, the script and the search index."""
    make_folder(folder)
    for name in STATIC:
        write_text(folder / name, static(name))
    write_text(folder / SEARCH, f"window.carnetSearch = {_for_script(printable_values([*index]))};\n")
    for name, page in pages.items():
        write_text(folder / name, page)


def _index(run: Run, tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        **_common(run),
        "claimed": views.claims_view(run),
        "overview": views.overview(run),
        "variants": [views.variant(run, each) for each in run.spec["variants"]],
        "attacks": [views.attack_summary(each) for each in run.attacks],
        "goals": run.run["goals"],
        "unproved": views.without_proof(run),
        "declared": run.run["summary"]["declared"],
        "notes": run.run["notes"],
        "graphs": [layout_graph(graph) for graph in run.graphs],
        "undrawn": views.without_graph(run),
        "tables": [views.table(each) for each in tables],
    }


def _common(run: Run) -> dict[str, Any]:
    as_expected = run.exit_code == ExitCode.EXPECTED
    return {"spec": run.spec, "closing": run.run["run"], "as_expected": as_expected, "gallery": False}


def _render(template: str, context: Mapping[str, Any]) -> str:
    return _templates().get_template(template).render(context)


@functools.cache
def _templates() -> "jinja2.Environment":
    """Return the templates; each is compiled once."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader(__name__),
        autoescape=True,
        finalize=_safe_value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _safe_value(value: object) -> object:
    """Return a value for a template: text is escaped where a character would change its direction or hide a part."""
    return printable_lines(value) if type(value) is str else value


def _for_script(value: object) -> str:
    """Return ``value`` as JSON that is also valid JavaScript inside an HTML page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
