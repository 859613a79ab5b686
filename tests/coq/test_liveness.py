"""Liveness in Coq: the conditions are those of the engines, and theorems are compiled of certificates alone."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.certificates.file import Certificates, Entry
from carnet_check.certificates.judging import LayerObligations, key_of
from carnet_check.certificates.production import certificate
from carnet_check.coq.certificates import Converter, coq_conditions
from carnet_check.coq.folder import CoqFiles, write_makefile
from carnet_check.exports.obligation_text import Provable, Writer
from carnet_check.exports.systems import Name, Node, System, system
from carnet_check.loading.families import registered_families
from carnet_check.obligations import attempts, layers
from carnet_spec.language import Axiom, Kind, Protocol, Symbol, Threat
from carnet_spec.language.terms import TRUE, Apply, IfThenElse, substitute
from tests.coq.coq_files import require_refusal, require_theorems
from tests.fixtures import desk


def closed(**changed: Any) -> Protocol:
    """Return the desk with its properties of one person, who may be any; ``changed`` is what is said of service."""
    plain = desk.draft.protocol()
    returned, served = plain.liveness
    (person,) = served.params
    who = Symbol("who", (), person.sort, Kind.TRUTH, mutable=False)
    mine = [replace(each.at([Apply(who, ())]), sentence="Said of one.") for each in (returned, served)]
    return replace(plain, symbols=(*plain.symbols, who), liveness=(mine[0], replace(mine[1], **changed)))


def under_one_threat(protocol: Protocol) -> Protocol:
    """Return the protocol under one threat model, whose axiom may be used for everything."""
    threat = Threat("alone", "Alone", (Axiom("true", TRUE),))
    return replace(protocol, threats=(threat,), lemmas=tuple(replace(each, under=()) for each in protocol.lemmas))


def of_each(**changed: Any) -> Protocol:
    """Return the desk with its properties of each person; ``changed`` is what is said of service."""
    plain = desk.draft.protocol()
    returned, served = plain.liveness
    return replace(plain, liveness=(returned, replace(served, **changed)))


PROTOCOLS = {
    "of each": of_each(),
    "of each, weakly fair": of_each(strong=()),
    "of each under one threat model": under_one_threat(of_each()),
    "strongly fair": closed(),
    "weakly fair": closed(strong=()),
    "nobody in particular": closed(given=()),
    "by one alone": closed(fair=("lend",)),
    "by nobody": closed(fair=(), given=(), strong=()),
    "under one threat model": under_one_threat(closed()),
    **{
        f"{family.id} {name}": family.protocol(name)
        for family in registered_families()
        for name in family.with_layers(family.main)
        if family.protocol(name).liveness
    },
}


def read(protocol: Protocol) -> System:
    return system(protocol.canonical_json)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_coq_makes_the_conditions_that_the_engines_make(name: str) -> None:
    protocol, whole = PROTOCOLS[name], read(PROTOCOLS[name])
    tried = attempts(layers(protocol))
    assert [live.name for live in whole.liveness] == [live.name for live in protocol.liveness]
    for live in whole.liveness:
        assert [tuple(each.action for each in attempt.fair) for attempt in live.attempts if attempt.fair] == [
            attempt.stages for attempt in tried[live.name]
        ]
        for attempt, ours in zip(live.attempts, tried[live.name], strict=False):
            theirs = list(coq_conditions(whole, whole.assumable_layer, attempt))
            assert [each.id for each in theirs] == [each.id for each in ours.obligations]
            for coq, own in zip(theirs, ours.obligations, strict=True):
                assert coq.hypotheses == tuple(each.name for each in own.hypotheses)
                sorts = tuple(each.symbol.result.name for each in own.constants)
                assert coq.constants == sorts[len(coq.elements) :]
                assert len(coq.elements) == len(live.constants)


def test_what_coq_has_no_word_for_has_no_theorem_and_the_rest_has() -> None:
    plain = closed()
    _, served = plain.liveness
    strange = replace(served, name="strange", response=IfThenElse(served.trigger, served.response, served.response))
    assert [live.name for live in read(replace(plain, liveness=(strange, *plain.liveness))).liveness] == [
        "returned",
        "served",
    ]


def test_a_given_value_is_read_where_the_property_stands_and_not_in_its_action() -> None:
    """Parameters of a property and of an action may have one name."""
    plain = desk.draft.protocol()
    (served,) = (live for live in plain.liveness if live.name == "served")
    (person,) = served.params
    (given,) = served.given
    called = replace(person, name=plain.action("lend").params[0].name)
    trigger, response = (substitute(each, {person: called}) for each in (served.trigger, served.response))
    other = replace(served, params=(called,), trigger=trigger, response=response, given=(replace(given, value=called),))
    (live,) = read(replace(plain, liveness=(other,))).liveness
    (meant,) = (each.meant for each in live.fair if each.meant is not None)
    assert meant == Node("Equal", (Node("Bound", (0,)), Node("Apply", (Name("symbol", "p of served"), ()))))


def certified(protocol: Protocol) -> Certificates:
    """Return the certificates of all that can be proved of a small protocol."""
    writer, every = Writer(), layers(protocol)

    def entries(obligations: Iterable[Provable]) -> dict[str, Entry]:
        return {each.id: certificate(writer, each, None) for each in obligations}

    made = {}
    for layer in every:
        asked = LayerObligations.of(layer)
        made[key_of(layer)] = asked.certificates(entries(asked))
    proved: dict[str, Entry] = {}
    for name, tried in attempts(every).items():
        proved |= entries(tried[-1].obligations) if name in ("returned", "served") else {}
    return Certificates(made, {protocol.variant: proved})


def written(protocol: Protocol, certificates: Certificates, folder: Path) -> int:
    """Write the Coq files of a protocol and its certificates; return how many theorems there are."""
    whole, convert = read(protocol), Converter(read(protocol))
    files = CoqFiles(whole, [*convert.liveness(certificates)])
    theorems = files.write(folder, {layer.threat: convert.layer(layer, certificates) for layer in whole.layers})
    write_makefile(folder, [files.name])
    return theorems


def test_a_property_without_some_certificate_has_no_theorem(tmp_path: Path) -> None:
    protocol, whole = closed(), certified(closed())
    ((variant, entries),) = whole.liveness.items()
    assert len(entries) == 5 + 6
    for number, id in enumerate(entries):
        left = {name: entry for name, entry in entries.items() if name != id}
        folder = tmp_path / str(number)
        folder.mkdir()
        assert written(protocol, replace(whole, liveness={variant: left}), folder) == 1
        text = (folder / "theorems_variant_main.v").read_text("utf-8")
        assert ("in_the_end_returned :" in text, "in_the_end_served :" in text) == (
            "/served/" in id,
            "/returned/" in id,
        )


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "protocol",
    [closed(), under_one_threat(closed()), of_each(), under_one_threat(of_each())],
    ids=["all", "one threat model", "of each", "of each under one threat model"],
)
def test_coq_compiles_theorems_about_the_end_that_rest_on_nothing(protocol: Protocol, tmp_path: Path) -> None:
    assert written(protocol, certified(protocol), tmp_path) == 2
    require_theorems(tmp_path, "variant_main")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("spec_variant_main.v", "(Apply sym_who []))) true)]", "(Apply sym_who []))) false)]"),
        ("spec_variant_main.v", "(Some (Equal (Bound 0) (Apply sym_who [])))", "None"),
        ("spec_variant_main.v", "Definition response_served", "Definition response_served_before"),
        ("certificates_variant_main.v", "Definition conditions_served : list refutation := [", "[c0; "),
        (
            "theorems_variant_main.v",
            "in_the_end variant_main [] liveness_served",
            "in_the_end variant_main [] liveness_x",
        ),
    ],
)
def test_coq_compiles_nothing_about_the_end_that_is_not_proved(tmp_path: Path, file: str, old: str, new: str) -> None:
    written(closed(), certified(closed()), tmp_path)
    require_refusal(tmp_path, "variant_main", file, old, new)
