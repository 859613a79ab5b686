"""The folder that ``carnet certify --out`` writes; it is all that ``carnet recheck`` needs to judge it.

The obligations are generated again from the variants in the folder. An index that leaves an obligation out, or that has
another text in its place, is not accepted. The digests tell a reader whether these are the expected variants.

=============================== ====================================================================================
``index.csv``                   which obligation of which variant and threat model is in which file
``obligations/DIGEST.smt2``     one obligation, by the SHA-256 of its text
``certificates.json.xz``        the certificates
``systems/VARIANT.json``        a whole variant, in its canonical encoding
=============================== ====================================================================================
"""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from carnet_check.certificates.file import DIGITS, NAME, Entry, load_certificates
from carnet_check.certificates.judging import follow
from carnet_check.errors import UsageError
from carnet_check.exports.obligation_index import COLUMNS
from carnet_check.exports.obligation_text import Known, Provable, Writer
from carnet_check.kernel.checker import Refused
from carnet_check.obligations import GOAL, Layer, LivenessAttempt, assumed_of, attempts, layers, obligations
from carnet_command.files import failing_as, read_plain, reason
from carnet_spec.language import Claim, Protocol, SpecificationError, Term
from carnet_spec.language.decoding import decode
from carnet_spec.language.lints import PROOF_SOUNDNESS, unsound

OBLIGATIONS = "obligations"
SYSTEMS = "systems"
LARGEST = 1_000_000  #: The most bytes of an obligation.
LARGEST_SYSTEM = 64 << 20  #: The most bytes of a variant.
Named = tuple[str, str, str]  #: The key of an obligation: its variant, its threat model or an empty text, and its id.


class RowVerdict(NamedTuple):
    """Whether the certificate of one row of the index is accepted; if not, why, and whether it is missing."""

    variant: str
    obligation: str
    digest: str
    why: str = ""
    missing: bool = False
    #: Whether the row is needed; a row that names no obligation, or one that an earlier row names, is not.
    required: bool = True


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """Why the certificate of a text is not accepted (empty if it is), and whether text or certificate is missing."""

    why: str = ""
    missing: bool = False


@dataclass(frozen=True, slots=True)
class IndexComparison:
    """The digest of each variant of a folder, a verdict on each row of its index, and the claims to be proved."""

    specifications: dict[str, str]
    rows: tuple[RowVerdict, ...]
    stated: tuple[RequiredClaim, ...] = ()
    lively: tuple[RequiredClaim, ...] = ()


def specifications(folder: Path) -> Iterator[tuple[Protocol, str]]:
    """Yield the variants of a folder, each with its canonical JSON.

    Raises UsageError if there is no variant, two have the same name, or one cannot be read.
    """
    seen: set[str] = set()
    files = sorted((folder / SYSTEMS).glob("*.json"))
    if not files:
        raise UsageError(f"expected variants in '{folder / SYSTEMS}', as `carnet certify --out` writes them")
    for file in files:
        try:
            text = _plain(file, LARGEST_SYSTEM).decode("ascii")
            protocol = decode(text)
        except OSError as error:
            raise UsageError(f"cannot read '{file}': {reason(error)}") from None
        except (UnicodeError, SpecificationError) as error:
            raise UsageError(f"cannot read '{file}': {error}") from None
        if protocol.variant in seen:
            raise UsageError(f"expected one variant '{protocol.variant}' in '{folder / SYSTEMS}', found two")
        seen.add(protocol.variant)
        yield protocol, text


def _plain(file: Path, most: int) -> bytes:
    data = read_plain(file, most)
    if len(data) > most:
        raise OSError(f"it has more than {most:,} bytes")
    return data


def compare_index(folder: Path, index: bytes) -> IndexComparison:
    """Compare the index of a folder with the obligations of its variants, which are generated again.

    Raises UsageError if the folder is not of the form that ``carnet certify --out`` writes, or a variant has lint
    errors; SpecificationError if a variant has a construct for which there are no obligations.
    """
    protocols = [protocol for protocol, _ in specifications(folder)]
    for protocol in protocols:  # two members with the same name would have the same obligation id
        for complaint in unsound(protocol, PROOF_SOUNDNESS):
            raise UsageError(f"variant {protocol.variant}: no verdict would be sound: {complaint}")
    texts: dict[Term, Known] = {}
    required: dict[Named, tuple[Provable, Writer]] = {}
    conditions: dict[Named, tuple[Provable, Writer]] = {}
    properties: list[tuple[Layer, Mapping[str, Sequence[LivenessAttempt]]]] = []
    for protocol in protocols:
        writer, every = Writer(texts), layers(protocol)
        required |= {_named(each): (each, writer) for layer in every for each in obligations(layer)}
        properties.append((assumed_of(every), attempts(every)))
        tried = (attempt for found in properties[-1][1].values() for attempt in found)
        conditions |= {_named(each): (each, writer) for attempt in tried for each in attempt.obligations}
    found: list[RowVerdict] = []
    listed: set[Named] = set()
    known = required | conditions
    for row in rows_of(index, folder):
        found.append(_compared(row, known, listed))
        listed.add(row.key)
    for variant, _, id in (key for key in required if key not in listed):
        found.append(RowVerdict(variant, id, "", "the index leaves it out", missing=True))
    claims = tuple(each for protocol in protocols for each in required_claims(protocol))
    lively = tuple(each for layer, stated in properties for each in _lively(layer, stated, listed))
    return IndexComparison({each.variant: each.digest for each in protocols}, tuple(found), claims, lively)


def _named(obligation: Provable) -> Named:
    return obligation.variant, obligation.under, obligation.id


def _compared(row: Row, required: Mapping[Named, tuple[Provable, Writer]], listed: Collection[Named]) -> RowVerdict:
    """Compare a row with the obligation that it names, unless an earlier row names the same one."""
    found, key = RowVerdict(row.variant, row.obligation, row.digest), row.key
    if key not in required:
        under = f" under '{row.threat}'" if row.threat else ""
        return found._replace(why=f"no variant in '{SYSTEMS}' asks for it{under}", required=False)
    if key in listed:
        return found._replace(why="the index has it more than once", required=False)
    why = _other_than(row, *required[key])
    return found._replace(why=why) if why else found


def unusable_index(rows: Iterable[Row], why: str) -> IndexComparison:
    """Return the comparison of an index that could not be compared with the variants, and why: no row is accepted."""
    said = f"it was not compared with the variants: {why}"
    found = (RowVerdict(row.variant, row.obligation, row.digest, said, missing=True) for row in rows)
    return IndexComparison({}, tuple(found))


def check_texts(folder: Path, digests: Iterable[str]) -> dict[str, TextVerdict]:
    """Have the kernel check each text that has one of these digests; it has to accept all certificates of the text.

    Raises UsageError if the folder is not of the form that ``carnet certify --out`` writes.
    """
    certificates = load_certificates(folder / NAME)
    entries: dict[str, dict[Entry, None]] = {}
    for entry in certificates.every:
        entries.setdefault(entry.digest, {})[entry] = None
    return {digest: _verdict_of_text(folder, digest, entries.get(digest[:DIGITS], ())) for digest in digests}


def unchecked_text(why: str) -> TextVerdict:
    """Return the verdict on a text that the kernel did not check, and why."""
    return TextVerdict(f"it was not judged: {why}", missing=True)


def join_verdicts(rows: Iterable[RowVerdict], outcomes: Mapping[str, TextVerdict]) -> Iterator[RowVerdict]:
    """Yield the rows of a comparison with the kernel's verdicts on their texts; a row without one is not proved."""
    for row in rows:
        outcome = outcomes.get(row.digest)
        if outcome is None:
            outcome = (
                TextVerdict(row.why, row.missing) if row.why else unchecked_text("no checker was asked about its text")
            )
        yield row._replace(why=outcome.why, missing=outcome.missing) if outcome.why else row


def _other_than(row: Row, obligation: Provable, writer: Writer) -> str:
    """Return how a row differs from the obligation of the variant; empty if it does not."""
    try:
        digest = writer.digest(obligation, _names(row.hypotheses))
    except (SpecificationError, ValueError, RecursionError) as error:
        return f"its hypotheses are not those of the variant in '{SYSTEMS}': {error}"
    return "" if digest == row.digest else f"its text is not the one that the variant in '{SYSTEMS}' asks for"


@functools.lru_cache(maxsize=8192)
def _names(hypotheses: str) -> tuple[str, ...]:
    found = json.loads(hypotheses)
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError("expected a list of names")
    return tuple(found)


def _verdict_of_text(folder: Path, digest: str, entries: Collection[Entry]) -> TextVerdict:
    try:
        text = _text(folder, digest)
    except OSError as error:
        return TextVerdict(f"its text cannot be read: {reason(error)}", missing=True)
    except (UnicodeError, Refused) as error:
        return TextVerdict(str(error))
    if not entries:
        return TextVerdict("there is no certificate", missing=True)
    for entry in entries:
        try:
            hypotheses = follow(text, entry.names, entry.tokens)
        except Refused as refused:
            return TextVerdict(f"the certificate is refused: {refused}")
        if hypotheses != (*entry.hypotheses, GOAL):
            return TextVerdict("the certificate is refused: it does not name the hypotheses of its text in order")
    return TextVerdict()


def _text(folder: Path, digest: str) -> str:
    """Return the text of an obligation, whose digest must be the one in its file name."""
    if len(digest) != 64 or not digest.isalnum():
        raise Refused(f"'{digest[:70]}' is no SHA-256 digest")
    data = read_plain(folder / OBLIGATIONS / f"{digest}.smt2", LARGEST)
    if len(data) > LARGEST or hashlib.sha256(data).hexdigest() != digest:
        raise Refused("the text has another digest than the index says")
    return data.decode()


# --------------------------------------------------------------------------------------------------
# The index of a folder that ``carnet recheck`` judges. It is read once; every check uses the same bytes.

INDEX = "index.csv"
LARGEST_INDEX = 256 << 20  #: The most bytes of an index.


class Row(NamedTuple):
    """A row of an index: an obligation of a variant and a threat model, and the digest of its text."""

    variant: str
    threat: str
    obligation: str
    digest: str
    hypotheses: str

    @property
    def key(self) -> Named:
        """The key of the obligation."""
        return self.variant, self.threat, self.obligation


def read_index(folder: Path) -> bytes:
    """Return the bytes of the index of a folder.

    Raises UsageError if the index cannot be read, is no plain file, or is too large.
    """
    index = folder / INDEX
    with failing_as(f"cannot read '{index}'"):
        data = read_plain(index, LARGEST_INDEX)
    if len(data) > LARGEST_INDEX:
        raise UsageError(f"expected an index of at most {LARGEST_INDEX:,} bytes in '{index}'")
    return data


def rows_of(data: bytes, folder: Path) -> list[Row]:
    """Return the rows of an index that was read from a folder; raise UsageError if it is malformed."""
    index = folder / INDEX
    try:
        header, *rows = csv.reader(io.StringIO(data.decode(), newline=""), strict=True)
    except (ValueError, csv.Error) as error:
        raise UsageError(f"expected an index of obligations in '{index}': {error}") from None
    if tuple(header) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise UsageError(f"expected rows of {', '.join(COLUMNS)} in '{index}'")
    return [Row(*row) for row in rows]


def digests(rows: Sequence[Row]) -> list[str]:
    """Return the digests of the texts that an index names, without repetition."""
    return list(dict.fromkeys(row.digest for row in rows))


# --------------------------------------------------------------------------------------------------
# Which claims are proved under which threat models, given the obligations that are not proved.
#
# The obligations alone do not show this: a claim that belongs to no layer has none, and would be silently missing.

OF_NO_LAYER = "no layer has it, so nothing proves it"
UNDER_NONE = "it is claimed under no threat model"
NO_CONDITIONS = "the index has not all conditions for any stages"
GENERAL = ("init/", "step/")  #: The prefixes of the ids of obligations that are proved independently of a threat model.


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim under a threat model (empty if none is declared), and why it is not proved (empty if it is)."""

    variant: str
    claim: str
    threat: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class RequiredClaim:
    """A pair, with the prefixes of the ids of all obligations that it needs.

    A pair is only ``declared`` if its claim is not stated yet, or is a liveness property without a proof.
    """

    pair: Pair
    rests_on: tuple[str, ...] = ()
    declared: bool = False

    def pair_given(self, unproved: Collection[str]) -> Pair:
        """Return the pair, which is proved if it rests on none of the variant's ``unproved`` obligations."""
        if self.pair.why:
            return self.pair
        needed = sum(id.startswith(self.rests_on) for id in unproved)
        why = f"{needed:,} of the obligations that it rests on are not proved" if needed else ""
        return replace(self.pair, why=why)


def required_claims(protocol: Protocol) -> Iterator[RequiredClaim]:
    """Yield every claim with each threat model under which it is made; expected violations are no claims made.

    Raises SpecificationError if the protocol has a construct for which there are no obligations.
    """
    every = layers(protocol)
    for claim in protocol.claims:
        if claim.invariant is None:
            yield RequiredClaim(Pair(protocol.variant, claim.name, ""), declared=True)
        elif not claim.under and not claim.fails_under and protocol.threats:
            yield RequiredClaim(Pair(protocol.variant, claim.name, "", UNDER_NONE))
        else:
            threats = [id for id in claim.under if id not in claim.fails_under] if protocol.threats else [""]
            yield from (_stated(protocol, claim, threat, every) for threat in threats)


def _stated(protocol: Protocol, claim: Claim, threat: str, every: Sequence[Layer]) -> RequiredClaim:
    for layer in every:
        if claim.invariant in layer.claims and (layer.threat is None or layer.threat.id == threat):
            own = (layer.prefix + kind for kind in GENERAL)
            return RequiredClaim(Pair(protocol.variant, claim.name, threat), tuple(dict.fromkeys((*GENERAL, *own))))
    return RequiredClaim(Pair(protocol.variant, claim.name, threat, OF_NO_LAYER))


def _lively(
    layer: Layer, properties: Mapping[str, Sequence[LivenessAttempt]], listed: Collection[Named]
) -> Iterator[RequiredClaim]:
    """Yield each liveness property, with the conditions of its first attempt that the index lists in full, if any.

    If there is only one threat model, lemmas may use its axioms. The property is then proved under that threat model.
    """
    variant, threat = layer.protocol.variant, layer.threat.id if layer.threat else ""
    for name, tried in properties.items():
        whole = (each for each in tried if all(_named(one) in listed for one in each.obligations))
        attempt = next(whole, None)
        pair = Pair(variant, name, threat, "" if attempt else NO_CONDITIONS)
        own = tuple(layer.prefix + kind for kind in GENERAL)
        yield RequiredClaim(pair, (*own, *(each.id for each in attempt.obligations)) if attempt else (), not attempt)
