"""The file format of claims for an audit, in TOML.

Every key is in `SCHEMA`, which the documentation shows. A file that has another key, lacks one, names nothing to check,
or says two things that cannot both be, is refused in one line.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NoReturn

from carnet_ref.attestation.appraisal import Anchors, anchors_from_pem, default_anchors
from carnet_ref.attestation.nvidia.appraisal import DRIVER, VBIOS
from carnet_ref.systems.verifiable_fl.evidence import (
    GPU,
    KEY,
    KINDS,
    POINT_BYTES,
    TD_REGISTERS,
    TDX,
    ExpectedExclave,
    Level,
    level_of,
    public_key_of,
)
from carnet_ref.systems.verifiable_fl.statements import CODE, END, LOG, SHA256_DIGITS, SHA384_DIGITS
from carnet_ref.wire import MalformedError

SOURCE: Final = "source"  #: What an input is read from that no step gave.
LARGEST_FILE: Final = 1 << 22  #: Bytes of a claims file at most.
_REGISTER: Final = f"[0-9a-f]{{{SHA384_DIGITS}}}"
_TD_REGISTERS: Final = re.compile(f"{_REGISTER}( {_REGISTER}){{0,{len(TD_REGISTERS) - 1}}}")
_GPU_VERSIONS: Final = re.compile(f"{DRIVER.pattern} {VBIOS.pattern}", re.ASCII)
_SHA384, _NAME = "a SHA-384, in hexadecimal", "a name"


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the file: its value, its purpose, and whether it is optional."""

    value: str
    says: str
    optional: bool = False


#: Every table of the file, by its name, and every key of it.
SCHEMA: Final[Mapping[str, Mapping[str, Key]]] = {
    "": {
        "level": Key("1, 2 or 3", "the level that each exclave has to reach"),
        "run": Key("32 bytes, in hexadecimal", "the run that it is about; any, if left out", optional=True),
    },
    "trust": {
        "at": Key("a time with a zone", "when evidence is appraised"),
        "roots": Key(
            "certificates, PEM", "the roots that evidence ends in; those of vendors, if left out", optional=True
        ),
    },
    "exclave": {
        "name": Key(_NAME, "what its statements call it"),
        "kind": Key("tdx, nvidia-gpu or key", "what its evidence is; with key there is none"),
        "measurement": Key(
            "text",
            "an MRTD, and RTMR0 to RTMR3 if they count; the versions of driver and VBIOS, these and no others; a key",
        ),
        "level": Key("1, 2 or 3", "the level that this exclave has to reach, if that is higher", optional=True),
    },
    "source": {
        "name": Key(_NAME, "what steps call it that read it"),
        "by": Key(_NAME, "the exclave that may read it"),
        "digest": Key(_SHA384, "what it is"),
    },
    "task": {
        "name": Key(_NAME, "what is done"),
        "by": Key("a list of names", "the exclaves that may do it"),
        "code": Key("a list of SHA-384", "the code that may run"),
        "gives": Key(_NAME, "what it gives"),
        "digest": Key("a list of SHA-384", "what that may be; anything, if left out", optional=True),
        "reads": Key("a table of lists", "for each input the tasks that it may come from; `source` for a source"),
        "count": Key("a number", "how often it was done; once or more often, if left out", optional=True),
    },
    "order": {
        "task": Key(_NAME, "the task whose order counts"),
        "by": Key("a list of names", "who did it, in order, each time after the time before"),
    },
    "result": {
        "task": Key(_NAME, "the task that gave the result, the last time that it was done, after all other times"),
        "over": Key(
            "a list of names",
            "the inputs by which the result has to come from every step of the order; any, if left out",
            optional=True,
        ),
        "digest": Key(_SHA384, "what it gave; anything, if left out", optional=True),
    },
}
LISTS: Final = ("exclave", "source", "task")  #: The tables that the file has any number of.
OPTIONAL_TABLES: Final = ("source", "order", "result")


class ClaimsError(MalformedError):
    """A claims file is malformed, contradictory, or contains nothing to check."""

    def __init__(self, where: str, expected: str, found: object) -> None:
        super().__init__(f"claims, {where}" if where else "claims", expected, ascii(found)[:80])


@dataclass(frozen=True, slots=True)
class Trust:
    """The time of appraisal, and the trusted roots of evidence."""

    at: datetime
    anchors: Anchors = field(repr=False)


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """The claim about a task: exclave, code, inputs and outputs.

    ``count`` is how often it was done, ``None`` once or more often; an empty ``digest`` lets it give anything.
    """

    by: frozenset[str]
    code: frozenset[str]
    gives: str
    reads: Mapping[str, frozenset[str]]
    count: int | None = None
    digest: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OrderClaim:
    """The claim about the order in which exclaves performed a task."""

    task: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultClaim:
    """The claim about the result: its task, name and digest; an empty ``digest`` allows any.

    ``over`` has the names of the inputs by which it has to come from every step of the order; any, if it is empty.
    """

    task: str
    digest: str = ""
    over: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AuditClaims:
    """All claims about a run; ``sources`` has digests by exclave and input name."""

    level: Level
    run: str
    trust: Trust
    exclaves: Mapping[str, ExpectedExclave]
    sources: Mapping[tuple[str, str], frozenset[str]]
    tasks: Mapping[str, TaskClaim]
    order: OrderClaim | None = None
    result: ResultClaim | None = None


def parse_claims(data: bytes) -> AuditClaims:
    """Return the claims in a file. Raises ClaimsError if the file is malformed or contradicts itself."""
    if len(data) > LARGEST_FILE:
        raise ClaimsError("", f"at most {LARGEST_FILE} bytes", len(data))
    try:
        said = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ClaimsError("", "TOML", str(error)) from None
    plain = {name: value for name, value in said.items() if name not in SCHEMA}
    tables = {name: value for name, value in said.items() if name in SCHEMA}
    top = _Table("", plain)
    for name in SCHEMA:
        if name and name not in tables and name not in OPTIONAL_TABLES:
            raise ClaimsError("", f"the table {name}", sorted(said))
    claims = AuditClaims(
        _level(top),
        top.digits("run", SHA256_DIGITS) if "run" in plain else "",
        _trust(_Table("trust", tables["trust"])),
        _exclaves(_tables("exclave", tables)),
        _sources(_tables("source", tables)),
        _tasks(_tables("task", tables)),
        _order(_Table("order", tables["order"])) if "order" in tables else None,
        _result(_Table("result", tables["result"])) if "result" in tables else None,
    )
    _agree(claims)
    return claims


class _Table:
    """One table of the file, which has every key that it must have, and no unknown one."""

    def __init__(self, name: str, value: object, number: int | None = None) -> None:
        self.where = name if number is None else f"{name} {number}"
        if not isinstance(value, dict):
            raise ClaimsError(self.where, "a table", value)
        keys = SCHEMA[name]
        unknown = next((key for key in value if key not in keys), None)
        if unknown is not None:
            raise ClaimsError(self.where, f"keys out of {', '.join(keys)}", unknown)
        lacking = next((key for key, each in keys.items() if key not in value and not each.optional), None)
        if lacking is not None:
            raise ClaimsError(self.where, f"the key {lacking}", sorted(value))
        self.value: Mapping[str, Any] = value

    def refuse(self, key: str, expected: str, found: object) -> NoReturn:
        raise ClaimsError(f"{self.where} {key}".strip(), expected, found)

    def text(self, key: str) -> str:
        value = self.value[key]
        if not isinstance(value, str) or not value or not value.isascii():
            self.refuse(key, "text", value)
        return value

    def name(self, key: str) -> str:
        return self._checked_name(key, self.value[key])

    def _checked_name(self, key: str, value: object) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= 100 or not value.isascii() or not value.isprintable():
            self.refuse(key, _NAME, value)
        return value

    def names(self, key: str) -> tuple[str, ...]:
        return tuple(self._checked_name(key, each) for each in self._list(key, self.value[key]))

    def _list(self, key: str, value: object) -> list[Any]:
        if not isinstance(value, list) or not value:
            self.refuse(key, "a list that is not empty", value)
        return value

    def digits(self, key: str, count: int) -> str:
        return self._checked_digits(key, self.value[key], count)

    def _checked_digits(self, key: str, value: object, count: int) -> str:
        if not isinstance(value, str) or len(value) != count or value.strip("0123456789abcdef"):
            self.refuse(key, f"{count} hexadecimal digits", value)
        return value

    def digests(self, key: str) -> frozenset[str]:
        return frozenset(self._checked_digits(key, each, SHA384_DIGITS) for each in self._list(key, self.value[key]))

    def number(self, key: str, least: int, most: int) -> int:
        value = self.value[key]
        if type(value) is not int or not least <= value <= most:
            self.refuse(key, f"a number from {least} to {most}", value)
        return value

    def origins(self, key: str) -> Mapping[str, frozenset[str]]:
        value = self.value[key]
        if not isinstance(value, dict):
            self.refuse(key, "a table of lists", value)
        found = {}
        for name, tasks in value.items():
            place = f"{key}.{name}"
            self._checked_name(place, name)
            found[name] = frozenset(self._checked_name(place, each) for each in self._list(place, tasks))
        return found


def _tables(name: str, tables: Mapping[str, Any]) -> list[_Table]:
    value = tables.get(name, [])
    if not isinstance(value, list):
        raise ClaimsError(name, f"tables [[{name}]]", value)
    return [_Table(name, each, number) for number, each in enumerate(value, start=1)]


def _level(top: _Table) -> Level:
    return Level(top.number("level", 1, max(Level)))


def _trust(table: _Table) -> Trust:
    at = table.value["at"]
    if not isinstance(at, datetime) or at.tzinfo is None:
        table.refuse("at", "a time with a zone", at)
    try:
        at = at.astimezone(UTC)
    except OverflowError:
        table.refuse("at", "a time of the years 1 to 9999, in UTC", at)
    if "roots" not in table.value:
        return Trust(at, default_anchors())
    roots = table.text("roots").encode("ascii")
    try:
        return Trust(at, anchors_from_pem(roots))
    except MalformedError as error:
        table.refuse("roots", "certificates of authorities, PEM", str(error))


def _exclaves(tables: list[_Table]) -> dict[str, ExpectedExclave]:
    found: dict[str, ExpectedExclave] = {}
    keys = set[str]()
    for table in tables:
        name, kind, measurement = table.name("name"), table.text("kind"), table.text("measurement")
        if kind not in KINDS:
            table.refuse("kind", f"one of {', '.join(KINDS)}", kind)
        if kind == TDX and not _TD_REGISTERS.fullmatch(measurement):
            table.refuse("measurement", f"up to {len(TD_REGISTERS)} times {SHA384_DIGITS} digits", measurement)
        if kind == KEY:
            _require_key(table, measurement)
        if kind == GPU and not _GPU_VERSIONS.fullmatch(measurement):
            table.refuse("measurement", "the versions of driver and VBIOS", measurement)
        if name in found:
            table.refuse("name", "each exclave once", name)
        if kind == KEY and measurement in keys:
            table.refuse("measurement", "each key once", measurement)
        keys |= {measurement}
        found[name] = ExpectedExclave(name, kind, measurement, _reachable_level(table, kind))
    return found


def _reachable_level(table: _Table, kind: str) -> Level:
    """Return the level that an exclave has to reach, which its kind can reach."""
    if "level" not in table.value:
        return Level.LINKED
    return Level(table.number("level", 1, level_of(kind, keyed=False)))


def _require_key(table: _Table, digits: str) -> None:
    """Insist that the digits are a key, in the one way in which it is written."""
    point = bytes.fromhex(table.digits("measurement", 2 * POINT_BYTES))
    try:
        public_key_of(point)
    except MalformedError as error:
        table.refuse("measurement", error.expected, digits)


def _sources(tables: list[_Table]) -> dict[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], frozenset[str]] = {}
    for table in tables:
        place = table.name("by"), table.name("name")
        found[place] = found.get(place, frozenset()) | {table.digits("digest", SHA384_DIGITS)}
    return found


def _tasks(tables: list[_Table]) -> dict[str, TaskClaim]:
    found: dict[str, TaskClaim] = {}
    for table in tables:
        name = table.name("name")
        if name in found or name in {END, SOURCE}:
            table.refuse("name", f"each task once, and none called {END} or {SOURCE}", name)
        count = table.number("count", 0, 1 << 40) if "count" in table.value else None
        by, reads = frozenset(table.names("by")), table.origins("reads")
        gives = table.name("gives")
        if gives in {CODE, LOG} or CODE in reads:
            table.refuse("gives", f"nothing called {CODE} or {LOG}", gives)
        given = table.digests("digest") if "digest" in table.value else frozenset[str]()
        found[name] = TaskClaim(by, table.digests("code"), gives, reads, count, given)
    return found


def _order(table: _Table) -> OrderClaim:
    return OrderClaim(table.name("task"), table.names("by"))


def _result(table: _Table) -> ResultClaim:
    digest = table.digits("digest", SHA384_DIGITS) if "digest" in table.value else ""
    over = frozenset(table.names("over")) if "over" in table.value else frozenset[str]()
    return ResultClaim(table.name("task"), digest, over)


def _agree(claims: AuditClaims) -> None:
    """Insist that the claims name something, and that all they say can be at once."""
    if not claims.tasks or not claims.exclaves:
        raise ClaimsError("", "an exclave and a task", "none")
    for name, task in claims.tasks.items():
        _require_known_exclaves(claims, f"task {name} by", task.by)
        for read, origins in task.reads.items():
            _readable(claims, name, read, origins)
    for by, read in claims.sources:
        _require_known_exclaves(claims, f"source {read} by", frozenset({by}))
    order, result = claims.order, claims.result
    if order is not None:
        task = _task(claims, "order", order.task)
        stranger = next((name for name in order.by if name not in task.by), None)
        if stranger is not None:
            raise ClaimsError("order by", f"exclaves that do {order.task}", stranger)
        if task.count not in {None, len(order.by)}:
            raise ClaimsError("order by", f"{task.count} names, as often as {order.task} is claimed", len(order.by))
    if result is not None:
        _can_be_given(claims, result)


def _can_be_given(claims: AuditClaims, result: ResultClaim) -> None:
    """Insist that the result's task is done, and that what each step of the order gives can lead to it."""
    if _task(claims, "result", result.task).count == 0:
        raise ClaimsError("result task", "a task that is done", result.task)
    read = {name for task in claims.tasks.values() for name in task.reads}
    unread = min(result.over - read, default=None)
    if unread is not None:
        raise ClaimsError("result over", "inputs that tasks read", unread)
    if claims.order is None:
        if result.over:
            raise ClaimsError("result over", "an order, from whose steps the result comes", "none")
        return
    before, leading = {result.task}, set[str]()
    while before:
        name = before.pop()
        leading.add(name)
        before |= {
            origin
            for read, origins in claims.tasks[name].reads.items()
            if not result.over or read in result.over
            for origin in origins - {SOURCE} - leading
        }
    if claims.order.task not in leading:
        raise ClaimsError("result task", f"a task that {claims.order.task} leads to", result.task)


def _require_known_exclaves(claims: AuditClaims, where: str, names: frozenset[str]) -> None:
    stranger = min(names - claims.exclaves.keys(), default=None)
    if stranger is not None:
        raise ClaimsError(where, "exclaves that the file names", stranger)


def _task(claims: AuditClaims, where: str, name: str) -> TaskClaim:
    if name not in claims.tasks:
        raise ClaimsError(f"{where} task", "a task that the file names", name)
    return claims.tasks[name]


def _readable(claims: AuditClaims, name: str, read: str, origins: frozenset[str]) -> None:
    """Insist that each task that an input may come from gives it, and that a source of it is named."""
    for origin in sorted(origins - {SOURCE}):
        if _task(claims, f"task {name} reads.{read}", origin).gives != read:
            raise ClaimsError(f"task {name} reads.{read}", f"tasks that give {read}", origin)
    if SOURCE in origins and not any((by, read) in claims.sources for by in claims.tasks[name].by):
        raise ClaimsError(f"task {name} reads.{read}", f"a source called {read} of an exclave that does {name}", "none")
