"""What an editor shows of one specification: complaints, the meaning of each name, and where each id is written.

``python -m carnet_check.commands.outline FILE`` prints it as one line of JSON. The language server runs that in a
process of its own for each check: a specification is code, which may be broken, may never end, and is read anew.
"""

import ast
import json
import re
import resource
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import click

from carnet_check.commands.descriptions import entries
from carnet_check.commands.entry import Entry
from carnet_check.commands.lint import SPECIFICATION, LintFinding, findings_of
from carnet_check.errors import CarnetError
from carnet_check.loading.families import files_about, load
from carnet_spec.language.requirements import FILE, OPENING

LANGUAGE = b"carnet_spec"  #: What a file names that speaks the language.
_BEGUN_BY = {"Draft", "Family"}
#: What Markdown would take for markup.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, counted from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The complaints, entries and places of one specification, as far as it could be read."""

    is_specification: bool  #: Whether the file begins a protocol; nothing else was run, and nothing else is known.
    findings: tuple[LintFinding, ...] = ()
    files: tuple[str, ...] = ()  #: The absolute paths of the files that are about it.
    #: What each name means, in Markdown; empty where the specification cannot be built.
    meanings: Mapping[str, str] = field(default_factory=dict)
    requirements: Mapping[str, Place] = field(default_factory=dict)  #: Where each normative sentence begins.


def outline_of(file: Path) -> Outline:
    """Read a specification's file; it is run only if it seems to define a protocol."""
    if not begins_protocol(file.read_bytes()):
        return Outline(False)
    reference = str(file)
    try:
        findings = findings_of(reference)
    except CarnetError as error:
        findings = [LintFinding(reference, 1, "note", SPECIFICATION, "", f"not checked: {error}")]
    try:
        source = load(reference)
        files, named = files_about(source.family, reference), [*entries(source)]
    except CarnetError:  # the findings say why
        files, named = [reference], []
    texts = [path for path in dict.fromkeys(Path(each).with_name(FILE) for each in files) if path.is_file()]
    return Outline(True, tuple(findings), (*files, *map(str, texts)), _meanings(named), _places(texts))


def begins_protocol(source: bytes) -> bool:
    """Whether a source imports the language and makes a draft or family, or mentions it but cannot be parsed."""
    if LANGUAGE not in source:
        return False
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError):
        return True
    return any(map(_is_import, nodes)) and any(map(_is_beginning, nodes))


def _is_import(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(each.name.partition(".")[0] == LANGUAGE.decode() for each in names)
        case ast.ImportFrom(module=str(module), level=0):
            return module.partition(".")[0] == LANGUAGE.decode()
    return False


def _is_beginning(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name in _BEGUN_BY
    return False


def _meanings(named: Iterable[Entry]) -> dict[str, str]:
    every = [*named]
    sentences = {each.id: each.sentence for each in every if each.kind in ("requirement", "assumption")}
    found: dict[str, list[str]] = {}
    for entry in every:
        text = "\n\n".join(_paragraphs(entry, sentences))
        for name in (entry.id, f"{entry.protocol}-{entry.id}"):
            found.setdefault(name, []).append(text)
    return {name: "\n\n---\n\n".join(texts) for name, texts in found.items()}


def _paragraphs(entry: Entry, sentences: Mapping[str, str]) -> Iterator[str]:
    """Yield what is said of one name: its sentence, its formula, and the words of the requirements that it cites."""
    yield f"**{_plain(entry.id)}** ({entry.kind} of {_plain(entry.protocol)})"
    if entry.sentence:
        yield _plain(entry.sentence)
    if entry.text:
        yield f"```text\n{entry.text}\n```"
    yield from (f"**{id}** {_plain(sentences[id])}" for id in sentences if _cites(entry, id))
    if entry.source:
        yield f"Source: {_plain(entry.source)}"


def _cites(entry: Entry, id: str) -> bool:
    return id in entry.enforced_by or f"({id})" in entry.source


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _places(texts: Iterable[Path]) -> dict[str, Place]:
    """Return where the normative sentences of some texts begin; the first place of an id counts."""
    found: dict[str, Place] = {}
    for path in texts:
        text = path.read_text("utf-8", errors="replace")
        for opening in OPENING.finditer(text):
            found.setdefault(opening["id"], Place(str(path), text.count("\n", 0, opening.start()) + 1))
    return found


if __name__ == "__main__":
    # The server ends a check that takes too long; this ends one whose server was killed.
    limit = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    click.echo(json.dumps(asdict(outline_of(Path(sys.argv[1])))))
