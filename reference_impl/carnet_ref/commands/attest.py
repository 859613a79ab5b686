"""``carnet attest``: appraise evidence of real hardware; each registered evidence format is a subcommand.

``--ear FILE --key FILE`` writes the result of an appraisal as a signed attestation result.
"""

from __future__ import annotations

import hashlib
import json
import pkgutil
import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from carnet_command.errors import UsageError
from carnet_command.exit_codes import ExitCode
from carnet_command.files import require_apart, require_writable_file, write_text
from carnet_command.once import require_each_once
from carnet_command.printable import printable
from carnet_command.text import hanging, wrap_text
from carnet_ref.attestation.formats import (
    FORMATS,
    AppraisalContext,
    Format,
    NeedsOptionError,
    Option,
    OptionKind,
    OptionValues,
    Value,
    appraise_files,
)
from carnet_ref.attestation.kinds import Layer
from carnet_ref.attestation.wrappers import parts_of

if TYPE_CHECKING:
    from carnet_ref.attestation.appraisal import Anchors, Appraisal, Requirement
    from carnet_ref.attestation.jose import SigningKey
    from carnet_ref.attestation.policies import EffectivePolicy, PolicyForm, Preset
    from carnet_ref.attestation.results import AppraisalRecord, Profiles

AnyFormat = Format[Any, Any]
#: Subcommands that appraise no file: the ``module:name`` of each, and its help in one line.
FURTHER: Final = {
    "live": ("carnet_ref.commands.live:live", "Collect the evidence of this machine and appraise it (also --live)."),
    "policy": ("carnet_ref.commands.policy:policy", "Show what a policy asks for, and which keys there are."),
}
LIVE: Final = "--live"  #: Another name of the subcommand ``live``.
#: The internal name of the command for files of any kind; it is not listed, and no file is mistaken for it.
ANY: Final = "FILE"
ANY_PLACE: Final = "carnet_ref.commands.attest_any:any_files"
#: The name that steps use for the repeatable argument if further evidence would help them.
EVIDENCE: Final = "evidence"
ACCEPTED = 0
REFUSED = 1
MARKS = {True: "ok", False: "REFUSED", None: "-"}
WIDTH = 22
DELETE: Final = "\x7f"  #: The one control character that JSON does not escape; it never occurs outside of strings.
#: The most bytes of a file; reports, chains, manifests and collateral of real devices are far smaller.
MOST_BYTES: Final = 1 << 24
MOST_FILES: Final = 64  #: The most files that are read from one folder.
#: The range of times in a token; the latest leaves room for an expiry.
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
EAR_PROFILES: Final = ("draft", "veraison")  #: The profiles of results, by their names in lower case.
PRESET_ID: Final = "carnet-{}:{}"  #: The id of a preset of a format.
readable = click.Path(path_type=Path)
at_option = click.option(
    "--at", metavar="TIME", help="When to appraise, in ISO 8601 (UTC unless it says). [default: now]"
)
anchor_option = click.option(
    "--trust-anchor", type=readable, metavar="FILE", help="PEM certificates that replace the roots of the vendors."
)
require_option = click.option(
    "--require",
    metavar="WORDS",
    default="",
    callback=lambda _, __, text: requirements(text),
    help="Refuse an acceptance that is not 'fresh', or not 'compared', or either: 'fresh,compared'.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def parameter(option: Option) -> str:
    """Return the name of click's parameter for an option of a format; different options have different names."""
    return f"given_{option.name.replace('-', '_')}"


def click_option(option: Option) -> Any:
    """Return the click option for an option of a format."""
    several = option.kind is OptionKind.FILES
    kinds = {OptionKind.HEX: str, OptionKind.NUMBER: click.IntRange(min=0), OptionKind.TEXT: str}
    metavar = {OptionKind.HEX: "HEX", OptionKind.NUMBER: "N", OptionKind.TEXT: "TEXT"}.get(option.kind, "FILE")
    value = kinds.get(option.kind, readable)
    return click.option(option.flag, parameter(option), type=value, metavar=metavar, multiple=several, help=option.help)


def values(words: Mapping[Option, Any]) -> dict[str, Value]:
    """Return the values of options, parsed from their words, by the options' names.

    Raises UsageError if a file cannot be read, or hexadecimal digits are malformed.
    """
    return {option.name: _value(option, word) for option, word in words.items()}


def _value(option: Option, word: Any) -> Value:
    match option.kind:
        case OptionKind.FILE:
            return None if word is None else contents(word)
        case OptionKind.FILES:
            return tuple(data for path in word for data in contents_of_all(path))
        case OptionKind.HEX:
            return octets_given(option.flag, word, option.length)
        case OptionKind.TEXT:
            return None if word is None else str(word)
    return word if word is None else int(word)


def policy_given(form: AnyFormat, path: Path | None) -> object:
    """Return the policy of the file or preset, or the format's default. Raises UsageError if there is none."""
    return form.default_policy if path is None or form.policy is None else effective_policy(form.policy, path).policy


def effective_policy(form: PolicyForm[Any], path: Path) -> EffectivePolicy[Any]:
    """Return the policy of the file, or the preset of this name, with inherited settings.

    Raises UsageError if the file has no policy, or there are a preset and a file of this name.
    """
    from carnet_ref.attestation.policies import policy_object
    from carnet_ref.wire import MalformedError

    preset = preset_named(path)
    try:
        return form.effective(policy_object(contents(path))) if preset is None else form.preset(preset)
    except MalformedError as error:
        raise UsageError(f"'{path}' is no policy: {error}") from None


def preset_named(path: Path) -> Preset | None:
    """Return the preset of this name, or None. Raises UsageError if there is a file of this name, too."""
    from carnet_ref.attestation.policies import Preset

    preset = next((each for each in Preset if each == str(path)), None)
    if preset is not None and path.exists():
        raise UsageError(f"'{path}' is a preset, and a file here: write its whole path if you mean the file")
    return preset


def given_options(words: Mapping[Option, Any]) -> tuple[list[tuple[str, object]], list[tuple[str, object]]]:
    """Return the given options with their words, those with one value first: for the rerun command."""
    single = [(option.flag, word) for option, word in words.items() if option.kind is not OptionKind.FILES]
    several = [
        (option.flag, each) for option, word in words.items() if option.kind is OptionKind.FILES for each in word
    ]
    return [(flag, word) for flag, word in single if word is not None], several


class Issuer(NamedTuple):
    """Writes signed attestation results to a file."""

    path: Path  #: The file.
    key: SigningKey  #: The key.
    profile: str  #: The name of the results' profile.

    def issue(self, appraised: AppraisalRecord, profiles: Profiles) -> None:
        """Write the result. Raises UsageError if a token cannot express it, or the file cannot be written."""
        from carnet_ref.attestation.jose import OLDER_TYPE, TYPE, signed_token
        from carnet_ref.attestation.results import EarProfile, claims_set

        if not EARLIEST <= appraised.at < LATEST:
            raise UsageError(f"--ear needs a time from {EARLIEST.year} to {LATEST.year - 1}")
        profile = EarProfile[self.profile.upper()]
        kind = OLDER_TYPE if profile.is_older else TYPE
        write_text(self.path, signed_token(claims_set(appraised, profiles, profile), self.key, kind))


def issuer_given(ear: Path | None, key: Path | None, profile: str | None) -> Issuer | None:
    """Return the issuer of the requested result, or None if none is requested.

    Raises UsageError if an option is missing, or a file or a key cannot be used.
    """
    if ear is None and key is None and profile is None:
        return None
    if ear is None or key is None:
        raise UsageError("--ear and --key go together: the file to write, and the private key that signs it")
    from carnet_ref.attestation.jose import signing_key

    require_apart({"--ear": ear}, [key])
    signer = signing_key(contents(key))
    require_writable_file(ear)
    return Issuer(ear, signer, profile or EAR_PROFILES[0])


def with_ear_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options for a signed result to a command."""
    key = click.option(
        "--key", type=readable, metavar="FILE", help="The private key in PEM, on P-256 or P-384, that signs it."
    )
    ear = click.option(
        "--ear", type=readable, metavar="FILE", help="Write the result as a signed token for others (EAR)."
    )
    profile = click.option(
        "--ear-profile",
        type=click.Choice(EAR_PROFILES),
        help=f"Whose readers the result is for: of the current draft, or of Veraison. [default: {EAR_PROFILES[0]}]",
    )
    return ear(key(profile(command)))


def policy_id(kind: str, path: Path | None) -> str:
    """Return the id of a policy: of a file, of a preset, or of a format's default."""
    preset = None if path is None else preset_named(path)
    if path is None or preset is not None:
        return PRESET_ID.format(preset or "default", kind)
    return f"sha-256:{hashlib.sha256(contents(path)).hexdigest()}"


def contents(path: Path) -> bytes:
    """Return the bytes of a file. Raises UsageError if it cannot be read, or is larger than evidence may be."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"'{path}' holds more than {MOST_BYTES} bytes, which no evidence does")
    return data


def contents_of_all(path: Path) -> tuple[bytes, ...]:
    """Return the bytes of a file or, for a folder, of each file in it, in the order of their names.

    Subfolders and names that begin with a dot are ignored. Raises UsageError if a file cannot be read or is larger than
    any evidence, or a folder has no files or too many.
    """
    if not path.is_dir():
        return (contents(path),)
    try:
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from None
    if not 1 <= len(files) <= MOST_FILES:
        raise UsageError(f"'{path}' holds {len(files)} files; from 1 to {MOST_FILES} are read")
    return tuple(map(contents, files))


def instant(text: str | None) -> datetime:
    """Return the time that ``--at`` names; without it, the present time.

    Raises UsageError if the text is no time, or its year in UTC is not from 1 to 9999.
    """
    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        given = datetime.fromisoformat(text)
        return given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"'{text}' is no time: write it as 2025-08-21T12:00:00Z") from None


def format_time(time: datetime) -> str:
    """Return ``time``, which is in UTC, in the format of ``--at``."""
    return time.replace(tzinfo=None).isoformat() + "Z"


def anchors_given(path: Path | None) -> Anchors:
    """Return the trust anchors in the file, or the defaults. Raises UsageError if the file has none."""
    from carnet_ref.attestation.appraisal import anchors_from_pem, default_anchors
    from carnet_ref.wire import MalformedError

    if path is None:
        return default_anchors()
    try:
        return anchors_from_pem(contents(path))
    except MalformedError as error:
        raise UsageError(f"'{path}' has no trust anchors: {error}") from None


def octets_given(flag: str, text: str | None, length: int) -> bytes | None:
    """Return the bytes of hexadecimal digits, the value of ``flag``: ``length`` bytes, or at least one if that is 0.

    The prefix ``0x`` is allowed. Raises UsageError if the text is malformed, or has another number of bytes.
    """
    from carnet_ref.attestation.documents import from_hexadecimal

    if text is None:
        return None
    try:
        octets = from_hexadecimal(text)
    except ValueError:
        raise UsageError(f"{flag} wants hexadecimal digits") from None
    if length and len(octets) != length:
        raise UsageError(f"{flag} wants {length} bytes, not {len(octets)}")
    if not octets:
        raise UsageError(f"{flag} wants at least one byte; leave it out if there is nothing to compare with")
    return octets


def as_object(appraisal: Appraisal, at: datetime, rerun: Sequence[str]) -> dict[str, object]:
    """Return the appraisal as JSON values."""
    steps = [
        {
            "id": step.id,
            "ok": step.ok,
            "detail": step.detail,
            "source": step.source,
            "differences": [
                {"what": each.what, "found": each.found, "expected": list(each.expected), **each.details}
                | ({"by": each.origin} if each.origin else {})
                for each in step.differences
            ],
        }
        for step in appraisal.steps
    ]
    return {
        "accepted": appraisal.accepted,
        "fresh": appraisal.fresh,
        "compared": appraisal.compared,
        "failed_step": appraisal.failed_step,
        "steps": steps,
        "claims": dict(appraisal.claims),
        "not_compared": list(appraisal.not_compared),
        "appraised_by": appraisal.appraised_by,
        "layers": layers_as_json(appraisal.layers),
        "missing": {option: list(steps) for option, steps in appraisal.missing.items()},
        "at": at.isoformat(),
        "rerun": shlex.join(rerun),
    }


def layers_as_json(layers: Iterable[Layer]) -> list[dict[str, str]]:
    """Return layers as JSON values."""
    return [{"layer": layer.role.value, "name": layer.name} for layer in layers]


def print_json(value: Mapping[str, object]) -> None:
    """Print one ASCII object on one line."""
    click.echo(json.dumps(value).replace(DELETE, "\\u007f"))


def show(appraisal: Appraisal, at: datetime, rerun: Sequence[str], as_json: bool, *, in_full: bool = False) -> int:
    """Print the appraisal, and return the exit code; ``in_full`` adds the evidence's layers and missing inputs."""
    if as_json:
        print_json(as_object(appraisal, at, rerun))
    else:
        if in_full:
            show_layers(appraisal.layers)
        width = max([WIDTH, *(len(step.id) + 1 for step in appraisal.steps)])
        for step in appraisal.steps:
            source = f"  [{step.source}]" if step.source else ""
            _say(f"{MARKS[step.ok]:<8}{step.id:<{width}}", step.detail + source)
            for each in (difference for difference in step.differences if difference.expected):
                _say(" " * 8 + "- ", str(each))
        for name, value in _claims_apart(appraisal.claims):
            _say(f"{'claim':<8}{name:<{WIDTH}}  ", _written(value))
        for option, steps in appraisal.missing.items() if in_full else ():
            _say_more(option, f"for {', '.join(steps)}")
        for line in hanging(printable(verdict(appraisal))):
            click.echo(line)
        click.echo(f"rerun   {printable(shlex.join(rerun))}")
    return ACCEPTED if appraisal.accepted else REFUSED


def show_layers(layers: Iterable[Layer]) -> None:
    """Print the format of evidence, layer by layer."""
    for layer in layers:
        _say(f"{'is':<8}{layer.role.value:<{WIDTH}}  ", layer.name)


def layers_of(files: Iterable[bytes]) -> list[Layer]:
    """Return the recognised layers of files, without repetition."""
    return list(dict.fromkeys(layer for data in files for part in parts_of(data) for layer in part.layers))


def unappraised_json(
    error: UsageError, layers: Iterable[Layer], at: datetime, rerun: Sequence[str]
) -> dict[str, object]:
    """Return the JSON object for evidence that was not appraised: without steps, and with the reason."""
    from carnet_ref.attestation.appraisal import Appraisal

    needed: dict[str, list[str]] = {error.option: []} if isinstance(error, NeedsOptionError) else {}
    told = as_object(Appraisal((), {}, layers=tuple(layers)), at, rerun)
    return {**told, "missing": needed, "error": {"kind": error.kind, "message": str(error)}}


def show_what_is_needed(
    error: NeedsOptionError, layers: Sequence[Layer], at: datetime, rerun: Sequence[str], as_json: bool
) -> int:
    """Print the layers of evidence, and which option its appraisal needs; return the exit code."""
    if as_json:
        print_json(unappraised_json(error, layers, at, rerun))
    else:
        show_layers(layers)
        _say_more(error.option, "for every step")
        for line in hanging(f"NOT APPRAISED: {error}"):
            click.echo(line)
    return ExitCode.USAGE


def _say_more(option: str, why: str) -> None:
    """Print which further input would help: an option, or further evidence as an argument."""
    _say(f"{'more':<8}{option.upper() if option == EVIDENCE else f'--{option}':<{WIDTH}}  ", why)


def _claims_apart(claims: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the claims for display; each object of a list is a separate claim."""
    for name, value in claims.items():
        if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            yield from ((f"{name} {place}", each) for place, each in enumerate(value))
        else:
            yield name, value


def verdict(appraisal: Appraisal) -> str:
    """Return the words for whether the evidence was accepted and, if so, what was not compared."""
    if not appraisal.accepted:
        return f"REFUSED at {appraisal.failed_step}"
    whose = "" if appraisal.appraised_by is None else f" as the result of {appraisal.appraised_by}"
    return ", ".join((f"ACCEPTED{whose}", *appraisal.not_compared))


def _say(label: str, text: str) -> None:
    """Print a labelled text that may come from evidence, with unprintable characters escaped."""
    label = printable(label)
    for line in wrap_text(label, printable(text), len(label)):
        click.echo(line)


def _written(value: object) -> str:
    """Return the value of a claim as text for display."""
    match value:
        case None:
            return "not stated"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(map(_written, value)) or "none"
        case Mapping():
            return ", ".join(f"{name} {_written(each)}" for name, each in value.items()) or "none"
        case _:
            return str(value)


def requirements(text: str) -> frozenset[Requirement]:
    """Return the requirements that ``text``, a comma-separated list, names. Raises UsageError for an unknown word."""
    from carnet_ref.attestation.appraisal import Requirement

    words = text.split(",") if text else []
    unknown = next((word for word in words if word not in tuple(Requirement)), None)
    if unknown is not None:
        raise UsageError(f"--require has no {unknown!r}: write {','.join(Requirement)}, or one of them")
    return frozenset(map(Requirement, words))


class Formats(click.Group):
    """A group whose subcommands are the registered formats and few others, imported when they are called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a leading ``--live`` as that subcommand, and a word that is no subcommand as a file."""
        if args[:1] == [LIVE]:
            args = ["live", *args[1:]]
        elif args and args[0] not in {*self.list_commands(ctx), *ctx.help_option_names}:
            args = [ANY, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand that is called, and refuse a repeated option of it."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            require_each_once(ctx, command, rest)
        return name, command, rest

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the formats, then the others."""
        return [*FORMATS, *FURTHER]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the subcommand of the format called ``cmd_name``, or import another."""
        place = ANY_PLACE if cmd_name == ANY else FURTHER.get(cmd_name, ("", ""))[0]
        if place:
            command: click.Command = pkgutil.resolve_name(place)
            return command
        registered = FORMATS.get(cmd_name)
        return None if registered is None else subcommand(cmd_name, registered.load())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        rows = [(name, registered.summary) for name, registered in FORMATS.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*rows, *((name, summary) for name, (_, summary) in FURTHER.items())])


@click.command(
    cls=Formats,
    short_help="Appraise evidence of real hardware.",
    subcommand_metavar="FILE... [OPTIONS] | COMMAND [OPTIONS]...",
)
@click.help_option("-h", "--help")
def attest() -> None:
    """Appraise a GPU's report, all devices of a node, reference values, or a virtual machine's quote or report.

    With a FILE, identify it layer by layer, appraise it as the format that reads it, whose options may follow, and
    list the inputs that further steps need. Several files, or a folder of them, are appraised separately, one line
    each. A COMMAND appraises only its own format. A name that is both is the command's; write ./NAME for the file.

    Exit codes: 0 accepted, 1 refused (what cannot be parsed is refused), 2 usage, 3 no evidence on this machine.
    """


def subcommand(name: str, form: AnyFormat, *, in_full: bool = False) -> click.Command:
    """Return the subcommand for a format; with ``in_full`` it prints the evidence's layers and missing inputs."""

    def appraise(
        evidence: Path | tuple[Path, ...],
        at: str | None,
        as_json: bool,
        require: frozenset[Requirement],
        trust_anchor: Path | None = None,
        policy_file: Path | None = None,
        ear: Path | None = None,
        key: Path | None = None,
        ear_profile: str | None = None,
        **given: Any,
    ) -> int:
        time, words = instant(at), {option: given[parameter(option)] for option in form.options}
        paths = evidence if isinstance(evidence, tuple) else (evidence,)
        files, stands_for = tuple(map(contents, paths)), values(words)
        require_apart({"--ear": ear}, [*paths, *_files(words.values()), *_files((policy_file, trust_anchor))])
        issuer = issuer_given(ear, key, ear_profile)
        against = AppraisalContext(time, policy_given(form, policy_file), anchors_given(trust_anchor))
        rerun = [str(word) for word in _rerun(words, policy_file, trust_anchor)]
        rerun += ["--require", ",".join(sorted(require))] if require else []
        again = ["carnet", "attest", name, *map(as_argument, paths), *rerun, "--at", format_time(time)]
        try:
            appraisal = appraise_files(name, files, OptionValues(stands_for), against).requiring(require)
        except NeedsOptionError as error:
            if not in_full:
                raise
            return show_what_is_needed(error, layers_of(files), time, again, as_json)
        if issuer is not None:
            issuer.issue(*_result(name, form, appraisal, against, stands_for, policy_file))
        return show(appraisal, time, again, as_json, in_full=in_full)

    policy = click.option(
        "--policy",
        "policy_file",
        type=readable,
        metavar="FILE",
        help="A JSON policy, which inherits what it leaves out, or a preset: strict, default or inventory.",
    )
    policies = [policy] if form.policy is not None else []
    anchors = [anchor_option] if form.anchored else []
    results = [with_ear_options] if form.results is not None else []
    shown = (*map(click_option, form.options), at_option, *policies, *anchors, *results, require_option, json_option)
    several, word = form.combine is not None, form.argument.upper()
    metavar = f"{word}..." if several else word
    argument = click.argument("evidence", type=readable, metavar=metavar, nargs=-1 if several else 1, required=True)
    command: Any = appraise
    for decorate in reversed((argument, *shown)):
        command = decorate(command)
    return click.command(name=name, help=form.help)(command)


def _files(values: Iterable[object]) -> Iterator[Path]:
    """Yield the files among given values."""
    for value in values:
        yield from _files(value) if isinstance(value, tuple) else (value,) if isinstance(value, Path) else ()


def _result(
    name: str,
    form: AnyFormat,
    appraisal: Appraisal,
    against: AppraisalContext[Any],
    given: Mapping[str, Value],
    policy_file: Path | None,
) -> tuple[AppraisalRecord, Profiles]:
    """Return the record of an appraisal for its attestation result, with the format's profiles."""
    from carnet_ref.attestation.results import AppraisalRecord

    profile = form.results
    assert profile is not None, "a format without results has no --ear"
    asked = given[profile.asked_with]
    assert asked is None or isinstance(asked, bytes), f"--{profile.asked_with} is bytes"
    appraised = AppraisalRecord(
        appraisal, name, against.at, profile.lasting(against.policy), asked, {name: policy_id(name, policy_file)}
    )
    return appraised, lambda attester: profile if bool(attester) is profile.grouped else None


def as_argument(path: Path, commands: Container[str] = ()) -> str:
    """Return a path as a word that is read neither as an option nor as one of these commands."""
    word = str(path)
    return f"./{word}" if word in commands or word.startswith("-") else word


def _rerun(words: Mapping[Option, Any], policy_file: Path | None, trust_anchor: Path | None) -> list[object]:
    """Return the words of the command that repeats the appraisal, without the time."""
    single, several = given_options(words)
    files = [("--policy", policy_file), *several, ("--trust-anchor", trust_anchor)]
    return [word for flag, value in [*single, *files] if value is not None for word in (flag, value)]
