"""The file of certificates: what is written is read again, and every other file is refused with one clear error."""

from __future__ import annotations

import json
import lzma
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.certificates.file import (
    LARGEST,
    LARGEST_FILE,
    BadCertificateFile,
    Certificates,
    Entry,
    LayerCertificates,
    Layout,
    encoded_certificates,
    load_certificates,
    place_of,
    read,
    save_certificates,
)
from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from tests.unit.model_check.command import CONTROLS, TOY

ONE = Entry("0123456789abcdef", ("inv:a", "guard:b"), ("now.x", "enum.Y.Z"), "u 0 c f0 x 1 0 0 c m1")
SAME = replace(ONE, names=("enum.Y.Z", "now.x"), tokens="u 0 c f1 x 1 0 0 c m0")
OTHER = Entry("fedcba9876543210", (), (), "u 0 x 1 0 0")
LAYOUT = Layout(("a", "b"), (("act", "10"), ("wait", "00")))
LAYER = LayerCertificates(LAYOUT, (ONE, SAME, None), {"b": OTHER, "a": None})
CERTIFICATES = Certificates({("main", ""): LAYER, ("main", "thief"): LayerCertificates(LAYOUT, (OTHER,), {})})


def content(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(data))
    return found


def packed(value: object) -> bytes:
    return lzma.compress(json.dumps(value).encode())


def refused(data: bytes) -> str:
    with pytest.raises(BadCertificateFile) as caught:
        read(data, "that")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("that is no file of certificates")
    return str(caught.value)


def test_a_file_says_what_was_written() -> None:
    found = read(encoded_certificates(CERTIFICATES))
    assert set(found.layers) == set(CERTIFICATES.layers)
    layer = found.layers["main", ""]
    assert layer.layout == LAYOUT
    first, second, none = layer.entries
    assert first == second
    assert none is None
    assert first is not None
    assert (first.digest, first.hypotheses) == (ONE.digest, ONE.hypotheses)
    assert [first.names[number] for number in (0, 1)] == ["enum.Y.Z", "now.x"]
    assert first.tokens == "u 0 c f1 x 1 0 0 c m0"
    assert layer.skipped["a"] is None


def test_equal_certificates_are_there_once_and_equal_files_are_equal() -> None:
    data = encoded_certificates(CERTIFICATES)
    assert len(content(data)["entries"]) == 2
    assert encoded_certificates(read(data)) == data
    turned = Certificates(dict(reversed(list(CERTIFICATES.layers.items()))))
    assert encoded_certificates(turned) == data


def test_a_certificate_is_bound_to_the_first_digits_of_a_digest() -> None:
    assert ONE.is_of(ONE.digest + "0" * 48)
    assert not ONE.is_of("1" + ONE.digest[1:] + "0" * 48)


SPOILT: dict[str, Any] = {
    "another format": {"format": "carnet-certificates/2"},
    "no format": {"format": None},
    "names that are no list": {"names": "abc"},
    "names that are no texts": {"names": [1, 2]},
    "entries that are short": {"entries": [["0123456789abcdef", []]]},
    "a hypothesis that is not there": {"entries": [["0123456789abcdef", [9], "u 0"]]},
    "a hypothesis before the first": {"entries": [["0123456789abcdef", [-1], "u 0"]]},
    "tokens that are no text": {"entries": [["0123456789abcdef", [], 7]]},
    "an entry that is not there": {"index": {"main": {"": [99]}}},
    "an entry before the first": {"index": {"main": {"": [-1]}}},
    "an entry that is a truth value": {"index": {"main": {"": [True]}}},
    "an index that is a list": {"index": []},
    "a layer without a layout": {"layout": {}},
    "a layer without skipped pairs": {"skipped": {"main": {}}},
}


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_content_is_refused(name: str) -> None:
    refused(packed(content(encoded_certificates(CERTIFICATES)) | SPOILT[name]))


def test_what_is_no_file_is_refused() -> None:
    data = encoded_certificates(CERTIFICATES)
    for spoilt in (b"", b"certificates", data[:-1], data + b"\0", data + data, packed([]), packed(7)):
        refused(spoilt)
    refused(lzma.compress(b"[" * 100_000))
    refused(lzma.compress(b"\xff"))


def test_a_small_file_that_unpacks_to_a_large_one_is_refused() -> None:
    bomb = lzma.compress(b" " * (2 * LARGEST))
    assert len(bomb) < LARGEST_FILE
    assert "does not decompress" in refused(bomb)
    assert "has more than" in refused(bytes(LARGEST_FILE + 1))


def test_certificates_lie_beside_the_specification() -> None:
    package = place_of(load("gpu-travelling"))
    assert package is not None
    assert package.parts[-2:] == ("gpu_travelling", "certificates.json.xz")
    assert place_of(load(TOY)) == Path(TOY).with_name("toy.certificates.json.xz")
    assert place_of(load(f"{CONTROLS}:sound")) == Path(CONTROLS).with_name("controls.sound.certificates.json.xz")
    module = place_of(load("carnet_spec.protocols.gpu_travelling:FAMILY"))
    assert module == package


def test_a_place_without_a_file_has_no_certificates_and_a_folder_is_none(tmp_path: Path) -> None:
    assert not load_certificates(tmp_path / "none.json.xz").layers
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (tmp_path, pipe, Path("/dev/zero")):
        with pytest.raises(BadCertificateFile, match="cannot read"):
            load_certificates(place)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "c.json.xz"
    assert save_certificates(file, CERTIFICATES) == file.stat().st_size
    assert encoded_certificates(load_certificates(file)) == file.read_bytes()
    with pytest.raises(UsageError, match="cannot write"):
        save_certificates(tmp_path / "none" / "c.json.xz", CERTIFICATES)
    assert [each.name for each in tmp_path.iterdir()] == ["c.json.xz"]
