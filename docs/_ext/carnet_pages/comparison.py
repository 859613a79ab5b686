"""The page that compares all systems: who sees what, who is trusted for what, what stands, and what it costs.

Everything comes from the specifications (views, threat models, claims, assumptions), from recorded verdicts, and from
the data path.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from html import escape
from typing import Any

from carnet_command.text import plural
from carnet_spec.language import Claim, Family, LemmaClaim, PartyKind, PartyView, Protocol, Threat, Visibility

from .markdown import Lines, code, label, page, prose, table
from .transfer_costs import BUFFER, CHUNK, NETWORK_RATE, WAYS, TransferCost, WayOfData, cost_of

Values = Mapping[str, Any]
PAGE = "comparison.md"


class ClaimStatus(Enum):
    """What is recorded of a claim, the worst first."""

    FALLS = "falls"
    OPEN = "open"
    STALE = "stale"
    COUNTED = "counted"
    PROVED = "proved"


_MEANINGS = {
    ClaimStatus.PROVED: "for any number of everything",
    ClaimStatus.COUNTED: "all cases that were gone through, up to a size that the page of the claims names",
    ClaimStatus.STALE: "the specification has changed since the run",
    ClaimStatus.OPEN: "no recorded run decided it",
    ClaimStatus.FALLS: "an attack is known",
}


@dataclass(frozen=True)
class System:
    """A registered protocol in its first main variant, with the layers over it, and the rows recorded of it."""

    family: Family
    runs: Sequence[Values]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.family.title.partition(":")[0]

    @cached_property
    def designs(self) -> list[Protocol]:
        """The main variant, and the layers over it."""
        return [self.family.protocol(name) for name in self.family.with_layers(self.family.main[:1])]

    @property
    def threats(self) -> tuple[Threat, ...]:
        """The threat models of the main variant."""
        return self.designs[0].threats

    @cached_property
    def claims(self) -> dict[str, Claim | LemmaClaim]:
        """What is claimed, by name; what is only declared is left out."""
        found: dict[str, Claim | LemmaClaim] = {}
        for design in self.designs:
            stated = (claim for claim in design.claims if claim.invariant is not None)
            every: tuple[Claim | LemmaClaim, ...] = (*stated, *design.lemma_claims)
            found |= {claim.name: claim for claim in every}
        return found

    @cached_property
    def rows(self) -> list[tuple[Values, bool]]:
        """The recorded rows about these designs, and whether each is about what they are now."""
        names = self.family.with_layers(self.family.main[:1])
        return [
            (row, run["run"]["spec_digests"].get(row["variant"]) == self.family.digest(row["variant"]))
            for run in self.runs
            for row in run["results"]
            if row["protocol"] == self.family.id and row["variant"] in names
        ]

    def under(self, name: str, threat: str) -> ClaimStatus | None:
        """Return what stands of a claim under a threat model; nothing where nothing is claimed."""
        claim = self.claims[name]
        fails = claim.fails_under if isinstance(claim, Claim) else ()
        if threat not in (*claim.under, *fails):
            return None
        found = [(row, now) for row, now in self.rows if (row["claim"], row["threat"]) == (name, threat)]
        verdicts = {row["verdict"] for row, _ in found}
        if "VIOLATED" in verdicts:
            return ClaimStatus.FALLS
        if not found or verdicts - {"PROVED", "EXHAUSTED"}:
            return ClaimStatus.OPEN
        if not all(now for _, now in found):
            return ClaimStatus.STALE
        return ClaimStatus.PROVED if "PROVED" in verdicts else ClaimStatus.COUNTED

    def status(self, name: str) -> ClaimStatus:
        """Return the worst of what stands of a claim, under any threat model under which it is claimed."""
        found = [each for threat in self.threats if (each := self.under(name, threat.id))]
        return worst(found)

    def view(self, kind: PartyKind) -> PartyView | None:
        """Return what is declared of a kind of party."""
        return next((view for view in self.family.views if view.kind is kind), None)

    def limits(self, view: PartyView) -> ClaimStatus | None:
        """Return what stands of the claims that a party sees no more; nothing where there is none."""
        return worst(self.status(name) for name in view.limited_by) if view.limited_by else None


def worst(found: Iterable[ClaimStatus]) -> ClaimStatus:
    """Return the worst of these, open if there are none."""
    return min(found, key=list(ClaimStatus).index, default=ClaimStatus.OPEN)


_ABOUT = (
    "Each row is a system in its main design. A cell says what such a party sees of an honest party's data. Below it "
    "stands what is recorded of the claims that it sees no more, and whether it is trusted for something. A name leads "
    "to the details."
)
_TRUSTED = (
    "A claim counts under the worst of its threat models. *Trusted*: the design relies on this party for something. A "
    "dash: the design has no such party, or does not speak of it."
)
_COSTS = (
    f"A buffer of {BUFFER} in chunks of {CHUNK}, on a network of {NETWORK_RATE}, on its way to where it is computed "
    "on. {doc}`/datapath` has the figures and their sources; the two times in brackets are at the cheapest and at the "
    "dearest edge of every figure. The time is that of moving and sealing. Computing, blinding, coding and checking "
    "are not in it: what they cost is not published. So a system with little to move need not be fast."
)
_MEASURED = (
    "What each system's authors measured, and what Carnet makes of it, is on the page of the system, where they said "
    "something. {doc}`/privacy/asymml` and {doc}`/coding` have what was measured of computing, splitting and checking."
)


def comparison(families: Sequence[Family], results: Mapping[str, Any], ways: Mapping[str, WayOfData] = WAYS) -> str:
    """Return the page."""
    systems = [System(family, list(results.values())) for family in families]
    return page(
        f"({label('comparison')})=",
        "# Systems side by side",
        _ABOUT,
        ["```{raw} html", *picture(systems), "```", ""],
        _legend(),
        _choice(systems),
        _threat_models(systems),
        _costs(systems, ways),
        "## System by system",
        *(_details(system) for system in systems),
    )


# -- the picture ------------------------------------------------------------------------------------------------------


def picture(systems: Sequence[System]) -> Lines:
    """Yield the map as HTML that needs no script: a row for each system, a column for each kind of party."""
    yield '<table class="heat parties">'
    yield "<caption>What each party sees of an honest party's data, and what is recorded of the claims.</caption>"
    heads = "".join(f'<th scope="col"><span>{escape(head)}</span></th>' for head in ("system", *_columns(), "claims"))
    yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for system in systems:
        anchor = label("comparison", system.family.id)
        cells = "".join(_cell(system, system.view(kind)) for kind in PartyKind)
        named = f'<th scope="row"><a href="#{anchor}">{_breakable(system.name)}</a></th>'
        tally = "<br>".join(_tally([system.status(name) for name in system.claims]))
        yield f"<tr>{named}{cells}<td>{tally}</td></tr>"
    yield "</tbody>"
    yield "</table>"


def _breakable(name: str) -> str:
    """Return a name that breaks between its words, also where they are written as one."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", escape(name))


def _columns() -> Iterator[str]:
    return (kind.value for kind in PartyKind)


_SHADES = {Visibility.CLEAR: "fallen-4", Visibility.RESULT: "fallen-2", Visibility.NOISED: "fallen-1"}


def _cell(system: System, view: PartyView | None) -> str:
    if view is None:
        return "<td>–</td>"
    limits = system.limits(view)
    shade = _SHADES.get(view.sees, "stands")
    if view.trusted_for and view.sees is Visibility.CLEAR:
        shade = "fallen-2"
    if limits in (ClaimStatus.FALLS, ClaimStatus.OPEN, ClaimStatus.STALE):
        shade = "fallen-4"
    said = [limits.value] if limits else []
    said += ["trusted"] if view.trusted_for else []
    small = "".join(f"<br><small>{each}</small>" for each in said)
    title = escape(f"{view.party}: {view.detail}", quote=True)
    return f'<td class="{shade}" title="{title}">{view.sees.value}{small}</td>'


def _tally(found: Collection[ClaimStatus]) -> list[str]:
    """Return how many claims stand in which way, the best first."""
    numbers = {each: list(found).count(each) for each in reversed(ClaimStatus)}
    return [f"{number} {status.value}" for status, number in numbers.items() if number]


def _legend() -> Lines:
    for what, words in (
        ("A party sees", [(each.value, each.meaning) for each in Visibility]),
        ("A claim", [(each.value, _MEANINGS[each]) for each in reversed(ClaimStatus)]),
    ):
        yield from (f"{what}: {'; '.join(f'**{word}** ({meaning})' for word, meaning in words)}.", "")
    yield from (_TRUSTED, "")


# -- what a reader chooses by -----------------------------------------------------------------------------------------


def _choice(systems: Sequence[System]) -> Lines:
    yield from ("## By what you can trust", "")
    yield from table(["if you want", "systems"], ([wish, _named(found)] for wish, found in _wishes(systems)))


def _wishes(systems: Sequence[System]) -> Iterator[tuple[str, list[System]]]:
    def without(kind: PartyKind) -> list[System]:
        return [each for each in systems if (view := each.view(kind)) and not view.trusted_for]

    def blind(kind: PartyKind) -> list[System]:
        found = ((each, each.view(kind)) for each in systems)
        return [each for each, view in found if view and view.sees is not Visibility.CLEAR]

    for kind in (PartyKind.TEE, PartyKind.ACCELERATOR, PartyKind.HOST):
        yield f"to trust no {_singular(kind)} for anything", without(kind)
    yield "to need no TEE of a CPU at all", [each for each in systems if each.view(PartyKind.TEE) is None]
    yield "that accelerators or workers do not see the data themselves", blind(PartyKind.ACCELERATOR)
    yield "that host and network do not see the data themselves", blind(PartyKind.HOST)
    yield (
        "that no more than digests or ciphertext of one shape leaves",
        [each for each in systems if _at_most(each, {Visibility.SHAPE, Visibility.DIGESTS})],
    )
    for status in (ClaimStatus.PROVED, ClaimStatus.COUNTED):
        words = "every claim proved" if status is ClaimStatus.PROVED else "every claim at least counted"
        yield words, [each for each in systems if _all_at_least(each, status)]


def _singular(kind: PartyKind) -> str:
    return {PartyKind.ACCELERATOR: "accelerator or worker", PartyKind.HOST: "host or network"}.get(kind, kind.value)


def _at_most(system: System, allowed: set[Visibility]) -> bool:
    host = system.view(PartyKind.HOST)
    return host is not None and host.sees in allowed


def _all_at_least(system: System, status: ClaimStatus) -> bool:
    order = list(ClaimStatus)
    return all(order.index(system.status(name)) >= order.index(status) for name in system.claims)


def _named(systems: Iterable[System]) -> str:
    return ", ".join(_link(each) for each in systems) or "none"


def _link(system: System) -> str:
    return f"{{ref}}`{system.name} <{label('comparison', system.family.id)}>`"


# -- what stands under which threat model -----------------------------------------------------------------------------


def _threat_models(systems: Sequence[System]) -> Lines:
    yield from ("## What stands under which threat model", "")
    rows = ([_link(each), "<br>".join(_of_threat(each, threat) for threat in each.threats)] for each in systems)
    yield from table(["system", "claims, by threat model"], rows)


def _of_threat(system: System, threat: Threat) -> str:
    """Return how many claims stand under a threat model, and in words what does not."""
    found = {name: status for name in system.claims if (status := system.under(name, threat.id))}
    not_so = (name for name, each in found.items() if each not in (ClaimStatus.PROVED, ClaimStatus.COUNTED))
    told = "".join(
        f" {found[name].value.capitalize()}: {prose(system.claims[name].sentence)} ({_claim_link(system, name)})"
        for name in not_so
    )
    return f"*{prose(threat.id)}*, {prose(threat.title)}: **{', '.join(_tally(found.values()))}**.{told}"


def _claim_link(system: System, name: str) -> str:
    return f"{{ref}}`{name} <{label(system.family.id, 'claim', name)}>`"


# -- what it costs ----------------------------------------------------------------------------------------------------


def _costs(systems: Sequence[System], ways: Mapping[str, WayOfData]) -> Lines:
    yield from ("## What it costs", "", _COSTS, "")
    rows = ([_link(each), *_cost(ways.get(each.family.id))] for each in systems)
    yield from table(["system", "what moves", "bytes", "time"], rows)
    yield from (_MEASURED, "")


def _cost(way: WayOfData | None) -> list[str]:
    if way is None:
        return ["not declared", "", ""]
    if way.lay_out is None:
        return [way.words, "none", "none"]
    cost: TransferCost = cost_of(way.lay_out)
    moved = [f"{_solid(size)} {link}" for link, size in cost.moved.items() if size.octets]
    sealed = [f"{_solid(cost.sealed_on_cpus)} through AES on CPUs"] if cost.sealed_on_cpus.octets else []
    least, nominal, most = map(_solid, (cost.least, cost.nominal, cost.most))
    time = nominal if least == most else f"{nominal} ({least} to {most})"
    return [way.words, "<br>".join(moved + sealed), time]


def _solid(quantity: object) -> str:
    """Return a quantity that no line breaks apart."""
    return str(quantity).replace(" ", "\N{NO-BREAK SPACE}")


# -- system by system -------------------------------------------------------------------------------------------------


def _details(system: System) -> Lines:
    family = system.family
    yield from (f"({label('comparison', family.id)})=", f"### {prose(system.name)}", "")
    yield from (f"{_title(family)}{_whole(family)}", "")
    for view in family.views:
        yield from _party(system, view)
    yield from ("```{raw} html", "<details><summary>Each claim, and what proofs take for granted</summary>", "```", "")
    yield from table(
        ["claim", *(f"{prose(threat.id)}: {prose(threat.title)}" for threat in system.threats)],
        (_claim(system, name) for name in system.claims),
    )
    yield from _assumptions(system)
    yield from ("```{raw} html", "</details>", "```", "")


def _title(family: Family) -> str:
    """Return what the title says beside the name, as a sentence."""
    said = family.title.partition(": ")[2]
    return f"{prose(said[:1].upper() + said[1:])}. " if said else ""


def _whole(family: Family) -> str:
    return f"{{doc}}`The whole specification <{family.id}/index>`."


def _party(system: System, view: PartyView) -> Lines:
    claims = ", ".join(f"{_claim_link(system, name)} ({system.status(name).value})" for name in view.limited_by)
    limits = f"That it sees no more is claimed: {claims}." if claims else "No claim says that it sees no more."
    yield from (f"**{prose(view.party)}** ({view.kind.value})", "")
    yield from (f": Sees *{view.sees.value}*: {prose(view.detail)}. {limits}", "")
    yield from (f"  Trusted for {prose(view.trusted_for) or 'nothing'}.{_assumed(system, view)}", "")


def _assumed(system: System, view: PartyView) -> str:
    if not view.assumed_in:
        return " No assumption says so in words." if view.trusted_for else ""
    return f" Taken for granted: {' '.join(_assumption(system, id) for id in view.assumed_in)}"


def _assumption(system: System, id: str) -> str:
    """Return the sentence of an assumption or of a hypothesis, and the name that leads to it."""
    design = system.designs[0]
    for claim in design.lemma_claims:
        if sentence := next((each.sentence for each in claim.hypotheses if each.name == id), ""):
            where = f"{{ref}}`{id} <{label(system.family.id, 'claim', claim.name)}>`"
            return f"{prose(sentence)} (hypothesis {where} of {prose(claim.name)})"
    (found,) = (each for each in design.assumptions if each.id == id)
    link = f"{{ref}}`{id} <{label(system.family.id, 'requirement', id)}>`" if system.family.text.text else code(id)
    return f"{prose(found.sentence)} ({link})"


def _claim(system: System, name: str) -> list[str]:
    statuses = (system.under(name, threat.id) for threat in system.threats)
    cells = (each.value if each else "" for each in statuses)
    return [f"{_claim_link(system, name)}: {prose(system.claims[name].sentence)}", *cells]


def _assumptions(system: System) -> Lines:
    """Yield what recorded proofs took for granted, and how many claims rest on each assumption."""
    resting: dict[str, set[str]] = {}
    for row, _ in system.rows:
        if row["verdict"] == "PROVED" and row["claim"] in system.claims:
            for id in row.get("assumptions", ()):
                resting.setdefault(id, set()).add(row["claim"])
    known = [each.id for each in system.designs[0].assumptions]
    rows = ([_assumption(system, id), plural(len(resting[id]), "claim")] for id in known if id in resting)
    yield from table(["what proofs take for granted", "proved with it"], rows)
