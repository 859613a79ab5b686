"""Goals: what must be reachable, or claims would be empty."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Custody,
    Data,
    Gpu,
    Key,
    Mode,
    Phase,
    Session,
    Slot,
    Version,
    admitted,
    before,
    buffer,
    confidential,
    custody,
    elsewhere,
    first_version,
    genuine,
    granted,
    honest_data,
    in_session,
    kept,
    latest,
    phase,
    report_inside,
    sealed,
    workspace,
)


def state_goals(draft: Draft) -> None:
    """Add what must be reachable to ``draft``."""

    @draft.goal(sentence="An honest holder's data is resident.")
    def data_resident(g: Gpu, m: Data) -> Formula:
        return buffer(g, m) & honest_data(m)

    @draft.goal(sentence="A holder gives back what it was granted after two chunks of data.")
    def two_chunks_returned(a: Agent, k: Key, u: Slot, v: Slot, m: Data, n: Data) -> Formula:
        both = sealed(a, k, u, m) & sealed(a, k, v, n) & before(u, v) & (m != n)
        return both & (phase == Phase.BACK) & (custody == Custody.RETURNED)

    @draft.goal(sentence="The model was trained on an honest holder's data.")
    def trained(g: Gpu, m: Data) -> Formula:
        return (phase == Phase.TRAINED) & workspace(g, m) & honest_data(m)

    @draft.goal(sentence="A second holder has the GPU.", rounds=2)
    def second_holder(a: Agent, b: Agent, j: Key, k: Key, v: Slot, w: Slot) -> Formula:
        return granted(a, j, v) & granted(b, k, w) & (a != b)

    @draft.goal(sentence="The same holder has the GPU twice.", rounds=2)
    def same_holder_twice(a: Agent, j: Key, k: Key, v: Slot, w: Slot) -> Formula:
        return granted(a, j, v) & granted(a, k, w) & (j != k)

    @draft.goal(sentence="A third round begins.", rounds=3)
    def third_round(a: Agent, b: Agent, c: Agent, i: Key, j: Key, k: Key, u: Slot, v: Slot, w: Slot) -> Formula:
        three = granted(a, i, u) & granted(b, j, v) & granted(c, k, w)
        return three & (i != j) & (j != k) & (i != k)

    @draft.goal(sentence="The trained model came home.")
    def model_at_home(n: Version) -> Formula:
        return (phase == Phase.SAVED) & (kept == n) & (n != first_version)

    @draft.goal(sentence="The GPU is scrubbed while the model stays on it.")
    def scrubbed_unsaved() -> Formula:
        return (phase == Phase.SCRUBBING) & (custody == Custody.RETURNED) & (kept != latest)

    @draft.goal(sentence="The GPU is scrubbed after the model came home.")
    def scrubbed_saved() -> Formula:
        return (phase == Phase.SCRUBBING) & (custody == Custody.RETURNED) & (kept == latest)

    @draft.goal(sentence="A GPU out of confidential mode says so.")
    def open_mode_reported(s: Session, g: Gpu) -> Formula:
        return _reported(s, g, Mode.OPEN)

    @draft.goal(sentence="A GPU with its debug flag set says so.")
    def debug_flag_reported(s: Session, g: Gpu) -> Formula:
        return _reported(s, g, Mode.DEBUG)

    @draft.goal(sentence="A GPU with old firmware says so.")
    def old_firmware_reported(s: Session, g: Gpu) -> Formula:
        return _reported(s, g, Mode.OUTDATED)

    @draft.goal(sentence="An outsider's own GPU is in confidential mode.")
    def own_gpu(g: Gpu) -> Formula:
        return elsewhere(g) & confidential(g)

    @draft.goal(sentence="A corrupt holder lets somebody else sit at the end of its channel.")
    def lent_channel(a: Agent, p: Agent) -> Formula:
        return admitted(a, p) & (p != a)

    @draft.goal(sentence="An evicted holder's data was scrubbed untrained.")
    def eviction() -> Formula:
        return (custody == Custody.EVICTED) & (phase == Phase.CLEAN)


def _reported(session: Session, gpu: Gpu, mode: Mode) -> Formula:
    return report_inside(session, gpu, session, mode) & genuine(gpu) & in_session(gpu, session)
