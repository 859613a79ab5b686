"""Loading a family by reference: a registered id, a file or a module.

PROTOCOL is a registered id, ``path.py[:name]`` or ``module:name``. It names a family, a draft, or a function that
returns one of these, so a first file can be checked without being registered.
"""

import ast
import contextlib
import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import itertools
import multiprocessing
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from carnet_check.cache import memoize
from carnet_check.errors import CarnetError, InvalidSpecificationError, UsageError
from carnet_check.loading import importing
from carnet_check.loading.default_instance import EACH, default_instance
from carnet_check.semantics import Interpreter
from carnet_spec import language
from carnet_spec.language.analysis.layers import departures
from carnet_spec.language.family import made_by_the_checker
from carnet_spec.language.lints import NAMES, Complaint, Level, lint, undeclared_names, undeclared_parts, unsound
from carnet_spec.language.naming import and_known, did_you_mean
from carnet_spec.language.requirements import text_beside
from carnet_spec.language.statements import UNRESTRICTED
from carnet_spec.language.tracing import SourceLocation, written_at
from carnet_spec.protocols.registry import OWN as OWN_PROTOCOLS
from carnet_spec.protocols.registry import registered_protocols

DEFAULT_VARIANT = "main"
_MEANINGLESS = "no verdict would be sound"


@dataclass(frozen=True, slots=True)
class Source:
    """A family, with the reference to it that is sent to worker processes."""

    reference: str  #: The reference by which a worker process loads the family, independent of its current folder.
    family: language.Family
    shown: str  #: The reference that the user wrote.
    _instances: dict[tuple[str, str, tuple[tuple[str, int], ...]], language.Instance] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    def protocol(self, variant: str = "", without: tuple[str, ...] = ()) -> language.Protocol:
        """Build a variant of the family, with the defences ``without`` removed.

        Raises UsageError if the variant or a defence is unknown, or removing a defence changes nothing;
        InvalidSpecificationError if the specification is not well formed.
        """
        self.require_variant(variant)
        with importing.specification_errors(self.reference):
            whole = self.family.protocol(variant)
        if not without:
            return whole
        self._require_removable(whole, without)
        with importing.specification_errors(self.reference):
            ablated = self.family.protocol(variant, without)
        if ablated.actions == whole.actions:
            raise UsageError(f"removing {', '.join(without)} changes nothing in variant '{whole.variant}'")
        return ablated

    def sound_variant(self, variant: str = "") -> language.Protocol:
        """Build a variant, and require that a verdict on it is meaningful.

        Raises UsageError if the variant is unknown; InvalidSpecificationError if it is not well formed, or breaks rules
        that every engine relies on.
        """
        self.require_variant(variant)
        name = variant or self.family.main[0]
        self._memoized("soundness", name, self._require_sound)
        return self.protocol(name)

    def lint_errors(self, variant: str) -> list[str]:
        """Return the lint errors of a variant; it can be checked, but may not mean what its author intends."""

        def errors_of(name: str) -> list[str]:
            return [str(each) for each in lint(self.protocol(name)) if each.level is Level.ERROR]

        return list(self._memoized("lint errors", variant, errors_of))

    def _memoized(self, what: str, name: str, find: Callable[[str], Any]) -> Any:
        """Return a result about a variant; for Carnet's own protocols it is stored until a source file changes."""
        if self.reference in OWN_PROTOCOLS and load(self.reference).family is self.family:
            return memoize(what, f"{self.reference} {name}", lambda: find(name), lambda kept: kept)
        return find(name)

    def _require_sound(self, name: str) -> bool:
        """Refuse a variant that breaks a rule; return True otherwise."""
        with importing.specification_errors(self.reference):
            self._refuse(name, undeclared_names(self.family, name))
        protocol = self.protocol(name)
        with importing.specification_errors(self.reference):
            layer = tuple(Complaint("layer", "", why) for why in self._departures(protocol))
            self._refuse(name, (*unsound(protocol), *layer))
        return True

    def _refuse(self, variant: str, wrong: Collection[Complaint]) -> None:
        """Refuse a variant if there is any complaint; the error says where each is."""
        files = files_about(self.family, self.reference) if wrong else []
        draft = self.family.draft_of(variant)
        told = [f"{place_of(each, draft, files) or self.shown}: {variant}: {_MEANINGLESS}: {each}" for each in wrong]
        if told:
            raise InvalidSpecificationError(*told)

    def _departures(self, protocol: language.Protocol) -> Iterator[str]:
        """Yield the ways in which a layer does not refine its design."""
        below = self.family.variants[protocol.variant].over if protocol.variant in self.family.variants else ""
        if below:
            yield from departures(protocol, self.protocol(below))

    def with_layers(self) -> list[language.Protocol]:
        """Return the first main variant, and the layers over it."""
        return [self.protocol(name) for name in self.family.with_layers(self.family.main[:1])]

    def _require_removable(self, protocol: language.Protocol, without: tuple[str, ...]) -> None:
        known = {defence.id: defence for defence in protocol.defences}
        for name in without:
            if name not in known:
                raise UsageError(unknown_name("defence", name, self.family.id, known))
            if name in protocol.without:
                raise UsageError(f"variant '{protocol.variant}' lacks defence '{name}' already")

    def instance(self, protocol: language.Protocol, threat: str, profile: language.Profile) -> language.Instance:
        """Build the instance of a profile, with the profile's adversary budget.

        Raises UsageError if there is no instance of these sizes, or the family has no size of that name.
        """
        key = (protocol.digest, threat, tuple(profile.scale.items()))
        if key not in self._instances:
            self._instances[key] = self._checked_instance(protocol, threat, profile.scale)
        instance = self._instances[key]
        return instance if profile.budget is None else replace(instance, budget=profile.budget)

    def _checked_instance(self, protocol: language.Protocol, threat: str, scale: language.Scale) -> language.Instance:
        try:
            instance = self._built(protocol, threat, scale)
            if not isinstance(instance, language.Instance):
                place, given = written_at(self.family.instance) or self.shown, type(instance).__name__
                raise InvalidSpecificationError(f"{place}: 'instance' returns a {given}: return an Instance")
            require_known(instance, protocol, self.family)
            instance.check(protocol)
        except language.MisuseError as error:
            raise importing.error_at_line(self.shown, error) from error
        except language.SpecificationError as error:
            raise UsageError(at_its_line(str(error), self.family, self.reference)) from error
        except CarnetError:
            raise
        except SystemExit as error:
            raise importing.exit_error(self.shown, error) from None
        except Exception as error:
            raise importing.error_at_line(self.shown, error) from error
        return instance

    def _built(self, protocol: language.Protocol, threat: str, scale: language.Scale) -> language.Instance:
        """Call the family's function, which may refuse a size; then refuse a size that has no effect.

        A size has an effect if the function looks it up by name, or if a larger size results in another instance.
        """
        named = named_sizes(self.family)
        if named.keys() >= scale.keys():
            return self.family.instance(protocol, threat, scale)
        watched = RecordingScale(scale)
        self.family.instance(protocol, threat, watched)
        instance = self.family.instance(protocol, threat, scale)  # without recording look-ups
        known = named | watched.looked_up
        for name in scale:
            if name not in known and not grows_with(name, self.family, protocol, threat, scale, instance):
                raise UsageError(unknown_name("size", name, self.family.id, known))
        return instance

    @property
    def instances_are_made(self) -> bool:
        """Whether the checker makes the instances, because the family has none."""
        return self.family.instance is default_instance

    def profile(self, name: str) -> language.Profile:
        """Return a profile by name. Raises UsageError if there is no profile of this name."""
        if name not in self.family.profiles:
            raise UsageError(unknown_name("profile", name, self.family.id, self.family.profiles))
        return self.family.profiles[name]

    def require_variant(self, name: str) -> None:
        """Refuse a variant that does not exist. Raises UsageError if there is no variant of this name."""
        if name and name not in self.family.variants:
            raise UsageError(unknown_name("variant", name, self.family.id, self.family.variants))


def unknown_name(what: str, name: str, where: str, known: Any) -> str:
    """Return the message that ``name`` does not exist, with the existing names, the most similar first."""
    names = list(known)
    asked = did_you_mean(name, names)
    return f"no {what} '{name}' in {where}{asked and '; ' + asked} (known: {', '.join(names) or 'none'})"


def known_protocols() -> dict[str, str]:
    """Return the ids of the registered protocols, and where each is.

    Raises InvalidSpecificationError if two packages register the same id.
    """
    try:
        return registered_protocols()
    except language.SpecificationError as error:
        raise InvalidSpecificationError(str(error)) from None


@functools.cache
def load(reference: str) -> Source:
    """Return the family that ``reference`` names.

    Raises UsageError if the reference names nothing, no Python file, or a module without a protocol;
    InvalidSpecificationError if the protocol is not well formed.
    """
    known = known_protocols()
    if reference in known:
        return Source(reference, _registered(reference, known[reference]), reference)
    path, name = parts_of(reference)
    if path.endswith(".py") or Path(path).is_file():
        file = Path(path).absolute()
        where = f"{file}:{name}" if name else str(file)
        family = _family_in(importing.module_at(file, path), name, reference)
        if multiprocessing.parent_process() is None:  # in a worker, the caller compares the digest with the planned one
            _require_the_same_again(family, file, path, name, reference)
        return Source(where, family, reference)
    if path and name:
        return Source(reference, _family_in(importing.module_named(path), name, reference), reference)
    raise UsageError(
        unknown_name("protocol", reference, "the registry", known)
        + "; a protocol is a registered id, path.py[:name] or module:name"
    )


def _require_the_same_again(family: language.Family, file: Path, path: str, name: str, reference: str) -> None:
    """Import a file a second time, and refuse it if its main designs differ from those of the first import."""
    try:
        with importing.specification_errors(reference):
            first = {variant: family.protocol(variant).digest for variant in family.main}
    except CarnetError:
        return  # the error is reported when the design is built
    with importing.reimporting(file.parent), importing.specification_errors(reference):
        again = _family_in(importing.module_at(file, path), name, reference)
        for variant, digest in first.items():
            if again.protocol(variant).digest != digest:
                raise unstable_source(file, variant)
        if not same_instances(family, again):
            raise unstable_source(file, "an instance")


def registered_families() -> list[language.Family]:
    """Return every registered family that can be loaded; a broken family does not stop commands about others."""
    found = []
    for reference in known_protocols():
        with contextlib.suppress(CarnetError):  # a command about this family reports the error
            found.append(load(reference).family)
    return found


def _registered(id: str, target: str) -> language.Family:
    """Import the family that is registered under an id, and refuse a family with another id."""
    module, _, attribute = target.partition(":")
    try:
        family = _family_in(_installed(module, id), attribute, id)
    except CarnetError as error:
        raise InvalidSpecificationError(f"protocol '{id}' ({target}) cannot be imported: {error}") from error
    if family.id != id:
        raise InvalidSpecificationError(
            f"protocol '{id}' ({target}) is a family whose id is '{family.id}': register it as '{family.id}'"
        )
    return family


def _installed(module: str, id: str) -> ModuleType:
    with importing.importing(id):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise InvalidSpecificationError(str(error)) from error


# -- from a module's object to a family -----------------------------------------------------------


def _family_in(module: ModuleType, name: str, reference: str) -> language.Family:
    if not name:
        return _with_text(_as_family(only_protocol(module, reference), reference), module, reference)
    if not hasattr(module, name):
        raise UsageError(f"'{reference}': the module has no '{name}'")
    return _with_text(_as_family(getattr(module, name), reference), module, reference)


def _with_text(family: language.Family, module: ModuleType, reference: str) -> language.Family:
    """Return the family with the normative text beside its module, if it has none; refuse a malformed text."""
    refuse_nameless(family, reference)
    with importing.specification_errors(reference):
        if not family.text.text and module.__file__:
            family = replace(family, text=text_beside(module.__file__))
        family.text.requirements()
    return family


def _as_family(value: object, reference: str) -> language.Family:
    if callable(value) and not isinstance(value, language.Family | language.Draft):
        if not _takes_at_most_a_variant(value):
            raise UsageError(f"expected '{reference}' to take a variant's name or nothing")
        with importing.specification_errors(reference):
            made = value(DEFAULT_VARIANT) if _takes_a_variant(value) else value()
        if isinstance(made, language.Draft):
            return _wrapped(value, made)
        value = made
    if isinstance(value, language.Draft):
        draft = value
        return _wrapped(lambda: draft, draft)
    if isinstance(value, language.Family):
        return _with_instances(value)
    raise UsageError(
        f"expected a Family, a Draft, or a function that returns one, and '{reference}' gives a {type(value).__name__}"
    )


def _with_instances(family: language.Family) -> language.Family:
    """Return the family with the default instances and profiles of a draft, if it has none."""
    if family.instance is not made_by_the_checker:
        return family
    made = _wrapped(family.draft, language.Draft(family.id, family.title))
    profiles, hunts = family.profiles or made.profiles, family.hunts or made.hunts
    return replace(family, instance=made.instance, profiles=profiles, hunts=hunts)


def _takes_at_most_a_variant(function: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(parameter.default is parameter.empty for parameter in parameters) <= 1


def _takes_a_variant(function: Callable[..., object]) -> bool:
    return len(inspect.signature(function).parameters) > 0


def _wrapped(function: Callable[..., Any], made: language.Draft) -> language.Family:
    """Return a family with the draft as its only variant, and with instances of any size."""

    def draft(variant: str) -> language.Draft:
        result = function(variant) if _takes_a_variant(function) else function()
        assert isinstance(result, language.Draft)
        return result

    return language.Family(
        id=made.id,
        title=made.title,
        draft=draft,
        instance=default_instance,
        variants={made.variant: language.Variant(made.variant, "as written")},
        profiles={
            "tiny": language.Profile("tiny", {}, title="two elements beside each sort's constants"),
            "ci": language.Profile("ci", {EACH: 3}, title="three elements beside each sort's constants"),
            "review": language.Profile("review", {EACH: 4}, title="four elements beside each sort's constants"),
        },
        hunts=(
            language.Profile("two beside constants", {EACH: 2}),
            language.Profile("three beside constants", {EACH: 3}),
        ),
    )


# --------------------------------------------------------------------------------------------------
# The parts of a reference to a protocol: a path or a module, and a name in it; and the default reference.

OWN = "protocol.py"  #: The name of the file that `carnet init` writes.


def protocol_here() -> str | None:
    """Return the file ``protocol.py`` of the current folder, if it exists and mentions Carnet, else None."""
    file = Path(OWN)
    return OWN if file.is_file() and b"carnet_spec" in file.read_bytes() else None


def parts_of(reference: str) -> tuple[str, str]:
    """Return the path or module of a reference, and the name in it; a folder's name may contain a colon."""
    found = re.fullmatch(r"(.*\.py)(?::(\w+))?", reference, re.DOTALL)
    if found is not None:
        return found[1], found[2] or ""
    path, _, name = reference.partition(":")
    return path, name


def files_of(reference: str) -> list[Path]:
    """Return the file that a reference names, in a list; an empty list for a module or an id."""
    path, _ = parts_of(reference)
    return [Path(path)] if path.endswith(".py") else []


# -- Threat models by name, and whether an instance satisfies the axioms of one --------------------

#: The threat model of a protocol that declares none.
NO_THREAT = language.Threat(UNRESTRICTED, "nothing is assumed about anyone", ())


def threat_of(protocol: language.Protocol, id: str) -> language.Threat:
    """Return a threat model of the protocol, or `NO_THREAT` if the protocol declares none."""
    return NO_THREAT if id == NO_THREAT.id and not protocol.threats else protocol.threat(id)


def axiom_violations(judge: Interpreter, threat: language.Threat) -> list[str]:
    """Return the axioms that the interpreter's instance violates, in words."""
    names = [*judge.axioms_hold(), *judge.violated_axioms(threat.axioms)]
    return [f"the instance under {threat.id} violates axiom '{name}'" for name in names]


# --------------------------------------------------------------------------------------------------
# Which sizes a family knows: a size that no instance depends on would silently have no effect.


class _OwnName(str):
    """A size's name as the scale lists it: a look-up with it does not show that the family knows the size."""

    __slots__ = ()


class RecordingScale(Mapping[str, int]):
    """A scale that records which sizes were looked up by name."""

    def __init__(self, scale: language.Scale) -> None:
        self._scale = scale
        self.looked_up: dict[str, None] = {}

    def __getitem__(self, name: str) -> int:
        if not isinstance(name, _OwnName):
            self.looked_up[name] = None
        return self._scale[name]

    def __iter__(self) -> Iterator[str]:
        return map(_OwnName, self._scale)

    def __len__(self) -> int:
        return len(self._scale)


def named_sizes(family: language.Family) -> dict[str, None]:
    """Return the sizes that the profiles, the hunts and the options of a family name, in order."""
    profiles = (*family.profiles.values(), *family.hunts)
    return dict.fromkeys((*(name for profile in profiles for name in profile.scale), *family.options))


def grows_with(
    name: str,
    family: language.Family,
    protocol: language.Protocol,
    threat: str,
    scale: language.Scale,
    instance: language.Instance,
) -> bool:
    """Whether a size increased by one results in another instance than this one, or in a refusal by the family."""
    try:
        return family.instance(protocol, threat, {**scale, name: scale[name] + 1}) != instance
    except Exception:  # the family's code accepted the smaller size, so any exception shows that it depends on the size
        return True


# -- The protocol that a module defines ------------------------------------------------------------


def only_protocol(module: ModuleType, reference: str) -> object:
    """Return the one family, or draft, or draft function, that a module defines."""
    values = {n: v for n, v in vars(module).items() if not n.startswith("_")}
    kinds: tuple[Callable[[object], bool], ...] = (
        lambda value: isinstance(value, language.Family),
        lambda value: isinstance(value, language.Draft),
        lambda value: _returns_a_draft(value, module),
    )
    for kind in kinds:
        found = [n for n, value in values.items() if kind(value)]
        if len(found) > 1:
            raise UsageError(
                f"'{reference}' has several protocols: say which one, {reference}:NAME with NAME one of "
                + ", ".join(found)
            )
        if found:
            return values[found[0]]
    raise UsageError(
        f"expected a protocol in '{reference}' (a Family, a Draft, or a function that returns a Draft), and found none"
    )


def _returns_a_draft(value: object, module: ModuleType) -> bool:
    if not inspect.isfunction(value) or value.__module__ != module.__name__:
        return False
    returned = value.__annotations__.get("return")
    named = isinstance(returned, str) and returned.rpartition(".")[2] == language.Draft.__name__
    return value.__name__ == "draft" or named or returned is language.Draft


# --------------------------------------------------------------------------------------------------
# The source location of a lint's complaint, and of a name.

#: The kinds of parts in complaints, each with the name of the part in a draft.
KINDS = {
    "action": ("action",),
    "rule": ("action",),
    "claim or lemma": ("claim", "lemma"),
    "claim": ("claim",),
    "lemma": ("lemma",),
    "goal": ("goal",),
    "liveness": ("liveness",),
    "axiom": ("axiom",),
    "threat model": ("threat model",),
    "initial value of": ("initial value of",),
    "accepted leak": ("accepted leak",),
}
_NAMED = re.compile(rf"(?P<kind>{'|'.join(KINDS)}|symbol|sort) (?P<name>.+)")
_QUOTED = re.compile(r"'([^']+)'")
_BRACED = re.compile(r"\{[^}]*\}")
_OF_NAMES = NAMES | {"family", "requirements"}


def place_of(complaint: Complaint, draft: language.Draft, files: Iterable[str] = ()) -> SourceLocation | None:
    """Return the source location of a complaint's subject, or of the draft's beginning; None if it is in no file.

    If the complaint is about a misspelt name, the location is that of the name; it is looked for in ``files``, too.
    """
    every = [*dict.fromkeys((*_files(draft), *files))]
    stated = next((place for place in _places(complaint, draft, every) if place is not None), None)
    if complaint.rule in _OF_NAMES:
        stated = find_text(first_quoted(complaint.message), every, stated) or stated
    beginning = (place for (kind, _), place in draft.stated_at.items() if kind == "draft")
    return stated or next(beginning, None)


def first_quoted(message: str) -> str:
    """Return the name that an error message is about: the first name in braces, or the first one in quotes."""
    return next(iter((*_BRACED.findall(message), *_QUOTED.findall(message))), "")


def find_text(text: str, files: Iterable[str], after: SourceLocation | None = None) -> SourceLocation | None:
    """Return the location of a string literal that is ``text``, or that contains it in braces.

    The first match after ``after`` in its file is preferred; otherwise it is the first match in ``files``.
    """
    if not text:
        return None
    if after is not None:
        later = (line for line in _lines(text, after.file) if line >= after.line)
        first = min(later, default=0)
        if first:
            return SourceLocation(after.file, first)
    for file in files:
        for line in sorted(_lines(text, file)):
            return SourceLocation(file, line)
    return None


def _lines(text: str, file: str) -> Iterator[int]:
    """Yield the lines of a file with a string literal that is ``text``, or that contains it in braces."""
    for node in _nodes(file):
        match node:
            case ast.Constant(value=str(value)) if value == text or (text.startswith("{") and text in value):
                yield node.lineno


def _nodes(file: str) -> Iterator[ast.AST]:
    with contextlib.suppress(OSError, ValueError, SyntaxError):
        yield from _parsed(Path(file).read_bytes())


@functools.lru_cache(maxsize=8)
def _parsed(source: bytes) -> tuple[ast.AST, ...]:
    """Return all nodes of a source file; cached, as several complaints may be about the same file."""
    return tuple(ast.walk(ast.parse(source)))


def _files(draft: language.Draft) -> list[str]:
    """Return the files in which parts of a draft are declared."""
    return list(dict.fromkeys(place.file for place in draft.stated_at.values() if place is not None))


def _places(complaint: Complaint, draft: language.Draft, files: Iterable[str]) -> Iterator[SourceLocation | None]:
    found = _NAMED.fullmatch(complaint.where)
    if found is None:  # the complaint names several parts
        for name in _QUOTED.findall(complaint.message):
            yield from (draft.stated_at[key] for key in reversed(draft.stated_at) if key[1] == name)
            yield _declared(name, files)
        return
    kind, whole = found["kind"], found["name"]
    for name in (whole, whole.partition(",")[0], whole.strip("'\"")):
        yield from (draft.stated_at.get((known, name)) for known in KINDS.get(kind, ()))
        yield _declared(name, files) if kind in ("symbol", "sort") else None
    yield draft.stated_at.get(("threat model", whole.partition(": ")[0]))


def _declared(name: str, files: Iterable[str]) -> SourceLocation | None:
    """Return where a sort or a symbol is declared: by a call with the name as first argument."""
    for file in files:
        for node in _nodes(file):
            match node:
                case ast.ClassDef(name=declared) if declared == name:
                    return SourceLocation(file, node.lineno)
                case ast.Call(args=[ast.Constant(value=declared), *_]) if declared == name:
                    return SourceLocation(file, node.lineno)
    return None


# --------------------------------------------------------------------------------------------------
# Names that a specification uses: the files in which they are written, and the names of a family's parts.


def files_about(family: language.Family, reference: str) -> list[str]:
    """Return the files in which a family may name its parts: its own, and the others in the same package."""
    places = (written_at(family.draft), written_at(family.instance))
    own = [*(file.absolute() for file in files_of(reference)), *(Path(place.file) for place in places if place)]
    beside = (each for file in own if file.with_name("__init__.py").is_file() for each in file.parent.glob("*.py"))
    return [str(file) for file in dict.fromkeys((*own, *sorted(beside)))]


def refuse_nameless(family: language.Family, reference: str) -> None:
    """Refuse a family that names a variant, a profile or a size that it does not have.

    Raises InvalidSpecificationError if there is such a name; each complaint says where.
    """
    wrong = undeclared_parts(family)
    files = files_about(family, reference) if wrong else []
    if wrong:
        told = ((find_text(first_quoted(each.message), files) or reference, each) for each in wrong)
        raise InvalidSpecificationError(*(f"{place}: {complaint}" for place, complaint in told))


def at_its_line(error: str, family: language.Family, reference: str) -> str:
    """Return an error about an instance, preceded by the line with the misspelt name, if that is found."""
    place = find_text(first_quoted(error), files_about(family, reference), written_at(family.instance))
    return f"{place}: {error}" if place else error


def require_known(instance: language.Instance, protocol: language.Protocol, family: language.Family) -> None:
    """Refuse an instance that names symbols or parameters that no variant has, as they would have no effect.

    Raises SpecificationError if a relation or function is misspelt, or the action or parameter of a pool.
    """
    _require(_SYMBOL, {*instance.relations, *instance.functions}, protocol, family)
    _require(_ACTION, {action for action, _ in instance.pools}, protocol, family)
    for name, parameter in instance.pools:
        _require(f"{_PARAMETER}{name}", {parameter}, protocol, family)


_SYMBOL, _ACTION, _PARAMETER = "symbol that never changes", "action of a pool", "parameter of "


def _require(what: str, names: set[str], protocol: language.Protocol, family: language.Family) -> None:
    """Refuse a name that is neither in the protocol nor, for other designs, declared in the source of the family.

    The other designs are built only if the source does not declare the name: a function may generate names.
    """
    known = _known_names(what, protocol)
    unseen = _undeclared(what, names - known, family)
    for variant in family.variants if unseen else ():
        known |= _known_names(what, family.protocol(variant))
        if known >= names:
            return
    for name in sorted(unseen - known):
        raise language.SpecificationError(
            f"the instance: no {what} '{name}' in {family.id}{and_known(name, sorted(known))}"
        )


def _undeclared(what: str, names: set[str], family: language.Family) -> set[str]:
    """Return those of ``names`` that the source does not declare; ``what`` says whether they are parameters."""
    if not names:
        return names
    symbols, actions = _declared_in(tuple(files_about(family, "")))
    if what == _SYMBOL:
        return names - symbols
    if what == _ACTION:
        return names - actions.keys()
    params = " ".join(actions.get(what.removeprefix(_PARAMETER), []))
    return {name for name in names if not re.search(rf"\b{re.escape(name)}\s*:", params)}


@functools.lru_cache(maxsize=8)
def _declared_in(files: tuple[str, ...]) -> tuple[frozenset[str], Mapping[str, list[str]]]:
    """Return the rigid symbols that files declare, and for each function the parameters in its source."""
    source = "\n".join(Path(file).read_text("utf-8") for file in files if Path(file).is_file())
    actions: defaultdict[str, list[str]] = defaultdict(list)
    for name, params in re.findall(r"\bdef (\w+)\(([^)]*)\)", source):
        actions[name].append(params)
    return frozenset(re.findall(r'\b(?:rigid_\w+|constant)\(\s*"([^"]*)"', source)), actions


def _known_names(what: str, protocol: language.Protocol) -> set[str]:
    if what == _SYMBOL:
        return {symbol.name for symbol in protocol.symbols if not symbol.mutable}
    if what == _ACTION:
        return {action.name for action in protocol.actions}
    of = what.removeprefix(_PARAMETER)
    return {var.name for action in protocol.actions if action.name == of for var in action.params}


# -- Whether two imports of one file agree ---------------------------------------------------------


def unstable_source(file: Path, what: str) -> InvalidSpecificationError:
    """Return the error about a file whose imports differ from each other."""
    return InvalidSpecificationError(
        f"{file.name}: {what} says something else each time that it is loaded: "
        "let nothing in it depend on chance, on the time or on the system"
    )


def same_instances(one: language.Family, other: language.Family) -> bool:
    """Whether the instances of all profiles are equal for two imports of a family."""
    if one.instance is default_instance:
        return True
    for variant in one.main:
        protocol = one.protocol(variant)
        for threat, profile in itertools.product(protocol.threats, one.profiles.values()):
            first, second = (
                _instance_or_error(each, each.protocol(variant), threat.id, profile) for each in (one, other)
            )
            if first != second:
                return False
    return True


def _instance_or_error(
    family: language.Family, protocol: language.Protocol, threat: str, profile: language.Profile
) -> language.Instance | str:
    """Return an instance, or the message of the error; the error itself is reported when the instance is used."""
    try:
        return family.instance(protocol, threat, profile.scale)
    except Exception as error:  # the specification's own code, which may raise anything
        return f"{type(error).__name__}: {error}"
