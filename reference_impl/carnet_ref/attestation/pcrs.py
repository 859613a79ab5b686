"""Platform configuration registers (PCRs), as TPMs and AWS's Nitro system have them: what a policy accepts, compared.

Source: TCG, Trusted Platform Module Library, part 1, section 11.4 (PCR).
"""

from collections.abc import Mapping
from typing import Final

from carnet_ref.attestation.appraisal import POLICY, Checklist
from carnet_ref.attestation.policies import Named, Octets

Pcrs = Mapping[int, bytes]  #: Values of registers by their numbers.
#: For each register that is asked for, the values accepted; empty: none is asked for.
AcceptedPcrs = Mapping[int, frozenset[bytes]]
NO_PCRS: Final = "measurements not compared"


def accepted_pcrs(count: int, sizes: frozenset[int]) -> Named:
    """Return what a key of a policy may say of registers from 0 to ``count`` - 1 with values of these sizes."""
    return Named(dict.fromkeys(range(count), Octets(tuple(sorted(sizes)))))


def check_pcrs(steps: Checklist, pcrs: Pcrs, accepted: AcceptedPcrs, source: str) -> None:
    """Compare registers with the values that a policy accepts; the step is ``pcrs``."""
    if not accepted:
        steps.not_requested("pcrs", POLICY, source, lacking=NO_PCRS)
        return
    wrong = next((number for number in sorted(accepted) if pcrs.get(number) not in accepted[number]), None)
    if wrong is not None:
        steps.refuse("pcrs", _difference(wrong, pcrs.get(wrong), accepted[wrong]), source)
    steps.passed("pcrs", f"accepted: {', '.join(f'PCR{number}' for number in sorted(accepted))}", source)


def _difference(number: int, found: bytes | None, accepted: frozenset[bytes]) -> str:
    shown = "not in the evidence" if found is None else found.hex()
    return f"PCR{number} is {shown}; accepted: {', '.join(sorted(value.hex() for value in accepted)) or 'none'}"


def shown_pcrs(pcrs: Pcrs) -> dict[str, str]:
    """Return the registers as claims: hexadecimal by number."""
    return {f"{number}": value.hex() for number, value in sorted(pcrs.items())}
