"""Policies: what a relying party asks of evidence, as a table of keys that each format declares once.

A key has a name, a kind of value, a default and one line that says what it means. The parser, what ``carnet attest
policy show`` prints, JSON Schema and the documentation are made of this declaration.

A policy file is a JSON object with some of the keys. What it leaves out is inherited from a preset, which it may name
by the key ``preset``. The steps that it requires are required beside those of the preset, so that no key takes a step
away. A file that has no key, or an empty list of steps, asks for nothing and accepts nothing.

Source: RFC 9334, section 8.5 (Appraisal Policy for Evidence); JSON Schema 2020-12.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, time
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from carnet_ref.wire import MalformedError, bounded_json

WHAT: Final = "policy"
LARGEST: Final = 1 << 20
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
PREFIX: Final = "0x"
POINTER: Final = "(/([^~/]|~[01])*)+"
SHOWN: Final = 100  #: How many characters of what was found an error shows.


class Preset(StrEnum):
    """The policies that a name is enough for."""

    STRICT = "strict"
    DEFAULT = "default"
    INVENTORY = "inventory"


PRESET: Final = "preset"
REQUIRE: Final = "require"
PRESET_MEANING: Final = "the preset that is inherited from"


class ValueKind(Protocol):
    """A kind of values of a policy's keys: how they are read from JSON and written to it, and their JSON Schema."""

    def read(self, value: object, where: str) -> Any:
        """Parse a JSON value. Raises MalformedError if it is of another kind."""

    def as_json(self, value: Any) -> object:
        """Return the value as JSON."""

    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of the values."""


class Flag(ValueKind):
    """The kind of value that is true or false."""

    def read(self, value: object, where: str) -> bool:
        """Return the flag. Raises MalformedError if the value is no boolean."""
        if not isinstance(value, bool):
            raise _malformed(where, "true or false", value)
        return value

    def as_json(self, value: bool) -> bool:
        """Return the flag as it is."""
        return value

    def schema(self) -> dict[str, object]:
        """Return the schema of a flag."""
        return {"type": "boolean"}


class Number(NamedTuple):
    """A whole number, from ``least`` to ``most`` where there is such a limit."""

    least: int = 0
    most: int | None = None

    def read(self, value: object, where: str) -> int:
        """Return the number. Raises MalformedError if it is no whole number within the limits."""
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and self.least <= value <= (value if self.most is None else self.most)
        ):
            return value
        limit = "" if self.most is None else f" to {self.most}"
        raise _malformed(where, f"a whole number from {self.least}{limit}", value)

    def as_json(self, value: int) -> int:
        """Return the number as it is."""
        return value

    def schema(self) -> dict[str, object]:
        """Return the schema of a number."""
        most = {} if self.most is None else {"maximum": self.most}
        return {"type": "integer", "minimum": self.least, **most}


class Text(NamedTuple):
    """Text of a form, such as a version, which errors call ``form``."""

    pattern: str
    form: str

    def read(self, value: object, where: str) -> str:
        """Return the text. Raises MalformedError if it does not match the pattern."""
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise _malformed(where, self.form, value)
        return value

    def as_json(self, value: str) -> str:
        """Return the text as it is."""
        return value

    def schema(self) -> dict[str, object]:
        """Return the schema of such text."""
        return {"type": "string", "pattern": f"^(?:{self.pattern})$"}


class Day(ValueKind):
    """A day, such as ``2026-01-31``, which stands for its first moment in UTC."""

    def read(self, value: object, where: str) -> datetime:
        """Return the first moment of a day in UTC. Raises MalformedError if the value is no day."""
        try:
            if not isinstance(value, str) or not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
                raise ValueError(value)
            return datetime.combine(date.fromisoformat(value), time(), UTC)
        except ValueError:
            raise _malformed(where, "a day such as 2026-01-31", value) from None

    def as_json(self, value: datetime) -> str:
        """Return the day in ISO 8601."""
        return value.date().isoformat()

    def schema(self) -> dict[str, object]:
        """Return the schema of a day."""
        return {"type": "string", "format": "date"}


class Texts(NamedTuple):
    """A list of texts, in whatever order; with ``item``, each has that form."""

    item: Text | None = None

    def read(self, value: object, where: str) -> frozenset[str]:
        """Return the texts. Raises MalformedError if one is of another form."""
        texts = _texts(value, where)
        return frozenset(texts if self.item is None else (self.item.read(text, where) for text in texts))

    def as_json(self, value: Iterable[str]) -> list[str]:
        """Return the sorted texts."""
        return sorted(value)

    def schema(self) -> dict[str, object]:
        """Return the schema of the list."""
        return {"type": "array", "items": {"type": "string"} if self.item is None else self.item.schema()}


class Words(NamedTuple):
    """A list of words out of those that are ``allowed``, in whatever order; each is read as the one that it equals."""

    allowed: Sequence[str]

    def read(self, value: object, where: str) -> frozenset[str]:
        """Return the words."""
        known = {str(word): word for word in self.allowed}
        texts = _texts(value, where)
        _check_known(texts, tuple(known), where, "words")
        return frozenset(known[text] for text in texts)

    def as_json(self, value: Iterable[str]) -> list[str]:
        """Return the words in the order of ``allowed``."""
        return [str(word) for word in self.allowed if word in value]

    def schema(self) -> dict[str, object]:
        """Return the schema of the list."""
        return {"type": "array", "items": {"enum": [str(word) for word in self.allowed]}}


class Octets(NamedTuple):
    """A list of values of so many bytes, or of any number where ``sizes`` has none, each written in hexadecimal."""

    sizes: tuple[int, ...] = ()

    def read(self, value: object, where: str) -> frozenset[bytes]:
        """Return the values."""
        return frozenset(self._octets(text, where) for text in _texts(value, where))

    def _octets(self, text: str, where: str) -> bytes:
        digits = text.removeprefix(PREFIX)
        octets = bytes.fromhex(digits) if re.fullmatch("([0-9A-Fa-f]{2})*", digits) else None
        if octets is None or (self.sizes and len(octets) not in self.sizes):
            count = f"{' or '.join(map(str, self.sizes))} bytes" if self.sizes else "bytes"
            raise _malformed(where, f"{count} in hexadecimal", text)
        return octets

    def as_json(self, value: Iterable[bytes]) -> list[str]:
        """Return the values in hexadecimal, sorted."""
        return sorted(octets.hex() for octets in value)

    def schema(self) -> dict[str, object]:
        """Return the schema of the list."""
        lengths = "|".join(f"([0-9A-Fa-f]{{{2 * size}}})" for size in self.sizes) or "([0-9A-Fa-f]{2})*"
        return {"type": "array", "items": {"type": "string", "pattern": f"^({PREFIX})?({lengths})$"}}


class Named(NamedTuple):
    """An object whose names are known, each with its own kind of value; ``build`` makes of it what the policy has."""

    parts: Mapping[Any, ValueKind]
    build: Callable[[dict[str, Any]], Any] = dict

    def read(self, value: object, where: str) -> Any:
        """Return the result of ``build`` for the values by name."""
        if not isinstance(value, dict):
            raise _malformed(where, "an object", value)
        known = {str(name): (name, kind) for name, kind in self.parts.items()}
        _check_known(tuple(value), tuple(known), where, "names")
        read = {known[name][0]: known[name][1].read(each, f"{where}: {name}") for name, each in value.items()}
        return self.build(read)

    def as_json(self, value: Any) -> dict[str, object]:
        """Return the JSON object."""
        return {str(name): self.parts[name].as_json(each) for name, each in dict(value).items()}

    def schema(self) -> dict[str, object]:
        """Return the schema of the object."""
        parts = {str(name): kind.schema() for name, kind in self.parts.items()}
        return {"type": "object", "properties": parts, "additionalProperties": False}


class PointedValues(NamedTuple):
    """An object that has, for each JSON pointer to a claim, a list of the values accepted there.

    Source: RFC 6901, section 3.
    """

    def read(self, value: object, where: str) -> dict[str, tuple[object, ...]]:
        """Return the accepted values by JSON pointer."""
        if not isinstance(value, dict):
            raise _malformed(where, "an object", value)
        for pointer, accepted in value.items():
            if not re.fullmatch(POINTER, pointer):
                raise _malformed(where, "a JSON pointer, such as /submods/GPU-0/hwmodel", pointer)
            if not isinstance(accepted, list):
                raise _malformed(f"{where}: {ascii(pointer)[:SHOWN]}", "a list of values", accepted)
        return {pointer: tuple(accepted) for pointer, accepted in value.items()}

    def as_json(self, value: Mapping[str, Sequence[object]]) -> dict[str, object]:
        """Return the JSON object."""
        return {pointer: list(accepted) for pointer, accepted in value.items()}

    def schema(self) -> dict[str, object]:
        """Return the schema of the object."""
        return {
            "type": "object",
            "propertyNames": {"pattern": f"^{POINTER}$"},
            "additionalProperties": {"type": "array"},
        }


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise _malformed(where, "a list of strings", value)
    return tuple(value)


def _check_known(given: Iterable[str], known: Sequence[str], where: str, what: str) -> None:
    """Insist that names or words are known; the error has the known one that is nearest to the first that is not."""
    wrong = next((each for each in given if each not in known), None)
    if wrong is None:
        return
    from difflib import get_close_matches

    folded = {each.lower().replace("-", "_"): each for each in known}
    near = get_close_matches(wrong[:SHOWN].lower().replace("-", "_"), list(folded), n=1)
    hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
    raise MalformedError(where, f"{what} out of {', '.join(known) or 'none'}", ascii(wrong[:SHOWN]) + hint)


def _malformed(where: str, expected: str, found: object) -> MalformedError:
    return MalformedError(where, expected, ascii(found)[:SHOWN])


class PolicyKey(NamedTuple):
    """A key of a policy."""

    name: str  #: how it is written in a file.
    kind: ValueKind  #: what values it may have.
    default: Any  #: its value where neither a file nor a preset says it; with ``None``, ``null`` may be written, too.
    meaning: str  #: what it means, in one line.

    def read(self, value: object) -> Any:
        """Parse a JSON value. Raises MalformedError if it is of another kind."""
        if value is None and self.default is None:
            return None
        return self.kind.read(value, f"{WHAT}: {self.name}")

    def as_json(self, value: Any) -> object:
        """Return the value as JSON."""
        return None if value is None else self.kind.as_json(value)

    def schema(self) -> dict[str, object]:
        """Return the JSON Schema of the key, with its meaning."""
        kind = self.kind.schema()
        optional: dict[str, object] = {"anyOf": [kind, {"type": "null"}]} if self.default is None else kind
        return {"description": self.meaning, **optional}


KEY: Final = "policy key"


def policy_key(kind: ValueKind, default: Any, meaning: str) -> Any:
    """Declare an attribute of a class as a key of a policy, with its kind of value, its default and its meaning."""
    declared = {KEY: PolicyKey("", kind, default, meaning)}
    if default.__hash__ is None:
        return field(default_factory=lambda: default, metadata=declared)
    return field(default=default, metadata=declared)


def require_key(steps: Sequence[str]) -> Any:
    """Declare the key that names steps out of ``steps``."""
    return policy_key(Words(steps), frozenset(), "the steps that have to be taken and hold, beside those of the preset")


def declared_keys(*policies: type) -> dict[str, PolicyKey]:
    """Return the keys that classes declare as attributes, by their names."""
    attributes = (each for policy in policies for each in fields(policy) if KEY in each.metadata)
    return {each.name: each.metadata[KEY]._replace(name=each.name) for each in attributes}


@dataclass(frozen=True, slots=True)
class AppraisalPolicy:
    """What every policy has."""

    #: the steps that must have been taken and have held; none: nothing is accepted.
    require: frozenset[str] = frozenset()
    #: what it was inherited from; an inventory says of every acceptance that it is one.
    preset: Preset = field(default=Preset.DEFAULT, kw_only=True)


Policy = TypeVar("Policy")


class EffectivePolicy(NamedTuple, Generic[Policy]):
    """A policy, the values of its keys, and where each comes from."""

    policy: Policy
    preset: Preset
    values: Mapping[str, Any]
    origins: Mapping[str, str]


@dataclass(frozen=True)
class PolicyForm(Generic[Policy]):
    """The policies of one format."""

    keys: Mapping[str, PolicyKey]  #: every key by its name, ``preset`` aside.
    #: makes the policy of the values of all keys, and of the preset.
    build: Callable[[Mapping[str, Any], Preset], Policy]
    #: what the strict preset says otherwise than the default one: evidence is fresh, compared, not revoked and up to
    #: date.
    strict: Mapping[str, Any]
    default: Mapping[str, Any]  #: what the default preset says otherwise than each key's own default.
    #: what the inventory says otherwise: what the evidence is and who signed it is all that is asked.
    inventory: Mapping[str, Any]
    check: Callable[[Policy], None] = lambda _: None  #: raises ``MalformedError`` on keys that do not go together.

    def preset(self, preset: Preset) -> EffectivePolicy[Policy]:
        """Return a preset by itself."""
        return self.effective({PRESET: str(preset)})

    @cached_property
    def default_policy(self) -> Policy:
        """The policy where none is given."""
        return self.preset(Preset.DEFAULT).policy

    def parse(self, data: bytes) -> Policy:
        """Parse a policy. Raises MalformedError if ``data`` is no policy."""
        return self.effective(policy_object(data)).policy

    def effective(self, given: Mapping[str, object]) -> EffectivePolicy[Policy]:
        """Return the policy that a JSON object stands for, with what it inherits.

        Raises MalformedError if a key is unknown, has a value that it cannot have, or does not go with another.
        """
        _check_known(given, (PRESET, *self.keys), WHAT, "keys")
        preset = _preset(given.get(PRESET, str(Preset.DEFAULT)))
        own = {name: self._read(name, value, preset) for name, value in given.items() if name != PRESET}
        inherited = self._inherited(preset)
        values = {name: own.get(name, inherited.get(name, key.default)) for name, key in self.keys.items()}
        asks_for_nothing = not given or own.get(REQUIRE) == frozenset()
        values[REQUIRE] = frozenset() if asks_for_nothing else inherited[REQUIRE] | own.get(REQUIRE, frozenset())
        policy = self.build(values, preset)
        self.check(policy)
        return EffectivePolicy(policy, preset, values, self._origins(given, preset))

    def _read(self, name: str, value: object, preset: Preset) -> Any:
        """Return the value of a key; a policy inside of this one inherits from the same preset, or names another."""
        key = self.keys[name]
        if isinstance(key.kind, PolicyOf) and isinstance(value, dict) and value:
            value = {PRESET: str(preset), **value}
        return key.read(value)

    def _inherited(self, preset: Preset) -> Mapping[str, Any]:
        return {**self.default, **{Preset.STRICT: self.strict, Preset.INVENTORY: self.inventory}.get(preset, {})}

    def _origins(self, given: Mapping[str, object], preset: Preset) -> dict[str, str]:
        named = {Preset.STRICT: self.strict, Preset.INVENTORY: self.inventory}.get(preset, {})
        inherited = {name: f"preset {preset}" if name in named else "default" for name in self.keys}
        origins = inherited | dict.fromkeys((name for name in given if name != PRESET), "the policy")
        if given and given.get(REQUIRE):
            origins[REQUIRE] = f"{inherited[REQUIRE]} and the policy"
        return origins

    def schema(self, name: str) -> dict[str, object]:
        """Return the JSON Schema of policies of the format of this name."""
        preset = {"description": PRESET_MEANING, "enum": [str(each) for each in Preset]}
        keys = {key.name: key.schema() for key in self.keys.values()}
        return {
            "$schema": DIALECT,
            "title": f"Policy of carnet attest {name}",
            "type": "object",
            "properties": {PRESET: preset, **keys},
            "additionalProperties": False,
        }


def policy_form(
    policy: Callable[..., Policy],
    *,
    default: Mapping[str, Any],
    strict: Mapping[str, Any],
    inventory: Mapping[str, Any],
    check: Callable[[Policy], None] = lambda _: None,
) -> PolicyForm[Policy]:
    """Return the form of the policies that one class declares, with its presets."""
    assert isinstance(policy, type), "a class declares keys"
    return PolicyForm(
        declared_keys(policy),
        lambda values, preset: policy(**values, preset=preset),
        strict=strict,
        default=default,
        inventory=inventory,
        check=check,
    )


class PolicyOf(NamedTuple):
    """A policy of another format, of ``form``, for evidence of that format inside of this one."""

    form: PolicyForm[Any]
    name: str

    def read(self, value: object, where: str) -> Any:
        """Return the policy, with what it inherits."""
        if not isinstance(value, dict):
            raise _malformed(where, "an object", value)
        try:
            return self.form.effective(value).policy
        except MalformedError as error:
            raise MalformedError(f"{where}{error.what.removeprefix(WHAT)}", error.expected, error.found) from None

    def as_json(self, value: Any) -> dict[str, object]:
        """Return the object with all its keys."""
        keys = {name: key.as_json(getattr(value, name)) for name, key in self.form.keys.items()}
        return {PRESET: str(value.preset), **keys}

    def schema(self) -> dict[str, object]:
        """Return the schema of the policies of that format."""
        return {name: each for name, each in self.form.schema(self.name).items() if name != "$schema"}


def policy_object(data: bytes) -> dict[str, object]:
    """Read the JSON object that every policy is. Raises MalformedError if ``data`` is something else."""
    given = bounded_json(data, WHAT, LARGEST, "a JSON object")
    if not isinstance(given, dict):
        raise MalformedError(WHAT, "a JSON object", type(given).__name__)
    return given


def _preset(value: object) -> Preset:
    where = f"{WHAT}: {PRESET}"
    if not isinstance(value, str):
        raise _malformed(where, "a string", value)
    _check_known((value,), tuple(map(str, Preset)), where, "presets")
    return Preset(value)
