"""Certificates: how they are made, kept, read, judged and checked in workers, and what each then proves."""

import functools
import gc
import itertools
import json
import lzma
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import z3

from carnet_check.certificates import judging, production
from carnet_check.certificates.file import (
    LARGEST,
    LARGEST_FILE,
    BadCertificateFile,
    Certificates,
    Entry,
    LayerCertificates,
    Layout,
    encoded_certificates,
    load_certificates,
    place_of,
    read,
    save_certificates,
)
from carnet_check.certificates.folder import OF_NO_LAYER, UNDER_NONE, Pair, required_claims
from carnet_check.certificates.judging import cores
from carnet_check.certificates.producing.refutation import NotFound
from carnet_check.certificates.production import (
    Answer,
    Production,
    ProductionReport,
    Question,
    Searcher,
    Workers,
    answers,
    certificate,
)
from carnet_check.errors import UsageError
from carnet_check.exports.obligation_text import Writer
from carnet_check.kernel.checker import Refused
from carnet_check.loading.families import load
from carnet_check.obligations import Layer, Obligation, layers, obligations
from carnet_command.worker import OUT_OF_MEMORY, Lost
from carnet_command.workers import Pool, WorkerPool
from carnet_spec.language import Claim, Protocol, SpecificationError
from tests.unit.model_check.command import CONTROLS, TOY
from tests.unit.model_check.obligations.lending import lending

pytestmark = pytest.mark.processes


def of_the_toy() -> Certificates:
    place = place_of(load(TOY))
    assert place is not None
    return load_certificates(place)


@functools.cache
def general(*without: str) -> Layer:
    """Return the general layer of the toy, from which defences may be taken away."""
    return layers(load(TOY).protocol(without=without))[0]


def pairs(*without: str) -> list[tuple[Obligation, Entry]]:
    """Return the toy's obligations with the certificates that the toy has for them."""
    asked = judging.LayerObligations.of(general(*without))
    entries = asked.entries(of_the_toy().layers[judging.key_of(asked.layer)])
    return [(each, entry) for each in asked if (entry := entries.get(each.id)) is not None]


VICTIM = "step/lend/secrecy"


def killed(question: Question) -> Iterator[Answer]:
    if question.id == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from answers(question)


def stuck(question: Question) -> Iterator[Answer]:
    while question.id == VICTIM:
        signal.pause()
    yield from answers(question)


def greedy(question: Question) -> Iterator[Answer]:
    """Answer, but take all the memory there is on one question."""
    if question.id == VICTIM:
        yield Answer(question, reason=f"there was memory for {len(bytearray(8 << 30))}")
    yield from answers(question)


def failing(writer: Writer, obligation: Obligation, hint: Sequence[str] | None) -> Entry:
    """Look for a certificate, but fail on one obligation."""
    if obligation.id == VICTIM:
        raise RecursionError("too deep")
    return certificate(writer, obligation, hint)


def failing_inside(question: Question) -> Iterator[Answer]:
    """Answer with a search that fails on one question."""
    with patch.object(production, "certificate", failing):
        yield from answers(question)


ONE = Entry("0123456789abcdef", ("inv:a", "guard:b"), ("now.x", "enum.Y.Z"), "u 0 c f0 x 1 0 0 c m1")
SAME = replace(ONE, names=("enum.Y.Z", "now.x"), tokens="u 0 c f1 x 1 0 0 c m0")
OTHER = Entry("fedcba9876543210", (), (), "u 0 x 1 0 0")
LAYOUT = Layout(("a", "b"), (("act", "10"), ("wait", "00")))
LAYER = LayerCertificates(LAYOUT, (ONE, SAME, None), {"b": OTHER, "a": None})
CERTIFICATES = Certificates({("main", ""): LAYER, ("main", "thief"): LayerCertificates(LAYOUT, (OTHER,), {})})


def content(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(data))
    return found


def packed(value: object) -> bytes:
    return lzma.compress(json.dumps(value).encode())


def refused(data: bytes) -> str:
    with pytest.raises(BadCertificateFile) as caught:
        read(data, "that")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("that is no file of certificates")
    return str(caught.value)


def test_a_file_says_what_was_written() -> None:
    found = read(encoded_certificates(CERTIFICATES))
    assert set(found.layers) == set(CERTIFICATES.layers)
    layer = found.layers["main", ""]
    assert layer.layout == LAYOUT
    first, second, none = layer.entries
    assert first == second
    assert none is None
    assert first is not None
    assert (first.digest, first.hypotheses) == (ONE.digest, ONE.hypotheses)
    assert [first.names[number] for number in (0, 1)] == ["enum.Y.Z", "now.x"]
    assert first.tokens == "u 0 c f1 x 1 0 0 c m0"
    assert layer.skipped["a"] is None


def test_equal_certificates_are_there_once_bound_to_the_first_digits_of_a_digest() -> None:
    data = encoded_certificates(CERTIFICATES)
    assert len(content(data)["entries"]) == 2
    assert encoded_certificates(read(data)) == data
    assert encoded_certificates(Certificates(dict(reversed(list(CERTIFICATES.layers.items()))))) == data
    assert ONE.is_of(ONE.digest + "0" * 48)
    assert not ONE.is_of("1" + ONE.digest[1:] + "0" * 48)


SPOILT: dict[str, Any] = {
    "another format": {"format": "carnet-certificates/2"},
    "no format": {"format": None},
    "names that are no list": {"names": "abc"},
    "names that are no texts": {"names": [1, 2]},
    "entries that are short": {"entries": [["0123456789abcdef", []]]},
    "a hypothesis that is not there": {"entries": [["0123456789abcdef", [9], "u 0"]]},
    "a hypothesis before the first": {"entries": [["0123456789abcdef", [-1], "u 0"]]},
    "tokens that are no text": {"entries": [["0123456789abcdef", [], 7]]},
    "an entry that is not there": {"index": {"main": {"": [99]}}},
    "an entry before the first": {"index": {"main": {"": [-1]}}},
    "an entry that is a truth value": {"index": {"main": {"": [True]}}},
    "an index that is a list": {"index": []},
    "a layer without a layout": {"layout": {}},
    "a layer without skipped pairs": {"skipped": {"main": {}}},
}


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_content_is_refused(name: str) -> None:
    refused(packed(content(encoded_certificates(CERTIFICATES)) | SPOILT[name]))


def test_what_is_no_file_or_unpacks_to_a_large_one_is_refused() -> None:
    data = encoded_certificates(CERTIFICATES)
    for spoilt in (b"", b"certificates", data[:-1], data + b"\0", data + data, packed([]), packed(7)):
        refused(spoilt)
    refused(lzma.compress(b"[" * 100_000))
    refused(lzma.compress(b"\xff"))
    bomb = lzma.compress(b" " * (2 * LARGEST))
    assert len(bomb) < LARGEST_FILE
    assert "does not decompress" in refused(bomb)
    assert "has more than" in refused(bytes(LARGEST_FILE + 1))


def test_certificates_lie_beside_the_specification() -> None:
    package = place_of(load("gpu-travelling"))
    assert package is not None
    assert package.parts[-2:] == ("gpu_travelling", "certificates.json.xz")
    assert place_of(load(TOY)) == Path(TOY).with_name("toy.certificates.json.xz")
    assert place_of(load(f"{CONTROLS}:sound")) == Path(CONTROLS).with_name("controls.sound.certificates.json.xz")
    assert place_of(load("carnet_spec.protocols.gpu_travelling:FAMILY")) == package


def test_a_place_without_a_file_has_no_certificates_and_a_folder_is_none(tmp_path: Path) -> None:
    assert not load_certificates(tmp_path / "none.json.xz").layers
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (tmp_path, pipe, Path("/dev/zero")):
        with pytest.raises(BadCertificateFile, match="cannot read"):
            load_certificates(place)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "c.json.xz"
    assert save_certificates(file, CERTIFICATES) == file.stat().st_size
    assert encoded_certificates(load_certificates(file)) == file.read_bytes()
    with pytest.raises(UsageError, match="cannot write"):
        save_certificates(tmp_path / "none" / "c.json.xz", CERTIFICATES)
    assert [each.name for each in tmp_path.iterdir()] == ["c.json.xz"]


def test_every_certificate_of_the_toy_serves_and_where_there_is_none_that_is_said() -> None:
    judge = judging.Judge()
    assert len(pairs()) > 15
    assert not [why for each, entry in pairs() if (why := judge.why_refused(each, entry))]
    assert judging.Judge().why_refused(pairs()[0][0], None) == "there is no certificate"


def test_a_certificate_of_another_text_is_stale_and_of_another_obligation_refused() -> None:
    judge = judging.Judge()
    for each, entry in pairs():
        spoilt = replace(entry, digest="0" * 16)
        assert judge.why_refused(each, spoilt) == "the certificate is stale: it is bound to another text"
        foreign = replace(entry, hypotheses=("inv:nowhere",))
        assert "uses a hypothesis that is not there any more" in judge.why_refused(each, foreign)
    judge, known = judging.Judge(), pairs()
    assert all(judge.why_refused(each, entry) for (each, _), (_, entry) in itertools.pairwise(known))


def test_a_certificate_has_to_prove_its_text_and_be_no_longer_than_allowed() -> None:
    each, entry = next((each, entry) for each, entry in pairs() if entry.hypotheses)
    assert "the certificate is refused" in judging.Judge().why_refused(each, replace(entry, tokens="x 0 0"))
    judge = judging.Judge()
    assert not judge.why_refused(each, entry)
    assert "the certificate is refused" in judge.why_refused(each, replace(entry, tokens="u 0 x 1 0 0"))
    each, entry = pairs()[0]
    count = entry.tokens.count(" ") + 1
    assert not judging.Judge(count).why_refused(each, entry)
    assert "more than" in judging.Judge(count - 1).why_refused(each, entry)


def test_a_certificate_that_was_accepted_is_refused_for_another_obligation_of_the_same_step() -> None:
    of_steps = [(each, entry) for each, entry in pairs() if each.constants]
    (one, entry), (other, _) = next(two for two in itertools.pairwise(of_steps) if two[0][0].steps is two[1][0].steps)
    judge = judging.Judge()
    assert not judge.why_refused(one, entry)
    assert judge.why_refused(other, entry) == "the certificate is stale: it is bound to another text"
    assert not judge.why_refused(one, entry)


def test_designs_that_differ_in_a_guard_share_the_goals_of_all_steps() -> None:
    whole, removed = ([id(each.goal) for each, _ in pairs(*without)] for without in ((), ("fresh-key",)))
    assert whole == removed


def test_a_removed_defence_makes_a_certificate_stale() -> None:
    judge = judging.Judge()
    refused = {each.id: why for each, entry in pairs("fresh-key") if (why := judge.why_refused(each, entry))}
    assert refused
    assert all("stale" in why for why in refused.values())
    assert all(id.startswith("step/lend/") for id in refused)


def test_a_stale_certificate_is_adapted_if_it_proves_the_new_text() -> None:
    writer = Writer()
    for each, entry in pairs():
        other = replace(entry, digest="0" * 16)
        found = judging.adapt_entry(writer, each, other)
        assert found is not None
        assert (found.digest, set(found.hypotheses)) == (entry.digest, set(entry.hypotheses))
        judging.follow(writer.text(each, found.hypotheses), found.names, found.tokens)
    writer, (each, entry) = Writer(), pairs()[0]
    assert judging.adapt_entry(writer, each, replace(entry, tokens="x 0 0")) is None
    assert judging.adapt_entry(writer, each, replace(entry, tokens="u 99")) is None
    assert judging.adapt_entry(writer, each, replace(entry, hypotheses=("inv:nowhere",))) is None


def test_a_certificate_is_of_its_text_alone() -> None:
    writer = Writer()
    known = [(each, entry) for each, entry in pairs() if entry.hypotheses]
    for each, entry in known:
        text = writer.text(each, entry.hypotheses)
        judging.follow(text, entry.names, entry.tokens)
        with pytest.raises(Refused):
            judging.follow(text.replace("(assert (! (not ", "(assert (! (and true "), entry.names, entry.tokens)
    with pytest.raises(SpecificationError):
        writer.text(known[0][0], ("inv:nowhere",))


PROTOCOL = lending().protocol()  #: 'owned' is claimed under both threat models, 'a/lone' under 'one' alone.


def judged(protocol: Protocol, *unproved: str) -> list[Pair]:
    return [each.pair_given(unproved) for each in required_claims(protocol) if not each.declared]


def proved(protocol: Protocol, *unproved: str) -> list[tuple[str, str]]:
    return [(each.claim, each.threat) for each in judged(protocol, *unproved) if not each.why]


def changed(name: str, **fields: object) -> Protocol:
    """Return the protocol with a claim changed in a way that the language does not let anybody write."""
    changed = replace(PROTOCOL.claim(name), **fields)  # type: ignore[arg-type]  # any field
    claims = tuple(changed if each.name == name else each for each in PROTOCOL.claims)
    return replace(PROTOCOL, claims=claims)


def test_claims_are_proved_under_each_of_their_threat_models_or_in_general() -> None:
    assert proved(PROTOCOL) == [("owned", "one"), ("owned", "any"), ("a/lone", "one")]
    assert proved(changed("a/lone", under=(), fails_under=("any",))) == [("owned", "one"), ("owned", "any")]
    assert proved(replace(PROTOCOL, threats=())) == [("owned", ""), ("a/lone", "")]


@pytest.mark.parametrize("obligation", [each.id for each in obligations(layers(PROTOCOL)[0])])
def test_an_open_obligation_of_every_threat_model_leaves_nothing_proved(obligation: str) -> None:
    assert proved(PROTOCOL, obligation) == []


@pytest.mark.parametrize("obligation", [each.id for each in obligations(layers(PROTOCOL)[1])])
def test_an_open_obligation_of_a_threat_model_leaves_its_own_claims_unproved(obligation: str) -> None:
    assert proved(PROTOCOL, obligation) == [("owned", "one"), ("owned", "any")]
    assert judged(PROTOCOL, obligation)[-1].why == "1 of the obligations that it rests on are not proved"


def test_a_claim_of_no_layer_or_under_no_threat_model_is_not_proved() -> None:
    *_, last = judged(changed("a/lone", under=("another",)))
    assert (last.claim, last.threat, last.why) == ("a/lone", "another", OF_NO_LAYER)
    *_, last = judged(changed("a/lone", under=()))
    assert (last.claim, last.threat, last.why) == ("a/lone", "", UNDER_NONE)


def test_what_is_declared_is_apart() -> None:
    later = Claim("later", None, "It will hold.", "R-2", "tests", ("one",), declared=True)
    found = [
        each.pair.claim
        for each in required_claims(replace(PROTOCOL, claims=(*PROTOCOL.claims, later)))
        if each.declared
    ]
    assert found == ["later"]


NOTHING = Certificates({})


class NoWorkers(Workers):
    """Answers nothing, because nothing may be asked."""

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        super().__init__(1)
        self.asked: list[str] = []

    def answers(self, questions: Sequence[Question]) -> Iterator[Answer]:
        self.asked += [question.id for question in questions]
        return iter(())


def made(before: Certificates, workers: Workers, *without: str) -> tuple[ProductionReport, Certificates]:
    production = Production(load(TOY).reference, before, workers, lambda *_: None)
    return production.make([general(*without)], {}), production.certificates


def test_every_obligation_has_a_certificate_that_is_found_or_kept_with_its_hypotheses() -> None:
    writer, judge = Writer(), judging.Judge()
    for each in judging.LayerObligations.of(general()):
        assert not judge.why_refused(each, certificate(writer, each, None))
    workers = NoWorkers()
    report, certificates = made(of_the_toy(), workers)
    assert not workers.asked
    assert report.kept == report.obligations == len(list(judging.LayerObligations.of(general())))
    assert certificates.layers == of_the_toy().layers
    layer = general()
    assert set(cores(of_the_toy(), [layer])) == {("main", each.id) for each in obligations(layer)}
    assert cores(NOTHING, [layer]) == {}


def test_after_an_edit_only_what_it_spoilt_is_searched_for() -> None:
    workers = NoWorkers()
    report, certificates = made(of_the_toy(), workers, "return-checked")
    assert report.kept > report.obligations // 2
    assert {id.split("/")[1] for id in workers.asked} <= {"take_back", "forget"}
    layer = certificates.layers[judging.key_of(general())]
    judge, asked = judging.Judge(), judging.LayerObligations.of(general("return-checked"))
    entries = asked.entries(layer)
    accepted = [each.id for each in asked if not judge.why_refused(each, entries[each.id])]
    assert len(accepted) == report.kept + report.adapted


LOST = {
    "killed": (killed, "the worker was killed by signal 9"),
    "stuck": (stuck, "the worker said nothing for 10 s"),
    "greedy": (greedy, OUT_OF_MEMORY),
    "failing": (failing_inside, "RecursionError too deep"),
}


def test_a_search_that_finds_nothing_leaves_no_solver_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only the next collection of garbage frees takes the solver's memory from the searches until then."""
    monkeypatch.setattr(production, "HINTED", 0.2)
    (open_,) = (each for each in obligations(general("fresh-key")) if each.id == "step/lend/secrecy")
    gc.collect()
    gc.disable()
    try:
        before = sum(isinstance(each, z3.Context) for each in gc.get_objects())
        with pytest.raises(NotFound):
            certificate(Writer(), open_, None)
        assert sum(isinstance(each, z3.Context) for each in gc.get_objects()) == before
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["killed", "failing", "greedy", pytest.param("stuck", marks=pytest.mark.slow)])
def test_a_lost_worker_costs_only_what_it_was_asked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # workers import nothing from the current folder, and here they need the tests
    search: Searcher
    search, why = LOST[name]
    patience = 10.0 if name == "stuck" else 120.0
    with Workers(1, patience=patience, memory=2 << 30, search=search) as workers:
        report, certificates = made(NOTHING, workers)
    assert set(report.missing) == {VICTIM}
    assert why in report.missing[VICTIM]
    assert report.found == report.obligations - 1
    assert [each for layer in certificates.layers.values() for each in layer.entries].count(None) == 1


FALSE = """\
(set-option :produce-unsat-cores true)
(set-logic ALL)
(assert (! false :named goal))
(check-sat)
(get-unsat-core)
"""
PROVES, PROVES_NOTHING, IS_NONE = "u 0 x 1 0 0", "u 0", "nonsense"


def bound(number: int, tokens: str = PROVES) -> judging.Bound:
    """Return a certificate that is told apart by its digest alone."""
    return judging.Bound(f"{number:064}", FALSE, (), tokens)


EVERY = [bound(0), bound(1, PROVES_NOTHING), bound(2, IS_NONE), *map(bound, range(3, 2 * judging.BATCH + 3))]


def test_workers_say_what_is_said_here() -> None:
    here = judging.in_turn(EVERY)
    assert list(here)[1:] == [each.identity for each in EVERY][1:]
    assert [bool(why) for why in here.values()] == [False, True, True] + [False] * 2 * judging.BATCH
    with WorkerPool(2, keep=False) as pool:
        assert judging.in_workers(pool)(iter(EVERY)) == here
        assert judging.in_workers(pool)(()) == {}


class Falls(Pool):
    """Answers in this process, and falls over some digests."""

    def __init__(self, *over: int) -> None:
        self.over = {bound(number).digest for number in over}
        self.asked: list[int] = []

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, function: Any, parts: Iterable[Any], last: object = None) -> Iterator[tuple[Any, Any]]:
        for part in parts:
            self.asked.append(len(part))
            for (key, why), each in zip(function(part), part, strict=True):
                if each.digest in self.over:
                    yield part, Lost("it fell")
                    break
                yield part, (key, why)


def test_a_lost_worker_costs_the_certificate_that_it_was_at() -> None:
    pool = Falls(0, 5, judging.BATCH - 1, 2 * judging.BATCH + 2)
    said = judging.in_workers(pool)(EVERY)
    lost = [int(digest) for (digest, _, _), why in said.items() if "no answer: it fell" in why]
    assert sorted(lost) == [0, 5, judging.BATCH - 1, 2 * judging.BATCH + 2]
    assert {key: why for key, why in said.items() if "no answer" not in why} == {
        key: why for key, why in judging.in_turn(EVERY).items() if int(key[0]) not in lost
    }
    assert pool.asked[:3] == [judging.BATCH, judging.BATCH, 3]
