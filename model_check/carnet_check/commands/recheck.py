"""``carnet recheck``: check a folder of obligations and certificates again, without any search."""

import contextlib
import gc
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

import carnet_check.certificates.folder as certified
from carnet_check.commands.common import cores, json_option, rerun_command, show
from carnet_check.coq import folder as in_coq
from carnet_check.coq import program as coq_program
from carnet_check.errors import UsageError
from carnet_command.exit_codes import ExitCode, deciding
from carnet_command.text import plural, wrap_text
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool, only

Answer = TypeVar("Answer")
SHOWN = 10  #: The most obligations without a proof that are named.
SHARES = 4  #: The number of parts in which the certificates are checked, so that several cores can work.
#: Seconds without an answer after which a process counts as stuck; those of a valid folder take a few at most.
PATIENCE = 1800.0
UNCHECKED_AXIOMS = "whether they contradict each other was not checked: `carnet verify` checks it, and `carnet exhaust`"


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@json_option
@click.pass_context
def recheck(context: click.Context, folder: Path, as_json: bool) -> int:
    """Check every certificate in DIR, which `carnet certify --out DIR` wrote; nothing is searched for.

    The obligations of DIR/systems are made anew: each needs its row in DIR/index.csv, its text and a certificate that
    the checker accepts. The program that is proved sound in Coq, where it is built, does the same by itself. Whether
    these specifications are those that you have in mind, compare their digests.
    """
    compared, kernel, verified = _run_checks(folder)
    every, seconds = list(certified.join_verdicts(compared.answer.rows, kernel.answer)), kernel.seconds
    verdicts, verified_seconds = verified.answer, verified.seconds
    accepted = None if verdicts is None else all(each.accepted for each in verdicts)
    claims = _judged(compared.answer.stated, every)
    lively = _judged(compared.answer.lively, every)
    spoken = {each.variant for each in (*claims, *lively)}
    empty = [name for name in compared.answer.specifications if name not in spoken]
    codes = [*(ExitCode.UNKNOWN for each in (*claims, *lively) if each.why), *(ExitCode.VACUOUS for _ in empty)]
    code = deciding([_code(every, verdicts or ()), *codes])
    declared = [each.pair for each in compared.answer.stated if each.declared]
    open_ = [each.pair for each in compared.answer.lively if each.declared]
    value = {
        "obligations": sum(each.required for each in every),
        "unproved": [
            {"variant": each.variant, "obligation": each.obligation, "why": each.why} for each in every if each.why
        ],
        "verified": accepted,
        "seconds": seconds,
        "specifications": compared.answer.specifications,
        "verified_seconds": verified_seconds,
        "verified_by": None if (executable := coq_program.program()) is None else coq_program.identity(executable),
        "claims": [asdict(each) for each in claims],
        "declared": [{"variant": each.variant, "claim": each.claim} for each in declared],
        "liveness": [
            {"variant": each.variant, "property": each.claim, "threat": each.threat, "why": each.why}
            for each in (*lively, *open_)
        ],
        "rerun": rerun_command(context),
    }
    lines = itertools.chain(
        (
            line
            for name, digest in compared.answer.specifications.items()
            for line in wrap_text("variant", f"{name}, spec digest {digest}")
        ),
        _lines(every, seconds),
        _in_coq(verified, bool(lively)),
        _claimed(claims, declared),
        _lively(lively, open_),
        (
            line
            for name in empty
            for line in wrap_text("vacuous", f"{name}: nothing is claimed, so nothing is proved of it")
        ),
    )
    show(context, as_json, value, lines)
    return code


@dataclass(frozen=True, slots=True)
class TimedAnswer(Generic[Answer]):
    """An answer, and the seconds that it took, in all processes together."""

    answer: Answer
    seconds: float


def _run_checks(
    folder: Path,
) -> tuple[
    TimedAnswer[certified.IndexComparison],
    TimedAnswer[dict[str, certified.TextVerdict]],
    TimedAnswer[list[in_coq.Verdict] | None],
]:
    """Compare the index with the variants, and run both checkers, in parallel if there are enough cores.

    The index is read here, once. If a process is lost, its results count as not established; all others are reported.

    Raises UsageError if the folder is not of the form that ``carnet certify --out`` writes, or it changes meanwhile.
    """
    index = certified.read_index(folder)
    with _uncollected():
        rows = certified.rows_of(index, folder)
        texts = certified.digests(rows)
    longest: list[Part] = [
        (verdicts_of_coq, (folder, coq_program.program())),
        (certified.compare_index, (folder, index)),
    ]
    shares: list[Part] = [(certified.check_texts, (folder, texts[part::SHARES])) for part in range(SHARES)]
    said: dict[Question, list[TimedAnswer[Any]]] = {
        certified.compare_index: [],
        verdicts_of_coq: [],
        certified.check_texts: [],
    }
    with WorkerPool(cores(), patience=PATIENCE, keep=False) as pool:
        for (question, about), answer in pool.results(_timed_answer, longest + shares, only):
            if not isinstance(answer, Lost):
                said[question].append(answer)
            elif question is certified.check_texts:
                said[certified.check_texts].append(
                    TimedAnswer(dict.fromkeys(about[1], certified.unchecked_text(answer.reason)), 0.0)
                )
            elif question is certified.compare_index:
                said[certified.compare_index].append(TimedAnswer(certified.unusable_index(rows, answer.reason), 0.0))
            else:
                said[verdicts_of_coq].append(TimedAnswer([in_coq.unknown_verdict("every variant", answer.reason)], 0.0))
    (found,), (verdicts,) = said[certified.compare_index], said[verdicts_of_coq]
    _require_same(folder, found.answer.specifications, verdicts.answer)
    outcomes = {digest: outcome for share in said[certified.check_texts] for digest, outcome in share.answer.items()}
    return found, TimedAnswer(outcomes, sum(share.seconds for share in said[certified.check_texts])), verdicts


def _require_same(folder: Path, specifications: Mapping[str, str], verdicts: Sequence[in_coq.Verdict] | None) -> None:
    """Require that all processes read the same variants."""
    told = {each.variant: each.digest for each in verdicts or () if each.digest}
    if told and specifications and told != specifications:
        raise UsageError(f"the variants in '{folder}' changed while they were read: check them again")


Question = Callable[..., Any]
Part = tuple[Question, tuple[Any, ...]]


def _timed_answer(part: Part) -> Iterator[TimedAnswer[Any]]:
    """Yield the answer to a part, with its time; runs in a separate process."""
    question, about = part
    began = time.monotonic()
    with _uncollected():
        answer = question(*about)
    yield TimedAnswer(answer, time.monotonic() - began)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Disable cyclic garbage collection in the block, which keeps millions of terms: that saves a third of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def verdicts_of_coq(folder: Path, program: Path | None) -> list[in_coq.Verdict] | None:
    """Return the verdicts of the program proved sound in Coq on every variant; None if the program is not built.

    Raises CarnetError if the program cannot be run, or the folder cannot be read.
    """
    return None if program is None else list(in_coq.check_certificates(folder, program))


def _code(every: Sequence[certified.RowVerdict], verdicts: Sequence[in_coq.Verdict]) -> ExitCode:
    """Return 1 if anything is refused, 3 if anything is missing or there is nothing, and 5 if only Coq refuses.

    If only Coq accepts, that is no disagreement: it generates the obligations and does not read their texts, so a
    damaged text does not affect it. A program that exceeds its limits refuses nothing.
    """
    codes = [ExitCode.UNKNOWN if each.missing else ExitCode.VIOLATED for each in every if each.why]
    refused = [each for each in verdicts if not each.accepted]
    if not codes and any(each.decided for each in refused):
        return ExitCode.INTERNAL
    return deciding([*codes, *(ExitCode.UNKNOWN for _ in refused)] if every else [ExitCode.UNKNOWN])


def _judged(stated: Sequence[certified.RequiredClaim], every: Sequence[certified.RowVerdict]) -> list[certified.Pair]:
    """Return each claim under each of its threat models, with why it is not proved."""
    unproved: dict[str, list[str]] = {}
    for row in every:
        if row.why:
            unproved.setdefault(row.variant, []).append(row.obligation)
    return [each.pair_given(unproved.get(each.pair.variant, ())) for each in stated if not each.declared]


def _claimed(claims: Sequence[certified.Pair], declared: Sequence[certified.Pair]) -> Iterator[str]:
    """Yield the lines for how many claims are proved under how many threat models, and which are not."""
    for variant in dict.fromkeys(each.variant for each in (*claims, *declared)):
        mine = [each for each in claims if each.variant == variant]
        names = dict.fromkeys(each.claim for each in mine)
        proved = sum(not each.why for each in mine)
        pairs = plural(len(mine), "pair") + " of a claim and a threat model"
        said = f"{variant}: {plural(len(names), 'claim')}, {proved:,} of {pairs} proved"
        yield from wrap_text("claims", said)
        for each in [each for each in mine if each.why][:SHOWN]:
            under = f" under {each.threat}" if each.threat else ""
            yield from wrap_text("unproved", f"{variant}, claim {each.claim}{under}: {each.why}")
        later = ", ".join(each.claim for each in declared if each.variant == variant)
        if later:
            yield from wrap_text("declared", f"{variant}: {later}; to be stated later, and proved by nothing")
    yield from wrap_text("axioms", UNCHECKED_AXIOMS)


def _lively(judged: Sequence[certified.Pair], open_: Sequence[certified.Pair]) -> Iterator[str]:
    """Yield the lines for how many liveness properties are proved, and which are not."""
    for variant in dict.fromkeys(each.variant for each in (*judged, *open_)):
        mine = [each for each in (*judged, *open_) if each.variant == variant]
        proved = sum(not each.why for each in mine)
        yield from wrap_text("liveness", f"{variant}: {proved:,} of {len(mine):,} proved")
        for each in [each for each in mine if each.why][:SHOWN]:
            yield from wrap_text("unproved", f"{variant}, liveness property {each.claim}: {each.why}")


def _lines(every: Sequence[certified.RowVerdict], seconds: float) -> Iterator[str]:
    unproved = [each for each in every if each.why]
    texts = plural(len({each.digest for each in every}), "text")
    accepted = plural(sum(each.required and not each.why for each in every), "obligation")
    of = sum(each.required for each in every)
    yield from wrap_text("checker", f"accepts the certificates of {accepted} of {of:,} ({texts}), {seconds:.1f} s")
    for each in unproved[:SHOWN]:
        yield from wrap_text("unproved", f"{each.variant} {each.obligation}: {each.why}")
    if len(unproved) > SHOWN:
        yield from wrap_text("unproved", f"and {len(unproved) - SHOWN:,} more")


def _in_coq(verified: TimedAnswer[list[in_coq.Verdict] | None], is_lively: bool) -> Iterator[str]:
    executable = coq_program.program()
    if verified.answer is None or executable is None:
        builds = f"`make -C model_check/coq program` builds the program, and {coq_program.VARIABLE} names it"
        yield from wrap_text("in Coq", f"not asked: {builds}")
        return
    refused = [each for each in verified.answer if not each.accepted]
    said = "accepts them all"
    if refused:
        said = "refuses some" if any(each.decided for each in refused) else "has no answer about some"
    but = "; it knows no conditions of liveness" if is_lively else ""
    asked = coq_program.identity(executable)
    yield from wrap_text("in Coq", f"{said}, {verified.seconds:.1f} s; asked was {asked}{but}")
    for each in refused:
        yield from wrap_text("in Coq", f"{each.variant}: {'; '.join(each.said[:SHOWN])}")
