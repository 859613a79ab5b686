"""The file of certificates that lies beside a specification: canonical JSON, compressed.

A certificate is bound to the text of an obligation by the first 16 digits of its SHA-256. The text has the hypotheses
that the certificate uses and no others; the file lists them by name, in the order of the text. Reading a file checks
its form alone: only the kernel decides what a certificate proves.
"""

import importlib.util
import json
import lzma
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from carnet_check.errors import UsageError
from carnet_check.kernel.checker import Node, Step
from carnet_check.loading.families import Source, known_protocols
from carnet_command.files import read_plain, reason

FORMAT = "carnet-certificates/1"
DIGITS = 16  #: How many hexadecimal digits of a digest bind a certificate to its text.
LARGEST_FILE = 4 << 20
LARGEST = 16 << 20  #: The most bytes of a file, compressed and decompressed.
MEMORY = 256 << 20  #: The most memory that decompressing may take.
_FILTERS: Sequence[Mapping[str, int]] = (
    {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 21},
)
_NAMED = re.compile(r"\b([fm])([0-9]+)\b")


class BadCertificateFile(UsageError):
    """A file is not a file of certificates."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A certificate: the digest it is bound to, the hypotheses it uses, and its tokens."""

    digest: str
    hypotheses: tuple[str, ...]
    names: tuple[str, ...]  # the symbols and members that the tokens refer to by number
    tokens: str

    def is_of(self, digest: str) -> bool:
        """Whether the certificate is bound to a text whose SHA-256 begins with ``digest``."""
        return self.digest == digest[:DIGITS]

    def goes_through(self, hypotheses: Iterable[str]) -> bool:
        """Whether the certificate uses only hypotheses in ``hypotheses``, each once and in their order.

        Its steps refer to them by position.
        """
        left = iter(hypotheses)
        return all(name in left for name in self.hypotheses)


@dataclass(frozen=True, slots=True)
class Layout:
    """The obligations of a layer: its invariants in order, and for each action a digit per invariant, 0 if skipped."""

    invariants: tuple[str, ...]
    actions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LayerCertificates:
    """The certificates of a layer: of its obligations in order, and of the skipped pairs of each invariant.

    ``None`` stands where a certificate is missing.
    """

    layout: Layout
    entries: tuple[Entry | None, ...]
    skipped: Mapping[str, Entry | None]

    @property
    def every(self) -> Iterator[Entry]:
        """Yield every certificate that is there."""
        return (entry for entry in (*self.entries, *self.skipped.values()) if entry is not None)


LayerKey = tuple[str, str]  #: A variant, and a threat model or nothing.


@dataclass(frozen=True, slots=True)
class Certificates:
    """All certificates of a family: of layers, by variant and threat model, and of liveness, by variant and id."""

    layers: Mapping[LayerKey, LayerCertificates]
    liveness: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)

    @property
    def every(self) -> Iterator[Entry]:
        """Yield every certificate of every layer and of liveness."""
        yield from (entry for layer in self.layers.values() for entry in layer.every)
        yield from (entry for entries in self.liveness.values() for entry in entries.values())


# -- writing --------------------------------------------------------------------------------------


def encoded_certificates(certificates: Certificates) -> bytes:
    """Return the bytes of the file of ``certificates``; equal certificates have equal files."""
    given = dict.fromkeys(certificates.every)
    names = sorted({entry.names[int(number)] for entry in given for _, number in _NAMED.findall(entry.tokens)})
    hypotheses = sorted({name for entry in given for name in entry.hypotheses})
    plain = {entry: _renamed(entry, names) for entry in given}
    entries = sorted(set(plain.values()), key=lambda entry: (entry.digest, entry.tokens))
    place = {entry: number for number, entry in enumerate(entries)}
    at = {entry: place[its] for entry, its in plain.items()}
    content: dict[str, Any] = {
        "format": FORMAT,
        "names": names,
        "hypotheses": hypotheses,
        "entries": [
            [entry.digest, [hypotheses.index(name) for name in entry.hypotheses], entry.tokens] for entry in entries
        ],
        "index": {},
        "skipped": {},
        "layout": {},
    }
    for (variant, threat), layer in sorted(certificates.layers.items()):
        layout = {"invariants": layer.layout.invariants, "actions": layer.layout.actions}
        skipped = {name: _index_of(at, entry) for name, entry in layer.skipped.items()}
        content["index"].setdefault(variant, {})[threat] = [_index_of(at, entry) for entry in layer.entries]
        content["skipped"].setdefault(variant, {})[threat] = skipped
        content["layout"].setdefault(variant, {})[threat] = layout
    if certificates.liveness:
        content["liveness"] = {
            variant: {id: at[entry] for id, entry in entries.items()}
            for variant, entries in certificates.liveness.items()
        }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return lzma.compress(text.encode(), format=lzma.FORMAT_XZ, filters=_FILTERS)


def _index_of(at: Mapping[Entry, int], entry: Entry | None) -> int | None:
    return None if entry is None else at[entry]


def _renamed(entry: Entry, names: Sequence[str]) -> Entry:
    number = {name: place for place, name in enumerate(names)}
    tokens = _NAMED.sub(lambda found: f"{found[1]}{number[entry.names[int(found[2])]]}", entry.tokens)
    return Entry(entry.digest, entry.hypotheses, tuple(names), tokens)


# -- reading --------------------------------------------------------------------------------------


def read(data: bytes, where: str = "the file of certificates") -> Certificates:
    """Read a file of certificates; raise BadCertificateFile if it is malformed or of another version."""
    try:
        content = json.loads(_decompressed(data))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"expected the format {FORMAT}")
        return _certificates(content)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, lzma.LZMAError, MemoryError) as error:
        why = " ".join(f"{type(error).__name__} {error}".split())[:120]
        said = f"{where} is no file of certificates ({why})"
        raise BadCertificateFile(f"{said}; delete it, and `carnet certify` makes it again") from None


def _decompressed(data: bytes) -> bytes:
    if len(data) > LARGEST_FILE:
        raise ValueError(f"it has more than {LARGEST_FILE} bytes")
    reader = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MEMORY)
    found = reader.decompress(data, LARGEST + 1)
    if len(found) > LARGEST:
        raise ValueError(f"it does not decompress to at most {LARGEST} bytes")
    if not reader.eof:
        raise ValueError("it is cut off")
    if reader.unused_data:
        raise ValueError("something follows after its end")
    return found


def _certificates(content: Mapping[str, Any]) -> Certificates:
    names = _texts(content["names"])
    hypotheses = _texts(content["hypotheses"])
    entries = tuple(
        Entry(_text(digest), tuple(_at(hypotheses, place) or "" for place in used), names, _text(tokens))
        for digest, used, tokens in content["entries"]
    )
    layers: dict[LayerKey, LayerCertificates] = {}
    for variant, threats in content["index"].items():
        for threat, places in threats.items():
            layout = content["layout"][variant][threat]
            actions = tuple((_text(name), _text(pairs)) for name, pairs in layout["actions"])
            layers[variant, threat] = LayerCertificates(
                Layout(_texts(layout["invariants"]), actions),
                tuple(_at(entries, place) for place in places),
                {str(name): _at(entries, at) for name, at in content["skipped"][variant][threat].items()},
            )
    liveness = {
        _text(variant): {_text(id): _there(entries, place) for id, place in found.items()}
        for variant, found in content.get("liveness", {}).items()
    }
    return Certificates(layers, liveness)


def _there(listed: Sequence[Entry], place: Any) -> Entry:
    """Return the certificate with a number."""
    if place is None:
        raise ValueError("expected a number")
    entry: Entry = _at(listed, place)
    return entry


def _at(listed: Sequence[Any], place: Any) -> Any:
    """Return the element with a number, or None if the number is None."""
    if place is None:
        return None
    if type(place) is not int or not 0 <= place < len(listed):
        raise ValueError(f"expected a number below {len(listed)}, not {place!r}")
    return listed[place]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, not {value!r:.40}")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError(f"expected a list of texts, not {values!r:.40}")
    return tuple(map(_text, values))


# -- The path of the certificates of a family: beside the module that it is loaded from ------------

NAME = "certificates.json.xz"


def place_of(source: Source) -> Path | None:
    """Return the path of the certificates of a family, which need not exist; None if the family is in no file.

    A package contains its file; a family ``path.py:name`` has ``path.name.certificates.json.xz`` beside it.
    """
    target = known_protocols().get(source.reference, source.reference)
    module, _, name = (target, "", "") if target.endswith(".py") else target.rpartition(":")
    file = _file_of(module)
    if file is None:
        return None
    if file.name == "__init__.py":
        return file.with_name(NAME)
    return file.with_name(".".join(part for part in (file.stem, name, NAME) if part))


def _file_of(module: str) -> Path | None:
    if module.endswith(".py"):
        return Path(module)
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(found.origin) if found and found.origin and found.has_location else None


def load_certificates(path: Path) -> Certificates:
    """Return the certificates in a file; an empty value if there is no file.

    Raises BadCertificateFile if the file is malformed, or it cannot be read.
    """
    try:
        return read(read_plain(path, LARGEST_FILE), f"'{path}'")
    except FileNotFoundError:
        return Certificates({})
    except OSError as error:
        raise BadCertificateFile(f"cannot read '{path}': {reason(error)}") from None


def save_certificates(path: Path, certificates: Certificates) -> int:
    """Write a file, whole or not at all, and return how many bytes it has; raise UsageError if it cannot be written."""
    data = encoded_certificates(certificates)
    beside = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {reason(error)}") from None
    finally:
        beside.unlink(missing_ok=True)
    return len(data)


# -- The steps of a refutation as tokens, which ``kernel/reader.py`` reads -------------------------


def tokens_of(steps: Iterable[Step]) -> tuple[str, tuple[str, ...]]:
    """Return the tokens of a refutation, and the names that they refer to by number."""
    names: dict[str, int] = {}
    text = " ".join(str(token) for step in steps for token in _step(step, names))
    return text, tuple(names)


def _step(step: Step, names: dict[str, int]) -> Iterator[str | int]:
    rule, places, terms, rewritings = step
    yield _LETTERS[rule]
    if rule == "close":
        yield len(places)
    yield from places
    if rule == "instance":
        yield len(terms)
    for term in terms:
        yield from _term(term, names)
    if rule == "close":
        yield len(rewritings)
    for place, backwards in rewritings:
        yield from (place, int(backwards))


def _term(term: Node, names: dict[str, int]) -> Iterator[str]:
    kind, name, parts = term
    if kind == "eigen":
        yield f"e{name}"
    elif kind in {"member", "apply"}:
        yield f"{_LETTERS[kind]}{names.setdefault(str(name), len(names))}"
    else:
        raise ValueError(f"expected a closed term, not {term}")
    for each in parts:
        yield from _term(each, names)


_LETTERS = {"use": "u", "instance": "i", "witness": "w", "split": "s", "cases": "c", "close": "x"}
_LETTERS |= {"member": "m", "apply": "f"}
