"""Obligations as the program in Coq prints them, and the same of the Python generator, to be compared as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from carnet_check.coq.certificates import coq_obligations
from carnet_check.exports.coq_data import GENERAL
from carnet_check.exports.systems import system
from carnet_check.obligations import layers, obligations
from carnet_spec.language import Protocol
from tests.coq.numbered import Numbering

Made = tuple[str, str, list[str], list[str]]
"""A threat model, an id, the numbers of the constants' sorts, and the hypotheses."""


def made_in_coq(lines: Iterable[str]) -> tuple[list[Made], list[tuple[str, str]]]:
    """Return the obligations that the program prints in these lines, and the pairs that have none."""
    formulas: dict[str, str] = {}
    found, untouched = [], []
    layer = ""
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "formula":
            number, _, formulas[number] = rest.partition(" ")
        elif word == "layer":
            layer = unquote(rest) if rest != GENERAL else ""
        elif word == "untouched":
            untouched.append((layer, id_of(rest)))
        else:
            id, _, lists = rest.partition(" ")
            constants, hypotheses = lists[1:-1].split(") (")
            found.append((layer, id_of(id), constants.split(), [formulas[each] for each in hypotheses.split()]))
    return found, untouched


def id_of(printed: str) -> str:
    """Return the id of an obligation as Python writes it."""
    return "/".join(unquote(part).replace("%", "%25").replace("/", "%2F") for part in printed.split("/"))


def made_in_python(protocol: Protocol) -> tuple[list[Made], list[tuple[str, str]], list[list[str]]]:
    """Return the same of the Python generator, and the names of the hypotheses."""
    number = Numbering(protocol.sorts, protocol.symbols)
    found, untouched, names = [], [], []
    for layer in layers(protocol):
        threat = layer.threat.id if layer.threat else ""
        for each in obligations(layer):
            id = each.id.removeprefix(layer.prefix)
            if each.skipped:
                untouched.append((threat, id))
                continue
            sorts = [str(number.sorts[constant.symbol.result.name]) for constant in each.constants]
            hypotheses = number.hypotheses(each)
            found.append((threat, id, sorts, [formula for _, formula in hypotheses]))
            names.append([name for name, _ in hypotheses])
    return found, untouched, names


def names_for_certificates(protocol: Protocol) -> Iterator[list[str]]:
    """Yield the names of hypotheses by which certificates are converted."""
    whole = system(protocol.encoded)
    for layer in whole.layers:
        for each in coq_obligations(whole, layer):
            yield list(each.hypotheses)
