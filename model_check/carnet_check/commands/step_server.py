"""A local web server for the page of a walk; the page sends the same commands that are typed in the terminal.

The page sends the lines that would be typed. A request needs the token in the address, and each form names the
number of changes that its page has seen: a page that is behind changes nothing. Requests are answered one at a time, by
the thread that serves, as lines in a terminal are.
"""

import json
import secrets
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any, Final
from urllib.parse import parse_qsl

from carnet_check.attacks.describing import sequence_chart
from carnet_check.attacks.regression import step_as_json
from carnet_check.commands.step_shell import COMMANDS, ITF, RECORDED, StepShell
from carnet_check.errors import UsageError
from carnet_check.report.html import STATIC, as_walk_page, static
from carnet_check.walkthrough import EnabledStep
from carnet_check.wording import is_deduction, reason
from carnet_command.errors import CarnetError

LOOPBACK: Final = "127.0.0.1"
MOST_BODY: Final = 1 << 14  #: Bytes: the longest form that is read.
MOST_FIELDS: Final = 8
MOST_SECONDS: Final = 20.0  #: How long a connection may take to send its request.
PAUSE: Final = 0.05  #: Seconds between two looks whether to stop listening.
MOST_DRAWN: Final = 60  #: The most steps that are drawn: the last ones.
FORM: Final = "application/x-www-form-urlencoded"
#: What can be saved, and what reads it.
FILES: Final = {
    "walk.json": "for load and for tests",
    f"walk{RECORDED}": "for carnet conform",
    f"walk{ITF}": "ITF, for viewers of traces",
}
NAMING_FILES: Final = ("load", "save")  #: The commands that no page may give: a walk is saved by links.
#: What every answer says: nothing from elsewhere, in no frame, for no other site, not to be kept.
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to an HTTP request."""

    status: HTTPStatus
    kind: str
    text: str
    headers: Mapping[str, str]


def _text(status: HTTPStatus, text: str) -> Answer:
    return Answer(status, "text/plain", f"carnet: {text}\n", {})


class StepServer:
    """Serves the page of a walk on loopback until the walk is over.

    Args:
        shell: the walk, and what is done with it.
        token: what an address has to begin with.
    """

    def __init__(self, shell: StepShell, token: str) -> None:
        self._shell = shell
        shell.commands = {word: command for word, command in COMMANDS.items() if word not in NAMING_FILES}
        self._said: list[str] = []
        self._changes = 0
        self._token = token
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._listener = _Listener((LOOPBACK, 0), _Request)
        self._listener.page = self

    @property
    def host(self) -> str:
        """The host and port by which browsers refer to this server."""
        return f"{LOOPBACK}:{self._listener.server_address[1]}"

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return f"http://{self.host}/{self._token}/"

    def serve(self) -> None:
        """Answer requests in this thread, until one of them ends the walk or :meth:`close` is called."""
        threading.Thread(target=self._listener.serve_forever, args=(PAUSE,), daemon=True).start()
        try:
            while (answer := self._waiting.get()) is not None:
                answer()
        finally:
            self._listener.shutdown()
            self._listener.server_close()

    def close(self) -> None:
        """Stop serving; it may be called from any thread."""
        self._waiting.put(None)

    def answer(self, path: str, form: Mapping[str, str] | None) -> Answer:
        """Return the answer to a request; it must be called by the thread that serves.

        Args:
            path: what is asked for; it begins with the token.
            form: what was posted, if anything.
        """
        name = path[len(self._token) + 2 :]
        given: Future[Answer] = Future()

        def answering() -> None:
            try:
                given.set_result(self._posted(name, form) if form is not None else self._got(name))
            except BaseException as error:
                given.set_exception(error)
                raise

        self._waiting.put(answering)
        return given.result()

    @property
    def is_over(self) -> bool:
        """Whether the walk has ended, so that requests are no longer answered."""
        return self._shell.over

    def is_known(self, path: str) -> bool:
        """Whether an address begins with the secret token."""
        return secrets.compare_digest(path.encode()[: len(self._token) + 2], f"/{self._token}/".encode())

    # -- what is answered -------------------------------------------------------------------------

    def _got(self, name: str) -> Answer:
        if name == "":
            return self._page(HTTPStatus.OK)
        if name in STATIC:
            kind = "text/css" if name.endswith(".css") else "text/javascript"
            return Answer(HTTPStatus.OK, kind, static(name), {})
        if name == "state.json":
            value = {"version": self._changes, "said": self._said, **self._shell.as_json()}
            return Answer(HTTPStatus.OK, "application/json", json.dumps(value, ensure_ascii=False), {})
        if name in FILES:
            return self._file(name)
        return _text(HTTPStatus.NOT_FOUND, f"there is no page '{name[:60]}'")

    def _file(self, name: str) -> Answer:
        try:
            text = self._shell.file_text(name)
        except UsageError as error:
            return _text(HTTPStatus.CONFLICT, str(error))
        return Answer(
            HTTPStatus.OK, "application/json", text, {"Content-Disposition": f'attachment; filename="{name}"'}
        )

    def _posted(self, name: str, form: Mapping[str, str]) -> Answer:
        if name != "":
            return _text(HTTPStatus.NOT_FOUND, "only the page itself takes commands")
        if form.keys() != {"version", "line"}:
            return _text(HTTPStatus.BAD_REQUEST, "expected a form with 'version' and 'line'")
        if form["version"] != str(self._changes):
            told = "The walk went on elsewhere, so this page was behind and nothing was done. This is where it is now."
            return self._page(HTTPStatus.CONFLICT, told)
        try:
            said = list(self._shell.perform(form["line"]))
        except CarnetError as error:
            return self._page(HTTPStatus.BAD_REQUEST, str(error))
        self._said = said
        self._changes += 1
        if self._shell.over:
            return _text(HTTPStatus.OK, "the walk is over; this page can be closed")
        return Answer(HTTPStatus.SEE_OTHER, "text/plain", "", {"Location": f"/{self._token}/"})

    # -- the page ---------------------------------------------------------------------------------

    def _page(self, status: HTTPStatus, alert: str = "") -> Answer:
        return Answer(status, "text/html", as_walk_page({**self._shown(), "alert": alert}), {})

    def _shown(self) -> dict[str, Any]:
        """Return what the page shows, by the names in its template."""
        shell, walk = self._shell, self._shell.walk
        list(shell.enabled())
        able = {each.action.name for each in shell.offered}
        return {
            "version": self._changes,
            "design": shell.design,
            "threat": {"id": walk.threat.id, "title": walk.threat.title},
            "instance": walk.judge.instance.words,
            "is_run": walk.is_run,
            "said": self._said,
            "roles": [
                {"name": role, "steps": [{"number": n, "sentence": step.sentence} for n, step in steps]}
                for role, steps in shell.by_role()
            ],
            "refused": [
                (shlex.join(["why", action.name]), action.name)
                for action in walk.protocol.actions
                if action.name not in able
            ],
            "jumps": list(_jumps(shell)),
            "claims": list(_claims(shell)),
            "known": walk.knowledge(),
            "facts": list(shell.facts([])),
            "taken": _steps_so_far(shell),
            "files": FILES.items() if walk.is_run else (),
            **_drawing(shell),
        }


def _jumps(shell: StepShell) -> Iterator[dict[str, Any]]:
    findings, claims = shell.source.family.findings, [claim for claim, _ in shell.walk.claims()]
    yield {
        "name": "Known findings",
        "lines": [(shlex.join(["attack", each.id]), f"{each.id}: {each.title}") for each in findings],
    }
    for word, text in (("attack", "Attack on"), ("cti", "State from which a step breaks")):
        yield {"name": text, "lines": [(shlex.join([word, claim.name]), f"{text} {claim.name}") for claim in claims]}


def _claims(shell: StepShell) -> Iterator[dict[str, Any]]:
    judge, state = shell.walk.judge, shell.walk.state
    for claim, fails in shell.walk.claims():
        why = [] if fails is None else reason(judge, claim.checked, state)
        yield {"name": claim.name, "sentence": claim.sentence, "holds": fails is None, "reason": why}


def _steps_so_far(shell: StepShell) -> list[dict[str, Any]]:
    """Return the steps so far, the latest first, with their numbers in the drawing and how far back each is."""
    walk, taken, number = shell.walk, list[dict[str, Any]](), 0
    for step in walk.trace.steps:
        action = walk.protocol.action(step.action)
        number += not is_deduction(action)
        if not (walk.is_run and action.deduction):
            shown = "·" if is_deduction(action) else number
            taken.append({"number": shown, "text": EnabledStep(action, step.env).sentence})
    numbered = [{**each, "undo": len(taken) - at} for at, each in enumerate(taken, 1)]
    return numbered[-2::-1]


def _drawing(shell: StepShell) -> dict[str, Any]:
    """Return the sequence chart of the last steps, and how many come before these."""
    walk = shell.walk
    shown = len(walk.steps) if len(walk.steps) <= MOST_DRAWN else MOST_DRAWN
    earlier = len(walk.steps) - shown
    states, trace = walk.states_and_trace(shown if earlier else None)
    chart = sequence_chart(walk.judge, states, trace)
    before = walk.trace.steps[: len(walk.trace.steps) - len(trace.steps)]
    told = sum(not is_deduction(walk.protocol.action(step.action)) for step in before)
    events = [
        {**event, "number": event["number"] and event["number"] + told, "decisive": "", "href": ""}
        for event in map(step_as_json, chart.steps)
    ]
    return {"earlier": earlier, "parties": chart.parties, "events": events}


# -- requests: what is refused before anything is looked at --------------------------------------------


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    page: StepServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: the client has gone, or the thread that serves reports the error."""


class _Request(BaseHTTPRequestHandler):
    timeout = MOST_SECONDS
    server: _Listener
    server_version = "carnet"
    sys_version = ""

    def do_GET(self) -> None:
        self._send(self._refusal() or self.server.page.answer(self.path.partition("?")[0], None))

    def do_POST(self) -> None:
        self._send(self._refusal() or self._form())

    def _refusal(self) -> Answer | None:
        """Refuse what is not from the page: another name of this machine, another site, or no token."""
        page = self.server.page
        if self.headers.get_all("Host") != [page.host]:
            return _text(HTTPStatus.FORBIDDEN, f"only http://{page.host} is answered")
        if self.headers.get("Origin") not in (None, f"http://{page.host}"):
            return _text(HTTPStatus.FORBIDDEN, "another site may not ask")
        if not page.is_known(self.path):
            return _text(HTTPStatus.NOT_FOUND, "there is no such page; the address that carnet step printed is needed")
        return None

    def _form(self) -> Answer:
        """Read what was posted, and answer it."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            return _text(HTTPStatus.LENGTH_REQUIRED, "expected a form with its length")
        if len(length) > len(str(MOST_BODY)) or int(length) > MOST_BODY:
            return _text(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected a form of at most {MOST_BODY} bytes")
        if self.headers.get_content_type() != FORM:
            return _text(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"expected {FORM}")
        try:
            text = self.rfile.read(int(length)).decode()
            pairs = parse_qsl(text, True, strict_parsing=True, errors="strict", max_num_fields=MOST_FIELDS)
        except ValueError:
            return _text(HTTPStatus.BAD_REQUEST, "this is no form")
        if len(dict(pairs)) < len(pairs):
            return _text(HTTPStatus.BAD_REQUEST, "one field of the form is there twice")
        return self.server.page.answer(self.path.partition("?")[0], dict(pairs))

    def _send(self, answer: Answer) -> None:
        data = answer.text.encode(errors="backslashreplace")
        self.send_response(answer.status)
        self.send_header("Content-Type", f"{answer.kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in {**HEADERS, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        if self.server.page.is_over:
            self.server.page.close()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no request that can be read, in one line."""
        self._send(_text(HTTPStatus(code), message or HTTPStatus(code).phrase))

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the terminal shows what the command says."""
