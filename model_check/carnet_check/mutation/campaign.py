"""A campaign: worker processes judge every mutant of a family's variants, and pairs of mutants that are equivalent.

Proofs come first. Mutants that survive them are judged by scenarios of the original, and those that survive these by
attacks on weakened designs. If a worker is lost, only its mutant is unknown, and the next campaign judges it again. If
a worker is lost that explores the original, every mutant that is not killed without its result is unknown.
"""

from __future__ import annotations

import functools
import hashlib
import json
import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from carnet_check.cache import source_digest
from carnet_check.certificates.file import NAME as CERTIFICATES
from carnet_check.certificates.file import place_of
from carnet_check.errors import EngineError, InvalidSpecificationError, UsageError
from carnet_check.loading.families import Source, load, parts_of
from carnet_check.mutation.judging import Judge, Judgement, MutantStatus, OriginalFacts
from carnet_check.mutation.operators import Mutant, Operator, mutants, without_parts
from carnet_check.mutation.scenarios import Place, Scenario, places, scenario, telling_scenarios
from carnet_check.mutation.weaknesses import WeakenedDesign, Weakness, still_attacks, weakened_designs, weaknesses
from carnet_check.witnesses import Questions
from carnet_command.files import failing_as, reason
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool, only
from carnet_spec.language import Action, Profile
from carnet_spec.trace import Trace

FORMAT: Final = "carnet-mutants/3"
RECORD_FILE: Final = "mutants.ndjson"
#: The file beside the record with results about earlier specifications, whose witnesses may still be valid.
EARLIER_FILE: Final = "earlier.ndjson"


class Record:
    """Results by kind and key, in a file, or in memory only if there is no file.

    Entries of a file about another specification, or of other code, are no results. They are used as witnesses.

    Raises UsageError if the file cannot be read or written.
    """

    def __init__(self, file: Path | None, about: Mapping[str, Any]) -> None:
        self._file = file
        self._asked = _dependencies_of(about)
        self._known: dict[tuple[str, str], Any] = {}
        self._earlier: dict[tuple[str, str], Mapping[str, Any]] = {}
        if file is None:
            return
        header = _line({"format": FORMAT, **about})
        lines = _lines(file)
        if not lines or lines[0] != header:
            self._earlier = recorded_entries(file)
            before = map(_line, self._earlier.values())
            _write(file.with_name(EARLIER_FILE), "".join([_line({"format": FORMAT}), *before]), "w")
            _write(file, header, "w")
            return
        self._earlier = _entries(_lines(file.with_name(EARLIER_FILE)))
        self._known = {place: entry["value"] for place, entry in _entries(lines).items()}
        _write(file, "".join(lines), "w")

    def __contains__(self, entry: tuple[str, str]) -> bool:
        return entry in self._known

    def get(self, kind: str, key: str) -> Any:
        """Return a result, which may be ``None``; also ``None`` if there is no result."""
        return self._known.get((kind, key))

    def earlier(self, kind: str, key: str, question: str = "") -> tuple[Any, bool]:
        """Return the earlier value or None, and whether the same code computed it for the same question."""
        entry = self._earlier.get((kind, key), {})
        same = bool(question) and (entry.get("question"), entry.get("asked")) == (question, self._asked)
        return entry.get("value"), same

    def keep(self, kind: str, key: str, value: Any, question: str = "") -> None:
        """Store a result, with its question if that is narrower than the whole specification."""
        self._known[kind, key] = value
        if self._file is not None:
            asked = {"question": question} if question else {}
            _write(self._file, _line({"kind": kind, "key": key, "value": value, **asked}), "a")


def recorded_entries(file: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the entries of a record by kind and key; where it has none, those about earlier specifications."""
    return _entries(_lines(file.with_name(EARLIER_FILE))) | _entries(_lines(file))


def _entries(lines: Sequence[str]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the entries of a record, each with its question and dependencies; none if the format is another one."""
    header = json.loads(lines[0]) if lines else {}
    if header.get("format") != FORMAT:
        return {}
    entries = ({"asked": _dependencies_of(header), **json.loads(line)} for line in lines[1:])
    return {(entry["kind"], entry["key"]): entry for entry in entries}


def _dependencies_of(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a result depends on besides the specification: the code, and the options of the campaign."""
    return {name: header[name] for name in sorted(header) if name not in ("format", "protocols", "specification")}


def record_header(source: Source, variants: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Return what results depend on: the protocols, the specification's files, Carnet's code, and the options."""
    digests = {name: source.protocol(name).digest for name in variants}
    return {"protocols": digests, "specification": _specification(source), "code": source_digest(), **options}


def _specification(source: Source) -> str:
    """Return the digest of the files of the package, or of the module, from which the family is loaded."""
    place = place_of(source)
    if place is None:
        return ""
    folder = place.parent
    inside = sorted([*folder.rglob("*.py"), *folder.rglob("*.json")])
    files = inside if (folder / "__init__.py").is_file() else [Path(parts_of(source.reference)[0])]
    told = "".join(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}\n" for file in files)
    return hashlib.sha256(told.encode()).hexdigest()


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"


def _lines(file: Path) -> list[str]:
    try:
        lines = file.read_text("utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read '{file}': {reason(error) if isinstance(error, OSError) else error}") from None
    return [line for line in lines if line.endswith("\n")]


def _write(file: Path, text: str, mode: str) -> None:
    with failing_as(f"cannot write '{file}'"), file.open(mode, encoding="utf-8") as stream:
        stream.write(text)


PATIENCE = 900.0  #: Seconds after which a worker counts as stuck: the hardest mutant takes a minute.
MEMORY = 6 << 30  #: Bytes of address space of a worker, which explores and runs a solver.

NOTHING = OriginalFacts()
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a campaign: variants by name, threat models (empty: all), and which stages to run."""

    source: Source
    variants: tuple[str, ...]
    threats: tuple[str, ...] = ()
    hunting: bool = False
    pairs: bool = False
    only: tuple[str, ...] = ()  #: The prefixes of the names of mutants to judge; empty: all mutants.


@dataclass(frozen=True, slots=True)
class Outcome:
    """The mutants and the judgement on each, and the pairs with theirs."""

    mutants: tuple[Mutant, ...]
    judgements: tuple[Judgement, ...]
    pairs: tuple[tuple[Mutant, Judgement], ...] = ()


def list_mutants(request: Request) -> tuple[Mutant, ...]:
    """Return the mutants of a campaign, variant by variant; a part that variants share is mutated once."""
    found: list[Mutant] = []
    beside: list[Action] = []
    axioms: set[str] = set()
    for name in request.variants:
        protocol = request.source.sound_variant(name)
        found += mutants(protocol, beside, axioms)
        beside += protocol.actions
        axioms.update(axiom.name for axiom in protocol.axioms)
        axioms.update(f"{threat.id}/{axiom.name}" for threat in protocol.threats for axiom in threat.axioms)
    if not request.only:
        return tuple(found)
    return tuple(each for each in found if each.name.startswith(request.only))


def questions_of(request: Request) -> dict[str, Questions]:
    """Return, by variant, the digests of questions about its mutants."""
    return {name: Questions(request.source.protocol(name)) for name in request.variants}


def run(request: Request, every: Sequence[Mutant], record: Record, jobs: int, say: Say) -> Outcome:
    """Judge all mutants.

    Raises InvalidSpecificationError if the original is not proved, which every judgement presupposes; EngineError if
    the proof of the original was lost with a worker, or the interpreter does not confirm a result.
    """
    with WorkerPool(jobs, patience=PATIENCE, memory=MEMORY) as pool:
        work = _Campaign(request, record, pool, say)
        work.require_proved(dict.fromkeys(mutant.variant for mutant in every))
        judged = work.judged(every, "mutant")
        pairs = pairs_of(every, judged, request.source) if request.pairs else ()
        told = zip(pairs, work.judged(pairs, "pair"), strict=True)
        return Outcome(tuple(every), judged, telling_pairs(every, judged, told))


@dataclass(frozen=True)
class _Campaign:
    request: Request
    record: Record
    pool: WorkerPool
    say: Say

    def require_proved(self, variants: Iterable[str]) -> None:
        """Raise an error unless everything is proved of the original."""
        request = self.request
        parts = [_OriginalPart(request.source.reference, name, request.threats) for name in variants]
        waiting = [part for part in parts if ("original", part.key) not in self.record]
        for part, answer in self.pool.results(_unproved, waiting, only):
            if isinstance(answer, Lost):
                raise EngineError(f"{part.key}: whether its claims are proved could not be checked ({answer.reason})")
            if answer:
                raise InvalidSpecificationError(
                    f"{part.key}: {answer}; its mutants are judged by what is proved of it, so prove it first"
                )
            self.record.keep("original", part.key, {})

    def judged(self, every: Sequence[Mutant], what: str) -> tuple[Judgement, ...]:
        """Judge mutants by proofs, then the survivors by scenarios, then the survivors of these by attacks."""
        if not every:
            return ()
        found = self._answers(f"{what}s judged", what, [*self._first_parts(every, what)])
        for stage, of in (("scenarios", self._scenarios), ("attacks", self._attacks)):
            kept = {mutant.key for mutant in every if (what, mutant.key) in self.record}
            open_ = [each for each in every if each.key in kept and self._is_open(each, found[each.key])]
            known = {name: of(name) for name in dict.fromkeys(mutant.variant for mutant in open_)}
            parts = [self._part(each, known[each.variant], found[each.key]) for each in open_]
            what = f"{what}, {stage}"
            found |= self._answers(f"survivors judged by {stage}", what, parts)
        return tuple(found[each.key] for each in every)

    def _is_open(self, mutant: Mutant, judgement: Judgement) -> bool:
        return mutant.action is not None and judgement.fate in (MutantStatus.SURVIVED, MutantStatus.UNKNOWN)

    def _part(self, mutant: Mutant, known: OriginalFacts = NOTHING, earlier: Judgement | None = None) -> _MutantPart:
        request = self.request
        return _MutantPart(request.source.reference, mutant, request.threats, request.hunting, known, earlier)

    def _first_parts(self, every: Sequence[Mutant], kind: str) -> Iterator[_MutantPart]:
        """Yield the parts to judge by proofs, after an earlier answer to the same question was copied to the record."""
        questions = questions_of(self.request)
        for mutant in every:
            question = questions[mutant.variant].digest(mutant.action)
            value, same = self.record.earlier(kind, mutant.key, question)
            witness = judgement_from_json(value) if value else None
            if same and witness and witness.fate is not MutantStatus.UNKNOWN and (kind, mutant.key) not in self.record:
                self.record.keep(kind, mutant.key, value, question)
            yield replace(self._part(mutant), question=question, witness=witness)

    def _answers(self, told: str, kind: str, parts: Sequence[_MutantPart]) -> dict[str, Judgement]:
        keys = [part.key for part in parts]
        found = {key: judgement_from_json(self.record.get(kind, key)) for key in keys if (kind, key) in self.record}
        waiting = [part for part, key in zip(parts, keys, strict=True) if key not in found]
        for part, answer in self.pool.results(_judge, waiting, only):
            key = part.key
            if isinstance(answer, Lost):
                found[key] = Judgement(key, MutantStatus.UNKNOWN, evidence=answer.reason)
                continue
            found[key] = answer
            if answer.fate is not MutantStatus.UNKNOWN or not part.known.missing:
                self.record.keep(kind, key, judgement_as_json(answer), part.question)
            self.say(f"{len(found):,} of {len(parts):,} {told}")
        return found

    # -- what is known of the original ------------------------------------------------------------

    def _scenarios(self, variant: str) -> OriginalFacts:
        source = self.request.source
        asked = {each.words: each for each in places(source, variant, self.request.threats)}
        parts = [_ExplorePart(source.reference, f"{variant}: {words}", each) for words, each in asked.items()]
        found, missing = self._looked(f"{variant}: scenarios explored", "scenario", parts, scenario_as_json)
        return OriginalFacts(
            scenarios=telling_scenarios(scenario_from_json(each) for each in found if each), missing=missing
        )

    def _attacks(self, variant: str) -> OriginalFacts:
        source, threats = self.request.source, self.request.threats
        parts = []
        for each in weakened_designs(source, variant):
            key = f"{each.words}: {each.threat}"
            value, _ = self.record.earlier("weaknesses", key)
            parts.append(_ExplorePart(source.reference, key, each, weaknesses_from_json(value) if value else ()))
        said = f"{variant}: weakened designs attacked"
        found, missing = self._looked(said, "weaknesses", parts, weaknesses_as_json)
        known = (each for some in found if some for each in weaknesses_from_json(some))
        asked = tuple(each for each in known if not threats or each.place.threat in threats)
        return OriginalFacts(weaknesses=asked, missing=missing)

    def _looked(
        self, told: str, kind: str, parts: Sequence[_ExplorePart], write: Callable[[Any], dict[str, Any]]
    ) -> tuple[list[Any], tuple[str, ...]]:
        """Explore the parts; return the results, and a line for each part that was lost with a worker."""
        waiting = [part for part in parts if (kind, part.key) not in self.record]
        done, missing = len(parts) - len(waiting), list[str]()
        for part, answer in self.pool.results(_look, waiting, only):
            if isinstance(answer, Lost):
                missing.append(f"{part.key} ({answer.reason})")
            else:
                self.record.keep(kind, part.key, None if answer.found is None else write(answer.found))
            done += 1
            self.say(f"{done} of {len(parts)} {told}")
        return [self.record.get(kind, part.key) for part in parts if (kind, part.key) in self.record], tuple(missing)


# -- in a worker ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _MutantPart:
    reference: str
    mutant: Mutant
    threats: tuple[str, ...]
    hunting: bool
    known: OriginalFacts
    earlier: Judgement | None
    question: str = ""
    witness: Judgement | None = None

    @property
    def key(self) -> str:
        return self.mutant.key


@dataclass(frozen=True, slots=True)
class _ExplorePart:
    reference: str
    key: str
    where: Place | WeakenedDesign
    witness: tuple[Weakness, ...] = ()


@dataclass(frozen=True, slots=True)
class _OriginalPart:
    reference: str
    variant: str
    threats: tuple[str, ...]

    @property
    def key(self) -> str:
        return self.variant


@dataclass(frozen=True, slots=True)
class _ExploreAnswer:
    found: Scenario | tuple[Weakness, ...] | None


@functools.lru_cache(maxsize=8)
def _judging(reference: str, variant: str, threats: tuple[str, ...], hunting: bool) -> Judge:
    return Judge(load(reference), variant, threats, hunting=hunting)


def _unproved(part: _OriginalPart) -> Iterator[str]:
    yield _judging(part.reference, part.variant, part.threats, hunting=False).unproved_original()


def _judge(part: _MutantPart) -> Iterator[Judgement]:
    judge = _judging(part.reference, part.mutant.variant, part.threats, part.hunting)
    if part.earlier is None:
        yield judge.judge(part.mutant, part.witness)
    else:
        yield judge.judged_further(part.mutant, part.earlier, part.known)


def _look(part: _ExplorePart) -> Iterator[_ExploreAnswer]:
    source = load(part.reference)
    if isinstance(part.where, Place):
        yield _ExploreAnswer(scenario(source, part.where))
    elif part.witness and still_attacks(source, part.witness):
        yield _ExploreAnswer(part.witness)
    else:
        yield _ExploreAnswer(weaknesses(source, part.where))


# -- What a campaign finds, as JSON values and back ------------------------------------------------

Json = Mapping[str, Any]


def judgement_as_json(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement as JSON values."""
    return {**asdict(judgement), "fate": str(judgement.fate), "by": str(judgement.by), "core": list(judgement.core)}


def judgement_from_json(value: Json) -> Judgement:
    """Read a judgement back."""
    return Judgement(**{**value, "fate": MutantStatus(value["fate"]), "core": tuple(value["core"])})


def scenario_as_json(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as JSON values."""
    return {
        "place": _place_as_json(scenario.place),
        "states": scenario.states,
        "taken": sorted(scenario.taken),
        "ways": {name: trace.to_json() for name, trace in scenario.ways.items()},
    }


def scenario_from_json(value: Json) -> Scenario:
    """Read a scenario back."""
    ways = {name: Trace.from_json(trace) for name, trace in value["ways"].items()}
    return Scenario(_place_from_json(value["place"]), value["states"], frozenset(value["taken"]), ways)


def weaknesses_as_json(found: Iterable[Weakness]) -> dict[str, Any]:
    """Return the attacks on a weakened design as JSON values."""
    return {"attacks": [_weakness_as_json(each) for each in found]}


def weaknesses_from_json(value: Json) -> tuple[Weakness, ...]:
    """Read the attacks on a weakened design back."""
    return tuple(_weakness_from_json(each) for each in value["attacks"])


def _weakness_as_json(weakness: Weakness) -> dict[str, Any]:
    return {
        "weakened": {**asdict(weakness.weakened), "without": list(weakness.weakened.without)},
        "place": _place_as_json(weakness.place),
        "claim": weakness.claim,
        "trace": weakness.trace.to_json(),
        "states": weakness.states,
    }


def _weakness_from_json(value: Json) -> Weakness:
    told = value["weakened"]
    where = WeakenedDesign(**{**told, "without": tuple(told["without"])})
    place, trace = _place_from_json(value["place"]), Trace.from_json(value["trace"])
    return Weakness(where, place, value["claim"], trace, value["states"])


def _place_as_json(place: Place) -> dict[str, Any]:
    size = {"name": place.profile.name, "scale": dict(place.profile.scale), "budget": place.profile.budget}
    return {"variant": place.variant, "size": size, "threat": place.threat, "honest": place.honest}


def _place_from_json(value: Json) -> Place:
    size = value["size"]
    profile = Profile(size["name"], size["scale"], size["budget"])
    return Place(value["variant"], profile, value["threat"], value["honest"])


# --------------------------------------------------------------------------------------------------
# Pairs: if dropping one part changes nothing, because another part has the same effect, both are dropped.
#
# The judgement on an equivalent dropped part names the hypotheses that make it redundant. Dropping the part together
# with a guard among these is a mutant of two parts. If it is killed, the two are a minimal cut set of size two.

UNNOTICED = (MutantStatus.EQUIVALENT, MutantStatus.STRONGER, MutantStatus.SURVIVED)


def pairs_of(mutants: Sequence[Mutant], judgements: Sequence[Judgement], source: Source) -> tuple[Mutant, ...]:
    """Return the mutants of two parts, without repetition: each part alone was dropped in that variant unnoticed."""
    fates = {each.key: each for each in judgements}
    unnoticed = {
        part for each in mutants if _drops(each) and fates[each.key].fate in UNNOTICED for part in _placed(each)
    }
    found: dict[str, Mutant] = {}
    for mutant in mutants:
        judgement = fates[mutant.key]
        if not _drops(mutant) or judgement.fate is not MutantStatus.EQUIVALENT or mutant.action is None:
            continue
        (part,) = mutant.parts
        whole = source.protocol(mutant.variant).action(mutant.action.name)
        known = {f"guard:{guard.name}" for guard in whole.guards}
        for other in judgement.core:
            if other in known and other != part and (mutant.variant, whole.name, other) in unnoticed:
                pair = tuple(sorted((part, other)))
                made = Mutant(mutant.variant, _name(whole.name, pair), Operator.DROP, pair, without_parts(whole, pair))
                found.setdefault(made.key, made)
    return tuple(found.values())


def possible_pairs(mutants: Iterable[Mutant]) -> frozenset[str]:
    """Return the keys of all possible pairs: two parts of one action."""
    parts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for mutant in mutants:
        for variant, action, part in _placed(mutant) if _drops(mutant) else ():
            parts[variant, action].append(part)
    return frozenset(
        f"{variant}: {_name(action, tuple(sorted(pair)))}"
        for (variant, action), each in parts.items()
        for pair in combinations(each, 2)
    )


def _name(action: str, pair: Iterable[str]) -> str:
    return f"{action}/{' and '.join(each.replace(':', ' ', 1) for each in pair)}/drop"


def telling_pairs(
    mutants: Sequence[Mutant], judgements: Sequence[Judgement], pairs: Iterable[tuple[Mutant, Judgement]]
) -> tuple[tuple[Mutant, Judgement], ...]:
    """Return the pairs that are informative: a pair trivially survives if one of its parts alone survives."""
    alone = {
        part
        for mutant, judgement in zip(mutants, judgements, strict=True)
        if _drops(mutant) and judgement.fate is MutantStatus.SURVIVED
        for part in _placed(mutant)
    }
    return tuple(
        (pair, judgement)
        for pair, judgement in pairs
        if judgement.fate is not MutantStatus.SURVIVED or alone.isdisjoint(_placed(pair))
    )


def _drops(mutant: Mutant) -> bool:
    return mutant.operator is Operator.DROP and len(mutant.parts) == 1


def _placed(mutant: Mutant) -> tuple[tuple[str, str, str], ...]:
    name = mutant.action.name if mutant.action else ""
    return tuple((mutant.variant, name, part) for part in mutant.parts)


# --------------------------------------------------------------------------------------------------
# Arguments for mutants that survive: stored beside the specification, and valid for one digest only.
#
# A person argues why a surviving mutant does not matter. The argument names the variant and its digest; when the
# specification changes, the argument has to be made again.

NAME = "argued-mutants.toml"
MOST = 0.05  #: The largest share of a family's mutants that may have arguments.
FIELDS = {"mutant", "variant", "digest", "argument"}


@dataclass(frozen=True, slots=True)
class Argument:
    """The reason why a mutant may survive, for one digest of a variant."""

    mutant: str
    variant: str
    digest: str
    argument: str

    @property
    def key(self) -> str:
        """The key of the mutant that the argument is about."""
        return f"{self.variant}: {self.mutant}"


def arguments_of(source: Source) -> tuple[Argument, ...]:
    """Return the arguments that lie beside a specification.

    Raises InvalidSpecificationError if the file is malformed, or has two arguments for one mutant.
    """
    place = place_beside(source)
    if place is None or not place.is_file():
        return ()
    try:
        found = tomllib.loads(place.read_text("utf-8"))
    except OSError as error:
        raise InvalidSpecificationError(f"cannot read '{place}': {reason(error)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSpecificationError(f"'{place}' is no TOML: {error}") from None
    listed = found.get("argued", [])
    if set(found) - {"argued"} or not isinstance(listed, list):
        raise InvalidSpecificationError(f"'{place}': expected [[argued]] alone")
    arguments = tuple(_argument(each, place) for each in listed)
    keys = [each.key for each in arguments]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise InvalidSpecificationError(f"'{place}' argues {twice[0]} twice")
    return arguments


def place_beside(source: Source) -> Path | None:
    """Return the path of the arguments, which need not exist: beside the certificates."""
    certificates = place_of(source)
    return certificates and certificates.with_name(certificates.name.replace(CERTIFICATES, NAME))


def _argument(value: Any, place: Path) -> Argument:
    if not isinstance(value, Mapping) or set(value) != FIELDS or not all(isinstance(v, str) for v in value.values()):
        raise InvalidSpecificationError(
            f"'{place}': expected the texts {', '.join(sorted(FIELDS))}, not {value!r:.120}"
        )
    if not value["argument"].strip():
        raise InvalidSpecificationError(f"'{place}' has no argument for {value['mutant']}")
    return Argument(**value)


def require_valid(arguments: Collection[Argument], mutants: Collection[Mutant], digests: Mapping[str, str]) -> None:
    """Refuse arguments about mutants that do not exist or about another specification, and too many arguments.

    Raises InvalidSpecificationError if the arguments are refused; the message says why.

    Args:
        arguments: those stored beside the specification.
        mutants: all mutants of the variants that are judged.
        digests: the digests of these variants; arguments about other variants are ignored.
    """
    known = {mutant.key for mutant in mutants} | possible_pairs(mutants)
    for each in arguments:
        if each.variant not in digests:
            continue
        if each.key not in known:
            raise InvalidSpecificationError(f"{NAME} argues '{each.key}', and there is no such mutant")
        if digests[each.variant] != each.digest:
            raise InvalidSpecificationError(
                f"{NAME}: the argument for '{each.key}' has expired, because the specification changed: "
                f"look at it again, and give it the digest {digests[each.variant]}"
            )
    argued = sum(each.variant in digests for each in arguments)
    if argued > MOST * len(mutants):
        raise InvalidSpecificationError(
            f"{NAME} argues {argued} of {len(mutants)} mutants; at most {MOST:.0%} may be argued"
        )
