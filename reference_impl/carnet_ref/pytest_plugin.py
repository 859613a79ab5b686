"""A pytest plugin for relying parties: the fixture ``carnet_attestation``.

Whoever has this package installed can test code that admits others by their evidence::

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
    """Return simulated attesters: genuine evidence, and the same altered in ways that an appraisal has to notice."""
    from carnet_ref.attestation.simulated.attesters import SimulatedAttesters

    return SimulatedAttesters()
