"""The steps of recorded attacks: one that still is an attack on a changed specification is not looked for again.

``results/KIND/PROTOCOL.steps.xz`` has them by design, threat model and claim. They are witnesses: nothing but the steps
is believed, and ``carnet_check.witnesses`` checks them in the design as it is now.
"""

import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from carnet_check.loading.families import Source
from carnet_check.witnesses import is_attack
from carnet_spec.language import Family, Profile, Protocol, SpecificationError
from carnet_spec.trace import Trace, TraceStep

RESULTS = Path(__file__).parents[3] / "docs" / "results"
#: Sizes beside those of the hunts of a protocol: some attacks need a second honest party.
BESIDE = {"gpu-travelling": (Profile("two honest holders", {"holders": 2}, budget=1),)}


def sizes(family: Family, variant: str) -> tuple[Profile, ...]:
    """Return the sizes in which attacks on a variant are looked for."""
    return (*family.sizes_to_hunt(variant), *BESIDE.get(family.id, ()))


class Attacked(NamedTuple):
    """An attack on a claim of a design, in an instance of some size."""

    protocol: Protocol
    removed: tuple[str, ...]  #: The defences that the design lacks beside those that its variant lacks.
    claim: str
    profile: Profile
    trace: Trace


class Traces:
    """The steps of the attacks that a record of a protocol names."""

    def __init__(self, source: Source, kind: str) -> None:
        self.source = source
        self._family = source.family
        self._file = RESULTS / kind / f"{source.family.id}.steps.xz"
        self._kept = json.loads(lzma.decompress(self._file.read_bytes())) if self._file.exists() else {}

    def recorded(self, row: Mapping[str, Any]) -> Attacked | None:
        """Return the attack that a row of a record names, if it is one on the design as it is now."""
        try:
            protocol = self._family.protocol(row["variant"], tuple(row["removed"]))
        except SpecificationError:
            return None
        return self.attack(protocol, row["removed"], row["threat"], row["claim"])

    def attack(self, protocol: Protocol, removed: Sequence[str], threat: str, claim: str) -> Attacked | None:
        """Return the recorded attack on a claim of a design, if it still is one."""
        name, steps = self._kept.get(_key(protocol, removed, threat, claim), ("", ()))
        for profile in sizes(self._family, protocol.variant):
            if profile.name == name:
                taken = tuple(TraceStep(action, by, tuple(args.items())) for action, by, args in steps)
                without = (*self._family.variants[protocol.variant].without, *removed)
                trace = Trace(protocol.id, protocol.variant, without, threat, taken)
                if is_attack(self.source, protocol, profile, claim, trace):
                    return Attacked(protocol, tuple(removed), claim, profile, trace)
        return None

    def keep(self, found: Attacked) -> None:
        """Keep the steps of an attack that was found."""
        trace = found.trace
        steps = [(step.action, step.by, step.env) for step in trace.steps]
        self._kept[_key(found.protocol, found.removed, trace.threat, found.claim)] = (found.profile.name, steps)

    def write(self) -> None:
        """Write the file, if there is anything to write."""
        if self._kept:
            text = json.dumps(dict(sorted(self._kept.items())), ensure_ascii=False, separators=(",", ":"))
            self._file.parent.mkdir(exist_ok=True)
            self._file.write_bytes(lzma.compress(text.encode()))


def _key(protocol: Protocol, removed: Sequence[str], threat: str, claim: str) -> str:
    return " ".join((protocol.variant, ",".join(removed) or "-", threat, claim))
