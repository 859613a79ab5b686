"""The canonical JSON is read part by part, and what Coq's language lacks is refused with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from carnet_check.coq.folder import CoqFiles
from carnet_check.exports.coq_data import CoqText, encode_value, numbers, program_text
from carnet_check.exports.systems import Name, Node, System, system
from carnet_check.loading.families import load
from carnet_spec.language import Effect, Guard, GuardKind, Kind, Protocol, SpecificationError, Symbol, Term, Update
from carnet_spec.language.terms import BOOL, TRUE, And, Apply, Equal, Exists, Forall, IfThenElse, Member, Not, Or, Var
from tests.coq import flagging
from tests.coq.certifiable import certifiable, thorny
from tests.coq.flagging import FLAGGED, PARTY, P, X
from tests.property.random_protocols import CURRENT, HELD, KEY, PHASE, PHASE_NOW, READY, SYMBOLS, USED

Y, Y_KEY = Var("y", PARTY), Var("each_key", KEY)
K, L = Var("k", KEY), Var("l", KEY)


def protocol(
    *, guards: tuple[Guard, ...] = (), updates: tuple[Update, ...] = (), params: tuple[Var, ...] = (P, K, L)
) -> Protocol:
    """Return a protocol with one action over the vocabulary of random protocols."""
    whole = flagging.protocol()
    action = replace(whole.actions[0], params=params, guards=guards, updates=updates)
    return replace(whole, actions=(action,), claims=(), sorts=(PARTY, KEY, PHASE), symbols=(*SYMBOLS, FLAGGED))


def exported(protocol: Protocol) -> System:
    return system(protocol.canonical_json)


def said(formula: Term) -> str:
    """Return what a guard becomes, with short words for names."""
    whole = exported(protocol(guards=(Guard("it", formula),)))
    return CoqText(whole).value(whole.actions[0].guards[0].value)


def changed(update: Update) -> str:
    whole = exported(protocol(updates=(update,)))
    return CoqText(whole).value(whole.actions[0].updates[0].value)


HELD_OF_P = "Holds sym_held [(Bound 0); (Bound 1)]"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (And(()), "(Const true)"),
        (Or(()), "(Const false)"),
        (And((Apply(READY, (P,)),)), "(Holds sym_ready [(Bound 0)])"),
        (
            Or((Apply(READY, (P,)), TRUE, Apply(HELD, (P, K)))),
            f"(Or (Holds sym_ready [(Bound 0)]) (Or (Const true) ({HELD_OF_P})))",
        ),
        (
            Forall((X, Y), Exists((K,), Apply(HELD, (X, K)))),
            "(Forall sort_Party (Forall sort_Party (Exists sort_Key (Holds sym_held [(Bound 2); (Bound 0)]))))",
        ),
        (Forall((P,), Apply(HELD, (P, L))), "(Forall sort_Party (Holds sym_held [(Bound 0); (Bound 3)]))"),
        (
            Not(Equal(Apply(PHASE_NOW, ()), Member(PHASE, "BUSY"))),
            "(Not (Equal (Apply sym_phase []) (Member member_Phase_BUSY)))",
        ),
        (Equal(Apply(CURRENT, (P,)), L), "(Equal (Apply sym_current [(Bound 0)]) (Bound 2))"),
    ],
)
def test_formulas_count_binders_from_within(formula: Term, expected: str) -> None:
    assert said(formula) == expected


def test_an_update_reads_what_its_pattern_leaves_open_first() -> None:
    update = Update("take", HELD, Effect.REMOVE, (X, L), None, Apply(HELD, (X, K)), each=(X,))
    assert changed(update) == (
        "(Build_update sym_held [None; (Some (Bound 2))] (Holds sym_held [(Bound 0); (Bound 2)]) Remove)"
    )


def test_two_open_places_are_read_in_the_order_of_the_pattern() -> None:
    update = Update("take all", HELD, Effect.INSERT, (X, Y_KEY), None, Apply(HELD, (X, Y_KEY)), each=(Y_KEY, X))
    assert changed(update) == "(Build_update sym_held [None; None] (Holds sym_held [(Bound 0); (Bound 1)]) Insert)"


def test_values_are_read_like_conditions() -> None:
    update = Update("give", CURRENT, Effect.ASSIGN, (X,), L, TRUE, each=(X,))
    assert changed(update) == "(Build_update sym_current [None] (Const true) (Assign (Bound 3)))"


def test_what_is_drawn_is_what_has_to_be_unused() -> None:
    guards = (
        Guard("fresh l", Not(Apply(USED, (L,))), GuardKind.FRESH),
        Guard("not used", Not(Apply(USED, (K,)))),
        Guard("fresh k", Not(Apply(USED, (K,))), GuardKind.FRESH),
    )
    (action,) = exported(protocol(guards=guards)).actions
    assert action.drawn == (2, 1)
    assert action.hypotheses[-1] == "fresh:l,k"


CHOICE = IfThenElse(TRUE, K, L)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (protocol(guards=(Guard("choice", Equal(CHOICE, K)),)), "action flag, guard 'choice': .* 'if'"),
        (
            protocol(guards=(Guard("truths", Equal(Apply(READY, (P,)), TRUE)),)),
            "action flag, guard 'truths': .* 'apply' where an element stands",
        ),
        (protocol(guards=(Guard("a key", K),)), "guard 'a key': .* 'variable' where a formula stands"),
        (protocol(guards=(Guard("loose", Apply(READY, (X,))),)), "guard 'loose': .* x, which is not bound"),
        (
            protocol(guards=(Guard("hidden", Exists((Var("p", KEY),), Apply(READY, (P,)))),)),
            "guard 'hidden': .* the variable p of sort Party, where p is bound with sort Key",
        ),
        (
            protocol(guards=(Guard("truths", Forall((Var("b", BOOL),), TRUE)),)),
            "guard 'truths': .* the sort Bool, which has no elements of its own",
        ),
        (protocol(params=(Var("b", BOOL),)), "action flag: .* the sort Bool, which has no elements of its own"),
        (
            replace(protocol(), symbols=(*SYMBOLS, Symbol("odd", (BOOL,), BOOL, Kind.STATE, mutable=True))),
            "symbol odd: .* the sort Bool",
        ),
        (
            replace(flagging.protocol(), lemmas=(replace(flagging.NONE, name="only bad"),)),
            "two invariants are called 'only bad', so a theorem about it would be unclear",
        ),
        (
            replace(flagging.protocol(), claims=(*flagging.protocol().claims[:1], *flagging.protocol().claims)),
            "two claims are called 'only-bad'",
        ),
        (
            protocol(guards=(Guard("drawn", Apply(READY, (P,)), GuardKind.FRESH),)),
            "action flag, guard 'drawn': .* a fresh draw of anything but one parameter",
        ),
        (protocol(params=(P, P)), "action flag: .* two parameters of one name"),
        (
            protocol(updates=(Update("twice", HELD, Effect.INSERT, (X, Apply(CURRENT, (X,))), each=(X,)),)),
            "update 'twice': .* the variable x, which is not bound",
        ),
        (
            protocol(updates=(Update("unused", FLAGGED, Effect.INSERT, (P,), each=(X,)),)),
            "update 'unused': .* an 'each' of sort Party that is not one argument of its own",
        ),
        (
            protocol(updates=(Update("same", FLAGGED, Effect.INSERT, (P,), each=(P,)),)),
            "update 'same': .* the name of the parameter p",
        ),
        (
            protocol(updates=(Update("valued", FLAGGED, Effect.INSERT, (P,), value=P),)),
            "update 'valued': .* the effect 'insert' with the value",
        ),
        (
            protocol(guards=(Guard("odd", Equal(Apply(PHASE_NOW, ()), Member(PHASE, "LATE"))),)),
            "guard 'odd': .* LATE, which is no member of Phase",
        ),
    ],
)
def test_what_cannot_be_said_is_refused(broken: Protocol, said: str) -> None:
    with pytest.raises(SpecificationError, match=said) as refused:
        exported(broken)
    assert "\n" not in str(refused.value)


def test_another_format_is_refused() -> None:
    document: dict[str, Any] = json.loads(flagging.protocol().canonical_json)
    with pytest.raises(SpecificationError, match="expected a protocol in the format carnet-protocol/1, found 'other'"):
        system(json.dumps({**document, "format": "other"}))


def test_layers_have_what_holds_under_their_threat_models() -> None:
    whole = flagging.flagging()
    assert [(layer.threat, [claim.name for claim in layer.claims]) for layer in whole.layers] == [
        ("", ["only bad"]),
        ("nobody", ["none"]),
    ]
    assert [axiom.name for axiom in whole.layers[1].axioms] == ["all good"]
    assert whole.layers[1].known == whole.layers[0].claims
    assert whole.stated == {"only-bad": ("only bad", ("nobody", "anybody")), "none": ("none", ("nobody",))}


def test_names_are_told_apart_and_stay_readable() -> None:
    text = CoqText(flagging.flagging())
    assert text.value(Name("symbol", "bad")) == "sym_bad"
    assert [text.ids.of("axiom", name) for name in ("a b", "a-b", "a b", "é")] == [
        "axiom_a_b",
        "axiom_a_b_2",
        "axiom_a_b",
        "axiom_e",
    ]


@pytest.mark.parametrize(
    ("variant", "expected"),
    [("main-timed", "main_timed"), ("list", "variant_list"), ("fix", "variant_fix"), ("2nd-try", "variant_2nd_try")],
)
def test_no_name_of_a_protocol_is_a_word_of_coq(variant: str, expected: str) -> None:
    assert CoqText(exported(replace(flagging.protocol(), variant=variant))).protocol == expected


def test_numbers_begin_at_one_within_each_kind() -> None:
    whole = exported(protocol())
    number = numbers(whole)
    for kind in ("sort", "symbol", "member"):
        found = [each for name, each in number.items() if name.kind == kind]
        assert found == list(range(1, len(found) + 1))
    assert encode_value(Node("Member", (Name("member", "Phase.BUSY"),)), number) == "(Member 2)"


def test_the_program_reads_names_without_spaces() -> None:
    assert "(only%20bad))" in program_text(flagging.flagging())


# -- what Coq reads is what the program reads: every name replaced by what it stands for -----------------


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
        parts = [
            found.get(each(layer), "()")
            for each in (lambda at: text.threat(at.threat), text.invariants_known_to, text.claims)
        ]
        assert line.startswith(f"(Layer {line.split()[1]} {' '.join(parts)} (")
    for claim, (invariant, threats) in whole.stated.items():
        proved = [at for at in whole.layers if invariant in (each.name for each in at.claims)]
        values = {each.value for at in proved for each in at.claims if each.name == invariant}
        assert len(values) == bool(proved)
        assert not proved or text.invariant(invariant) == "claim_" + re.sub(r"\W", "_", claim)
        assert set(threats) <= set(whole.threats)


@pytest.mark.parametrize("whole", [flagging.flagging(), system(thorny().canonical_json)], ids=["flagging", "thorny"])
def test_small_protocols_are_the_same_in_coq(whole: System) -> None:
    require_the_same(whole)


@settings(max_examples=20, deadline=None)
@given(certifiable())
def test_random_protocols_are_the_same_in_coq(protocol: Protocol) -> None:
    require_the_same(system(protocol.canonical_json))


@pytest.mark.parametrize("variant", FAMILY.with_layers(FAMILY.main))
def test_main_variants_are_the_same_in_coq(variant: str) -> None:
    require_the_same(system(FAMILY.protocol(variant).canonical_json))
