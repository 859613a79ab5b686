"""The folder that ``verify --out`` writes; it is all that a report needs, even without the specification.

========================= ==========================================================================================
``verdicts.jsonl``        one verdict on each line; the same bytes for the same commit, profile and solver build
``timings.jsonl``         the time of each verdict
``run.json``              the closing block, the goals, the notes
``spec.json``             the specification: sentences, threat models, assumptions, defences, lemmas; see ``outline``
``attacks/NAME.json``     each violation, minimised and replayed, step by step; ``NAME.itf.json``: the same as ITF
``graphs/NAME.json``      the states of instances that are small enough to draw
========================= ==========================================================================================

Others may have changed the folder before it is read. So it is read once, from plain files only, and its JSON is checked
against a schema before it is used.
"""

import os
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from carnet_check.engines.interface import Status
from carnet_check.errors import UsageError
from carnet_check.report import shapes
from carnet_check.report.shapes import Shape, ShapeError, count, flag, maybe, number, record, rows, table, text, word
from carnet_check.results import Kind, Result, Verdict, exit_code
from carnet_check.wording import as_file_name
from carnet_command.exit_codes import ExitCode, deciding
from carnet_command.files import make_folder, write_json, write_lines
from carnet_command.printable import printable

Files = Mapping[str, bytes]  #: The bytes of files, by their path relative to the folder, with '/' between parts.

MOST_FILES = 20_000
MOST_BYTES = 1 << 28  #: The most bytes of all files together.
DEEPEST = 8

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def snapshot(folder: Path, wanted: Callable[[str], bool] = lambda _: True) -> dict[str, bytes]:
    """Read every file below ``folder`` whose name is ``wanted``, in the order of their names.

    ``wanted`` is also called for folders, whose names end with '/'. The path of the folder itself may contain links.

    Raises UsageError if an entry is no plain file or folder, or its name is not plain, or the files are too large.
    """
    found: dict[str, bytes] = {}
    left = MOST_BYTES
    with _reading(str(folder)), _opened(os.fspath(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as top:
        for name, content in _below(top, "", wanted, folder):
            left -= len(content)
            if left < 0 or len(found) >= MOST_FILES:
                raise UsageError(f"'{folder}' holds more than {MOST_FILES:,} files or {MOST_BYTES >> 20} MiB")
            found[name] = content
    same = twins(list(found))
    if same is not None:
        raise UsageError(f"'{folder}' holds '{same[0]}' and '{same[1]}', which some systems take for one file")
    return dict(sorted(found.items()))


def plain_name(name: str) -> bool:
    """Whether a name is a relative path that means the same file on every system."""
    parts = name.split("/")
    return (
        len(parts) <= DEEPEST
        and name.isprintable()
        and not {"\\", ":"} & set(name)
        and not any(part in ("", ".", "..") or part != part.strip() for part in parts)
    )


def twins(names: list[str]) -> tuple[str, str] | None:
    """Return two names that some file systems treat as equal, or None."""
    seen: dict[str, str] = {}
    for name in names:
        folded = unicodedata.normalize("NFKC", name).casefold()
        if folded in seen:
            return seen[folded], name
        seen[folded] = name
    return None


def _below(folder: int, prefix: str, wanted: Callable[[str], bool], shown: Path) -> Iterator[tuple[str, bytes]]:
    with os.scandir(folder) as entries:
        inside = sorted((entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in entries)
    for entry, mode in inside:
        name = prefix + entry
        if not wanted(f"{name}/" if stat.S_ISDIR(mode) else name):
            continue
        if not plain_name(name):
            raise UsageError(f"'{shown}' holds something without a plain name: '{printable(name)}'")
        if stat.S_ISDIR(mode):
            with _reading(f"{shown}/{name}"), _opened(entry, _FOLDER, folder) as inner:
                yield from _below(inner, f"{name}/", wanted, shown)
        elif stat.S_ISREG(mode):
            with _reading(f"{shown}/{name}"):
                yield name, _content(entry, folder, f"{shown}/{name}")
        else:
            raise UsageError(f"'{shown}/{name}' is neither a plain file nor a folder: links and devices are refused")


def _content(name: str, folder: int, shown: str) -> bytes:
    with _opened(name, _FILE, folder) as descriptor:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"'{shown}' is no plain file")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UsageError(f"'{shown}' is larger than {MOST_BYTES >> 20} MiB")
    return content


@contextmanager
def _opened(name: str, flags: int, folder: int | None = None) -> Iterator[int]:
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _reading(shown: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot read '{printable(shown)}': {(error.strerror or str(error)).lower()}") from None


FORMAT = "carnet-run/1"
VERDICTS = "verdicts.jsonl"
TIMINGS = "timings.jsonl"
RUN = "run.json"
SPEC = "spec.json"
ATTACKS = "attacks"
GRAPHS = "graphs"
ITF_ENDING = ".itf.json"


@dataclass(frozen=True)
class Run:
    """The content of a run folder, as plain JSON values."""

    verdicts: tuple[Mapping[str, Any], ...]
    run: Mapping[str, Any]
    spec: Mapping[str, Any]
    attacks: tuple[Mapping[str, Any], ...] = ()
    graphs: tuple[Mapping[str, Any], ...] = ()
    timings: tuple[Mapping[str, Any], ...] = ()
    #: The ITF trace of each attack, by the attack's name; these are written but never read.
    itf: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """The exit code of the run, unless it was interrupted."""
        rows = exit_code([result(row) for row in self.verdicts])
        return deciding([rows, *(ExitCode.UNKNOWN for _ in self.shortcomings)])

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """What the run lacks for a strict reader, if one was asked for."""
        return tuple(self.run.get("shortcomings", ()))

    def write(self, folder: Path) -> None:
        """Write the run; each file is written atomically, and the files of an earlier run are removed first.

        Raises UsageError if a file cannot be written.
        """
        make_folder(folder)
        # Remove an earlier run: first run.json, so that a part of a run is not mistaken for a run, then the other files
        ours = any((folder / name).is_file() for name in (RUN, VERDICTS))
        (folder / RUN).unlink(missing_ok=True)
        for part in (ATTACKS, GRAPHS):
            if ours and (folder / part).exists():
                _make_part(folder / part)
                for file in (folder / part).glob("*.json"):
                    file.unlink()
        write_lines(folder / VERDICTS, self.verdicts)
        write_lines(folder / TIMINGS, self.timings)
        write_json(folder / SPEC, self.spec)
        for attack in self.attacks:
            write_attack(folder, attack, self.itf[attack["name"]])
        for graph in self.graphs:
            _make_part(folder / GRAPHS)
            write_json(folder / GRAPHS / f"{as_file_name(graph['name'])}.json", graph)
        write_json(folder / RUN, {"format": FORMAT, **self.run})


def _make_part(folder: Path) -> None:
    """Create a folder inside a run; refuse a link, so that nothing outside the run is written or removed."""
    if folder.is_symlink():
        raise UsageError(f"expected a folder of the run's own, and '{folder}' is a link")
    make_folder(folder)


def write_attack(folder: Path, attack: Mapping[str, Any], itf: Mapping[str, Any]) -> None:
    """Add one attack to a run folder, and its trace for ITF viewers beside it."""
    make_folder(folder)
    _make_part(folder / ATTACKS)
    name = as_file_name(attack["name"])
    write_json(folder / ATTACKS / f"{name}.json", attack)
    write_json(folder / ATTACKS / f"{name}{ITF_ENDING}", itf)


# -- reading ---------------------------------------------------------------------------------------


def read_run(folder: Path) -> Run:
    """Read a folder that :meth:`Run.write` wrote.

    Raises UsageError if ``folder`` was not written by ``verify --out``, or a file in it is malformed.
    """
    return run_of(snapshot(folder, _is_of_a_run), folder)


def _is_of_a_run(name: str) -> bool:
    """Whether a file is part of a run; other files in the folder are ignored."""
    inside, slash, file = name.partition("/")
    if not slash:
        return name in (RUN, SPEC, VERDICTS, TIMINGS, ATTACKS, GRAPHS)
    return inside in (ATTACKS, GRAPHS) and (not file or ("/" not in file and file.endswith(".json")))


def run_of(files: Files, folder: Path) -> Run:
    """Return the run that is stored in ``files``; ``folder`` is named in errors.

    Raises UsageError if a file is malformed.
    """
    if RUN not in files:
        raise UsageError(f"expected a folder written by 'carnet verify --out', and '{folder}' has no {RUN}")
    reader = _Reader(files, folder)
    run = reader.object(RUN)
    if run.get("format") != FORMAT:
        raise UsageError(f"expected a run of format {FORMAT}, and '{folder / RUN}' is of format {run.get('format')!r}")
    verdicts, timings, spec = reader.lines(VERDICTS), reader.lines(TIMINGS), reader.object(SPEC)
    attacks, graphs = reader.objects(ATTACKS), reader.objects(GRAPHS)
    if not verdicts:
        raise UsageError(f"expected verdicts in '{folder / VERDICTS}', and there is none")
    reader.check(RUN, _run, run)
    reader.check(SPEC, _spec, spec)
    for name, found, shape in (
        (VERDICTS, verdicts, _of_a_verdict),
        (TIMINGS, timings, _timing),
    ):
        for place, row in enumerate(found, 1):
            reader.check(name, shape, row, place)
    for values, shape in ((attacks, _of_an_attack), (graphs, _of_a_graph)):
        for name, value in values.items():
            reader.check(name, shape, value)
            if name.rpartition("/")[2] != f"{as_file_name(value['name'])}.json":
                raise UsageError(f"'{folder / name}' is not called after the name in it")
    return Run(tuple(verdicts), run, spec, tuple(attacks.values()), tuple(graphs.values()), tuple(timings))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads JSON from the files of one folder."""

    files: Files
    folder: Path

    def object(self, name: str) -> dict[str, Any]:
        """Return the JSON object in a file."""
        return self._parsed(name, self._text(name))

    def objects(self, part: str) -> dict[str, dict[str, Any]]:
        """Return the JSON objects in the files of a subfolder, by the names of the files."""
        names = (name for name in self.files if name.startswith(f"{part}/") and name.count("/") == 1)
        return {name: self.object(name) for name in names if name.endswith(".json") and not name.endswith(ITF_ENDING)}

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the JSON objects in a file with one on each line."""
        return list(self._lines(name))

    def check(self, name: str, shape: shapes.Shape, value: Any, line: int = 0) -> None:
        """Check the shape of a value in a file or a line of it; an error gives the place as a JSONPath (RFC 9535)."""
        try:
            shape(value, "$")
        except shapes.ShapeError as error:
            raise UsageError(f"{self._place(name, line)} is no part of a run: {printable(str(error))}") from None

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        lines = self._text(name).removesuffix("\n").split("\n")  # other line separators may occur in a text
        for place, line in enumerate(lines, 1):
            if line or place < len(lines):
                yield self._parsed(name, line, place)

    def _text(self, name: str) -> str:
        if name not in self.files:
            raise UsageError(f"cannot read '{self.folder / name}': no such file or directory")
        try:
            return self.files[name].decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"cannot read '{self.folder / name}': it is not text in UTF-8, {error.reason}") from None

    def _parsed(self, name: str, text: str, line: int = 0) -> dict[str, Any]:
        place = self._place(name, line)
        try:
            value = shapes.parse_json(text)
        except shapes.ShapeError as error:
            raise UsageError(f"expected JSON in {place.rstrip(',')}: {error}") from None
        if not isinstance(value, dict):
            raise UsageError(f"expected a JSON object in {place.rstrip(',')}, and found a {type(value).__name__}")
        return value

    def _place(self, name: str, line: int) -> str:
        return f"'{self.folder / name}'" + (f", line {line}," if line else "")


# -- The schema of a run folder: what a report requires of each file -------------------------------

MOST_DRAWN = 2_000  #: The most states of a graph, and the most steps between two of them.

_texts = rows(text)


def _fields(shape: Shape, names: str) -> dict[str, Shape]:
    """Return a mapping from several field names to one shape."""
    return dict.fromkeys(names.split(), shape)


_key = {**_fields(text, "variant claim threat engine"), "kind": word(*Kind)}
_step = record(action=text, by=text, args=table(text))
_verdict = record(
    {
        "defences": _texts,
        "lemmas": _texts,
        "steps": rows(_step),
        "loop": count,
        "counterexamples": rows(record(without=text, case=text)),
    },
    **_key,
    **_fields(text, "protocol detail"),
    **_fields(word(*Verdict), "verdict expected"),
    bound=maybe(count),
    assumptions=_texts,
    as_expected=flag,
)
_timing = record(**_key, seconds=number)
_closing = record(
    **_fields(text, "outcome strength budget profile rerun"),
    verdicts=table(count),
    versions=record(carnet=text),
    spec_digests=table(text),
    seconds=number,
)
_cti = record(
    **_fields(text, "obligation unconfirmed action sentence formula"),
    **_fields(_texts, "before fixed beside changes false holding"),
    **_fields(table(text), "args about"),
    elements=table(_texts),
)
_standing = record(
    **_fields(text, "variant name threat detail"),
    **_fields(_texts, "failing open"),
    kind=word("claim", "lemma"),
    status=word(*Status),
    expected=flag,
    counterexamples=rows(_cti),
    trace=maybe(record(threat=text, instance=text, story=_texts, reason=_texts)),
)
_explored = record(
    **_fields(text, "engine variant threat profile words"),
    **_fields(maybe(text), "shortfall authors_words"),
    elements=table(count),
    interpretations=count,
    allowed=maybe(count),
    fixed=table(text),
)
_run = record(
    {"lemmas": rows(_standing), "explored": rows(_explored), "shortcomings": _texts},
    summary=record(as_expected=flag, by_verdict=table(count), declared=_texts),
    goals=rows(record(**_fields(text, "variant goal sentence threat"), reached=flag, steps=maybe(count))),
    notes=_texts,
    run=_closing,
)
_claim = record(
    **_fields(text, "name sentence requirement requirement_sentence source rerun"),
    formula=_texts,
)
_variant = record(
    **_fields(text, "name title label digest"),
    threats=rows(record(id=text, title=text, axioms=_texts)),
    claims=rows(_claim),
    assumptions=rows(record(id=text, sentence=text, built_in=flag)),
    defences=rows(record({"shuts_out": _texts}, id=text, title=text, enforced_by=_texts, removed=text)),
    lemmas=rows(record(name=text, says=text, formula=_texts)),
)
_named = record(id=text, title=text)
_design = record(**_fields(text, "name title label"), layers=_texts, threats=rows(_named))
_claimed = record(
    designs=rows(_design),
    **_fields(table(text), "claims liveness lemma_claims"),
    assumptions=rows(record(**_fields(text, "id short sentence"))),
    services=rows(record(title=text, available=text)),
    findings=count,
    carried_out=flag,
)
_spec = record(
    {"places": rows(record(kind=text, name=text, file=text, line=count)), "claimed": _claimed},
    **_fields(text, "protocol title reference file"),
    variants=rows(_variant),
)
_event = record(
    {"decisive": text},
    **_fields(text, "action by actor sentence source"),
    **_fields(table(_texts), "learned known"),
    number=maybe(count),
    args=table(text),
    honest=flag,
    enforces=_texts,
    arrow=maybe(record(from_=text, to=text, text=text)),
    changes=rows(record(where=text, text=text, says=text)),
)
_attack = record(
    **_fields(text, "name claim sentence instance rerun"),
    **_fields(_texts, "removed parties knowers reason"),
    trace=record(protocol=text, variant=text),
    threat=record(id=text, title=text),
    expected=flag,
    finding=maybe(record(id=text, title=text)),
    events=rows(_event, 10_000),
)
_graph = record(
    **_fields(text, "name variant threat instance steps"),
    nodes=rows(record(depth=count, label=text, facts=_texts), MOST_DRAWN),
    edges=rows(record(from_=count, to=count, steps=_texts), MOST_DRAWN),
)


def _of_a_verdict(value: Any, where: str) -> None:
    """Check that a verdict's field about its expectation agrees with the verdict."""
    _verdict(value, where)
    if value["as_expected"] is not result(value).as_expected:
        said = "" if value["as_expected"] else " not"
        raise ShapeError(
            f"{where}: {value['verdict']} is said{said} to be as expected, where {value['expected']} is expected"
        )


def _of_an_attack(value: Any, where: str) -> None:
    """Check that only parties of the attack act in it."""
    _attack(value, where)
    parties = set(value["parties"])
    for place, event in enumerate(value["events"]):
        arrow = event["arrow"]
        acting = (arrow["from"], arrow["to"]) if arrow else (event["actor"],)
        if event["number"] is not None and not parties.issuperset(acting):
            raise ShapeError(f"{where}.events[{place}]: expected one of the parties to act")


def _of_a_graph(value: Any, where: str) -> None:
    """Check that a graph has a state, and that its steps connect states of the graph."""
    _graph(value, where)
    nodes = value["nodes"]
    if not nodes:
        raise ShapeError(f"{where}.nodes: expected a state")
    if any(node["depth"] >= len(nodes) for node in nodes):
        raise ShapeError(f"{where}.nodes: expected no state deeper than there are states")
    if len({node["label"].count(", ") for node in nodes}) > 1:
        raise ShapeError(f"{where}.nodes: expected labels of equally many parts")
    if any(end >= len(nodes) for edge in value["edges"] for end in (edge["from"], edge["to"])):
        raise ShapeError(f"{where}.edges: expected steps between states that there are")


def result(row: Mapping[str, Any]) -> Result:
    """Return a verdict, parsed from its JSON values."""
    return Result(
        protocol=row["protocol"],
        variant=row["variant"],
        claim=row["claim"],
        threat=row["threat"],
        engine=row["engine"],
        verdict=Verdict(row["verdict"]),
        expected=Verdict(row["expected"]),
        kind=Kind(row["kind"]),
    )
