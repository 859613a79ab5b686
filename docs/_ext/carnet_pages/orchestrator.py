"""The page on the orchestrator's states, drawn from the table that it runs by."""

import inspect
import re
from collections.abc import Iterator, Sequence

from carnet_ref.systems.gpu_travelling.roles import orchestrator
from carnet_ref.systems.gpu_travelling.roles.orchestrator import COLUMNS, TABLE, Taken, Unwanted, cell
from carnet_ref.systems.gpu_travelling.roles.states import Input, OrchestratorState

from .diagrams import Change, machine
from .markdown import code, page, prose, table

_SHORT = {Unwanted.IGNORED: "", Unwanted.REMARKED: "remark", Unwanted.REFUSED: "✗"}
_LEGEND = (
    "An empty cell: the input is ignored. remark: it is ignored, with a line that says so. ✗: it is a protocol error. "
    "Protocol errors, steps that fail, faults that the GPU reports and a platform that was gone lead from any state to "
    "`AwaitsSession`, by `restart`, or to `Stopped` after too many of them."
)


def states() -> str:
    """Return the page."""
    about = inspect.getdoc(orchestrator) or ""
    return page(
        "# What the orchestrator does in each state",
        _shown(about.partition("Theory of operation. ")[2]),
        "## Where steps lead",
        machine("orchestrator", "What the orchestrator does: state after state", _changes()),
        "## States and inputs",
        _shown(_LEGEND),
        table(("state", *COLUMNS.values()), map(_row, TABLE)),
        "## States",
        table(("state", "means"), ((code(state.__name__), _says(state)) for state in TABLE)),
        "## Inputs",
        table(("input", "means"), ((COLUMNS[event], _says(event)) for event in COLUMNS)),
    )


def _says(of: type[OrchestratorState] | type[Input]) -> str:
    return _shown(inspect.getdoc(of) or "")


def _shown(text: str) -> str:
    """Return a docstring's text as Markdown, with its literals as code."""
    parts = re.split(r"``?([^`]+)``?", " ".join(text.split()))
    return "".join(code(part) if place % 2 else _escaped(part) for place, part in enumerate(parts))


def _escaped(part: str) -> str:
    """Return prose that stands between other text, with the blanks at its ends."""
    said = part.strip()
    before, _, after = part.partition(said) if said else (part, "", "")
    return before + prose(said) + after


def _changes() -> Sequence[Change]:
    """Return the steps that lead to another state."""
    found = (
        Change(state.__name__, after.__name__, taken.by.__name__)
        for state, taken in _taken()
        for after in taken.to
        if after is not state
    )
    return list(dict.fromkeys(found))


def _taken() -> Iterator[tuple[type[OrchestratorState], Taken]]:
    for state in TABLE:
        for event in COLUMNS:
            found = cell(TABLE, state, event)
            if isinstance(found, Taken):
                yield state, found


def _row(state: type[OrchestratorState]) -> Sequence[str]:
    return code(state.__name__), *(_cell(state, event) for event in COLUMNS)


def _cell(state: type[OrchestratorState], event: type[Input]) -> str:
    found = cell(TABLE, state, event)
    return code(found.by.__name__) if isinstance(found, Taken) else _SHORT[found]
