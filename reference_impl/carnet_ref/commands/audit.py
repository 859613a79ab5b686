"""``carnet audit``: check the attested graph of a run against a claims file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from carnet_command.errors import UsageError
from carnet_command.exit_codes import ExitCode
from carnet_command.printable import printable
from carnet_command.text import plural

if TYPE_CHECKING:
    from carnet_ref.systems.verifiable_fl.audit import AuditResult
    from carnet_ref.systems.verifiable_fl.claims_file import AuditClaims

FOLDER = click.Path(path_type=Path)


@click.command(short_help="Audit the attested dataflow graph of a run.")
@click.argument("run", type=FOLDER, metavar="RUN")
@click.option("--claims", "claims_path", type=FOLDER, required=True, metavar="FILE", help="What is claimed, as TOML.")
@click.option("--plot", "plot_file", type=FOLDER, metavar="FILE", help="Also draw the graph, as SVG.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def audit(run: Path, claims_path: Path, plot_file: Path | None, as_json: bool) -> int:
    """Check the graph in the folder RUN, which `carnet run --graph` wrote, against claims.

    The graph is accepted if every statement is attested, in its place, and as claimed. Otherwise the command names
    the fault and the party that is responsible. A picture has a lane for each exclave; a refused statement is red.
    """
    from carnet_ref.systems.verifiable_fl.recording import audit_folder

    result, envelopes = audit_folder(run, _read(claims_path))
    if plot_file is not None:
        from carnet_ref.systems.verifiable_fl.picture import plot

        plot(envelopes, result, plot_file)
    if as_json:
        click.echo(json.dumps(result.to_json()))
    else:
        _report(result)
    return ExitCode.EXPECTED if result.accepted else ExitCode.VIOLATED


def _read(path: Path) -> AuditClaims:
    """Return the claims in a file. Raises UsageError if it cannot be read or is malformed."""
    from carnet_command.files import read_plain, reason
    from carnet_ref.systems.verifiable_fl.claims_file import LARGEST_FILE, ClaimsError, parse_claims

    try:
        return parse_claims(read_plain(path, LARGEST_FILE))
    except ClaimsError as error:
        raise UsageError(f"'{path}': {error}") from None
    except OSError as error:
        raise UsageError(f"cannot read the claims in '{path}': {reason(error)}") from None


def _report(result: AuditResult) -> None:
    lines = [f"statements   {result.steps:,} of {plural(len(result.exclaves), 'exclave')}, {result.edges:,} edges"]
    lines += [f"{each.id:<13}{each.detail}" for each in result.claims]
    if result.refusal is None:
        lines.append("accepted     every claim is borne out")
    else:
        refusal = result.refusal
        place = "" if refusal.step is None else f", statement {refusal.step}"
        lines += [f"refused      {refusal.fault.value}: {refusal.culprit}{place}", f"             {refusal}"]
    for line in lines:
        click.echo(printable(line))
