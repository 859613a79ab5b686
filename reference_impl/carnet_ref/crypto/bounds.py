"""Upper bounds on the advantage of attackers against AES-256-GCM, with one key and with many, as exact fractions.

A *block* is 16 bytes. The bounds for one key do not apply to a session with several keys: an attacker attacks all keys
together, and the draft says that the bounds for one key must not be used then.

As in the draft, terms are left out that are negligible for keys of 256 bits: an attacker who computes AES 2^80 times
gains less than 2^-160 by that. AES itself is assumed to be ideal.

Source: draft-irtf-cfrg-aead-limits-11, sections 6.2 (one key: Iwata, Ohashi and Minematsu, CRYPTO 2012) and 7.1 (many
keys: Hoang, Tessaro and Thiruvengadam, CCS 2018, Theorem 4.3, whose IVs are XORed with a secret mask); revision 03 of
the draft, section 6.1, for masks that are not random (Theorem 3.1): half a block more. NVIDIA
open-gpu-kernel-modules 595.45.04, conf_compute.c (confComputeSetKeyRotationThreshold), for the driver's limits.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from carnet_ref.crypto.primitives import KeyMaterialError

#: The driver's limits of one key, by the exponent of the advantage: one limit for each of 2^-50 to 2^-65.
DRIVER_UNITS: Final[Mapping[int, int]] = MappingProxyType(
    dict(
        enumerate(
            (
                *(777_472_127_993, 549_755_813_887, 388_736_063_996, 274_877_906_943),
                *(194_368_031_997, 137_438_953_471, 97_184_015_998, 68_719_476_735),
                *(48_592_007_999, 34_359_738_367, 24_296_003_999, 17_179_869_183),
                *(12_148_001_999, 8_589_934_591, 6_074_000_999, 4_294_967_295),
            ),
            start=50,
        )
    )
)
#: Blocks that the bound adds to those of every key: 97 for a key of 256 bits, and a half without random masks.
SMALL_PRINT: Final = Fraction(195, 2)


def one_key_confidentiality(blocks: int, messages: int) -> Fraction:
    """Return the advantage of distinguishing ``messages``, with ``blocks`` in all, from random bytes."""
    return Fraction((blocks + messages + 1) ** 2, 2**129)


def one_key_integrity(attempts: int, longest: int) -> Fraction:
    """Return the probability that one of ``attempts`` forged messages of at most ``longest`` blocks is accepted."""
    return Fraction(2 * attempts * (longest + 1), 2**128)


@dataclass(frozen=True, slots=True)
class Load:
    """The total use of many keys."""

    blocks: int  #: the blocks protected by all keys together.
    attempts: int  #: the forged messages tried against all keys together.
    longest: int  #: the blocks of the longest message.
    most: int  #: the most blocks protected by one key.

    @property
    def confidentiality(self) -> Fraction:
        """The advantage of distinguishing all messages from random bytes."""
        return self._joint(self.blocks)

    @property
    def integrity(self) -> Fraction:
        """The advantage against authenticated encryption: a forgery is accepted, or ciphertexts are distinguished.

        For many keys no separate bound on forgeries is known; this one covers both.
        """
        return self._joint(self.blocks + self.attempts * self.longest)

    def _joint(self, blocks: int) -> Fraction:
        return blocks * (self.most + SMALL_PRINT) / 2**127


def one_key_units(exponent: int) -> int:
    """Return the most work units (blocks and messages) whose `one_key_confidentiality` is at most 2^-exponent."""
    return math.isqrt(2 ** (129 - exponent)) - 1


def driver_units(exponent: int) -> int:
    """Return the work units that the driver allows one key for an advantage of 2^-exponent.

    Raises KeyMaterialError if the driver has no limit for it.
    """
    units = DRIVER_UNITS.get(exponent)
    if units is None:
        known = f"{min(DRIVER_UNITS)} to {max(DRIVER_UNITS)}"
        raise KeyMaterialError("attacker advantage", f"2^-{exponent}; the driver knows exponents from {known}")
    return units


def log2(bound: Fraction) -> float:
    """Return the exponent of a bound, as -60.0 for 2^-60."""
    return math.log2(bound.numerator) - math.log2(bound.denominator)
