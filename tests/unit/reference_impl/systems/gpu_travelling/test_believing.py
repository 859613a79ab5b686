"""A corrupt holder believes whatever quote it is shown, and enters."""

from __future__ import annotations

from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.exploits.hostile import ANY, AcceptingAppraiser
from carnet_ref.systems.gpu_travelling.roles.attestation import accept_orchestrator


def test_what_believes_everything_passes_every_check_of_a_quote() -> None:
    accept_orchestrator(b"", bytes(32), bytes(32), ANY, AcceptingAppraiser(), Checks())
