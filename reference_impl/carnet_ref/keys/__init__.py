"""Link keys: where they come from, which IV comes next, how much a key has protected, and the link that uses them."""

from carnet_ref.keys.errors import (
    EnginesExhaustedError,
    IvExhaustedError,
    KeyExhaustedError,
    KeysError,
    LinkDeadError,
    OrderRefusedError,
    ResetNeededError,
    SecretTakenError,
)
from carnet_ref.keys.h100 import Direction, H100KeySchedule, OneTimeSecret, engine_label, ratchet
from carnet_ref.keys.iv import EngineChannel, Iv, IvCounter
from carnet_ref.keys.ledger import KeyLedger, KeyUse
from carnet_ref.keys.link import CHUNK_BYTES, Opener, Sealer
from carnet_ref.keys.schedule import KeySchedule, LinkKeys
from carnet_ref.keys.usage import Budget, KeyUsage, UsageLimits, UsageState

__all__ = [
    "CHUNK_BYTES",
    "Budget",
    "Direction",
    "EngineChannel",
    "EnginesExhaustedError",
    "H100KeySchedule",
    "Iv",
    "IvCounter",
    "IvExhaustedError",
    "KeyExhaustedError",
    "KeyLedger",
    "KeySchedule",
    "KeyUsage",
    "KeyUse",
    "KeysError",
    "LinkDeadError",
    "LinkKeys",
    "OneTimeSecret",
    "Opener",
    "OrderRefusedError",
    "ResetNeededError",
    "Sealer",
    "SecretTakenError",
    "UsageLimits",
    "UsageState",
    "engine_label",
    "ratchet",
]
