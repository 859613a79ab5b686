"""Lemmas as source text: what is written, traced again, is the same formula."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from carnet_check.loading.families import files_about, load
from carnet_check.suggestion.source_text import WIDTH, AuthorNames, expression, lemma_name, lemma_source
from carnet_spec import language
from carnet_spec.language import Invariant
from carnet_spec.language.draft import traced_invariant
from carnet_spec.language.notation import ASCII, show
from carnet_spec.language.terms import TRUE, And, Implies, Not, Or

NAMESPACES = {
    "fastrack": ("carnet_spec.protocols.fastrack.claims",),
    "pipellm": ("carnet_spec.protocols.pipellm.claims",),
    "tensortee": ("carnet_spec.protocols.tensortee.claims",),
    "teechain": ("carnet_spec.protocols.teechain.claims",),
}


def _stated(id: str) -> Iterator[Invariant]:
    yield from load(id).protocol().invariants


@pytest.mark.parametrize("id", NAMESPACES)
def test_what_is_written_is_traced_to_the_same_formula(id: str) -> None:
    source = load(id)
    names = AuthorNames.read(files_about(source.family, source.reference))
    known = {name: value for module in NAMESPACES[id] for name, value in vars(importlib.import_module(module)).items()}
    known |= {name: getattr(language, name) for name in language.__all__}
    for each in _stated(id):
        text = lemma_source(replace(each, name="stated", says="What is stated."), names)
        found: list[Invariant] = []
        keep = SimpleNamespace(lemma=lambda function, found=found: found.append(traced_invariant(function, "again")))
        exec(compile(text, "<lemma>", "exec"), {**known, names.draft: keep})  # the text is the subject
        (again,) = found
        assert (show(again.body, ASCII), again.params) == (show(each.body, ASCII), each.params), text


def test_an_implication_that_does_not_fit_on_a_line_stands_on_several() -> None:
    names = AuthorNames()
    split = 0
    for each in (each for each in _stated("tensortee") if isinstance(each.body, Implies)):
        assert isinstance(each.body, Implies)
        sides = [expression(side, names) for side in (each.body.premise, each.body.conclusion)]
        if max(map(len, sides)) < WIDTH - 10:
            lines = lemma_source(each, names).splitlines()
            split += lines[-1] == "    )"
            assert max(map(len, lines)) <= WIDTH
    assert split


def test_a_lemma_under_a_threat_model_says_so() -> None:
    lemma = Invariant("limited", (), TRUE, "Says.", ("outsider",))
    assert lemma_source(lemma, AuthorNames()).startswith('@draft.lemma_under("outsider")\ndef limited() -> Formula:\n')


def test_operands_have_parentheses_where_python_binds_more_tightly_than_logic() -> None:
    (first, *_) = _stated("pipellm")
    names = AuthorNames()
    inner = expression(first.body, names)
    assert expression(And((Or((first.body, TRUE)), TRUE)), names) == f"({inner} | true) & true"
    assert expression(Not(And((TRUE, TRUE))), names) == "~(true & true)"


def test_an_author_is_asked_what_things_are_called(tmp_path: Path) -> None:
    place = tmp_path / "spec.py"
    place.write_text(
        'd = Draft("x", "X")\nmine = relation("theirs", Person)\n\n\n@d.lemma\ndef one(p: Person) -> Formula: ...\n',
        encoding="utf-8",
    )
    names = AuthorNames.read([str(place)])
    assert (names.draft, names.symbols) == ("d", {"x": "d", "theirs": "mine"})


def test_what_an_author_lacks_of_the_language_is_imported() -> None:
    text = "def one(p: Person) -> Formula:\n    return implies(held(p), used(p))\n"
    has = AuthorNames(imported=frozenset(("Formula", "Draft")))
    assert has.import_line([text]) == "from carnet_spec.language import implies, used"
    assert AuthorNames(imported=frozenset(("Formula", "implies", "used"))).import_line([text]) == ""
    assert AuthorNames(imported=frozenset("*")).import_line([text]) == ""


def test_a_name_is_nobody_elses() -> None:
    protocol = load("fastrack").protocol()
    lemma = protocol.lemmas[3]
    first = lemma_name(lemma, protocol, ())
    second = lemma_name(lemma, protocol, [first])
    assert first.isidentifier()
    assert second.isidentifier()
    assert first != second
    known = {each.name for each in protocol.symbols} | {each.name for each in protocol.invariants}
    assert not {first, second} & known
