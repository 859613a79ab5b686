"""A picture of an attested dataflow graph, with a lane for each exclave and an arrow for each input.

The picture shows what an audit did with each statement. Where one is refused, or is not there, its box is red.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from carnet_command.errors import UsageError
from carnet_command.printable import printable
from carnet_command.text import plural
from carnet_ref.pictures import write_picture
from carnet_ref.systems.verifiable_fl.audit import AuditResult, RefusedGraphError
from carnet_ref.systems.verifiable_fl.statements import Envelope

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

MOST_STATEMENTS: Final = 300  #: Statements that a picture has at most.
LEAST_INCHES: Final = 9.0
LONGEST: Final = 24  #: Letters of a name that a picture shows.
WIDTH, HEIGHT = 0.84, 0.36  #: Of a box, in columns and lanes.
SOURCE: Final[Mapping[str, Any]] = {"marker": "o", "markersize": 4, "linestyle": "none"}
UNSHOWN: Final[Mapping[str, Any]] = {"marker": "x", "markersize": 5, "linestyle": "none"}
#: Marks of inputs that no statement here gave, and what a legend says of them.
MARKS: Final = {"source": "from a source", "unshown": "from what is not shown"}
MOST_EXPLAINED: Final = 18  #: Rows of a legend at most, in three columns.
RED, INK, GREY = "#cf222e", "#24292f", "#9aa5b1"
#: Colours of inputs, by their names in turn; none of them is red.
INPUTS: Final = ("#1f6feb", "#d9822b", "#2da44e", "#8250df", "#00707a", "#8a6d3b")


class BoxState(StrEnum):
    """The result of an audit for a statement."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    ABSENT = "not there"
    UNREAD = "not looked at"


LOOKS: Final[Mapping[BoxState, Mapping[str, Any]]] = {
    BoxState.ACCEPTED: {"facecolor": "#e6f0ff", "edgecolor": INK, "linewidth": 1.0},
    BoxState.REFUSED: {"facecolor": "#ffd7d5", "edgecolor": RED, "linewidth": 2.5},
    BoxState.ABSENT: {"facecolor": "white", "edgecolor": RED, "linewidth": 2.5, "linestyle": "dashed"},
    BoxState.UNREAD: {"facecolor": "white", "edgecolor": GREY, "linewidth": 1.0},
}


@dataclass(frozen=True, slots=True)
class Box:
    """A statement in the picture, or a missing one; ``place`` is its position."""

    by: str
    number: int
    task: str
    state: BoxState
    place: int | None = None

    @property
    def id(self) -> str:
        """The id of its group in the SVG file."""
        return f"{self.state.replace(' ', '-')}-{self.by}-{self.number}"


def plot(envelopes: Sequence[Envelope], result: AuditResult, path: Path) -> None:
    """Write a picture of the statements and their audit to ``path`` as SVG.

    Raises UsageError if there are too many, Matplotlib is not installed, or the file cannot be written.
    """
    if len(envelopes) > MOST_STATEMENTS:
        most = plural(MOST_STATEMENTS, "statement")
        raise UsageError(f"a picture has at most {most}, and this graph has {len(envelopes):,}")
    boxes = boxes_of(envelopes, result)
    lanes = list(dict.fromkeys([*result.exclaves, *(box.by for box in boxes)]))
    inches = max(LEAST_INCHES, 3.0 + 0.72 * len(boxes)), 3.0 + 0.8 * len(lanes)
    write_picture(path, "attested graph", inches, lambda axes: _draw(axes, envelopes, boxes, lanes, result))


def boxes_of(envelopes: Sequence[Envelope], result: AuditResult) -> list[Box]:
    """Return a box for each statement, in order, and one for a missing statement that the audit names.

    Where two statements have the number that is refused, both are.
    """
    boxes = []
    for place, envelope in enumerate(envelopes):
        said = envelope.statement
        state = BoxState.ACCEPTED if place < result.steps else BoxState.UNREAD
        boxes.append(Box(said.by, said.number, said.task, state, place))
    refusal = result.refusal
    if refusal is None or refusal.step is None:
        return boxes
    culprit, number = refusal.culprits[0], refusal.step
    here = [at for at, box in enumerate(boxes) if (box.by, box.number) == (culprit, number)]
    for at in here:
        boxes[at] = replace(boxes[at], state=BoxState.REFUSED)
    if not here:
        boxes.insert(_gap(boxes, culprit, number), Box(culprit, number, "missing", BoxState.ABSENT))
    return boxes


def _gap(boxes: Sequence[Box], by: str, number: int) -> int:
    """Return where a statement would be: before the next one of its exclave, or at the end."""
    later = (at for at, box in enumerate(boxes) if box.by == by and box.number > number)
    return next(later, len(boxes))


def _draw(
    axes: Axes, envelopes: Sequence[Envelope], boxes: Sequence[Box], lanes: Sequence[str], result: AuditResult
) -> None:
    from matplotlib.patches import FancyBboxPatch

    spots = [(column, lanes.index(box.by)) for column, box in enumerate(boxes)]
    for lane in range(len(lanes)):
        columns = [column for column, at in spots if at == lane]
        axes.plot([min(columns, default=0), max(columns, default=0)], [lane, lane], color=GREY, linewidth=0.8, zorder=0)
    patches: list[Patch] = []
    for (x, y), box in zip(spots, boxes, strict=True):
        corner = x - WIDTH / 2, y - HEIGHT / 2
        patch = FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle="round,pad=0,rounding_size=0.08", **LOOKS[box.state])
        patch.set_gid(box.id)
        patch.set_zorder(2)
        patches.append(axes.add_patch(patch))
        colour = GREY if box.state is BoxState.UNREAD else INK
        axes.text(x, y, _short(box.task, 10), ha="center", va="center", fontsize=7, color=colour, parse_math=False)
    states = {str(box.state): patch for box, patch in zip(boxes, patches, strict=True)}
    _frame(axes, lanes, len(boxes), result)
    _legend(axes, {**states, **_arrows(axes, envelopes, boxes, spots, patches)})


def _arrows(
    axes: Axes,
    envelopes: Sequence[Envelope],
    boxes: Sequence[Box],
    spots: Sequence[tuple[int, int]],
    patches: Sequence[Patch],
) -> dict[str, Artist]:
    """Draw an arrow for each input, and a mark for one that no statement here gave; return what a legend says of it."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyArrowPatch

    columns = {envelopes[box.place].digest: column for column, box in enumerate(boxes) if box.place is not None}
    colours: dict[str, str] = {}
    explained: dict[str, Artist] = {}
    for column, box in enumerate(boxes):
        reads = () if box.place is None else envelopes[box.place].statement.reads
        for number, read in enumerate(reads):
            colour = colours.setdefault(read.name, INPUTS[len(colours) % len(INPUTS)])
            explained.setdefault(f"reads {_short(read.name, LONGEST)}", Line2D([], [], color=colour))
            origin = columns.get(read.proof)
            if origin is None:
                name, shade, look = ("unshown", RED, UNSHOWN) if read.proof else ("source", colour, SOURCE)
                x, y = spots[column]
                axes.plot(
                    *(x - WIDTH / 3 + 0.2 * number, y + HEIGHT / 2 + 0.08),
                    color=shade,
                    gid=f"{name}-{column}-{number}",
                    **look,
                )
                explained.setdefault(MARKS[name], Line2D([], [], color=RED if read.proof else INK, **look))
                continue
            bend = 0.3 if spots[origin][1] == spots[column][1] else 0.0
            way: dict[str, Any] = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={bend}", "mutation_scale": 9}
            way |= {"patchA": patches[origin], "patchB": patches[column], "shrinkA": 0, "shrinkB": 0, "color": colour}
            way |= {"gid": f"read-{column}-{number}", "zorder": 1}
            axes.add_patch(FancyArrowPatch(spots[origin], spots[column], **way))
    return explained


def _frame(axes: Axes, lanes: Sequence[str], columns: int, result: AuditResult) -> None:
    refusal = result.refusal
    culprits = () if refusal is None else refusal.culprits
    axes.set_yticks(range(len(lanes)), [_short(lane, LONGEST) for lane in lanes], parse_math=False)
    for lane, label in zip(lanes, axes.get_yticklabels(), strict=True):
        label.set_color(RED if lane in culprits else INK)
    axes.set_xticks([])
    axes.set_xlim(-1, max(columns, 1))
    axes.set_ylim(max(len(lanes), 1) - 0.4, -0.6)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    title = f"accepted, level {int(result.level)}" if refusal is None else "\n".join(_verdict(refusal))
    axes.set_title(title, loc="left", color=INK if refusal is None else RED, parse_math=False)


def _verdict(refusal: RefusedGraphError) -> Iterator[str]:
    yield _short(f"refused, {refusal.fault.value}: {refusal.culprit}", 100)
    yield _short(str(refusal), 100)


def _legend(axes: Axes, explained: Mapping[str, Artist]) -> None:
    if not explained:
        return
    labels = list(explained)[:MOST_EXPLAINED]
    handles = [explained[label] for label in labels]
    legend = axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(0, 0), ncols=3, fontsize=8)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _short(text: str, most: int) -> str:
    """Return what of a text a picture shows; letters that XML has no place for are named."""
    shown = printable(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
