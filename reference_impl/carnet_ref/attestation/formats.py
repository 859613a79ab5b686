"""Formats of evidence: what each is called, what can be said with it, and how it is recognised and appraised.

A format is one module that has a `Format`, and one line in `FORMATS`. From these come its subcommand of ``carnet
attest``, with its help, and its row in the documentation. Modules are imported when their format is asked for.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from carnet_command.errors import UsageError
from carnet_ref.attestation import kinds
from carnet_ref.attestation.wrappers import NO_RUNTIME_DATA, Beside, Part, beside_inside, parts_of
from carnet_ref.wire import MalformedError

if TYPE_CHECKING:
    from carnet_ref.attestation.appraisal import Anchors, Appraisal
    from carnet_ref.attestation.policies import PolicyForm
    from carnet_ref.attestation.results import ResultProfile

_Parsed = TypeVar("_Parsed")
Policy = TypeVar("Policy")
Value = bytes | int | str | tuple[bytes, ...] | None


class OptionKind(Enum):
    """The kind of value of a command-line option."""

    FILE = "a file"
    FILES = "a file, or a folder of files; the option may be repeated"
    HEX = "bytes in hexadecimal"
    NUMBER = "a number from 0"
    TEXT = "text"


class Option(NamedTuple):
    """An option of a format; ``length`` is the number of bytes of a hexadecimal value, 0 for any."""

    name: str
    kind: OptionKind
    help: str
    length: int = 0

    @property
    def flag(self) -> str:
        """The option's flag on the command line."""
        return f"--{self.name}"


class OptionValues(NamedTuple):
    """The values of options, by name: files as contents; an option that is not given is None or empty.

    A format asks for each by the type it declared.
    """

    values: Mapping[str, Value]

    def octets(self, name: str) -> bytes | None:
        """Return the contents of a file, or the bytes of a hexadecimal value."""
        value = self.values[name]
        assert value is None or isinstance(value, bytes), name
        return value

    def files(self, name: str) -> tuple[bytes, ...]:
        """Return the contents of the files of an option that may be repeated."""
        value = self.values[name]
        assert isinstance(value, tuple), name
        return value

    def text(self, name: str) -> str | None:
        """Return the text that an option was given, or None if it was not given."""
        value = self.values[name]
        assert value is None or isinstance(value, str), name
        return value

    def number(self, name: str) -> int | None:
        """Return the number that an option was given, or None if it was not given."""
        value = self.values[name]
        assert value is None or isinstance(value, int), name
        return value


class AppraisalContext(NamedTuple, Generic[Policy]):
    """The context of an appraisal: the time, the policy, and the trust anchors."""

    at: datetime
    policy: Policy
    anchors: Anchors


class NeedsOptionError(UsageError):
    """Evidence cannot be appraised without an option that is missing."""

    def __init__(self, message: str, option: str) -> None:
        super().__init__(message)
        self.option = option  #: its name, without the dashes.


def _nothing_more(_: object) -> Iterable[kinds.Layer]:
    return ()


class Format(NamedTuple, Generic[_Parsed, Policy]):
    """One format of evidence."""

    argument: str  #: what the evidence itself is called on the command line.
    help: str  #: what the subcommand's help says.
    options: tuple[Option, ...]  #: what else can be given, in the order of the help.
    #: makes evidence of the bytes that were given, and raises ``MalformedError`` on what is none.
    recognise: Callable[[bytes, OptionValues], _Parsed]
    #: goes through the steps of the appraisal.
    appraise: Callable[[_Parsed, OptionValues, AppraisalContext[Policy]], Appraisal]
    #: the keys of its policies, with their presets; without it, there is no ``--policy``.
    policy: PolicyForm[Policy] | None = None
    #: makes one evidence of that of several files, and raises ``MalformedError`` on too much; without it, one file is
    #: given.
    combine: Callable[[Sequence[_Parsed]], _Parsed] | None = None
    #: what the evidence is beside its kind, such as its version and product, as layers from the outermost to the
    #: innermost; it may raise ``MalformedError`` on what the appraisal refuses.
    describe: Callable[[_Parsed], Iterable[kinds.Layer]] = _nothing_more
    #: how an appraisal becomes a result for others; without it, there is no ``--ear``.
    results: ResultProfile | None = None
    anchored: bool = True  #: whether it rests on trust anchors; without them, there is no ``--trust-anchor``.

    @property
    def default_policy(self) -> Policy | None:
        """The default policy, or None if the format has no policies."""
        return None if self.policy is None else self.policy.default_policy


def appraise_files(name: str, files: Sequence[bytes], given: OptionValues, against: AppraisalContext[Any]) -> Appraisal:
    """Appraise evidence in the format called ``name``; several files only if the format combines them.

    What cannot be parsed is refused. If that is because it is of a kind that another format reads, or that none does,
    the reason says so.

    Raises UsageError if something that the evidence needs was not given.
    """
    from carnet_ref.attestation.appraisal import unparsable

    form = FORMATS[name].load()
    held = [parts_of(data) for data in files]
    chosen = [part for parts in held for part in _own_parts(name, parts)]
    layers = tuple(dict.fromkeys(layer for part in chosen for layer in part.layers))
    for part in chosen:
        if part.objection is not None:
            return replace(unparsable(part.objection), layers=layers)
    if form.combine is None and len(chosen) > 1:
        raise UsageError(f"the wrapper has {len(chosen)} messages for {name}: carnet attest FILE appraises them all")
    try:
        recognised = [form.recognise(part.found.data, given) for part in chosen]
        evidence = recognised[0] if form.combine is None else form.combine(recognised)
    except MalformedError as error:
        return replace(unparsable(_with_advice(name, chosen, str(error))), layers=layers)
    except UsageError:
        if advice := _with_advice(name, chosen, ""):
            return replace(unparsable(advice), layers=layers)
        raise
    appraisal: Appraisal = form.appraise(evidence, given, against)
    appraisal = replace(appraisal, layers=(*layers, *_described(form, evidence)))
    for part in chosen:
        appraisal = agreeing(name, appraisal, part, (*part.beside, *beside_inside(part.found)))
    if appraisal.failed_step != "parse":
        return appraisal.leaving_out(sum(map(len, held)) - len(chosen))
    *before, parse = appraisal.steps
    return replace(appraisal, steps=(*before, replace(parse, detail=_with_advice(name, chosen, parse.detail))))


#: The claim of a format that has what its evidence was asked with, and the sizes to which guests cut or fill that.
#:
#: A TPM takes what it is given. Guests of Confidential Containers with one give it 64 bytes, or 32 since
#: guest-components 79554cf8.
ASKED_WITH: Final[Mapping[str, tuple[str, tuple[int, ...]]]] = {
    "tdx": ("report_data", (64,)),
    "snp": ("report_data", (64,)),
    "cca": ("nonce", (64,)),
    "gpu": ("nonce", (32,)),
    "node": ("nonce", (32,)),
    "tpm": ("nonce", (32, 64)),
    "nitro": ("user_data", ()),
}
LONGEST_HASH: Final = 64  #: What is longer is no hash, so that what is cut off of it is not compared.


def agreeing(name: str, appraisal: Appraisal, part: Part, said_of_it: Iterable[Beside]) -> Appraisal:
    """Return the appraisal of a part, refused if the evidence was asked with something else than is said of it.

    What is said is cut to the size of the field, or filled up with zeros, as guests do. Virtual machines of Azure ask
    their virtual TPM with it.
    """
    claim, sizes = ASKED_WITH.get(name, ("", ()))
    by_vtpm = name != "tpm" and not {kinds.AZURE_SNP, kinds.AZURE_TDX}.isdisjoint(part.found.kinds)
    found = None if by_vtpm or claim not in appraisal.claims else appraisal.claims[claim] or ""
    for beside in said_of_it:
        lacking = beside.not_compared
        if beside.asked and isinstance(found, str):
            said = {each.hex(): None for asked in beside.asked for each in _in_fields(asked, sizes)}
            fitting = [each for each in said if len(each) == len(found)]
            appraisal = appraisal.agreeing_with(found, *(fitting or said))
        if beside.asked and (not isinstance(found, str) or max(map(len, beside.asked)) > LONGEST_HASH):
            lacking = (*lacking, NO_RUNTIME_DATA)
        appraisal = appraisal.beside(*lacking)
    return appraisal


def _in_fields(asked: bytes, sizes: Iterable[int]) -> Iterable[bytes]:
    """Return what is asked with as it is, and cut or filled up to each size."""
    return (asked, *(asked[:size].ljust(size, b"\0") for size in sizes))


def _own_parts(name: str, parts: Sequence[Part]) -> Sequence[Part]:
    """Return the parts of a file that a format may read: one, unless several messages of a wrapper are of its kinds."""
    own = [part for part in parts if set(part.found.kinds) & set(FORMATS[name].kinds)]
    return own or parts[:1]


def _described(form: Format[_Parsed, Any], evidence: _Parsed) -> tuple[kinds.Layer, ...]:
    """Return what a format says of evidence, as far as it can read it."""
    try:
        return tuple(form.describe(evidence))
    except MalformedError:
        return ()


def _with_advice(name: str, parts: Sequence[Part], detail: str) -> str:
    """Return why files cannot be parsed, with what is to be done where one is of a kind that is not the format's."""
    for each in (part.found for part in parts):
        advice = next(filter(None, map(advice_on, each.kinds)), "")
        if advice and not set(each.kinds) & set(FORMATS[name].kinds):
            return f"{detail}: {advice}" if each.kinds[0] in detail else f"this is {each.kinds[0]}: {advice}"
    return detail


def readers(kind: str) -> tuple[str, ...]:
    """Return the names of the formats that read a kind of evidence, in the order in which they are tried."""
    return tuple(name for name, registered in FORMATS.items() if kind in registered.kinds)


def advice_on(kind: str) -> str:
    """Return the command that reads a kind of evidence, or how it can be used; empty if unknown."""
    names = readers(kind)
    return f"carnet attest {names[0]} FILE" if names else (kinds.COMPANIONS | kinds.UNREAD).get(kind, "")


class RegisteredFormat(NamedTuple):
    """A format's location as ``module:name``, a one-line description, and the kinds of evidence that it reads.

    The kinds are words of `carnet_ref.attestation.kinds`. Of several formats that read a kind, the first counts to
    which nothing is missing.
    """

    place: str
    summary: str
    kinds: tuple[str, ...]

    def load(self) -> Format[Any, Any]:
        """Import the format."""
        loaded = pkgutil.resolve_name(self.place)
        assert isinstance(loaded, Format), f"{self.place} is no format of evidence"
        return loaded


#: Every format, by the name of its subcommand; adding one is a module and a line here.
#:
#: Of formats that read the same documents, the one that appraises more of them comes first.
FORMATS: Final[dict[str, RegisteredFormat]] = {
    "gpu": RegisteredFormat(
        "carnet_ref.attestation.nvidia.format:DEVICE_FORMAT",
        "Appraise the report of an NVIDIA GPU or NVSwitch.",
        (kinds.NVIDIA_REPORT, kinds.NVIDIA_EVIDENCE),
    ),
    "node": RegisteredFormat(
        "carnet_ref.attestation.nvidia.format:NODE_FORMAT",
        "Appraise every NVIDIA GPU and NVSwitch of a node.",
        (kinds.NVIDIA_REPORT, kinds.NVIDIA_EVIDENCE),
    ),
    "rim": RegisteredFormat(
        "carnet_ref.attestation.nvidia.format:RIM_FORMAT",
        "Appraise NVIDIA's reference values by themselves.",
        (kinds.XML, kinds.RIM_ANSWER),
    ),
    "tpm": RegisteredFormat(
        "carnet_ref.attestation.tpm.format:FORMAT",
        "Appraise the quote of a TPM, and of the virtual TPMs of clouds.",
        (kinds.TPM_QUOTE, kinds.TPM_DOCUMENT, kinds.AZURE_SNP, kinds.AZURE_TDX),
    ),
    "tdx": RegisteredFormat(
        "carnet_ref.attestation.intel.format:FORMAT",
        "Appraise the quote of an Intel TDX virtual machine.",
        (kinds.TDX_QUOTE, kinds.QUOTE_DOCUMENT, kinds.AZURE_TDX, kinds.DSTACK_ENVELOPE),
    ),
    "snp": RegisteredFormat(
        "carnet_ref.attestation.amd.format:FORMAT",
        "Appraise the report of an AMD SEV-SNP virtual machine.",
        (
            kinds.SNP_REPORT,
            kinds.SNP_DOCUMENT,
            kinds.AZURE_SNP,
            kinds.AZURE_SNP_ALONE,
            kinds.HCL_SNP,
            kinds.DSTACK_ENVELOPE,
        ),
    ),
    "nitro": RegisteredFormat(
        "carnet_ref.attestation.nitro.format:FORMAT",
        "Appraise the document of an AWS Nitro enclave or NitroTPM.",
        (kinds.NITRO_DOCUMENT, kinds.NITROTPM_DOCUMENT, kinds.DSTACK_ENVELOPE),
    ),
    "cca": RegisteredFormat(
        "carnet_ref.attestation.cca.format:FORMAT",
        "Appraise the attestation token of an Arm CCA realm.",
        (kinds.CCA_TOKEN,),
    ),
    "ear": RegisteredFormat(
        "carnet_ref.attestation.ear:FORMAT",
        "Check a signed attestation result of a verifier.",
        (kinds.EAR_TOKEN, kinds.JWT_TOKEN),
    ),
    "result": RegisteredFormat(
        "carnet_ref.attestation.services.format:FORMAT",
        "Check what an attestation service of others signed.",
        (kinds.NRAS_TOKEN, kinds.GOOGLE_TOKEN, kinds.INTEL_TOKEN, kinds.AZURE_TOKEN, kinds.JWT_TOKEN),
    ),
}
