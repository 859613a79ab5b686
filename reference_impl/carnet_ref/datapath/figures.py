"""Figures that the cost model rests on: each an interval with a nominal value, a standing and a source.

A figure that nobody has published is an interval with the standing *assumed*; it is never quietly a constant.
"""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from carnet_ref.datapath.quantities import QuantityError

SECONDS = "s"
BYTES_PER_SECOND = "B/s"


class Standing(StrEnum):
    """How much a figure may be leaned on."""

    CITED = "cited"
    SECONDARY = "secondary"
    MEASURED = "measured"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Figure:
    """A quantity known to lie between two bounds."""

    name: str  #: what it is.
    unit: str  #: ``B/s``, ``s``, ``B`` or ``1`` (a pure number).
    low: float  #: the lower bound.
    nominal: float  #: the value used where one value must be named.
    high: float  #: the upper bound.
    standing: Standing  #: cited from its source, from a secondary one, measured here, or assumed.
    source: str  #: where it comes from; for an assumed one, why the interval is what it is.

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.nominal <= self.high:
            raise QuantityError(f"{self.name}: expected 0 ≤ {self.low} ≤ {self.nominal} ≤ {self.high}")

    def within_factor(self, value: float, factor: float) -> bool:
        """Say whether ``value`` lies at most ``factor`` outside the interval."""
        return self.low / factor <= value <= self.high * factor


def _figure(name: str, unit: str, bounds: tuple[float, float, float], standing: Standing, source: str) -> Figure:
    """Return a figure between its bounds: low, nominal and high."""
    return Figure(name, unit, *bounds, standing, source)


def _figures(*figures: Figure) -> MappingProxyType[str, Figure]:
    return MappingProxyType({figure.name: figure for figure in figures})


FIGURES = _figures(
    _figure(
        "cpu aes-256-gcm",
        BYTES_PER_SECOND,
        (2.09e9, 3.91e9, 7.8e9),
        Standing.MEASURED,
        "OpenSSL 3.0 on one core: 2.09 GB/s at 4 KiB, 3.91 GB/s at 1 MiB; with VAES up to twice that (FreeBSD)",
    ),
    _figure(
        "h100 cc transfer",
        BYTES_PER_SECOND,
        (3e9, 4e9, 5e9),
        Standing.CITED,
        "NVIDIA developer blog on H100 confidential computing (August 2023): roughly 4 GB/s, limited by CPU encryption",
    ),
    _figure(
        "pcie gen5 x16",
        BYTES_PER_SECOND,
        (32e9, 64e9, 64e9),
        Standing.CITED,
        "PCI Express 5.0: 32 GT/s on 16 lanes, about 64 GB/s a direction before protocol overhead",
    ),
    _figure(
        "bounce copy",
        BYTES_PER_SECOND,
        (5e9, 12e9, 25e9),
        Standing.ASSUMED,
        "unpublished; between half and twice what one core copies through memory",
    ),
    _figure(
        "gpu verify",
        BYTES_PER_SECOND,
        (2e9, 50e9, 500e9),
        Standing.ASSUMED,
        "unpublished; GHASH is the bottleneck of GPU AES-GCM (arXiv 2602.23067)",
    ),
    _figure(
        "gpu decrypt",
        BYTES_PER_SECOND,
        (50e9, 200e9, 1000e9),
        Standing.ASSUMED,
        "unpublished; counter mode is parallel and slower than memory (3.35 TB/s)",
    ),
    _figure(
        "scrub",
        BYTES_PER_SECOND,
        (10e9, 400e9, 3.35e12),
        Standing.ASSUMED,
        "unpublished; at most the memory's rate (vendor figure for HBM3), at least a copy engine's tenth part",
    ),
    _figure(
        "launch",
        SECONDS,
        (2e-6, 1e-5, 5e-5),
        Standing.ASSUMED,
        "unpublished for confidential mode; usual order of a CUDA copy or launch",
    ),
    _figure(
        "attestation",
        SECONDS,
        (0.05, 0.5, 5.0),
        Standing.ASSUMED,
        "no measured figure for SPDM with a GPU report, nor for a TDX quote",
    ),
    _figure(
        "rotation pause",
        SECONDS,
        (1e-3, 0.1, 5.0),
        Standing.ASSUMED,
        "unpublished; the driver looks once a second and waits up to 5 s for channels (conf_compute_key_rotation.c)",
    ),
    _figure(
        "mux switch",
        SECONDS,
        (1e-3, 5e-3, 1e-2),
        Standing.SECONDARY,
        "notes on the authors' kernel patches: host-side context switch of 1 to 10 ms",
    ),
    _figure(
        "pipellm transfer",
        BYTES_PER_SECOND,
        (40e9, 40e9, 40e9),
        Standing.SECONDARY,
        "public walk-through of PipeLLM (arXiv 2411.03357): about 40 GB/s beside about 64 GB/s plain",
    ),
    _figure(
        "nvlink 4",
        BYTES_PER_SECOND,
        (100e9, 450e9, 450e9),
        Standing.SECONDARY,
        "vendor figure for H100 SXM: 900 GB/s in both directions together",
    ),
)

BOUNCE_BUFFERS = 32  #: Bounce buffers to start with, 2 MiB each. Source: open-gpu-kernel-modules, uvm_conf_computing.h.

#: Largest piece that the user-mode driver encrypts under one IV. Source: PipeLLM's repository, pipellm.h.
CUDA_UNIT_BYTES = 2**20


def with_unit(name: str) -> str:
    """Return a figure's name with its unit; another name already ends in its unit and stays as it is."""
    return f"{name}, {FIGURES[name].unit}" if name in FIGURES else name
