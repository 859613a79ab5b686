"""The auditor of a run: it checks the statements one by one, and then the claims about the whole graph.

A statement is taken in numbered steps, and the first one that does not hold refuses it, with whom it is held against:

1. its exclave was introduced, with evidence that this auditor accepts;
2. it is about this run;
3. the signature is the exclave's, or the evidence is over this statement;
4. it is the next of its exclave's log, and names the one before;
5. each input is one that the claims name as a source, or what a statement gave that was taken before;
6. the claims have its task, done by this exclave with this code, reading from these tasks; or it ends the log, and
   says no more than that.

After the last one, each log has to be whole. What the claims say of the whole graph is checked then: how often each
task was done, in which order, and that the result comes from all that was to go into it. Nothing rests on the epoch
that a statement names: it is a name that the run draws, so no claim made before could have it.

Source: arXiv 2412.10537v4, abstract; slsa.dev/spec/v1.0/levels (levels that say what may be relied on).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from carnet_ref.crypto.primitives import CryptoError, verify_p256
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.verifiable_fl.claims_file import SOURCE, AuditClaims, ResultClaim
from carnet_ref.systems.verifiable_fl.evidence import KEY, Introduction, Level, appraise, step_binding
from carnet_ref.systems.verifiable_fl.statements import (
    END,
    NO_PREDECESSOR,
    Envelope,
    Input,
    StepStatement,
    last_statement,
    pae,
)
from carnet_ref.wire import MalformedError


class Fault(StrEnum):
    """The reasons for refusing a graph."""

    MALFORMED = "malformed"
    UNATTESTED = "unattested"
    FORGED = "forged"
    REPLAYED = "replayed"
    MISSING = "missing"
    DOUBLED = "doubled"
    REORDERED = "reordered"
    SWAPPED = "swapped"
    UNCLAIMED = "unclaimed"


class RefusedGraphError(Exception):
    """A graph is refused."""

    def __init__(self, fault: Fault, culprit: str, why: str, step: int | None = None, *, other: str = "") -> None:
        super().__init__(why)
        self.fault = fault  #: what is wrong.
        #: whom it is held against: the exclave whose statement is wrong or not there; two, if it is one of them.
        self.culprits = tuple(dict.fromkeys(filter(None, (culprit, other))))
        self.step = step  #: the place of the statement in its exclave's log; ``None`` where no statement is at fault.

    @property
    def culprit(self) -> str:
        """The culprits, in words."""
        return " or ".join(self.culprits)


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A requirement of the claims file, with the evidence for it."""

    id: str
    detail: str


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The result of an audit."""

    level: Level
    steps: int
    edges: int
    exclaves: Mapping[str, int]
    claims: tuple[CheckedClaim, ...]
    refusal: RefusedGraphError | None

    @property
    def accepted(self) -> bool:
        """Whether everything is as claimed."""
        return self.refusal is None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        refusal = self.refusal
        refused = None
        if refusal is not None:
            refused = {"fault": refusal.fault.value, "culprit": refusal.culprit, "step": refusal.step}
            refused["why"] = str(refusal)
        return {
            "accepted": self.accepted,
            "level": int(self.level),
            "steps": self.steps,
            "edges": self.edges,
            "exclaves": dict(self.exclaves),
            "claims": [{"id": each.id, "detail": each.detail} for each in self.claims],
            "refusal": refused,
        }


@dataclass(slots=True)
class _Log:
    """What was taken of one exclave."""

    shown: Introduction
    key: Any
    number: int = 0
    head: str = NO_PREDECESSOR
    ended: bool = False


@dataclass(slots=True)
class Auditor:
    """Checks the introductions and statements of one run."""

    claims: AuditClaims  #: what is to be shown.
    checks: Checks = EVERY  #: what it insists on.
    steps: list[StepStatement] = field(default_factory=list)  #: the statements that were taken, in order.
    #: for each of them and each of its inputs the place of the statement that gave it; none for a source.
    origins: list[tuple[int | None, ...]] = field(default_factory=list)
    #: for each of them the places of those that it reads from or follows in its log.
    before: list[tuple[int, ...]] = field(default_factory=list)
    #: every statement that is there to be taken, by the digest of its envelope, as far as is known: it decides nothing,
    #: and says who is at fault.
    shown: Mapping[str, StepStatement] = field(default_factory=dict)
    run: str = ""
    _logs: dict[str, _Log] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)
    _owners: dict[bytes, str] = field(default_factory=dict)  #: By whom each key was shown.

    @property
    def logs(self) -> dict[str, int]:
        """The number of accepted statements of each exclave, without the last one of its log."""
        return {name: log.number - log.ended for name, log in self._logs.items()}

    @property
    def level(self) -> Level:
        """The assurance that statements of all these exclaves can give together."""
        return min((log.shown.level for log in self._logs.values()), default=Level.NONE)

    # -- exclaves ----------------------------------------------------------------------------------

    @enforces("REQ-AUDIT-01", "REQ-AUDIT-02", "REQ-AUDIT-03", "key-bound", "certificate", "measurement")
    def enlist(self, shown: Introduction) -> None:
        """Accept an exclave whose evidence is as the claims expect. Raises RefusedGraphError if it does not."""
        if shown.name in self._logs:
            raise RefusedGraphError(Fault.DOUBLED, shown.name, f"{shown.name} is introduced twice")
        expected = self.claims.exclaves.get(shown.name)
        if expected is None or expected.kind != shown.kind:
            why = "nobody claims it" if expected is None else f"it is {shown.kind}, and not {expected.kind}"
            raise RefusedGraphError(Fault.UNATTESTED, shown.name, f"{shown.name}: {why}")
        if shown.level < expected.level:
            why = f"level {int(expected.level)} is claimed of {shown.name}, and it is of level {int(shown.level)}"
            raise RefusedGraphError(Fault.UNATTESTED, shown.name, why)
        self.run = self.run or shown.run
        self._same_run(shown.run, shown.name)
        try:
            key = shown.public_key if shown.key else None
        except MalformedError as error:
            raise RefusedGraphError(Fault.MALFORMED, shown.name, str(error)) from None
        if shown.kind == KEY:
            if shown.key.hex() != expected.measurement or key is None:
                raise RefusedGraphError(Fault.UNATTESTED, shown.name, f"{shown.name} has another key than is claimed")
        else:
            self._appraise(shown, shown.evidence, shown.binding, None)
        owner = self._owners.setdefault(shown.key, shown.name) if key is not None else shown.name
        if owner != shown.name:
            raise RefusedGraphError(Fault.DOUBLED, owner, f"{owner} and {shown.name} show one key", other=shown.name)
        self._logs[shown.name] = _Log(shown, key)

    def _appraise(self, shown: Introduction, evidence: bytes, binding: bytes, step: int | None) -> None:
        """Insist that evidence is what the claims expect of the exclave."""
        expected, trust = self.claims.exclaves[shown.name], self.claims.trust
        appraisal = appraise(shown, evidence, binding, expected, trust.anchors, trust.at)
        if appraisal.accepted:
            return
        why = next(each for each in appraisal.steps if each.ok is False)
        fault = Fault.UNATTESTED if step is None else Fault.FORGED
        raise RefusedGraphError(fault, shown.name, f"evidence of {shown.name}: {why.id}: {why.detail}", step)

    @enforces("REQ-AUDIT-04", "run-bound")
    def _same_run(self, run: str, name: str, step: int | None = None) -> None:
        if run != self.run and self.checks.insist_on("run-bound"):
            why = f"{name} speaks of run {run[:16]}…, and this is {self.run[:16]}…"
            raise RefusedGraphError(Fault.REPLAYED, name, why, step)

    # -- statements --------------------------------------------------------------------------------

    def take(self, envelope: Envelope) -> int:
        """Verify and accept the next statement, and return its position in the graph.

        Raises RefusedGraphError if it is refused.
        """
        self.verify(envelope)
        return self.take_verified(envelope)

    def take_verified(self, envelope: Envelope) -> int:
        """Accept the next statement, already checked by `verify`, and return its position in the graph.

        Raises RefusedGraphError if it does not hold.
        """
        said = envelope.statement
        log = self._logs[said.by]
        self._follows(log, envelope)
        sources = self._linked(said)
        if said.task == END:
            _require_end(said)
        else:
            self._claimed(said, sources)
        return self._enter(log, envelope, sources)

    @enforces("REQ-AUDIT-05", "signature")
    def verify(self, envelope: Envelope) -> None:
        """Check that the exclave made the statement, in this run.

        Raises RefusedGraphError if it did not, or is not enlisted.
        """
        said = envelope.statement
        log = self._logs.get(said.by)
        if log is None:
            why = f"a statement of {said.by}, which showed no evidence"
            raise RefusedGraphError(Fault.UNATTESTED, said.by, why, said.number)
        self._same_run(said.run, said.by, said.number)
        if not self.checks.insist_on("signature"):
            return
        shown = log.shown
        if envelope.keyid != shown.keyid:
            raise RefusedGraphError(Fault.FORGED, said.by, f"signed under a key that is not {said.by}'s", said.number)
        signed = pae(envelope.payload)
        if log.key is None:
            self._appraise(shown, envelope.signature, step_binding(signed), said.number)
            return
        try:
            verify_p256(log.key, envelope.signature, signed, f"the signature of {said.by}")
        except CryptoError as error:
            raise RefusedGraphError(Fault.FORGED, said.by, str(error), said.number) from None

    @enforces("REQ-AUDIT-06", "log-followed")
    def _follows(self, log: _Log, envelope: Envelope) -> None:
        """Insist that a statement is the next of its log."""
        said = envelope.statement
        if not self.checks.insist_on("log-followed"):
            return
        name, due = said.by, log.number
        if said.number != due or log.ended:
            raise RefusedGraphError(*self._out_of_place(said, due), said.number)
        if said.predecessor != log.head:
            why = f"statement {said.number} of {name} follows another one than statement {due - 1} that is shown"
            raise RefusedGraphError(Fault.SWAPPED, name, why, said.number)

    def _out_of_place(self, said: StepStatement, due: int) -> tuple[Fault, str, str]:
        name, number = said.by, said.number
        if number < due:
            return Fault.DOUBLED, name, f"statement {number} of {name} comes a second time"
        if any((each.by, each.number) == (name, due) for each in self.shown.values()):
            return Fault.REORDERED, name, f"statement {number} of {name} comes before statement {due}"
        return Fault.MISSING, name, f"statement {due} of {name} is not there"

    @enforces("REQ-AUDIT-07", "inputs-linked")
    def _linked(self, said: StepStatement) -> tuple[int | None, ...]:
        """Return where each input comes from, and insist that it is a claimed source or was given by a step taken."""
        return tuple(self._origin(said, each) for each in said.reads)

    def _origin(self, said: StepStatement, read: Input) -> int | None:
        if not read.proof:
            if read.digest not in self.claims.sources.get((said.by, read.name), ()) and self._insists_on_links():
                why = f"{said.by} reads {read.name} {read.digest[:16]}…, which is no source that the claims name"
                raise RefusedGraphError(Fault.SWAPPED, said.by, why, said.number)
            return None
        place = self._places.get(read.proof)
        if not self._insists_on_links():
            return place
        if place is None:
            raise self._not_before(said, read)
        given = {each.name: each.digest for each in self.steps[place].gives}
        if given.get(read.name) != read.digest:
            giver = self.steps[place]
            other = f"which statement {giver.number} of {giver.by} did not give"
            why = f"{said.by} reads {read.name} {read.digest[:16]}…, {other}"
            raise RefusedGraphError(Fault.SWAPPED, said.by, why, said.number)
        return place

    def _insists_on_links(self) -> bool:
        return self.checks.insist_on("inputs-linked")

    def _not_before(self, said: StepStatement, read: Input) -> RefusedGraphError:
        """Return the refusal of a statement that reads from one that was not taken before.

        One that is not there was replaced, by one that gives the same name and that nobody reads from; or the reader
        made it up. If the reader reads what that one gives, it is one of these two.
        """
        name, number = said.by, said.number
        if read.proof in self.shown:
            why = f"{name} reads {read.name} from a statement that comes after its own"
            return RefusedGraphError(Fault.REORDERED, name, why, number)
        why = f"{name} reads {read.name} from a statement that is not shown"
        proofs = {each.proof for step in self.shown.values() for each in step.reads}
        unread = [
            (step.by, given.digest)
            for digest, step in self.shown.items()
            for given in step.gives
            if given.name == read.name and digest not in proofs
        ]
        givers = {by for by, _ in unread}
        if len(givers) != 1:
            return RefusedGraphError(Fault.SWAPPED, name, why, number)
        giver = givers.pop()
        either = name if any(digest == read.digest for _, digest in unread) else ""
        return RefusedGraphError(Fault.SWAPPED, giver, why, number, other=either)

    @enforces("REQ-AUDIT-08", "REQ-AUDIT-10", "sanitised", "code-claimed")
    def _claimed(self, said: StepStatement, sources: Sequence[int | None]) -> None:
        """Insist that the claims have such a step: who does it, with which code, reading from which tasks."""
        claim = self.claims.tasks.get(said.task)
        place = f"statement {said.number} of {said.by}, {said.task}"
        if claim is None or said.by not in claim.by:
            why = "a task that nobody claims" if claim is None else f"a task of {', '.join(sorted(claim.by))}"
            raise RefusedGraphError(Fault.UNCLAIMED, said.by, f"{place}: {why}", said.number)
        if said.code not in claim.code and self.checks.insist_on("code-claimed"):
            why = f"{place}: code {said.code[:16]}…, which nobody claims"
            raise RefusedGraphError(Fault.UNCLAIMED, said.by, why, said.number)
        gives = {each.name for each in said.gives}
        names = {each.name for each in said.reads}
        if gives != {claim.gives} or names != claim.reads.keys():
            why = f"{place}: reads {', '.join(sorted(names)) or 'nothing'}, gives {', '.join(sorted(gives))}"
            raise RefusedGraphError(Fault.UNCLAIMED, said.by, why, said.number)
        if claim.digest and said.gives[0].digest not in claim.digest:
            why = f"{place}: gives {claim.gives} {said.gives[0].digest[:16]}…, which nobody claims"
            raise RefusedGraphError(Fault.SWAPPED, said.by, why, said.number)
        for each, origin in zip(said.reads, sources, strict=True):
            task = SOURCE if origin is None else self.steps[origin].task
            if task not in claim.reads[each.name] and self.checks.insist_on("sanitised"):
                why = f"{place}: {each.name} comes from {task}, not from {', '.join(sorted(claim.reads[each.name]))}"
                raise RefusedGraphError(Fault.SWAPPED, said.by, why, said.number)

    def _enter(self, log: _Log, envelope: Envelope, sources: Iterable[int | None]) -> int:
        place = len(self.steps)
        said = envelope.statement
        self.steps.append(said)
        self.origins.append(tuple(sources))
        before = self._places.get(said.predecessor)
        self.before.append(tuple({each for each in (before, *sources) if each is not None}))
        self._places[envelope.digest] = place
        log.number, log.head = log.number + 1, envelope.digest
        log.ended = said.task == END
        return place

    # -- the whole ---------------------------------------------------------------------------------

    @enforces("REQ-AUDIT-09", "log-ended")
    def finish(self) -> None:
        """Check that each exclave in the claims was introduced, and that its log is complete.

        Raises RefusedGraphError if one was not, or is not.
        """
        for name in self.claims.exclaves:
            log = self._logs.get(name)
            if log is None:
                raise RefusedGraphError(Fault.MISSING, name, f"{name} is not introduced")
            if not log.ended and self.checks.insist_on("log-ended"):
                why = f"the log of {name} has no end: what came after statement {log.number - 1} is not there"
                raise RefusedGraphError(Fault.MISSING, name, why, log.number)


def _require_end(said: StepStatement) -> None:
    """Insist that what ends a log is a step of no other kind: without code, inputs and outputs of its own."""
    if said != last_statement(said.by, said.run, said.number, said.predecessor):
        why = f"statement {said.number} of {said.by}, {END}: it says more than that the log ends"
        raise RefusedGraphError(Fault.UNCLAIMED, said.by, why, said.number)


# -- a whole graph -------------------------------------------------------------------------------------------------


def audit_graph(shown: Sequence[Introduction], envelopes: Sequence[Envelope], claims: AuditClaims) -> AuditResult:
    """Audit a graph: its introductions, its statements in the recorded order, and the claims."""
    runs = Counter(each.run for each in shown)
    auditor = Auditor(claims, run=claims.run or next((run for run, _ in runs.most_common(1)), ""))
    try:
        for each in shown:
            auditor.enlist(each)
    except RefusedGraphError as error:
        return _result_of(auditor, (), error)
    return audit_statements(auditor, envelopes)


def audit_statements(auditor: Auditor, envelopes: Sequence[Envelope]) -> AuditResult:
    """Audit the statements of a graph after its exclaves were enlisted."""
    try:
        _take_all(auditor, envelopes)
        auditor.finish()
        return _result_of(auditor, tuple(_whole(auditor)), None)
    except RefusedGraphError as error:
        return _result_of(auditor, (), error)


def _result_of(auditor: Auditor, checked: tuple[CheckedClaim, ...], refusal: RefusedGraphError | None) -> AuditResult:
    level = auditor.level if refusal is None else Level.NONE
    return AuditResult(level, len(auditor.steps), sum(map(len, auditor.before)), auditor.logs, checked, refusal)


def _take_all(auditor: Auditor, envelopes: Sequence[Envelope]) -> None:
    """Take all statements; faults of logs are found before faults of inputs, which may follow from them."""
    shown: dict[str, StepStatement] = {}
    numbers: dict[str, set[int]] = {}
    for each in envelopes:
        said = each.statement
        auditor.verify(each)
        if each.digest in shown:
            why = f"statement {said.number} of {said.by} comes a second time"
            raise RefusedGraphError(Fault.DOUBLED, said.by, why, said.number)
        shown[each.digest] = said
        numbers.setdefault(said.by, set()).add(said.number)
    for name, found in numbers.items():
        gap = next((number for number in range(len(found)) if number not in found), None)
        if gap is not None:
            raise RefusedGraphError(Fault.MISSING, name, f"statement {gap} of {name} is not there", gap)
    auditor.shown = shown
    for each in envelopes:
        auditor.take_verified(each)


def _whole(auditor: Auditor) -> list[CheckedClaim]:
    """Return what the claims say of the whole graph. Raises RefusedGraphError if something of it is not so."""
    return [_counted(auditor), *_ordered(auditor), *_result(auditor), _promised(auditor)]


def _counted(auditor: Auditor) -> CheckedClaim:
    counts: dict[str, int] = {}
    for step in auditor.steps:
        counts[step.task] = counts.get(step.task, 0) + 1
    for task, claim in auditor.claims.tasks.items():
        found, due = counts.get(task, 0), claim.count
        if found == 0 if due is None else found != due:
            why = f"{task} was done {found} times, and {'one or more' if due is None else due} times are claimed"
            fault = Fault.MISSING if due is None or found < due else Fault.DOUBLED
            raise RefusedGraphError(fault, ", ".join(sorted(claim.by)), why)
    told = ", ".join(f"{task} {counts.get(task, 0)}" for task in auditor.claims.tasks)
    return CheckedClaim("tasks", f"every step is a claimed task with claimed code and inputs: {told}")


def _ordered(auditor: Auditor) -> list[CheckedClaim]:
    """Insist on the order of custody: by whom one task was done, each time after the time before."""
    order = auditor.claims.order
    if order is None:
        return []
    ranks: list[int] = []
    found: list[tuple[int, str]] = []
    for place in range(len(auditor.steps)):  # a statement comes after all that it reads from
        rank = max((ranks[before] for before in auditor.before[place]), default=0)
        if auditor.steps[place].task == order.task:
            rank += 1
            found.append((rank, auditor.steps[place].by))
        ranks.append(rank)
    for due, (rank, name) in enumerate(found, start=1):
        if rank != due:
            why = f"nothing says that {order.task} number {due}, by {name}, came after the one before"
            raise RefusedGraphError(Fault.REORDERED, name, why)
    for due, (expected, (_, name)) in enumerate(zip(order.by, found, strict=False), start=1):
        if expected != name:
            why = f"{order.task} number {due} was done by {name}, and {expected} is claimed"
            raise RefusedGraphError(Fault.REORDERED, name, why)
    if len(found) != len(order.by):
        why = f"{order.task} was done {len(found)} times, and {len(order.by)} are claimed"
        culprit = order.by[len(found)] if len(found) < len(order.by) else found[len(order.by)][1]
        raise RefusedGraphError(Fault.MISSING if len(found) < len(order.by) else Fault.DOUBLED, culprit, why)
    return [CheckedClaim("order", f"{order.task}: {', '.join(order.by)}")]


def _result(auditor: Auditor) -> list[CheckedClaim]:
    result = auditor.claims.result
    if result is None:
        return []
    places = [place for place, step in enumerate(auditor.steps) if step.task == result.task]
    if not places:
        why = f"nothing was given by {result.task}"
        raise RefusedGraphError(Fault.MISSING, ", ".join(sorted(auditor.claims.tasks[result.task].by)), why)
    last, given = auditor.steps[places[-1]], auditor.steps[places[-1]].gives[0]
    earlier = _leading_to(places[-1], lambda place: auditor.before[place])
    loose = next((auditor.steps[place] for place in places if place not in earlier), None)
    if loose is not None:
        why = f"{result.task} by {last.by} and {result.task} by {loose.by}: nothing says which was the last"
        raise RefusedGraphError(Fault.REORDERED, last.by, why, last.number, other=loose.by)
    _made_of_all(auditor, places[-1], result)
    if result.digest and given.digest != result.digest:
        why = f"{result.task} gave {given.name} {given.digest[:16]}…, and {result.digest[:16]}… is claimed"
        raise RefusedGraphError(Fault.SWAPPED, last.by, why, last.number)
    return [CheckedClaim("result", f"{given.name} {given.digest} of {result.task}")]


def _made_of_all(auditor: Auditor, place: int, result: ResultClaim) -> None:
    """Insist that a result comes, over what steps read, from every step whose order is claimed."""
    order = auditor.claims.order
    if order is None:
        return

    def read_from(place: int) -> Iterator[int]:
        for read, origin in zip(auditor.steps[place].reads, auditor.origins[place], strict=True):
            if origin is not None and (not result.over or read.name in result.over):
                yield origin

    leading, last = _leading_to(place, read_from), auditor.steps[place]
    for each, step in enumerate(auditor.steps):
        if step.task == order.task and each not in leading:
            why = f"the result does not come from statement {step.number} of {step.by}, {step.task}"
            raise RefusedGraphError(Fault.SWAPPED, last.by, why, last.number)


def _leading_to(place: int, before: Callable[[int], Iterable[int]]) -> set[int]:
    """Return a place and all those that lead to it; what comes before a place is smaller."""
    leading = {place}
    for each in range(place, -1, -1):
        if each in leading:
            leading.update(before(each))
    return leading


def _promised(auditor: Auditor) -> CheckedClaim:
    """Insist on the level that is claimed."""
    level, claimed = auditor.level, auditor.claims.level
    if level < claimed:
        weakest = next(log.shown for log in auditor._logs.values() if log.shown.level == level)
        why = f"level {int(claimed)} is claimed, and {weakest.name} is of level {int(level)}"
        raise RefusedGraphError(Fault.UNATTESTED, weakest.name, why)
    weak = sorted(name for name, log in auditor._logs.items() if log.shown.level == level)
    others = min((log.shown.level for log in auditor._logs.values() if log.shown.level > level), default=level)
    told = f", because of {', '.join(weak)}; without, level {int(others)}" if others > level else ""
    return CheckedClaim("level", f"level {int(level)}, {level.name.lower()}{told}")
