"""The premise of one claim has the name of a premise of another, and is called met when the other is.

A search looks for ``premise/c/1`` and ``premise/c/2``, the premises of ``c``, and for ``premise/c/1``, the only premise
of a claim called ``c/1``, and keeps what it finds by these names. So ``c`` was established although nothing ever does
what its first part speaks of. With the claims the other way round, the run ended with an error.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Role, Step, flag, implies

SOMEBODY = Role("somebody")
never = flag("never", of=SOMEBODY, says="what nothing ever does")
done = flag("done", of=SOMEBODY, says="it was done")


def draft() -> Draft:
    """Write it down with the claim of two premises first."""
    return _draft("c", "c/1")


def reversed_draft() -> Draft:
    """Write it down with the claim of two premises last."""
    return _draft("c/1", "c")


def _draft(*order: str) -> Draft:
    small = Draft("premises", "Two premises of one name")
    small.threat("any", "nothing is assumed")

    @small.action(by=SOMEBODY, says="it is done", source="found")
    def do(step: Step) -> None:
        step.insert(done)

    def two_premises() -> Formula:
        return implies(never, done) & implies(done, ~never)

    def one_premise() -> Formula:
        return implies(done, done)

    claims = {"c": two_premises, "c/1": one_premise}
    for name in order:
        small.claim(name=name, sentence="So it is.", requirement="R-1", source="found", under=("any",))(claims[name])
    return small
