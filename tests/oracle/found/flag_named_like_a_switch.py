"""R5, R11: a flag of the specification has the name of the prover's switch for an update.

That the update happens is a hypothesis of its obligation, and so was the flag: a claim that needs the flag was PROVED.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Individual, Role, Step, flag, implies, rigid_flag

SOMEBODY = Role("somebody")


class Party(Individual):
    """Somebody."""


done = flag("done", of=SOMEBODY, says="it was done")
paid = rigid_flag("$on.insert done")


def draft() -> Draft:
    """Write the protocol down."""
    small = Draft("switch", "A flag named like a switch")
    small.threat("any", "nothing is assumed")
    small.defence("care", "it is done with care")

    @small.action(by=SOMEBODY, says="it is done", source="found")
    def do(step: Step) -> None:
        step.insert(done, defence="care")

    @small.claim(name="paid", sentence="What is done is paid.", requirement="R-1", source="found", under=("any",))
    def _() -> Formula:
        return implies(done, paid)

    return small
