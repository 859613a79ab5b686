"""A run as SARIF 2.1.0: one rule to a requirement, one result to a verdict that is not as expected.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, errata 01.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from carnet_check.report.run_folder import Run
from carnet_check.wording import attack_name
from carnet_command.printable import printable_values

Values = Mapping[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "carnetVerdict/v1"


def sarif(run: Run) -> dict[str, Any]:
    """Return a SARIF log with one run; equal verdicts give equal logs, and each result keeps its fingerprint."""
    failed = [row for row in run.verdicts if not row["as_expected"]]
    rules = _rules(run, failed)
    places = {rule["id"]: place for place, rule in enumerate(rules)}
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Carnet",
                        "semanticVersion": run.run["run"]["versions"]["carnet"],
                        "rules": rules,
                    }
                },
                "invocations": [
                    {
                        "commandLine": run.run["run"]["rerun"],
                        "executionSuccessful": all(row["verdict"] != "ERROR" for row in failed),
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "properties": {"explored": run.run.get("explored", [])},
                "results": [_result(run, row, places) for row in failed],
            }
        ],
    }
    shown: dict[str, Any] = printable_values(log)
    return shown


def _claims(run: Run) -> dict[str, Values]:
    return {claim["name"]: claim for each in run.spec["variants"] for claim in each["claims"]}


def _rule_id(run: Run, row: Values) -> str:
    """Return the requirement that a row is about; what is about none is a rule of its own."""
    if row["kind"] != "claim":
        return f"{row['kind']}/{row['claim']}"
    return str(_claims(run)[row["claim"]]["requirement"] or row["claim"])


def _rules(run: Run, failed: Sequence[Values]) -> list[dict[str, Any]]:
    rules = {}
    for claim in _claims(run).values():
        id = claim["requirement"] or claim["name"]
        rules[id] = _rule(id, claim["name"], claim["requirement_sentence"] or claim["sentence"], claim["rerun"])
    for row in failed:
        id = _rule_id(run, row)
        sentence = f"The {row['kind']} {row['claim']} has to matter, or every pass would be worthless."
        if row["kind"] == "liveness":
            sentence = f"What {row['claim']} waits for comes in the end."
        rules.setdefault(id, _rule(id, row["claim"], sentence, run.run["run"]["rerun"]))
    return list(rules.values())


def _rule(id: str, name: str, sentence: str, rerun: str) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "shortDescription": {"text": sentence},
        "help": {"text": f"Check it again: {rerun}"},
        "defaultConfiguration": {"level": "error"},
    }


def _result(run: Run, row: Values, places: Mapping[str, int]) -> dict[str, Any]:
    id = _rule_id(run, row)
    where = f"{row['protocol']}, {row['variant']}, under {row['threat']}"
    identity = "/".join(str(row[part]) for part in ("protocol", "variant", "kind", "claim", "threat", "engine"))
    result: dict[str, Any] = {
        "ruleId": id,
        "ruleIndex": places[id],
        "level": "warning" if row["verdict"] == "UNKNOWN" else "error",
        "message": {
            "text": f"{row['claim']} is {row['verdict']}, expected {row['expected']} ({where}; "
            f"{row['engine']}): {row['detail']}"
        },
        "locations": [_location(run, row)],
        "partialFingerprints": {FINGERPRINT: hashlib.sha256(identity.encode()).hexdigest()},
        "properties": {name: row[name] for name in ("verdict", "expected", "engine", "threat", "variant")},
    }
    attack = _attack(run, row)
    if attack is not None:
        result["codeFlows"] = [{"message": {"text": attack["reason"][0]}, "threadFlows": list(_flows(run, attack))}]
    return result


def _attack(run: Run, row: Values) -> Values | None:
    name = attack_name(row["variant"], row["threat"], row["claim"])
    return next((each for each in run.attacks if row["verdict"] == "VIOLATED" and each["name"] == name), None)


def _location(run: Run, row: Values) -> dict[str, Any]:
    """Return where the claim or the action is written that a row is about; else the file of the protocol."""
    name = f"{row['protocol']}.{row['variant']}.{row['claim']}"
    place = _places(run).get((row["kind"], row["claim"]))
    return {**_physical(run, place), "logicalLocations": [{"fullyQualifiedName": name, "kind": "member"}]}


def _places(run: Run) -> dict[tuple[str, str], Values]:
    return {(each["kind"], each["name"]): each for each in run.spec.get("places", ())}


def _physical(run: Run, place: Values | None) -> dict[str, Any]:
    file, line = (place["file"], place["line"]) if place else (run.spec["file"], 1)
    return {"physicalLocation": {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": line}}}


def _flows(run: Run, attack: Values) -> Iterator[dict[str, Any]]:
    """Yield a thread for each party; the order of execution runs through all of them."""
    by_party: dict[str, list[dict[str, Any]]] = {}
    places = _places(run)
    for order, event in enumerate(attack["events"], 1):
        party = event["arrow"]["from"] if event["arrow"] else event["actor"]
        state = {change["text"]: {"text": change["where"]} for change in event["changes"]}
        step = {
            "executionOrder": order,
            "location": {
                **_physical(run, places.get(("action", event["action"]))),
                "message": {"text": event["sentence"]},
                "logicalLocations": [{"name": event["action"], "kind": "function"}],
            },
            "importance": "essential" if event["number"] else "important",
        }
        by_party.setdefault(party, []).append({**step, "state": state} if state else step)
    for party, steps in by_party.items():
        yield {"id": party, "message": {"text": f"what {party} does"}, "locations": steps}
