"""Evidence of any kind: which formats read it, and its appraisal by them. Relying parties call `appraise`.

One document may have evidence of several kinds, such as a quote and the reports of GPUs. It is accepted if each kind
is, and then steps and claims have the name of their format before them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from carnet_command.errors import UsageError
from carnet_ref.attestation.formats import (
    FORMATS,
    AppraisalContext,
    NeedsOptionError,
    Option,
    OptionKind,
    OptionValues,
    Value,
    advice_on,
    agreeing,
    appraise_files,
    readers,
)
from carnet_ref.attestation.kinds import COMPANIONS, UNDECIDED, Identified, kind_of
from carnet_ref.attestation.wrappers import Part, parts_of
from carnet_ref.wire import MalformedError

if TYPE_CHECKING:
    from datetime import datetime

    from carnet_ref.attestation.appraisal import Anchors, Appraisal


class Inputs(Protocol):
    """The options and policies for each format, before it is known which formats read the evidence."""

    def of(self, name: str) -> tuple[OptionValues, AppraisalContext[Any]]:
        """Return the options and context for the format called ``name``."""


def formats_for(document: Identified, inputs: Inputs) -> tuple[str, ...]:
    """Return the names of the formats that appraise a document: one for each kind of evidence in it.

    Raises UsageError if what was given is of no use.
    """
    groups = reader_groups(document)
    return tuple(_chosen(names, document, inputs, kind in UNDECIDED) for kind, names in groups.items())


def reader_groups(document: Identified) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the formats that read each kind of evidence in a document."""
    groups: dict[str, tuple[str, ...]] = {}
    for kind in document.kinds:
        names = readers(kind)
        if names and names[0] not in {first for first, *_ in groups.values()}:
            groups[kind] = names
    return groups


def _chosen(names: Sequence[str], document: Identified, inputs: Inputs, undecided: bool) -> str:
    """Return the first format that lacks no option to read the document, or else the first.

    What it cannot parse is its to refuse, unless the kind leaves it ``undecided`` which format that is. Options play
    no part: else one more could let somebody off what the first format appraises.
    """
    waiting = []
    for name in names if len(names) > 1 else ():
        try:
            FORMATS[name].load().recognise(document.data, inputs.of(name)[0])
        except NeedsOptionError:
            waiting.append(name)
        except MalformedError:
            if not undecided:
                return name
        else:
            return name
    return (*waiting, *names)[0]


def appraise_document(data: bytes, inputs: Inputs) -> Appraisal:
    """Appraise a document of any kind; what no format reads is refused, with what it is and what it goes with.

    Raises UsageError if something that the evidence needs was not given, or what was given is of no use.
    """
    parts = parts_of(data)
    names = [(part, name) for part in parts for name in formats_for(part.found, inputs)]
    if len(parts) == len(names) == 1:
        return appraise_files(names[0][1], [data], *inputs.of(names[0][1]))
    return _of_parts(parts, names, inputs)


def _of_parts(parts: Sequence[Part], names: Sequence[tuple[Part, str]], inputs: Inputs) -> Appraisal:
    """Appraise every part by every format that reads it, as one."""
    from carnet_ref.attestation.appraisal import NOT_ONE, OTHER_MESSAGES, Checklist, RefusedError

    steps, claims = Checklist(), {}
    by: dict[str | None, None] = {}
    layers = dict.fromkeys(layer for part in parts for layer in part.layers)
    try:
        for part in parts:
            if part.objection is not None:
                steps.refuse("parse", part.objection)
            if formats_for(part.found, inputs):
                continue
            beside = not part.may_be_evidence or bool(set(part.found.kinds) & set(COMPANIONS) and not part.is_evidence)
            if not (names and beside):
                steps.refuse("parse", unread(part.found))
            steps.left_out("unwrapped", unread(part.found), lacking=OTHER_MESSAGES)
        appraised = [name for _, name in names]
        for place, (part, name) in enumerate(names):
            appraisal = appraise_files(name, [part.found.data], *inputs.of(name))
            appraisal = agreeing(name, appraisal, part, part.beside)
            appraisal = _beside(appraisal, [each for other, each in names if other is part])
            layers |= dict.fromkeys(appraisal.layers)
            prefix = name if appraised.count(name) == 1 else f"{name}{appraised[:place].count(name)}"
            steps.adopt(appraisal, prefix)
            claims[prefix] = dict(appraisal.claims)
            by[appraisal.appraised_by] = None
        if len(names) > 1:
            steps.left_out(
                "one-machine", "each counts by itself; nothing here compares whose they are", lacking=NOT_ONE
            )
    except RefusedError:
        pass  # the step says so, and what is concluded has no claims
    others = [each for each in by if each is not None]
    everybody = " and ".join(("Carnet", *others) if None in by else others)
    return replace(steps.conclude(claims, everybody if others else None), layers=tuple(layers))


def _beside(appraisal: Appraisal, names: Collection[str]) -> Appraisal:
    """Return an appraisal without words that it lacks a part of the document which formats of these names appraise."""
    from carnet_ref.attestation.appraisal import NO_GPU_EVIDENCE, NO_VTPM_QUOTE

    appraised = {NO_GPU_EVIDENCE: {"gpu", "node"}, NO_VTPM_QUOTE: {"tpm"}}
    found = {words for words, formats in appraised.items() if formats & set(names)}
    steps = (replace(step, lacking="") if step.lacking in found else step for step in appraisal.steps)
    return replace(appraisal, steps=tuple(steps))


HELP: Final = "carnet attest --help lists what is read"


def unread(document: Identified) -> str:
    """Return the kind of a document that no format reads, and how it can be used."""
    what = document.kinds[0] if document.kinds else kind_of(document.data)
    advice = next(filter(None, map(advice_on, document.kinds)), HELP)
    return f"this is {what}: {advice}"


def appraise(
    document: bytes,
    *,
    at: datetime,
    policy: bytes | Mapping[str, object] | str | None = None,
    kind: str | None = None,
    anchors: Anchors | None = None,
    require: Collection[str] = (),
    **given: bytes | int | str | Sequence[bytes],
) -> Appraisal:
    """Appraise evidence of any kind, as ``carnet attest`` does.

    What cannot be parsed is refused, and so is what is no evidence: look at ``accepted`` of what comes back. Nothing is
    read but what is passed in: no file, no clock and no network.

    Raises UsageError if there is no such format or option, a value is of another type or length, or something that the
    evidence needs was not given; ValueError if ``at`` has no time zone, or something else is required.

    Args:
        document: the contents of the file: evidence, raw or as text, or a document that has some.
        at: as of when, with a time zone.
        policy: a policy as JSON, a mapping of its keys, or a preset such as ``strict``; the default one without it.
        kind: the name of the format, such as ``tdx``; without it, the formats that read the document.
        anchors: the roots to trust; those of the vendors without them.
        require: what an acceptance must be, beside genuine: ``fresh`` and ``compared``.
        given: what else is given, by the names of the command's options with underscores: contents of files as bytes,
            those of options that may be repeated as a list, hexadecimal values as bytes. ``report_data=nonce``.

    Source: RFC 9334 (RATS architecture), section 8: evidence and policies go in, and a result comes out.
    """
    from carnet_ref.attestation.appraisal import Requirement, default_anchors

    if at.tzinfo is None:
        raise ValueError("at needs a time zone")
    required = frozenset(map(Requirement, require))
    if kind is not None and kind not in FORMATS:
        raise UsageError(f"there is no format {kind!r}; the formats are {', '.join(FORMATS)}")
    inputs = _GivenInputs(at, policy, anchors or default_anchors(), given)
    names = formats_of_file(document, inputs) if kind is None else (kind,)
    inputs.require_known(names)
    if kind is None:
        return appraise_document(document, inputs).requiring(required)
    return appraise_files(kind, [document], *inputs.of(kind)).requiring(required)


def formats_of_file(data: bytes, inputs: Inputs) -> tuple[str, ...]:
    """Return the names of the formats that appraise parts of a file, each once. Raises UsageError as `formats_for`."""
    return tuple(dict.fromkeys(name for part in parts_of(data) for name in formats_for(part.found, inputs)))


class _GivenInputs(NamedTuple):
    """What a caller passed in."""

    at: datetime
    policy: bytes | Mapping[str, object] | str | None
    anchors: Anchors
    given: Mapping[str, bytes | int | str | Sequence[bytes]]

    def require_known(self, names: Collection[str]) -> None:
        """Insist that some of the formats have each option that was given, where there are formats."""
        options = dict.fromkeys(_keyword(option) for name in names for option in FORMATS[name].load().options)
        unknown = next((word for word in self.given if word not in options), None)
        if names and unknown is not None:
            which = " and ".join(names)
            raise UsageError(f"{which} has no option {unknown!r}; it has {', '.join(options) or 'none'}")

    def of(self, name: str) -> tuple[OptionValues, AppraisalContext[Any]]:
        """Return what the format is given. Raises UsageError if an option has no such value."""
        options = {_keyword(option): option for option in FORMATS[name].load().options}
        values = {option.name: _checked(option, self.given.get(word)) for word, option in options.items()}
        return OptionValues(values), AppraisalContext(self.at, self._policy(name), self.anchors)

    def _policy(self, name: str) -> object:
        from carnet_ref.attestation.policies import PRESET

        form = FORMATS[name].load()
        if self.policy is None:
            return form.default_policy
        if form.policy is None:
            raise UsageError(f"{name} has no policy")
        keys = {PRESET: self.policy} if isinstance(self.policy, str) else self.policy
        try:
            return form.policy.parse(keys if isinstance(keys, bytes) else json.dumps(keys).encode())
        except MalformedError as error:
            raise UsageError(f"no policy for {name}: {error}") from None


def _keyword(option: Option) -> str:
    return option.name.replace("-", "_")


def _checked(option: Option, value: object) -> Value:
    """Return the value of an option, with its type and length as declared."""
    match option.kind, value:
        case OptionKind.FILES, None:
            return ()
        case _, None:
            return None
        case OptionKind.FILES, list() | tuple() if all(isinstance(each, bytes) for each in value):
            return tuple(value)
        case OptionKind.NUMBER, int() if not isinstance(value, bool) and value >= 0:
            return value
        case OptionKind.FILE, bytes():
            return value
        case OptionKind.HEX, bytes() if value and len(value) == (option.length or len(value)):
            return value
        case OptionKind.TEXT, str():
            return value
    length = (
        f" of {option.length} bytes" if option.length else ", at least one" if option.kind is OptionKind.HEX else ""
    )
    named = {OptionKind.FILES: "a list of bytes", OptionKind.NUMBER: "a number from 0", OptionKind.TEXT: "text"}
    expected = named.get(option.kind, "bytes")
    raise UsageError(f"{_keyword(option)} has to be {expected}{length}")
