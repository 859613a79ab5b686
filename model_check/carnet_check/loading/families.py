"""From what a user writes for a protocol to the family it means.

PROTOCOL is a registered id, ``path.py[:name]`` or ``module:name``; it may name a family, a draft, or a function that
returns one, so that a first file can be checked before anything is registered.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import multiprocessing
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from carnet_check.errors import CarnetError, InvalidSpecificationError, UsageError
from carnet_check.loading.contents import only_protocol
from carnet_check.loading.default_instance import EACH, default_instance
from carnet_check.loading.importing import (
    afresh,
    blamed_on_the_specification,
    importing,
    leaves,
    located,
    module_at,
    module_named,
)
from carnet_check.loading.names import at_its_line, files_about, refuse_nameless, require_known
from carnet_check.loading.places import place_of
from carnet_check.loading.readings import changing, same_instances
from carnet_check.loading.references import parts_of
from carnet_check.loading.sizes import Watched, grows_with, named_sizes
from carnet_spec.language import (
    Draft,
    Family,
    Instance,
    MisuseError,
    Profile,
    Protocol,
    Scale,
    SpecificationError,
    Variant,
)
from carnet_spec.language.analysis.layers import departures
from carnet_spec.language.family import made_by_the_checker
from carnet_spec.language.lints import Complaint, unmeant, unsound
from carnet_spec.language.naming import did_you_mean
from carnet_spec.language.requirements import text_beside
from carnet_spec.language.tracing import written_at
from carnet_spec.protocols.registry import registered

DEFAULT_VARIANT = "main"
_MEANINGLESS = "no verdict would mean anything"


@dataclass(frozen=True, slots=True)
class Source:
    """A family together with the words it was asked for by, which is what travels to worker processes."""

    reference: str
    """What a worker process finds the family by, wherever it runs."""
    family: Family
    shown: str
    """What the user wrote."""

    def protocol(self, variant: str = "", without: tuple[str, ...] = ()) -> Protocol:
        """Build a variant of the family, with defences removed.

        Raises:
            UsageError: the variant or a defence is unknown, or removing the defence changes nothing.
            InvalidSpecificationError: the specification itself is not well formed.
        """
        self.require_variant(variant)
        with blamed_on_the_specification(self.reference):
            whole = self.family.protocol(variant)
        if not without:
            return whole
        self._require_removable(whole, without)
        with blamed_on_the_specification(self.reference):
            ablated = self.family.protocol(variant, without)
        if ablated.actions == whole.actions:
            raise UsageError(f"removing {', '.join(without)} changes nothing in variant '{whole.variant}'")
        return ablated

    def sound(self, variant: str = "") -> Protocol:
        """Build a variant that is to be judged.

        Raises:
            UsageError: the variant is unknown.
            InvalidSpecificationError: it is not well formed, or breaks rules that every engine relies on.
        """
        self.require_variant(variant)
        name = variant or self.family.main[0]
        with blamed_on_the_specification(self.reference):
            self._refuse(name, unmeant(self.family, name))
        protocol = self.protocol(name)
        with blamed_on_the_specification(self.reference):
            layer = tuple(Complaint("layer", "", why) for why in self._departures(protocol))
            self._refuse(name, (*unsound(protocol), *layer))
        return protocol

    def _refuse(self, variant: str, wrong: Collection[Complaint]) -> None:
        """Refuse a variant if there is any complaint, and say where each is."""
        files = files_about(self.family, self.reference) if wrong else []
        draft = self.family.drafted(variant)
        told = [f"{place_of(each, draft, files) or self.shown}: {variant}: {_MEANINGLESS}: {each}" for each in wrong]
        if told:
            raise InvalidSpecificationError(*told)

    def _departures(self, protocol: Protocol) -> Iterator[str]:
        """Yield what makes a layer more than one over its design."""
        below = self.family.variants[protocol.variant].over if protocol.variant in self.family.variants else ""
        if below:
            yield from departures(protocol, self.protocol(below))

    def layered(self) -> list[Protocol]:
        """Return the first main variant, and the layers over it."""
        return [self.protocol(name) for name in self.family.with_layers(self.family.main[:1])]

    def _require_removable(self, protocol: Protocol, without: tuple[str, ...]) -> None:
        known = {defence.id: defence for defence in protocol.defences}
        for name in without:
            if name not in known:
                raise UsageError(unknown("defence", name, self.family.id, known))
            if name in protocol.without:
                raise UsageError(f"variant '{protocol.variant}' lacks defence '{name}' already")

    def instance(self, protocol: Protocol, threat: str, profile: Profile) -> Instance:
        """Build the instance of a profile, with the profile's adversary budget.

        Raises:
            UsageError: the sizes make no instance, or the family has no size of that name.
        """
        try:
            instance = self._built(protocol, threat, profile.scale)
            if not isinstance(instance, Instance):
                place, given = written_at(self.family.instance) or self.shown, type(instance).__name__
                raise InvalidSpecificationError(f"{place}: 'instance' returns a {given}: return an Instance")
            require_known(instance, protocol, self.family)
            instance.check(protocol)
        except MisuseError as error:
            raise located(self.shown, error) from error
        except SpecificationError as error:
            raise UsageError(at_its_line(str(error), self.family, self.reference)) from error
        except CarnetError:
            raise
        except SystemExit as error:
            raise leaves(self.shown, error) from None
        except Exception as error:
            raise located(self.shown, error) from error
        return instance if profile.budget is None else replace(instance, budget=profile.budget)

    def _built(self, protocol: Protocol, threat: str, scale: Scale) -> Instance:
        """Call the family's own function, which may refuse a size; then refuse one that makes no difference to it.

        That is one which it neither looks up by name nor takes with all others to make another instance of it.
        """
        named = named_sizes(self.family)
        if named.keys() >= scale.keys():
            return self.family.instance(protocol, threat, scale)
        watched = Watched(scale)
        self.family.instance(protocol, threat, watched)
        instance = self.family.instance(protocol, threat, scale)  # which has no name from what is watched
        known = named | watched.looked_up
        for name in scale:
            if name not in known and not grows_with(name, self.family, protocol, threat, scale, instance):
                raise UsageError(unknown("size", name, self.family.id, known))
        return instance

    @property
    def instances_are_made(self) -> bool:
        """Whether the checker makes the instances, because nobody gave any."""
        return self.family.instance is default_instance

    def profile(self, name: str) -> Profile:
        """Return a profile by name.

        Raises:
            UsageError: there is none.
        """
        if name not in self.family.profiles:
            raise UsageError(unknown("profile", name, self.family.id, self.family.profiles))
        return self.family.profiles[name]

    def require_variant(self, name: str) -> None:
        """Refuse a variant that does not exist.

        Raises:
            UsageError: there is none of this name.
        """
        if name and name not in self.family.variants:
            raise UsageError(unknown("variant", name, self.family.id, self.family.variants))


def unknown(what: str, name: str, where: str, known: Any) -> str:
    """Say that ``name`` does not exist and what does, the nearest first."""
    names = list(known)
    asked = did_you_mean(name, names)
    return f"no {what} '{name}' in {where}{asked and '; ' + asked} (known: {', '.join(names) or 'none'})"


def known_protocols() -> dict[str, str]:
    """Return the ids of the registered protocols, and where each is.

    Raises:
        InvalidSpecificationError: two packages register one id.
    """
    try:
        return registered()
    except SpecificationError as error:
        raise InvalidSpecificationError(str(error)) from None


@functools.cache
def load(reference: str) -> Source:
    """Return the family that ``reference`` names.

    Raises:
        UsageError: nothing of this name, not Python, or no protocol in it.
        InvalidSpecificationError: there is a protocol and it is not well formed.
    """
    known = known_protocols()
    if reference in known:
        return Source(reference, _registered(reference, known[reference]), reference)
    path, name = parts_of(reference)
    if path.endswith(".py") or Path(path).is_file():
        file = Path(path).absolute()
        where = f"{file}:{name}" if name else str(file)
        family = _family_in(module_at(file, path), name, reference)
        if multiprocessing.parent_process() is None:  # what a worker reads is compared with what was planned
            _require_the_same_again(family, file, path, name, reference)
        return Source(where, family, reference)
    if path and name:
        return Source(reference, _family_in(module_named(path), name, reference), reference)
    raise UsageError(
        unknown("protocol", reference, "the registry", known)
        + "; a protocol is a registered id, path.py[:name] or module:name"
    )


def _require_the_same_again(family: Family, file: Path, path: str, name: str, reference: str) -> None:
    """Import a file once more, and refuse it if its main designs say something else then: no verdict would be of them.

    Raises:
        InvalidSpecificationError: a digest differs.
    """
    try:
        with blamed_on_the_specification(reference):
            first = {variant: family.protocol(variant).digest for variant in family.main}
    except CarnetError:
        return  # the error is reported where the design is asked for
    with afresh(file.parent), blamed_on_the_specification(reference):
        again = _family_in(module_at(file, path), name, reference)
        for variant, digest in first.items():
            if again.protocol(variant).digest != digest:
                raise changing(file, variant)
        if not same_instances(family, again):
            raise changing(file, "an instance")


def registered_families() -> list[Family]:
    """Return every registered family that can be loaded: a command about one needs none of the others."""
    found = []
    for reference in known_protocols():
        with contextlib.suppress(CarnetError):  # a command about this one says what is wrong with it
            found.append(load(reference).family)
    return found


def _registered(id: str, target: str) -> Family:
    """Import the family that is registered under an id, and refuse one that has another."""
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
    with importing(id):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise InvalidSpecificationError(str(error)) from error


# -- what a module may name -----------------------------------------------------------------------


def _family_in(module: ModuleType, name: str, reference: str) -> Family:
    if not name:
        return _with_text(_as_family(only_protocol(module, reference), reference), module, reference)
    if not hasattr(module, name):
        raise UsageError(f"'{reference}': the module has no '{name}'")
    return _with_text(_as_family(getattr(module, name), reference), module, reference)


def _with_text(family: Family, module: ModuleType, reference: str) -> Family:
    """Give a family that brings no normative text the one that lies beside its module, and refuse a malformed one."""
    refuse_nameless(family, reference)
    with blamed_on_the_specification(reference):
        if not family.text.text and module.__file__:
            family = replace(family, text=text_beside(module.__file__))
        family.text.requirements()
    return family


def _as_family(value: object, reference: str) -> Family:
    if callable(value) and not isinstance(value, Family | Draft):
        if not _takes_at_most_a_variant(value):
            raise UsageError(f"expected '{reference}' to take a variant's name or nothing")
        with blamed_on_the_specification(reference):
            made = value(DEFAULT_VARIANT) if _takes_a_variant(value) else value()
        if isinstance(made, Draft):
            return _wrapped(value, made)
        value = made
    if isinstance(value, Draft):
        draft = value
        return _wrapped(lambda: draft, draft)
    if isinstance(value, Family):
        return _with_instances(value)
    raise UsageError(
        f"expected a Family, a Draft, or a function that returns one, and '{reference}' gives a {type(value).__name__}"
    )


def _with_instances(family: Family) -> Family:
    """Give a family that has no instances those of a draft alone, and the sizes of one where it has none of its own."""
    if family.instance is not made_by_the_checker:
        return family
    made = _wrapped(family.draft, Draft(family.id, family.title))
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


def _wrapped(function: Callable[..., Any], made: Draft) -> Family:
    """Make a family of one variant, with instances of any size, out of a draft."""

    def draft(variant: str) -> Draft:
        result = function(variant) if _takes_a_variant(function) else function()
        assert isinstance(result, Draft)
        return result

    return Family(
        id=made.id,
        title=made.title,
        draft=draft,
        instance=default_instance,
        variants={DEFAULT_VARIANT: Variant(DEFAULT_VARIANT, "as written")},
        main=(DEFAULT_VARIANT,),
        profiles={
            "tiny": Profile("tiny", {}, title="two elements beside each sort's constants"),
            "ci": Profile("ci", {EACH: 3}, title="three elements beside each sort's constants"),
            "review": Profile("review", {EACH: 4}, title="four elements beside each sort's constants"),
        },
        hunts=(Profile("two beside constants", {EACH: 2}), Profile("three beside constants", {EACH: 3})),
    )
