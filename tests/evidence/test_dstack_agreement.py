"""dstack's own SDK and Carnet replay the same event logs, and changes of them: they end in the same registers.

They differ in one thing about RTMR3. dstack's guest agent leaves the digests of runtime events empty, because the
digest of such an event is that of its type, name and payload. Carnet computes it, so that a name and a payload are
proved by the register. The SDK pads what is stated to 48 zeros and extends with those: of a genuine log it computes an
RTMR3 that no quote has. With the digests filled in, it computes what Carnet does. The SDK runs in an environment of its
own.
"""

import copy
import hashlib
import json
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from carnet_ref.attestation.event_logs import NO_ACTION
from carnet_ref.attestation.intel.event_log import RUNTIME_EVENT, parse_event_log, replay_rtmr
from carnet_ref.attestation.intel.evidence import quote_evidence
from carnet_ref.attestation.intel.quote import parse_quote
from carnet_ref.wire import MalformedError
from tests.fixtures import dstack_driver
from tests.fixtures import intel_evidence as intel
from tests.fixtures.own_environment import UnavailableError, python_with
from tests.fixtures.wrapped_evidence import EVENTS, event_log

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
VERSION = "0.5.4"
ANSWER = "18-tdx-dstack/dstack/verifier/fixtures/tdx-lite-getquote.json"
MUTATIONS = 400
EMPTY = bytes(48)
Log = list[dict[str, Any]]
#: The classes of logs that Carnet refuses and the SDK replays.
STRICTER = {
    "digest": "a runtime event states another digest than that of its name and payload",
    "payload": "as before: the payload was changed, and the digest stayed",
    "short": "a digest has not 48 bytes, which the SDK pads with zeros",
    "register": "an event is of no register, which the SDK passes over",
    "field": "an event has no name or no payload, at which the SDK does not look",
}


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return python_with("dstack-sdk", VERSION)
    except UnavailableError as error:
        pytest.skip(str(error))


def logs() -> dict[str, Log]:
    """Return a simulated log with its digests and one without, and dstack's own if it is at hand."""
    found = {"simulated": event_log(*EVENTS), "with digests": event_log(*EVENTS, digests=True)}
    if intel.FOLDER is not None:
        found["dstack"] = json.loads(json.loads(intel.read(ANSWER))["event_log"])
    return found


def theirs(python: Path, asked: list[Log]) -> list[list[str] | str]:
    """Return what the SDK says of each log."""
    command = [str(python), str(dstack_driver.__file__)]
    ran = subprocess.run(command, input=json.dumps(asked), text=True, check=True, capture_output=True)
    answers: list[list[str] | str] = json.loads(ran.stdout)
    return answers


def ours(log: Log) -> list[str] | None:
    """Return the registers that a log ends in here; ``None``: it is refused."""
    try:
        return [register.hex() for register in replay_rtmr(parse_event_log(json.dumps(log).encode()))]
    except MalformedError:
        return None


def filled(log: Log) -> Log:
    """Return a log in which every runtime event states its digest."""
    return [each | {"digest": _digest(each)} if _is_open(each) else each for each in log]


def _is_open(event: dict[str, Any]) -> bool:
    return event["event_type"] == RUNTIME_EVENT and not event["digest"]


def _digest(event: dict[str, Any]) -> str:
    payload = bytes.fromhex(event["event_payload"])
    whole = RUNTIME_EVENT.to_bytes(4, "little") + b":" + event["event"].encode() + b":" + payload
    return hashlib.sha384(whole).hexdigest()


@pytest.mark.parametrize("name", logs())
def test_filled_logs_end_in_the_same_registers(python: Path, name: str) -> None:
    log = logs()[name]
    assert theirs(python, [filled(log)]) == [ours(log)] == [ours(filled(log))]


@pytest.mark.parametrize("name", sorted(set(logs()) - {"with digests"}))
def test_the_sdk_computes_no_digest_of_a_runtime_event_and_so_another_rtmr3(python: Path, name: str) -> None:
    log = logs()[name]
    (found,) = theirs(python, [log])
    mine = ours(log)
    assert mine is not None
    assert (found[:3], found[3] != mine[3]) == (mine[:3], True)
    zeros, register = sum(_is_open(event) for event in log), EMPTY
    for _ in range(zeros):
        register = hashlib.sha384(register + EMPTY).digest()
    assert found[3] == register.hex()


@pytest.mark.skipif(intel.FOLDER is None, reason=intel.MISSING)
def test_the_registers_of_the_quote_are_those_of_carnet(python: Path) -> None:
    found = quote_evidence(intel.read(ANSWER))
    proved = [register.hex() for register in parse_quote(found.quote).report.rtmrs]
    log = logs()["dstack"]
    assert ours(log) == proved
    assert theirs(python, [log, filled(log)]) == [[*proved[:3], theirs(python, [log])[0][3]], proved]


def mutant(draw: random.Random, log: Log) -> tuple[str, Log]:
    """Return a changed log, and what was done to it."""
    changed = copy.deepcopy(log)
    place = draw.randrange(len(changed))
    event = changed[place]
    match draw.randrange(8):
        case 0:
            del changed[place]
            return "left out", changed
        case 1:
            changed.insert(draw.randrange(len(changed)), copy.deepcopy(event))
            return "twice", changed
        case 2:
            draw.shuffle(changed)
            return "in another order", changed
        case 3:
            event["imr"] = draw.choice([*range(4), 4])
            return "register", changed
        case 4:
            event["digest"] = draw.randbytes(48).hex()
            return "digest", changed
        case 5:
            event["digest"] = event["digest"][: 2 * draw.randrange(1, 48)]
            return "short", changed
        case 6:
            del event[draw.choice(["event", "event_payload"])]
            return "field", changed
        case _:
            event["event_payload"] = draw.randbytes(draw.randrange(4)).hex()
            return "payload", changed


def test_of_changed_logs_carnet_alone_refuses_known_classes_and_replays_no_other(python: Path) -> None:
    """What Carnet replays, the SDK replays to the same registers, digests filled in; so Carnet believes no more."""
    draw = random.Random(0)
    base = list(logs().values())
    rows = [
        mutant(draw, filled(draw.choice(base)) if draw.random() < 0.5 else draw.choice(base)) for _ in range(MUTATIONS)
    ]
    mine = [ours(log) for _, log in rows]
    given = [log if own is None else filled(log) for (_, log), own in zip(rows, mine, strict=True)]
    stricter: Counter[str] = Counter()
    for (done, _), own, other in zip(rows, mine, theirs(python, given), strict=True):
        if own is not None:
            assert other == own, done
        elif isinstance(other, list):
            stricter[done] += 1
    assert set(stricter) == set(STRICTER)
    assert sum(own is not None for own in mine) > MUTATIONS // 4


def test_remarks_are_measured_nowhere_and_the_sdk_extends_with_them(python: Path) -> None:
    """No log at hand has one: dstack's agent hands none out. A genuine register would not have it."""
    remark = {"imr": 0, "event_type": NO_ACTION, "digest": EMPTY.hex(), "event": "", "event_payload": ""}
    log = filled(event_log(*EVENTS))
    assert ours([*log, remark]) == ours(log)
    assert theirs(python, [[*log, remark]])[0][0] != theirs(python, [log])[0][0]
