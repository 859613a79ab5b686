"""The format of NVIDIA's reference integrity manifests (RIMs): ``carnet attest rim``."""

from __future__ import annotations

from typing import Final

from carnet_ref.attestation.anchors import AnchorRole
from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.attestation.formats import Against, Format, Given
from carnet_ref.attestation.nvidia.rim import appraise_rim


def recognise(data: bytes, given: Given) -> bytes:
    """Return the manifest as it is: the appraisal reads it in its first step."""
    del given
    return data


def appraise(evidence: bytes, given: Given, against: Against[None]) -> Appraisal:
    """Appraise the manifest: its certificates and its signature."""
    del given
    return appraise_rim(evidence, at=against.at, anchors=against.anchors.of(AnchorRole.NVIDIA_RIM))


FORMAT: Final = Format(
    argument="rim",
    help="""Appraise RIM: one file of reference values, as NVIDIA publishes them in XML.

    It is accepted if NVIDIA signed it, by certificates valid at --at. What a GPU measured is compared with it by
    `carnet attest gpu --rim`.
    """,
    options=(),
    default_policy=None,
    recognise=recognise,
    appraise=appraise,
)
"""NVIDIA's reference values, by themselves."""
