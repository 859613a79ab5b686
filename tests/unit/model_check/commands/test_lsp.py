"""``carnet lsp``: a real client talks to the server over a pipe, while its files are edited, broken and closed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.commands.outline import begins_protocol
from tests.unit.model_check.commands.test_lint import SOUND

types = pytest.importorskip(
    "lsprotocol.types", reason="needs the extra 'lsp', which the install of CONTRIBUTING.md brings"
)
pytestmark = pytest.mark.processes
CARNET = "from carnet_check.cli import main; main()"
LONG = 100.0  #: Seconds within which everything that a test waits for has come.
TEXT = """# A token

**CLAIM-SAME** Who has the token has it. (Source: example)

* **REQ-T-1** The clerk MUST give the token once. (Source: example)
"""
SPECIFICATION = SOUND.replace('source="example")\ndef give', 'source="example", enforces="REQ-T-1")\ndef give')
ENDLESS = (
    SOUND
    + """
import os, pathlib, signal
pathlib.Path("pid").write_text(str(os.getpid()))
while True: signal.pause()
"""
)


class Editor:
    """An editor as far as these tests need one: it opens and saves files, and hears what is published."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.published: asyncio.Queue[Any] = asyncio.Queue()

    def open(self, file: Path) -> None:
        item = types.TextDocumentItem(file.as_uri(), "python", 1, file.read_text("utf-8"))
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def save(self, file: Path, text: str) -> None:
        file.write_text(text, "utf-8")
        change = types.TextDocumentContentChangeWholeDocument(text)
        named = types.VersionedTextDocumentIdentifier(2, file.as_uri())
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(named, [change]))
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(self._named(file)))

    def close(self, file: Path) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self._named(file)))

    async def diagnostics(self, file: Path) -> list[Any]:
        """Return what is published next of a file."""
        while True:
            params = await asyncio.wait_for(self.published.get(), LONG)
            if params.uri == file.as_uri():
                return list(params.diagnostics)

    async def hover(self, file: Path, line: int, character: int) -> str:
        place = types.HoverParams(self._named(file), types.Position(line, character))
        found = await self.client.text_document_hover_async(place)
        return found.contents.value if found else ""

    async def definition(self, file: Path, line: int, character: int) -> list[tuple[str, int]]:
        place = types.DefinitionParams(self._named(file), types.Position(line, character))
        found = await self.client.text_document_definition_async(place)
        return [(each.uri, each.range.start.line) for each in found or ()]

    def _named(self, file: Path) -> Any:
        return types.TextDocumentIdentifier(file.as_uri())


@asynccontextmanager
async def started(*words: str) -> AsyncIterator[Editor]:
    """Start the server as an editor does, and end it as one does."""
    from pygls.lsp.client import LanguageClient

    client: Any = LanguageClient("test", "1")
    editor = Editor(client)

    def published(params: Any) -> None:
        editor.published.put_nowait(params)

    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(published)
    await client.start_io(sys.executable, "-P", "-c", CARNET, "lsp", *words)
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
    client.initialized(types.InitializedParams())
    try:
        yield editor
    finally:
        await asyncio.wait_for(client.shutdown_async(None), LONG)
        client.exit(None)
        await asyncio.wait_for(client.stop(), LONG)


def with_an_editor(conversation: Callable[[Editor], Awaitable[None]], *words: str) -> None:
    async def whole() -> None:
        async with started(*words) as editor:
            await conversation(editor)

    asyncio.run(whole())


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.md").write_text(TEXT, "utf-8")
    found = tmp_path / "tokens of ours.py"
    found.write_text(SPECIFICATION, "utf-8")
    return found


def place_of(file: Path, text: str) -> tuple[int, int]:
    """Return where a text first is, as editors count: lines and UTF-16 units from 0."""
    before, _, _ = file.read_text("utf-8").partition(text)
    return before.count("\n"), len(before.rpartition("\n")[2].encode("utf-16-le")) // 2


def test_mistakes_come_and_go_as_the_file_is_saved(file: Path) -> None:
    async def conversation(editor: Editor) -> None:
        editor.open(file)
        assert await editor.diagnostics(file) == []
        editor.save(file, SPECIFICATION.replace('defence="once"', 'defence="onze"'))
        (found, *_) = [each for each in await editor.diagnostics(file) if each.code == "defences"]
        assert "did you mean 'once'?" in found.message
        assert (found.source, found.severity) == ("carnet", types.DiagnosticSeverity.Error)
        line, column = place_of(file, 'step.require("free"')
        assert (found.range.start.line, found.range.start.character) == (line, column)
        editor.save(file, SPECIFICATION.replace("def give(", "def give(("))
        (broken,) = await editor.diagnostics(file)
        assert broken.code == "specification"
        editor.save(file, SPECIFICATION)
        assert await editor.diagnostics(file) == []
        editor.save(file, SPECIFICATION.replace('defence="once"', 'defence="onze"'))
        assert await editor.diagnostics(file)
        editor.close(file)
        assert await editor.diagnostics(file) == []

    with_an_editor(conversation)


def test_a_name_is_explained_and_an_id_leads_to_its_sentence(file: Path) -> None:
    async def conversation(editor: Editor) -> None:
        file.write_text(SPECIFICATION + "# 𝒰 token-REQ-T-1\n", "utf-8")
        text = file.with_name("requirements.md")
        editor.open(file)
        assert await editor.diagnostics(file) == []
        symbol = await editor.hover(file, *place_of(file, "has(party), defence"))
        assert "only the clerk may read it" in symbol
        action = await editor.hover(file, *place_of(file, "give(step"))
        assert "The clerk MUST give the token once." in action
        claim = await editor.hover(file, *place_of(file, "same(party"))
        assert "Who has the token has it." in claim
        for written in ("REQ-T-1", "token-REQ-T-1"):
            assert "The clerk MUST" in await editor.hover(file, *place_of(file, written))
            assert await editor.definition(file, *place_of(file, written)) == [(text.as_uri(), 4)]
        assert await editor.definition(file, *place_of(file, "CLAIM-SAME")) == [(text.as_uri(), 2)]
        editor.open(text)
        assert "give" in await editor.hover(text, *place_of(text, "REQ-T-1"))
        assert await editor.hover(file, *place_of(file, "from")) == ""
        editor.save(file, SPECIFICATION.replace("def give(", "def give(("))
        assert len(await editor.diagnostics(file)) == 1
        assert "only the clerk" in await editor.hover(file, *place_of(file, "has(party), defence"))

    with_an_editor(conversation)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def pid_written(folder: Path) -> int:
    async with asyncio.timeout(LONG):
        while not ((file := folder / "pid").is_file() and file.read_text()):
            await asyncio.sleep(0.02)
    return int(file.read_text())


def test_an_endless_specification_or_a_lying_one_is_given_up_and_the_server_goes_on(file: Path) -> None:
    endless, lying = file.with_name("endless.py"), file.with_name("lying.py")
    endless.write_text(ENDLESS)
    lying.write_text(SOUND + "\nimport os\nos.write(1, b'{}\\n')\nos._exit(0)\n")

    async def conversation(editor: Editor) -> None:
        editor.open(endless)
        pid = await pid_written(file.parent)
        (found,) = await editor.diagnostics(endless)
        assert "not checked: the check took more than 15 s" in found.message
        assert found.severity == types.DiagnosticSeverity.Warning
        assert not is_running(pid)
        editor.open(lying)
        (found,) = await editor.diagnostics(lying)
        assert "not checked: the check failed" in found.message
        editor.open(file)
        assert await editor.diagnostics(file) == []

    with_an_editor(conversation, "--seconds", "15")


def test_a_check_ends_with_the_server_and_when_its_file_is_closed(file: Path) -> None:
    endless = file.with_name("endless.py")
    endless.write_text(ENDLESS)
    pids = []

    async def conversation(editor: Editor) -> None:
        editor.open(endless)
        pids.append(await pid_written(file.parent))
        editor.close(endless)
        assert await editor.diagnostics(endless) == []
        (file.parent / "pid").unlink()
        editor.open(endless)
        pids.append(await pid_written(file.parent))
        assert not is_running(pids[0])

    with_an_editor(conversation, "--seconds", "600")
    assert not is_running(pids[1])


MARK = "import pathlib; pathlib.Path('ran').touch()\n"
NOT_RUN = {
    "a file that is not open": ("neighbour.py", MARK + SOUND),
    "a module of the standard library's name": ("json.py", MARK),
    "an open file that makes no draft": ("part.py", MARK + "from carnet_spec.language import Draft\n"),
    "an open file that is no Python": ("torn.py", MARK + SOUND + "(\n"),
    "an open file that does not speak the language": ("plain.py", MARK + "Draft = print\nDraft(1)\n"),
}


def test_nothing_else_is_run(file: Path) -> None:
    for name, text in NOT_RUN.values():
        file.with_name(name).write_text(text)

    async def conversation(editor: Editor) -> None:
        for name in ("part.py", "torn.py", "plain.py"):
            editor.open(file.with_name(name))
        assert len(await editor.diagnostics(file.with_name("torn.py"))) == 1
        editor.open(file)
        assert await editor.diagnostics(file) == []

    with_an_editor(conversation)
    assert not file.with_name("ran").exists()
    file.with_name("sure.py").write_text(MARK + SOUND)

    async def opened(editor: Editor) -> None:
        editor.open(file.with_name("sure.py"))
        await editor.diagnostics(file.with_name("sure.py"))

    with_an_editor(opened)
    assert file.with_name("ran").exists()


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_begin_a_protocol_or_do_not(source: bytes) -> None:
    assert begins_protocol(b"carnet_spec" + source) in (True, False)
    assert not begins_protocol(source.replace(b"carnet_spec", b""))


@pytest.mark.parametrize(
    ("source", "begins"),
    [
        ("import carnet_spec.language as c\nd = c.Draft('a', 'b')", True),
        ("from carnet_spec import language\nf = language.Family()", True),
        ("from carnet_spec.language import *\nd = Draft('a', 'b')", True),
        ("from carnet_spec.language import Draft", False),
        ("from .carnet_spec import language\nd = Draft('a', 'b')", False),
        ("# carnet_spec\nd = Draft('a', 'b')", False),
    ],
)
def test_a_protocol_is_begun_by_a_draft_or_a_family(source: str, begins: bool) -> None:
    assert begins_protocol(source.encode()) is begins


SERVER = [sys.executable, "-P", "-c", CARNET, "lsp"]


def framed(messages: Iterable[Mapping[str, object]]) -> bytes:
    bodies = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    return "".join(f"Content-Length: {len(body)}\r\n\r\n{body}" for body in bodies).encode()


def ended(pid: int) -> bool:
    """Whether a process that was killed ends soon."""
    until = time.monotonic() + 10
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not is_running(pid)


CHATTY = (
    SOUND
    + """
import os, pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
pathlib.Path("pid").write_text(str(child.pid))
while os.write(1, bytes(1 << 16)): pass
"""
)
PARENT = (
    SOUND
    + """
import pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
pathlib.Path("pid").write_text(str(child.pid))
"""
)


@pytest.mark.parametrize("text", [CHATTY, PARENT], ids=["fills the pipe", "ends before its child"])
def test_what_a_check_starts_ends_with_it_and_further_files_are_checked(text: str, file: Path) -> None:
    others = [file.with_name(f"other{number}.py") for number in range(3)]
    for other in others:
        other.write_text(text)

    async def conversation(editor: Editor) -> None:
        for other in others:
            editor.open(other)
            await editor.diagnostics(other)
        assert ended(await pid_written(file.parent))
        editor.open(file)
        assert await editor.diagnostics(file) == []

    with_an_editor(conversation, "--seconds", "3")


def test_a_file_that_is_no_file_is_not_read(file: Path) -> None:
    pipe, link = file.with_name("pipe.py"), file.with_name("link.py")
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")

    async def conversation(editor: Editor) -> None:
        for strange in (pipe, link):
            item = types.TextDocumentItem(strange.as_uri(), "python", 1, "")
            editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            assert await editor.diagnostics(strange) == []
        editor.open(file)
        assert await editor.diagnostics(file) == []

    with_an_editor(conversation)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_a_signal_ends_the_server_and_its_checks_while_its_input_stays_open(file: Path, ending: signal.Signals) -> None:
    endless = file.with_name("endless.py")
    endless.write_text(ENDLESS)
    opened = {"textDocument": {"uri": endless.as_uri(), "languageId": "python", "version": 1, "text": ENDLESS}}
    messages = (
        {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": opened},
    )
    with subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as server:
        assert server.stdin is not None
        server.stdin.write(framed(messages))
        server.stdin.flush()
        pid = asyncio.run(pid_written(file.parent))
        server.send_signal(ending)
        assert server.wait(LONG) == 130
    assert ended(pid)


def test_an_orderly_end_has_the_exit_code_0() -> None:
    messages = (
        {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    )
    ran = subprocess.run(SERVER, input=framed(messages), capture_output=True, timeout=LONG, check=False)
    assert (ran.returncode, b"Traceback" in ran.stderr) == (0, False), ran.stderr
