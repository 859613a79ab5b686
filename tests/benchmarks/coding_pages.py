"""Shows for the documentation what processors make of coded pictures, with each defence and without it.

``python -m tests.benchmarks.coding_pages`` writes ``docs/results/coding``. Pictures, keys and seeds are fixed, so the
files are the same each time.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from carnet_ref.field import Draw, Field, KeyStream, Residues
from carnet_ref.systems.coded_private_ml.code import LagrangeCode
from carnet_ref.systems.darknight.batch import CodedBatch
from tests.fixtures.coding_attacks import (
    block_at_own_point,
    centred_ranges,
    difference,
    keyed_with_zeros,
    middle,
    narrow,
    reused,
    seeded,
    together,
    unmasked,
    without_known_noise,
)

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results" / "coding"
SIDE = 32
VIEWS = 2000
SCALE = 256  #: Pixels of eight bits, with eight more of fixed point.
LARGEST = SCALE * 255  #: Here processors give back what they are sent, so no result is larger than a pixel.
SLALOM, CODED = Field(), Field(15_485_863)
HEAD = ("defence", "system", "error without it", "error with it")


def pictures() -> list[Residues]:
    """Return three pictures of 32 by 32 pixels in one row each: a disc, a cross and a staircase."""
    y, x = np.mgrid[:SIDE, :SIDE]
    disc = 255 * ((x - 12) ** 2 + (y - 14) ** 2 < 90)
    cross = np.where((abs(x - y) < 4) | (abs(x + y - SIDE) < 4), 230, 30)
    stairs = (x // 8 + y // 8) * 40
    return [SCALE * each.reshape(1, -1).astype(np.int64) for each in (disc, cross, stairs)]


DISC, CROSS, STAIRS = pictures()


@dataclass(frozen=True)
class Recovery:
    """A defence, and what an attacker makes of a picture without it and with it."""

    defence: str
    system: str
    secret: Residues
    without: Residues
    defended: Residues

    @property
    def row(self) -> tuple[str, str, str, str]:
        return (self.defence, self.system, self._error(self.without), self._error(self.defended))

    def _error(self, found: Residues) -> str:
        """Return the mean error of a pixel; with 1, an attacker does better to guess the median for all of them."""
        guess = np.abs(self.secret - np.median(self.secret)).mean()
        return f"{min(np.abs(found - self.secret).mean() / guess, 1):.2f}"


def secret_key(number: int, field: Field) -> KeyStream:
    """Return a generator whose key the attacker does not know."""
    return KeyStream(bytes([number]) * 32, field)


def recoveries() -> list[Recovery]:
    """Carry every attack out, with the defence and without it."""
    return [_reuse(), _known_key(), _narrow_masks(), _meeting_points(), _known_seed(), _coded_colluders(), _colluders()]


def _blinded(picture: Residues, draw: Draw) -> Residues:
    return (SLALOM.residues(picture) + draw(picture.shape)) % SLALOM.prime


def _reuse() -> Recovery:
    def recovered(draw: Draw) -> Residues:
        return difference(SLALOM, _blinded(DISC, draw), _blinded(STAIRS, draw))

    draws: tuple[Draw, Draw] = reused(secret_key(1, SLALOM)), secret_key(1, SLALOM)
    return Recovery("a mask is used once", "Slalom", DISC - STAIRS, *map(recovered, draws))


def _known_key() -> Recovery:
    def recovered(draw: Draw) -> Residues:
        return unmasked(SLALOM, _blinded(CROSS, draw), keyed_with_zeros(SLALOM))

    draws: tuple[Draw, Draw] = keyed_with_zeros(SLALOM), secret_key(2, SLALOM)
    return Recovery("the key of the masks is secret", "Slalom", CROSS, *map(recovered, draws))


def _narrow_masks() -> Recovery:
    def recovered(draw: Draw) -> Residues:
        return middle(SLALOM, [_blinded(STAIRS, draw) for _ in range(VIEWS)])

    draws: tuple[Draw, Draw] = narrow(np.random.default_rng(3), SLALOM), secret_key(3, SLALOM)
    return Recovery("masks are of the whole field", "Slalom", STAIRS, *map(recovered, draws))


def _meeting_points() -> Recovery:
    meeting = centred_ranges(CODED, 2, 1, 6)
    apart = LagrangeCode(CODED, meeting.blocks, meeting.random, tuple(range(5, 11)))
    data = CODED.residues(np.concatenate([DISC, CROSS]))
    own = block_at_own_point(meeting, meeting.encode(data, secret_key(4, CODED), LARGEST))
    share = CODED.to_signed(apart.encode(data, secret_key(4, CODED), LARGEST)[1])
    return Recovery("points apart", "CodedPrivateML", CROSS, own[1][None], share[None])


def _known_seed() -> Recovery:
    code = LagrangeCode(CODED, (0, 1), (2,), (3, 4, 5))

    def recovered(draw: Draw) -> Residues:
        shares = code.encode(CODED.residues(np.concatenate([DISC, CROSS])), draw, LARGEST)
        return without_known_noise(code, shares, [0, 1], seeded(CODED))[:1]

    return Recovery(
        "the seed of random blocks is secret",
        "CodedPrivateML",
        DISC,
        recovered(seeded(CODED)),
        recovered(secret_key(5, CODED)),
    )


def _coded_colluders() -> Recovery:
    code = LagrangeCode(CODED, (0,), (1, 2), (3, 4, 5))
    shares = code.encode(CODED.residues(STAIRS), secret_key(6, CODED), LARGEST)
    return Recovery(
        "no more together than random blocks",
        "CodedPrivateML",
        STAIRS,
        together(code, shares, [0, 1, 2]),
        together(code, shares, [0, 1]),
    )


def _colluders() -> Recovery:
    code = CodedBatch(SLALOM, inputs=1, noise=1, points=(1, 2))
    shares = code.encode(SLALOM.residues(CROSS), secret_key(7, SLALOM), LARGEST)
    both, one = code.decode(shares, (0, 1)), shares[:1]
    return Recovery(
        "no more together than noise", "DarkNight", CROSS, *(SLALOM.to_signed(each) for each in (both, one))
    )


# -- the files -----------------------------------------------------------------------------------------------------


def read() -> list[tuple[str, ...]]:
    """Return the rows that are recorded, with their heads."""
    with (RESULTS / "recoveries.csv").open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)]


def draw(found: list[Recovery]) -> None:
    """Draw each secret, and what is made of it without the defence and with it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 1.7 * len(found)), layout="constrained")
    axes = figure.subplots(len(found), 3)
    for each, row in zip(found, axes, strict=True):
        low, high = each.secret.min(), each.secret.max()
        for axis, picture in zip(row, (each.secret, each.without, each.defended), strict=True):
            axis.imshow(picture.reshape(SIDE, SIDE), cmap="gray", vmin=low, vmax=high)
            axis.set_xticks([])
            axis.set_yticks([])
        row[0].set_ylabel(each.defence.replace(" of ", "\nof ").replace(" together", "\ntogether"), fontsize=7)
    for axis, title in zip(axes[0], ("what is sought", "found without the defence", "found with it"), strict=True):
        axis.set_title(title, fontsize=8)
    figure.savefig(RESULTS / "recoveries.png", dpi=80, metadata={"Software": None})


def main() -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    found = recoveries()
    with (RESULTS / "recoveries.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *(each.row for each in found)])
    draw(found)


if __name__ == "__main__":
    main()
