"""The API reference: a page for each package that code of others imports, each module with what its docstrings say."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from .markdown import Lines, contents, page

FOLDER = "api"
ROOTS = ("spec", "model_check", "reference_impl")
#: The packages that have a page, each with what it is for.
SHOWN = {
    "carnet_spec": "What is claimed. Write a protocol with `carnet_spec.language`; "
    "{doc}`../tutorial` shows how, and {doc}`../how-to/verify-in-ci` how to test it.",
    "carnet_spec.language": "The words that a protocol is written in; {doc}`../language` explains them.",
    "carnet_spec.protocols": "The protocols by their ids.",
    "carnet_spec.theories": "What many protocols say alike.",
    "carnet_command": "What a command of your own shares with `carnet`.",
    "carnet_check": "Whether it is true: engines, reports and the `carnet` command; "
    "{doc}`../architecture` says where things are.",
    "carnet_check.attacks": "Looking for an attack; {doc}`../how-to/look-in-a-notebook` does it.",
    "carnet_check.conformance": "Whether a recorded trace is allowed by the specification.",
    "carnet_check.engines": "What an engine of your own is written against; {doc}`../how-to/add-an-engine` says how.",
    "carnet_check.engines.exploring": "What engines share that visit states.",
    "carnet_check.engines.proving": "What engines share that answer proof obligations.",
    "carnet_check.loading": "Protocols by id, file or module, and the instances that are looked at.",
    "carnet_check.semantics": "What the steps of a protocol do.",
    "carnet_check.verification": "All engines on all claims; {doc}`../how-to/look-in-a-notebook` does it.",
    "carnet_ref": "That it can be built: roles, keys, sessions, evidence, and what transfers cost.",
    "carnet_ref.attestation": "Appraisal of evidence; {doc}`../how-to/appraise-evidence` says how.",
}
_INDEX = """
These are the packages that code of yours imports. The docstrings of all others are read beside their code;
{doc}`../architecture` says what each of them holds.
"""


def api(root: Path, beside: Mapping[str, str]) -> dict[str, str]:
    """Return the pages of the API reference for the sources below ``root``, and those ``beside`` it, by path."""
    found = dict(_pages(root))
    tops = [name for name in found if "." not in name]
    index = page("# API reference", _INDEX.strip(), contents([*tops, *beside]))
    texts = {f"{name}.md": text for name, text in {**found, **beside}.items()} | {"index.md": index}
    return {path: text.rstrip() + "\n" for path, text in texts.items()}


def _pages(root: Path) -> Iterator[tuple[str, str]]:
    for package, told in SHOWN.items():
        subpackages = [name for name in SHOWN if name.rpartition(".")[0] == package]
        lists = [contents(subpackages)] if subpackages else []
        sections = map(_section, _modules(root, package))
        yield package, page(f"# {package}", told, *lists, _module(package), *sections)


def _modules(root: Path, package: str) -> list[str]:
    """Return the modules of a package. Raises ValueError if there is no such package."""
    (folder,) = (found for source in ROOTS if (found := root / source / package.replace(".", "/")).is_dir())
    return [f"{package}.{path.stem}" for path in sorted(folder.glob("*.py")) if not path.stem.startswith("_")]


def _section(module: str) -> Lines:
    yield from (f"## {module.rpartition('.')[2]}", "")
    yield from _module(module)


def _module(module: str) -> Lines:
    """Yield the lines that show a module; names that a package hands on are shown where they are defined."""
    yield from ("```{eval-rst}", f".. automodule:: {module}", "   :members:", "   :ignore-module-all:", "```", "")
