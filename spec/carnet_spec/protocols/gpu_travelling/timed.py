"""The timed layer: a clock, leases and limits of keys, added to the steps of a design.

Every step of the untimed design keeps all it requires and does; the layer adds guards, and updates of symbols of its
own. So every run with a clock is a run without one, and what is proved of the untimed design holds here too.

What a key has protected is counted by key *bytes*: where epochs share them, their messages are counted together, in
each direction.

Time is any linear order, such as integers, rationals or reals. Nothing is ever added. Where a system computes *now
plus the time to live*, the layer takes any instant that is not past, so proofs hold for every time to live and every
lease, constant or not. The clock moves when the orchestrator reads it, which it does whenever a decision depends on
time. Any time may pass between two readings, for instance because the platform stalled the orchestrator.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import Claims
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

AGE, LEASE, LIMIT = "attestation-age", "lease", "key-usage-limit"


class Instant(Individual):
    """A time that the orchestrator's clock can show."""


earlier = rigid_relation("earlier", Instant, Instant, says="the first instant comes before the second")
power_on = constant("power_on", Instant, says="what the clock shows when the orchestrator starts")
limit = constant("limit", Slot, says="the first counter value that is past the limit of a key")

clock = variable("clock", Instant, of=ORCHESTRATOR, says="what its clock showed when it was last read")
evidence_end = variable("evidence_end", Instant, of=ORCHESTRATOR, says="when the session's evidence is too old")
_history = partial(relation, kind=Kind.GHOST)
shown = _history("shown", Instant, says="the orchestrator's clock showed it")
lease_end = variable("lease_end", Instant, of=ORCHESTRATOR, says="when the lease that was granted last is over")

_history_function = partial(function, kind=Kind.GHOST)
good_until = _history_function("good_until", Session, to=Instant, says="when the session's evidence is too old")
leased_until = _history_function("leased_until", Key, to=Instant, says="when the lease of the epoch is over")
stale_use = _history("stale_use", Session, says="its evidence was used when it was too old")
returned_at = _history_function("returned_at", Key, to=Instant, says="when the epoch's return was accepted")

counted_out = _history("counted_out", Key, Slot, says="the message to the GPU was counted")
counted_home = _history("counted_home", Key, Slot, says="the GPU's message home was counted")
#: Where in a message stand the key and the counter value that it was protected with.
_PLACES: dict[Symbol, tuple[int, int]] = {sealed.symbol: (1, 2), uploaded.symbol: (0, 1), streamed.symbol: (0, 1)}


def add_time(draft: Draft, schedule: Schedule, under: tuple[str, ...]) -> None:
    """Superpose clock, leases and limits on the steps of ``draft``, and state the timed claims under ``under``."""
    _assume(draft)
    _age(draft)
    _lease(draft)
    _read_clock(draft)
    _limit(draft, schedule)
    _claim(draft, schedule, under)
    _lemmas(draft, schedule)
    _goals(draft, schedule)


def _assume(draft: Draft) -> None:
    StrictOrder("time", Instant, earlier, "A9", names="tuv", singular=True).assume_linear(draft)
    draft.axiom("a key is good for something", before(first, limit), assumption="A21")
    draft.initially(clock, power_on)

    draft.initially(leased_until, lambda k: power_on)


def _read(step: Step, now: Instant) -> None:
    """Read the clock: it shows ``now``, and never goes back."""
    step.given("time passes", ~earlier(now, clock))
    _show(step, now)


def _show(step: Step, now: Instant) -> None:
    step.set(clock, now)
    step.insert(shown(now))


def _read_clock(draft: Draft) -> None:
    @draft.action(ORCHESTRATOR, "Carnet (a holder that keeps the GPU)", "REQ-RETURN-04")
    def read_clock(step: Step, now: Instant) -> None:
        """A clock that shows the end of the lease is no mere reading: eviction or fail-stop begins with it."""
        step.says("The orchestrator reads its clock: {now}.")
        step.given("time has passed", earlier(clock, now))
        step.require("lease not over", (phase != Phase.AWAY) | ~earlier(lease_end, now), defence=LEASE)
        _show(step, now)


def _age(draft: Draft) -> None:
    @draft.superpose(
        "open_session",
        says="It is {now}; evidence for it will be too old after {end}.",
        source="RFC 9334 section 10.2: a nonce bounds the age of evidence from when it was drawn",
        enforces="REQ-SETUP-13",
    )
    def _(step: Step, s: Session, now: Instant, end: Instant) -> None:
        """Evidence is no older than the nonce that it answers."""
        _read(step, now)
        step.set(evidence_end, end)
        step.set(good_until(s), end)

    @draft.superpose("accept_gpu", says="It is {now}.", source="RFC 9334 section 10", enforces="REQ-SETUP-13")
    def _(step: Step, now: Instant) -> None:
        """Looking at its age here does not replace looking at it when the GPU is handed over."""
        _read(step, now)
        step.require("age at appraisal", ~earlier(evidence_end, now))
        step.insert(stale_use(session), when=earlier(good_until(session), now))

    if any(action.name == "reattach" for action in draft.actions):

        @draft.superpose("reattach")
        def _(step: Step, s: Session) -> None:
            step.set(good_until(s), evidence_end)


def _lease(draft: Draft) -> None:
    @draft.superpose("rotate_out", says="It is {now}.", source="RFC 9334 section 10", enforces="REQ-SETUP-13")
    def _(step: Step, now: Instant) -> None:
        """A hand-over begins with the order to rotate: the GPU does not leave on evidence that is too old."""
        _read(step, now)
        step.require("age at the order", ~earlier(evidence_end, now), defence=AGE)
        step.insert(stale_use(session), when=earlier(good_until(session), now))

    @draft.superpose(
        "grant",
        says="It is {now}; the lease ends at {end}.",
        source="RFC 9334 section 10; Carnet (a holder that keeps the GPU)",
        enforces=("REQ-SETUP-13", "REQ-RETURN-04"),
    )
    def _(step: Step, now: Instant, end: Instant) -> None:
        """This is where evidence is used, however fresh it was before; it has to last for as long as the lease."""
        _read(step, now)
        step.require("age at use", ~earlier(evidence_end, now), defence=AGE)
        step.require("a lease to come", ~earlier(end, now))
        step.require("a lease within it", ~earlier(evidence_end, end), defence=AGE)
        step.set(lease_end, end)
        step.set(leased_until(link_h2d), end)
        step.insert(stale_use(session), when=earlier(good_until(session), now))

    @draft.superpose("take_back", says="It is {now}.", enforces="REQ-RETURN-04")
    def _(step: Step, now: Instant) -> None:
        """A return that comes late is no return, however long it was on its way."""
        _read(step, now)
        step.require("within the lease", ~earlier(lease_end, now), defence=LEASE)
        step.set(returned_at(lent_key), now)

    @draft.superpose("evict", says="It is {now}.", enforces="REQ-RETURN-04")
    def _(step: Step, now: Instant) -> None:
        """A holder has its lease to the end."""
        _read(step, now)
        step.require("lease over", earlier(lease_end, now))


def _limit(draft: Draft, schedule: Schedule) -> None:
    """Make everybody who protects a message count it, by key bytes, and look at the limit first."""
    for action in draft.actions:
        protected = next((update for update in action.updates if update.symbol in _PLACES), None)
        if protected is not None:
            _count(draft, schedule, action.name, protected)


def _count(draft: Draft, schedule: Schedule, name: str, message: Update) -> None:
    at_key, at_value = _PLACES[message.symbol]
    key, value = Key(message.args[at_key]), Slot(message.args[at_value])
    home = message.symbol == streamed.symbol
    counted = counted_home if home else counted_out

    @draft.superpose(name, source="open-gpu-kernel-modules conf_compute_key_rotation.c", enforces="REQ-KEY-07")
    def _(step: Step, use_number: Slot) -> None:
        """Whoever protects it counts, the GPU for what it sends, whatever has it sent."""
        step.given("next use", next_free(lambda u: schedule.protects(key, u, home=home), use_number))
        step.given("below the key's limit", before(use_number, limit), defence=LIMIT)
        step.insert(schedule.protects(key, use_number, home=home), name="count the use")
        step.insert(counted(key, value), schedule.protects_as(key, value, use_number, home=home))


def _claim(draft: Draft, schedule: Schedule, under: tuple[str, ...]) -> None:
    claim = Claims(draft, TEXT, under)

    @claim("key-lifetime", "open-gpu-kernel-modules conf_compute_key_rotation.c; SP 800-38D")
    def key_lifetime() -> Formula:
        chunks = forall(lambda a, k, v, m: implies(sealed(a, k, v, m), counted_out(k, v)), Agent, Key, Slot, Data)
        others = forall(
            lambda k, v: implies(uploaded(k, v), counted_out(k, v)) & implies(streamed(k, v), counted_home(k, v)),
            *(Key, Slot),
        )
        return chunks & others & schedule.within(limit, home=False) & schedule.within(limit, home=True)

    @claim("fresh-attestation", "RFC 9334 section 10")
    def fresh_attestation(s: Session) -> Formula:
        away = (phase == Phase.AWAY) & (s == session)
        lasts = ~earlier(good_until(s), clock) & ~earlier(good_until(s), leased_until(lent_key))
        return ~stale_use(s) & implies(away, lasts)

    @claim("bounded-custody", "Carnet (a holder that keeps the GPU)")
    def bounded_custody() -> Formula:
        begun = implies(phase == Phase.AWAY, ~earlier(leased_until(lent_key), clock))
        in_time = forall(lambda k: implies(taken_back(k), ~earlier(leased_until(k), returned_at(k))), Key)
        trained_on = forall(lambda n, p, k: implies(ledger(n, p, k), taken_back(k)), Version, Version, Key)
        return begun & in_time & trained_on & implies(phase == Phase.TRAINING, taken_back(lent_key))


def _lemmas(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def uses_are_counted() -> Formula:
        """Each use of a key's bytes is counted, in both directions."""
        return schedule.counts_uses(home=False) & schedule.counts_uses(home=True)

    @draft.lemma
    def uses_are_of_messages() -> Formula:
        """Each use is of a message, and no number is left out."""
        return schedule.accounts_for_uses(_sent, home=False) & schedule.accounts_for_uses(streamed, home=True)

    @draft.lemma
    def keys_in_use_were_drawn(g: Gpu, s: Session, a: Agent, p: Agent, k: Key, v: Slot) -> Formula:
        """Nobody has a key, or hears of one, that was not drawn."""
        named = key_exchange(s, k) | rotate_out_order(s, k) | rotate_in_order(s, k) | offer(p, a, k, v)
        held = live_h2d(g, k) | live_d2h(g, k) | accepted(a, p, k, v) | knows_h2d(a, k) | issued(k)
        return implies(named | held, used(k))

    @draft.lemma
    def messages_are_of_drawn_keys(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        """What was protected was protected with a key that was drawn."""
        return implies(sealed(a, k, v, m) | uploaded(k, v) | streamed(k, v), used(k))

    @draft.lemma
    def the_clock_never_goes_back(t: Instant) -> Formula:
        """What the clock showed last is the latest that it showed."""
        return implies(shown(t), ~earlier(clock, t)) & (shown(clock) | (clock == power_on))

    @draft.lemma
    def leases_last(k: Key) -> Formula:
        """Nobody is evicted before its lease is over, and a return is accepted when the clock says."""
        evicted = (custody == Custody.EVICTED) & (phase != Phase.SETUP) & (phase != Phase.AWAY)
        return implies(evicted, earlier(leased_until(lent_key), clock)) & implies(taken_back(k), shown(returned_at(k)))

    @draft.lemma
    def evidence_ages_as_it_should() -> Formula:
        """Once a session is open, the orchestrator knows until when its evidence is good."""
        return implies(phase != Phase.SETUP, evidence_end == good_until(session))

    @draft.lemma
    def leases_end_as_they_should() -> Formula:
        """While the GPU is away, the orchestrator knows when the lease is over, and the evidence lasts until then."""
        return implies(phase == Phase.AWAY, (lease_end == leased_until(lent_key)) & ~earlier(evidence_end, lease_end))

    @draft.lemma
    def leased_keys_are_new(k: Key) -> Formula:
        """No key is granted whose epoch came back already."""
        drawn = implies(phase != Phase.SETUP, used(link_h2d) & used(lent_key))
        rotating = (phase == Phase.ROTATING_OUT) | (phase == Phase.ROTATING_IN)
        new = implies(phase == Phase.ROTATING_OUT, ~taken_back(pending))
        granting = implies(phase == Phase.GRANTING, ~taken_back(link_h2d))
        away = implies(phase == Phase.AWAY, ~taken_back(lent_key))
        return implies(taken_back(k), used(k)) & drawn & implies(rotating, used(pending)) & new & granting & away

    @draft.lemma
    def returned_keys_were_taken_back() -> Formula:
        """As long as custody counts as returned, the lent key was taken back."""
        home = (phase != Phase.SETUP) & (phase != Phase.AWAY)
        return implies(home & (custody == Custody.RETURNED), taken_back(lent_key))

    @draft.lemma
    def training_is_of_returns() -> Formula:
        """Training, and what comes of it, is of what was returned."""
        return implies(phase == Phase.TRAINING, custody == Custody.RETURNED)


def _goals(draft: Draft, schedule: Schedule) -> None:
    @draft.goal(sentence="A hand-over is opened some time after the evidence was asked for.")
    def late_hand_over() -> Formula:
        return (phase == Phase.AWAY) & earlier(power_on, clock)

    @draft.goal(sentence="A lease lasts some time.")
    def lasting_lease() -> Formula:
        return (phase == Phase.AWAY) & earlier(clock, lease_end)

    @draft.goal(sentence="A holder gives the GPU back within its lease.")
    def return_in_time() -> Formula:
        return (phase == Phase.BACK) & (custody == Custody.RETURNED)

    @draft.goal(sentence="A holder whose lease is over is evicted, and what it left is scrubbed.")
    def eviction_in_time() -> Formula:
        return (phase == Phase.CLEAN) & (custody == Custody.EVICTED)

    @draft.goal(sentence="The last message that a key is good for is protected with it.")
    def key_used_up(k: Key, v: Slot, u: Slot) -> Formula:
        last = before(u, limit) & forall(lambda w: implies(before(u, w), ~before(w, limit)), Slot)
        return streamed(k, v) & schedule.protects(k, u, home=True) & last

    @draft.goal(sentence="A model comes home, and each message of its round has a number under its key.")
    def all_numbered(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        def numbered(j: Key, w: Slot, *, home: bool) -> Formula:
            return exists(lambda u: schedule.protects_as(j, w, u, home=home), Slot)

        out = forall(lambda j, w: implies(_sent(j, w), numbered(j, w, home=False)), Key, Slot)
        home = forall(lambda j, w: implies(streamed(j, w), numbered(j, w, home=True)), Key, Slot)
        return (phase == Phase.SAVED) & sealed(a, k, v, m) & out & home

    @draft.goal(sentence="A holder protects data with a key that has a limit.")
    def data_protected(a: Agent, k: Key, v: Slot, m: Data) -> Formula:
        return sealed(a, k, v, m)


def _sent(key: Key, value: Slot) -> Formula:
    """Whether a message to the GPU was protected with the key and that counter value."""
    return uploaded(key, value) | exists(lambda a, m: sealed(a, key, value, m), Agent, Data)
