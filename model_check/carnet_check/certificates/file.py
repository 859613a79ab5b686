"""The file of certificates that lies beside a specification: canonical JSON, compressed.

A certificate is bound to the text of an obligation by the first 16 digits of its SHA-256. The text has the hypotheses
that the certificate uses and no others; the file lists them by name, in the order of the text. Whoever reads a file
takes nothing in it for granted but its form: what a certificate proves is for the kernel to say.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from carnet_check.errors import UsageError

FORMAT = "carnet-certificates/1"
DIGITS = 16
"""How many digits of a digest a certificate is bound to."""
LARGEST_FILE = 4 << 20
LARGEST = 16 << 20
"""The most bytes of a file, and of what is in it."""
MEMORY = 256 << 20
"""The most memory that decompressing may take."""
_FILTERS: Sequence[Mapping[str, int]] = (
    {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 21},
)
_NAMED = re.compile(r"\b([fm])([0-9]+)\b")


class BadCertificateFile(UsageError):
    """A file is no file of certificates."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A certificate: the digest it is bound to, the hypotheses it uses, and its tokens."""

    digest: str
    hypotheses: tuple[str, ...]
    names: tuple[str, ...]
    """The symbols and members that the tokens refer to by number."""
    tokens: str

    def is_of(self, digest: str) -> bool:
        """Whether the certificate is bound to a text with this digest."""
        return self.digest == digest[:DIGITS]

    def goes_through(self, hypotheses: Iterable[str]) -> bool:
        """Whether what it uses are some of these hypotheses, each once and in their order: its steps count them."""
        left = iter(hypotheses)
        return all(name in left for name in self.hypotheses)


@dataclass(frozen=True, slots=True)
class Layout:
    """The obligations of a layer: its invariants in order, and for each action which pairs are skipped, marked by 0."""

    invariants: tuple[str, ...]
    actions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LayerCertificates:
    """The certificates of a layer: of its obligations in order, and of the skipped pairs of each invariant.

    Where there is none, there is ``None``.
    """

    layout: Layout
    entries: tuple[Entry | None, ...]
    skipped: Mapping[str, Entry | None]


LayerKey = tuple[str, str]
"""A variant, and a threat model or nothing."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """All certificates of a family, by variant and threat model."""

    layers: Mapping[LayerKey, LayerCertificates]


# -- writing --------------------------------------------------------------------------------------


def written(certificates: Certificates) -> bytes:
    """Return the file of ``certificates``; equal ones have equal files."""
    given = dict.fromkeys(entry for layer in certificates.layers.values() for entry in _of(layer) if entry)
    names = sorted({name for entry in given for name in _used(entry)})
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
        skipped = {name: _place(at, entry) for name, entry in layer.skipped.items()}
        content["index"].setdefault(variant, {})[threat] = [_place(at, entry) for entry in layer.entries]
        content["skipped"].setdefault(variant, {})[threat] = skipped
        content["layout"].setdefault(variant, {})[threat] = layout
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return lzma.compress(text.encode(), format=lzma.FORMAT_XZ, filters=_FILTERS)


def _of(layer: LayerCertificates) -> Iterable[Entry | None]:
    yield from layer.entries
    yield from layer.skipped.values()


def _place(at: Mapping[Entry, int], entry: Entry | None) -> int | None:
    return None if entry is None else at[entry]


def _used(entry: Entry) -> set[str]:
    return {entry.names[int(number)] for _, number in _NAMED.findall(entry.tokens)}


def _renamed(entry: Entry, names: Sequence[str]) -> Entry:
    """Return the same certificate with numbers that refer to ``names``."""
    number = {name: place for place, name in enumerate(names)}
    tokens = _NAMED.sub(lambda found: f"{found[1]}{number[entry.names[int(found[2])]]}", entry.tokens)
    return Entry(entry.digest, entry.hypotheses, tuple(names), tokens)


# -- reading --------------------------------------------------------------------------------------


def read(data: bytes, where: str = "the file of certificates") -> Certificates:
    """Read a file.

    Raises:
        BadCertificateFile: it is none, or one of another version.
    """
    try:
        content = json.loads(_decompressed(data))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"expected the format {FORMAT}")
        return _certificates(content)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, lzma.LZMAError, MemoryError) as error:
        said = f"{where} is no file of certificates ({_why(error)})"
        raise BadCertificateFile(f"{said}; delete it, and `carnet certify` makes it again") from None


def _why(error: Exception) -> str:
    return " ".join(f"{type(error).__name__} {error}".split())[:120]


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
    entries = tuple(_entry(each, names, hypotheses) for each in content["entries"])
    layers: dict[LayerKey, LayerCertificates] = {}
    for variant, threats in content["index"].items():
        for threat, places in threats.items():
            layers[variant, threat] = LayerCertificates(
                _layout(content["layout"][variant][threat]),
                tuple(_at(entries, place) for place in places),
                {str(name): _at(entries, at) for name, at in content["skipped"][variant][threat].items()},
            )
    return Certificates(layers)


def _layout(content: Mapping[str, Any]) -> Layout:
    actions = tuple((_text(name), _text(pairs)) for name, pairs in content["actions"])
    return Layout(_texts(content["invariants"]), actions)


def _entry(content: Any, names: tuple[str, ...], hypotheses: tuple[str, ...]) -> Entry:
    digest, used, tokens = content
    return Entry(_text(digest), tuple(_at(hypotheses, place) or "" for place in used), names, _text(tokens))


def _at(listed: Sequence[Any], place: Any) -> Any:
    """Return what has a number, or nothing for no number."""
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
