"""A tool that compares all engines: a table of their answers to each obligation, and whether two disagree.

``python -m docs._ext.carnet_pages.obligation_answers gpu-travelling --out agreement.csv`` asks every engine that
answers obligations. Exit code 1: one proves what another finds satisfiable; 3: something is unknown.
"""

import argparse
import csv
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from carnet_check.engines.interface import FRAME, AnswersObligations, ObligationAnswer
from carnet_check.engines.registry import all_able
from carnet_check.loading.families import Source, load
from carnet_check.obligations import layers, obligations
from carnet_command.exit_codes import ExitCode, deciding
from carnet_spec.language import Protocol

#: The columns of the summary; ``digest`` is that of the variant.
COLUMNS = (
    *("variant", "digest", "layer", "obligations", "texts"),
    *("engine", "version", "proved", FRAME, "refuted", "unknown", "median ms", "max ms"),
)


@dataclass(frozen=True, slots=True)
class ObligationAnswers:
    """The answers of all engines, by name, to one obligation."""

    variant: str
    layer: str
    obligation: str
    digest: str
    said: Mapping[str, ObligationAnswer]

    @property
    def words(self) -> dict[str, str]:
        """The outcome of each engine."""
        return {name: answer.outcome for name, answer in self.said.items()}

    @property
    def code(self) -> ExitCode:
        """The exit code that these answers require."""
        words = set(self.words.values())
        if "refuted" in words and words & {"proved", FRAME}:
            return ExitCode.VIOLATED
        return ExitCode.UNKNOWN if words & {"refuted", "unknown"} else ExitCode.EXPECTED


def compare_engines(
    source: Source, protocol: Protocol, engines: Sequence[AnswersObligations], jobs: int
) -> list[ObligationAnswers]:
    """Ask every engine about every obligation of ``protocol``."""
    listed = [each for layer in layers(protocol) for each in obligations(layer)]
    said: dict[str, dict[str, ObligationAnswer]] = {each.id: {} for each in listed}
    digests: dict[str, str] = {}
    for engine in engines:
        for answer in engine.obligation_answers(source, protocol, jobs):
            said[answer.obligation][engine.name] = answer
            digests[answer.obligation] = answer.digest or digests.get(answer.obligation, "")
    found = []
    for each in listed:
        layer = each.layer.threat.id if each.layer.threat else ""
        missing = ObligationAnswer(layer, each.id, "unknown", reason="no answer")
        answers = {engine.name: said[each.id].get(engine.name, missing) for engine in engines}
        found.append(ObligationAnswers(protocol.variant, layer, each.id, digests.get(each.id, ""), answers))
    return found


def summary(
    table: Iterable[ObligationAnswers], digests: Mapping[str, str], versions: Mapping[str, str]
) -> Iterator[dict[str, str | int]]:
    """Yield one row for each variant, layer and engine; ``digests`` and ``versions`` are by variant and by engine."""
    grouped: dict[tuple[str, str], list[ObligationAnswers]] = {}
    for each in table:
        grouped.setdefault((each.variant, each.layer), []).append(each)
    for (variant, layer), rows in grouped.items():
        for engine, version in versions.items():
            words = Counter(row.words[engine] for row in rows)
            times = {row.digest: row.said[engine].seconds * 1000 for row in rows if row.words[engine] != FRAME}
            yield {
                "variant": variant,
                "digest": digests[variant],
                "layer": layer or "general",
                "obligations": len(rows),
                "texts": len({row.digest for row in rows}),
                "engine": engine,
                "version": version,
                **{word: words[word] for word in ("proved", FRAME, "refuted", "unknown")},
                "median ms": round(statistics.median(times.values())) if times else 0,
                "max ms": round(max(times.values(), default=0)),
            }


def lines(table: Iterable[ObligationAnswers]) -> Iterator[str]:
    """Yield a line for each obligation: its digest, what each engine says, and its id."""
    for each in table:
        words = " ".join(f"{engine}={word}" for engine, word in each.words.items())
        yield f"{each.digest[:16] or '-':<16} {words} {each.variant} {each.obligation}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool with the given command-line arguments: compare, print and write the table; return the exit code."""
    options = _options(arguments)
    source = load(options.protocol)
    engines = [each for each in all_able(AnswersObligations) if not options.engine or each.name in options.engine]
    family = source.family
    variants = family.with_layers(tuple(options.variant) or family.main)
    protocols = {name: source.protocol(name) for name in variants}
    table = [row for each in protocols.values() for row in compare_engines(source, each, engines, options.jobs)]
    versions = {engine.name: engine.version() for engine in engines}
    shown = table if options.every else [each for each in table if each.code is not ExitCode.EXPECTED]
    sys.stdout.writelines(f"{line}\n" for line in lines(shown))
    rows = list(summary(table, {name: each.digest for name, each in protocols.items()}, versions))
    if options.out is not None:
        _write(options.out, rows)
    together = Counter(" ".join(f"{name}={word}" for name, word in each.words.items()) for each in table)
    sys.stdout.writelines(f"{count:>7} {words}\n" for words, count in together.most_common())
    return deciding(each.code for each in table)


def _write(file: Path, rows: Sequence[Mapping[str, str | int]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="agreement", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("protocol")
    parser.add_argument("--variant", action="append", default=[], help="only this variant; repeatable")
    parser.add_argument("--engine", action="append", default=[], help="only this engine; repeatable")
    parser.add_argument("--out", type=Path, help="write the summary into this CSV file")
    parser.add_argument("--every", action="store_true", help="print a line for every obligation")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
