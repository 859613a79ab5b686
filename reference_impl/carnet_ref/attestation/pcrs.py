"""Platform configuration registers (PCRs), as TPMs and AWS's Nitro system have them: what a policy accepts, compared.

Source: TCG, Trusted Platform Module Library, part 1, section 11.4 (PCR).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from carnet_ref.attestation.appraisal import POLICY, Checklist
from carnet_ref.attestation.documents import PREFIX, Document
from carnet_ref.wire import MalformedError

Pcrs = Mapping[int, bytes]
"""Values of registers by their numbers."""
AcceptedPcrs = Mapping[int, frozenset[bytes]]
"""For each register that is asked for, the values accepted; empty: none is asked for."""
NO_PCRS: Final = "measurements not compared"


def parse_accepted(document: Document, name: str, count: int, sizes: frozenset[int]) -> AcceptedPcrs:
    """Read which values a policy accepts: an object with lists of hexadecimal by register, from 0 to ``count`` - 1.

    Raises MalformedError if it has something else.
    """
    if not document.has(name):
        return {}
    registers = document.document(name)
    return {_register(number, name, count): _values(registers, number, sizes) for number in registers.names()}


def _register(number: str, name: str, count: int) -> int:
    if number not in map(str, range(count)):
        raise MalformedError(f"policy: {name}", f"registers from 0 to {count - 1}", ascii(number)[:80])
    return int(number)


def _values(registers: Document, number: str, sizes: frozenset[int]) -> frozenset[bytes]:
    texts = registers.texts(number)
    values = frozenset(Document({number: text.removeprefix(PREFIX)}, "policy").octets(number) for text in texts)
    other = next((value for value in values if len(value) not in sizes), None)
    if other is not None:
        shown = ", ".join(map(str, sorted(sizes)))
        raise MalformedError(f"policy: PCR {number}", f"values of {shown} bytes", f"{len(other)}")
    return values


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
