"""What notebooks show: every text as it is written, whatever it is, and nothing else that a browser would act on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carnet_spec.language import markup
from carnet_spec.trace import Trace, TraceStep
from tests.fixtures import toy
from tests.fixtures.shown_html import HOSTILE, read


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_is_shown_wherever_it_stands(text: str) -> None:
    table = markup.table(text, (text, text), [(text, text), (text, markup.lines([text, text]))])
    whole = markup.document(text, table, markup.folded(text, markup.text_block([text])), markup.paragraph(text))
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    assert read(whole).text.count(shown) == 12


def test_what_turns_the_direction_of_text_is_written_out() -> None:
    assert markup.shown("a\u202eb") == "a\\u202eb"


def test_html_is_not_escaped_again() -> None:
    assert markup.shown(markup.strong("<")) == "<strong>&lt;</strong>"
    assert markup.strong(markup.shown("&")) == "<strong>&amp;</strong>"


def test_what_is_empty_leaves_nothing_behind() -> None:
    empty = markup.table("none", ("a",), [])
    assert not empty
    assert not markup.folded("none", empty)
    assert read(markup.document("none", empty)).tags == {"div", "p", "strong"}


def test_a_long_table_says_how_much_more_there_is() -> None:
    rows = [(str(number),) for number in range(markup.MOST_ROWS + 1_000)]
    text = markup.table("long", ("number",), rows)
    assert text.count("<tr>") == markup.MOST_ROWS + 2
    assert "… and 1,000 more" in text
    assert "more" not in markup.table("long", ("number",), rows[: markup.MOST_ROWS])


# -- traces and protocols ------------------------------------------------------------------------------

STEPS = (TraceStep("lend", "owner", (("k", "k1"), ("to", "bob"))), TraceStep("read", "bob"))


def test_a_trace_shows_its_steps_by_number() -> None:
    html = Trace("toy", "main", ("fresh-key", "lock"), "collusion", STEPS)._repr_html_()
    assert "Trace of toy, main without fresh-key, lock under collusion" in html
    assert "2 steps" in html
    rows = [line for line in html.splitlines() if 'scope="row"' in line]
    assert [read(row).text for row in rows] == ["1lendownerk = k1, to = bob", "2readbob"]
    assert "again" not in html


@pytest.mark.parametrize(
    ("loop", "says"), [(1, "from 2 on are taken again and again"), (2, "nothing happens any more")]
)
def test_a_lasso_says_what_is_taken_for_ever(loop: int, says: str) -> None:
    assert says in Trace("toy", "main", (), "", STEPS, loop)._repr_html_()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_trace_is_shown_as_text(text: str) -> None:
    trace = Trace(text, text, (text,), text, (TraceStep(text, text, ((text, text),)),))
    read(trace._repr_html_())


def test_a_protocol_shows_parties_threat_models_claims_and_actions() -> None:
    protocol = toy.FAMILY.protocol("", ("fresh-key",))
    html = protocol._repr_html_()
    text = read(html).text
    assert "toy, main without fresh-key" in text
    names = [name for action in protocol.actions for name in (action.name, action.by.name)]
    names += [claim.name for claim in protocol.claims]
    names += [threat.id for threat in protocol.threats]
    assert [name for name in names if name not in text] == []
    assert [claim.sentence for claim in protocol.claims if claim.sentence not in text] == []
    adversary = next(line for line in html.splitlines() if ">adversary<" in line)
    assert ">no<" in adversary


def test_a_protocol_says_where_claims_fall_or_are_not_stated() -> None:
    protocol = toy.FAMILY.protocol()
    (claim, *_) = protocol.claims
    fallen = replace(claim, under=(), fails_under=("collusion",))
    declared = replace(claim, name="later", invariant=None, declared=True)
    html = replace(protocol, claims=(fallen, declared))._repr_html_()
    rows = [read(line).text for line in html.splitlines() if 'scope="row"' in line]
    assert f"{claim.name}{claim.sentence}collusion" in rows
    assert f"later{claim.sentence}not yet: it is only declared" in rows
    assert "of everybody" in replace(protocol, threats=())._repr_html_()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_protocol_is_shown_as_text(text: str) -> None:
    protocol = toy.FAMILY.protocol()
    action = replace(protocol.actions[0], name=text, says=text, by=replace(protocol.actions[0].by, name=text))
    hostile = replace(
        protocol,
        title=text,
        id=text,
        variant=text,
        without=(text,),
        actions=(action,),
        claims=(replace(protocol.claims[0], name=text, sentence=text, under=(text,), fails_under=(text,)),),
        threats=(replace(protocol.threats[0], id=text, title=text),),
    )
    read(hostile._repr_html_())
