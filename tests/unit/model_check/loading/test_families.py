"""What a family may leave out, and sizes that are computed from its instances, before a search and after it."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Caps, Search
from carnet_check.engines.exploring.searches import search, verdict_of
from carnet_check.errors import UsageError
from carnet_check.loading import scope
from carnet_check.loading.default_instance import default_instance
from carnet_check.loading.extent import MOST_ROWS, Explored, fixed_in_words, fixed_values, sizes_in_words
from carnet_check.loading.families import Source, load
from carnet_check.loading.scope import scope_of
from carnet_check.results import Verdict
from carnet_check.semantics import Interpreter
from carnet_spec.language import *
from tests.fixtures import broker
from tests.unit.model_check.command import CONTROLS, FASTEST, FIXTURES, Ran, carnet, control

OPENING = """
from carnet_spec.language import *
from controls import sound


def draft(variant):
    token = sound()
    token.variant = variant
    token.defence("calm", "Only who is calm passes it on.")
    return token


def instance(protocol, threat, scale):
    return Instance({"Party": ("ann", "bob")}, functions={"first": {(): "ann"}}, describes="ann and bob")


"""
VARIANTS = {"main": 'Variant("main", "as it is")', "open": 'Variant("open", "nobody takes anything twice")'}
BOTH = "variants={" + ", ".join(f'"{name}": {said}' for name, said in VARIANTS.items()) + '}, main=("main",)'
WHOLE = f'id="token", title="A token", draft=draft, instance=instance, {BOTH}'


def written(folder: Path, family: str) -> str:
    """Write a family into a file of its own, and return what it is called by."""
    return saved(folder, f"{OPENING}FAMILY = Family({family})\n")


def saved(folder: Path, text: str) -> str:
    """Write a file beside the negative controls, and return what it is called by."""
    shutil.copy(CONTROLS, folder / "controls.py")
    file = folder / "family.py"
    file.write_text(text)
    return str(file)


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """Return a family that gives instances, and neither profiles nor hunts."""
    return written(tmp_path, WHOLE)


@pytest.mark.mends("R460")
@pytest.mark.parametrize(
    "command",
    [
        ("verify",),
        ("explore",),
        ("attack", "--variant", "open", "--claim", "one-holder"),
        ("exhaust", "--out", "OUT"),
        ("export", "--to", "tla", "--out", "OUT"),
        ("mutate", "--only", "look/", "--out", "OUT"),
    ],
    ids=lambda command: str(command[0]),
)
def test_a_family_without_profiles_does_for_every_command(bare: str, command: tuple[str, ...], tmp_path: Path) -> None:
    options = [option.replace("OUT", str(tmp_path / "out")) for option in command[1:]]
    ran = carnet(command[0], bare, *options)
    assert (ran.code in (0, 1, 3), ran.err.startswith("carnet: ")) == (True, False), ran.err


def test_its_one_profile_is_an_empty_scale_and_hunts_go_through_it(bare: str) -> None:
    family = load(bare).family
    assert {name: dict(profile.scale) for name, profile in family.profiles.items()} == {"tiny": {}}
    assert family.sizes_to_hunt("main") == tuple(family.profiles.values())


@pytest.mark.mends("R461")
@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("main", '"main"', "'main' takes a tuple of strings, not 'main': write ('main',)"),
        ("variants", "('main',)", "'variants' takes a mapping from strings to Variants"),
        ("profiles", "{'tiny': 2}", "'profiles' takes a mapping from strings to Profiles"),
        ("hunts", "Profile('tiny', {})", "'hunts' takes a tuple of Profiles"),
        ("findings", "'twice'", "'findings' takes a tuple of Findings, not 'twice'"),
        ("instance", "None", "'instance' takes a function, not None"),
        ("draft", "sound()", "'draft' takes a function"),
        ("id", "7", "'id' takes a string, not 7"),
        ("options", "{'n': 'n'}", "'options' takes a mapping from strings to tuples of strings"),
        ("variants", "{}", "has no variants: leave them out"),
    ],
)
def test_a_field_that_holds_something_else_is_named(field: str, given: str, said: str, tmp_path: Path) -> None:
    parts = {"id": '"token"', "title": '"A token"', "draft": "draft", "instance": "instance", field: given}
    ran = carnet("verify", written(tmp_path, ", ".join(f"{name}={value}" for name, value in parts.items())))
    assert (ran.code, ran.out) == (2, "")
    assert "family.py:17: Family" in ran.err
    assert said in " ".join(ran.err.split())


@pytest.mark.mends("R461")
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('Variant("open", "…", without="calm")', "Variant 'open': 'without' takes a tuple of strings, not 'calm'"),
        (
            'Finding("f", "…", "anyone", "one-holder", "open", "calm")',
            "Finding 'f': 'without' takes a tuple of strings",
        ),
        ('Profile("tiny", 2)', "Profile 'tiny': 'scale' takes a mapping from strings to numbers, not 2"),
        ('Profile("tiny", {}, budget=-1)', "Profile 'tiny': 'budget' is -1, and less than nothing is no size"),
        ('Profile("tiny", {"Party": -4})', "Profile 'tiny': 'Party' is -4, and less than nothing is no size"),
        ('Profile("tiny", {}, budget="2")', "Profile 'tiny': 'budget' takes a number or None, not '2'"),
        ('Service("s", "…", "yes", "there", "open")', "Service 's': 'needed_by' takes a set, not 'open'"),
        (
            'PartyView(PartyKind.HOST, "host", "hidden", "…")',
            "PartyView 'host': 'sees' takes a Visibility, not 'hidden'",
        ),
        (
            'PartyView(PartyKind.HOST, "host", Visibility.HIDDEN, "…", assumed_in=("A1",))',
            "PartyView 'host': 'assumed_in' names assumptions, and 'trusted_for' says nothing",
        ),
        ('Instance({"Party": "ann"})', "Instance: 'elements' takes a mapping from strings to tuples"),
        ('Instance({}, {"corrupt": "ann"})', "Instance: 'relations' takes a mapping from strings to sets"),
        ('Instance({}, functions={"first": "ann"})', "Instance: 'functions' takes a mapping from strings to mappings"),
    ],
)
def test_so_are_those_of_what_a_family_holds(value: str, said: str, tmp_path: Path) -> None:
    imported = "PartyKind, PartyView, Visibility" if value.startswith("PartyView") else "Draft"
    imported = "Service" if value.startswith("Service") else imported
    file = saved(tmp_path, f"from carnet_spec.language import {imported}\n{OPENING}wrong = {value}\n")
    ran = carnet("verify", file)
    assert (ran.code, ran.out) == (2, "")
    assert "family.py:18: " in ran.err
    assert said in " ".join(ran.err.split())


@pytest.mark.mends("R462")
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ('{"Party": ("ann",)}', "family.py:4: 'instance' returns a dict: return an Instance"),
        ("None", "family.py:4: 'instance' returns a NoneType: return an Instance"),
        ('Instance({"Party": "ann"})', "family.py:5: Instance: 'elements' takes"),
        ('Instance({"Party": (1, 2)}, functions={"first": {(): 1}})', "sort Party: an element is a string, not 1"),
    ],
)
def test_an_instance_function_that_returns_no_instance_is_told(returned: str, said: str, tmp_path: Path) -> None:
    file = saved(
        tmp_path,
        "from carnet_spec.language import *\nfrom controls import sound\n\n"
        f"def instance(protocol, threat, scale):\n    return {returned}\n\n"
        'FAMILY = Family("token", "A token", lambda variant: sound(), instance)\n',
    )
    ran = carnet("verify", file)
    assert (ran.code, said in " ".join(ran.err.split()), "verdicts" in ran.out) == (2, True, False), ran.err


@pytest.mark.mends("R462")
def test_a_draft_function_that_returns_nothing_is_told(tmp_path: Path) -> None:
    ran = carnet("verify", written(tmp_path, 'id="token", title="A token", draft=lambda variant: None'))
    assert ran.code == 2
    assert "'draft' of token returns a NoneType for variant 'main': return a Draft" in " ".join(ran.err.split())


def test_a_draft_of_another_variant_is_refused(tmp_path: Path) -> None:
    """What is said of the open design would be said of the main one: that it is violated, or that it is proved."""
    given = written(tmp_path, f'id="token", title="A token", draft=lambda variant: sound(), {BOTH}')
    refusal = "'draft' of token returns variant 'main' for variant 'open': hand the name on"
    for command in ("explore", "attack", "verify"):
        ran = carnet(command, given, "--variant", "open")
        assert (ran.code, refusal in " ".join(ran.err.split())) == (2, True)


@pytest.mark.mends("R463")
def test_a_family_without_instances_has_those_of_a_draft_alone(tmp_path: Path) -> None:
    made = load(written(tmp_path, f'id="token", title="A token", draft=draft, {BOTH}'))
    alone = load(control("sound"))
    assert made.instances_are_made
    assert (made.family.profiles, made.family.hunts) == (alone.family.profiles, alone.family.hunts)
    assert _strengths(made) == _strengths(alone)


@pytest.mark.mends("R463")
def test_a_family_without_instances_may_have_sizes_of_its_own(tmp_path: Path) -> None:
    profiles = 'profiles={"tiny": Profile("tiny", {"Party": 4})}'
    made = load(written(tmp_path, f'id="token", title="A token", draft=draft, {profiles}'))
    assert {name: dict(profile.scale) for name, profile in made.family.profiles.items()} == {"tiny": {"Party": 4}}
    assert [row["bound"] for row in _explored(made)] == [4]


def _explored(source: Source) -> list[dict[str, object]]:
    rows = carnet("verify", source.reference, "--engine", FASTEST, "--json").json["results"]
    return [row for row in rows if row["claim"] == "one-holder"]


def _strengths(source: Source) -> list[object]:
    return [(row["verdict"], row["bound"], row["detail"]) for row in _explored(source)]


class Agent(Individual):
    """A party."""


class Note(Individual):
    """Something with an author."""


ROLE = Role("role")
boss = constant("boss", Agent)
clerk = constant("clerk", Agent)
corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH)
enrolled = rigid_relation("enrolled", Agent)
before = rigid_relation("before", Note, Note)
author = rigid_function("author", Note, to=Agent)
seen = relation("seen", Note, kind=Kind.STATE, of=ROLE)


def protocol(*axioms: Formula) -> Protocol:
    draft = Draft("office", "An office")
    draft.threat("one", "somebody is corrupt", somebody=exists(lambda a: corrupt(a) & ~corrupt(boss), Agent))
    draft.axiom("bosses are honest", ~corrupt(boss))
    draft.axiom("no clerk enrols", ~enrolled(clerk))
    draft.axiom("irreflexive", forall(lambda n: ~before(n, n), Note))
    draft.axiom("asymmetric", forall(lambda n, m: implies(before(n, m), ~before(m, n)), Note, Note))
    draft.axiom("authors are enrolled", forall(lambda n: enrolled(author(n)), Note))
    for number, axiom in enumerate(axioms):
        draft.axiom(f"further {number}", axiom)

    @draft.action(by=ROLE, says="{n} is seen", source="tests")
    def see(step: Step, n: Note) -> None:
        step.require("not before itself", ~before(n, n))
        step.insert(seen(n))

    return draft.protocol()


def test_the_axioms_hold_and_constants_are_apart() -> None:
    made = protocol()
    judge = Interpreter(made, default_instance(made, "one", {}))
    assert judge.axioms_hold() == []
    assert judge.violated_axioms(made.threat("one").axioms) == []
    instance = default_instance(protocol(), "one", {})
    assert instance.elements == {"Agent": ("boss", "clerk", "agent1", "agent2"), "Note": ("note1", "note2")}
    assert instance.functions["boss"] == {(): "boss"}
    assert instance.functions["clerk"] == {(): "clerk"}
    draft = Draft("numbered", "A constant with a number")
    draft.axiom("there", enrolled(constant("agent1", Agent)))
    elements = default_instance(draft.protocol(), "", {}).elements["Agent"]
    assert elements == ("agent1", "agent2", "agent3")


def test_relations_are_as_interesting_as_the_axioms_allow() -> None:
    instance = default_instance(protocol(), "one", {})
    assert instance.relations["corrupt"] == {("agent2",)}
    assert instance.relations["enrolled"] == {("boss",), ("agent1",), ("agent2",)}
    assert instance.relations["before"] == {("note1", "note2")}
    assert set(instance.functions["author"].values()) == {"agent1", "agent2"}


def test_sizes_are_given_by_sort_or_refused() -> None:
    instance = default_instance(protocol(), "one", {"Note": 3, "each": 1})
    assert {sort: len(names) for sort, names in instance.elements.items()} == {"Agent": 3, "Note": 3}
    assert instance.words == "3 Agent · 3 Note"
    impossible = exists(lambda a, b: (a != b) & (a != boss) & (b != boss), Agent, Agent)
    with pytest.raises(UsageError, match="no instance of 'office' with 2 Agent, 2 Note satisfies the axioms"):
        default_instance(protocol(impossible), "one", {"Agent": 2})
    with pytest.raises(UsageError, match=r"no size .Desk.*Agent, Note"):
        default_instance(protocol(), "one", {"Desk": 2})


BROKER = str(FIXTURES / "broker.py:draft")
GIVEN = str(FIXTURES / "broker.py:GIVEN")
SIZES = {"Version": 3, "Guest": 2, "Image": 3, "Secret": 2}
WORDS = "3 Version · 2 Guest · 3 Image · 2 Secret"


def told(ran: Ran) -> str:
    """Return what was printed, in one line."""
    return " ".join(ran.out.split())


def _few(monkeypatch: pytest.MonkeyPatch, most: int = 20) -> None:
    monkeypatch.setattr(scope, "MOST_MEANINGS", most)
    scope.forget()


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    scope.forget()


@pytest.mark.mends("R480")
def test_a_violation_that_needs_two_guests_is_found_where_two_are_announced() -> None:
    """An order and two functions: one guest alone was explored, under the name of two."""
    ran = carnet("verify", BROKER, "--engine", "explicit", "--claim", "one-holder", "--jobs", "1", "--long")
    assert ran.code == 1
    assert f"every state of profile tiny: {WORDS}, all 81 interpretations of the rigid symbols" in told(ran)
    assert "one-holder VIOLATED!" in told(ran)


@pytest.mark.mends("R480")
@pytest.mark.parametrize("claim", ["one-holder", "good-only"])
def test_where_interpretations_are_too_many_some_are_drawn(claim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _few(monkeypatch)
    source = load(BROKER)
    found = scope_of(source, source.protocol(), "unrestricted", source.profile("tiny"), (claim,))
    assert {tuple(instance.sizes.items()) for instance, _ in found.instances} == {tuple(SIZES.items())}
    assert (found.explored.interpretations, found.explored.allowed) == (len(found.instances), 81)
    assert 20 < len(found.instances) <= scope.DRAWN
    assert "32 of 81" in found.explored.words
    assert dict(found.left_out) == {claim: found.explored.shortfall}


@pytest.mark.mends("R480")
def test_nothing_is_exhausted_under_the_name_of_a_profile_that_is_not_met() -> None:
    """A line of five versions: too many tables to look at all of them."""
    asked = ("--engine", "explicit", "--profile", "review", "--claim", "good-only", "--jobs", "1")
    screen = told(carnet("verify", BROKER, *asked))
    assert "UNKNOWN good-only · unrestricted · explicit (expected EXHAUSTED)" in screen
    assert "axioms leave an uncounted number of interpretations of the rigid symbols: 32, drawn" in screen
    assert "strength explicit: 5 Version · 4 Guest · 5 Image · 4 Secret, 32 of an uncounted number" in screen
    ran = carnet("verify", BROKER, *asked, "--long")
    assert ran.code == 3
    assert "profile review is not met: axioms leave an uncounted number of interpretations" in told(ran)
    before, _, after = told(ran).partition("good-only")
    for part in (before, after):
        assert "5 Version · 4 Guest · 5 Image · 4 Secret, 32 of an uncounted number of interpretations" in part
    assert "UNKNOWN 1" in after
    assert "3,000,000 states where interpretations are drawn" in after


def test_the_same_interpretations_are_drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    _few(monkeypatch)
    source = load(BROKER)

    def drawn() -> scope.Scope:
        scope.forget()
        return scope_of(source, source.protocol(), "unrestricted", source.profile("tiny"), ("one-holder",))

    assert drawn() == drawn()


def test_a_violation_in_what_was_drawn_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _few(monkeypatch)
    asked = Search(BROKER, "main", (), "unrestricted", load(BROKER).profile("tiny"), ("one-holder", "good-only"))
    found = search(EXPLICIT, asked)
    assert [verdict_of(found, claim)[0] for claim in asked.claims] == [Verdict.VIOLATED, Verdict.UNKNOWN]


def test_the_states_are_shared_among_what_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first interpretation took all of them, no other would be looked at."""
    _few(monkeypatch)
    caps = Caps(states=96)
    asked = Search(BROKER, "main", (), "unrestricted", load(BROKER).profile("tiny"), ("good-only",), caps=caps)
    found = search(EXPLICIT, asked)
    assert (len(found.parts), found.complete, found.stopped_by) == (32, False, "states")
    assert found.states < 2 * 96


@pytest.mark.mends("R480")
@pytest.mark.parametrize("change", [{"interpretations": 2}, {"elements": (("Guest", 3),)}, {"authors_words": "many"}])
def test_a_search_that_has_other_instances_than_announced_fails(change: Mapping[str, Any]) -> None:
    source = load(GIVEN)
    profile = source.profile("tiny")
    explored = scope_of(source, source.protocol(), "unrestricted", profile, ("good-only",)).explored
    asked = Search(GIVEN, "main", (), "unrestricted", profile, ("good-only",), explored=explored)
    assert not search(EXPLICIT, asked).problems
    (problem,) = search(EXPLICIT, replace(asked, explored=replace(explored, **change))).problems
    assert problem.startswith(f"the instances are not those that were announced: {next(iter(change))} differ")


@pytest.mark.mends("R481")
def test_sizes_are_counted_and_what_is_fixed_is_said() -> None:
    ran = carnet("verify", GIVEN, "--engine", "explicit", "--claim", "good-only", "--jobs", "1", "--long")
    said = '2 Guest · 2 Version · 2 Image · 1 Secret (author: "any number of everything")'
    assert f"every state of profile tiny: {said}, unbounded adversary" in told(ran)
    assert f"strength explicit: {said}, unbounded adversary" in told(ran)
    ran = carnet("verify", GIVEN, "--engine", "explicit", "--claim", "good-only", "--jobs", "1", "--json")
    for fixed in (
        "Version: least = old",
        "Image: good = shipped",
        "image: ann → shipped, ben → patched",
        "made_with: always new",
        "older: old < new",
    ):
        assert fixed in ran.json["run"]["strength"]


@pytest.mark.parametrize(
    "words",
    [
        ("verify", GIVEN, "--engine", "explicit", "--claim", "good-only", "--jobs", "1"),
        ("explore", GIVEN, "--engine", "explicit"),
        ("attack", GIVEN, "--variant", "main", "--claim", "good-only"),
    ],
)
def test_each_command_has_the_same_as_json(words: tuple[str, ...]) -> None:
    told = carnet(*words, "--json").json["explored"]
    explored = told if isinstance(told, dict) else told[0]
    assert explored["elements"] == {"Guest": 2, "Version": 2, "Image": 2, "Secret": 1}
    assert explored["fixed"]["older"] == "old < new"
    assert (explored["interpretations"], explored["allowed"], explored["shortfall"]) == (1, None, None)
    assert explored["authors_words"] == "any number of everything"


def test_a_run_that_is_kept_and_its_sarif_have_it_too(tmp_path: Path) -> None:
    out, sarif = tmp_path / "run", tmp_path / "run.sarif"
    options = ("--engine", "explicit", "--claim", "one-holder", "--jobs", "1", "--out", str(out), "--sarif", str(sarif))
    assert carnet("verify", BROKER, *options).code == 1
    for text in ((out / "run.json").read_text("utf-8"), sarif.read_text("utf-8")):
        assert f"{WORDS}, all 81 interpretations of the rigid symbols" in text
    assert carnet("report", str(out), "--html", str(tmp_path / "html")).code == 0


class Thing(Individual):
    """Anything."""


beside = rigid_relation("beside", Thing, Thing)
FOUR = ("a", "b", "c", "d")
RELATIONS: Mapping[str, tuple[Any, str]] = {
    "a line": (InLine(FOUR), "a < b < c < d"),
    "a line, row by row": (
        frozenset({("b", "a"), ("b", "c"), ("b", "d"), ("c", "a"), ("c", "d"), ("d", "a")}),
        "b < c < d < a",
    ),
    "no line": (frozenset({("a", "b"), ("b", "c"), ("c", "a")}), "(a, b), (b, c), (c, a)"),
    "nothing": (frozenset(), "none"),
    "everything": (frozenset((a, b) for a in FOUR for b in FOUR), "all"),
    "a circle of six rows": (
        frozenset({("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("b", "d")}),
        "(a, b), (a, c), (b, c), (b, d), (c, d), (d, a)",
    ),
}


def _about_things(rows: Any) -> tuple[Protocol, Instance]:
    protocol = replace(broker.draft().protocol(), symbols=(beside.symbol,), actions=())
    return protocol, Instance({"Thing": FOUR}, {"beside": rows})


@pytest.mark.parametrize("name", RELATIONS)
def test_a_relation_is_told_by_its_rows_or_its_line(name: str) -> None:
    rows, words = RELATIONS[name]
    assert fixed_values(*_about_things(rows)) == {"beside": words}


def test_what_instances_are_and_fix_is_told_briefly() -> None:
    rows = frozenset((a, b) for a in FOUR for b in FOUR if (a, b) != ("d", "d"))
    assert fixed_values(*_about_things(rows))["beside"].endswith(f"(c, d) and {15 - MOST_ROWS} more")
    one, two, three = (Explored((("Guest", number), ("Key", 2))) for number in (1, 2, 4))
    assert sizes_in_words([one, two, one]) == "1 Guest · 2 Key; 2 Guest · 2 Key"
    assert sizes_in_words([one, two, three]) == "instances of 3 kinds, 1 or 2 or 4 Guest · 2 Key"
    nobody, ben = (Explored((), fixed=(("corrupt", who),)) for who in ("nobody", "ben"))
    assert fixed_in_words([nobody, ben, ben]) == "corrupt: nobody or ben"


SHARES: Mapping[str, tuple[Explored, str]] = {
    "one that somebody chose": (Explored((("Guest", 2),)), "2 Guest"),
    "the only one": (Explored((("Guest", 2),), 1, 1), "2 Guest"),
    "all": (Explored((("Guest", 2),), 7, 7), "2 Guest, all 7 interpretations of the rigid symbols"),
    "all, with first values": (
        Explored((("Guest", 2),), 7, 7, first_values=("last",)),
        "2 Guest, all 7 choices of an interpretation of the rigid symbols and every first value of last",
    ),
    "some": (
        Explored((("Guest", 2),), 2, 7, shortfall="too many"),
        "2 Guest, 2 of 7 interpretations of the rigid symbols",
    ),
    "some of more": (
        Explored((("Guest", 2),), 2, None, shortfall="too many"),
        "2 Guest, 2 of an uncounted number of interpretations of the rigid symbols",
    ),
    "words alone": (Explored((), authors_words="none"), 'author: "none"'),
}


@pytest.mark.parametrize("name", SHARES)
def test_how_many_interpretations_of_how_many(name: str) -> None:
    explored, words = SHARES[name]
    assert explored.words == words


def test_a_directed_run_is_of_one_interpretation_and_says_so() -> None:
    source = load(BROKER)
    whole = scope_of(source, source.protocol(), "unrestricted", source.profile("tiny"), ())
    first = whole.first_alone(source.protocol())
    assert len(first.instances) == 1
    assert first.explored.words == f"{WORDS}, 1 of 81 interpretations of the rigid symbols"
    assert dict(first.explored.fixed).keys() == {"older", "image", "made_with"}


def test_a_search_that_was_cut_off_says_so_in_its_strength() -> None:
    ran = carnet("explore", BROKER, "--engine", "explicit", "--max-states", "50")
    assert "of 81 interpretations" in told(ran).partition("strength")[2].partition("budget")[0]


def test_no_certificate_is_written_of_what_was_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _few(monkeypatch)
    ran = carnet("exhaust", BROKER, "--out", str(tmp_path / "out"))
    assert ran.code == 2
    assert "no certificate speaks of all of profile tiny: axioms leave 81 interpretations" in ran.err
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
