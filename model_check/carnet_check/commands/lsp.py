"""``carnet lsp``: a language server, through which an editor shows what `carnet lint` and `carnet explain` report."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import util
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_check.commands.lint import SPECIFICATION, LintFinding
from carnet_check.commands.outline import LANGUAGE, Outline
from carnet_check.errors import UsageError
from carnet_check.report.shapes import count, flag, parse_json, record, rows, table, text
from carnet_command.exit_codes import ExitCode
from carnet_command.interrupts import SIGNALS
from carnet_command.processes import environment, interpreter

if TYPE_CHECKING:
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer

EXTRA = "the extra 'lsp' (pip install 'carnet[lsp]')"
OUTLINE = "carnet_check.commands.outline"
MOST_BYTES = 64 << 20  #: The most that is read of a check's answer.
MOST_SOURCE = 4 << 20  #: The most bytes of a file in which the name of the language is looked for.
AT_ONCE = 2  #: How many checks run at a time.
LINE_END = 2**31 - 1  #: A column beyond every line, which stands for its end.
#: The id of a normative sentence, which the id of its protocol may precede.
_ID = re.compile(r"\b[A-Z][A-Z0-9]*(-[A-Z0-9]+)*$")
#: The parts of a name, such as an id with hyphens, before and after the place that is pointed at.
_BEFORE, _AFTER = re.compile(r"[\w-]*$"), re.compile(r"^[\w-]*")


@click.command()
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="End a check that takes longer.",
)
def lsp(seconds: float) -> int:
    """Serve an editor by the Language Server Protocol, over standard input and output.

    The editor starts this command. A specification is checked when it is opened and when it is saved, as `carnet lint`
    checks it. Pointing at a name shows what `carnet explain` says of it, and going to the definition of an id leads to
    its sentence in requirements.md.

    A check runs the specification, as every command does, with what it imports. A file is run only if the editor has it
    open and it makes a Draft or a Family.
    """
    if util.find_spec("pygls") is None:
        raise UsageError(f"carnet lsp expects {EXTRA}")
    server, checks = language_server(seconds)

    def ended(*_: object) -> None:
        checks.kill()
        os._exit(ExitCode.INTERRUPTED)

    for each in SIGNALS:
        signal.signal(each, ended)
    code: object = ExitCode.EXPECTED
    try:
        server.start_io()
    except SystemExit as error:
        code = error.code
    checks.kill()
    os._exit(code if isinstance(code, int) else ExitCode.EXPECTED)  # a thread may wait for standard input for ever


def language_server(seconds: float) -> tuple[LanguageServer, SpecificationChecks]:
    """Return a language server that ends each check after ``seconds``, and the object that runs its checks."""
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer

    server = LanguageServer("carnet", version("carnet"))
    checks = SpecificationChecks(server, seconds)

    def opened(params: types.DidOpenTextDocumentParams) -> None:
        checks.begin(params.text_document.uri)

    def saved(params: types.DidSaveTextDocumentParams) -> None:
        checks.begin_affected(params.text_document.uri)

    def closed(params: types.DidCloseTextDocumentParams) -> None:
        checks.forget(params.text_document.uri)

    def hover(params: types.HoverParams) -> types.Hover | None:
        meaning = next(checks.look_up("meanings", params.text_document.uri, params.position), "")
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, meaning)) if meaning else None

    def definition(params: types.DefinitionParams) -> list[types.Location]:
        found = checks.look_up("requirements", params.text_document.uri, params.position)
        return [types.Location(checks.uri_of(each["file"]), _first_column(each["line"])) for each in found]

    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(opened)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(saved)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(closed)
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)
    server.feature(types.TEXT_DOCUMENT_DEFINITION)(definition)
    return server, checks


class SpecificationChecks:
    """The open specifications of an editor: the running check of each, and the result of the last one."""

    def __init__(self, server: LanguageServer, seconds: float) -> None:
        self._server = server
        self._seconds = seconds
        self._uris: dict[str, str] = {}
        """How the editor calls each file that it has open, by path."""
        self._outlines: dict[str, Mapping[str, Any]] = {}
        """What is known of each open specification, by path: as :mod:`.outline` prints it."""
        self._diagnostics: dict[str, dict[str, list[types.Diagnostic]]] = {}
        """What the last check of each open specification found, by file."""
        self._running: dict[str, asyncio.Task[None]] = {}
        self._processes: set[int] = set()
        self._places = asyncio.Semaphore(AT_ONCE)

    def uri_of(self, path: str) -> str:
        """Return the URI by which the editor refers to a file."""
        from pygls.uris import from_fs_path

        return self._uris.get(path) or from_fs_path(path) or ""

    def begin(self, uri: str) -> None:
        """Start a check of a file that the editor opened; a running check of it is ended."""
        path = _path_of(uri)
        if path:
            self._uris[path] = uri
            self._begin(path)

    def begin_affected(self, uri: str) -> None:
        """Start checks of a saved file, if it is open, and of every open specification that imports it."""
        path = _path_of(uri)
        for known in [*self._uris]:
            if known == path or path in self._outlines.get(known, {}).get("files", ()):
                self._begin(known)

    def forget(self, uri: str) -> None:
        """Remove the complaints about a file that the editor closed."""
        path = _path_of(uri)
        if running := self._running.pop(path, None):
            running.cancel()
        self._outlines.pop(path, None)
        self._publish(path, {})
        self._diagnostics.pop(path, None)
        self._uris.pop(path, None)

    def look_up(self, table: str, uri: str, position: types.Position) -> Iterator[Any]:
        """Yield the entries in ``table`` for the name at a position, from all open specifications with that file."""
        path, document = _path_of(uri), self._server.workspace.get_text_document(uri)
        name = document.word_at_position(position, _BEFORE, _AFTER)
        id = _ID.search(name)
        for known in sorted(self._outlines, key=lambda each: each != path):
            entries = self._outlines[known][table] if path in self._outlines[known]["files"] else {}
            yield from (entries[each] for each in dict.fromkeys((name, id[0] if id else name)) if each in entries)

    def kill(self) -> None:
        """Kill every running check, with its child processes."""
        for process in [*self._processes]:
            _kill_group(process)

    # -- one check --------------------------------------------------------------------------------

    def _begin(self, path: str) -> None:
        if running := self._running.pop(path, None):
            running.cancel()
        self._running[path] = asyncio.get_running_loop().create_task(self._check(path))

    async def _check(self, path: str) -> None:
        async with self._places:
            outline = await self._outline(path) if _names_language(path) else _NO_SPECIFICATION
        if outline["is_specification"] and not outline["meanings"] and (last := self._outlines.get(path)):
            outline = {**last, "findings": outline["findings"]}
        self._outlines[path] = outline
        found: dict[str, list[types.Diagnostic]] = {}
        for each in outline["findings"]:
            finding = LintFinding(*(each[name] for name in _FINDING))
            found.setdefault(str(Path(finding.file).absolute()), []).append(self._diagnostic(finding))
        self._publish(path, found)

    async def _outline(self, path: str) -> Mapping[str, Any]:
        """Return what a process of its own says of a specification; it is killed if it takes too long."""
        command = (*interpreter(), "-B", "-m", OUTLINE, path, str(ceil(self._seconds) + 1))
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, env=environment(), start_new_session=True
            )
        except OSError as error:
            return _unchecked(path, f"no process could be started: {(error.strerror or str(error)).lower()}")
        self._processes.add(process.pid)
        try:
            return await asyncio.wait_for(_answer(process), self._seconds)
        except TimeoutError:
            return _unchecked(path, f"the check took more than {self._seconds:g} s")
        except ValueError:
            return _unchecked(path, f"the check failed: `carnet lint {Path(path).name}` says why")
        finally:
            _kill_group(process.pid)
            with contextlib.suppress(TimeoutError):  # what left the group may still hold the pipe
                await asyncio.wait_for(process.communicate(), 1)
            self._processes.discard(process.pid)

    def _diagnostic(self, finding: LintFinding) -> types.Diagnostic:
        from lsprotocol import types

        document = self._server.workspace.get_text_document(self.uri_of(str(Path(finding.file).absolute())))
        try:
            lines = document.lines
        except (OSError, ValueError):  # it is not open, and no text
            lines = []
        of_variant = f"variant {finding.variant}" if finding.variant else ""
        return types.Diagnostic(
            range=_whole_line(lines, finding.line),
            message=": ".join(filter(None, (of_variant, finding.where, finding.message))),
            severity=types.DiagnosticSeverity.Error if finding.level == "error" else types.DiagnosticSeverity.Warning,
            code=finding.rule,
            source="carnet",
        )

    def _publish(self, path: str, found: dict[str, list[types.Diagnostic]]) -> None:
        """Show what a check found, in every file in which it found something now or the last time."""
        from lsprotocol import types

        affected = {*self._diagnostics.pop(path, {}), *found, path}
        self._diagnostics[path] = found
        for file in sorted(affected):
            every = [each for of in self._diagnostics.values() for each in of.get(file, ())]
            params = types.PublishDiagnosticsParams(self.uri_of(file), every)
            self._server.text_document_publish_diagnostics(params)


_FINDING = {"file": text, "line": count, "level": text, "rule": text, "where": text, "message": text, "variant": text}
_OUTLINE = record(
    is_specification=flag,
    findings=rows(record(**_FINDING)),
    files=rows(text),
    meanings=table(text),
    requirements=table(record(file=text, line=count)),
)


async def _answer(process: Process) -> Mapping[str, Any]:
    """Return what a check prints as its last line.

    Raises ValueError if it failed, or printed nothing, too much or something else.
    """
    assert process.stdout is not None
    answer = bytearray()
    while part := await process.stdout.read(1 << 16):
        answer += part
        if len(answer) > MOST_BYTES:
            raise ValueError("too long an answer")
    if await process.wait() or not answer:
        raise ValueError("no answer")
    outline: Mapping[str, Any] = parse_json(bytes(answer).splitlines()[-1].decode())
    _OUTLINE(outline, "$")
    return outline


def _kill_group(process: int) -> None:
    """Kill a check and what it started, also where the check itself has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


_NO_SPECIFICATION: Mapping[str, Any] = asdict(Outline(is_specification=False))


def _unchecked(path: str, why: str) -> Mapping[str, Any]:
    finding = LintFinding(path, 1, "note", SPECIFICATION, "", f"not checked: {why}")
    return asdict(Outline(is_specification=True, findings=(finding,), files=(path,)))


def _names_language(path: str) -> bool:
    """Whether a file is Python that may begin a protocol, which the check looks at more closely."""
    try:
        if not path.endswith(".py") or not Path(path).is_file():
            return False
        with Path(path).open("rb") as file:
            return LANGUAGE in file.read(MOST_SOURCE)
    except OSError:  # it is not saved yet, or no more
        return False


def _path_of(uri: str) -> str:
    """Return the absolute path of a document, or nothing if it is no file."""
    from pygls.uris import to_fs_path

    path = to_fs_path(uri) if uri.startswith("file:") else None
    return str(Path(path)) if path and Path(path).is_absolute() else ""


def _whole_line(lines: Sequence[str], number: int) -> types.Range:
    from lsprotocol import types

    row = max(number, 1) - 1
    written = lines[row] if row < len(lines) else ""
    start = len(written) - len(written.lstrip())
    return types.Range(types.Position(row, start), types.Position(row, LINE_END))


def _first_column(line: int) -> types.Range:
    from lsprotocol import types

    return types.Range(types.Position(line - 1, 0), types.Position(line - 1, 0))
