"""Sequence charts: each agent has one column, whatever the specification calls it."""

import json

import pytest

from carnet_check.attacks.describing import SequenceChart, sequence_chart
from carnet_check.loading.families import known_protocols, load
from carnet_check.semantics import Interpreter
from carnet_spec.language import *
from carnet_spec.trace import Trace, TraceStep
from docs._ext.carnet_pages.traces import Attacked, Traces
from tests.repo.tracked import ROOT

RECORDS = ROOT / "docs" / "results" / "attacks"
MANY = 12  #: How many attacks of a protocol are drawn in a fast test; the slow one draws all.


class Person(Individual):
    """Who visits, and who works there."""


class Room(Individual):
    """What is visited."""


class Note(Individual):
    """What is written down."""


GUEST, CLERK, GUARD, THIEF = Role("guest"), Role("clerk"), Role("guard"), Role("thief", honest=False)
porter = constant("porter", Person)
keeper = rigid_function("keeper", Room, to=Person)
on_duty = function("on_duty", to=Person, kind=Kind.STATE, of=GUARD, says="who is on duty")
heard = relation("heard", Note, kind=Kind.KNOWLEDGE)
knows = relation("knows", Person, Note, kind=Kind.KNOWLEDGE)


def hotel() -> Protocol:
    """Return a protocol of which few actions declare who takes them."""
    draft = Draft("hotel", "A hotel")

    @draft.action(by=GUEST, says="A letter of {g}.", source="tests", message="{g} -> clerk: letter {n}")
    def write(step: Step, g: Person, n: Note) -> None:
        step.insert(knows(g, n))

    @draft.action(by=GUEST, says="A letter for {h}.", source="tests", message="porter -> {h}: letter {n}")
    def collect(step: Step, h: Person, n: Note) -> None:
        step.require("is a guest", h != porter)
        step.insert(knows(h, n))

    @draft.action(by=CLERK, says="The clerk pays.", source="tests", message="porter -> {h}: change, with {n}")
    def pay(step: Step, h: Person, n: Note) -> None:
        step.require("is a guest", h != porter)
        step.insert(knows(h, n))

    @draft.action(by=GUEST, says="{x} rests.", source="tests")
    def rest(step: Step, n: Note, x: Person) -> None:
        step.insert(knows(x, n))

    @draft.action(by=GUEST, says="In {r} somebody waits: {y}.", source="tests")
    def wait(step: Step, r: Room, y: Person, n: Note) -> None:
        step.insert(knows(y, n))

    @draft.action(by=GUEST, says="Somebody sings.", source="tests")
    def sing(step: Step, n: Note) -> None:
        step.insert(heard(n))

    @draft.action(by=GUEST, says="A complaint.", source="tests", message="guest -> keeper: about {r}")
    def complain(step: Step, r: Room, n: Note) -> None:
        step.given("has a keeper", keeper(r) != porter)
        step.insert(heard(n))

    @draft.action(by=GUARD, says="The guard looks round.", source="tests")
    def look(step: Step, n: Note) -> None:
        step.actor(on_duty(), knows(on_duty(), n) | ~knows(on_duty(), n))
        step.insert(heard(n))

    @draft.action(by=CLERK, says="The clerk sweeps.", source="tests")
    def sweep(step: Step, n: Note) -> None:
        step.insert(heard(n))

    @draft.action(by=CLERK, says="{v} calls.", source="tests")
    def call(step: Step, v: Person, n: Note) -> None:
        step.insert(knows(v, n))

    @draft.action(by=THIEF, says="{t} listens.", source="tests")
    def listen(step: Step, t: Person, n: Note) -> None:
        step.insert(heard(n))

    @draft.action(by=THIEF, says="Somebody listens.", source="tests")
    def listen_unseen(step: Step, n: Note) -> None:
        step.insert(heard(n))

    return draft.protocol()


NOTE = ("n", "note")
STEPS = {
    "write": (("g", "ann"), NOTE),
    "collect": (("h", "ann"), NOTE),
    "pay": (("h", "ann"), NOTE),
    "rest": (NOTE, ("x", "ann")),
    "wait": (("r", "attic"), ("y", "ann"), NOTE),
    "sing": (NOTE,),
    "complain": (("r", "attic"), NOTE),
    "look": (NOTE,),
    "sweep": (NOTE,),
    "call": (("v", "ann"), NOTE),
    "listen": (("t", "tom"), NOTE),
    "listen_unseen": (NOTE,),
}


def chart_of(*names: str, **others: tuple[tuple[str, str], ...]) -> SequenceChart:
    protocol = hotel()
    people = ("ann", "bob", "paul", "kim", "tom")
    functions: dict[str, dict[Row, str]] = {"porter": {(): "paul"}, "keeper": {("attic",): "kim"}}
    judge = Interpreter(
        protocol,
        Instance(
            {"Person": people, "Room": ("attic",), "Note": ("note",)},
            functions=functions,
            first={"on_duty": {(): "bob"}},
        ),
    )
    taken = tuple(
        TraceStep(name, protocol.action(name).by.name, others.get(name, STEPS[name])) for name in (*names, *others)
    )
    trace = Trace("hotel", "main", (), "", taken)
    return sequence_chart(judge, judge.replay(trace), trace)


COLUMNS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("write", "rest"): ("ann", "clerk"),
    ("write", "wait"): ("ann", "clerk"),
    ("write", "sing"): ("ann", "clerk", "thief"),
    ("collect",): ("paul", "ann"),
    ("pay", "write"): ("paul", "ann", "clerk"),
    ("write", "complain"): ("ann", "clerk", "kim", "thief"),
    ("look",): ("bob", "thief"),
    ("listen",): ("tom", "thief"),
    ("listen", "listen_unseen"): ("tom", "thief"),
}


@pytest.mark.parametrize("names", COLUMNS, ids=" ".join)
def test_an_agent_has_one_column_although_its_actions_do_not_declare_it(names: tuple[str, ...]) -> None:
    assert chart_of(*names).parties == COLUMNS[names]


def test_a_role_that_two_agents_play_is_neither_of_them() -> None:
    chart = chart_of("write", "sing", rest=(NOTE, ("x", "bob")))
    assert [step.actor for step in chart.steps] == ["ann", "guest", "bob"]


def test_whom_a_sentence_begins_with_is_not_the_player_of_a_role_whose_sort_nothing_declares() -> None:
    assert [step.actor for step in chart_of("sweep", "call", "sweep").steps] == ["clerk", "clerk", "clerk"]


# -- on every recorded attack ------------------------------------------------------------------------


def recorded(id: str, most: int) -> list[Attacked]:
    rows = json.loads((RECORDS / f"{id}.json").read_text("utf-8"))
    kept = Traces(load(id), "attacks")
    violated = [row for row in rows if row["verdict"] == "VIOLATED"]
    return [found for row in violated[:: 1 + len(violated) // most] if (found := kept.recorded(row)) is not None]


def in_two_columns(id: str, attack: Attacked) -> list[str]:
    """Return the agents of a chart that have two columns: under a role and as its only player, or beside a sentence."""
    judge = Interpreter(attack.protocol, load(id).instance(attack.protocol, attack.trace.threat, attack.profile))
    chart = sequence_chart(judge, judge.replay(attack.trace), attack.trace)
    elements = {element for sort in attack.protocol.sorts for element in judge.instance.of(sort)}
    wrong = []
    for role in {shown.action.by for shown in chart.steps}:
        players = {shown.actor for shown in chart.steps if shown.action.by == role} - {role.name}
        if role.honest and role.name in chart.parties and role.name not in elements and len(players) == 1:
            wrong.append(role.name)
    for shown in chart.steps:
        first = shown.sentence.split()[0]
        if shown.number is not None and shown.arrow is None and first in chart.parties and first != shown.actor:
            wrong.append(first)
    return wrong


@pytest.mark.parametrize("id", [id for id in known_protocols() if (RECORDS / f"{id}.json").exists()])
def test_recorded_attacks_have_a_column_for_each_agent(id: str) -> None:
    attacks = recorded(id, MANY)
    assert attacks
    assert [each for attack in attacks for each in in_two_columns(id, attack)] == []


@pytest.mark.slow
def test_every_recorded_attack_on_gpu_travelling_has_a_column_for_each_agent() -> None:
    attacks = recorded("gpu-travelling", 1 << 10)
    assert len(attacks) > 60
    assert [each for attack in attacks for each in in_two_columns("gpu-travelling", attack)] == []
