"""``carnet init``: create a new protocol with a test and a workflow."""

import json
import re
import shutil
import tempfile
from importlib import resources
from pathlib import Path

import click

from carnet_check.commands.common import json_option, say
from carnet_check.errors import UsageError
from carnet_command.exit_codes import ExitCode
from carnet_command.files import failing_as

STARTER = "carnet_check.starter"
#: The path of each starter file in the new folder.
WRITTEN_AS = {
    "protocol.py": "protocol.py",
    "test_protocol.txt": "test_protocol.py",
    "README.md": "README.md",
    "workflow.yml": ".github/workflows/carnet.yml",
}
STARTER_ID = 'Draft("tickets", '
NAME = re.compile(r"[a-z][a-z0-9-]*")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@json_option
def init(folder: Path, as_json: bool) -> int:
    """Begin a protocol of your own in DIR, a new or empty folder whose name becomes the protocol's id.

    It is small, and its claims are proved. With it come a test, a workflow for GitHub, and a page on what to change.
    """
    name = _name(folder)
    shown, folder = folder, folder.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"expected a new or empty folder, and '{shown}' is neither")
    with failing_as(f"cannot write '{shown}'"):
        _write(folder, name)
    files = [str(shown / place) for place in WRITTEN_AS.values()]
    if as_json:
        click.echo(json.dumps({"protocol": name, "files": files}, ensure_ascii=False, indent=2))
        return ExitCode.EXPECTED
    for file in files:
        say(f"wrote        {file}")
    say(f"next         cd {shown} && carnet verify protocol.py")
    return ExitCode.EXPECTED


def _name(folder: Path) -> str:
    """Return the name of the protocol: that of the folder."""
    name = folder.resolve().name
    if not NAME.fullmatch(name):
        raise UsageError(f"expected a folder called like a protocol (lower case, digits and '-'), not '{name}'")
    return name


def _write(folder: Path, name: str) -> None:
    """Write all files to a temporary folder and rename it, so that the folder is complete or missing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder.parent))
    try:
        for file, place in WRITTEN_AS.items():
            text = resources.files(STARTER).joinpath(file).read_text("utf-8")
            (made / place).parent.mkdir(parents=True, exist_ok=True)
            (made / place).write_text(text.replace(STARTER_ID, f'Draft("{name}", '), "utf-8")
        folder.mkdir(exist_ok=True)
        for part in made.iterdir():
            part.rename(folder / part.name)
    finally:
        shutil.rmtree(made, ignore_errors=True)
