"""Knowledge: honest data is learned only through an epoch whose key leaked."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Data,
    Key,
    Slot,
    corrupt,
    data_owner,
    dataset,
    exposed,
    issued,
    learned,
    model_sent,
    orchestrator,
    owner,
    past_keys_leak,
    sealed,
    traffic,
)


def knowledge_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what the adversary can have learned."""

    @draft.lemma
    def learners(x: Agent, m: Data) -> Formula:
        """Only corrupt agents ever learn what is not theirs."""
        return implies(learned(x, m), corrupt(x))

    @draft.lemma
    def learned_is_exposed(x: Agent, m: Data) -> Formula:
        """Honest data is learned only if an epoch that carried it was revealed."""
        return ~(learned(x, m) & schedule.kept_back(m))

    @draft.lemma
    def exposed_by_past_keys(m: Data) -> Formula:
        """Nothing is exposed unless past keys leak."""
        return implies(exposed(m), past_keys_leak)

    @draft.lemma
    def carried_by_leaked(k: Key, m: Data) -> Formula:
        """What a leaked epoch carried is exposed."""
        return implies(schedule.carried(k, m) & schedule.leaked(k), exposed(m))

    @draft.lemma
    def sent_is_carried(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """What was sent under a key, its epoch carried."""
        return implies(sealed(a, k, v, m), schedule.carried(k, m))

    @draft.lemma
    def the_model_goes_home(k: Key, m: Data) -> Formula:
        """The model went home under keys of the job, and no traffic derives from it."""
        return implies(model_sent(k), issued(k)) & implies(traffic(k, m), dataset(m))

    @draft.lemma
    def traffic_is_carried(k: Key, m: Data) -> Formula:
        """What derives from honest data goes home under a key of the orchestrator's or of its owner's epoch."""
        return implies(
            traffic(k, m) & schedule.kept_back(m),
            schedule.carried(k, m) & issued(k) & ((owner(k) == orchestrator) | (owner(k) == data_owner(m))),
        )
