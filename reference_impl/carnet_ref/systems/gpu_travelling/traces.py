"""Which threat model the trace of a run is checked under."""

from __future__ import annotations

import json
from collections.abc import Iterable


def with_threat_model(lines: Iterable[str]) -> tuple[list[str], str]:
    """Return the lines of a whole run that count, and the threat model that they are checked under.

    A GPU that was reset is the work of a platform that nobody trusts, and then its routing means nothing either.
    """
    kept = list(lines)
    if not any(json.loads(line)["action"] == "reset" for line in kept):
        return kept, "outsider"
    return [line for line in kept if json.loads(line)["action"] != "switch_mux"], "hypervisor"
