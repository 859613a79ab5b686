"""What a terminal would act on is shown as an escape, and a name that no obligation can have is refused at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.model_check.command import carnet

STRANGE = ("\x1b", "\u202e", "\x9b", "\x07")


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    return tmp_path / "tickets" / "protocol.py"


COMMANDS = {
    "verify": (),
    "attack": ("--without", "fresh-ticket", "--mermaid"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_text_of_a_protocol_moves_the_cursor(tickets: Path, command: str) -> None:
    strange = "".join(STRANGE).encode("unicode_escape").decode("ascii")
    changed = tickets.read_text("utf-8")
    for said in ("The office issues", "any guest may be", "Tickets"):
        changed = changed.replace(f'"{said}', f'"{strange}{said}')
    assert changed.count(strange) >= 2
    tickets.write_text(changed, "utf-8")
    ran = carnet(command, str(tickets), *COMMANDS[command])
    assert "\\x1b" in ran.out + ran.err
    assert not [each for each in STRANGE if each in ran.out + ran.err]


@pytest.mark.parametrize("name", ["a | b", "a \\ b"])
def test_a_name_that_no_obligation_can_have_is_refused_at_its_line(tickets: Path, name: str) -> None:
    text = tickets.read_text("utf-8")
    tickets.write_text(text.replace('"both corrupt"', repr(name)), "utf-8")
    line = text[: text.index('"both corrupt"')].count("\n") + 1
    for command in (("verify",), ("attack", "--without", "fresh-ticket")):
        ran = carnet(command[0], str(tickets), *command[1:])
        assert ran.code == 2
        assert f"protocol.py:{line}: pass_on: no proof obligation can write '{name}'" in " ".join(ran.err.split())
