"""Files of protocols: names misspelt are refused at their line, and neighbours are the file's own."""

import builtins
import itertools
import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from carnet_check.errors import InvalidSpecificationError, UsageError
from carnet_check.loading.families import load, parts_of, place_of
from carnet_spec.language.lints import Complaint
from tests.unit.model_check.command import FASTEST, FIXTURES, carnet

LETTERS = '''
from carnet_spec.language import *

class Number(Individual):
    """A number; numbers stand in line."""
class Text(Individual):
    """What a letter says."""
class Phase(Individual):
    """Whether letters are still written."""
    OPEN = member()
    CLOSED = member()

SENDER, RECEIVER, POST = Role("sender"), Role("receiver"), Role("post", honest=False)
before = rigid_relation("before", Number, Number)
zero = constant("zero", Number)
latest = variable("latest", Number, of=SENDER)
draws = constant("draws", Text)
shelf = function("shelf", to=Text, kind=Kind.TRUTH)()
phase = variable("phase", Phase, of=SENDER)
sent = relation("sent", Number, Text, kind=Kind.MESSAGE)
seen = variable("seen", Number, of=RECEIVER)
taken = relation("taken", Number, Text, kind=Kind.STATE, of=RECEIVER)
again = relation("again", Number, kind=Kind.GHOST)

def draft(variant="main"):
    letters = Draft("letters", "Numbered letters", variant)
    letters.assumption("numbers-stand", "Numbers stand in line.")
    def smaller(a, b, c): return implies(before(a, b) & before(b, c), before(a, c))
    letters.axiom("transitive", forall(smaller, Number, Number, Number), assumption="numbers-stand")
    letters.threat("post", "the post keeps letters")
    letters.threat("crowd", "anybody keeps letters")
    letters.defence("in-order", "Numbers have to grow.", base="main")
    letters.defence("shut-down", "Nothing is sent in the end.")
    letters.initially(latest, zero)
    letters.initially(seen, zero)
    letters.initially(phase, Phase.OPEN)

    @letters.action(by=SENDER, says="It writes {text} as {number}.", message="sender -> receiver: {number}, {text}",
        source="x", enforces="REQ-WRITE-1")
    def write(step, number: Number, text: Text):
        step.require("larger", before(latest, number))
        step.require("open", phase == Phase.OPEN, defence="shut-down")
        step.set(latest, number)
        step.insert(sent(number, text))

    @letters.action(by=RECEIVER, says="It takes {number}: {text}.", source="x")
    def take(step, number: Number, text: Text):
        step.given("delivered", sent(number, text))
        step.require("larger than the last", before(seen, number), defence="in-order")
        step.set(seen, number)
        step.insert(again(number), when=taken(number, text))
        step.insert(taken(number, text))
        step.remove(again(step.each(Number)), when=false, unless="in-order", name="forget")

    @letters.action(by=RECEIVER, says="It takes anything: {text}.", source="x", shortcut_of="shut-down")
    def take_anything(step, text: Text):
        step.require("open", draws == text)

    @letters.superpose("write", says="It wrote {text}.")
    def at_once(step, text: Text):
        step.given("chosen", (draws == text) | (draws != text))

    @letters.claim(name="once", sentence="No letter is taken twice.", requirement="CLAIM-ONCE", source="x",
        under=("post",))
    def once(number: Number): return ~again(number)
    letters.expect("once", under=("post",), fails_under=())
    @letters.claim(name="one", sentence="x", requirement="REQ-WRITE-1", source="x", under=("post",))
    def one(number: Number): return (number == number)
    letters.declare_claim("secret", sentence="x", requirement="CLAIM-SECRET", source="x", under=("crowd",))

    @letters.lemma_under("post", "crowd")
    def taken_is_not_larger(number: Number, text: Text): return implies(taken(number, text), ~before(seen, number))
    @letters.lemma
    def is_wrong(number: Number): return again(number)
    letters.withdraw("is_wrong")

    @letters.goal(sentence="A letter is taken.")
    def arrives(number: Number, text: Text): return taken(number, text)
    letters.eventually("comes", taken(zero, shelf), true, sentence="x", fair=("write",))
    letters.eventually("ends", again(zero), true, sentence="x", fair=("take",), given={"take": {"number": zero}})
    return letters

def instance(protocol, threat, scale):
    numbers = tuple(str(n) for n in range(scale["numbers"] + 1))
    return Instance(elements={"Number": numbers, "Text": ("come", "go")}, relations={"before": InLine(numbers)},
        functions={"zero": {(): "0"}, "draws": {(): "come"}}, first={"shelf": {(): "come"}},
        pools={("write", "text"): ("come",)})

FAMILY = Family(
    id="letters", title="Numbered letters", draft=draft, instance=instance, main=("main",),
    variants={
        "main": Variant("main", "in order"),
        "forgetful": Variant("forgetful", "whatever comes", without=("in-order",)),
        "layered": Variant("layered", "a layer", over="forgetful"),
    },
    profiles={"tiny": Profile("tiny", {"numbers": 1}), "large": Profile("large", {"numbers": 2})},
    findings=(Finding("twice", "A letter is delivered again", "crowd", "once", "forgetful"),
              Finding("thrice", "A letter is delivered again", "post", "secret", without=("shut-down",))),
    services=(Service("firmware", "A service", "yes", "here", frozenset({"layered"})),),
    default_threat="crowd", rounds="numbers", round_goal="arrives",
)
'''
TEXT = """# Letters

**REQ-WRITE-1** A sender MUST number letters. (Source: x)

**CLAIM-ONCE** No letter is taken twice. (Source: x)

**CLAIM-SECRET** Nobody reads a letter. (Source: x)
"""
BELL = (FIXTURES / "bell.py").read_text("utf-8")
#: Where a name is written, what is written in its place, and what was meant.
MISSPELT: dict[str, tuple[str, str, str]] = {
    "defence of a guard": ('number), defence="in-order"', "in-oder", "in-order"),
    "defence of another guard": ('Phase.OPEN, defence="shut-down"', "shutdown", "shut-down"),
    "what is there unless a defence is": ('unless="in-order"', "in-ordr", "in-order"),
    "defence that a step goes round": ('shortcut_of="shut-down"', "shut-don", "shut-down"),
    "variant that a defence is removed from": ('base="main"', "mian", "main"),
    "parameter in says": ("writes {text}", "{txet}", "text"),
    "parameter in message": ("receiver: {number}", "{numbr}", "number"),
    "parameter in what a layer says": ("It wrote {text}", "{test}", "text"),
    "parameter in what a shortcut says": ("takes anything: {text}", "{texts}", "text"),
    "requirement of an action": ('enforces="REQ-WRITE-1"', "REQ-WRIET-1", "REQ-WRITE-1"),
    "requirement of a claim": ('requirement="CLAIM-ONCE"', "CLAIM-ONE", "CLAIM-ONCE"),
    "requirement of a claim that is declared": ('requirement="CLAIM-SECRET"', "CLAIM-SCERET", "CLAIM-SECRET"),
    "assumption of an axiom": ('assumption="numbers-stand"', "number-stands", "numbers-stand"),
    "threat model of a claim": ('source="x", under=("post",))', "pots", "post"),
    "threat model of a claim that is expected": ('under=("post",), fails', "posst", "post"),
    "threat model that a claim falls under": ("fails_under=()", "fails_under=('crowds',)", "crowd"),
    "threat model of a claim that is declared": ('under=("crowd",)', "crwod", "crowd"),
    "threat model of a lemma": ('lemma_under("post"', "Post", "post"),
    "claim that is expected": ('letters.expect("once"', "onec", "once"),
    "lemma that is taken back": ('withdraw("is_wrong"', "iswrong", "is_wrong"),
    "action of a layer": ('superpose("write"', "wriet", "write"),
    "action that is fair": ('fair=("write",', "wriet", "write"),
    "action that something is given of": ('given={"take"', "takes", "take"),
    "parameter that is given": ('{"take": {"number"', "nubmer", "number"),
    "sort of the instance": ('{"Number": numbers', "Numbers", "Number"),
    "relation of the instance": ('relations={"before"', "befor", "before"),
    "function of the instance": ('functions={"zero"', "zeros", "zero"),
    "element of the instance": ('"draws": {(): "come"', "comes", "come"),
    "first value of the instance": ('first={"shelf"', "shlef", "shelf"),
    "action of a pool": ('pools={("write"', "writes", "write"),
    "parameter of a pool": ('("write", "text")', "texts", "text"),
    "size of the instance": ('scale["numbers"]', "nubmers", "numbers"),
    "main variant": ('main=("main",)', "mian", "main"),
    "variant of two names": ('Variant("forgetful"', "forgetfull", "forgetful"),
    "profile of two names": ('Profile("large"', "lagre", "large"),
    "variant below a layer": ('over="forgetful"', "forgetfull", "forgetful"),
    "defence that a variant lacks": ('without=("in-order",)', "inorder", "in-order"),
    "threat model of a finding": ('again", "crowd"', "crowed", "crowd"),
    "claim of a finding": ('"once", "forgetful"', "oncee", "once"),
    "variant of a finding": ('"once", "forgetful"', "forgetfull", "forgetful"),
    "defence of a finding": ('without=("shut-down",)', "shut-dwon", "shut-down"),
    "variant of a service": ('frozenset({"layered"', "layerd", "layered"),
    "threat model by default": ('default_threat="crowd"', "crwd", "crowd"),
    "size of rounds": ('rounds="numbers"', "numbres", "numbers"),
    "goal of a round": ('round_goal="arrives"', "arives", "arrives"),
    "relation in a formula": ("~again(number)", "agian", "again"),
    "member of a sort": ("Phase.OPEN, defence", "OPNE", "OPEN"),
    "sort of a parameter": ("def once(number: Number)", "Nubmer", "Number"),
    "argument of the language": ('source="x", shortcut_of=', "shortcut_off", "shortcut_of"),
}


def spoilt(where: str) -> tuple[str, int]:
    """Return the family with one name misspelt, and the line on which it is."""
    place, wrong, right = MISSPELT[where]
    assert LETTERS.count(place) == 1, LETTERS.count(place)
    written = f"{{{right}}}" if wrong.startswith("{") else right
    begins = LETTERS.index(place) + (place.rindex(written) if written in place else 0)
    ends = begins + len(written if written in place else place)
    return LETTERS[:begins] + wrong + LETTERS[ends:], LETTERS[:begins].count("\n") + 1


def verified(folder: Path, text: str, name: str = "FAMILY") -> str:
    """Verify a family that must be refused, and return what is said."""
    if name == "FAMILY":
        (folder / "requirements.md").write_text(TEXT, "utf-8")
    (folder / "letters.py").write_text(text, "utf-8")
    ran = carnet("verify", f"{folder / 'letters.py'}:{name}", "--engine", FASTEST, "--jobs", "1", "--json")
    assert ran.code == 2, ran.out[-2000:]
    error = json.loads(ran.out)["error"]["message"]
    assert isinstance(error, str)
    return error


@pytest.mark.mends("R420")
@pytest.mark.parametrize("where", MISSPELT)
def test_a_misspelt_name_is_refused_with_its_line_and_the_nearest(where: str, tmp_path: Path) -> None:
    text, line = spoilt(where)
    said = verified(tmp_path, text)
    assert f"letters.py:{line}" in said
    assert f"did you mean '{MISSPELT[where][2]}'?" in said


OF_TWO_RUNS: dict[str, tuple[str, str, str]] = {
    "action in which a run chooses": ('own={"send"', "sned", "send"),
    "parameter that a run chooses": ('{"send": ("thing",)', "thign", "thing"),
    "action of both": ('together("ring")', "rnig", "ring"),
    "leak": ('accept_leak("marked", "the post puts', "makred", "marked"),
    "threat model of a claim about two runs": ('under=("street",)', "steret", "street"),
}


@pytest.mark.mends("R420")
@pytest.mark.parametrize("where", OF_TWO_RUNS)
def test_a_misspelt_name_in_two_runs_is_refused_with_its_line(where: str, tmp_path: Path) -> None:
    place, wrong, right = OF_TWO_RUNS[where]
    assert BELL.count(place) == 1
    text = BELL.replace(place, place.replace(right, wrong))
    said = verified(tmp_path, text, "claimed")
    assert f"letters.py:{BELL[: BELL.index(place)].count(chr(10)) + 1}" in said
    assert f"did you mean '{right}'?" in said


def test_two_runs_without_a_misspelling_are_judged() -> None:
    asked = ("verify", f"{FIXTURES / 'bell.py'}:claimed", "--engine", FASTEST, "--jobs", "1", "--json")
    verdicts = {(row["claim"], row["threat"]): row["verdict"] for row in carnet(*asked).json["results"]}
    assert verdicts == {
        ("box", "post"): "EXHAUSTED",
        ("quiet", "street"): "EXHAUSTED",
        ("bell", "post"): "VIOLATED",
        ("bell", "street"): "VIOLATED",
    }


def test_where_no_threat_model_is_declared_any_is_meant(tmp_path: Path) -> None:
    file = tmp_path / "all.py"
    findings = 'findings=(Finding("f", "It is known", "whoever", "known", "main"),)'
    file.write_text(
        "from carnet_spec.language import *\n"
        "class Thing(Individual): pass\n"
        'told = relation("told", Thing, kind=Kind.MESSAGE)\n'
        "def draft(variant):\n"
        '    all = Draft("all", "All", variant)\n'
        '    @all.action(by=Role("teller"), says="{thing} is told.", source="x", message="a -> b: {thing}")\n'
        "    def tell(step, thing: Thing): step.insert(told(thing))\n"
        '    @all.claim(name="known", sentence="x", requirement="R", source="x", under=("whoever",))\n'
        "    def known(thing: Thing): return ~told(thing)\n"
        "    return all\n"
        f'FAMILY = Family("all", "All", draft, {findings})\n',
        "utf-8",
    )
    ran = carnet("verify", str(file), "--engine", FASTEST, "--jobs", "1", "--json")
    assert [row["verdict"] for row in ran.json["results"]] == ["VIOLATED"]


def test_without_a_misspelling_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "requirements.md").write_text(TEXT, "utf-8")
    (tmp_path / "letters.py").write_text(LETTERS, "utf-8")
    ran = carnet("verify", str(tmp_path / "letters.py"), "--engine", FASTEST, "--jobs", "1", "--json")
    assert ran.code in (0, 3), ran.out[-2000:]
    assert [note for note in ran.json["notes"] if "lint" in note] == []


DRAFT = """
from carnet_spec.language import *
class Thing(Individual, fresh=True): pass
P = Role("p")
weak = rigid_relation(
    "weak", Thing, kind=Kind.TRUTH)
seen = relation("seen", Thing, kind=Kind.STATE, of=P)
last = variable("last", Thing, of=P)
first = constant("first", Thing)
draft = Draft("placed", "Placed")
draft.threat("model", "x", strange=forall(lambda t: ~weak(t), Thing))
draft.axiom("odd one", ~weak(first))
draft.initially(last, first)
@draft.action(by=P, says="x", source="y")
def act(step, t: Thing): step.insert(seen(t))
@draft.rule(by=P, says="x", source="y")
def deduce(step, t: Thing): step.given("s", seen(t)); step.insert(seen(t))
@draft.claim(name="claimed", sentence="x", requirement="R", source="y", under=("model",))
def claimed(t: Thing): return seen(t)
@draft.lemma
def helps(t: Thing): return seen(t)
@draft.goal(sentence="x")
def is_reached(t: Thing): return seen(t)
draft.eventually("comes", seen(first), seen(first), sentence="x")
"""
WHERE = {
    "action act": "@draft.action",
    "action act, guard 's'": "@draft.action",
    "rule deduce, update 'insert seen'": "@draft.rule",
    "claim claimed": "@draft.claim",
    "claim or lemma claimed": "@draft.claim",
    "claim or lemma helps": "@draft.lemma",
    "goal is-reached": "@draft.goal",
    "liveness comes": "draft.eventually",
    "axiom odd one": "draft.axiom",
    "axiom model: strange": "draft.threat",
    "threat model 'model'": "draft.threat",
    "initial value of last": "draft.initially",
    "symbol weak": "weak = rigid_relation",
    "sort Thing": "class Thing",
    "placed": "draft = Draft",
    "symbol unheard_of": "draft = Draft",
}


def test_a_draft_alone_may_name_its_variant(starter: Path) -> None:
    starter.write_text(starter.read_text().replace('one guest")', 'one guest", "sealed")'))
    source = load(str(starter))
    assert (list(source.family.variants), source.protocol().variant) == (["sealed"], "sealed")


@pytest.mark.parametrize("where", WHERE)
def test_a_complaint_is_about_the_line_that_says_it(tmp_path: Path, where: str) -> None:
    file = tmp_path / "placed.py"
    file.write_text(DRAFT)
    place = place_of(Complaint("rule", where, "is wrong"), load(str(file)).family.draft_of("main"))
    assert place
    assert DRAFT.splitlines()[place.line - 1].startswith(WHERE[where])


def test_a_complaint_about_two_things_of_a_name_is_about_the_last(tmp_path: Path) -> None:
    file = tmp_path / "twice.py"
    file.write_text(DRAFT + 'draft.threat("model", "again")\n')
    draft = load(str(file)).family.draft_of("main")
    place = place_of(Complaint("names", "placed", "two threat models are called 'model': rename one"), draft)
    assert place
    assert place.line == len(DRAFT.splitlines()) + 1


REPAIRED = 'step.fresh(ticket, defence="fresh-ticket")'


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Two folders with equal names in them, of which one has a defect."""
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    text = (tmp_path / "tickets" / "protocol.py").read_text("utf-8")
    made = {}
    for name, said in (("good", text), ("bad", text.replace(REPAIRED, "pass"))):
        folder = made[name] = tmp_path / name
        folder.mkdir()
        (folder / "helper.py").write_text(said, "utf-8")
        (folder / "protocol.py").write_text("from helper import draft\n\n__all__ = ['draft']\n", "utf-8")
    return made


def digest(folder: Path, called: str = "protocol.py:draft") -> str:
    load.cache_clear()
    return load(str(folder / called)).protocol("main").digest


def test_modules_of_one_name_in_two_folders_are_two(folders: dict[str, Path]) -> None:
    good, bad = (digest(folders[name]) for name in ("good", "bad"))
    assert good != bad
    assert (digest(folders["bad"]), digest(folders["good"])) == (bad, good)


def test_a_written_test_is_about_its_own_folder(folders: dict[str, Path]) -> None:
    for folder in folders.values():
        asked = (str(folder / "protocol.py:draft"), "--without", "fresh-ticket", "--claim", "own-ticket")
        reference, without = (asked[0], asked[1:]) if folder.name == "good" else (asked[0], ("--variant", "main"))
        assert carnet("attack", reference, *without, "--as-test", str(folder / f"test_{folder.name}.py")).code == 1
    (folders["good"] / "test_good.py").write_text(
        (folders["good"] / "test_good.py").read_text("utf-8").replace('["fresh-ticket"]', "[]"), "utf-8"
    )
    for order in (("good", "bad"), ("bad", "good")):
        for mode in ("prepend", "importlib"):
            files = [str(folders[name] / f"test_{name}.py") for name in order]
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--import-mode={mode}", *files]
            ran = subprocess.run(
                [*command, "-p", "carnet_check.pytest_plugin"],
                cwd=folders["good"].parent,
                env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert "1 failed, 1 passed" in ran.stdout, (order, mode, ran.stdout)
            assert "test_bad.py::" in ran.stdout


def test_chance_in_a_package_beside_it_is_noticed(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    text = (folders["good"] / "helper.py").read_text("utf-8")
    changing = text.replace(
        "corrupt(guest) & corrupt(friend)", "(corrupt(guest) & corrupt(friend) if FIRST else corrupt(friend))"
    )
    future = "from __future__ import annotations\n"
    counted = "import builtins\nFIRST = next(builtins.DRAWN)\n"
    monkeypatch.setattr(builtins, "DRAWN", iter([True, False]), raising=False)
    assert future in changing != text
    (folders["good"] / "lib").mkdir()
    (folders["good"] / "lib" / "design.py").write_text(changing.replace(future, future + counted, 1), "utf-8")
    (folders["good"] / "protocol.py").write_text("from lib.design import draft\n\n__all__ = ['draft']\n", "utf-8")
    with pytest.raises(InvalidSpecificationError, match="says something else each time that it is loaded"):
        digest(folders["good"])


def test_instances_that_change_are_noticed(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "DRAWN", itertools.count(1), raising=False)
    family = (
        "import builtins\n\n"
        "from carnet_check.loading.default_instance import default_instance\n"
        "from carnet_check.loading.families import load\n"
        "from helper import draft\n\n"
        "from dataclasses import replace\n\n"
        f"_FAMILY = load({str(folders['good'] / 'helper.py')!r} + ':draft').family\n\n\n"
        "def instance(protocol, threat, scale):\n"
        "    made = default_instance(protocol, threat, scale)\n"
        "    return replace(made, describes=str(next(builtins.DRAWN)))\n\n\n"
        "FAMILY = replace(_FAMILY, instance=instance)\n"
    )
    (folders["good"] / "family.py").write_text(family, "utf-8")
    with pytest.raises(InvalidSpecificationError, match="an instance says something else each time"):
        digest(folders["good"], "family.py:FAMILY")


@pytest.mark.parametrize(
    ("reference", "parts"),
    {
        "a/b.py": ("a/b.py", ""),
        "a/b.py:c": ("a/b.py", "c"),
        "a:b/c.py": ("a:b/c.py", ""),
        "a:b/c.py:d": ("a:b/c.py", "d"),
        "a.b:c": ("a.b", "c"),
        "a": ("a", ""),
    }.items(),
)
def test_a_reference_is_split_after_the_file(reference: str, parts: tuple[str, str]) -> None:
    assert parts_of(reference) == parts


def test_a_folder_with_a_colon_in_its_name_is_a_folder(folders: dict[str, Path]) -> None:
    folder = folders["good"].rename(folders["good"].parent / "a:b")
    assert carnet("verify", str(folder / "helper.py"), "--jobs", "1").code == 0
    assert carnet("attack", str(folder / "helper.py"), "--without", "fresh-ticket", "--jobs", "1").code == 1


def test_folders_of_modules_that_are_loaded_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a file of its own, here ``tests``, is no other folder's module."""
    monkeypatch.chdir(Path(__file__).parents[4])
    load.cache_clear()
    before = {name: module for name, module in sys.modules.items() if name == "tests" or name.startswith("tests.")}
    assert before
    load("tests.fixtures.toy:FAMILY")
    assert [name for name, module in before.items() if sys.modules.get(name) is not module] == []


CHANCE = {
    "the system's chance": "import os; NAME = 'office' + os.urandom(4).hex()",
    "the time": "import time; NAME = f'office{time.time_ns()}'",
    "an identifier": "import uuid; NAME = f'office{uuid.uuid4().hex}'",
    "chance": "import random; NAME = f'office{random.random()}'",
    "a neighbour": "from neighbour import NAME",
}


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    file = tmp_path / "protocol.py"
    file.write_text(resources.files("carnet_check.starter").joinpath("protocol.py").read_text("utf-8"))
    return file


@pytest.mark.parametrize("chance", CHANCE)
def test_a_specification_that_depends_on_chance_is_refused(starter: Path, chance: str) -> None:
    (starter.parent / "neighbour.py").write_text(CHANCE["the system's chance"])
    starter.write_text(starter.read_text().replace('OFFICE = Role("office")', f"{CHANCE[chance]}\nOFFICE = Role(NAME)"))
    ran = carnet("verify", str(starter), "--json")
    assert (ran.code, ran.json["error"]["kind"]) == (2, "specification")
    said = "protocol.py: main says something else each time that it is loaded: let nothing in it depend on chance"
    assert ran.json["error"]["message"].startswith(said)


def test_what_the_file_and_its_neighbours_are_is_as_it_was_after_the_first_reading(starter: Path) -> None:
    (starter.parent / "beside_it.py").write_text("LOADED = object()\n")
    starter.write_text(starter.read_text() + "\nimport beside_it\nprint('read')\n")
    family = load(str(starter)).family
    module = sys.modules["carnet_protocol_protocol"]
    assert family.draft_of("main") is vars(module)["draft"]
    assert vars(module)["beside_it"] is sys.modules["beside_it"]
    del sys.modules["beside_it"]


def test_the_second_reading_says_nothing(starter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    starter.write_text(starter.read_text() + "\nprint('read')\n")
    load(str(starter))
    assert capsys.readouterr().err == "read\n"


def test_a_design_that_cannot_be_built_is_refused_where_it_is_asked_for(starter: Path) -> None:
    starter.write_text("def draft():\n    return undefined\n")
    with pytest.raises(InvalidSpecificationError, match="NameError"):
        load(str(starter))


@pytest.mark.parametrize(
    ("beside", "says"),
    [
        (b"x = (\n", r"expected Python, and 'beside_it\.py', line 1 is not"),
        (b'\nx = "\xff"\n', r"expected Python, and 'beside_it\.py', line 2 is not: .*utf-8"),
        (b"import json\njson.loads('{')\n", r"^beside_it\.py:2: JSONDecodeError"),
        (b"from pathlib import Path\nPath(__file__).read_text('ascii')  # \xc3\xa9\n", r"^beside_it\.py:2: Unicode"),
    ],
)
def test_an_error_names_the_file_and_the_line_that_the_author_can_mend(starter: Path, beside: bytes, says: str) -> None:
    starter.with_name("beside_it.py").write_bytes(beside)
    starter.write_text("import beside_it\n")
    with pytest.raises((UsageError, InvalidSpecificationError), match=says):
        load(str(starter))
