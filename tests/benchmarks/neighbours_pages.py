"""Measures what neighbours learn of a holder's round, with and without clipped and noised updates.

``OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.neighbours_pages`` writes ``docs/results/neighbours``.
"""

import csv
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from carnet_ref.privacy import GaussianAccountant, deviation_for, upward
from carnet_ref.training import Trainer, sample_text
from carnet_ref.training.characters import ALPHABET, CharacterModel, batches
from carnet_ref.training.private import PrivateTrainer, UpdateNoise, weights_of
from tests.fixtures.gradient_inversion import Array, Neighbours, Window

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results" / "neighbours"
HEAD = ("an update is", "ε of a holder", "σ/C", "windows read", "places told", "two texts told apart", "loss")
HOLDERS = ("alice", "anna", "anton")
ROUNDS, SIZE, DELTA, BOUND = 9, 6144, 1e-6, 1.0
EPSILONS = (1000.0, 100.0, 8.0, 1.0)
ONE = CharacterModel(steps=1, batch=8)  #: One update in a round, on eight windows.
USUAL = CharacterModel()  #: What ``carnet run`` trains: 24 updates in a round, on 32 windows each.
NO_NOISE = 1e-30


def neighbours(shared: CharacterModel, trainer: Trainer) -> Neighbours:
    """Return what alice and anton know of anna's first round, if all train so; ``shared`` is what it is made of."""
    before = trainer.train(trainer.first_model(), sample_text("alice", SIZE)).model
    return Neighbours(shared, before, trainer.train(before, sample_text("anna", SIZE)).model)


def secret_windows(trainer: CharacterModel) -> list[Window]:
    """Return the windows that anna's first round trains on."""
    drawn = batches(
        sample_text("anna", SIZE), trainer.context, trainer.steps, trainer.batch, [trainer.seed, trainer.steps]
    )
    return [tuple(map(int, row)) for batch in drawn for row in batch]


def places_told(activity: Array, windows: list[Window]) -> float:
    """Return how likely a character that stood at a place moved more than one that did not (0.5 is a guess)."""
    stood = np.zeros(activity.shape, bool)
    for window in windows:
        stood[np.arange(len(window) - 1), window[:-1]] = True
    yes, no = activity[stood], activity[~stood]
    above = (yes[:, None] > no).mean() + (yes[:, None] == no).mean() / 2
    return float(above)


def told_apart(noise: UpdateNoise | None) -> float:
    """Return how often the best test tells anna's text from another, of which each is as likely, from the update.

    Both updates are known but for the noise, and the test is that of two normal distributions.
    """
    if noise is None:
        return 1.0
    trainer = PrivateTrainer(USUAL, UpdateNoise(noise.bound, NO_NOISE), b"")
    before = neighbours(USUAL, trainer).before
    one, other = (weights_of(trainer.train(before, sample_text(name, SIZE)).model) for name in ("anna", "agnes"))
    return 0.5 * (1 + math.erf(float(np.linalg.norm(one - other)) / noise.deviation / 2 / math.sqrt(2)))


def last_loss(trainer: Trainer) -> float:
    """Return the loss of the last of nine rounds among three holders."""
    model, loss = trainer.first_model(), 0.0
    for number in range(ROUNDS):
        outcome = trainer.train(model, sample_text(HOLDERS[number % len(HOLDERS)], SIZE))
        model, loss = outcome.model, outcome.loss
    return loss


def designs() -> Iterator[tuple[str, str, UpdateNoise | None]]:
    """Yield each design: what an update is, ε of a holder with three updates, and the noise."""
    yield "whole, with the optimiser", "∞", None
    yield "clipped", "∞", UpdateNoise(BOUND, NO_NOISE)
    for epsilon in EPSILONS:
        noise = UpdateNoise(BOUND, deviation_for(epsilon, DELTA, 2 * BOUND, ROUNDS // len(HOLDERS)))
        told = GaussianAccountant().after(noise.release, ROUNDS // len(HOLDERS)).epsilon(DELTA)
        yield "clipped and noised", upward(told, 4), noise


def ratio_of(noise: UpdateNoise | None) -> str:
    """Return σ over C, rounded up."""
    return upward(0.0 if noise is None or noise.deviation == NO_NOISE else noise.deviation / noise.bound)


def made(shared: CharacterModel, noise: UpdateNoise | None) -> Trainer:
    return shared if noise is None else PrivateTrainer(shared, noise, b"a key that nobody else has")


def rows() -> Iterator[list[str]]:
    """Yield a row for each design; ε and σ are rounded up, so that the printed noise has at most the printed ε."""
    secret = secret_windows(ONE)
    for name, epsilon, noise in designs():
        known = neighbours(ONE, made(ONE, noise))
        read = len({*known.windows()} & {*secret})
        told = places_told(known.activity(), secret)
        yield [
            *(name, epsilon, ratio_of(noise), f"{read} of {len(secret)}", f"{told:.2f}"),
            *(f"{told_apart(noise):.1%}", f"{last_loss(made(USUAL, noise)):.2f}"),
        ]


def text(window: Window) -> str:
    return "".join(chr(ALPHABET[number]) for number in window).replace("\n", "¶")


def draw() -> None:
    """Draw how much each place and character moved, without a defence, clipped, and noised; and what was read."""
    from matplotlib.figure import Figure

    secret = secret_windows(ONE)
    by_epsilon = {epsilon: noise for _, epsilon, noise in designs() if noise is None or noise.deviation > NO_NOISE}
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    axes = figure.subplots(3, 1)
    names = {"∞": "whole update", "1000": "noised, ε = 1,000", "8": "noised, ε = 8"}
    for axis, (epsilon, name) in zip(axes, names.items(), strict=True):
        known = neighbours(ONE, made(ONE, by_epsilon[epsilon]))
        axis.imshow(known.activity(), cmap="gray_r", aspect="auto")
        for window in secret:
            axis.plot(window[:-1], range(ONE.context), ".", color="tab:red", markersize=4)
        read = sorted(map(text, known.windows()))
        axis.set_title(f"{name}. Read: {', '.join(map(repr, read)) or 'nothing'}", fontsize=8, loc="left")
        axis.set_xticks(range(len(ALPHABET)), [repr(chr(each))[1:-1] for each in ALPHABET], fontsize=7)
        axis.set_yticks([])
        axis.set_ylabel("place", fontsize=8)
    figure.savefig(RESULTS / "rows.png", dpi=90, metadata={"Software": None})


def recorded() -> list[dict[str, str]]:
    with (RESULTS / "designs.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / "designs.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows()])
    draw()


if __name__ == "__main__":
    main()
