"""``carnet lint``: report what is wrong with a specification, with locations, for people, editors and other tools."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from carnet_check.commands import common
from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.families import Source, files_about, files_of, load, place_of
from carnet_check.loading.importing import specification_errors
from carnet_command.exit_codes import ExitCode
from carnet_command.files import require_apart, require_writable_file, write_json
from carnet_command.printable import printable_values
from carnet_command.text import plural
from carnet_spec.language.lints import Complaint, Level, lint_family

SPECIFICATION = "specification"  #: The rule id for errors because of which a protocol cannot be built.
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_PLACED = re.compile(r"(?P<file>[^:\n]+\.py):(?P<line>\d+): (?P<message>.*)", re.DOTALL)
_OF_VARIANT = re.compile(r"variant (?P<variant>[^:]+): (?P<where>.*)", re.DOTALL)
SARIF_LEVELS = {"error": "error", "note": "note"}


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One complaint: the rule, its level, the file and the line, from 1, its subject, and what to do.

    ``variant`` is empty if the complaint is about the protocol as a whole.
    """

    file: str
    line: int
    level: str
    rule: str
    where: str
    message: str
    variant: str = ""

    @property
    def text(self) -> str:
        """The complaint in the format of compilers, which editors parse: file, line, level, message and rule."""
        about = ": ".join(filter(None, (self.where, self.message)))
        return f"{self.file}:{self.line}: {'warning' if self.level == 'note' else self.level}: {about} [{self.rule}]"


def findings_of(reference: str) -> list[LintFinding]:
    """Return all complaints about a protocol, in the order of files and lines.

    Raises UsageError if there is no such protocol.
    """
    files = [*files_of(reference)]
    shown = str(files[0]) if files else reference
    if found := [finding for file in files for finding in _syntax_errors(file)]:
        return found
    try:
        source = load(reference)
        with specification_errors(reference):
            found = [*_complaints(source, shown)]
        for variant in source.family.variants:
            source.sound_variant(variant)
    except InvalidSpecificationError as error:
        found += _unbuildable(error, files, shown, {each.message for each in found})
    return sorted(dict.fromkeys(found), key=lambda each: (each.file, each.line))


def _syntax_errors(file: Path) -> Iterator[LintFinding]:
    """Yield the syntax error of a file, if there is one; the loader reports a file that cannot be read."""
    try:
        compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
    except OSError:
        return
    except (SyntaxError, ValueError) as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.lineno else 1
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        yield LintFinding(_relative(str(file)), line, "error", SPECIFICATION, "", message)


def _complaints(source: Source, shown: str) -> Iterator[LintFinding]:
    """Yield the complaints of lints about any variant, with the source location of their subjects."""
    files = files_about(source.family, source.reference)
    for complaint in lint_family(source.family):
        split = _OF_VARIANT.fullmatch(complaint.where)
        variant = split["variant"] if split else ""
        inner = replace(complaint, where=split["where"]) if split else complaint
        draft = source.family.draft_of(variant or source.family.main[0])
        place = place_of(inner, draft, files)
        yield _finding(inner, variant, *((place.file, place.line) if place else (shown, 1)))


def _finding(complaint: Complaint, variant: str, file: str, line: int) -> LintFinding:
    level = "note" if complaint.level is Level.NOTE else "error"
    return LintFinding(_relative(file), line, level, complaint.rule, complaint.where, complaint.message, variant)


def _unbuildable(
    error: InvalidSpecificationError, files: Sequence[Path], shown: str, known: set[str]
) -> Iterator[LintFinding]:
    """Yield the errors because of which nothing was built, or no verdict would be sound, without ``known`` ones."""
    for said in error.complaints:
        placed = _PLACED.fullmatch(said)
        message = placed["message"] if placed else said
        if any(message.endswith(each) for each in known):
            continue
        own = [file for file in files if placed and file.name == Path(placed["file"]).name]
        beside = [file.with_name(placed["file"]) for file in files if placed]
        there = next((file for file in (*own, *beside) if file.is_file()), Path(shown))
        line = int(placed["line"]) if placed else 1
        yield LintFinding(_relative(str(there)), line, "error", SPECIFICATION, "", message)


def _relative(file: str) -> str:
    """Return a path relative to the current folder, if it is inside."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else str(path)


def sarif(found: Sequence[LintFinding]) -> dict[str, Any]:
    """Return a SARIF log with one result for each complaint."""
    rules = list(dict.fromkeys(each.rule for each in found))
    driver = {"name": "Carnet lint", "semanticVersion": version("carnet"), "rules": [{"id": rule} for rule in rules]}
    results = [
        {
            "ruleId": each.rule,
            "ruleIndex": rules.index(each.rule),
            "level": SARIF_LEVELS[each.level],
            "message": {"text": ": ".join(filter(None, (each.where, each.message)))},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(each.file)},
                        "region": {"startLine": each.line},
                    }
                }
            ],
        }
        for each in found
    ]
    runs = [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}]
    log: dict[str, Any] = printable_values({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": runs})
    return log


@click.command()
@click.argument("protocols", nargs=-1, required=True, type=common.PROTOCOL)
@click.option("--sarif", "sarif_file", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF 2.1.0.")
@common.json_option
@click.pass_context
def lint(context: click.Context, protocols: tuple[str, ...], sarif_file: Path | None, as_json: bool) -> int:
    """Report errors in PROTOCOLS: undeclared names, and broken rules of the language.

    Each complaint is a line as compilers write it, FILE:LINE: LEVEL: MESSAGE [RULE], so that editors lead to its place.

    Exit code 0: nothing is wrong, or there are only notes, which are printed as warnings. 1: something is.
    """
    if sarif_file is not None:
        require_writable_file(sarif_file)
        require_apart({"--sarif": sarif_file}, [file for each in protocols for file in files_of(each)])
    found = list(dict.fromkeys(finding for each in protocols for finding in findings_of(each)))
    if sarif_file is not None:
        write_json(sarif_file, sarif(found))
    counts = Counter(each.level for each in found)
    if as_json:
        rows = [asdict(each) for each in found]
        common.show_json({"findings": rows, "errors": counts["error"], "notes": counts["note"]})
    else:
        for each in found:
            common.say(each.text)
        common.say(f"{plural(counts['error'], 'error')}, {plural(counts['note'], 'note')}")
        common.say(common.rerun_line(context))
    return ExitCode.VIOLATED if counts["error"] else ExitCode.EXPECTED
