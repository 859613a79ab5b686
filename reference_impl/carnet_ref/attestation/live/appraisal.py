"""The appraisal of everything that was collected on a machine, each part by the code that appraises it from a file.

* The steps of a part are listed with the name of its format and a dot before their ids, such as ``tdx.report-data``.
* What was looked for and is not here is listed, and an acceptance says that it lacks it. A policy for such evidence
  asks for it, so then the appraisal refuses.
* A machine that appraises itself convinces nobody else: its administrator controls this code, too. A relying party
  draws the nonce and appraises what was kept.

Source: RFC 9334, section 7.4 (a Verifier is trusted by its Relying Party).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from carnet_ref.attestation import formats
from carnet_ref.attestation.appraisal import Anchors, Appraisal, Checklist, RefusedError
from carnet_ref.attestation.live.collection import KINDS, NODE, Collection, GpuStatement, Part
from carnet_ref.attestation.nvidia.appraisal import NodePolicy
from carnet_ref.attestation.results import ResultProfile

NVML: Final = "NVML API Reference, Confidential Computing"
ITSELF: Final = "appraised by the machine itself"
LACKING: Final = {"gpus": "GPUs not appraised", "vm": "virtual machine not appraised"}
NO_SWITCHES: Final = "switches not appraised"
#: What an option stands for that nobody gave, where that is not ``None``.
EMPTY: Final[Mapping[formats.OptionKind, formats.Value]] = {formats.OptionKind.FILES: ()}


@dataclass(frozen=True, slots=True)
class AppraisalTerms:
    """The terms of an appraisal: time, anchors, and policies other than the defaults."""

    at: datetime
    anchors: Anchors
    policies: Mapping[str, object]  #: Policies by the names of formats; evidence of each of these has to be there.
    #: What was given besides, by the names of formats' options, such as reference values.
    given: Mapping[str, formats.Value]
    itself: bool = True  #: Whether the machine appraises its own evidence.


def appraise_collection(collection: Collection, terms: AppraisalTerms) -> Appraisal:
    """Appraise every part, then all of them together.

    Raises UsageError if a part needs something that was not given, such as certificates.
    """
    steps = Checklist()
    claims: dict[str, object] = {}
    try:
        steps.passed("collected", f"with one nonce: {' and '.join(collection.kinds)}")
        if terms.itself:
            steps.left_out("appraiser", "the machine appraises itself", lacking=ITSELF)
        for what, why in collection.absent.items():
            steps.left_out(what, why, lacking=LACKING[what])
        if collection.driver is not None:
            steps.left_out("switches", "NVSwitches are not collected", NVML, lacking=NO_SWITCHES)
        missing = next((kind for kind in terms.policies if kind not in collection.kinds), None)
        if missing is not None:
            steps.refuse("expected", f"a policy asks for evidence of the format {missing}, and there is none")
        for part in collection.parts:
            form: formats.Format[Any, Any] = formats.FORMATS[part.kind].load()
            given = formats.OptionValues(_values(form, part, terms))
            against = formats.AppraisalContext(
                terms.at, terms.policies.get(part.kind, form.default_policy), terms.anchors
            )
            appraisal = formats.appraise_files(part.kind, [part.evidence], given, against)
            steps.adopt(appraisal, part.kind)
            claims[part.kind] = dict(appraisal.claims)
            if part.kind == NODE:
                _check_driver(steps, collection, appraisal, terms)
        _check_binding(steps, collection)
    except RefusedError:
        return steps.conclude({})
    return steps.conclude({"nonce": collection.nonce.hex(), **claims})


def _values(form: formats.Format[Any, Any], part: Part, terms: AppraisalTerms) -> dict[str, formats.Value]:
    """Return what every option of the format stands for; certificates that were given count before collected ones."""
    values: dict[str, formats.Value] = {}
    for option in form.options:
        values[option.name] = terms.given.get(option.name, EMPTY.get(option.kind))
        if option.name == "chain" and values["chain"] is None:
            values["chain"] = part.chain
    return {**values, **part.asked}


def _check_driver(steps: Checklist, collection: Collection, appraisal: Appraisal, terms: AppraisalTerms) -> None:
    """Compare the driver's words with the reports; they are nobody's signed word, so they can only speak against it."""
    driver = collection.driver
    devices = appraisal.claims["devices"]
    assert driver is not None, "a node's part comes from GPUs"
    assert isinstance(devices, list), "a node tells of its devices"
    for gpu, device in zip(driver.gpus, devices, strict=True):
        stated = {"driver_version": driver.version, "vbios_version": gpu.vbios_version}
        problem = _disagreement(gpu, stated, device)
        if problem is not None:
            steps.refuse("driver", problem, NVML)
    policy = terms.policies.get(NODE)
    allowed = isinstance(policy, NodePolicy) and policy.device.allow_debug
    if driver.devtools and not allowed:
        steps.refuse("driver", "it lets developer tools look into the GPUs", NVML)
    steps.passed("driver", f"{driver.version}, and it states the versions that are in the reports", NVML)


def _disagreement(gpu: GpuStatement, stated: Mapping[str, str], device: Mapping[str, object]) -> str | None:
    for name, value in stated.items():
        reported = str(device[name])
        if reported.lower() != value.lower():
            return f"of {gpu.uuid} it states the {name.replace('_', ' ')} {value}, the report says {reported}"
    return None


def _check_binding(steps: Checklist, collection: Collection) -> None:
    """Tell whether the virtual machine vouches for the reports; that its report data does is a step of its own."""
    if collection.absent:
        return
    vm = collection.kinds[-1]
    told = f"the {vm} evidence commits to the GPUs' reports"
    steps.require(f"{vm}.report-data" in steps.held, "binding", told, f"{told}: not checked")


def live_profile(attester: str) -> ResultProfile | None:
    """Return the profile by which a part's appraisal becomes a signed result."""
    kind, _, device = attester.partition(".")
    profile = formats.FORMATS[kind].load().results if kind in KINDS else None
    return profile if profile is not None and bool(device) is profile.grouped else None


def result_lifetime(collection: Collection, terms: AppraisalTerms) -> int:
    """Return the seconds for which all policies permit reliance on a result."""
    forms = {part.kind: formats.FORMATS[part.kind].load() for part in collection.parts}
    return min(
        form.results.lasting(terms.policies.get(kind, form.default_policy))
        for kind, form in forms.items()
        if form.results is not None
    )
