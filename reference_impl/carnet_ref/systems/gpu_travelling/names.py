"""What the parties of GPU Travelling are called, on the wire and in traces."""

from __future__ import annotations

from typing import Final

ORCHESTRATOR: Final = "orchestrator"
HOLDER: Final = "holder"
"""What traces call the holder that has the GPU; on the wire, every holder has its own name."""
GPU: Final = "gpu"
FOR_JOURNEY: Final = b"before a journey"
"""The body of a request to reset the GPU because the key schedule asks for a new session before it travels."""
