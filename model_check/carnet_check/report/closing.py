"""The block that every command ends with: what was established, how, with what, and how to do it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from platform import python_version
from typing import Any

import click
from click.core import ParameterSource

from carnet_check.engines.exploration import Walks
from carnet_check.engines.interface import Engine, installed
from carnet_command.text import LABEL_WIDTH, report_width, wrapped

DIGEST_SHOWN = 16
UNSAID = "carnet.unsaid"
"""The key in a context's ``meta`` for options that only another command gives, so that nobody can type them again."""


def tool_versions(*engines: Engine, solver: bool = True) -> dict[str, str]:
    """Return the versions that decide verdicts: of what the engines ask, and of Z3 unless none was asked."""
    z3 = {"z3": installed("z3-solver")} if solver else {}
    found = {name: version for engine in engines for name, version in engine.versions().items() if name != "z3-solver"}
    return {"carnet": installed("carnet"), **z3, **found, "python": python_version()}


@dataclass(frozen=True)
class Closing:
    """The facts of the closing block, in the order in which they are printed."""

    verdicts: Mapping[str, int]
    outcome: str
    strength: str
    budget: str
    profile: str
    digests: Mapping[str, str]
    artefacts: str
    rerun: str
    seconds: float = 0.0
    kept_by: str = ""
    """The option that would have kept something, where there is one."""
    versions: Mapping[str, str] = field(default_factory=tool_versions)

    def as_json(self) -> dict[str, Any]:
        """Return the same facts as JSON values."""
        return {
            "verdicts": dict(self.verdicts),
            "outcome": self.outcome,
            "strength": self.strength,
            "budget": self.budget,
            "profile": self.profile,
            "versions": dict(self.versions),
            "spec_digests": dict(self.digests),
            "artefacts": self.artefacts,
            "rerun": self.rerun,
            "seconds": round(self.seconds, 3),
        }

    def lines(self) -> list[str]:
        """Return the block as text."""
        digests = " · ".join(f"{name} {digest[:DIGEST_SHOWN]}" for name, digest in self.digests.items())
        counts = " · ".join(f"{word} {count}" for word, count in self.verdicts.items()) or "none"
        facts = {
            "verdicts": f"{counts}: {self.outcome}",
            "strength": self.strength,
            "budget": self.budget,
            "profile": self.profile,
            "versions": " · ".join(f"{name} {version}" for name, version in self.versions.items()),
            "spec digest": digests,
            "artefacts": self.artefacts or (f"none kept ({self.kept_by} keeps them)" if self.kept_by else "none"),
            "time": f"{self.seconds:.1f} s",
        }
        block = ["─" * report_width()]
        for label, text in facts.items():
            block += wrapped(label, text)
        return [*block, rerun(self.rerun)]


def profile_line(name: str, walks: Walks | None) -> str:
    """Say which profile a run had, and what its random walks were drawn from if it took any."""
    return f"{name}; nothing is random, so there is no seed" if walks is None else f"{name}; seed {walks.seed}"


def rerun_line(context: click.Context) -> str:
    """Return the line that every command ends with: what to type to get the same again."""
    return rerun(rerun_command(context))


def rerun(command: str) -> str:
    """Return the line that shows the command to type."""
    return f"{'rerun':<{LABEL_WIDTH}}{command}"


def rerun_command(context: click.Context) -> str:
    """Write down the command that is running, with what was given to it and nothing else."""
    words = ["carnet", context.info_name or ""]
    for parameter in context.command.get_params(context):
        name = parameter.name or ""
        if name in context.meta.get(UNSAID, ()):
            continue
        if context.get_parameter_source(name) not in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
            continue
        words += _given(parameter, context.params.get(name))
    return shlex.join(words)


def _given(parameter: click.Parameter, value: Any) -> list[str]:
    values = value if isinstance(value, tuple | list) else (value,)
    if isinstance(parameter, click.Argument):
        return [str(item) for item in values]
    option = max(parameter.opts, key=len)
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [option] if value else []
    return [word for item in values for word in (option, str(item))]
