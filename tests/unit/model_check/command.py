"""Running the ``carnet`` command inside a test, and the protocols to run it on."""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from carnet_check.cli import main
from carnet_check.engines.registry import explorer

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TOY = str(FIXTURES / "toy.py")
CONTROLS = str(FIXTURES / "controls.py")
WIDE = str(FIXTURES / "wide.py")
FASTEST = explorer().name  #: The engine that visits states where none is asked for.


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON object that it has to be."""
        return json.loads(self.out)


def carnet(*arguments: str) -> Ran:
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


@functools.cache
def carnet_once(*arguments: str) -> Ran:
    """Run ``carnet``, or return what came of running just this before."""
    return carnet(*arguments)


def control(name: str) -> str:
    return f"{CONTROLS}:{name}"
