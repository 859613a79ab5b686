"""Campaigns: what they begin with, keep and argue, and the attacks on weakened designs."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from carnet_check.errors import EngineError, InvalidSpecificationError, UsageError
from carnet_check.loading.families import Source, load
from carnet_check.mutation import campaign
from carnet_check.mutation.campaign import (
    Argument,
    Record,
    Request,
    arguments_of,
    list_mutants,
    pairs_of,
    place_beside,
    possible_pairs,
    record_header,
    require_valid,
    run,
    weaknesses_as_json,
    weaknesses_from_json,
)
from carnet_check.mutation.judging import Judge, Judgement, KilledBy, MutantStatus, OriginalFacts
from carnet_check.mutation.operators import Mutant, mutants, refusal
from carnet_check.mutation.scenarios import Place, lost_scenarios, places, scenario
from carnet_check.mutation.weaknesses import (
    Designs,
    WeakenedDesign,
    Weakness,
    defeated_attacks,
    weakened_designs,
    weaknesses,
)
from carnet_check.semantics import Interpreter
from carnet_command.worker import Lost
from tests.fixtures import cellar, door, hall, house

HALL = load("tests/fixtures/hall.py")
NOTICED_BY_ATTACKS = ("look/update insert seen/drop", "find/update insert found/drop")


class Here:
    """Answers in this process, and loses the parts that it is told to."""

    def __init__(self, loses: Callable[[Any], bool]) -> None:
        self.loses = loses

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left running."""

    def results(
        self, function: Callable[[Any], Iterable[Any]], parts: Sequence[Any], last: object
    ) -> Iterator[tuple[Any, Any]]:
        for part in parts:
            if self.loses(part):
                yield part, Lost("the worker was killed")
            else:
                yield from ((part, answer) for answer in function(part))


def fates(request: Request, record: Record, monkeypatch: pytest.MonkeyPatch, loses: Callable[[Any], bool]) -> list[str]:
    monkeypatch.setattr(campaign, "WorkerPool", lambda *_, **__: Here(loses))
    outcome = run(request, list_mutants(request), record, 1, lambda _: None)
    return [f"{each.fate} {each.by}".strip() for each in outcome.judgements]


def no_part(_: object) -> bool:
    return False


@pytest.mark.parametrize("of_place", [True, False])
def test_what_nobody_could_look_at_leaves_a_mutant_unknown_until_somebody_can(
    of_place: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, file = Request(HALL, ("main",), only=NOTICED_BY_ATTACKS), tmp_path / "mutants.ndjson"

    def loses(part: object) -> bool:
        where = getattr(part, "where", None)
        return where is not None and isinstance(where, Place) is of_place

    assert fates(request, Record(file, {}), monkeypatch, loses) == [MutantStatus.UNKNOWN] * 2
    assert fates(request, Record(file, {}), monkeypatch, no_part) == ["killed lost attack"] * 2


def test_mutants_of_what_is_not_proved_are_not_judged(tmp_path: Path) -> None:
    text = Path(door.__file__).read_text("utf-8")
    lemma = "    @door.lemma\n    def nobody_shows(who: Person) -> language.Formula:\n        return ~badge(who)\n\n"
    assert text.count("    return door\n") == 1
    place = tmp_path / "door.py"
    place.write_text(text.replace("    return door\n", f"{lemma}    return door\n"), "utf-8")
    source = load(str(place))
    request = Request(source, ("main",))
    with pytest.raises(InvalidSpecificationError, match="nobody_shows is not proved; its mutants are judged by"):
        run(request, list_mutants(request), Record(None, {}), 1, lambda _: None)


def test_a_lost_worker_says_nothing_about_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request(HALL, ("main",), only=NOTICED_BY_ATTACKS)
    with pytest.raises(EngineError, match=r"main: whether its claims are proved could not be checked \(the worker was"):
        fates(request, Record(None, {}), monkeypatch, lambda part: not hasattr(part, "where"))


def test_attacks_under_other_threat_models_than_those_asked_for_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*threats: str) -> list[str]:
        request = Request(HALL, ("main",), threats, only=NOTICED_BY_ATTACKS)
        return fates(request, Record(None, {}), monkeypatch, no_part)

    assert killed("outsiders") == ["killed lost attack", "killed lost attack"]
    assert killed("insiders") == ["survived", "killed lost attack"]


DOOR = door.FAMILY.protocol()
MUTANTS = mutants(DOOR)
NAME = "admit/guard listed/drop"
DIGESTS = {"main": DOOR.digest}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return load(str(Path(shutil.copy("tests/fixtures/door.py", tmp_path))))


def written(source: Source, text: str) -> None:
    place = place_beside(source)
    assert place is not None
    place.write_text(text, encoding="utf-8")


def argued(**changed: str) -> Argument:
    return Argument(**{"mutant": NAME, "variant": "main", "digest": DOOR.digest, "argument": "two lists", **changed})


def test_they_lie_beside_the_specification(source: Source) -> None:
    assert arguments_of(source) == ()
    text = f'[[argued]]\nmutant = "{NAME}"\nvariant = "main"\ndigest = "{DOOR.digest}"\nargument = "two lists"\n'
    written(source, text)
    assert arguments_of(source) == (argued(),)
    assert str(place_beside(source)).endswith("door.argued-mutants.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[argued]\n", "is no TOML"),
        ("argued = 1\n", r"expected \[\[argued\]\] alone"),
        ("other = 1\n", r"expected \[\[argued\]\] alone"),
        ('[[argued]]\nmutant = "a"\n', "expected the texts"),
        ('[[argued]]\nmutant = "a"\nvariant = "b"\ndigest = "c"\nargument = 1\n', "expected the texts"),
        ('[[argued]]\nmutant = "a"\nvariant = "b"\ndigest = "c"\nargument = " "\n', "has no argument for a"),
        ('[[argued]]\nmutant = "a"\nvariant = "b"\ndigest = "c"\nargument = "d"\n' * 2, "argues b: a twice"),
    ],
)
def test_a_malformed_file_is_refused(source: Source, text: str, told: str) -> None:
    written(source, text)
    with pytest.raises(InvalidSpecificationError, match=told):
        arguments_of(source)


def test_an_argument_is_good_for_one_digest_and_mutants_that_are_there() -> None:
    require_valid([argued()], MUTANTS, DIGESTS)
    with pytest.raises(InvalidSpecificationError, match=f"'main: {NAME}' has expired"):
        require_valid([argued(digest="0" * 64)], MUTANTS, DIGESTS)
    with pytest.raises(InvalidSpecificationError, match="there is no such mutant"):
        require_valid([argued(mutant="admit/guard missing/drop")], MUTANTS, DIGESTS)
    require_valid([argued(variant="other", digest="")], MUTANTS, DIGESTS)
    two = [argued(), argued(mutant=MUTANTS[0].name)]
    with pytest.raises(InvalidSpecificationError, match="argues 2 of 29 mutants; at most 5% may be argued"):
        require_valid(two, MUTANTS, DIGESTS)


ABOUT = {"protocols": {"main": "0" * 64}}


def test_what_was_kept_is_known_again_of_the_same_thing(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    Record(file, ABOUT).keep("mutant", "a", {"fate": "killed"})
    again = Record(file, ABOUT)
    assert ("mutant", "a") in again
    assert ("mutant", "b") not in again
    assert again.get("mutant", "a") == {"fate": "killed"}
    Record(file, ABOUT).keep("scenario", "a", None)
    again = Record(file, ABOUT)
    assert ("scenario", "a") in again
    assert again.get("scenario", "a") is None


def test_a_line_that_was_cut_off_is_no_line(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    record = Record(file, ABOUT)
    record.keep("mutant", "a", 1)
    record.keep("mutant", "b", 2)
    file.write_text(file.read_text("utf-8")[:-3], encoding="utf-8")
    again = Record(file, ABOUT)
    assert ("mutant", "a") in again
    assert ("mutant", "b") not in again
    again.keep("mutant", "c", 3)
    assert ("mutant", "c") in Record(file, ABOUT)


def test_results_about_something_else_or_in_no_file_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    Record(file, ABOUT).keep("mutant", "a", 1)
    assert ("mutant", "a") not in Record(file, {"protocols": {"main": "1" * 64}})
    record = Record(None, ABOUT)
    record.keep("mutant", "a", 1)
    assert record.get("mutant", "a") == 1
    with pytest.raises(UsageError, match="cannot read"):
        Record(tmp_path, ABOUT)


def test_results_depend_on_the_specification_and_its_code(tmp_path: Path) -> None:
    text = Path("tests/fixtures/door.py").read_text("utf-8")
    files = [tmp_path / name for name in ("one.py", "other.py", "third.py")]
    for file, said in zip(files, (text, text.replace("stranger", "foreigner"), text), strict=True):
        file.write_text(said, encoding="utf-8")
    one, other, third = (record_header(load(f"{file}:FAMILY"), ("main",)) for file in files)
    assert one["protocols"] == other["protocols"]
    assert one["specification"] != other["specification"]
    assert one["code"] == third["code"]


SOURCE = Source("tests/fixtures/door.py", door.FAMILY, "door")
INVITED, LISTED = "admit/guard invited/drop", "admit/guard listed/drop"
PAIR = "main: admit/guard invited and guard listed/drop"


def judged(*only: str) -> tuple[tuple[Mutant, ...], list[Judgement]]:
    every = list_mutants(Request(SOURCE, ("main",), only=only))
    judge = Judge(SOURCE, "main")
    return every, [judge.judge(mutant) for mutant in every]


def test_only_parts_that_nothing_noticed_alone_are_a_pair() -> None:
    every, found = judged(INVITED, LISTED)
    assert {each.fate for each in found} == {MutantStatus.SURVIVED, MutantStatus.EQUIVALENT}
    assert [pair.key for pair in pairs_of(every, found, SOURCE)] == [PAIR]
    assert pairs_of(*judged(INVITED), SOURCE) == ()
    noticed = [Judgement(each.key, MutantStatus.KILLED) if each.key.endswith(LISTED) else each for each in found]
    assert pairs_of(every, noticed, SOURCE) == ()
    assert PAIR in possible_pairs(list_mutants(Request(SOURCE, ("main",))))


HALL_SOURCE = Source("tests/fixtures/hall.py", hall.FAMILY, "hall")
HOUSE = Source("tests/fixtures/house.py", house.FAMILY, "house")
CELLAR = Source("tests/fixtures/cellar.py", cellar.FAMILY, "cellar")
HALL_PROTOCOL = hall.FAMILY.protocol()
HALL_MUTANTS = {mutant.name: mutant for mutant in mutants(HALL_PROTOCOL)}
LOOK, FIND = "look/update insert seen/drop", "find/update insert found/drop"


@functools.cache
def attacks() -> tuple[Weakness, ...]:
    return tuple(found for where in weakened_designs(HALL_SOURCE, "main") for found in weaknesses(HALL_SOURCE, where))


def judged_in_hall(name: str, known: Collection[Weakness]) -> Judgement:
    """Return what becomes of a mutant of the hall, which neither proofs nor scenarios notice."""
    judge = Judge(HALL_SOURCE, "main")
    found = judge.judge(HALL_MUTANTS[name])
    assert found.fate is MutantStatus.SURVIVED
    scenarios = tuple(each for place in places(HALL_SOURCE, "main") if (each := scenario(HALL_SOURCE, place)))
    found = judge.judged_further(HALL_MUTANTS[name], found, OriginalFacts(scenarios=scenarios))
    assert found.fate is MutantStatus.SURVIVED
    return judge.judged_further(HALL_MUTANTS[name], found, OriginalFacts(weaknesses=tuple(known)))


def test_every_claim_is_attacked_under_each_threat_model_with_the_moves_that_it_takes() -> None:
    """What falls in every design is attacked where nothing is removed."""
    assert [(each.weakened.without, *each.tells, each.place.profile.budget) for each in attacks()] == [
        ((), "guests-show", "insiders", 1),
        ((), "guests-show", "outsiders", 2),
        (("guest-list",), "guests-only", "insiders", 1),
        (("guest-list",), "guests-see", "insiders", 2),
        (("guest-list",), "guests-only", "outsiders", 2),
        (("guest-list",), "guests-see", "outsiders", 3),
    ]
    for each in attacks():
        design = HALL_SOURCE.protocol(each.weakened.variant, each.weakened.without)
        judge = Interpreter(design, each.place.instance(HALL_SOURCE, design))
        last = judge.replay(each.trace)[-1]
        assert not judge.holds(design.claim(each.claim).checked.formula, last)
    assert weaknesses_from_json(weaknesses_as_json(attacks())) == attacks()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (LOOK, "the attack on guests-see of main without guest-list in small under insiders, 3 steps, 2 active"),
        (FIND, "the attack on guests-show of main in small under outsiders, 2 steps, 2 active"),
    ],
)
def test_a_move_that_one_claim_or_one_threat_model_needs_is_noticed(name: str, told: str) -> None:
    found = judged_in_hall(name, attacks())
    assert (found.fate, found.by) == (MutantStatus.KILLED, KilledBy.LOST_ATTACK)
    assert told in found.evidence


@pytest.mark.parametrize(("name", "lacks"), [(LOOK, ("claim", "guests-only")), (FIND, ("threat", "insiders"))])
def test_it_is_not_noticed_by_the_attacks_on_another(name: str, lacks: tuple[str, str]) -> None:
    what, kept = lacks
    known = [each for each in attacks() if kept == (each.claim if what == "claim" else each.place.threat)]
    assert known
    assert judged_in_hall(name, known).fate is MutantStatus.SURVIVED


def test_the_original_defeats_no_attack_and_claims_are_attacked_in_the_smallest_size() -> None:
    for action in HALL_PROTOCOL.actions:
        same = Mutant("main", "nothing", HALL_MUTANTS[LOOK].operator, (), action)
        assert list(defeated_attacks(Designs(HALL_SOURCE), same, HALL_PROTOCOL, attacks())) == []
    found = [each for where in weakened_designs(HOUSE, "main") for each in weaknesses(HOUSE, where)]
    assert [(each.claim, each.place.profile.name) for each in found] == [("private", "small"), ("one-left", "large")]


def test_no_attack_is_lost_while_there_is_another() -> None:
    """Where the guard is bribed, a badge is shown or copied."""
    known = [each for each in attacks() if each.place.threat == "insiders"]
    (taken,) = {"show", "copy"} & frozenset[str]().union(*(each.actions for each in known))
    mutant = HALL_MUTANTS[f"{taken}/update insert badge/drop"]
    assert all(taken in each.actions for each in known)
    assert len(known) == 3
    assert list(defeated_attacks(Designs(HALL_SOURCE), mutant, HALL_PROTOCOL, known)) == []


@pytest.mark.parametrize(
    ("name", "steps"), [("ask/update insert asked/drop", 2), ("whisper/update insert asked/drop", 0)]
)
def test_an_attack_is_lost_if_what_is_left_takes_more_steps(name: str, steps: int) -> None:
    known = [
        each
        for where in weakened_designs(HOUSE, "main")
        for each in weaknesses(HOUSE, where)
        if each.claim == "private"
    ]
    protocol = HOUSE.protocol("main")
    (mutant,) = (each for each in mutants(protocol) if each.name == name)
    found = list(defeated_attacks(Designs(HOUSE), mutant, protocol, known))
    where = f"main without locks in small under anybody, {steps} steps, 1 active adversary move"
    assert [(what.partition(";")[0], established) for what, established in found] == (
        [(f"the attack on private of {where}", True)] if steps else []
    )
    assert all("; it takes 3 steps now, " in what for what, _ in found)


def lost_in_the_cellar(name: str, variant: str) -> list[tuple[str, bool]]:
    """Return what a mutant loses of the attacks on one variant of the cellar."""
    known = [each for where in weakened_designs(CELLAR, "main") for each in weaknesses(CELLAR, where)]
    there = [each for each in known if each.weakened.variant == variant]
    return list(defeated_attacks(Designs(CELLAR), mutant_of_cellar(name), CELLAR.protocol("main"), there))


def test_what_another_first_value_allows_is_not_lost_in_the_cellar() -> None:
    """Where the thief deduces whom it knows, a step may not depend on what it does not know."""
    name = "choose/guard known/negate"
    assert "monotone" in refusal(mutant_of_cellar(name).of(CELLAR.protocol("open-book")))
    assert lost_in_the_cellar(name, "open-book") == []
    assert lost_in_the_cellar("choose/update insert chosen/drop", "open-book")
    assert lost_in_the_cellar("name_one/guard chosen/negate", "main") == []
    ((what, established),) = lost_of_the_cellar()
    assert what.startswith("step choose in tiny under anybody, ")
    assert established


def lost_of_the_cellar() -> list[tuple[str, bool]]:
    """Return what is lost of the cellar's steps if the thief names whom it likes, and never learns of anybody."""
    mutated = mutant_of_cellar("learn/update insert known/drop").of(CELLAR.protocol("main"))
    mutated = mutant_of_cellar("name_one/guard chosen/drop").of(mutated)
    known = [found for place in places(CELLAR, "main") if (found := scenario(CELLAR, place))]
    return list(lost_scenarios(CELLAR, mutated, known, "learn"))


def test_nothing_is_established_where_there_are_too_many_first_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.mutation.scenarios.MOST_FIRST_VALUES", 1)
    assert [established for _, established in lost_of_the_cellar()] == [False]
    attacks_lost = lost_in_the_cellar("name_one/guard chosen/negate", "main")
    assert [established for _, established in attacks_lost] == [False]


def mutant_of_cellar(name: str) -> Mutant:
    return next(each for each in mutants(CELLAR.protocol("main")) if each.name == name)


def test_a_search_that_was_cut_short_establishes_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.mutation.weaknesses.ROOM", 0)
    known = attacks()
    found = list(defeated_attacks(Designs(HALL_SOURCE), HALL_MUTANTS[LOOK], HALL_PROTOCOL, known))
    assert found
    assert not any(established for _, established in found)


# -- a specification that changes ------------------------------------------------------------------

ADMIT = '        step.require("badge", badge(who))\n'
AGAIN = ADMIT + ADMIT.replace('"badge"', '"badge again"')
LIST = '        step.require("invited", invited(who), defence="guest-list")\n        step.insert(inside(who))\n'
GUARDED = LIST.replace(', defence="guest-list"', "")


def changed_hall(folder: Path, old: str = "", new: str = "") -> Request:
    """Return the request to judge the hall in a file of its own, with a piece of its text replaced."""
    text = Path(hall.__file__).read_text("utf-8")
    assert not old or text.count(old) == 1
    folder.mkdir()
    file = folder / "hall.py"
    file.write_text(text.replace(old, new) if old else text, "utf-8")
    return Request(load(str(file)), ("main",))


class Looked:
    """Which mutants were judged by proofs, and on which designs attacks were looked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mutants: list[str] = []
        self.designs: list[tuple[str, ...]] = []
        judge = Judge.judge

        def judged(self_: Judge, mutant: Mutant, earlier: Judgement | None = None) -> Judgement:
            self.mutants.append(mutant.name)
            return judge(self_, mutant, earlier)

        def sought(source: Source, where: WeakenedDesign) -> tuple[Weakness, ...]:
            self.designs.append(where.without)
            return weaknesses(source, where)

        monkeypatch.setattr(Judge, "judge", judged)
        monkeypatch.setattr(campaign, "weaknesses", sought)


def campaign_of(request: Request, file: Path | None, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Judge all mutants; return the fate of each by its name."""
    about = record_header(request.source, request.variants)
    judged = fates(request, Record(file, about), monkeypatch, no_part)
    return dict(zip([each.name for each in list_mutants(request)], judged, strict=True))


@pytest.fixture
def judged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the record of a campaign about the hall as it is written."""
    file = tmp_path / "mutants.ndjson"
    campaign_of(changed_hall(tmp_path / "one"), file, monkeypatch)
    return file


def test_only_what_a_change_touches_is_judged_again(
    judged_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = changed_hall(tmp_path / "other", ADMIT, AGAIN)
    looked = Looked(monkeypatch)
    found = campaign_of(request, judged_once, monkeypatch)
    axioms = {"threat model outsiders"}
    assert {name.partition("/")[0] for name in looked.mutants} <= {"admit"} | axioms
    assert looked.designs == [], "every attack still is one"
    assert found == campaign_of(request, None, monkeypatch)


def test_an_attack_that_is_none_any_more_is_looked_for(
    judged_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = changed_hall(tmp_path / "other", LIST, GUARDED)
    looked = Looked(monkeypatch)
    found = campaign_of(request, judged_once, monkeypatch)
    assert ("guest-list",) in looked.designs
    assert found == campaign_of(request, None, monkeypatch)


@pytest.mark.parametrize("spoilt", [{"refuted": "guests-see"}, {"fate": "equivalent", "by": "", "refuted": ""}])
def test_a_witness_that_shows_nothing_is_not_believed(
    spoilt: dict[str, str], judged_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is what other code found, without asking again."""
    request = changed_hall(tmp_path / "other", ADMIT, AGAIN)
    header, *lines = judged_once.read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    for each in entries:
        if each["kind"] == "mutant":
            each["value"] |= spoilt
    about = json.loads(header) | {"code": "other"}
    judged_once.write_text("".join(f"{json.dumps(each)}\n" for each in (about, *entries)), "utf-8")
    looked = Looked(monkeypatch)
    found = campaign_of(request, judged_once, monkeypatch)
    assert {*looked.mutants} == {each.name for each in list_mutants(request)}
    assert found == campaign_of(request, None, monkeypatch)


def test_what_was_unknown_is_asked_again(judged_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = changed_hall(tmp_path / "other", ADMIT, AGAIN)
    text = judged_once.read_text("utf-8")
    assert '"fate":"killed"' in text
    judged_once.write_text(text.replace('"fate":"killed"', '"fate":"unknown"'), "utf-8")
    assert campaign_of(request, judged_once, monkeypatch) == campaign_of(request, None, monkeypatch)


def test_witnesses_outlive_an_interrupted_campaign(judged_once: Path, tmp_path: Path) -> None:
    """They stay where they are until the campaign about the changed specification has ended."""
    source = changed_hall(tmp_path / "other", ADMIT, AGAIN).source
    about = record_header(source, ("main",))
    for _ in range(2):
        record = Record(judged_once, about)
        assert ("mutant", f"main: {LOOK}") not in record
        value, same = record.earlier("mutant", f"main: {LOOK}", "another question")
        assert value["fate"] == "survived"
        assert not same
