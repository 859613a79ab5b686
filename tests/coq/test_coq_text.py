"""What Coq reads is what the program reads: every name replaced by what it stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import given, settings

from carnet_check.coq.folder import CoqFiles
from carnet_check.exports.coq_data import CoqText, program_text
from carnet_check.exports.systems import System, system
from carnet_check.loading.families import load
from carnet_spec.language import Protocol
from tests.coq.certifiable import certifiable
from tests.coq.flagging import flagging
from tests.coq.thorny import thorny

FAMILY = load("gpu-travelling").family
DEFINITION = re.compile(r"Definition (\w+) : [^:]*? := (.*?)\.(?=\s+Definition|\s*$)", re.DOTALL)
TOKEN = re.compile(r"[()\[\];]|[^\s()\[\];]+")


def definitions(whole: System) -> dict[str, str]:
    """Return what each name of the Coq file stands for, as the program reads it."""
    text = "\n".join(CoqFiles(whole).specification())
    found: dict[str, str] = {}
    count = 0
    for name, body in DEFINITION.findall(text[text.index("Definition sort_") :]):
        assert name not in found
        found[name] = read(body, found)
        count += 1
    assert count == text.count("Definition ") - 1
    return found


def read(body: str, known: Mapping[str, str]) -> str:
    """Read a term of Coq: brackets apply, square brackets list, and a name is what it stands for."""
    waiting: list[list[str]] = [[]]
    for token in TOKEN.findall(body):
        if token in "([":
            waiting.append([])
        elif token in ")]":
            parts = waiting.pop()
            waiting[-1].append(f"({' '.join(parts)})")
        elif token != ";":
            plain = token.removesuffix("%positive")
            waiting[-1].append("(" + plain + ")" if plain in {"Insert", "Remove"} else known.get(plain, plain))
    (top,) = waiting
    return top[0] if len(top) == 1 else f"({' '.join(top)})"


def require_the_same(whole: System) -> None:
    text, found = CoqText(whole), definitions(whole)
    protocol, _, *layers = program_text(whole).splitlines()
    assert found[text.protocol] == protocol
    for layer, line in zip(whole.layers, layers, strict=True):
        parts = [found.get(each(layer), "()") for each in (lambda at: text.threat(at.threat), text.known, text.claims)]
        assert line.startswith(f"(Layer {line.split()[1]} {' '.join(parts)} (")
    for claim, (invariant, threats) in whole.stated.items():
        proved = [at for at in whole.layers if invariant in (each.name for each in at.claims)]
        values = {each.value for at in proved for each in at.claims if each.name == invariant}
        assert len(values) == bool(proved)
        assert not proved or text.invariant(invariant) == "claim_" + re.sub(r"\W", "_", claim)
        assert set(threats) <= set(whole.threats)


@pytest.mark.parametrize("whole", [flagging(), system(thorny().encoded)], ids=["flagging", "thorny"])
def test_small_protocols_are_the_same_in_coq(whole: System) -> None:
    require_the_same(whole)


@settings(max_examples=20, deadline=None)
@given(certifiable())
def test_random_protocols_are_the_same_in_coq(protocol: Protocol) -> None:
    require_the_same(system(protocol.encoded))


@pytest.mark.parametrize("variant", FAMILY.with_layers(FAMILY.main))
def test_main_variants_are_the_same_in_coq(variant: str) -> None:
    require_the_same(system(FAMILY.protocol(variant).encoded))
