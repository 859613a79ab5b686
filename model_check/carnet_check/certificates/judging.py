"""Whether a certificate proves an obligation: its text is generated again, and the kernel checks the certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from carnet_check.certificates.file import DIGITS, Certificates, Entry, LayerCertificates, LayerKey, Layout, tokens_of
from carnet_check.exports.obligation_text import NoSuchHypothesisError, Provable, Writer, digest, select_hypotheses
from carnet_check.kernel.checker import Refused, Step, check
from carnet_check.kernel.reader import read_obligation, read_refutation
from carnet_check.obligations import (
    GOAL,
    Hypothesis,
    Layer,
    LivenessAttempt,
    LivenessObligation,
    Obligation,
    obligations,
)
from carnet_command.worker import Lost
from carnet_command.workers import Pool
from carnet_spec.language.terms import Apply

# -- Which obligations have certificates of their own, and where in a file these are ---------------
#
# A verdict rests on this part: an obligation that it leaves out is not proved. It never searches for a certificate.


def key_of(layer: Layer) -> LayerKey:
    """Return the key of a layer in a file of certificates."""
    return layer.protocol.variant, layer.threat.id if layer.threat else ""


@dataclass(frozen=True)
class LayerObligations:
    """The obligations of a layer that have certificates of their own.

    These are the obligations that are not trivial, and the first skipped pair of each invariant: all its skipped pairs
    have the same text.
    """

    layer: Layer
    proper: tuple[Obligation, ...]
    skipped: Mapping[str, Obligation]

    @staticmethod
    def of(layer: Layer) -> LayerObligations:
        """Return the obligations of a layer."""
        every = tuple(obligations(layer))
        skipped: dict[str, Obligation] = {}
        for each in every:
            if each.skipped:
                skipped.setdefault(each.invariant.name, each)
        return LayerObligations(layer, tuple(each for each in every if not each.skipped), skipped)

    def __iter__(self) -> Iterator[Obligation]:
        yield from self.proper
        yield from self.skipped.values()

    def certificates(self, found: Mapping[str, Entry]) -> LayerCertificates:
        """Return the certificates of the layer; ``found`` has them by the ids of obligations."""
        marks: dict[str, str] = {}
        for each in obligations(self.layer):
            if each.action is not None:
                marks[each.action.name] = marks.get(each.action.name, "") + ("0" if each.skipped else "1")
        return LayerCertificates(
            Layout(tuple(claim.name for claim in self.layer.claims), tuple(marks.items())),
            tuple(found.get(each.id) for each in self.proper),
            {name: found.get(each.id) for name, each in self.skipped.items()},
        )

    def entries(self, certificates: LayerCertificates | None) -> dict[str, Entry | None]:
        """Return the certificates of a file by the ids of obligations, for the pairs that file and layer share."""
        if certificates is None:
            return {}
        known = by_pair(certificates)
        return {each.id: known.get(pair_of(each)) for each in self}


Pair = tuple[str | None, str]  #: An action (None for the first state, '' for a skipped pair) and an invariant.


def pair_of(obligation: Provable) -> Pair:
    """Return the action and invariant of an obligation; for a condition of liveness, its own id."""
    if isinstance(obligation, LivenessObligation):
        return None, obligation.id
    if obligation.skipped:
        return "", obligation.invariant.name
    return obligation.action.name if obligation.action else None, obligation.invariant.name


def by_pair(certificates: LayerCertificates) -> dict[Pair, Entry | None]:
    """Return the certificates of a layer by action and invariant; None where one is missing."""
    layout = certificates.layout
    pairs: list[Pair] = [(None, name) for name in layout.invariants]
    for action, marks in layout.actions:
        pairs += [(action, name) for name, mark in zip(layout.invariants, marks, strict=False) if mark == "1"]
    known: dict[Pair, Entry | None] = dict(zip(pairs, certificates.entries, strict=False))
    return known | {("", name): entry for name, entry in certificates.skipped.items()}


def certified_conditions(
    properties: Mapping[str, Sequence[LivenessAttempt]], entries: Mapping[str, Entry]
) -> Iterator[tuple[LivenessObligation, Entry]]:
    """Yield the conditions of liveness properties that have a certificate, each once."""
    every = {each.id: each for tried in properties.values() for attempt in tried for each in attempt.obligations}
    yield from ((each, entries[id]) for id, each in every.items() if id in entries)


# --------------------------------------------------------------------------------------------------
# The hypotheses that certificates use, if these are bound to the present obligations.


def cores(certificates: Certificates, layers: Iterable[Layer]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return the hypotheses that each valid certificate uses, by variant and obligation id."""
    writer = Writer()
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for layer in layers:
        asked = LayerObligations.of(layer)
        entries = asked.entries(certificates.layers.get(key_of(layer)))
        fitting = {
            each.id: entry.hypotheses
            for each in asked
            if (entry := entries.get(each.id)) is not None and _fits(entry, each, writer)
        }
        for each in obligations(layer):
            own = asked.skipped[each.invariant.name] if each.skipped else each
            if own.id in fitting:
                found[layer.protocol.variant, each.id] = fitting[own.id]
    return found


def _fits(entry: Entry, obligation: Provable, writer: Writer) -> bool:
    known = {each.name for each in obligation.hypotheses}
    return known.issuperset(entry.hypotheses) and entry.is_of(digest(writer.text(obligation, entry.hypotheses)))


# --------------------------------------------------------------------------------------------------
# The kernel checks certificates, in this process or in worker processes; it needs nothing of Carnet but itself.

BATCH = 100  #: How many certificates a worker receives at once.

#: Everything that the kernel's answer depends on: the full digest of a text, and a certificate's names and tokens.
Identity = tuple[str, tuple[str, ...], str]


class Bound(NamedTuple):
    """A certificate and the text that it is bound to, in the form that the kernel reads."""

    digest: str
    text: str
    names: tuple[str, ...]
    tokens: str

    @property
    def identity(self) -> Identity:
        """Everything that the kernel's answer depends on."""
        return self.digest, self.names, self.tokens

    def why_refused(self) -> str:
        """Return why the kernel refuses the certificate, or nothing if it accepts it."""
        try:
            follow(self.text, self.names, self.tokens)
        except Refused as refused:
            return f"the certificate is refused: {refused}"
        return ""


def follow(text: str, names: Sequence[str], tokens: str) -> tuple[str, ...]:
    """Have the kernel check a certificate of an obligation's ``text``. Return the names of the text's hypotheses.

    Raises Refused if the certificate does not prove the text.
    """
    obligation, hypotheses = read_obligation(text)
    try:
        check(obligation, read_refutation(tokens, names, obligation.functions))
    except RecursionError:
        raise Refused("its terms are nested too deeply") from None
    return hypotheses


#: Returns for each certificate why the kernel refuses it, or an empty text if the kernel accepts it.
Follow = Callable[[Iterable[Bound]], Mapping[Identity, str]]


def in_turn(every: Iterable[Bound]) -> dict[Identity, str]:
    """Check certificates one after the other in this process.

    Returns:
        For each certificate why the kernel refuses it; empty if it is accepted.
    """
    return {each.identity: each.why_refused() for each in every}


def in_workers(pool: Pool) -> Follow:
    """Return a function that checks certificates in a pool; if a worker is lost, only its current one is refused."""

    def followed(every: Iterable[Bound]) -> dict[Identity, str]:
        said: dict[Identity, str] = {}
        batches: Iterable[tuple[Bound, ...]] = _batches(iter(every))
        while batches:
            left: list[tuple[Bound, ...]] = []
            for batch, answer in pool.results(_answered, batches, _is_last):
                if isinstance(answer, Lost):
                    lost, *rest = (each for each in batch if each.identity not in said)
                    said[lost.identity] = f"no answer: {answer.reason}"
                    left += [tuple(rest)] if rest else []
                else:
                    said.update([answer])
            batches = left
        return said

    return followed


def _batches(every: Iterator[Bound]) -> Iterator[tuple[Bound, ...]]:
    """Yield certificates in batches, each as soon as a worker is free."""
    while batch := tuple(islice(every, BATCH)):
        yield batch


def _is_last(batch: tuple[Bound, ...], answer: tuple[Identity, str]) -> bool:
    return answer[0] == batch[-1].identity


def _answered(batch: tuple[Bound, ...]) -> Iterator[tuple[Identity, str]]:
    yield from ((each.identity, each.why_refused()) for each in batch)


# --------------------------------------------------------------------------------------------------
# Whether a certificate proves an obligation: its text is generated again, and the kernel checks the certificate.

Accepted = set[Identity]  #: The certificates that the kernel accepted.
NO_CERTIFICATE = "there is no certificate"


class Judge:
    """Judges certificates of one protocol; the kernel checks no accepted certificate a second time.

    A certificate has at most ``most`` tokens. Judges of several protocols may share ``accepted``, the certificates that
    were accepted.
    """

    def __init__(self, most: int | None = None, accepted: Accepted | None = None) -> None:
        self.writer = Writer()
        self.accepted: Accepted = set() if accepted is None else accepted
        self._most = most
        self._judged: dict[tuple[Entry, tuple[Apply, ...], tuple[Hypothesis, ...]], str] = {}

    def why_refused(self, obligation: Provable, entry: Entry | None) -> str:
        """Return why a certificate does not prove the present obligation, or an empty text if it does."""
        if entry is None:
            return NO_CERTIFICATE
        used = self._used(obligation, entry)
        if isinstance(used, str):
            return used
        asked = entry, obligation.constants, used
        if asked not in self._judged:
            self._judged[asked] = self._why_refused(self._bound(obligation, entry, used))
        return self._judged[asked]

    def bind(self, obligation: Provable, entry: Entry | None) -> Bound | str:
        """Return a certificate with the present text of its obligation, or why it is not bound to that text."""
        if entry is None:
            return NO_CERTIFICATE
        used = self._used(obligation, entry)
        return used if isinstance(used, str) else self._bound(obligation, entry, used)

    def _why_refused(self, bound: Bound | str) -> str:
        if isinstance(bound, str):
            return bound
        why = "" if bound.identity in self.accepted else bound.why_refused()
        if not why:
            self.accepted.add(bound.identity)
        return why

    def _used(self, obligation: Provable, entry: Entry) -> tuple[Hypothesis, ...] | str:
        """Return the hypotheses that a certificate uses, or why it cannot be of this obligation."""
        if self._most is not None and entry.tokens.count(" ") >= self._most:
            return f"its certificate has more than {self._most:,} tokens"
        try:
            used = select_hypotheses(obligation, entry.hypotheses)
        except NoSuchHypothesisError:
            return "the certificate is stale: it uses a hypothesis that is not there any more"
        if not entry.goes_through(each.name for each in used if each.name != GOAL):
            return "the certificate is refused: it does not name its hypotheses once and in order"
        return used

    def _bound(self, obligation: Provable, entry: Entry, used: tuple[Hypothesis, ...]) -> Bound | str:
        text = self.writer.text_of(obligation, used)
        full = digest(text)
        if not entry.is_of(full):
            return "the certificate is stale: it is bound to another text"
        return Bound(full, text, entry.names, entry.tokens)


def with_used_hypotheses(writer: Writer, obligation: Provable, steps: list[Step], names: Mapping[int, str]) -> Entry:
    """Return a certificate with only the hypotheses that ``steps`` use. Raise Refused if the kernel does not accept it.

    ``names`` has the name of each hypothesis that the refutation refers to by number.
    """
    used = {names[number] for rule, (*numbers,), _, _ in steps if rule == "use" for number in numbers}
    kept = [each.name for each in obligation.hypotheses if each.name in used and each.name != GOAL]
    place = {name: number for number, name in enumerate((*kept, GOAL))}
    renumbered = [with_hypotheses(step, lambda number: place[names[number]]) for step in steps]
    text, (tokens, used_names) = writer.text(obligation, kept), tokens_of(renumbered)
    follow(text, used_names, tokens)
    return Entry(digest(text)[:DIGITS], tuple(kept), used_names, tokens)


def with_hypotheses(step: Step, number: Callable[[int], int]) -> Step:
    """Return a step with its hypotheses renumbered."""
    rule, places, terms, rewritings = step
    return (rule, tuple(map(number, places)), terms, rewritings) if rule == "use" else step


def adapt_entry(writer: Writer, obligation: Provable, entry: Entry) -> Entry | None:
    """Return a certificate of another text with the hypotheses of this obligation, matched by name, if it proves it."""
    if not {each.name for each in obligation.hypotheses}.issuperset(entry.hypotheses):
        return None
    names = dict(enumerate((*entry.hypotheses, GOAL)))
    try:
        here, _ = read_obligation(writer.text(obligation, entry.hypotheses))
        return with_used_hypotheses(
            writer, obligation, read_refutation(entry.tokens, entry.names, here.functions), names
        )
    except (Refused, LookupError):
        return None
