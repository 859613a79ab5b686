"""Certificates of texts become certificates of Coq's obligations: same steps, other numbers."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.certificates.file import Certificates, Entry, LayerCertificates, Layout
from carnet_check.coq import certificates
from carnet_check.errors import CarnetError
from carnet_check.exports.coq_data import CoqText, numbers
from carnet_check.exports.systems import System, system
from carnet_spec.language import Protocol
from tests.coq import flagging
from tests.property.random_protocols import KEY, PARTY, PHASE, SYMBOLS

NAMES = ("now.phase", "enum.Phase.DONE", "now.current", "rigid.boss")
OBLIGATION = certificates.CoqObligation(
    "step/act/claim", ("Party", "Phase"), ("sort:Party", "axiom:a", "inv:claim", "goal")
)


def whole() -> System:
    """Return a system with an enumeration of three members and one of two."""
    other = replace(PHASE, name="Mode", members=("ON", "OFF"))
    protocol: Protocol = replace(
        flagging.protocol(), actions=(), claims=(), sorts=(PARTY, KEY, PHASE, other), symbols=SYMBOLS
    )
    return system(protocol.canonical_json)


def converted(tokens: str, *used: str) -> tuple[str, str]:
    """Return a certificate for the program and one for Coq."""
    found = certificates.Converter(whole()).convert(OBLIGATION, Entry("", used, NAMES, tokens))
    return certificates.certificate_line(found, numbers(whole())), certificates.coq_term(found, CoqText(whole()).value)


def test_hypotheses_are_those_of_the_full_obligation() -> None:
    said, term = converted("u 0 u 1 x 2 0 1 0", "inv:claim")
    assert said == "u 2 u 3 x 2 0 1 0"
    assert term == "(Use n2 (Use n3 (Close [n0; n1] [])))"


def test_a_hypothesis_too_many_stays_one_too_many() -> None:
    said, _ = converted("u 2 x 0 0", "inv:claim")
    assert said == "u 2 x 0 0"


def test_symbols_and_members_have_the_numbers_of_the_system() -> None:
    number = {(name.kind, name.text): its for name, its in numbers(whole()).items()}
    phase, done = number["symbol", "phase"], number["member", "Phase.DONE"]
    current, boss = number["symbol", "current"], number["symbol", "boss"]
    said, term = converted("i 4 3 f0 f2 f3 m1 w 1 x 1 0 1 0 1")
    assert said == f"i 4 3 f{phase} f{current} f{boss} m{done} w 1 x 1 0 1 0 1"
    terms = "[(Apply sym_phase []); (Apply sym_current [(Apply sym_boss [])]); (Member member_Phase_DONE)]"
    assert term == f"(Instance n4 {terms} (Witness n1 (Close [n0] [(n0, true)])))"


@pytest.mark.parametrize(("of", "count"), [("f0", 3), ("m1", 3), ("e1", 3)])
def test_cases_have_as_many_branches_as_members(of: str, count: int) -> None:
    branches = " ".join(f"x 1 {number} 0" for number in range(count))
    said, term = converted(f"c {of} {branches}")
    assert said.startswith(f"c {count} {of[0]}")
    assert term.endswith(f"[{'; '.join(f'(Close [n{number}] [])' for number in range(count))}])")


@pytest.mark.parametrize("count", [2, 3])
def test_cases_of_a_named_element_have_as_many_branches_as_there_are(count: int) -> None:
    """Nothing says which sort a witness has, but what follows has to be used up."""
    said, _ = converted("s 0 w 1 c e2 " + "x 0 0 " * count + "x 1 1 0")
    assert said.startswith(f"s 0 w 1 c {count} e2 x 0 0")


def test_many_cases_of_named_elements_cost_little() -> None:
    """Trying what each of a hundred may be would take for ever."""
    tokens = "w 0 " + "c e2 " * 100 + "x 0 0 " * 101
    said, _ = converted(tokens.strip())
    assert said.count("c 2 e2") == 100
    began = time.process_time()
    with pytest.raises(CarnetError, match="do not end where their branches do"):
        converted(("w 0 " + "c e2 " * 100 + "x 0 0 " * 100).strip())
    assert time.process_time() - began < 5
    many = "w 0 " + "c e2 " * (certificates.MOST_UNKNOWN + 1) + "x 0 0 " * (certificates.MOST_UNKNOWN + 2)
    with pytest.raises(CarnetError, match="more than 1,000 cases of elements"):
        converted(many.strip())


@given(st.lists(st.sampled_from((0, 1, 2, 3, None)), min_size=1, max_size=7))
def test_unknown_numbers_of_branches_are_the_first_that_end(known: list[int | None]) -> None:
    """The same as trying all of them, in order."""
    choices = itertools.product(*((2, 3) if each is None else (each,) for each in known))
    ending = [list(counts) for counts in choices if ends(counts)]
    if ending:
        assert certificates._completed(known, (2, 3)) == ending[0]
    else:
        with pytest.raises(CarnetError):
            certificates._completed(known, (2, 3))


def ends(branches: Sequence[int]) -> bool:
    """Whether steps with so many branches end with the last step and not before."""
    still_open = list(itertools.accumulate(branches, lambda open_, count: open_ + count - 1, initial=1))
    return still_open[-1] == 0 and 0 not in still_open[:-1]


def test_numbers_that_coq_has_to_know_are_counted() -> None:
    found = certificates.Converter(whole()).convert(
        OBLIGATION, Entry("", (), NAMES, "i 4 1 f2 e12 s 3 x 2 0 7 1 9 0 x 0 0")
    )
    assert certificates.largest_number(found) == 12


@pytest.mark.parametrize(
    ("tokens", "used", "said"),
    [
        ("u 0 x 0 0", ("guard:gone",), "step/act/claim has no hypothesis guard:gone, which its certificate uses"),
        ("u 0 y 0", (), "the certificate of step/act/claim cannot be read: expected a step"),
        ("i 0 1 f9 x 0 0", (), "the certificate of step/act/claim cannot be read: expected a term"),
        ("i 0 1 m0 x 0 0", (), "the certificate of step/act/claim names now.phase, which is no member of a sort"),
        ("s 0 x 0 0", (), "steps do not end where their branches do"),
        ("u 0", (), "steps do not end where their branches do"),
        ("x 0 0 x 0 0", (), "steps do not end where their branches do"),
        ("x 0 0 s 0 x 0 0", (), "steps do not end where their branches do"),
        ("c f0 x 0 0 x 0 0 x 0 0 s 0 w 0", (), "steps do not end where their branches do"),
        ("x 0 0 c e2 x 0 0 x 0 0", (), "steps do not end where their branches do"),
        ("c e0 x 0 0", (), "steps do not end where their branches do"),
        ("", (), "cannot be read"),
    ],
)
def test_what_is_no_certificate_has_one_clear_error(tokens: str, used: tuple[str, ...], said: str) -> None:
    with pytest.raises(CarnetError, match=said) as refused:
        converted(tokens, *used)
    assert "\n" not in str(refused.value)


def test_obligations_without_certificates_are_named() -> None:
    system, given = flagging.flagging(), flagging.certificates().layers
    general, threat = system.layers
    convert = certificates.Converter(system)
    with pytest.raises(CarnetError, match="variant main: expected 2 certificates, found none"):
        convert.layer(general, Certificates({}))
    short = replace(given["main", "nobody"], entries=given["main", "nobody"].entries[:1])
    with pytest.raises(CarnetError, match="variant main under nobody: expected 2 certificates, found 1"):
        convert.layer(threat, Certificates({("main", "nobody"): short}))
    empty = LayerCertificates(Layout((), ()), (None, given["main", "nobody"].entries[1]), {})
    with pytest.raises(CarnetError, match="under nobody: 1 obligations have no certificate, first init/none"):
        convert.layer(threat, Certificates({("main", "nobody"): empty}))


def test_the_obligations_of_a_layer_are_named_in_coqs_order() -> None:
    system = flagging.flagging()
    assert [
        (each.id, each.constants, each.hypotheses) for each in certificates.coq_obligations(system, system.layers[1])
    ] == [
        ("init/none", (), ("sort:Party", "threat:all good", "goal")),
        (
            "step/flag/none",
            ("Party",),
            ("sort:Party", "threat:all good", "inv:only bad", "inv:none", "guard:is bad", "goal"),
        ),
    ]
