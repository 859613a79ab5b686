"""Findings: what the three optimisations need, which the abstract of the paper does not say.

Each is an attack on a reading of the abstract. The paper itself may exclude it.
"""

from __future__ import annotations

from functools import partial

from carnet_spec.language.family import Finding

STOCK = "the stock protocol"
ABSTRACT = "the abstract of the paper, read literally"

_finding = partial(Finding, threat="collusion", about=ABSTRACT)

FINDINGS = (
    Finding(
        "finding-1",
        "re-encryption: the CPU TEE, honest or not, reads what the user sends",
        threat="outsider",
        claim="confidentiality",
        variant="through-the-cpu",
        about=STOCK,
    ),
    _finding(
        "finding-2",
        "the CPU TEE is out of the data path and still submits the work: its kernel copies the data out",
        claim="confidentiality",
        variant="cpu-launches",
    ),
    _finding(
        "finding-3",
        "chunks that are authenticated independently change places",
        claim="chunk-agreement",
        variant="independent-tags",
    ),
    _finding(
        "finding-4",
        "a tag that binds neither number nor last: the transfer is cut short",
        claim="whole-transfer",
        variant="no-length",
    ),
    _finding(
        "finding-5",
        "every chunk that is read was verified, and the transfer is cut short all the same",
        claim="whole-transfer",
        variant="prefix-start",
    ),
    _finding(
        "finding-6",
        "decryption overlaps and writes in place: a kernel reads what no tag covers",
        claim="verified-release",
        variant="decrypt-in-place",
    ),
    _finding(
        "finding-7",
        "tag and plaintext come from two reads of host memory: what was verified is not what is read",
        claim="verified-release",
        variant="two-fetches",
    ),
)
