"""``carnet step --web``: the page is the terminal's walk, for whoever has its address and for nobody else."""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carnet_check.attacks.hunt import attack_target
from carnet_check.commands.step_server import MOST_BODY, MOST_DRAWN, StepServer
from carnet_check.commands.step_shell import COMMANDS, StepShell
from carnet_check.conformance import conform
from carnet_check.loading.families import known_protocols, load
from carnet_check.semantics import Interpreter
from carnet_check.walkthrough import Walkthrough
from carnet_spec.trace import Trace
from tests.unit.model_check.command import FIXTURES, TOY

TOKEN = "token"
CHOICES = 500


def shell(reference: str = TOY, variant: str = "") -> StepShell:
    source = load(reference)
    target = attack_target(source, variant=variant, every_claim=True)
    profile = source.profile("tiny")
    instance = source.instance(target.protocol, target.threat.id, profile)
    return StepShell(source, Walkthrough(target.protocol, target.removed, target.threat, instance), profile)


@dataclass
class Browser:
    """Asks a server as a browser does."""

    server: StepServer
    shell: StepShell

    def ask(
        self, method: str, path: str = f"/{TOKEN}/", body: str | bytes | None = None, **headers: str
    ) -> tuple[int, str, Mapping[str, str]]:
        connection = http.client.HTTPConnection(self.server.host, timeout=60)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, dict(answer.getheaders())

    @property
    def state(self) -> Any:
        return json.loads(self.ask("GET", f"/{TOKEN}/state.json")[1])

    def do(self, line: str, version: int | None = None) -> tuple[int, str]:
        """Send a line, as the page of now does or as one of another version."""
        seen = self.state["version"] if version is None else version
        return self.send(urlencode({"version": seen, "line": line}))

    def send(self, body: str | bytes, **headers: str) -> tuple[int, str]:
        kind = {"Content_Type": "application/x-www-form-urlencoded", **headers}
        status, text, _ = self.ask("POST", body=body, **kind)
        return status, text


@contextmanager
def served(walk: StepShell) -> Iterator[Browser]:
    server = StepServer(walk, TOKEN)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield Browser(server, walk)
    finally:
        server.close()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def browser() -> Iterator[Browser]:
    with served(shell()) as found:
        yield found


# -- a page is the walk ----------------------------------------------------------------------------


def walked_at_random(id: str, choices: int) -> None:
    draw = random.Random(id)
    with served(shell(id)) as browser:
        for version in range(choices):
            able = browser.state["enabled"] if draw.random() < 0.8 else []
            line = f"take {draw.randint(1, len(able))}" if able else f"undo {draw.randint(1, 4)}"
            assert browser.do(line, version) == (303, "")
        state, walk = browser.state, browser.shell.walk
    trace = Trace.from_json(state["trace"])
    fresh = shell(id)
    fresh.walk.follow(trace)
    assert Interpreter(walk.protocol, walk.judge.instance).replay(trace)[-1] == walk.state == fresh.walk.state
    assert {**state, **fresh.as_json()} == state
    assert state["version"] == choices


def test_random_choices_over_http_lead_where_their_replay_leads() -> None:
    walked_at_random(TOY, CHOICES)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("id", known_protocols())
def test_random_choices_over_http_lead_where_their_replay_leads_in_each_protocol(id: str) -> None:
    walked_at_random(id, CHOICES)


def test_the_page_says_what_the_terminal_says(browser: Browser) -> None:
    browser.do("take 1")
    _, page, headers = browser.ask("GET")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    for step in browser.shell.walk.enabled_steps():
        assert step.sentence in page
    for facts in browser.shell.walk.knowledge().values():
        assert all(f"<li>{fact}</li>" in page for fact in facts)
    assert '<form method="post" class="choices">' in page
    assert 'name="version" value="1"' in page
    assert "<td" in page


@pytest.mark.parametrize("reference", [TOY, "fastrack", str(FIXTURES / "odd_names.py")])
def test_all_that_the_page_offers_can_be_asked_for(reference: str) -> None:
    with served(shell(reference)) as browser:
        page = browser.ask("GET")[1]
        offered = [unescape(line) for line in re.findall(r'value="((?:why|take) [^"]*)"', page)]
        assert "take 1" in offered
        for line in offered:
            assert browser.do(line)[0] == 303, line
            browser.do("begin")


def test_what_a_line_printed_is_on_the_page_and_an_action_says_why_not(browser: Browser) -> None:
    (refused,) = [each for each in browser.shell.walk.protocol.actions if not browser.shell.walk.matching(each, {})][:1]
    assert f'value="why {refused.name}"' in browser.ask("GET")[1]
    assert browser.do(f"why {refused.name}")[0] == 303
    assert browser.state["said"][0].startswith(f"{refused.name}: ")


def test_a_claim_that_fails_is_shown_with_its_reason_after_a_jump() -> None:
    with served(shell(TOY, "forgetful")) as browser:
        assert browser.do("attack secrecy")[0] == 303
        page = browser.ask("GET")[1]
        assert '<span class="verdict wrong">fails</span> secrecy' in page
        assert "it is false that" in page
        assert browser.do("begin")[0] == 303
        assert browser.state["trace"]["steps"] == []


def test_a_long_walk_is_drawn_at_its_end(browser: Browser) -> None:
    while len(browser.shell.walk.steps) <= MOST_DRAWN + 2:
        assert browser.do(f"random {MOST_DRAWN} 3")[0] == 303
        assert browser.state["enabled"]
    page = browser.ask("GET")[1]
    steps = browser.shell.walk.steps
    assert f"The first {len(steps) - MOST_DRAWN} steps are not drawn." in page
    assert f'<th scope="row">{len(steps)}</th>' in page


def test_a_walk_is_saved_by_its_links_and_read_again(tmp_path: Path) -> None:
    with served(shell("fastrack")) as browser:
        browser.do("random 6 5")
        for name in ("walk.json", "walk.jsonl", "walk.itf.json"):
            status, text, headers = browser.ask("GET", f"/{TOKEN}/{name}")
            assert (status, headers["Content-Disposition"]) == (200, f'attachment; filename="{name}"')
            (tmp_path / name).write_text(text, "utf-8")
        end = browser.state["trace"]
    assert conform(tmp_path / "walk.jsonl").conforms
    again = shell("fastrack")
    assert list(again.perform(f"load {tmp_path / 'walk.json'}"))
    assert again.walk.chosen_trace.to_json() == end


def test_the_end_of_the_walk_ends_the_server() -> None:
    with served(shell()) as browser:
        assert browser.do("quit") == (200, "carnet: the walk is over; this page can be closed\n")


def test_the_command_prints_an_address_with_a_token_and_ends_with_its_walk() -> None:
    command = [sys.executable, "-c", "from carnet_check.cli import main; main()"]
    tokens = set()
    for _ in range(2):
        asked = [*command, "step", TOY, "--web", "--json"]
        with subprocess.Popen(asked, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, text=True) as running:
            assert running.stderr
            assert running.stdout
            url = urlsplit(
                next(line.split()[1] for line in running.stderr if line.startswith("open http://127.0.0.1:"))
            )
            connection = http.client.HTTPConnection(url.netloc, timeout=60)
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST", url.path, urlencode({"version": 0, "line": "take 1"}), form)
            assert connection.getresponse().read() == b""
            connection.request("POST", url.path, urlencode({"version": 1, "line": "quit"}), form)
            assert b"the walk is over" in connection.getresponse().read()
            assert running.wait(30) == 0
            assert len(json.load(running.stdout)["trace"]["steps"]) == 1
            tokens.add(url.path)
    assert len(tokens) == 2
    assert min(map(len, tokens)) > 40


# -- several pages, and others who ask ----------------------------------------------------------------


def test_a_page_that_is_behind_changes_nothing_and_shows_where_the_walk_is(browser: Browser) -> None:
    assert browser.do("take 1", 0)[0] == 303
    before = browser.state
    status, page = browser.do("take 1", 0)
    assert status == 409
    assert page.count('role="alert"') == 1
    assert 'name="version" value="1"' in page
    assert browser.state == before


def test_of_many_pages_that_ask_at_once_one_is_heard(browser: Browser) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = sorted(status for status, _ in pool.map(lambda _: browser.do("take 1", 0), range(8)))
    assert answers == [303, *[409] * 7]
    assert (browser.state["version"], len(browser.state["trace"]["steps"])) == (1, 1)


REFUSED: dict[str, tuple[int, str, str, dict[str, str]]] = {
    "no token": (404, "GET", "/", {}),
    "another token": (404, "GET", "/tokem/", {}),
    "a longer token": (404, "GET", f"/{TOKEN}s/", {}),
    "no page": (404, "GET", f"/{TOKEN}/../secret", {}),
    "a file of the machine": (404, "GET", f"/{TOKEN}/../../../etc/passwd", {}),
    "another name of this machine": (403, "GET", f"/{TOKEN}/", {"Host": "evil.example"}),
    "another port": (403, "GET", f"/{TOKEN}/", {"Host": "127.0.0.1:1"}),
    "another site": (403, "GET", f"/{TOKEN}/", {"Origin": "http://evil.example"}),
    "a site without a name": (403, "GET", f"/{TOKEN}/", {"Origin": "null"}),
    "a method": (501, "PUT", f"/{TOKEN}/", {}),
    "another method": (501, "OPTIONS", f"/{TOKEN}/", {}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_that_is_not_from_the_page_gets_one_line(browser: Browser, name: str) -> None:
    code, method, path, headers = REFUSED[name]
    before = browser.state
    status, text, said = browser.ask(method, path, **headers)
    assert (status, text.count("\n"), said["Content-Type"]) == (code, 1, "text/plain; charset=utf-8")
    assert not [each for each in said if each.lower().startswith("access-control")]
    assert said["Content-Security-Policy"].startswith("default-src 'none'")
    assert browser.state == before


FORMS: dict[str, tuple[int, bytes]] = {
    "nothing": (400, b""),
    "no form": (400, b"take 1"),
    "no version": (400, b"line=take+1"),
    "no line": (400, b"version=0"),
    "one field more": (400, b"version=0&line=take+1&more=1"),
    "a field twice": (400, b"version=0&line=take+1&line=take+2"),
    "half a character": (400, b"version=0&line=%ff"),
    "no characters": (400, b"version=0&line=\xff"),
    "many fields": (400, b"&".join(b"a%d=1" % number for number in range(99))),
    "a version that is none": (409, b"version=-1&line=take+1"),
    "too much": (413, b"version=0&line=" + b"1" * MOST_BODY),
    "no command": (400, b"version=0&line=fly"),
    "a step that is not offered": (400, b"version=0&line=99"),
    "a quote": (400, b"version=0&line='"),
    "a file to read": (400, b"version=0&line=load+/etc/passwd"),
    "a file to write": (400, b"version=0&line=save+/nowhere/x"),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_makes_no_sense_gets_one_error_and_changes_nothing(browser: Browser, name: str) -> None:
    code, body = FORMS[name]
    before = browser.state
    status, text = browser.send(body)
    assert status == code
    assert text.count('role="alert"') == 1 if "<html" in text else text.count("\n") == 1
    assert browser.state == before


def test_a_form_of_another_kind_or_without_a_length_is_refused(browser: Browser) -> None:
    form = urlencode({"version": 0, "line": "take 1"})
    assert browser.send(form, Content_Type="text/plain")[0] == 415
    assert browser.send(form, Origin="http://evil.example")[0] == 403
    assert browser.ask("POST", f"/{TOKEN}/report.css", form, Content_Type="application/x-www-form-urlencoded")[0] == 404
    host, _, port = browser.server.host.partition(":")
    for head in (f"POST /{TOKEN}/ HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n", "GARBAGE\r\n\r\n", "\x00\r\n\r\n"):
        with socket.create_connection((host, int(port)), 10) as plain:
            plain.sendall(head.encode())
            assert b"carnet: " in plain.makefile("rb").read()
    assert browser.state["version"] == 0


def test_no_page_can_name_a_file(tmp_path: Path, browser: Browser) -> None:
    for word in ("save", "'save'", '"sa"ve', "s\\ave"):
        assert browser.do(f"{word} {tmp_path / 'walk.json'}")[0] == 400
    assert list(tmp_path.iterdir()) == []
    assert {"load", "save"} <= COMMANDS.keys()


@pytest.fixture(scope="module")
def anything() -> Iterator[Browser]:
    with served(shell()) as found:
        yield found


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(body=st.binary(max_size=80) | st.text(max_size=40).map(lambda line: b"version=0&line=" + quote(line).encode()))
def test_whatever_is_posted_there_is_an_answer(anything: Browser, body: bytes) -> None:
    status, _ = anything.send(body)
    assert status in (303, 400, 409)
    assert anything.ask("GET")[0] == 200
