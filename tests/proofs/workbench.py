"""A tool for authors of proofs: the failing obligations, and why they fail, on one screen.

``python -m tests.proofs.workbench gpu-travelling --only 'rekey.*/key-isolation' --cti 2``
"""

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from carnet_check.engines.induction.counterexample import counterexample
from carnet_check.engines.induction.induction import ProofResult, fewest_axioms_first, prove
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Workers
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import Hints, place_of
from carnet_check.loading.families import load
from carnet_spec.language import Protocol, Threat


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool with the given command-line arguments; return 0 if every requested obligation is proved, else 1."""
    options = _parser().parse_args(arguments)
    started = time.perf_counter()
    without = tuple(name for name in options.without.split(",") if name)
    protocol = load(options.protocol).protocol(options.variant, without)
    _say(
        f"{protocol.id} ({protocol.variant}): {len(protocol.invariants)} invariants, "
        f"{len(protocol.actions)} actions; built in {time.perf_counter() - started:.2f} s"
    )
    wanted = re.compile(options.only)
    named = [protocol.threat(name) for name in options.threat.split(",") if name]
    threats: list[Threat | None] = [*named] or [None]
    if options.save_hints:
        threats = [None, *fewest_axioms_first(protocol.threats)]
    results: list[ProofResult] = []
    with Workers(options.jobs) as workers:
        for threat in threats:
            result = prove(
                protocol,
                threat,
                rlimit=options.rlimit,
                progress=_progress if sys.stderr.isatty() else None,
                only=lambda each: bool(wanted.search(each.id)),
                hints={} if options.no_hints else None,
                baselines=results,
                workers=workers,
                minimise=options.core or options.save_hints,
            )
            results.append(result)
            _report(result, options)
    if options.save_hints:
        _save(results)
    return 1 if any(result.failures for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.workbench")
    parser.add_argument("protocol", help="a registered id, path.py[:name] or module:name")
    parser.add_argument("--variant", default="")
    parser.add_argument("--without", default="", metavar="D,…", help="defences to remove")
    parser.add_argument("--threat", default="", metavar="T,…", help="assume its axioms")
    parser.add_argument("--only", default="", metavar="REGEX", help="obligations whose id matches")
    parser.add_argument("--cti", nargs="?", type=int, const=3, default=0, metavar="N", help="explain the first N (3)")
    parser.add_argument("--core", action="store_true", help="print what each proof used")
    parser.add_argument("--claims", action="store_true", help="print what each claim rests on")
    parser.add_argument("--smt", metavar="FILE", help="write the first matching obligation here")
    parser.add_argument("--slow", type=int, default=0, metavar="N", help="print the N slowest")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rlimit", type=int, default=DEFAULT_RLIMIT)
    parser.add_argument("--no-hints", action="store_true")
    parser.add_argument("--save-hints", action="store_true", help="prove all and write the cores beside the spec")
    return parser


def _save(results: Sequence[ProofResult]) -> None:
    hints = hints_from(answer for result in results for answer in result.answers.values())
    path = Path(str(place_of(results[0].protocol)))
    save_hints(hints, path)
    _say(f"{len(hints)} hints in {path}")


def hints_from(answers: Iterable[SolverAnswer]) -> Hints:
    """Return the hints that these answers give; the first answer to an obligation counts."""
    found: dict[str, tuple[str, ...]] = {}
    for answer in answers:
        if answer.attempt >= 0 and answer.outcome == "proved":
            found.setdefault(answer.id, answer.core)
    return found


def save_hints(hints: Hints, path: Path) -> None:
    """Write ``hints`` to ``path``, one obligation to a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = sorted({name for hint in hints.values() for name in hint})
    place = {name: number for number, name in enumerate(names)}
    cores = [f"{json.dumps(id)}: {json.dumps(sorted(place[name] for name in hints[id]))}" for id in sorted(hints)]
    listed = ",\n".join(json.dumps(name) for name in names)
    body = ",\n".join(cores)
    path.write_text(f'{{"names": [\n{listed}],\n"cores": {{\n{body}}}}}\n', encoding="utf-8")


def _report(result: ProofResult, options: argparse.Namespace) -> None:
    counts = Counter(str(answer.outcome) for answer in result.answers.values())
    said = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))
    under = result.threat.id if result.threat else "any threat model"
    work = sum(answer.seconds for answer in result.answers.values())
    _say(f"{under}: {said} in {result.seconds:.1f} s ({work:.1f} s of solving; {result.solver})")
    if result.failures:
        _say("")
        _matrix(result.failures)
    if options.smt:
        first = next(iter(result.answers))
        Path(options.smt).write_text(result.obligations[first].smtlib(), encoding="utf-8")
    if options.core:
        for answer in result.answers.values():
            _say(f"  {answer.id}: {answer.outcome}; {', '.join(answer.core)}")
    for answer in sorted(result.answers.values(), key=lambda each: -each.seconds)[: options.slow]:
        _say(f"  {answer.seconds:7.3f} s  {answer.id} (attempt {answer.attempt})")
    for answer in result.failures[: options.cti]:
        found = None
        if answer.outcome is SolverOutcome.REFUTED:
            found = counterexample(result.obligations[answer.id])
        _say("")
        _say(found.text() if found else f"{answer.id}: {answer.outcome}, no state found")
    if options.claims:
        _claims(result)


def _matrix(failed: Sequence[SolverAnswer]) -> None:
    """Print the failing steps of each invariant on one line."""
    of: dict[str, list[str]] = {}
    for answer in failed:
        *step, invariant = answer.id.split("/")
        mark = "" if answer.outcome is SolverOutcome.REFUTED else f" ({answer.outcome}: {answer.reason})"
        of.setdefault(invariant, []).append(step[-1] + mark)
    width = max(len(invariant) for invariant in of)
    for invariant, steps in of.items():
        _say(f"  {invariant:<{width}}  {', '.join(steps)}")


def _claims(result: ProofResult) -> None:
    protocol: Protocol = result.protocol
    for claim in protocol.claims:
        if claim.invariant is None:
            continue
        proof = result.claim(claim.name)
        _say(f"\n{claim.name}: {proof.outcome} {proof.reason}")
        for what in ("lemmas", "assumptions", "axioms", "defences", "missing"):
            listed: tuple[str, ...] = getattr(proof, what)
            if listed:
                _say(f"  {what}: {', '.join(listed)}")


def _progress(done: int, total: int, _answer: SolverAnswer) -> None:
    sys.stderr.write(f"\r{done}/{total} " if done < total else "\r" + " " * 20 + "\r")
    sys.stderr.flush()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
