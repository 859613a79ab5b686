"""Links for what a source cites: from the text of a citation to where everybody can read it.

``sources.toml`` beside this file is what all protocols cite; one beside a protocol's text adds what that protocol alone
does. A source is text such as "deck, Epilogue; RFC 9334 section 10"; every citation of the tables in it becomes a link,
and what the tables say is nowhere stays text.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from carnet_spec import protocols

from .markdown import prose

COMMON = Path(__file__).with_name("sources.toml")
#: What is a citation beyond doubt: each has to be in the table.
CITATION = re.compile(
    r"\b[\w-]+\.(?:c|h|py)\b|\bRFC \d+|\bSP 800-\w+|\bDSP\d+|\bCVE-[\d-]+|\barXiv [\d.]+|\bet al\.|\bnvtrust\b"
    r"|\b(?:open-gpu-kernel-modules|DEMY|Joux|Lowe|VerifiableFL)\b"
)
_SOURCE = re.compile(r"\(Source: .*?(?=\n\s*\n|\n[*-] |\Z)", re.DOTALL)


@cache
def _table() -> tuple[Mapping[str, str], Mapping[str, bool], tuple[str, ...]]:
    """Return the addresses by citation, those whose sections are anchors, and what has no address."""
    own = sorted(Path(protocols.__path__[0]).glob("*/sources.toml"))
    read = [tomllib.loads(table.read_text("utf-8")) for table in (COMMON, *own)]
    sources = [each for table in read for each in table.get("source", ())]
    urls = {each["cites"]: read[0]["roots"].get(each.get("root"), "") + each["url"] for each in sources}
    sections = {each["cites"]: bool(each.get("section")) for each in sources}
    return urls, sections, tuple(each["cites"] for table in read for each in table.get("nowhere", ()))


@cache
def _pattern() -> re.Pattern[str]:
    """Match a citation with an address, wherever its line is broken; the section after it belongs to it."""
    urls, sections, _ = _table()
    listed = sorted(urls, key=len, reverse=True)
    names = (
        re.escape(name).replace(r"\ ", r"\s+") + (r"(?:\s+section\s+[\d.]*\d)?" * sections[name]) for name in listed
    )
    return re.compile(rf"(?<![\w.-])(?:{'|'.join(names)})(?![\w-])")


def addresses() -> Mapping[str, str]:
    """Return where each citation of the table is."""
    return _table()[0]


def nowhere() -> tuple[str, ...]:
    """Return what is cited and has no address."""
    return _table()[2]


def linked(source: str) -> str:
    """Return a source as Markdown shows it, with a link for each citation that has an address."""
    return "".join(_pieces(" ".join(source.split())))


def with_links(text: str) -> str:
    """Return normative text with links in the sources that close its sentences, and nowhere else."""
    return _SOURCE.sub(lambda source: _pattern().sub(_link, source[0]), text)


def cited(source: str) -> list[str]:
    """Return the citations in a source that have an address, as the table has them."""
    return [_name(found[0]) for found in _pattern().finditer(source)]


def unknown(source: str) -> list[str]:
    """Return what a source cites beyond doubt that is not in the table, or all of it if it opens with nothing known."""
    left = _pattern().sub("", source)
    for each in nowhere():
        left = left.replace(each, "")
    known = _pattern().match(source) or any(source.startswith(each) for each in nowhere())
    return [found[0] for found in CITATION.finditer(left)] or ([] if known else [source])


def _pieces(source: str) -> Iterator[str]:
    """Yield text and links by turns; spaces beside a link stay."""
    end = 0
    for found in _pattern().finditer(source):
        yield _text(source[end : found.start()])
        yield f"[{prose(found[0])}]({_address(found[0])})"
        end = found.end()
    yield _text(source[end:])


def _text(text: str) -> str:
    return re.sub(r"\S(?:.*\S)?", lambda found: prose(found[0]), text)


def _link(found: re.Match[str]) -> str:
    return f"[{found[0]}]({_address(found[0])})"


def _name(found: str) -> str:
    found = " ".join(found.split())
    return max((name for name in addresses() if found.startswith(name)), key=len)


def _address(found: str) -> str:
    name, (_, _, section) = _name(found), found.partition("section")
    return addresses()[name] + (f"#section-{section.strip()}" if section else "")
