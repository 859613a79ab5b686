"""Write the files that Coq compiles into theorems: ``python -m carnet_check.coq DIR``; ``carnet certify`` wrote DIR.

``make -C model_check/coq theorems DIR=DIR`` runs this, and compiles the files.
"""

from pathlib import Path

import click

from carnet_check.coq.folder import write_theorems
from carnet_command.errors import CarnetError
from carnet_command.text import plural
from carnet_spec.language import SpecificationError


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write into this folder, not DIR/coq.")
def main(folder: Path, out: Path | None) -> None:
    """Write the specifications, certificates and theorems of DIR for Coq."""
    where = out or folder / "coq"
    try:
        for variant, theorems in write_theorems(folder, where):
            said = plural(theorems, "theorem") if theorems else "no theorem, for nothing is claimed to hold"
            click.echo(f"{variant}: {said}; written to {where}")
    except (CarnetError, SpecificationError) as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
