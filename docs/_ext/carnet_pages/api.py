"""The API reference: one page to a package, each module with what its docstrings say."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from .markdown import Lines, contents, page

FOLDER = "api"
ROOTS = ("spec", "model_check", "reference_impl")
_INTRODUCED = {
    "carnet_spec": "What is claimed. Write a protocol with `carnet_spec.language`; "
    "{doc}`../tutorial` shows how, and {doc}`../how-to/verify-in-ci` how to test it.",
    "carnet_check": "Whether it is true: engines, reports and the `carnet` command; "
    "{doc}`../architecture` says where things are.",
    "carnet_ref": "That it can be built: roles, keys, sessions, evidence, and what transfers cost.",
}


def api(root: Path, beside: Mapping[str, str]) -> dict[str, str]:
    """Return the pages of the API reference for the sources below ``root``, and those ``beside`` it, by path."""
    found = dict(_pages(root))
    tops = [name for name in found if "." not in name]
    index = page("# API reference", contents([*tops, *beside]))
    texts = {f"{name}.md": text for name, text in {**found, **beside}.items()} | {"index.md": index}
    return {path: text.rstrip() + "\n" for path, text in texts.items()}


def _pages(root: Path) -> Iterator[tuple[str, str]]:
    modules = _packages(root)
    for package, below in modules.items():
        subpackages = [name for name in modules if name.rpartition(".")[0] == package]
        head = [f"# {package}", *([_INTRODUCED[package]] if package in _INTRODUCED else [])]
        lists = [contents(subpackages)] if subpackages else []
        yield package, page(*head, *lists, _module(package), *(_section(module) for module in below))


def _packages(root: Path) -> Mapping[str, list[str]]:
    """Return the modules of each package."""
    found: dict[str, list[str]] = {}
    for source in ROOTS:
        for path in sorted((root / source).rglob("*.py")):
            module = ".".join(path.relative_to(root / source).with_suffix("").parts)
            package, _, name = module.rpartition(".")
            listed = found.setdefault(package, [])
            if not name.startswith("_"):
                listed.append(module)
    return dict(sorted(found.items()))


def _section(module: str) -> Lines:
    yield from (f"## {module.rpartition('.')[2]}", "")
    yield from _module(module)


def _module(module: str) -> Lines:
    """Yield the lines that show a module; names that a package hands on are shown where they are defined."""
    yield from ("```{eval-rst}", f".. automodule:: {module}", "   :members:", "   :ignore-module-all:", "```", "")
