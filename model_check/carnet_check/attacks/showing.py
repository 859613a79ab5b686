"""An attack as a notebook shows it: numbered steps in sentences, the decisive one marked, and why the claim fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from carnet_check.attacks.decisive import Decisive
from carnet_check.attacks.sequence import ShownStep, sequence_chart
from carnet_check.semantics import Interpreter, State
from carnet_check.wording import reasons
from carnet_command.text import counted
from carnet_spec.language import Eventually, Invariant, markup
from carnet_spec.trace import Trace

HEAD = ("step", "by", "what happens", "who learns what")


def as_html(
    judge: Interpreter,
    failing: Invariant | Eventually,
    trace: Trace,
    states: Sequence[State],
    decisive: Decisive | None,
) -> markup.Html:
    """Return an attack as HTML.

    Args:
        judge: replayed the trace.
        failing: the invariant that fails in the last state, or what a lasso waits for in vain.
        trace: the steps.
        states: those along the trace, the first one included.
        decisive: where the whole design does something else, if that is known.
    """
    chart = sequence_chart(judge.protocol, states, trace)
    taken = sum(shown.number is not None for shown in chart.steps)
    caption = f"{counted(taken, 'step')} and {counted(len(chart.steps) - taken, 'deduction')}"
    about = markup.design(trace.protocol, trace.variant, trace.without)
    return markup.document(
        f"{failing.name} falls under {trace.threat}: {about}",
        markup.table(caption, HEAD, _rows(chart.steps, decisive)),
        _for_ever(chart.steps, trace),
        markup.text_block(reasons(judge, failing, trace, states)),
    )


def _rows(steps: Sequence[ShownStep], decisive: Decisive | None) -> Iterator[tuple[str, ...]]:
    for position, shown in enumerate(steps):
        number = "" if shown.number is None else str(shown.number)
        learned = markup.lines(f"{party} learns {', '.join(facts)}" for party, facts in shown.learned.items())
        remark = decisive.remark.get(position) if decisive else None
        if remark is None:
            yield number, shown.actor, shown.sentence, learned
        else:
            told = markup.lines([markup.strong(shown.sentence), markup.strong(remark)])
            yield markup.strong(f"▶ {number}".strip()), shown.actor, told, learned


def _for_ever(steps: Sequence[ShownStep], trace: Trace) -> markup.Html:
    """Say of a run that never ends which steps are taken again."""
    if trace.loop is None:
        return markup.Html()
    again = [str(shown.number) for shown in steps[trace.loop :] if shown.number is not None]
    return markup.paragraph(
        f"Again and again: steps {', '.join(again)}." if again else "Then nothing happens any more."
    )
