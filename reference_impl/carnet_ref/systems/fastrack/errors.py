"""What is refused, and why: one error for each of setup, kernels and transfers."""

from __future__ import annotations


class FastrackError(Exception):
    """Something that the protocol refuses."""


class ReportError(FastrackError):
    """A report that a user does not take.

    Attributes:
        reason: what is wrong with it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the report is not taken: {reason}")
        self.reason = reason


class KernelError(FastrackError):
    """Code that the GPU does not run.

    Attributes:
        digest: the SHA-384 of the code.
    """

    def __init__(self, digest: bytes) -> None:
        super().__init__(f"the user did not name the code {digest.hex()[:16]}…")
        self.digest = digest


class TransferError(FastrackError):
    """A transfer that ends, of which nothing is released; or a step that its ends refuse to take in it.

    Attributes:
        transfer: its number.
        reason: what is wrong with it.
    """

    def __init__(self, transfer: int, reason: str) -> None:
        super().__init__(f"transfer {transfer}: {reason}")
        self.transfer = transfer
        self.reason = reason
