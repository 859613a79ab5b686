"""Every parser ends in a value or a typed error: no other exception, no hang, no allocation out of proportion.

A few inputs for each by default; many with ``-m slow``. ``python -m tests.fuzz.coverage_guided`` is the long run.
"""

from __future__ import annotations

import ast
import csv
import functools
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.wire import MalformedError
from tests.fuzz.certified import (
    Certified,
    accepted,
    certified,
    is_contradictory,
    is_satisfiable,
    spoilt_tokens,
    with_goal_upside_down,
    without_hypothesis,
)
from tests.fuzz.parsers import PARSERS, Parser, refusal
from tests.repo.tracked import ROOT, read, tracked_python

LONGEST_SECONDS = 1.0
ALLOCATED_PER_BYTE = 400
#: Bytes that Python may allocate for an input, beyond so many for each byte of it.
ALLOCATED_AT_MOST_FOR_NOTHING = 4 << 20


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_any_bytes_end_in_a_value_or_a_typed_error(name: str) -> None:
    @given(st.binary(max_size=300))
    def check(data: bytes) -> None:
        refusal(PARSERS[name], data)

    check()


def test_the_long_run_was_of_every_parser() -> None:
    rows = list(csv.DictReader(read(ROOT / "docs/results/fuzzing.csv").splitlines()))
    assert {row["Parser"]: row["Outcome"] for row in rows[:-1]} == dict.fromkeys(PARSERS, "values and typed errors")


def mutated(seed: bytes, draw: random.Random) -> bytes:
    """Return a seed after a few changes of the kinds that break parsers."""
    data = bytearray(seed)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data) + 1)
        match draw.randrange(6):
            case 0 if data:
                data[place % len(data)] ^= 1 << draw.randrange(8)
            case 1:
                data[place : place + draw.randint(0, 4)] = draw.randbytes(draw.randint(0, 4))
            case 2:
                del data[place:]
            case 3:
                data[place:place] = data[: draw.randint(0, 64)]
            case 4:
                data[place : place + 2] = draw.choice([b"\0\0", b"\xff\xff", b"\x7f\xff", b"\0\x80"])
            case _:
                data[place : place + 1] = draw.choice([b"\0", b"\xff", b"-", b'"', b"<", b"{", b"9"])
    return bytes(data)


def run(parser: Parser, inputs: int, seed: int) -> int:
    """Return how many of ``inputs`` mutated seeds were values."""
    draw, values = random.Random(seed), 0
    seeds = [*parser.seeds(), b"", bytes(100)]
    for _ in range(inputs):
        data = mutated(draw.choice(seeds), draw)
        start = time.perf_counter()
        values += refusal(parser, data) is None
        assert time.perf_counter() - start < LONGEST_SECONDS, data.hex()
    return values


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_changed_inputs_end_in_a_value_or_a_typed_error(name: str) -> None:
    run(PARSERS[name], 40, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", sorted(PARSERS))
def test_many_changed_inputs_end_in_a_value_or_a_typed_error(name: str) -> None:
    run(PARSERS[name], 5_000 if PARSERS[name].heavy else 100_000, seed=2)


@pytest.mark.parametrize("name", sorted(PARSERS))
def test_no_input_makes_a_parser_allocate_out_of_proportion(name: str) -> None:
    parser, draw = PARSERS[name], random.Random(3)
    seeds = [*parser.seeds(), b"\xff" * 200, b"[" * 500, b'{"a":' * 100]
    refusal(parser, seeds[0])
    for data in (*seeds, *(mutated(draw.choice(seeds), draw) for _ in range(10))):
        tracemalloc.start()
        refusal(parser, data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak <= ALLOCATED_AT_MOST_FOR_NOTHING + ALLOCATED_PER_BYTE * len(data), len(data)


# -- no spoilt certificate is accepted, unless it is a proof still, and none of what is not so -----------


PROTOCOL = "gpu-travelling"


@functools.cache
def listed() -> tuple[Certified, ...]:
    """Return the certified obligations of one timed variant, which are small and many."""
    return tuple(certified(PROTOCOL, ("engine-per-holder-timed",)))


@functools.cache
def every() -> tuple[Certified, ...]:
    return tuple(certified(PROTOCOL))


def spoil(known: tuple[Certified, ...], count: int, seed: int) -> int:
    """Spoil certificates in three ways; return how many are accepted, which must be proofs still."""
    draw, still = random.Random(seed), 0
    for _ in range(count):
        chosen, other = draw.choice(known), draw.choice(known)
        match draw.randrange(4):
            case 0:
                text, entry = chosen.text, other.entry
            case 1:
                text, entry = without_hypothesis(chosen.text, draw), chosen.entry
            case _:
                text, entry = chosen.text, spoilt_tokens(chosen.entry, draw)
        if accepted(text, entry):
            assert text == chosen.text or is_contradictory(text), f"accepted, and not so:\n{text}\n{entry.tokens}"
            still += 1
    return still


def deny(known: tuple[Certified, ...], count: int, seed: int) -> int:
    """Make obligations satisfiable, and offer certificates of them, whole and spoilt; return how many there were."""
    draw, found = random.Random(seed), 0
    for _ in range(5 * count):
        chosen = draw.choice(known)
        text = with_goal_upside_down(chosen.text) if draw.randrange(2) else without_hypothesis(chosen.text, draw)
        if found < count and is_satisfiable(text):
            found += 1
            assert not accepted(text, chosen.entry)
            assert not any(accepted(text, spoilt_tokens(chosen.entry, draw)) for _ in range(5))
    return found


def test_certificates_are_accepted_as_they_are() -> None:
    assert len(listed()) > 100
    assert all(accepted(each.text, each.entry) for each in listed()[::10])


def test_spoilt_certificates_are_refused() -> None:
    assert spoil(listed(), 300, seed=1) < 60


def test_nothing_satisfiable_is_certified() -> None:
    assert deny(listed(), 20, seed=2) == 20


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ten_thousand_spoilt_certificates_are_refused() -> None:
    assert spoil(every(), 10_000, seed=3) < 2_000


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_of_a_thousand_satisfiable_obligations_none_is_certified() -> None:
    assert deny(every(), 1_000, seed=4) == 1_000


# -- inputs that fuzzing found, each of which once ended in an exception that was not typed --------------


FINDINGS = {
    "lists in lists in a journal's record": (
        "kept",
        (100_000).to_bytes(4, "little") + b"[" * 100_000 + bytes(4),
    ),
    "lists in lists in a ledger's entry": ("ledger", b"[" * 100_000),
    "half a character, escaped in JSON": ("collateral", rb'{"tcb_info":"\udafb"}'),
}


@pytest.mark.parametrize("finding", sorted(FINDINGS))
def test_what_fuzzing_found_is_malformed_now(finding: str) -> None:
    name, data = FINDINGS[finding]
    with pytest.raises(MalformedError):
        PARSERS[name].parse(data)


# -- every parser of the reference implementation is in the registry -------------------------------------


PACKAGE = Path("reference_impl/carnet_ref")
#: Parsers that others of the registry call with bytes they were given.
INSIDE_OTHERS = {
    "carnet_ref.attestation.documents.Document": "collateral, tcb-info and qe-identity are read with it",
    "carnet_ref.attestation.documents.parse_documents": "an event-log in JSON is read with it",
    "carnet_ref.attestation.cose.parse_leading_cbor": "cbor is read with it",
    "carnet_ref.attestation.nvidia.rim.parse_bounded": "a rim is read with it",
    "carnet_ref.attestation.policies.PolicyForm": "the policy of each format is read with it",
    "carnet_ref.systems.verifiable_fl.statements.parse_statement": "an envelope of a step is read with it",
    "carnet_ref.systems.gpu_travelling.codec.Codec": "orders, commands and channel messages are read with it",
}


def parsers(path: Path) -> Iterator[str]:
    """Yield the public parsers of bytes in a module: functions, and classes with a method of that kind."""
    module = ".".join(path.relative_to("reference_impl").with_suffix("").parts).removesuffix(".__init__")
    for node in ast.parse(read(path)).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            if any(isinstance(each, ast.FunctionDef) and _parses_bytes(each) for each in node.body):
                yield f"{module}.{node.name}"
        elif isinstance(node, ast.FunctionDef) and _parses_bytes(node):
            yield f"{module}.{node.name}"


def _parses_bytes(function: ast.FunctionDef) -> bool:
    takes = [argument for argument in function.args.args if argument.arg not in {"self", "cls"}]
    first = takes[0].annotation if takes else None
    return function.name.startswith("parse") and isinstance(first, ast.Name) and first.id == "bytes"


def test_every_parser_is_fuzzed() -> None:
    found = {name for path in tracked_python() if path.is_relative_to(PACKAGE) for name in parsers(path)}
    nodes = ast.walk(ast.parse((ROOT / "tests" / "fuzz" / "parsers.py").read_text()))
    imports = (node for node in nodes if isinstance(node, ast.ImportFrom))
    imported = {f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    assert len(found) > 20
    assert not found - imported - set(INSIDE_OTHERS), "tests/fuzz/parsers.py has to have a Parser for each of these"
