"""The assurance case: for each requirement its sentence, proof obligations, tests and enforcing places.

The pages use the directives of sphinx-needs, so that every link is checked and followed both ways. What lacks one of
the four is a gap, and a gap ends the build.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from carnet_spec.language import Action, Claim, Eventually, Family, LemmaClaim, Protocol, SpecificationError
from carnet_spec.language.printing import fair_steps
from carnet_spec.language.requirements import Level, Requirement, references_of

from . import citations
from .junit import JUNIT, Ran, TestRun
from .markdown import Lines, code, label, page, prose, table
from .sources import linked
from .verdicts import freshness

#: A slow test carries ``@pytest.mark.verifies("toy-REQ-ONE")`` when it verifies what no recorded run does.
VERIFIES = "verifies"
Places = Mapping[str, Sequence[str]]  #: Requirements, and the places in code that enforce each.
#: What states a requirement: a claim, one that speaks of no step, or one of what happens in the end.
Stated = Claim | LemmaClaim | Eventually
Recorded = Mapping[str, Any]  #: What a hunt came to, as :mod:`record` keeps it.


@dataclass(frozen=True)
class Case:
    """One normative sentence of a protocol, and the evidence for it."""

    family: str  #: The id of the protocol.
    requirement: Requirement
    #: By its need's id: the family, the protocol and the action that enforces it.
    steps: Mapping[str, tuple[str, Protocol, Action]] = field(default_factory=dict)
    #: By its need's id: the family, the protocol and the claim that states it.
    claims: Mapping[str, tuple[str, Protocol, Stated]] = field(default_factory=dict)
    tests: tuple[Ran, ...] = ()  #: Those that passed.
    code: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()  #: Where an assumption is made: axioms by name, or in the shape of every step.
    #: Whether the protocol has a reference implementation, and with it tests that name what they verify.
    implemented: bool = True
    main: bool = True  #: Whether a main variant cites it; what only others cite is in no reference implementation.
    slow: tuple[str, ...] = ()  #: The slow tests, by path and name, that say they verify it: no recorded run has them.

    @property
    def id(self) -> str:
        """The id of its need: two protocols may use one id for different sentences."""
        return need_id(self.family, self.requirement.id)

    @property
    def gaps(self) -> list[str]:
        """What is missing."""
        if self.requirement.level is Level.ASSUMPTION:
            return [] if self.assumed else ["no axiom, and no protocol has it built in"]
        return [
            *([] if self.steps or self.claims else ["no obligation: no action enforces it and no claim states it"]),
            *([] if self.tests or not self.implemented or self.is_verified_slowly else [self._untested]),
            *([] if self.code or not self.built else ["no place in code enforces it"]),
        ]

    @property
    def built(self) -> bool:
        """Whether some code has to enforce it, and a test of the recorded run to verify it."""
        return self.implemented and self.main

    @property
    def is_verified_slowly(self) -> bool:
        """Whether a slow test is enough, and there is one: what main variants ask for needs a recorded run."""
        return bool(self.slow) and not self.main

    @property
    def _untested(self) -> str:
        return "no test that passed verifies it" + ("" if self.main else ", and no slow test says that it does")

    @property
    def variants(self) -> tuple[str, ...]:
        """The designs in which its obligations are."""
        return tuple(dict.fromkeys(each[1].variant for each in (*self.steps.values(), *self.claims.values())))


def need_id(family: str, requirement: str) -> str:
    """Return what the pages, and the tests that verify it, call a requirement of a protocol."""
    return f"{family}-{requirement}"


def cases(
    families: Sequence[Family],
    ran: TestRun,
    code: Mapping[str, Places],
    *,
    slow: Mapping[str, Sequence[str]] = MappingProxyType({}),
    complete: bool = False,
) -> list[Case]:
    """Return a case for every normative sentence of each protocol, in the order of its text.

    The main variants come first; what none of them cites is looked for in the other variants. ``code`` has the places
    of each protocol that is implemented, and ``slow`` the slow tests that are marked, by the id of a need.

    Raises SpecificationError if a protocol with a text cites an id that has no sentence, and ``complete`` asks for all.
    """
    found, missing = [], []
    for family in families:
        mains = family.with_layers(family.main)
        main = [family.draft_of(name).whole() for name in mains]
        beside = [family.draft_of(name).whole() for name in family.variants if name not in mains]
        known, asked = family.text.requirements(), dict.fromkeys(id for draft in main for id in _used(draft))
        others = _first_to_use(beside, {*known} - {*asked})
        missing += [
            f"{id}: cited by {family.id}, and no sentence has this id"
            for id in (asked | dict.fromkeys(id for draft in beside for id in _used(draft)))
            if id not in known and (known or family.id in code)
        ]
        places = code.get(family.id)
        found += [
            _case(family.id, each, main, ran, places)
            if id in asked
            else replace(
                _case(family.id, each, others, ran, places),
                main=False,
                slow=tuple(slow.get(need_id(family.id, id), ())),
            )
            for id, each in known.items()
        ]
    if complete and missing:
        raise SpecificationError("\n".join(["the assurance case has gaps:", *missing]))
    return found


def _first_to_use(protocols: Iterable[Protocol], wanted: set[str]) -> list[Protocol]:
    """Return those that use what is ``wanted``: for each the first."""
    found: list[Protocol] = []
    for protocol in protocols:
        used = {*_used(protocol)}
        if wanted & used:
            found.append(protocol)
            wanted = wanted - used
    return found


def _used(protocol: Protocol) -> list[str]:
    """Return the ids that a protocol cites, without the assumptions that it lists and does not make."""
    made = {axiom.assumption for axiom in protocol.axioms} | {each.id for each in protocol.assumptions if each.built_in}
    listed = {each.id for each in protocol.assumptions}
    return [id for id in references_of(protocol) if id in made or id not in listed]


def _case(family: str, requirement: Requirement, drafts: Iterable[Protocol], ran: TestRun, code: Places | None) -> Case:
    id = requirement.id
    steps: dict[str, tuple[str, Protocol, Action]] = {}
    claims: dict[str, tuple[str, Protocol, Stated]] = {}
    assumed: dict[str, None] = {}
    for protocol in drafts:
        for action in protocol.actions:
            if id in action.enforces:
                steps.setdefault(label("step", family, action.name), (family, protocol, action))
        for claim in protocol.claims:
            if id in re.findall(r"[A-Z0-9-]+", claim.requirement) and claim.invariant is not None:
                claims.setdefault(label("claim", family, claim.name), (family, protocol, claim))
        for lemma_claim in protocol.lemma_claims:
            if id in lemma_claim.cites:
                claims.setdefault(label("claim", family, lemma_claim.name), (family, protocol, lemma_claim))
        for live in protocol.liveness:
            if live.requirement == id:
                claims.setdefault(label("liveness", family, live.name), (family, protocol, live))
        assumed |= {f"axiom {axiom.name}": None for axiom in protocol.axioms if axiom.assumption == id}
        if any(each.id == id and each.built_in for each in protocol.assumptions):
            assumed["the shape of every step"] = None
    tests, places = ran.of(need_id(family, id)), tuple((code or {}).get(id, ()))
    return Case(family, requirement, steps, claims, tests, places, tuple(assumed), code is not None)


def refuse_gaps(found: Iterable[Case]) -> None:
    """Refuse a case that lacks something. Raises SpecificationError with every gap, one to a line."""
    gaps = [f"{case.id}: {gap}" for case in found for gap in case.gaps]
    if gaps:
        raise SpecificationError("\n".join(["the assurance case has gaps:", *gaps]))


def places(families: Sequence[Family], results: Iterable[Recorded]) -> Places:
    """Return where in code each requirement is enforced.

    The places are read from the lines that cite requirements and defences. A claim follows from many of them together;
    it has the places of the defences that its proofs use, as the recorded runs say.
    """
    lines = citations.places(each for family in families for each in citations.citations(family.id))
    found = {id: dict.fromkeys(each) for id, each in lines.items()}
    stated = {
        (family.id, claim.name): re.findall(r"[A-Z0-9-]+", claim.requirement)
        for family in families
        for name in family.with_layers(family.main)
        for claim in family.draft_of(name).whole().claims
    }
    for row in (row for run in results for row in run["results"]):
        for id in stated.get((row["protocol"], row["claim"]), ()):
            defended = (place for defence in row.get("defences", ()) for place in lines[defence])
            found.setdefault(id, {}).update(dict.fromkeys(defended))
    return {id: tuple(each) for id, each in found.items()}


def assurance(
    families: Sequence[Family], found: Sequence[Case], attacks: Sequence[Recorded], ran: TestRun
) -> dict[str, str]:
    """Return the pages of the assurance case, by path."""
    pages = {
        "assurance.md": page(
            "# Assurance case",
            "Why the claims may be believed: what each requirement is proved, tested and enforced by, what was tried "
            "against it, and what all of it rests on. A requirement without a sentence, an obligation, a test that "
            "passed or an enforcing place ends the build of these pages.",
            *_by_protocol(families, found, matrix),
            "```{toctree}\n:hidden:\n\nassurance/requirements\nassurance/evidence\nassurance/tests\nassurance/attacks\nassurance/gallery\nassurance/accounts\nassurance/mended\nassurance/agreement\nassurance/mutants\nassurance/proofs\n```",
        ),
        "assurance/requirements.md": page("# Requirements and their evidence", *_by_protocol(families, found, _needs)),
        "assurance/evidence.md": page(
            "# Obligations and places",
            "What the requirements link to, each with the requirements that link to it.",
            _obligations(found),
            _code(found),
        ),
        "assurance/tests.md": page("# Tests that verify requirements", _fresh(families, ran), _tests(ran)),
        "assurance/attacks.md": _attacks(families, attacks),
    }
    return {path: text.rstrip() + "\n" for path, text in pages.items()}


def _by_protocol(
    families: Sequence[Family], found: Sequence[Case], lines: Callable[[Iterable[Case]], Lines]
) -> Iterator[Lines]:
    for family in families:
        yield iter([f"## {prose(family.title)}", ""])
        yield lines([case for case in found if case.family == family.id])  # a list: pages are written after this loop


# -- requirements -----------------------------------------------------------------------------------------------------


def _needs(found: Iterable[Case]) -> Lines:
    for case in found:
        yield from _need(case)


def _need(case: Case) -> Lines:
    requirement = case.requirement
    kind = "assumption" if requirement.level is Level.ASSUMPTION else "req"
    links = {
        "proved": [*case.steps, *case.claims],
        "enforced": [label("code", place) for place in case.code],
    }
    yield from (f"```{{{kind}}} {requirement.id}", f":id: {case.id}")
    yield from () if case.built else (f":status: {NOT_IMPLEMENTED}",)
    yield from (f":{name}: {', '.join(ids)}" for name, ids in links.items() if ids)
    yield from ("", prose(requirement.sentence), "", f"Source: {linked(requirement.source)}.")
    if not case.main and case.variants:
        designs = ", ".join(map(code, case.variants))
        yield from ("", f"The reference implementation does not have it: no main variant asks for it, but {designs}.")
    if case.slow:
        yield from ("", f"Verified by slow tests, which no recorded run has: {', '.join(map(code, case.slow))}.")
    if case.assumed:
        yield from ("", f"Assumed in: {prose(', '.join(case.assumed))}.")
    yield from ("```", "")


# -- what they link to ------------------------------------------------------------------------------------------------


def _obligations(found: Iterable[Case]) -> Lines:
    yield from ("## Proof obligations", "")
    steps: dict[str, dict[str, tuple[str, Protocol, Action]]] = {}
    for case in found:
        for id, each in case.steps.items():
            steps.setdefault(id, {})[each[1].variant] = each
    for id, variants in sorted(steps.items()):
        cited_in = [each for _, each in sorted(variants.items())]  # a layer after what it is over
        family, protocol, action = cited_in[0]
        counts = (f"{len(other.invariants)} invariants of {code(other.variant)}" for _, other, _ in cited_in)
        said = f"`step/{action.name}/…`: the step preserves each of the {' and the '.join(counts)}."
        yield from _plain("obligation", id, f"step {action.name}", said, _of(family, protocol))
    claims = {id: each for case in found for id, each in case.claims.items()}
    for id, (family, protocol, claim) in sorted(claims.items()):
        yield from _plain("obligation", id, f"claim {claim.name}", _obliged(protocol, claim), _of(family, protocol))


def _obliged(protocol: Protocol, claim: Stated) -> str:
    if isinstance(claim, Eventually):
        return f"Its waiting goes on or ends so, and fair steps end it: {', '.join(map(code, fair_steps(claim)))}."
    if isinstance(claim, LemmaClaim):
        needed = ", ".join(code(each.name) for each in claim.hypotheses)
        return f"Every case of each means, and a case in which it fails without each of {needed}."
    steps = f"it holds at first, and each of {len(protocol.actions)} steps preserves it"
    return f"`init/{claim.name}` and `step/…/{claim.name}`: {steps}."


def _of(family: str, protocol: Protocol) -> str:
    return f"In {code(family)}, variant {code(protocol.variant)} first; every other variant has its own."


def _fresh(families: Sequence[Family], ran: TestRun) -> Lines:
    yield from ("Read from the JUnit report of a recorded run, in which each test names what it verifies.", "")
    yield from ("```sh", "python -m docs._ext.carnet_pages.records make tests", "```", "")
    for family in families:
        for name in family.with_layers(family.main):
            yield from (
                f"{prose(family.id)}, variant {code(name)}:",
                "",
                freshness(ran.digests.get(f"{family.id}/{name}"), family.digest(name)),
                "",
            )


def _tests(ran: TestRun) -> Lines:
    for case in ran.cases:
        yield from (
            f"```{{test-case}} {prose(case.title)}",
            f":id: {case.id}",
            f":file: {JUNIT}",
            f":suite: {case.suite}",
        )
        yield from (f":classname: {case.classname}", f":case: {case.name}", ":collapse: false", "```", "")


def _code(found: Iterable[Case]) -> Lines:
    places = {place: case.family for case in found for place in case.code}
    if places:
        yield from ("## Enforcing places in code", "")
        yield from ("Read from the lines that cite a requirement or a defence, by `carnet_pages/citations.py`.", "")
    for place, protocol in sorted(places.items()):
        said = _lines(protocol, place)
        yield from _plain("place", label("code", place), place.rpartition(".")[2], code(place), *said)


def _lines(protocol: str, place: str) -> Lines:
    """Yield what each line in a place cites, in the order of the lines."""
    cited: dict[tuple[str, int], list[str]] = {}
    for each in citations.citations(protocol):
        if each.place == place:
            cited.setdefault((each.file, each.line), []).append(each.id)
    yield from (f"\n* {code(f'{file}:{line}')}: {', '.join(map(code, ids))}" for (file, line), ids in cited.items())


def _plain(kind: str, id: str, title: str, *said: str) -> Lines:
    yield from (f"```{{{kind}}} {title}", f":id: {id}", "", *said, "```", "")


# -- attacks ----------------------------------------------------------------------------------------------------------


def _attacks(families: Sequence[Family], attacks: Sequence[Recorded]) -> str:
    current = {(family.id, name): family for family in families for name in family.variants}
    titles = {(family.id, each.id): each.title for family in families for each in family.protocol().defences}
    titles |= {(family.id, each.id): each.title for family in families for each in family.findings}
    rows = {known: [run for run in attacks if bool(run["finding"]) is known] for known in (False, True)}
    head = ["what", "what follows", "how long", "specification"]
    return page(
        "# Attacks considered, and what stops each",
        "Each defence was taken away by itself, under collusion unless it says otherwise. An attack that follows is "
        "what the defence stops; *redundant* means that every claim is still proved without it. "
        "`carnet attack PROTOCOL --without NAME` repeats a row, and `carnet explain NAME` says where a defence stands.",
        table(["without", *head[1:]], (_run(run, titles, current) for run in rows[False])),
        ["## Findings", "", "Attacks on designs with a weakness, each found again by its command.", ""],
        table(head, (_run(run, titles, current) for run in rows[True])),
    )


_OUTCOMES = {"PROVED": "redundant", "UNKNOWN": "**not decided**"}


def _run(run: Recorded, titles: Mapping[tuple[str, str], str], current: Mapping[tuple[str, str], Family]) -> list[str]:
    name = run["finding"] or ", ".join(run["removed"])
    told = [code(name), prose(titles.get((run["protocol"], name), ""))]
    told += [code(run["rerun"])] if run["finding"] else []
    follows = _OUTCOMES.get(run["verdict"]) or f"{prose(run['claim'])} falls under {prose(run['threat'])}"
    family = current.get((run["protocol"], run["variant"]))
    now = family.digest(run["variant"], tuple(run["removed"])) if family else ""
    then = code(run["digest"][:12])
    fresh = then if now == run["digest"] else f"**stale**, the run was about {then}"
    return ["<br>".join(told), follows, prose(run["detail"]), fresh]


# --------------------------------------------------------------------------------------------------
# The matrix of the assurance case: for each requirement the names of what proves, verifies and enforces it.


#: The status of what no reference implementation is of: another protocol, or a design that is only specified.
NOT_IMPLEMENTED = "not implemented"
SHOWN = 2  #: So many names are shown at once; more are behind their number, which opens.
HEAD = ("requirement", "what it asks", "proved by", "verified by", "enforced in")


def matrix(found: Iterable[Case]) -> Lines:
    """Yield the matrix of the requirements of one protocol."""
    yield from table(HEAD, (_row(case) for case in found if case.requirement.level is not Level.ASSUMPTION))


def _row(case: Case) -> Sequence[str]:
    tests = [_link(test.id) for test in case.tests] or [f"{code(_name(test))} (slow)" for test in case.slow]
    places = [_link(label("code", place)) for place in case.code]
    return (
        _link(case.id),
        prose(case.requirement.sentence),
        _names([_link(id) for id in (*case.steps, *case.claims)], "steps and claims"),
        _names(tests, "tests"),
        _names(places, "places") if case.built else NOT_IMPLEMENTED,
    )


def _link(id: str) -> str:
    return f"{{need}}`{id}`"


def _name(test: str) -> str:
    """Return a test's own name, without its file."""
    return test.rpartition("::")[2]


def _names(names: Sequence[str], what: str) -> str:
    """Return the names in a cell; if there are many, behind how many they are."""
    listed = "<br>".join(names)
    return listed if len(names) <= SHOWN else f"<details><summary>{len(names)} {what}</summary>{listed}</details>"
