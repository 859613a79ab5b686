"""A few platforms and replicas in one process, which tests kill, roll back and take over from."""

from __future__ import annotations

import os
from collections import defaultdict

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.teechain.chain import Plan
from carnet_ref.systems.teechain.custody import CustodyLog, found, take_over
from carnet_ref.systems.teechain.primary import Primary
from carnet_ref.systems.teechain.replica import Replica
from carnet_ref.systems.teechain.tee import Policy, Tee, certify

ROOT = ec.generate_private_key(ec.SECP384R1())
CUSTODY = b"the custody program".ljust(48, b".")
OTHER = b"another program".ljust(48, b".")
POLICY = Policy(ROOT.public_key(), CUSTODY)


def platform(measurement: bytes = CUSTODY, root: ec.EllipticCurvePrivateKey = ROOT) -> Tee:
    """Make a platform, certified by the vendor unless another root signs."""
    identity = ec.generate_private_key(ec.SECP384R1())
    return Tee(identity, certify(root, identity), measurement, os.urandom)


class Cluster:
    """Replicas by name; each keeps its sealed states, all of them, as a platform would."""

    def __init__(self, *names: str, checks: Checks = EVERY) -> None:
        self.checks = checks
        self.platforms = {name: platform() for name in names}
        self.states: dict[tuple[str, bytes], list[bytes]] = defaultdict(list)
        self.replicas = {name: self.launch(name) for name in names}
        self.down: set[str] = set()

    def launch(self, name: str) -> Replica:
        """Launch a replica with an empty memory, in place of the one that ran there."""

        def store(chain: bytes, sealed: bytes) -> None:
            self.states[name, chain].append(sealed)

        return Replica(name, self.platforms[name], POLICY, os.urandom, self.checks, store)

    def carry(self, name: str, message: bytes) -> bytes:
        """Bring a message to a replica and its answer back, unless it is down."""
        if name in self.down:
            raise ConnectionResetError(name)
        return self.replicas[name].handle(message)

    def kill(self, name: str) -> None:
        """Kill a replica; what runs there afterwards has lost its memory."""
        self.replicas[name] = self.launch(name)

    def first(self, head: str, *backups: str, recovery_quorum: tuple[str, ...] = ()) -> CustodyLog:
        """Open the first chain."""
        return found(Primary(self.replicas[head], backups, recovery_quorum), self.carry)

    def next(self, before: Plan, head: str, *backups: str, recovery_quorum: tuple[str, ...] = ()) -> CustodyLog:
        """Take a chain over."""
        return take_over(Primary(self.replicas[head], backups, recovery_quorum, before), before, self.carry)
