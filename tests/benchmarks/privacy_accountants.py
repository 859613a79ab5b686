"""Records what the accountants of ``dp-accounting`` say of Gaussian mechanisms, beside Carnet's own.

The library brings SciPy and more, so it is in no extra. In an environment of its own, with Carnet's folders on
``PYTHONPATH``::

    pip install dp-accounting==0.6.0 click
    python -m tests.benchmarks.privacy_accountants

writes ``docs/results/privacy/accountants.csv``. Its three accountants are the closed form for one Gaussian (exact, in
floating point), privacy loss distributions (PLD, on a grid, rounded so that ε is too large) and Rényi divergences (RDP,
an upper bound). The closed form takes no sampling, and neither does Carnet's accountant.
"""

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from carnet_ref.privacy import GaussianAccountant, Release, upward

RECORD = Path(__file__).resolve().parents[2] / "docs" / "results" / "privacy" / "accountants.csv"
VERSION = "0.6.0"
DIGITS = 7  #: Of Carnet's ε, which is rounded up.
HEAD = ("σ/Δ", "releases", "sampled", "δ", "Carnet", "closed form", "PLD", "RDP", "RDP above PLD")
#: Noise as a multiple of the sensitivity, releases, the share of subjects that is drawn for each (Poisson), and δ.
CASES: tuple[tuple[float, int, float, float], ...] = (
    (0.5, 1, 1, 1e-5),
    (1, 1, 1, 1e-5),
    (4, 1, 1, 1e-5),
    (4, 1, 1, 1e-10),
    (20, 1, 1, 1e-5),
    (100, 1, 1, 1e-3),
    (4, 9, 1, 1e-6),
    (10, 100, 1, 1e-5),
    (30, 1000, 1, 1e-6),
    (1, 100, 0.01, 1e-5),
    (1, 1000, 0.01, 1e-5),
    (0.8, 10_000, 0.001, 1e-6),
)


def exact(ratio: float, releases: int, delta: float) -> float:
    """Return Carnet's ε."""
    return GaussianAccountant().after(Release(1.0, ratio), releases).epsilon(delta)


def recorded() -> list[dict[str, str]]:
    with RECORD.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _rows() -> Iterator[list[str]]:
    import dp_accounting

    for ratio, releases, share, delta in CASES:
        event: object = dp_accounting.GaussianDpEvent(ratio)
        if share < 1:
            event = dp_accounting.PoissonSampledDpEvent(share, event)
        found = []
        for accountant in (dp_accounting.pld.PLDAccountant(), dp_accounting.rdp.RdpAccountant()):
            found.append(accountant.compose(event, releases).get_epsilon(delta))
        alone = ["–", "–"]
        if share == 1:
            closed = dp_accounting.get_epsilon_gaussian(ratio / math.sqrt(releases), delta)
            alone = [upward(exact(ratio, releases, delta), DIGITS), f"{closed:.6f}"]
        pld, rdp = found
        yield [
            *(f"{ratio:g}", f"{releases}", "all" if share == 1 else f"{share:g}", f"{delta:g}"),
            *(*alone, f"{pld:.6f}", f"{rdp:.6f}", f"{rdp / pld - 1:.1%}"),
        ]


def main() -> None:
    """Write the record. Raises RuntimeError if another version of the library is installed."""
    from importlib.metadata import version

    if version("dp-accounting") != VERSION:
        raise RuntimeError(f"expected dp-accounting {VERSION}, found {version('dp-accounting')}")
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    with RECORD.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *_rows()])


if __name__ == "__main__":
    main()
