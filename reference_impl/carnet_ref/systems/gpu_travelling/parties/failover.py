"""A world in which backups stand by: when the instance in charge is lost, the orchestrator goes on from their log."""

from __future__ import annotations

from dataclasses import dataclass, field

from carnet_ref.crypto.primitives import Random
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.parties.deployment import Deployment
from carnet_ref.systems.gpu_travelling.parties.replica_group import InstanceLostError, ReplicaGroup
from carnet_ref.transport.in_process import InProcessNetwork
from carnet_ref.transport.node import Node


@dataclass(slots=True, kw_only=True)
class FailoverWorld(InProcessNetwork):
    """A world whose orchestrator is a group of replicas."""

    deployment: Deployment
    group: ReplicaGroup
    random: Random = field(repr=False)

    def begin(self) -> None:
        """Let the first instance begin."""
        try:
            self._let_begin()
        except InstanceLostError as error:
            self._succeed(error)

    def run(self, limit: int = 1_000_000) -> None:
        """Go on until the device's owner is done, with whichever instance is in charge.

        Raises:
            StuckError: it never is.
            GroupEndedError: no instance can go on.
        """
        while True:
            try:
                return InProcessNetwork.run(self, limit)
            except InstanceLostError as error:
                self._succeed(error)

    def _succeed(self, lost: InstanceLostError) -> None:
        """Put the next instance in charge, until one can begin."""
        while True:
            self.group.say(str(lost))
            self.group.succeed()
            try:
                return self._let_begin()
            except InstanceLostError as error:
                lost = error

    def _let_begin(self) -> None:
        orchestrator = self.deployment.orchestrator_from(self.group, self.random)
        node = Node(ORCHESTRATOR, orchestrator, self.recorder, self.group, self.group.say)
        self.add(node, node.perform(orchestrator.begin(self.now)))
