"""What is refused, and why: one error for sessions, one for tensors, and one for an NPU that halted."""

from __future__ import annotations


class TensorTeeError(Exception):
    """Something that the protocol refuses."""


class SessionError(TensorTeeError):
    """A session that does not begin.

    Attributes:
        reason: what is wrong.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"no session: {reason}")
        self.reason = reason


class TensorError(TensorTeeError):
    """A step with a tensor that an enclave refuses to take.

    Attributes:
        tensor: its number.
        reason: what is wrong with the step.
    """

    def __init__(self, tensor: int, reason: str) -> None:
        super().__init__(f"tensor {tensor}: {reason}")
        self.tensor = tensor
        self.reason = reason


class HaltedError(TensorTeeError):
    """A step that is refused because the MAC of some tensor failed before."""

    def __init__(self) -> None:
        super().__init__("a MAC failed, and the NPU has halted")
