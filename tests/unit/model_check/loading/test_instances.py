"""Instances: those of a family, every meaning once, models of axioms, and none larger than memory allows."""

import itertools
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.attacks.hunt import caps_within
from carnet_check.commands.common import MemoryParameter
from carnet_check.engines.explicit import bounds
from carnet_check.engines.exploration import NO_CAPS, Caps
from carnet_check.engines.exploring.searches import caps_of
from carnet_check.errors import UsageError
from carnet_check.loading import extent, meanings
from carnet_check.loading.extent import fixed_values
from carnet_check.loading.families import NO_THREAT, Source, load, require_known
from carnet_check.loading.meanings import first_values, has_model
from carnet_check.loading.scope import MOST_FIRST_VALUES, Scope, scope_of
from carnet_spec.language import *
from tests.fixtures.meanings import every_meaning
from tests.unit.model_check.command import FIXTURES, TOY, carnet
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import see


def _source(**misspelt: str) -> Source:
    """Return the toy with some symbols of its instances misspelt."""
    source = load(TOY)

    def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
        right = source.family.instance(protocol, threat, scale)
        relations = {misspelt.get(name, name): rows for name, rows in right.relations.items()}
        return replace(right, relations=relations)

    return replace(source, family=replace(source.family, instance=instance))


def test_a_misspelt_relation_is_refused_in_one_line() -> None:
    source = _source(corrupt="corupt")
    with pytest.raises(UsageError, match=r"the instance: no symbol that never changes 'corupt' in toy") as refused:
        source.instance(source.protocol(), "collusion", source.profile("tiny"))
    assert "did you mean 'corrupt'?" in str(refused.value)


@pytest.mark.parametrize("id", ["gpu-travelling", "sgx-lkl"])
def test_no_other_design_is_built_for_the_names_that_an_instance_has_of_it(id: str) -> None:
    source = load(id)
    fresh = replace(source, family=replace(source.family))
    for variant in fresh.family.main:
        protocol = fresh.sound_variant(variant)
        fresh.instance(protocol, protocol.threats[0].id, fresh.profile("tiny"))
    assert set(fresh.family._whole) <= set(fresh.family.with_layers(fresh.family.main))
    assert set(fresh.family._drafts) <= set(fresh.family.with_layers(fresh.family.main))


def test_a_parameter_of_another_design_is_known_and_a_misspelt_one_refused() -> None:
    source = load("gpu-travelling")
    protocol = source.protocol()
    right = source.family.instance(protocol, "collusion", source.profile("tiny").scale)
    action, parameter = next(pool for pool in right.pools if pool[0] not in {each.name for each in protocol.actions})

    def spelt(action: str, parameter: str) -> None:
        pools = {**right.pools, (action, parameter): next(iter(right.pools.values()))}
        require_known(replace(right, pools=pools), protocol, source.family)

    spelt(action, parameter)
    with pytest.raises(SpecificationError, match=f"no parameter of {action} '{parameter}s' in gpu-travelling"):
        spelt(action, f"{parameter}s")
    with pytest.raises(SpecificationError, match=f"no action of a pool '{action}s' in gpu-travelling"):
        spelt(f"{action}s", parameter)


@pytest.mark.parametrize("variant", load("gpu-travelling").family.main)
def test_one_instance_serves_designs_without_a_symbol(variant: str) -> None:
    """Removing what alone spoke of a symbol takes it out of the protocol, and not out of the instance."""
    source = load("gpu-travelling")
    for defence in source.protocol(variant).defences[:3]:
        if defence.id not in source.protocol(variant).without:
            protocol = source.protocol(variant, (defence.id,))
            assert source.instance(protocol, "collusion", source.profile("tiny")).elements


def test_a_size_that_only_the_function_knows_is_taken() -> None:
    """A size with a default need not stand in any profile: the family's own function looks it up."""
    source = load(TOY)

    def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
        made = source.family.instance(protocol, threat, scale)
        return replace(made, describes=f"{scale.get('spare', 1)} spare")

    sized = replace(source, family=replace(source.family, instance=instance))
    profile = sized.profile("tiny")
    wider = replace(profile, scale={**profile.scale, "spare": 4})
    assert sized.instance(sized.protocol(), "none", wider).describes == "4 spare"
    stray = replace(profile, scale={**profile.scale, "spart": 4})
    with pytest.raises(UsageError, match=r"^no size 'spart' in toy; did .* \(known: borrowers, spare\)$"):
        sized.instance(sized.protocol(), "none", stray)


@pytest.mark.parametrize(
    "id", ["pipellm", "sgx-lkl", "teechain", "fastrack", "ring-all-reduce", "tensortee", "verifiable-fl"]
)
def test_every_protocol_refuses_a_size_that_it_does_not_have(id: str) -> None:
    """Its instance would be the same without it, and look as large as was asked for."""
    source = load(id)
    protocol, profile = source.protocol(), source.profile("tiny")
    for stray in ("rounds", "nonsense"):
        sized = replace(profile, scale={**profile.scale, stray: 3})
        with pytest.raises(UsageError, match=rf"^no size '{stray}' in {id}; known: "):
            source.instance(protocol, source.family.default_threat, sized)


def test_a_size_that_is_taken_with_all_others_must_make_a_difference() -> None:
    source = load(TOY)
    defaults = {"borrowers": 1, "spare": 1}

    def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
        sizes = {**defaults, **scale}
        made = source.family.instance(protocol, threat, sizes)
        if sizes["spare"] > 8:
            raise ValueError("too many")
        return replace(made, describes=f"{sizes['spare']} spare")

    sized = replace(source, family=replace(source.family, instance=instance))
    profile = sized.profile("tiny")
    for spare in (4, 8):
        wider = replace(profile, scale={**profile.scale, "spare": spare})
        assert sized.instance(sized.protocol(), "none", wider).describes == f"{spare} spare"
    stray = replace(profile, scale={**profile.scale, "spart": 4})
    with pytest.raises(UsageError, match=r"^no size 'spart' in toy"):
        sized.instance(sized.protocol(), "none", stray)


def test_sizes_of_gpu_travelling_need_no_profile() -> None:
    source = load("gpu-travelling")
    profile = source.profile("tiny")
    assert "slots" not in profile.scale
    slots = source.instance(source.protocol(), "collusion", replace(profile, scale={**profile.scale, "slots": 7}))
    assert len(slots.elements["Slot"]) == 7


TWO = {"Party": ("party1", "party2"), "Key": ("k1", "k2", "k3")}


def _assuming(**axioms: Formula) -> Protocol:
    draft: Draft = drafted(see)
    for name, formula in axioms.items():
        draft.axiom(name, formula)
    return draft.protocol()


def _said(instance: Instance) -> tuple[bool, bool, bool]:
    """Whether the constants are one element, and whether each is corrupt."""
    one, other = (instance.functions[name][()] for name in ("alice", "bob"))
    bad = instance.relations["corrupt"]
    return one == other, (one,) in bad, (other,) in bad


NOTHING = {
    "two constants": (corrupt(alice) | ~corrupt(alice) | corrupt(bob), 8),
    "the first is corrupt": (corrupt(alice) & (corrupt(bob) | ~corrupt(bob)), 4),
    "one of them is": (corrupt(alice) & ~corrupt(bob), 1),
}


@pytest.mark.parametrize("name", NOTHING)
def test_each_kind_comes_once(name: str) -> None:
    axiom, kinds = NOTHING[name]
    protocol = _assuming(axiom=axiom)
    assert len(list(every_meaning(protocol, protocol.axioms, TWO))) == kinds


def test_axioms_decide_which_meanings_there_are() -> None:
    def look_again(step: Step) -> None:
        step.given("either", seen(last) | used(current))
        step.insert(seen(last))

    protocol = _assuming(axiom=NOTHING["two constants"][0])
    told = {_said(instance) for instance in every_meaning(protocol, protocol.axioms, TWO)}
    assert told == {
        (same, *bad) for same, *bad in itertools.product((True, False), repeat=3) if not same or len({*bad}) == 1
    }
    protocol = _assuming(irreflexive=forall(lambda a: ~before(a, a), Party))
    found = {frozenset(each.relations["before"]) for each in every_meaning(protocol, protocol.axioms, TWO)}
    assert sorted(map(len, found)) == [0, 1, 2]
    protocol = drafted(see, look_again).protocol()
    free = [symbol for symbol in protocol.symbols if symbol.name in ("last", "current")]
    firsts = [each.first for each in first_values(protocol, Instance(TWO), free)]
    assert len({(each["last"][()], each["current"][()]) for each in firsts}) == len(firsts) == 6


def test_an_order_is_that_of_the_numbers_in_the_names() -> None:
    strict = (
        forall(lambda a: ~before(a, a), Party),
        forall(lambda a, b: (a == b) | before(a, b) | before(b, a), Party, Party),
    )
    transitive = forall(lambda a, b, c: implies(before(a, b) & before(b, c), before(a, c)), Party, Party, Party)
    protocol = _assuming(irreflexive=strict[0], linear=strict[1], transitive=transitive)
    elements = {"Party": ("party1", "party2", "party3"), "Key": ("k1",)}
    (only,) = every_meaning(protocol, protocol.axioms, elements)
    assert only.relations["before"] == {("party1", "party2"), ("party1", "party3"), ("party2", "party3")}


#: A source without instances of its own; what it says is not looked at.
MADE = load(f"{FIXTURES / 'unsound.py'}:axioms_that_cannot_be")
TINY = MADE.profile("tiny")


def found(*axioms: Formula) -> bool:
    draft = drafted()
    for number, axiom in enumerate(axioms):
        draft.axiom(f"axiom {number}", axiom)
    return has_model(MADE, draft.protocol(), NO_THREAT, TINY)


IRREFLEXIVE = forall(lambda x: ~before(x, x), Party)
ANTISYMMETRIC = forall(lambda x, y: implies(before(x, y), ~before(y, x)), Party, Party)
SATISFIABLE: dict[str, tuple[Formula, ...]] = {
    "nothing": (),
    "true": (true,),
    "of one element": (forall(lambda x: x == alice, Party), corrupt(alice)),
    "of two elements": (alice != bob, corrupt(alice), ~corrupt(bob)),
    "of three elements": (IRREFLEXIVE, ANTISYMMETRIC, forall(lambda x: exists(lambda y: before(x, y), Party), Party)),
    "of one element of a sort and two of another": (
        forall(lambda x, y: x == y, Party, Party),
        exists(lambda k, m: k != m, Key, Key),
    ),
    "of three elements of a sort and one of another": (
        exists(lambda x, y, z: (x != y) & (y != z) & (x != z), Party, Party, Party),
        forall(lambda k, m: k == m, Key, Key),
    ),
}
CONTRADICTORY: dict[str, tuple[Formula, ...]] = {
    "false, which speaks of nothing": (false,),
    "false beside something": (false, corrupt(alice)),
    "some and none": (exists(corrupt, Party), forall(lambda x: ~corrupt(x), Party)),
    "two that are one and differ": (forall(lambda x: x == alice, Party), bob != alice),
}


@pytest.mark.parametrize("name", SATISFIABLE)
def test_a_small_model_is_found(name: str) -> None:
    assert found(*SATISFIABLE[name])


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_no_model_of_a_contradiction_is_found(name: str) -> None:
    assert not found(*CONTRADICTORY[name])


def test_axioms_of_the_threat_model_count() -> None:
    protocol = load(f"{FIXTURES / 'unsound.py'}:a_threat_that_cannot_be").protocol()
    nobody, somebody = (protocol.threat(id) for id in ("nobody", "somebody"))
    assert has_model(MADE, protocol, nobody, TINY)
    assert not has_model(MADE, protocol, somebody, TINY)


def test_what_is_too_much_to_look_at_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanings, "MOST_TRIED", 3)
    assert not found(*SATISFIABLE["of three elements"])


def _given() -> tuple[Source, Protocol, Profile]:
    source = load(TOY)
    return source, source.protocol(), source.profile("tiny")


def test_the_instance_of_the_family_is_a_model_only_if_it_obeys(monkeypatch: pytest.MonkeyPatch) -> None:
    source, protocol, profile = _given()
    assert not source.instances_are_made
    monkeypatch.setattr(meanings, "_is_small", lambda *_: False)
    assert has_model(source, protocol, protocol.threats[0], profile)
    impossible = drafted()
    impossible.axiom("impossible", false)
    spoilt = replace(protocol, axioms=impossible.protocol().axioms)
    assert not has_model(source, spoilt, protocol.threats[0], profile)


def meet(step: Step, a: Party) -> None:
    step.set(last, a)
    step.insert(seen(a))


def begin(step: Step) -> None:
    step.insert(first)


def _draft(variant: str) -> Draft:
    draft = drafted(meet, begin)
    claimed(draft, early=lambda: implies(first, seen(last)), late=lambda: implies(first, first))
    return draft


def _instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    return Instance({"Party": tuple(f"p{number}" for number in range(scale["parties"]))}, describes="some parties")


FAMILY = Family("small", "A few lines", _draft, _instance, {"main": Variant("main", "as written")}, ("main",))


def _scope(parties: int) -> Scope:
    source, profile = Source("small", FAMILY, "small"), Profile("tiny", {"parties": parties})
    return scope_of(source, source.protocol(), "unrestricted", profile, ("early", "late"))


@pytest.mark.parametrize("parties", [2, 3, MOST_FIRST_VALUES])
def test_a_claim_that_reads_early_is_explored_from_every_first_value(parties: int) -> None:
    found = _scope(parties)
    (shared, everyone), *more = found.instances
    assert (dict(shared.first), everyone) == ({}, None)
    assert {claims for _, claims in more} == {("early",)}
    assert {instance.first["last"][()] for instance, _ in more} == set(shared.elements["Party"])
    assert not found.left_out


def test_an_instance_that_nobody_describes_is_told_by_its_sizes() -> None:
    silent = replace(FAMILY, instance=lambda *wanted: replace(_instance(*wanted), describes=""))
    source, profile = Source("small", silent, "small"), Profile("tiny", {"parties": 2})
    assert scope_of(source, source.protocol(), "unrestricted", profile, ("late",)).explored.words == "2 Party"


def test_members_of_an_enumeration_are_no_elements_of_an_instance() -> None:
    """What an instance says of them is passed over, and so it is not announced."""

    def never_over() -> Formula:
        """It is early."""
        return phase == Phase.EARLY

    def instance(*wanted: Any) -> Instance:
        made = _instance(*wanted)
        return replace(made, elements={**made.elements, "Phase": ("EARLY",)}, describes="")

    def phased(variant: str) -> Draft:
        draft = _draft(variant)
        draft.initially(phase, Phase.EARLY)
        draft.lemma(never_over)
        return draft

    source, profile = (
        Source("small", replace(FAMILY, draft=phased, instance=instance), "small"),
        Profile("tiny", {"parties": 2}),
    )
    assert scope_of(source, source.protocol(), "unrestricted", profile, ("late",)).explored.words == "2 Party"


def test_where_there_are_too_many_it_is_said_of_those_claims() -> None:
    found = _scope(MOST_FIRST_VALUES + 1)
    assert len(found.instances) == 1
    assert dict(found.left_out) == {
        "early": "it may read last before it is written, and was explored from one first value only"
    }


def test_it_is_told_of_how_many_elements_a_step_chooses_where_it_may_not_choose_all() -> None:
    """So it is of what is drawn: sizes bound all draws together, and not that nobody draws a key of its own."""
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "hypervisor", source.profile("tiny"))
    told = fixed_values(protocol, instance)
    assert told["v of write_buffer, code_writes"] == "1 of 6"
    assert told["k of open_session, rotate_out, rotate_in"] == "1 of 3"
    assert told["k of open_own_session, offer_own_key"] == "0 of 3"
    free = replace(instance, pools={})
    assert not any(" of " in what for what in fixed_values(protocol, free))


#: `VmHWM` is of this process alone; `ru_maxrss` begins with what its parent held.
ALONE = """
import re, sys
from pathlib import Path
from carnet_check.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print(end.code, int(peak.group(1)) // 1024, file=sys.stderr)
"""


@pytest.mark.mends("M7")
@pytest.mark.parametrize(
    "sizes",
    [
        ["--set", "rounds=99999999999"],
        ["--rounds", "999999999999999999999"],
        ["--set", "slots=100000"],
        ["--set", "chunks=1000", "--holders", "1000"],
        ["--rounds", "1000"],
    ],
    ids=" ".join,
)
def test_sizes_that_cannot_be_laid_out_take_no_memory(sizes: list[str]) -> None:
    command = [sys.executable, "-c", ALONE, "explore", "gpu-travelling", *sizes]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    said, measured = ran.stderr.splitlines()[-2:]
    code, megabytes = map(int, measured.split())
    assert (code, ran.stdout) == (2, "")
    assert said.startswith("carnet: ")
    assert megabytes < 200


@pytest.mark.mends("M7")
@pytest.mark.parametrize(
    "size", ["rounds=99999999999", "rounds=1001", f"rounds={'9' * 5_000}", "chunks=1000,holders=2"]
)
def test_a_size_is_refused_before_an_instance_is_built(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "instance", lambda *_: pytest.fail("it was built"))
    given = [word for each in size.split(",") for word in ("--set", each)]
    ran = carnet("explore", "gpu-travelling", *given)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert len(ran.err) < 300


@pytest.mark.mends("M7")
@pytest.mark.parametrize("size", ["each=100000", "Party=40", "Key=300"])
def test_an_instance_that_is_made_up_is_bounded_too(size: str) -> None:
    ran = carnet("explore", str(FIXTURES / "paired.py"), "--set", size)
    assert ran.code == 2
    assert "the size 'each' is at most" in ran.err or "facts to make up" in ran.err


@pytest.mark.mends("M7")
def test_a_search_that_reaches_its_memory_says_what_it_covered() -> None:
    ran = carnet("explore", "gpu-travelling", "--max-memory", "20M", "--json")
    assert ran.code == 3
    assert (ran.json["complete"], ran.json["stopped_by"]) == (False, "memory")
    assert ran.json["states"] >= 1
    text = carnet("explore", "gpu-travelling", "--max-memory", "20MiB").out
    assert "stopped by memory after" in text
    assert "budget       no cap on states, 20.0 MiB" in text


@pytest.mark.mends("M7")
@pytest.mark.parametrize(
    "command", [("verify", TOY, "--engine", "explicit"), ("attack", TOY, "--variant", "main")], ids=lambda each: each[0]
)
def test_commands_that_explore_keep_within_memory(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    exceeded = bounds.Watch.exceeded_bound

    def kept(self: bounds.Watch, states: int) -> str | None:
        asked.append(self._caps.memory)
        return exceeded(self, states)

    monkeypatch.setattr(bounds.Watch, "exceeded_bound", kept)
    monkeypatch.setattr(bounds, "resident_bytes", lambda: 33 << 20)
    monkeypatch.setattr("carnet_check.engines.exploring.explorer.run_all", here)
    monkeypatch.setattr(sys.modules["carnet_check.attacks.hunt"], "_redundant", lambda *_, **__: "")
    assert carnet(*command, "--max-memory", "32MiB").code == 3
    assert set(asked) == {32 << 20}


def here(explorer: Any, tasks: Any, *_: Any) -> Any:
    """Search in this process."""
    from carnet_check.engines.exploring.searches import search

    return [(task, search(explorer, task)) for task in tasks]


@pytest.mark.mends("M7")
def test_the_default_is_what_is_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  999999999 kB\nMemAvailable:    1000000 kB\n")
    monkeypatch.setattr(extent, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(extent, "CGROUP", tmp_path)
    assert extent.available_memory() == 1_024_000_000 * 4 // 5
    assert caps_within(None).memory == caps_of("tiny", 1, NO_CAPS).memory == extent.available_memory()
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("500\n")
    assert extent.available_memory() == 1_024_000_000 * 4 // 5
    (tmp_path / "memory.max").write_text("100000500\n")
    assert extent.available_memory() == 80_000_000
    assert caps_within(7).memory == caps_of("tiny", 2, Caps(memory=7)).memory == 7


@pytest.mark.mends("M7")
@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("1", 1),
        ("500M", 500 << 20),
        ("500MB", 500 << 20),
        ("2GiB", 2 << 30),
        ("2 gib", 2 << 30),
        ("3k", 3072),
        ("9b", 9),
    ],
)
def test_amounts_of_memory(written: str, amount: int) -> None:
    assert MemoryParameter().convert(written, None, None) == amount


@pytest.mark.parametrize("written", ["", "0", "-1", "lots", "1.5G", "9" * 20, "2 TiB", "٣M"])
def test_what_is_no_amount_of_memory(written: str) -> None:
    ran = carnet("explore", TOY, "--max-memory", written)
    assert ran.code == 2
    assert "expected an amount of memory such as 500M or 2GiB" in ran.err


@pytest.mark.mends("M7")
def test_places_are_counted_before_they_are_laid_out() -> None:
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "collusion", Profile("x", {}))
    extent.refuse_instance(protocol, instance, 10 << 20)
    changing = [symbol.domain for symbol in protocol.symbols if symbol.mutable]
    facts = sum(math.prod(len(instance.of(sort)) for sort in domain) for domain in changing)
    assert facts > 1_000
    said = f"{facts:,} facts that may change, which takes {facts / 1024:.1f} MiB to lay out; 1.0 MiB"
    with pytest.raises(UsageError, match=re.escape(said)):
        extent.refuse_instance(protocol, instance, 1 << 20)
    many = {**instance.elements, "Key": tuple(f"k{n}" for n in range(100_000))}
    with pytest.raises(UsageError, match=re.escape("1,000,000 can be laid out at most")):
        extent.refuse_instance(protocol, Instance(many), 1 << 40)
