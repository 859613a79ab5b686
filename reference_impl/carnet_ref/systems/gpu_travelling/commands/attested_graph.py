"""The attested dataflow graph of a run: its exclaves, and the claims on which its parties agreed.

The orchestrator and every holder run in a TD, and the GPU makes reports of its own. The claims are made from what the
deployment says, and from nothing that a run records.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_command.files import failing_as, replacing
from carnet_ref.attestation.simulated.authority import derived_key
from carnet_ref.crypto.primitives import Random, sha384
from carnet_ref.device import TRAINING_CODE
from carnet_ref.systems.gpu_travelling.deployment import MADE, Deployment
from carnet_ref.systems.gpu_travelling.names import DATA, GIVEN_GRANT, GPU, MODEL, ORCHESTRATOR, RAW_DATA, REMAINS
from carnet_ref.systems.gpu_travelling.roles.gpu import SCRUB_CODE
from carnet_ref.systems.verifiable_fl.claims_file import SOURCE
from carnet_ref.systems.verifiable_fl.evidence import level_of
from carnet_ref.systems.verifiable_fl.exclave import Exclave
from carnet_ref.systems.verifiable_fl.recording import GraphRecorder
from carnet_ref.training import SANITISER
from carnet_ref.training.private import attested_code

RUN_BYTES = 32
KEY_SEED_BYTES = 32


def graph_recorder(deployment: Deployment, run: str, random: Random, *, quote_steps: bool) -> GraphRecorder:
    """Return the recorder of a run's graph, with an exclave for each party.

    ``run`` names it, 32 bytes in hexadecimal. Each exclave has a key in its memory that evidence binds, or with
    ``quote_steps`` no key, and evidence for each step.
    """
    exclaves = {}
    for name, attester in deployment.attesters.items():
        key = None if quote_steps else derived_key(random(KEY_SEED_BYTES), name, ec.SECP256R1())
        exclaves[name] = Exclave(name, run, attester, key)
    return GraphRecorder(exclaves)


def write_claims(path: Path, deployment: Deployment, run: str, *, quote_steps: bool) -> None:
    """Write the claims that the parties of a run agreed on. Raises UsageError if they cannot be written."""
    with failing_as(f"cannot write the claims to {path}"), replacing(path) as file:
        file.write(claims_text(deployment, run, quote_steps=quote_steps))


def claims_text(deployment: Deployment, run: str, *, quote_steps: bool = False) -> str:
    """Return the claims that the parties agreed on before a run, as the text of a claims file.

    The level is that of the weakest party's evidence.
    """
    level = min(level_of(each.kind, keyed=not quote_steps) for each in deployment.attesters.values())
    parts = [_trust(deployment, quote_steps), _sources(deployment), _tasks(deployment)]
    return "\n".join([f"level = {int(level)}", f'run = "{run}"', "", *chain.from_iterable(parts)])


def _trust(deployment: Deployment, quote_steps: bool) -> Iterable[str]:
    yield from ("[trust]", f"at = {MADE:%Y-%m-%dT%H:%M:%SZ}", 'roots = """')
    yield from (each.public_bytes(Encoding.PEM).decode("ascii").rstrip() for each in deployment.roots)
    yield from ('"""', "")
    for name, measurement in deployment.measurements.items():
        kind = deployment.attesters[name].kind
        level = int(level_of(kind, keyed=not quote_steps))
        yield from _table("[[exclave]]", {"name": name, "kind": kind, "measurement": measurement, "level": level})


def _sources(deployment: Deployment) -> Iterable[str]:
    first = sha384(deployment.trainer.first_model()).hex()
    for reader in (ORCHESTRATOR, GPU):
        yield from _table("[[source]]", {"name": MODEL, "by": reader, "digest": first})
    for holder in deployment.holders:
        digest = sha384(b"".join(deployment.dataset(holder))).hex()
        yield from _table("[[source]]", {"name": RAW_DATA, "by": holder, "digest": digest})


def _tasks(deployment: Deployment) -> Iterable[str]:
    manifest, holders, rounds = deployment.agreement.manifest, list(deployment.holders), deployment.rounds
    models, training = [SOURCE, "train", "save"], attested_code(TRAINING_CODE, deployment.gpu_trainer)
    tasks: list[tuple[str, list[str], bytes, str, Mapping[str, list[str]]]] = [
        ("grant", [ORCHESTRATOR], manifest, GIVEN_GRANT, {MODEL: models, REMAINS: ["scrub"]}),
        ("sanitise", holders, SANITISER, DATA, {GIVEN_GRANT: ["grant"], RAW_DATA: [SOURCE]}),
        ("train", [GPU], training, MODEL, {MODEL: models, DATA: ["sanitise"]}),
        ("scrub", [GPU], SCRUB_CODE, REMAINS, {MODEL: models}),
        ("save", [ORCHESTRATOR], manifest, MODEL, {MODEL: ["train"]}),
    ]
    for name, by, code, gives, reads in tasks:
        counted: dict[str, object] = {"count": rounds} if name == "train" else {}
        if name == "scrub":
            counted = {"digest": [sha384(b"").hex()]}  # nothing is left
        said = {"name": name, "by": by, "code": [sha384(code).hex()], "gives": gives, "reads": reads, **counted}
        yield from _table("[[task]]", said)
    turns = [holders[turn % len(holders)] for turn in range(rounds)]
    yield from _table("[order]", {"task": "sanitise", "by": turns})
    yield from _table("[result]", {"task": "save", "over": [MODEL, DATA]})


def _table(head: str, values: Mapping[str, object]) -> Iterable[str]:
    yield head
    yield from (f"{key} = {_value(value)}" for key, value in values.items())
    yield ""


def _value(value: object) -> str:
    """Return a value as TOML: text, a number, a list of texts, or an inline table of such lists."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_value(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)
