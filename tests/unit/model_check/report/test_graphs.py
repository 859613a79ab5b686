"""State graphs: each state has a name that no other has, and a drawing is made where one can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from carnet_check.report.html.graphs import ACROSS, HEIGHT, WIDTH, layout_graph, state_names
from carnet_check.report.recording import DRAWN
from tests.unit.model_check.command import TOY, carnet

FACTS = ["sent(a)", "sent(b)", "knows(a, k)", "phase = HOME", "phase = AWAY", "used_key(k)"]


def holds(part: str, facts: frozenset[str]) -> bool:
    return part in facts if not part.startswith("no ") else part.removeprefix("no ") not in facts


@given(st.sets(st.frozensets(st.sampled_from(FACTS)), max_size=20))
@example({frozenset(), frozenset({"phase = HOME"})})
def test_a_name_is_true_of_its_state_alone_and_nothing_of_it_can_be_left_out(states: set[frozenset[str]]) -> None:
    listed = sorted(states, key=sorted)
    for facts, name in zip(listed, state_names([sorted(each) for each in listed]), strict=True):
        fitting = [each for each in listed if all(holds(part, each) for part in name)]
        assert facts in fitting
        assert fitting == [facts] or all(" = " in part for each in fitting for part in each ^ facts)
        for part in name:
            rest = [other for other in name if other != part]
            assert [each for each in listed if all(holds(other, each) for other in rest)] != fitting


def test_what_holds_is_preferred_to_what_does_not_and_to_what_was_drawn() -> None:
    states = [["phase = HOME"], ["phase = AWAY", "sent(a)", "used_key(k)"]]
    assert state_names(states) == [("phase = HOME",), ("phase = AWAY",)]
    assert state_names([["used_key(k)", "sent(a)"], ["sent(b)"]]) == [("sent(a)",), ("sent(b)",)]


def test_states_with_equal_facts_are_not_told_apart_by_what_is_untrue() -> None:
    assert state_names([["a"], ["a"], []]) == [("a",), ("a",), ("no a",)]


def test_boxes_do_not_overlap_and_lines_end_at_their_rims() -> None:
    nodes = [{"depth": depth, "label": "", "facts": [f"f{depth}{n}"]} for depth in range(4) for n in range(depth + 1)]
    edges = [{"from": 0, "to": 2, "steps": ["s()"]}, {"from": 9, "to": 0, "steps": ["t()"]}]
    graph = layout_graph({"name": "g", "nodes": nodes, "edges": edges})
    places = [(node["x"], node["y"]) for node in graph["nodes"]]
    for number, (x, y) in enumerate(places):
        assert 0 <= x <= graph["width"] - WIDTH
        assert 0 <= y <= graph["height"] - HEIGHT
        assert all(abs(x - a) >= ACROSS or abs(y - b) > HEIGHT for a, b in places[:number])
    for edge in graph["edges"]:
        for state, x, y in ((edge["from"], edge["x1"], edge["y1"]), (edge["to"], edge["x2"], edge["y2"])):
            left, top = places[state]
            beside = abs(x - left) < 1 or abs(x - left - WIDTH) < 1
            assert beside or abs(y - top) < 1 or abs(y - top - HEIGHT) < 1


def test_explore_draws_the_states_that_it_visited(tmp_path: Path) -> None:
    ran = carnet("explore", TOY, "--graph", str(tmp_path / "graph"), "--json")
    assert ran.code == 0
    assert ran.json["graph"]["written"] == str(tmp_path / "graph")
    page = (tmp_path / "graph" / "index.html").read_text("utf-8")
    assert page.count('class="state"') == ran.json["states"]


def test_an_instance_with_more_states_than_can_be_read_is_not_drawn(tmp_path: Path) -> None:
    ran = carnet("explore", "pipellm", "--graph", str(tmp_path / "graph"), "--max-states", "1000", "--json")
    assert ran.json["graph"]["written"] is None
    assert f"not drawn: more than {DRAWN} states" in ran.json["graph"]["detail"]
    assert not (tmp_path / "graph" / "index.html").exists()
    assert ran.json["run"]["artefacts"] in ("", None, "none")


@pytest.mark.parametrize("option", [("--simulate", "3")], ids=" ".join)
def test_random_walks_are_not_drawn(option: tuple[str, ...], tmp_path: Path) -> None:
    ran = carnet("explore", TOY, *option, "--graph", str(tmp_path / "graph"))
    assert (ran.code, "--graph draws every state" in ran.err, (tmp_path / "graph").exists()) == (2, True, False)
