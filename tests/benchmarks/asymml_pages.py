"""Measures the asymmetric split for the documentation: what it costs, what it tells, and how much noise it takes.

``OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.asymml_pages`` writes ``docs/results/asymml``. Seeds are fixed;
times are those of the machine.
"""

import csv
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from carnet_ref.privacy import GaussianAccountant, Release, deviation_for, upward
from carnet_ref.systems.asymml.network import SPLIT_LAYERS, Weights, backward, features_of, forward, pictures
from carnet_ref.systems.asymml.split import (
    Array,
    GaussianMechanism,
    Gpu,
    Mechanism,
    SplitConvolution,
    channel_entropy,
    convolve,
    input_gradient,
    multiplications,
    split,
    weight_gradient,
)
from tests.fixtures.split_attacks import Unnoised, reconstruct, unprotected

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results" / "asymml"
DELTA = 1e-5
EPSILONS = (1.0, 8.0, 100.0, 1000.0, 10_000.0)
SHOWN = 8
CHANNELS, SIDE, RANK = 64, 32, 4


def plain() -> list[SplitConvolution]:
    return [SplitConvolution(1, unprotected, unprotected, Gpu())] * SPLIT_LAYERS


def trained(steps: int = 300, batch: int = 8, rate: float = 0.05) -> Weights:
    """Return the weights after training on 256 pictures, without any defence."""
    weights, source, layers = Weights.draw(1), np.random.default_rng(0), plain()
    seen, labels = pictures(256, 7)
    for _ in range(steps):
        chosen = source.integers(0, len(seen), batch)
        found = [backward(forward(seen[i], weights, layers), int(labels[i]), weights, layers) for i in chosen]
        for gradients in found:
            weights = weights.minus(rate / batch, gradients)
    return weights


def accuracy(weights: Weights, mechanism: Mechanism) -> float:
    """Return the share of 200 new pictures whose shape the split network names."""
    layers = [SplitConvolution(1, mechanism, unprotected, Gpu())] * SPLIT_LAYERS
    seen, labels = pictures(200, 8)
    named = [int(forward(picture, weights, layers).likely.argmax()) for picture in seen]
    return float(np.mean(np.array(named) == labels))


def norms(weights: Weights) -> tuple[float, float]:
    """Return the median norm of the residuals of the first split layer, and of its features."""
    features = [features_of(picture, weights) for picture in pictures(200, 5)[0]]
    residuals = [split(each, 1, unprotected).residual for each in features]
    return _median_norm(residuals), _median_norm(features)


def _median_norm(arrays: list[Array]) -> float:
    return float(np.median([np.linalg.norm(each) for each in arrays]))


def defences(bound: float) -> Iterator[tuple[str, str, str, Callable[[], Mechanism]]]:
    """Yield what is known of each mechanism: its name, ε of an image, σ over the bound; and the mechanism, afresh.

    Both numbers are rounded up, so that the printed noise has at most the printed ε.
    """
    yield "none", "∞", "0", lambda: unprotected
    yield "clipped only", "∞", "0", lambda: Unnoised(bound)
    for epsilon in reversed(EPSILONS):
        deviation = deviation_for(epsilon, DELTA, 2 * bound, SPLIT_LAYERS)

        def mechanism(deviation: float = deviation) -> Mechanism:
            return GaussianMechanism(bound, deviation, np.random.default_rng(3))

        told = GaussianAccountant().after(Release(2 * bound, deviation), SPLIT_LAYERS)
        yield "clipped and noised", upward(told.epsilon(DELTA), 4), upward(deviation / bound), mechanism


def privacy(weights: Weights) -> Iterator[list[str]]:
    """Yield a row for each defence: the error of the decoder on the first layer, and what is left of the accuracy."""
    secrets, own, bound = pictures(24, 99)[0], pictures(200, 5)[0], norms(weights)[0]
    for name, epsilon, ratio, mechanism in defences(bound):
        error = reconstruct(secrets, own, weights, 1, mechanism()).error
        yield [name, epsilon, ratio, f"{error:.2f}", f"{accuracy(weights, mechanism()):.0%}"]


def entropies(weights: Weights) -> dict[str, list[float]]:
    """Return the SVD-channel entropy of 100 pictures' features at each place of the network."""
    found: dict[str, list[float]] = {}
    layers = plain()
    for picture in pictures(100, 8)[0]:
        features, one, two = forward(picture, weights, layers).before
        places = {
            "conv 1, ReLU": features,
            "conv 2": one,
            "conv 2, ReLU": np.maximum(one, 0),
            "conv 3": two,
            "conv 3, ReLU": np.maximum(two, 0),
        }
        for place, values in places.items():
            found.setdefault(place, []).append(channel_entropy(values))
    return found


def costs() -> Iterator[list[str]]:
    """Yield a row for each part of a layer of 64 channels: multiplications, and the least time."""
    source = np.random.default_rng(1)
    features, gradient = (source.normal(size=(CHANNELS, SIDE, SIDE)) for _ in range(2))
    kernels = source.normal(size=(CHANNELS, CHANNELS, 3, 3))
    parts, there = split(features, RANK, unprotected), split(gradient, RANK, unprotected)
    work = multiplications(CHANNELS, CHANNELS, SIDE * SIDE, RANK)

    def low() -> Array:
        return convolve(parts.principal, np.einsum("mnij,nr->mrij", kernels, parts.basis))

    def low_back() -> object:
        merged = np.einsum("mnij,mr->rnij", kernels, there.basis)
        return (
            input_gradient(there.principal, merged),
            np.einsum("mrij,nr->mnij", weight_gradient(parts.principal, there.total), parts.basis),
            np.einsum("rnij,mr->mnij", weight_gradient(parts.residual, there.principal), there.basis),
        )

    whole = _least(lambda: convolve(features, kernels))
    back = _least(lambda: (input_gradient(gradient, kernels), weight_gradient(features, gradient)))
    rows = [
        ("forward, whole (as on the GPU)", f"{work['whole']:,}", whole, whole),
        ("forward, TEE's part", f"{work['TEE']:,}", _least(low), whole),
        ("forward, decomposition", "", _least(lambda: split(features, RANK, unprotected)), whole),
        ("backward, whole (as on the GPU)", f"{2 * work['whole']:,}", back, back),
        ("backward, TEE's part", f"{3 * work['TEE']:,}", _least(low_back), back),
        ("backward, decomposition", "", _least(lambda: split(gradient, RANK, unprotected)), back),
    ]
    yield from ([name, count, f"{1000 * took:.1f}", f"{took / base:.2f}"] for name, count, took, base in rows)


def _least(call: Callable[[], object], times: int = 40) -> float:
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return min(found)  # the machine is shared, which only adds


def draw_pictures(weights: Weights) -> None:
    """Draw secrets, what the GPU is given of them, and what is made of that with and without the defence."""
    secrets, own, bound = pictures(SHOWN, 99)[0], pictures(200, 5)[0], norms(weights)[0]
    by_name = {(name, epsilon): mechanism for name, epsilon, _, mechanism in defences(bound)}
    chosen = [by_name["none", "∞"], by_name["clipped only", "∞"], by_name["clipped and noised", "8"]]
    bare = [split(features_of(each, weights), 1, unprotected).residual for each in secrets]
    residuals = [np.sqrt(np.square(each).sum(axis=0)) for each in bare]
    made = [reconstruct(secrets, own, weights, 1, mechanism()).guesses for mechanism in chosen]
    names = ("secret", "its residual", "made of it:\nno defence", "clipped only", "clipped and\nnoised, ε = 8")
    figure, axes = _figure(len(names), SHOWN)
    for row, (name, images) in enumerate(zip(names, [[*secrets], residuals, *([*each] for each in made)], strict=True)):
        for axis, image in zip(axes[row], images, strict=True):
            scale = {"vmin": 0, "vmax": 1} if row != 1 else {}
            axis.imshow(image, cmap="gray", **scale)
            axis.set_xticks([])
            axis.set_yticks([])
        axes[row][0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    figure.savefig(RESULTS / "reconstruction.png", dpi=90, bbox_inches="tight", metadata={"Software": None})


def draw_entropies(found: dict[str, list[float]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    axis = figure.add_subplot()
    axis.boxplot([*found.values()], tick_labels=[*found])
    axis.axhline(4, linestyle=":", color="gray")
    axis.set_ylim(0, 4.2)
    axis.set_ylabel("SVD-channel entropy (bits)\nof at most log₂ 16 = 4")
    figure.savefig(RESULTS / "entropy.png", dpi=90, metadata={"Software": None})


def _figure(rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(columns, rows))
    return figure, figure.subplots(rows, columns)


def write(name: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    with (RESULTS / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def read(name: str) -> list[dict[str, str]]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    weights = trained()
    write("costs", ("one image, 64 channels of 32 × 32, r = 4", "multiplications", "ms", "of the whole"), costs())
    write("privacy", ("residuals are", "ε of an image", "σ/C", "error", "accuracy"), privacy(weights))
    residual, features = norms(weights)
    found = entropies(weights)
    rows = [[place, f"{np.median(each):.2f}", f"{2 ** np.median(each):.1f}"] for place, each in found.items()]
    write("entropy", ("features after", "median entropy (bits)", "channels in effect"), rows)
    sizes = [f"{size:.2f}" for size in (residual, features, features / residual)]
    write("norms", ("residual", "features", "ratio"), [sizes])
    draw_entropies(found)
    draw_pictures(weights)


if __name__ == "__main__":
    main()
