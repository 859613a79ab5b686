"""Spoilt certificates, and whether what a kernel accepts of them is proved all the same."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from carnet_check.certificates.file import Entry, load_certificates, place_of
from carnet_check.certificates.judging import LayerObligations, follow, key_of
from carnet_check.exports.obligation_text import Writer
from carnet_check.kernel.checker import Refused
from carnet_check.loading.families import load
from carnet_check.obligations import layers

TOKENS = ("u", "i", "w", "s", "c", "x", "0", "1", "2", "3", "e0", "e1", "m0", "f0", "f1")


@dataclass(frozen=True, slots=True)
class Certified:
    """The text of an obligation and a certificate of it."""

    text: str
    entry: Entry


def certified(reference: str, variants: Sequence[str] = ()) -> Iterator[Certified]:
    """Yield the certified obligations of a protocol, each text once."""
    source, seen = load(reference), set[str]()
    place = place_of(source)
    assert place is not None
    certificates = load_certificates(place)
    for variant in variants or source.family.with_layers(source.family.main):
        writer = Writer()
        for layer in layers(source.protocol(variant)):
            asked = LayerObligations.of(layer)
            entries = asked.entries(certificates.layers.get(key_of(layer)))
            for obligation in asked:
                entry = entries[obligation.id]
                assert entry is not None
                text = writer.text(obligation, entry.hypotheses)
                if text not in seen:
                    seen.add(text)
                    yield Certified(text, entry)


def accepted(text: str, entry: Entry) -> bool:
    """Whether the kernel accepts a certificate of a text; any other end than a refusal is a finding."""
    try:
        follow(text, entry.names, entry.tokens)
    except Refused:
        return False
    return True


# -- spoiling -------------------------------------------------------------------------------------


def spoilt_tokens(entry: Entry, draw: random.Random) -> Entry:
    """Return a certificate with a few tokens changed, taken away, put in or moved."""
    tokens = entry.tokens.split(" ")
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(tokens))
        match draw.randrange(5):
            case 0:
                tokens[place] = draw.choice(TOKENS)
            case 1 if len(tokens) > 1:
                del tokens[place]
            case 2:
                tokens.insert(place, draw.choice(TOKENS))
            case 3:
                other = draw.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case _:
                tokens[place:place] = tokens[draw.randrange(len(tokens)) :][: draw.randint(1, 8)]
    return replace(entry, tokens=" ".join(tokens))


def without_hypothesis(text: str, draw: random.Random) -> str:
    """Return an obligation that lacks one hypothesis, in whose place something true is assumed."""
    lines = text.split("\n")
    asserted = [place for place, line in enumerate(lines) if line.startswith("(assert ")]
    place = draw.choice(asserted)
    name = lines[place].rpartition(":named ")[2]
    lines[place] = f"(assert (! true :named {name}"
    return "\n".join(lines)


def with_goal_upside_down(text: str) -> str:
    """Return an obligation whose goal is assumed and no longer denied."""
    lines = text.split("\n")
    place = next(place for place, line in enumerate(lines) if line.endswith(":named goal))"))
    formula = lines[place].removeprefix("(assert (! ").removesuffix(" :named goal))")
    lines[place] = f"(assert (! (not {formula}) :named goal))"
    return "\n".join(lines)


def is_contradictory(text: str) -> bool:
    """Whether Z3 says that an obligation holds."""
    import z3

    solver = z3.Solver(ctx=z3.Context())
    solver.set("timeout", 20_000)
    solver.from_string(text)
    return bool(solver.check() == z3.unsat)


def is_satisfiable(text: str) -> bool:
    """Whether Z3 has a model of an obligation's hypotheses and its negated goal."""
    import z3

    solver = z3.Solver(ctx=z3.Context())
    solver.set("timeout", 5_000)
    solver.from_string(text)
    return bool(solver.check() == z3.sat)
