"""``carnet conform``: verdicts, exit codes, and one clear error for what is not a trace."""

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from carnet_check.loading.families import Source
from carnet_spec.trace import Header
from tests.fixtures.rounds import header, honest, write
from tests.unit.model_check.command import TOY, carnet

FIRST = header(variant="engine-per-holder", threat="hypervisor", rounds=1)
STEPS = honest(1, routed=False)


def test_a_run_of_the_spec_conforms(tmp_path: Path) -> None:
    ran = carnet("conform", str(write(tmp_path / "trace", FIRST, STEPS)), "--json")
    assert ran.code == 0
    assert (ran.json["conforms"], ran.json["events"], ran.json["first_divergence"]) == (True, len(STEPS), None)


def test_the_first_divergence_is_named_with_line_guard_and_rerun(tmp_path: Path) -> None:
    ran = carnet("conform", str(write(tmp_path / "trace", FIRST, [*STEPS[:5], *STEPS[6:]])), "--json")
    assert ran.code == 1
    found = ran.json["first_divergence"]
    assert (ran.json["conforms"], ran.json["events"], found["index"]) == (False, 6, 5)
    assert found["event"] == STEPS[6].to_json()
    assert "'acknowledged'" in found["why"] or "'phase'" in found["why"] or "'next IV'" in found["why"]
    trace = write(tmp_path / "trace", FIRST, STEPS[1:])
    ran = carnet("conform", str(trace))
    assert ran.code == 1
    assert "DIVERGES at event 0 (line 2)" in ran.out
    assert ran.out.rstrip().endswith(f"carnet conform {trace}")


@pytest.mark.parametrize("step", ["fly", "send_fence"])
def test_steps_that_the_spec_does_not_have_diverge(tmp_path: Path, step: str) -> None:
    trace = write(tmp_path / "trace", FIRST, ())
    by = "gpu" if step == "send_fence" else "orchestrator"
    trace.write_text(trace.read_text() + json.dumps({"clock": 0, "action": step, "by": by, "args": {}}) + "\n")
    ran = carnet("conform", str(trace), "--json")
    assert ran.code == 1
    assert step in ran.json["first_divergence"]["why"]


GOOD = FIRST.to_json()
EVENT = {"clock": 3, "action": "fenced", "by": "orchestrator", "args": {}}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "the trace is empty"),
        ([EVENT], "line 1: the first line is the header"),
        ([GOOD | {"carnet_trace": 4}], "line 1: version 4 of traces is not known"),
        ([GOOD | {"protocol": "gpu-traveling"}], "did you mean 'gpu-travelling'"),
        ([GOOD | {"variant": "engines"}], "no variant 'engines'"),
        ([GOOD | {"without": ["fences"]}], "no defence 'fences'"),
        ([GOOD | {"without": "fence"}], "expected 'without' to be a list, not a text"),
        ([GOOD | {"threat": "nobody"}], "no threat model 'nobody'"),
        ([GOOD | {"sizes": {"horses": 3}}], "no size 'horses'"),
        ([GOOD | {"sizes": {"holders": -1}}], "expected the size 'holders' to be a whole number, not -1"),
        ([GOOD, 7], "line 2: expected an event to be an object, not 7"),
        ([GOOD, {}], "line 2: expected 'clock' to be a whole number; it is missing"),
        ([GOOD, EVENT | {"clock": None}], "line 2: expected 'clock' to be a whole number, not null"),
        ([GOOD, EVENT | {"clock": "now"}], "line 2: expected 'clock' to be a whole number, not a text"),
        ([GOOD, {"clock": 3}], "line 2: expected 'action' to be a text; it is missing"),
        ([GOOD, EVENT | {"args": {"v": 1}}], "line 2: expected 'v' to be a text, not 1"),
        ([GOOD, EVENT, EVENT | {"clock": 2}], "line 3: the clock goes back from 3 to 2"),
    ],
)
def test_what_is_no_trace_ends_with_one_line(tmp_path: Path, lines: list[Any], said: str) -> None:
    trace = tmp_path / "trace"
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = carnet("conform", str(trace))
    assert ran.code == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(("content", "said"), [(b"\xff\xfe", "UTF-8"), (b"{}{", "line 1 is not JSON")])
def test_what_is_not_json_ends_with_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    trace = tmp_path / "trace"
    trace.write_bytes(content)
    ran = carnet("conform", str(trace), "--json")
    assert ran.code == 2
    assert said in ran.json["error"]["message"]


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (1, '"without": []', '"without": ["fence"], "without": []'),
        (1, '"holders": ', '"holders": 9, "holders": '),
        (2, '"args": {}', '"args": {"v": "1", "v": "2"}'),
        (2, '"action": ', '"action": "fly", "action": '),
    ],
)
def test_a_line_that_says_something_twice_ends_with_one_line(tmp_path: Path, line: int, old: str, new: str) -> None:
    """Another reader might take the first value, where this one would take the last."""
    lines = [json.dumps(GOOD | {"sizes": {"holders": 2}}), json.dumps(EVENT)]
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new)
    trace = tmp_path / "trace"
    trace.write_text("\n".join(lines))
    ran = carnet("conform", str(trace), "--json")
    assert ran.code == 2
    assert f"line {line} names" in ran.json["error"]["message"]


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000])
@pytest.mark.parametrize("place", ["clock", "sizes"])
def test_a_number_of_too_many_digits_ends_with_one_line(tmp_path: Path, place: str, number: str) -> None:
    header = json.dumps(GOOD | {"sizes": {"holders": 7_777}}).replace("7777", number if place == "sizes" else "1")
    event = json.dumps(EVENT | {"clock": 7_777}).replace("7777", number if place == "clock" else "1")
    trace = tmp_path / "trace"
    trace.write_text(f"{header}\n{event}\n")
    ran = carnet("conform", str(trace), "--json")
    assert ran.code == 2
    assert f"line {1 if place == 'sizes' else 2} is not JSON" in ran.json["error"]["message"]


@pytest.mark.parametrize("half", [r"\ud800", r"\uDFFF"])
@pytest.mark.parametrize("place", ["action", "by", "name", "element", "protocol"])
def test_half_a_character_ends_with_one_line(tmp_path: Path, place: str, half: str) -> None:
    header = json.dumps(GOOD | ({"protocol": "HALF"} if place == "protocol" else {}))
    args = {"HALF": "x"} if place == "name" else {"v": "HALF"} if place == "element" else {}
    event = json.dumps(EVENT | {"args": args} | ({place: "HALF"} if place in EVENT else {}))
    trace = tmp_path / "trace"
    trace.write_text(f"{header}\n{event}\n".replace("HALF", half))
    ran = carnet("conform", str(trace), "--json")
    assert ran.code == 2
    assert f"line {1 if place == 'protocol' else 2} contains half of a surrogate pair" in ran.json["error"]["message"]


ODD = {
    "an escape sequence": "\x1b[2Jclean\x1b]0;title\x07",
    "a return": "all is well\r",
    "another direction": "a\u202eb",
    "an escape of one character": "\x9b2J",
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", ["action", "by", "name", "element"])
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_what_no_terminal_shows_is_shown_escaped(tmp_path: Path, odd: str, place: str, form: tuple[str, ...]) -> None:
    text = ODD[odd]
    event = {
        "clock": 0,
        "action": text if place == "action" else "fenced",
        "by": text if place == "by" else "orchestrator",
        "args": {text: "x"} if place == "name" else {"v": text} if place == "element" else {},
    }
    trace = tmp_path / "trace"
    trace.write_text(json.dumps(GOOD) + "\n" + json.dumps(event) + "\n")
    ran = carnet("conform", str(trace), *form)
    assert ran.code == 1
    shown = ran.out + ran.err
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", ["protocol", "variant", "without", "threat", "sizes", "carnet_trace"])
def test_odd_characters_in_a_header_are_shown_escaped(tmp_path: Path, odd: str, place: str) -> None:
    text = ODD[odd]
    values = {"without": [text], "sizes": {text: 1}}
    trace = tmp_path / "trace"
    trace.write_text(json.dumps(GOOD | {place: values.get(place, text)}) + "\n")
    for form in ((), ("--json",)):
        ran = carnet("conform", str(trace), *form)
        assert ran.code == 2
        assert all(character.isprintable() or character == "\n" for character in ran.out + ran.err)


def test_a_file_that_is_endless_or_not_there_ends_with_one_line(tmp_path: Path) -> None:
    ran = carnet("conform", "/dev/zero", "--json")
    assert ran.code == 2
    assert "line 1 has more than 1,048,575 characters" in ran.json["error"]["message"]
    ran = carnet("conform", str(tmp_path / "nothing"))
    assert ran.code == 2
    assert "cannot read" in ran.err


def test_other_packages_find_the_checker_by_its_entry_point(tmp_path: Path) -> None:
    (found,) = entry_points(group="carnet.conform")
    verdict = found.load()(write(tmp_path / "trace", FIRST, STEPS))
    assert verdict == {
        "conforms": True,
        "events": len(STEPS),
        "first_divergence": None,
        "checked": False,
        "checks": {"required": 0, "seen": 0},
        "ignored": 0,
        "protocol": "gpu-travelling",
        "variant": "engine-per-holder",
        "without": [],
        "threat": "hypervisor",
        "sizes": {"holders": 2, "corrupt": 0, "chunks": 2, "rounds": 1},
    }


def test_what_was_judged_is_said(tmp_path: Path) -> None:
    """The same steps under a weaker design are a weaker statement."""
    weaker = GOOD | {"without": ["fence"], "variant": ""}
    trace = write(tmp_path / "trace", Header.from_json(weaker), STEPS)
    ran = carnet("conform", str(trace), "--json")
    assert ran.json["conforms"]
    assert (ran.json["without"], ran.json["threat"]) == (["fence"], "hypervisor")
    assert ran.json["variant"]
    assert ran.json["run"]["outcome"] == "the trace is a run of the spec without fence, under hypervisor"
    text = carnet("conform", str(trace)).out
    assert "without fence, under hypervisor\n" in text
    assert f"all {len(STEPS)} events are steps of the spec without fence" in text


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"rounds": 10**6}, "the size 'rounds' is above 100,000"),
        ({"sessions": 100_001}, "the size 'sessions' is above 100,000"),
        ({"holders": 10**7}, "the size 'holders' is above 1,000"),
        ({"slots": 10**4000}, "the size 'slots' is above 100,000"),
        ({"chunks": 10**4000}, "the size 'chunks' is above 1,000"),
        ({"horses": 1_001}, "the size 'horses' is above 1,000"),
        (
            {"holders": 1_000, "chunks": 1_000, "rounds": 1},
            "the sizes other than rounds, sessions and slots make more than 1,000,000",
        ),
        (
            {"holders": 101, "fakes": 0, "chunks": 100},
            "rounds, sessions and slots make more than 1,000,000 when multiplied, the largest twice",
        ),
    ],
)
def test_an_instance_too_large_to_build_is_refused_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: dict[str, int], said: str
) -> None:
    monkeypatch.setattr(Source, "instance", lambda *_: pytest.fail("it was built"))
    ran = carnet("conform", str(_written(tmp_path / "trace", GOOD | {"sizes": sizes})), "--json")
    assert ran.code == 2
    message = ran.json["error"]["message"]
    assert message.startswith("line 1: the size")
    assert said in message


@pytest.mark.parametrize(
    "sizes", [{"rounds": 100_000, "sessions": 100_000}, {"holders": 1_000, "corrupt": 0, "chunks": 1}]
)
def test_instances_at_the_bounds_are_built_within_a_trace_s_work(tmp_path: Path, sizes: dict[str, int]) -> None:
    trace = write(tmp_path / "trace", Header.from_json(GOOD | {"sizes": dict(FIRST.sizes) | sizes}), STEPS)
    assert carnet("conform", str(trace), "--json").code in (0, 1)


NOISY = """
from pathlib import Path

Path({marker!r}).touch()
"""


@pytest.mark.parametrize("reference", ["{trace}", "{file}", "{file}:FAMILY", "noisy:FAMILY", "os:system", "toy.py"])
def test_a_trace_never_says_which_code_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str) -> None:
    """A header is input to be judged; it named files and modules, which were imported."""
    monkeypatch.chdir(tmp_path)
    marker, file, trace = tmp_path / "ran", tmp_path / "noisy.py", tmp_path / "trace.py"
    file.write_text(NOISY.format(marker=str(marker)))
    asked = GOOD | {"protocol": reference.format(trace=trace, file=file)}
    trace.write_text(json.dumps(asked) + NOISY.format(marker=str(marker)))
    ran = carnet("conform", str(trace), "--json")
    assert ran.code == 2
    assert "--protocol" in ran.json["error"]["message"]
    assert not marker.exists()


def _toy_trace(folder: Path, protocol: str = "toy") -> str:
    toy = Header(protocol, "", (), "none", (("borrowers", 2),))
    return str(_written(folder / "trace", toy.to_json()))


def _written(path: Path, *lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_command_line_may_name_any_protocol_and_the_header_has_to_agree(tmp_path: Path) -> None:
    ran = carnet("conform", _toy_trace(tmp_path), "--protocol", TOY, "--json")
    assert (ran.code, ran.json["conforms"]) == (0, True)
    assert f"--protocol {TOY}" in ran.json["run"]["rerun"]
    for named in ("gpu-travelling", TOY):
        ran = carnet("conform", _toy_trace(tmp_path, "toys"), "--protocol", named)
        assert ran.code == 2
        assert "the trace is of 'toys'" in ran.err
    assert carnet("conform", str(_written(tmp_path / "t", GOOD)), "--protocol", "gpu-travelling").code == 0


COUNTED = """
from carnet_spec.language import Draft, Individual, Kind, Role, Step, forall, relation


class Gpu(Individual):
    pass


draft = Draft("counted", "As many as the axioms allow")
draft.threat("few", "there are two at most", two=forall(lambda a, b, c: (a == b) | (b == c) | (a == c), Gpu, Gpu, Gpu))
lent = relation("lent", Gpu, kind=Kind.MESSAGE)


@draft.action(by=Role("owner"), says="{gpu} is lent.", message="owner -> all: {gpu}", source="tests")
def lend(step: Step, gpu: Gpu) -> None:
    step.insert(lent(gpu))
"""


def test_a_trace_names_no_more_elements_than_the_axioms_allow(tmp_path: Path) -> None:
    file = tmp_path / "counted.py"
    file.write_text(COUNTED)
    first = Header("counted", "", (), "few", (("Gpu", 2),)).to_json()
    steps = [{"clock": 0, "action": "lend", "by": "owner", "args": {"gpu": f"gpu{n}"}} for n in (1, 2, 3)]
    allowed, beyond = (
        carnet("conform", str(_written(tmp_path / "trace", first, *some)), "--protocol", str(file), "--json")
        for some in (steps[:2], steps)
    )
    assert (allowed.code, beyond.code) == (0, 1)
    assert beyond.json["first_divergence"]["why"] == "lend: 'gpu3' is not a Gpu of this trace"
