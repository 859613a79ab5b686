"""The page on the orchestrator's states shows every state, every input, and every way from one state to another."""

from __future__ import annotations

from carnet_ref.systems.gpu_travelling.roles.orchestrator import COLUMNS, TABLE, Taken, cell
from docs._ext.carnet_pages import orchestrator as page


def test_the_page_has_a_row_for_every_state_and_a_column_for_every_input() -> None:
    lines = page.states().splitlines()
    assert f"| state | {' | '.join(COLUMNS.values())} |" in lines
    for state in TABLE:
        row = next(line for line in lines if line.startswith(f"| `{state.__name__}` |"))
        steps = [found.by.__name__ for event in COLUMNS if isinstance(found := cell(TABLE, state, event), Taken)]
        assert all(f" `{name}` " in row for name in steps)


def test_the_diagram_has_every_way_from_one_state_to_another() -> None:
    drawn = {(change.before, change.after, change.action) for change in page._changes()}
    found = {
        (state.__name__, after.__name__, taken.by.__name__) for state, taken in page._taken() for after in taken.to
    }
    assert drawn == {way for way in found if way[0] != way[1]}
    text = page.states()
    assert all(f">{state.__name__}</text>" in text for state in TABLE if state.__name__ != "Stopped")


def test_every_state_and_input_says_what_it_means() -> None:
    text = page.states()
    assert all(f"| `{state.__name__}` | {page._says(state)} |" in text for state in TABLE)
    assert all(f"| {column} | {page._says(event)} |" in text for event, column in COLUMNS.items())
    assert all(page._says(each) for each in TABLE)
    assert all(page._says(each) for each in COLUMNS)
