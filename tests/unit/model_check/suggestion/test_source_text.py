"""Lemmas as source text: what is written, traced again, is the same formula."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from carnet_check.loading.families import load
from carnet_check.suggestion.source_text import (
    LANGUAGE,
    WIDTH,
    AuthorNames,
    expression,
    lemma_name,
    lemma_source,
    reads_back,
    with_free_parameters,
)
from carnet_spec.language import Formula, Invariant, implies, used
from carnet_spec.language.draft import traced_invariant
from carnet_spec.language.notation import ASCII, show
from carnet_spec.language.terms import TRUE, And, Apply, Equal, Forall, Implies, Not, Or, Var, substitute
from tests.unit.model_check.command import FIXTURES

PROTOCOLS = ("fastrack", "pipellm", "tensortee", "teechain")
DEPOT = str(FIXTURES / "depot.py")


def _stated(id: str) -> Iterator[Invariant]:
    yield from load(id).protocol().invariants


def _names(reference: str) -> AuthorNames:
    source = load(reference)
    return AuthorNames.beside_claims(source, source.protocol())


@pytest.mark.parametrize("id", PROTOCOLS)
def test_what_is_written_is_traced_to_the_same_formula(id: str) -> None:
    names = _names(id)
    for each in _stated(id):
        lemma = replace(each, name="stated", says="What is stated.", under=())
        text = lemma_source(lemma, names)
        found: list[Invariant] = []
        keep = SimpleNamespace(lemma=lambda function, found=found: found.append(traced_invariant(function, "again")))
        exec(compile(text, "<lemma>", "exec"), {**names.scope, names.draft: keep})  # the text is the subject
        (again,) = found
        assert (show(again.body, ASCII), again.params) == (show(each.body, ASCII), each.params), text
        assert reads_back(lemma, names)


def test_names_are_those_of_the_function_that_states_the_claims() -> None:
    names = _names(DEPOT)
    assert names.draft == "draft"
    assert {"variant", "may", "no_loot", "depot", "listed"} <= names.scope.keys()
    assert "asking" not in names.scope


def test_a_symbol_has_the_name_that_is_bound_to_it() -> None:
    names, symbols = _names(DEPOT), {each.name: each for each in load(DEPOT).protocol().symbols}
    assert names.of(symbols["chief"]) == "p"
    assert names.of(symbols["carries"]) == "carries"
    moved = AuthorNames("draft", {"carries": names.scope["issued"], "has": names.scope["carries"]})
    assert moved.of(symbols["carries"]) == "has"
    assert moved.of(symbols["issued"]) == "carries"


def test_a_name_in_a_module_is_written_with_the_module() -> None:
    module = ModuleType("words")
    names, symbols = _names(DEPOT), {each.name: each for each in load(DEPOT).protocol().symbols}
    vars(module).update(issued=names.scope["issued"], Person=names.scope["Person"])
    inside = AuthorNames("draft", {"v": module})
    assert inside.of(symbols["issued"]) == "v.issued"
    assert inside.of_sort(symbols["issued"].domain[0]) == "v.Person"


def test_names_of_a_module_are_found_although_another_of_its_name_was_imported_after_it(tmp_path: Path) -> None:
    whole = (FIXTURES / "badges.py").read_text(encoding="utf-8")
    places = [tmp_path / each / "gate.py" for each in ("first", "second")]
    for place in places:
        place.parent.mkdir()
        place.write_text(f"{whole}\nmark = '{place.parent.name}'\n", encoding="utf-8")
        load(str(place))
    assert [_names(str(place)).scope["mark"] for place in places] == ["first", "second"]
    assert [_names(str(place)).draft for place in places] == ["draft", "draft"]


def _lemma() -> Invariant:
    """Return the lemma of the depot that only the chief carries something."""
    symbols = {each.name: each for each in load(DEPOT).protocol().symbols}
    person, crate = (Var(name, sort) for name, sort in zip("pc", symbols["carries"].domain, strict=True))
    body = Implies(Apply(symbols["carries"], (person, crate)), Equal(person, Apply(symbols["chief"], ())))
    return Invariant("only_chief", (person, crate), body, "Says.")


def test_a_parameter_is_not_called_what_means_something_else() -> None:
    names, lemma = _names(DEPOT), _lemma()
    assert "return implies(carries(p, c), p == p)" in lemma_source(lemma, names)
    assert not reads_back(lemma, names)
    free = with_free_parameters(lemma, names)
    assert "return implies(carries(p2, c), p2 == p)" in lemma_source(free, names)
    assert reads_back(free, names)


@pytest.mark.parametrize("name", ["carries", "Person", "p"])
def test_a_text_that_says_something_else_or_nothing_is_no_lemma(name: str) -> None:
    names = _names(DEPOT)
    free = with_free_parameters(_lemma(), names)
    wrong = {"carries": "issued", "Person": "Crate", "p": "listed"}[name]
    for scope in ({**names.scope, name: names.scope[wrong]}, {k: v for k, v in names.scope.items() if k != name}):
        assert not reads_back(free, replace(names, scope=scope))


def test_bound_variables_may_have_other_names() -> None:
    names, lemma = _names(DEPOT), _lemma()
    person, crate = lemma.params
    renamed = {person: Var("someone", person.sort), crate: Var("crate", crate.sort)}
    bound = Forall(tuple(renamed.values()), substitute(lemma.body, renamed))
    assert reads_back(replace(lemma, params=(), body=bound), names)


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


def test_what_an_author_lacks_of_the_language_is_imported() -> None:
    text = "def one(p: Person) -> Formula:\n    return implies(held(p), used(p))\n"
    assert AuthorNames(scope={"Formula": Formula}).import_line([text]) == f"from {LANGUAGE} import implies, used"
    assert AuthorNames(scope={"Formula": Formula, "implies": implies, "used": used}).import_line([text]) == ""
    assert AuthorNames(scope={"imp": implies}).of_word("implies") == "imp"


def test_a_word_of_the_language_that_means_something_else_is_imported_under_another_name() -> None:
    names = _names(DEPOT)
    other = replace(names, scope={**names.scope, "implies": names.scope["label"]})
    free = with_free_parameters(_lemma(), other)
    text = lemma_source(free, other)
    assert "return implies2(carries(p2, c), p2 == p)" in text
    assert other.import_line([text]) == f"from {LANGUAGE} import implies as implies2"
    assert reads_back(free, other)


def test_the_name_of_a_lemma_says_that_it_denies_something() -> None:
    protocol = load(PROTOCOLS[0]).protocol()
    stated, body = next((each, each.body) for each in protocol.invariants if isinstance(each.body, Implies))
    conclusion = body.conclusion.body if isinstance(body.conclusion, Not) else body.conclusion
    bodies = (Implies(body.premise, conclusion), Implies(body.premise, Not(conclusion)))
    says, denies = (lemma_name(replace(stated, body=each), protocol, ()) for each in bodies)
    assert denies == says.replace("_implies_", "_implies_not_")
    assert "not" not in says


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
