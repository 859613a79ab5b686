"""Trust anchors: the certificates that a chain of evidence must end in, each with its name, fingerprint and source.

The defaults lie in ``anchors.json`` beside this module, one row for each certificate; roots made for tests are never
among them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

from cryptography import x509

from carnet_ref.crypto.certificate_path import fingerprint, is_authority, name, parse_pem_chain
from carnet_ref.wire import MalformedError


class AnchorRole(StrEnum):
    """What a trust anchor vouches for."""

    NVIDIA_DEVICE = "nvidia-device-identity"
    NVIDIA_RIM = "nvidia-rim"
    INTEL_SGX = "intel-sgx"
    AMD_SEV = "amd-sev"


@dataclass(frozen=True, slots=True)
class Anchors:
    """The certificates that are trusted, by what each vouches for."""

    by_role: Mapping[AnchorRole, tuple[x509.Certificate, ...]]

    def of(self, role: AnchorRole) -> tuple[x509.Certificate, ...]:
        """Return the certificates that vouch for ``role``."""
        return self.by_role.get(role, ())


@cache
def default_anchors() -> Anchors:
    """Return the production roots of the vendors.

    Source: the ``source`` of each row of ``anchors.json``.
    """
    assert __package__ is not None
    by_role: dict[AnchorRole, tuple[x509.Certificate, ...]] = {}
    for row, certificate in certificate_table(__package__, "anchors.json"):
        role = AnchorRole(row["role"])
        by_role[role] = (*by_role.get(role, ()), certificate)
    return Anchors(by_role)


def certificate_table(package: str, file: str) -> list[tuple[dict[str, str], x509.Certificate]]:
    """Return the rows of a table of public certificates in a package, each with the certificate that it names.

    Source: the ``source`` of each row.
    """
    rows = json.loads(resources.files(package).joinpath(file).read_text("utf-8"))
    found = []
    for row in rows:
        (certificate,) = parse_pem_chain("\n".join(row["certificate"]).encode())
        assert fingerprint(certificate) == row["sha256"], f"{row['name']} is not the certificate that its row names"
        found.append((row, certificate))
    return found


def anchors_from_pem(data: bytes) -> Anchors:
    """Return anchors that replace the defaults: each certificate in ``data`` vouches for every role.

    Raises MalformedError if ``data`` is not PEM certificates of authorities; evidence, which has others in it, is none.
    """
    if not data.isascii():
        raise MalformedError("trust anchors", "PEM", "raw bytes")
    certificates = parse_pem_chain(data)
    other = next((certificate for certificate in certificates if not is_authority(certificate)), None)
    if other is not None:
        raise MalformedError("trust anchors", "certificates of authorities", f"that of {name(other)}")
    return Anchors(dict.fromkeys(AnchorRole, certificates))
