"""``carnet doctor``: which engines and tools are installed, and what each is for."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from platform import machine as machine_type
from platform import python_version, system
from typing import Any

import click

from carnet_check.commands.common import cores, json_option, show
from carnet_check.engines.interface import Engine, Tool
from carnet_check.engines.registry import default_engines, registered_engines
from carnet_command.exit_codes import ExitCode
from carnet_command.text import wrap_text

COMPLETION = {
    "bash": 'eval "$(_CARNET_COMPLETE=bash_source carnet)"',
    "zsh": 'eval "$(_CARNET_COMPLETE=zsh_source carnet)"',
    "fish": "_CARNET_COMPLETE=fish_source carnet | source",
}


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """Whether a tool is installed, and its version or path."""

    name: str
    present: bool
    required: bool
    purpose: str
    detail: str


TOOLS = (
    Tool("jinja2", "the report", "pip install carnet", ("jinja2",), required=True),
    Tool("networkx", "state graphs, and exported models", "pip install carnet", ("networkx",), required=True),
    Tool("signed XML", "reference values of GPUs", "pip install carnet", ("lxml", "signxml"), required=True),
    Tool(
        "evidence bundle",
        "signed evidence of a run",
        "pip install 'carnet[bundle]'",
        ("securesystemslib", "in-toto-attestation", "rfc8785"),
    ),
    Tool("matplotlib", "carnet datapath --plot, carnet audit --plot", "pip install 'carnet[plot]'", ("matplotlib",)),
    Tool("joserfc", "signed results, carnet attest --ear", "pip install 'carnet[ear]'", ("joserfc",)),
    Tool("cbor2", "evidence in CBOR, carnet attest nitro and cca", "pip install 'carnet[cbor]'", ("cbor2",)),
    Tool("pygls", "carnet lsp, for editors", "pip install 'carnet[lsp]'", ("pygls",)),
    Tool("nvidia-ml-py", "GPUs, for carnet attest --live", "pip install 'carnet[live]'", ("nvidia-ml-py",)),
    Tool("torch", "carnet run --trainer torch", "pip install 'carnet[train]'", ("torch",)),
    Tool("ray", "carnet verify --ray", "pip install 'carnet[cluster]'", ("ray",)),
    Tool(
        "dcap-qvl",
        "a second verifier of TDX quotes, for tests",
        "pip install 'carnet[test]'",
        ("dcap-qvl",),
    ),
    Tool(
        "openssl",
        "carnet datapath --table throughput, for comparison",
        "the package 'openssl' of the system",
        programs=("openssl",),
    ),
    Tool(
        "browser",
        "the report, tested as it is read",
        "the package 'chromium' of the system",
        programs=("chromium", "chromium-browser", "google-chrome", "chrome"),
    ),
)


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> int:
    """Show which engines and tools are installed, what each is for, and how to get the others.

    Exit code 1: something that every run needs is missing.
    """
    needed = (tool for engine in registered_engines() for tool in engine.needs)
    found = [look_for(tool) for tool in (*dict.fromkeys(needed), *TOOLS)]
    engines = [_described(engine) for engine in registered_engines()]
    machine = {
        "python": python_version(),
        "system": f"{system()} {machine_type()}",
        "cores": cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }
    missing = [each.name for each in found if each.required and not each.present]
    tools = [asdict(each) for each in found]
    value = {"machine": machine, "engines": engines, "tools": tools, "missing": missing}
    here = f"{machine['system']}, Python {machine['python']}, {machine['cores']} cores"
    show(context, as_json, value, _lines(engines, found, here))
    return ExitCode.VIOLATED if missing else ExitCode.EXPECTED


def look_for(tool: Tool) -> ToolStatus:
    """Return whether ``tool`` is installed, without starting or importing it."""
    detail = tool.get
    if tool.distributions:
        versions = [_version(name) for name in tool.distributions]
        present = all(versions)
        if present:
            detail = ", ".join(f"{name} {version}" for name, version in zip(tool.distributions, versions, strict=True))
    else:
        where = next((path for name in tool.programs if (path := shutil.which(name))), None)
        where = where or tool.elsewhere()
        present = bool(where)
        detail = where or detail
    return ToolStatus(tool.name, present, tool.required, tool.purpose, detail)


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _described(engine: Engine) -> dict[str, Any]:
    """Return what an engine establishes, its verdicts, and its missing tools."""
    return {
        "name": engine.name,
        "purpose": engine.purpose,
        "verdicts": [str(verdict) for verdict in engine.verdicts],
        "by_default": engine in default_engines(),
        "missing": [tool.name for tool in engine.needs if not look_for(tool).present],
    }


def _lines(engines: list[dict[str, Any]], found: list[ToolStatus], machine: str) -> Iterator[str]:
    yield from wrap_text("machine", machine)
    yield ""
    for engine in engines:
        lacks = f"; it lacks {', '.join(engine['missing'])}" if engine["missing"] else ""
        yield from wrap_text(
            "engine", f"{engine['name']}: {engine['purpose']} ({', '.join(engine['verdicts'])}){lacks}"
        )
    yield ""
    for each in found:
        mark = "present" if each.present else "MISSING" if each.required else "absent"
        detail = each.detail if each.present else f"get it: {each.detail}"
        yield from wrap_text(mark, f"{each.name}: {each.purpose} ({detail})")
    yield ""
    yield from wrap_text("completion", "put the line for your shell into its startup file:")
    for shell, line in COMPLETION.items():
        yield f"  {shell:<11}{line}"
    yield ""
