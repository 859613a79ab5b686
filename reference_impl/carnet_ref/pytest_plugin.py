"""A pytest plugin for relying parties: the fixture ``carnet_attestation``.

With this package installed, users can test code that admits other machines by their evidence::

    def test_only_genuine_machines_are_admitted(carnet_attestation):
        nonce = bytes(64)
        genuine = carnet_attestation.tdx(nonce)
        assert admits(genuine.document, **genuine.given)
        for altered in carnet_attestation.altered_tdx(nonce):
            assert not admits(altered.document, **altered.given), altered.what
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from carnet_ref.attestation.simulated.attesters import SimulatedAttesters


@pytest.fixture(scope="session")
def carnet_attestation() -> SimulatedAttesters:
    """Return simulated attesters: genuine evidence, and altered copies of it that an appraisal has to refuse."""
    from carnet_ref.attestation.simulated.attesters import SimulatedAttesters

    return SimulatedAttesters()
