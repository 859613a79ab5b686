"""Which certificates serve: fresh ones do, and stale, foreign and unaccepted ones are refused by name."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from carnet_check.certificates.judging import Judge, adapted, follow
from carnet_check.exports.obligation_text import Writer
from carnet_check.kernel.checker import Refused
from carnet_spec.language import SpecificationError
from tests.unit.model_check.certificates.toys import pairs


def test_every_certificate_of_the_toy_serves() -> None:
    judge = Judge()
    assert len(pairs()) > 15
    assert not [why for each, entry in pairs() if (why := judge.why_refused(each, entry))]


def test_where_there_is_none_that_is_said() -> None:
    assert Judge().why_refused(pairs()[0][0], None) == "there is no certificate"


def test_a_certificate_of_another_text_is_stale() -> None:
    judge = Judge()
    for each, entry in pairs():
        spoilt = replace(entry, digest="0" * 16)
        assert judge.why_refused(each, spoilt) == "the certificate is stale: it is bound to another text"
        foreign = replace(entry, hypotheses=("inv:nowhere",))
        assert "uses a hypothesis that is not there any more" in judge.why_refused(each, foreign)


def test_a_certificate_of_another_obligation_is_refused() -> None:
    judge, known = Judge(), pairs()
    refused = [judge.why_refused(each, entry) for (each, _), (_, entry) in itertools.pairwise(known)]
    assert all(refused)


def test_a_certificate_bound_to_the_right_text_has_to_prove_it() -> None:
    each, entry = next((each, entry) for each, entry in pairs() if entry.hypotheses)
    assert "the certificate is refused" in Judge().why_refused(each, replace(entry, tokens="x 0 0"))
    judge = Judge()
    assert not judge.why_refused(each, entry)
    assert "the certificate is refused" in judge.why_refused(each, replace(entry, tokens="u 0 x 1 0 0"))


def test_longer_certificates_than_allowed_are_not_followed() -> None:
    each, entry = pairs()[0]
    count = entry.tokens.count(" ") + 1
    assert not Judge(count).why_refused(each, entry)
    assert "more than" in Judge(count - 1).why_refused(each, entry)


def test_a_removed_defence_makes_a_certificate_stale() -> None:
    judge = Judge()
    refused = {each.id: why for each, entry in pairs("fresh-key") if (why := judge.why_refused(each, entry))}
    assert refused
    assert all("stale" in why for why in refused.values())
    assert all(id.startswith("step/lend/") for id in refused)


def test_a_stale_certificate_that_proves_the_new_text_is_adapted() -> None:
    writer = Writer()
    for each, entry in pairs():
        other = replace(entry, digest="0" * 16)
        found = adapted(writer, each, other)
        assert found is not None
        assert (found.digest, set(found.hypotheses)) == (entry.digest, set(entry.hypotheses))
        follow(writer.text(each, found.hypotheses), found.names, found.tokens)


def test_what_proves_nothing_is_not_adapted() -> None:
    writer, (each, entry) = Writer(), pairs()[0]
    assert adapted(writer, each, replace(entry, tokens="x 0 0")) is None
    assert adapted(writer, each, replace(entry, tokens="u 99")) is None
    assert adapted(writer, each, replace(entry, hypotheses=("inv:nowhere",))) is None


def test_a_certificate_is_of_its_text_alone() -> None:
    writer = Writer()
    known = [(each, entry) for each, entry in pairs() if entry.hypotheses]
    for each, entry in known:
        text = writer.text(each, entry.hypotheses)
        follow(text, entry.names, entry.tokens)
        with pytest.raises(Refused):
            follow(text.replace("(assert (! (not ", "(assert (! (and true "), entry.names, entry.tokens)
    with pytest.raises(SpecificationError):
        writer.text(known[0][0], ("inv:nowhere",))
