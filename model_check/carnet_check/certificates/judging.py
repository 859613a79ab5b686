"""Whether a certificate proves an obligation: the text that it is bound to is made anew, and the kernel follows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from carnet_check.certificates.file import DIGITS, Entry
from carnet_check.certificates.following import Bound, Identity, follow
from carnet_check.certificates.tokens import tokens_of
from carnet_check.exports.obligation_text import NoSuchHypothesisError, Writer, digest
from carnet_check.kernel.checker import Refused, Step
from carnet_check.kernel.reader import read_obligation, read_refutation
from carnet_check.obligations import GOAL, Obligation

Accepted = set[Identity]
"""What the kernel accepted."""


class Judge:
    """Judges certificates of one protocol; what it has accepted once it does not follow again.

    Attributes:
        most: the most tokens that a certificate may have.
        accepted: the digests, names and tokens of what was accepted; judges of several protocols may share them.
    """

    def __init__(self, most: int | None = None, accepted: Accepted | None = None) -> None:
        self.writer = Writer()
        self.accepted: Accepted = set() if accepted is None else accepted
        self._most = most

    def why_refused(self, obligation: Obligation, entry: Entry | None) -> str:
        """Return why a certificate does not prove an obligation as it is now, or nothing if it does."""
        bound = self.bound(obligation, entry)
        if isinstance(bound, str):
            return bound
        why = "" if bound.identity in self.accepted else bound.why_refused()
        if not why:
            self.accepted.add(bound.identity)
        return why

    def bound(self, obligation: Obligation, entry: Entry | None) -> Bound | str:
        """Return a certificate with the text of an obligation as it is now, or why it is bound to no such text."""
        if entry is None:
            return "there is no certificate"
        if self._most is not None and entry.tokens.count(" ") >= self._most:
            return f"its certificate has more than {self._most:,} tokens"
        try:
            text = self.writer.text(obligation, entry.hypotheses)
        except NoSuchHypothesisError:
            return "the certificate is stale: it uses a hypothesis that is not there any more"
        if not entry.goes_through(each.name for each in obligation.hypotheses if each.name != GOAL):
            return "the certificate is refused: it does not name its hypotheses once and in order"
        full = digest(text)
        if not entry.is_of(full):
            return "the certificate is stale: it is bound to another text"
        return Bound(full, text, entry.names, entry.tokens)


def bound_to(text: str, steps: list[Step], hypotheses: tuple[str, ...]) -> Entry:
    """Return the certificate of a text.

    Raises:
        Refused: the kernel does not accept it.
    """
    tokens, names = tokens_of(steps)
    entry = Entry(digest(text)[:DIGITS], hypotheses, names, tokens)
    follow(text, entry.names, entry.tokens)
    return entry


def cut(writer: Writer, obligation: Obligation, steps: list[Step], names: Mapping[int, str]) -> Entry:
    """Return the certificate of an obligation, cut to the hypotheses that it uses.

    Args:
        writer: writes the text.
        obligation: what is proved.
        steps: the refutation.
        names: the name of each hypothesis that the refutation refers to by number.

    Raises:
        Refused: the kernel does not accept it.
    """
    used = {names[number] for rule, (*numbers,), _, _ in steps if rule == "use" for number in numbers}
    kept = [each.name for each in obligation.hypotheses if each.name in used and each.name != GOAL]
    place = {name: number for number, name in enumerate((*kept, GOAL))}
    renumbered = [with_hypotheses(step, lambda number: place[names[number]]) for step in steps]
    return bound_to(writer.text(obligation, kept), renumbered, tuple(kept))


def with_hypotheses(step: Step, number: Callable[[int], int]) -> Step:
    """Return a step with other numbers for hypotheses."""
    rule, places, terms, rewritings = step
    return (rule, tuple(map(number, places)), terms, rewritings) if rule == "use" else step


def adapted(writer: Writer, obligation: Obligation, entry: Entry) -> Entry | None:
    """Return a certificate of another text as one of this obligation, by the names of hypotheses, if it proves that."""
    if not {each.name for each in obligation.hypotheses}.issuperset(entry.hypotheses):
        return None
    names = dict(enumerate((*entry.hypotheses, GOAL)))
    try:
        here, _ = read_obligation(writer.text(obligation, entry.hypotheses))
        return cut(writer, obligation, read_refutation(entry.tokens, entry.names, here.functions), names)
    except (Refused, LookupError):
        return None
