"""Endorsed instances: the holders agree on one instance of the orchestrator by a mechanism, and need not assume it.

Whoever owns the machine starts the same image with the same manifest as often as it likes, and each instance is honest.
Every holder *endorses* one instance, the first whose quote it checked: it signs that instance's key with its enrolment
key, once for the job. A holder takes grants from an instance only with the endorsements of all enrolled holders. As no
honest holder endorses two, no two of them take grants from different instances. A corrupt holder can refuse, which
costs availability; it can endorse as many as it likes, which gains nothing.

Where the honest holders endorse one and the same proper instance, that one is called the orchestrator: this is a name,
and assumes nothing.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, Kind, Step, exists, forall, implies, relation, rigid_relation
from carnet_spec.language.family import Profile
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ADVERSARY,
    HOLDER,
    Agent,
    channel,
    corrupt,
    enrolled,
    job_manifest,
    measured,
    orchestrator,
)

HUNTS = (
    Profile("two instances", {"rounds": 1, "chunks": 0, "corrupt": 0, "twins": 1, "own_keys": 1}, budget=0),
    Profile("a corrupt holder", {"rounds": 1, "chunks": 1, "corrupt": 1}, budget=1),
)
"""A size with a second instance, and one with a corrupt holder."""

first_seen = rigid_relation("first_seen", Agent, Agent, says="the instance is the one that the holder endorses")
endorsed = relation(
    "endorsed", Agent, Agent, kind=Kind.MESSAGE, says="the holder signed, with its enrolment key, that it is the one"
)


class Endorsed(Schedule):
    """A fresh key for every epoch, granted by the instance that every holder endorsed."""

    name = "endorsed-instance"

    def agreed_on(self, instance: Agent) -> Formula:
        """Whether every enrolled holder endorsed it."""
        return forall(lambda b: implies(enrolled(b), endorsed(b, instance)), Agent)

    def rules(self, draft: Draft) -> None:
        """Add how holders endorse."""
        super().rules(draft)
        _endorse(draft)

    def lemmas(self, draft: Draft) -> None:
        """Add what an endorsement says."""
        super().lemmas(draft)

        @draft.lemma
        def endorsements_are_single(b: Agent, q: Agent) -> Formula:
            """An honest holder endorses the one instance that it saw first, which runs the job."""
            return implies(endorsed(b, q) & ~corrupt(b), first_seen(b, q) & measured(q) & job_manifest(q))

        @draft.lemma
        def channels_are_endorsed(a: Agent, b: Agent, p: Agent) -> Formula:
            """A channel that a holder attested ends at an instance that all endorsed."""
            return implies(channel(a, p) & enrolled(b), endorsed(b, p))


def name_the_orchestrator(draft: Draft) -> None:
    """Say what the orchestrator is: of several instances, the one that all honest holders endorse, if there is one."""
    draft.axiom(
        "a holder endorses one instance",
        forall(lambda a, p, q: implies(_endorses(a, p) & _endorses(a, q), p == q), Agent, Agent, Agent),
        assumption="A15",
    )
    one = forall(lambda a, p: implies(_endorses(a, p), p == orchestrator), Agent, Agent)
    several = exists(lambda a, b, p, q: _endorses(a, p) & _endorses(b, q) & (p != q), *(Agent, Agent, Agent, Agent))
    improper = exists(lambda a, p: _endorses(a, p) & ~(measured(p) & job_manifest(p)), Agent, Agent)
    draft.axiom("the orchestrator is the one endorsed", one | several | improper, assumption="A22")


def _endorses(holder: Agent, instance: Agent) -> Formula:
    """Whether it is the one instance that an honest holder endorses."""
    return enrolled(holder) & ~corrupt(holder) & first_seen(holder, instance)


def _endorse(draft: Draft) -> None:
    @draft.rule(
        by=HOLDER,
        says="Holder {a} endorses the instance {q}, whose quote it checked.",
        message="{a} -> {q}: endorsement of {q}",
        source="Carnet (a forked orchestrator)",
        enforces="REQ-SETUP-18",
    )
    def endorse(step: Step, a: Agent, q: Agent) -> None:
        """One instance only, for the whole job: the first that it saw."""
        step.actor(a, ~corrupt(a))
        step.require("a holder", enrolled(a))
        step.require("measurement", measured(q))
        step.require("manifest", job_manifest(q))
        step.require("the first", first_seen(a, q))
        step.insert(endorsed(a, q))

    @draft.rule(
        by=ADVERSARY,
        says="Corrupt holder {b} endorses {q}.",
        source="Carnet (a forked orchestrator)",
    )
    def endorse_anything(step: Step, b: Agent, q: Agent) -> None:
        """As many as it likes."""
        step.given("corrupt", corrupt(b))
        step.insert(endorsed(b, q))
