"""The canonical encoding: it tells protocols apart, knows nothing of the Python code, and nothing else is decoded."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_spec.language import *
from carnet_spec.language.decoding import decode
from carnet_spec.language.encoding import AXIOM, EFFECTS, FORMAT, GUARD_KINDS, KINDS, TERM, Decoder, Encoder
from carnet_spec.language.terms import *
from carnet_spec.protocols.gpu_travelling import FAMILY
from tests.fixtures import toy
from tests.unit.spec.language.vocabulary import ready

ROOT = Path(__file__).parents[4]
MAIN = FAMILY.protocol()
TIMED = FAMILY.protocol("engine-per-holder-timed")


@pytest.mark.parametrize("variant", FAMILY.variants)
def test_a_protocol_is_decoded_as_it_was(variant: str) -> None:
    protocol = FAMILY.protocol(variant)
    assert decode(protocol.canonical_json) == protocol


def test_a_protocol_with_everything_in_it_is_decoded_as_it_was() -> None:
    for without in ((), ("return-checked",), ("fresh-key", "return-checked")):
        protocol = toy.FAMILY.protocol("main", without)
        assert decode(protocol.canonical_json) == protocol
    assert decode(TEXT) == toy.FAMILY.protocol()


def test_what_is_given_of_a_fair_step_is_decoded_as_it_was() -> None:
    """Two properties that want different steps taken fairly have different digests."""
    given_or_not = []
    for what in (None, {"lend": {"to": toy.lender}}):
        draft, away = toy.draft(), toy.phase == toy.Phase.AWAY
        draft.eventually("leaves", ~away, away, sentence="It leaves.", fair=("lend",), given=what)
        given_or_not.append(draft.protocol())
    assert [decode(protocol.canonical_json) for protocol in given_or_not] == given_or_not
    assert given_or_not[0].digest != given_or_not[1].digest


def test_properties_for_each_element_and_strong_fairness_are_decoded_as_they_were() -> None:
    """Whether fairness is strong, and whether elements are arbitrary, is part of the digest."""
    every = []
    for words in (
        {},
        {"strong": ("lend",)},
        {"each": (toy.Agent,)},
        {"requirement": "LIVE-LEAVES"},
        {"fails_under": ("collusion",)},
        {"each": (toy.Agent,), "strong": ("lend",), "given": {"lend": {"to": lambda a: a}}},
    ):
        draft, away = toy.draft(), toy.phase == toy.Phase.AWAY
        leaves = (toy.corrupt) if "each" in words else ~away
        draft.eventually("leaves", leaves, away, sentence="It leaves.", fair=("lend",), **words)
        every.append(draft.protocol())
    assert [decode(protocol.canonical_json) for protocol in every] == every
    assert len({protocol.digest for protocol in every}) == len(every)
    text = every[-1].canonical_json
    for spoilt in (
        text.replace(',"strong":true', ',"strong":false'),
        text.replace(',"strong":true', ',"strong":1'),
        every[0].canonical_json.replace('"fair":["lend"]', '"fair":["lend"],"parameters":[]'),
    ):
        assert spoilt not in {text, every[0].canonical_json}
        with pytest.raises(SpecificationError):
            decode(spoilt)


NAMES = st.sampled_from(["a", "b", "a#2", "a,b", '"a"', "\u2200", "\ud800", ""])
ROLES = st.none() | st.builds(Role, NAMES, st.booleans())
SORTS = st.builds(Sort, NAMES, st.none() | st.lists(NAMES, max_size=2).map(tuple), st.booleans())
SYMBOLS = st.builds(
    Symbol, NAMES, st.lists(SORTS, max_size=2).map(tuple), SORTS, st.sampled_from(Kind), st.booleans(), ROLES, NAMES
)
VARIABLES = st.builds(Var, NAMES, SORTS)


def _larger(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    many, bound = st.lists(terms, max_size=3).map(tuple), st.lists(VARIABLES, max_size=2).map(tuple)
    return st.one_of(
        st.builds(Apply, SYMBOLS, many),
        st.builds(Equal, terms, terms),
        st.builds(Not, terms),
        st.builds(And, many),
        st.builds(Or, many),
        st.builds(Implies, terms, terms),
        st.builds(IfThenElse, terms, terms, terms),
        st.builds(Forall, bound, terms),
        st.builds(Exists, bound, terms),
    )


TERMS = st.recursive(st.sampled_from([TRUE, FALSE]) | VARIABLES | st.builds(Member, SORTS, NAMES), _larger)


@given(TERMS)
def test_a_term_is_decoded_as_it_was(term: Term) -> None:
    """Whatever it names: sorts and symbols of one name that are defined differently, too."""
    write = Encoder()
    text = write.document({"term": TERM.write(write, term)}, sorts=(), symbols=())
    content = json.loads(text)
    assert TERM.read(Decoder(content["sorts"], content["symbols"]), content["term"]) == term


def test_the_encoding_is_canonical_json_of_its_format() -> None:
    for words, members in ((KINDS, Kind), (GUARD_KINDS, GuardKind), (EFFECTS, Effect)):
        assert list(words) == list(members)
        assert len(set(words.values())) == len(words)
    text = MAIN.canonical_json
    content = json.loads(text)
    assert text == json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert text.isascii()
    assert content["format"] == FORMAT == "carnet-protocol/1"


def test_a_change_of_what_is_written_is_a_new_format() -> None:
    """If this fails, :data:`FORMAT` needs another number: digests of one format are comparable."""
    color = Sort("Color", ("RED",))
    light = Symbol("light", (), color, Kind.STATE, mutable=True, role=Role("lamp"), says="what it shows")
    red = Forall((Var("x", color),), Equal(Apply(light, ()), Member(color, "RED")))
    write = Encoder()
    assert write.document({"axiom": AXIOM.write(write, Axiom("red", red))}, sorts=(), symbols=()) == (
        '{"axiom":{"assumption":"","formula":["forall",[["variable","x","Color"]],'
        '["equal",["apply","light",[]],["member","Color","RED"]]],"name":"red","says":""},'
        '"format":"carnet-protocol/1","sorts":{"Color":{"fresh":false,"members":["RED"],"name":"Color"}},'
        '"symbols":{"light":{"arguments":[],"changes":true,"kind":"state","name":"light","result":"Color",'
        '"role":{"honest":true,"name":"lamp"},"says":"what it shows"}}}'
    )


def _digest_elsewhere(seed: str) -> str:
    program = "from tests.fixtures import toy; print(toy.FAMILY.protocol().digest)"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_variants_have_digests_of_their_own_the_same_in_every_process_and_order() -> None:
    assert {_digest_elsewhere(seed) for seed in ("0", "1", "4711")} == {toy.FAMILY.protocol().digest}
    for protocol in (toy.FAMILY.protocol(), MAIN):
        turned = replace(protocol, sorts=protocol.sorts[::-1], symbols=protocol.symbols[::-1])
        assert turned.digest == protocol.digest == replace(protocol, sorts=(), symbols=()).digest
    digests: Mapping[str, str] = {name: FAMILY.protocol(name).digest for name in FAMILY.variants}
    assert len(set(digests.values())) == len(digests)
    assert toy.FAMILY.protocol("forgetful").digest != toy.FAMILY.protocol().digest
    assert toy.FAMILY.protocol("main", ("fresh-key",)).digest != toy.FAMILY.protocol().digest


#: Fields, classes and members of enumerations, and what somebody calls them one day.
RENAMED = {
    "formula": "condition",
    "guards": "preconditions",
    "when": "if_it_holds",
    "fails_under": "falls_under",
    "domain": "takes",
    "Apply": "Application",
    "Guard": "Precondition",
    "GuardKind": "Why",
    "INSERT": "ADD",
    "GHOST": "HISTORY",
}


def test_renaming_fields_classes_and_members_in_the_code_changes_no_digest(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "spec" / "carnet_spec" / "language", tmp_path / "carnet_spec" / "language")
    shutil.copy(ROOT / "spec" / "carnet_spec" / "__init__.py", tmp_path / "carnet_spec")
    shutil.copy(ROOT / "tests" / "fixtures" / "toy.py", tmp_path)
    for file in tmp_path.rglob("*.py"):
        file.write_text(_renamed(file.read_text("utf-8")), "utf-8")
    program = "import toy; from carnet_spec.language.terms import Application; print(toy.FAMILY.protocol().digest)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert (done.stderr, done.stdout.strip()) == ("", toy.FAMILY.protocol().digest)


def _renamed(source: str) -> str:
    """Rename as an editor does: names, and no word in a string."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return tokenize.untokenize(
        (token.type, RENAMED.get(token.string, token.string) if token.type == tokenize.NAME else token.string)
        for token in tokens
    )


def _in_action(**changes: Any) -> Callable[[Protocol], Protocol]:
    def change(protocol: Protocol) -> Protocol:
        first, *others = protocol.actions
        return replace(protocol, actions=(replace(first, **changes), *others))

    return change


def _in_guard(**changes: Any) -> Callable[[Protocol], Protocol]:
    def change(protocol: Protocol) -> Protocol:
        first, *others = protocol.actions[0].guards
        return _in_action(guards=(replace(first, **changes), *others))(protocol)

    return change


def _in_update(**changes: Any) -> Callable[[Protocol], Protocol]:
    def change(protocol: Protocol) -> Protocol:
        first, *others = protocol.actions[0].updates
        return _in_action(updates=(replace(first, **changes), *others))(protocol)

    return change


CHANGES: dict[str, Callable[[Protocol], Protocol]] = {
    "id": lambda p: replace(p, id="other"),
    "variant": lambda p: replace(p, variant="other"),
    "defences removed": lambda p: replace(p, without=("moat",)),
    "one action fewer": lambda p: replace(p, actions=p.actions[1:]),
    "actions in another order": lambda p: replace(p, actions=p.actions[::-1]),
    "an action's name": _in_action(name="other"),
    "an action's party": _in_action(by=Role("other")),
    "an action's party's honesty": lambda p: _in_action(by=Role(p.actions[0].by.name, honest=False))(p),
    "an action's sentence": _in_action(says="other"),
    "an action's source": _in_action(source="other"),
    "an action's message": _in_action(message="a -> b: c"),
    "an action's requirement": _in_action(enforces=("REQ-9",)),
    "an action's cost": _in_action(cost=7),
    "an action's eagerness": _in_action(deduction=True),
    "an action's reason": _in_action(why="other"),
    "a guard's name": _in_guard(name="other"),
    "a guard's formula": _in_guard(formula=true.term),
    "a guard's kind": _in_guard(kind=GuardKind.GIVEN),
    "a guard's defence": _in_guard(defence="moat"),
    "an update's name": _in_update(name="other"),
    "an update's condition": _in_update(when=ready.term),
    "an update's effect": _in_update(effect=Effect.REMOVE),
    "an update's defence": _in_update(unless="moat"),
    "who acts": _in_action(actor=true.term),
    "a parameter": _in_action(params=()),
    "a fresh draw": _in_action(guards=()),
    "a shortcut": _in_action(shortcut_of="fresh-key"),
    "an update's arguments": _in_update(args=()),
    "an update's value": _in_update(value=true.term),
    "an update's each": _in_update(each=(Var("x", toy.Agent.sort),)),
    "a claim's failing threat models": lambda p: replace(
        p, claims=(replace(p.claims[0], fails_under=("none",)), *p.claims[1:])
    ),
    "a claim's sentence": lambda p: replace(p, claims=(replace(p.claims[0], sentence="other"), *p.claims[1:])),
    "a lemma's threat models": lambda p: replace(p, lemmas=(replace(p.lemmas[0], under=("none",)), *p.lemmas[1:])),
    "a symbol's meaning": lambda p: _with_symbol(p, says="other"),
    "a symbol's kind": lambda p: _with_symbol(p, kind=Kind.GHOST),
    "a symbol's role": lambda p: _with_symbol(p, role=None),
    "a symbol that changes": lambda p: _with_symbol(p, mutable=False),
    "an axiom": lambda p: replace(p, axioms=()),
    "an initial value": lambda p: replace(p, initial=()),
    "a claim": lambda p: replace(p, claims=p.claims[1:]),
    "a claim's threat models": lambda p: replace(p, claims=(replace(p.claims[0], under=()), *p.claims[1:])),
    "a lemma": lambda p: replace(p, lemmas=p.lemmas[1:]),
    "a goal": lambda p: replace(p, goals=()),
    "a threat model": lambda p: replace(p, threats=p.threats[1:]),
    "an assumption": lambda p: replace(p, assumptions=(*p.assumptions, Assumption("A2", "more"))),
    "a defence": lambda p: replace(p, defences=(*p.defences, Defence("moat", "a moat"))),
}


def test_the_digest_differs_when_anything_changes() -> None:
    protocol = toy.FAMILY.protocol()
    digests = {name: change(protocol).digest for name, change in CHANGES.items()}
    assert protocol.digest not in digests.values()
    assert len(set(digests.values())) == len(digests)


def _with_symbol(protocol: Protocol, **changes: Any) -> Protocol:
    initial, *others = protocol.initial
    return replace(protocol, initial=(replace(initial, symbol=replace(initial.symbol, **changes)), *others))


def _mutants(action: Action) -> Iterator[Action]:
    """Yield an action without each of its guards and updates, and with each formula denied."""
    for number, guard in enumerate(action.guards):
        before, after = action.guards[:number], action.guards[number + 1 :]
        yield replace(action, guards=(*before, *after))
        yield replace(action, guards=(*before, replace(guard, formula=Not(guard.formula)), *after))
    for number, update in enumerate(action.updates):
        before_it, after_it = action.updates[:number], action.updates[number + 1 :]
        yield replace(action, updates=(*before_it, *after_it))
        yield replace(action, updates=(*before_it, replace(update, when=Not(update.when)), *after_it))


@pytest.mark.parametrize("protocol", [MAIN, TIMED], ids=lambda protocol: protocol.variant)
def test_the_digest_differs_when_any_guard_or_update_of_gpu_travelling_does(protocol: Protocol) -> None:
    apart = ("initial", "axioms", "claims", "lemmas", "goals", "liveness", "threats", "defences", "symbols", "sorts")
    bare = replace(protocol, **dict.fromkeys(apart, ()))  # type: ignore[arg-type] # each of them is a tuple
    for action in protocol.actions:
        alone = replace(bare, actions=(action,))
        changed = [replace(alone, actions=(mutant,)).digest for mutant in _mutants(action)]
        assert len({alone.digest, *changed}) == len(changed) + 1


TEXT = toy.FAMILY.protocol().canonical_json
CONTENT = json.loads(TEXT)


def _written(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _changed(path: tuple[str | int, ...], value: Any) -> str:
    content = copy.deepcopy(CONTENT)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return _written(content)


GUARD = ("actions", 0, "guards", 0)
UPDATE = ("actions", 0, "updates", 0)
HOSTILE: dict[str, tuple[str, str]] = {
    "nothing": ("", "it cannot be read"),
    "no JSON": ("protocol", "it cannot be read"),
    "cut off": (TEXT[:-1], "it cannot be read"),
    "nested too deeply": ("[" * 100_000, "it cannot be read"),
    "a number without end": ('{"format":' + "9" * 10_000 + "}", "it cannot be read"),
    "a list": ("[]", "expected an object, and found []"),
    "another format": (
        _changed(("format",), "carnet-protocol/2"),
        'in the format carnet-protocol/1, and found "carnet',
    ),
    "no format": ("{}", "expected an object with 'format'"),
    "a part missing": (_written({k: v for k, v in CONTENT.items() if k != "axioms"}), "an object with 'axioms'"),
    "a part too many": (_written({**CONTENT, "remark": "hello"}), "written in another way"),
    "spaces": (json.dumps(CONTENT, sort_keys=True), "written in another way"),
    "keys in another order": (json.dumps(dict(reversed(CONTENT.items())), separators=(",", ":")), "another way"),
    "a key twice": (TEXT.replace('{"actions"', '{"actions":[],"actions"', 1), "written in another way"),
    "a text for a list": (_changed(("actions",), "none"), 'expected a list, and found "none"'),
    "a number for a text": (_changed(("title",), 7), "expected a text, and found 7"),
    "a number for a truth": (_changed(("actions", 0, "deduction"), 1), "expected true or false, and found 1"),
    "a truth for a number": (_changed(("actions", 0, "cost"), True), "expected a whole number, and found true"),
    "a fraction for a number": (_changed(("actions", 0, "cost"), 0.5), "expected a whole number, and found 0.5"),
    "a kind of guard that is none": (_changed((*GUARD, "kind"), "wish"), "one of require, given, actor, fresh"),
    "an effect that is none": (_changed((*UPDATE, "effect"), "explode"), "one of insert, remove, assign"),
    "a symbol that is not defined": (_changed((*UPDATE, "symbol"), "moon"), "a symbol that is defined"),
    "a symbol that is no name": (_changed((*UPDATE, "symbol"), ["lent"]), "a symbol that is defined"),
    "a sort that is not defined": (_changed((*GUARD, "formula"), ["variable", "x", "Moon"]), "a sort that is defined"),
    "a term that is none": (_changed((*GUARD, "formula"), ["nand", ["true"], ["true"]]), 'a term, and found ["nand"'),
    "a term with a part missing": (_changed((*GUARD, "formula"), ["not"]), 'expected a term, and found ["not"]'),
    "a text for a term": (_changed((*GUARD, "formula"), "true"), 'expected a term, and found "true"'),
    "a parameter that is no variable": (_changed(("actions", 0, "parameters", 0), ["true"]), "expected a variable"),
    "a deep term": (TEXT.replace('["true"]', '["not",' * 5_000 + '["true"]' + "]" * 5_000, 1), "it cannot be read"),
    "a symbol with another name": (_changed(("symbols", "lent", "name"), "loan"), "written in another way"),
    "two symbols of one name": (_changed(("symbols", "lent", "name"), "knows"), "knows"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_gives_one_clear_error(name: str) -> None:
    text, said = HOSTILE[name]
    with pytest.raises(SpecificationError) as refused:
        decode(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _places(inner, (*path, number))


PLACES = list(_places(CONTENT))
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, 0.5, "", "Key", "lent", [], ["true"], ["variable", "x", "Key"], {}, "\ud800"]
)


@given(st.sampled_from(PLACES), VALUES)
@settings(max_examples=150)
def test_whatever_is_read_has_the_encoding_that_was_given(path: tuple[str | int, ...], value: Any) -> None:
    text = _changed(path, value)
    with contextlib.suppress(SpecificationError):
        assert decode(text).canonical_json == text
