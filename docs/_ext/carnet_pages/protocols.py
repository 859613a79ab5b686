"""The pages about one protocol, made from what is checked."""

import json
import pkgutil
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from carnet_spec import language, protocols
from carnet_spec.language import Family, Service
from carnet_spec.language.notation import show
from carnet_spec.language.printing import fair_steps, show_guard, show_initial, show_signature, show_symbol, show_update
from carnet_spec.language.requirements import OPENING
from carnet_spec.language.terms import Exists

from .claim_pages import FOLDER, claims_of
from .defences import map_link
from .diagrams import Flow, course, flows, kept, phases, schedule
from .knowledge import knowledge
from .markdown import Lines, code, contents, formula, indexed, label, page, prose, table
from .sources import linked, with_links
from .verdicts import freshness

KINDS = {
    language.Kind.PUBLIC: "published, never changes",
    language.Kind.STATE: "own state",
    language.Kind.MESSAGE: "message or evidence",
    language.Kind.TRUTH: "fact of the world",
    language.Kind.GHOST: "history, for the claims alone",
    language.Kind.KNOWLEDGE: "knowledge",
}


class ProtocolPages:
    """One registered protocol: its first main variant whole, and what differs in the others."""

    def __init__(self, family: language.Family, run: Mapping[str, Any] | None = None) -> None:
        self.family = family
        self.run = run
        """A recorded run, of which the messages are drawn."""
        self.name = prose(family.title.partition(":")[0])
        self.known = frozenset(family.text.requirements())
        self.main = family.with_layers(family.main)
        self.drafts = {name: family.draft_of(name).whole() for name in self.main}
        self.protocol = self.drafts[family.main[0]]
        self.layers = [self.drafts[name] for name in family.with_layers(family.main[:1])[1:]]
        """What is superposed on the first main variant."""

    def overview(self) -> str:
        """Return the page that opens the protocol."""
        text, map_of = (
            ["Requirements <requirements>"] if self.family.text.text else [],
            ["defences"] if self.protocol.defences else [],
        )
        return page(
            f"({label(self.family.id)})=",
            f"# {prose(self.family.title)}",
            contents(["claimed", *text, "diagrams", "state", "actions", "claims", *map_of]),
            self._parties(),
            self._threats(),
            self._assumptions(),
            self._defences(),
            self._variants(),
            services(self.family),
            self._findings(),
            measured(self.family),
            self._digests(),
        )

    def requirements(self) -> str:
        """Return the normative text, with a name for every sentence that references find."""

        def named(found: re.Match[str]) -> str:
            return f"\n{indexed(found['id'])}\n({self._sentence(found['id'])})=\n**{found['id']}**{found['rest']}"

        return re.sub(r"\n{3,}", "\n\n", with_links(OPENING.sub(named, self.family.text.text)))

    def diagrams(self) -> str:
        """Return the page of phases, messages and key schedules, with drawings."""
        protocol = self.family.protocol(self.family.main[0])
        schedules = self._schedules()
        return page(
            f"# Phases, messages and keys of {self.name}",
            ["## Phases", "", "Each arrow is a step; {doc}`actions` has its guards.", ""],
            phases(protocol),
            ["## Messages", ""],
            table(["step", "from", "to", "message"], self._messages(protocol)),
            self._course(),
            self._knowledge(),
            ["## Key schedules", "", "Which secret opens which; the arrows are rules of the adversary.", ""]
            if schedules
            else [],
            *(self._schedule(*group) for group in schedules),
        )

    def state(self) -> str:
        """Return the page of symbols."""
        return page(
            f"# State of {self.name}",
            "Who may read a symbol follows from its kind: an honest party decides by what is published, what was sent "
            "or shown to it, and what it keeps itself.",
            *(self._symbols(kind) for kind in language.Kind),
            ["## At first", "", "Relations hold of nothing, but for these values.", ""],
            [f"* {code(show_initial(initial))}" for initial in self._whole("initial")],
        )

    def actions(self) -> str:
        """Return the page of actions and rules, by party."""
        parts: list[Iterable[str]] = []
        for role in self._roles():
            own = [action for action in self.protocol.actions if action.by == role]
            if own:
                parts.append([f"## {prose(role.name)}", ""])
                parts += [self._action(action, self.family.main[0]) for action in own]
        shown = list(self.protocol.actions)
        for name in self.main[1:]:
            others = [action for action in self.drafts[name].actions if action not in shown]
            if others:
                parts.append([f"## In variant {prose(name)} instead", ""])
                parts += [self._action(action, name) for action in others]
                shown += others
        return page(
            f"# Actions of {self.name}",
            "All guards and updates read the state before the step; what is not mentioned stays as it was. A *rule* "
            "only adds facts, and is taken as soon as it can be.",
            *parts,
        )

    def claims(self) -> str:
        """Return the page of claims, goals and lemmas."""
        claims = self._whole("claims")
        threats = [threat.id for threat in self.protocol.threats]
        return page(
            f"# Claims of {self.name}",
            "For any number of agents, keys, messages and rounds. ✓ is claimed, ✗ is expected to fall.",
            table(
                ["claim", *threats],
                ([self._claim_link(c.name), *(self._under(c, id) for id in threats)] for c in claims),
            ),
            *(self._claim(claim) for claim in claims),
            *(self._lemma_claim(claim) for claim in self._whole("lemma_claims")),
            self._goals(),
            self._liveness(),
            ["## Lemmas", "", "Invariants that the proofs of the claims rest on; they are proved, too.", ""],
            *(self._lemma(lemma) for lemma in self._whole("lemmas")),
            [
                "## Each claim by itself",
                "",
                "What was established of it, what that rests on, and what makes it fall:",
                "",
            ],
            contents(f"{FOLDER}/{name}" for name in claims_of(self.family)),
        )

    def _whole(self, what: str) -> list[Any]:
        """Return the parts of one kind, of the first main variant and then of the layers over it."""
        parts = (part for draft in (self.protocol, *self.layers) for part in getattr(draft, what))
        return list(dict.fromkeys(parts))

    # -- parts of pages

    def _messages(self, protocol: language.Protocol) -> Iterator[list[str]]:
        for action in protocol.actions:
            route, _, said = action.message.partition(": ")
            sender, arrow, receiver = route.partition(" -> ")
            if arrow:
                yield [self._action_link(action), prose(sender), prose(receiver), prose(said)]

    def _course(self) -> Lines:
        if self.run:
            yield from (f"### One round, as it was found: {prose(self.run['goal'])}", "")
            now = self.family.digest(self.run["variant"])
            yield from (freshness(self.run["digest"], now), "")
            yield from course(self.run)

    def _knowledge(self) -> Lines:
        if self.run and self.run.get("knowers"):
            yield from ("### Who knows what, step by step", "")
            yield from (f"The same run. Secrets are counted, of these parties: {', '.join(self.run['knowers'])}.", "")
            yield from knowledge(self.run)

    def _schedules(self) -> list[tuple[list[str], list[Flow], list[tuple[str, str]]]]:
        """Return the variants that have secrets opened by the same rules, each group with these rules.

        Variants in which a secret stays, where others draw a new one, are a group of their own.
        """
        found: dict[object, tuple[list[str], list[Flow], list[tuple[str, str]]]] = {}
        for name in self.family.variants:
            protocol = self.family.protocol(name)
            opened = flows(protocol)
            stays = kept(protocol, {flow.target for flow in opened})
            same = (*((flow.source, flow.target, flow.rule.name) for flow in opened), *stays)
            found.setdefault(same, ([], opened, stays))[0].append(name)
        return [group for group in found.values() if group[1]]

    def _schedule(self, names: list[str], found: list[Flow], stays: list[tuple[str, str]]) -> Lines:
        first, *others = names
        yield from (f"### {prose(first)}", "", f"{prose(self.family.variants[first].title)}.", "")
        if others:
            yield from (f"The same rules: {', '.join(map(code, others))}.", "")
        yield from schedule(first, found)
        yield from (f"* {code(flow.rule.name)}: {prose(flow.rule.says)}" for flow in found)
        yield from (f"* {code(short)} in place of {code(step)}: the key stays" for short, step in stays)
        yield ""

    def _digests(self) -> Lines:
        yield from ("## Digests", "", "Two specifications have one digest exactly if they say the same.", "")
        yield from table(["design", "digest"], ([code(name), code(self.family.digest(name))] for name in self.main))

    def _parties(self) -> Lines:
        yield from ("## Parties and sorts", "")
        yield from table(["party", "follows the protocol", "steps"], (self._party(role) for role in self._roles()))
        sorts = ([code(sort.name), self._elements(sort)] for sort in self._whole("sorts"))
        yield from table(["sort", "elements"], sorts)

    def _threats(self) -> Lines:
        yield from ("## Threat models", "", "Each says who may be corrupt; nothing else changes.", "")
        for threat in self.protocol.threats:
            yield from (prose(threat.id), f": {prose(threat.title)}", "")
            for axiom in threat.axioms:
                yield from (f"  {code(show(axiom.formula))}", "")

    def _assumptions(self) -> Lines:
        protocol = self.protocol
        yield from ("## Assumptions", "")
        rows = ([self._cite(assumption.id), prose(assumption.sentence)] for assumption in protocol.assumptions)
        yield from table(["id", "what is taken for granted"], rows)
        axioms = (
            [prose(axiom.name), code(show(axiom.formula)), self._cite(axiom.assumption), prose(axiom.says)]
            for axiom in self._whole("axioms")
        )
        yield from table(["axiom", "formula", "assumption", "meaning"], axioms)

    def _defences(self) -> Lines:
        yield from ("## Defences", "", "Each is a set of guards and updates that can be switched off together.", "")
        yield from map_link(self.family)
        yield from table(["defence", "what it does", "consists of"], map(self._defence, self.protocol.defences))

    def _variants(self) -> Lines:
        yield from ("## Variants", "")
        yield from table(["variant", "design choice", "label", "without"], map(self._variant, self.family.variants))

    def _findings(self) -> Lines:
        if self.family.findings:
            yield from ("## Findings", "", "Attacks that `carnet attack` finds again.", "")
        head = ["finding", "what happens", "about", "claim that falls", "under", "in variant", "without"]
        yield from table(head, map(self._finding, self.family.findings))

    def _finding(self, finding: language.Finding) -> list[str]:
        variant, without = finding.variant or self.family.main[0], ", ".join(finding.without)
        return [
            code(finding.id),
            prose(finding.title),
            prose(finding.about),
            self._claim_link(finding.claim),
            finding.threat,
            variant,
            without,
        ]

    def _goals(self) -> Lines:
        goals = self._whole("goals")
        if goals:
            yield from ("## Goals", "", "What must be reachable, or all claims would be empty.", "")
        for goal in goals:
            yield from (f"### {prose(goal.name)}", "", prose(goal.sentence), "")
            yield from formula(Exists(goal.params, goal.body) if goal.params else goal.body)

    def _liveness(self) -> Lines:
        if self.protocol.liveness:
            yield from (
                "## Liveness",
                "",
                "What happens in the end, if the actions that are named are taken fairly; claims do not rest on it.",
                "",
            )
        for live in self.protocol.liveness:
            fair = f", if taken fairly: {', '.join(map(code, fair_steps(live)))}" if live.fair else ""
            told = f"Whenever {code(show(live.trigger))}, later {code(show(live.response))}{fair}."
            yield from (f"### {prose(live.name)}", "", prose(live.sentence), "", told, "")

    def _roles(self) -> list[language.Role]:
        kept = (symbol.role for symbol in self.protocol.symbols if symbol.role)
        return list(dict.fromkeys([*(action.by for action in self.protocol.actions), *kept]))

    def _party(self, role: language.Role) -> list[str]:
        steps = (self._action_link(action) for action in self.protocol.actions if action.by == role)
        return [prose(role.name), "yes" if role.honest else "no", ", ".join(steps)]

    def _elements(self, sort: language.Sort) -> str:
        if sort.members is not None:
            return ", ".join(code(name) for name in sort.members)
        return "any number, drawn fresh" if sort.fresh else "any number"

    def _defence(self, defence: language.Defence) -> list[str]:
        parts: list[str] = []
        for name in self.family.with_layers(self.family.main[:1]):
            for action in self.drafts[name].actions:
                if action.shortcut_of == defence.id:
                    parts.append(f"no {self._action_link(action, name)}")
                tagged: tuple[language.Guard | language.Update, ...] = action.guards + action.updates
                for part in tagged:
                    if defence.id in (part.defence, part.unless):
                        absent = "not " if part.unless == defence.id else ""
                        parts.append(f"{self._action_link(action, name)}: {absent}{prose(part.name)}")
            if parts:
                break
        return [code(defence.id), prose(defence.title), "<br>".join(parts)]

    def _variant(self, name: str) -> list[str]:
        variant = self.family.variants[name]
        main = " (main)" if name in self.family.main else f" (layer over {code(variant.over)})" if variant.over else ""
        return [code(name) + main, prose(variant.title), prose(variant.label), ", ".join(variant.without)]

    def _symbols(self, kind: language.Kind) -> Lines:
        chosen = [symbol for symbol in self._whole("symbols") if symbol.kind is kind]
        if chosen:
            yield from (f"## {KINDS[kind].capitalize()}", "")
            yield from table(["symbol", "whose", "changes", "meaning"], (self._symbol(symbol) for symbol in chosen))

    def _symbol(self, symbol: language.Symbol) -> list[str]:
        whose = prose(symbol.role.name) if symbol.role else ""
        return [code(show_symbol(symbol)), whose, "yes" if symbol.mutable else "no", prose(symbol.says)]

    def _action(self, action: language.Action, variant: str) -> Lines:
        of_variant = "" if variant == self.family.main[0] else variant
        yield from (f"({label(self.family.id, of_variant, 'action', action.name)})=", f"### {prose(action.name)}", "")
        kind = "rule" if action.deduction else "action"
        yield from (f"{kind} {code(show_signature(action))}", "", f"{prose(action.says).rstrip('.')}.", "")
        if action.why:
            yield from (f"*Why:* {prose(action.why)}", "")
        parts = [*map(self._guard, action.guards), *map(self._update, action.updates)]
        yield from table(["part", "name", "what", "defence"], parts)
        if action.message:
            yield from (f"*Message:* {prose(action.message)}", "")
        yield from (f"({'; '.join(self._notes(action))})", "")

    def _notes(self, action: language.Action) -> Lines:
        yield f"source: {linked(action.source)}"
        if action.enforces:
            yield f"enforces {', '.join(map(self._cite, action.enforces))}"
        if action.shortcut_of:
            yield f"exists only without {code(action.shortcut_of)}"
        if action.cost:
            yield f"counts {action.cost} against an adversary's budget"

    def _guard(self, guard: language.Guard) -> list[str]:
        return [guard.kind.value, prose(guard.name), code(show_guard(guard)), self._tag(guard)]

    def _update(self, update: language.Update) -> list[str]:
        return ["update", prose(update.name), code(show_update(update)), self._tag(update)]

    def _tag(self, part: language.Guard | language.Update) -> str:
        tags = [code(part.defence)] if part.defence else []
        tags += [f"only without {code(part.unless)}"] if part.unless else []
        return ", ".join(tags)

    def _claim(self, claim: language.Claim) -> Lines:
        yield from (f"({label(self.family.id, 'claim', claim.name)})=", f"## {prose(claim.name)}", "")
        yield from (prose(claim.sentence), "")
        if claim.invariant is None:
            yield from ("Declared: it belongs to a layer that is not built yet, and counts as nothing.", "")
        else:
            yield from formula(claim.invariant.formula)
        ids = [self._cite(id) for id in re.split(r"[,;\s]+", claim.requirement) if id]
        yield from (f"(states {', '.join(ids)}; source: {linked(claim.source)})", "")

    def _lemma_claim(self, claim: language.LemmaClaim) -> Lines:
        yield from (f"({label(self.family.id, 'claim', claim.name)})=", f"## {prose(claim.name)}", "")
        yield from (prose(claim.sentence), "", f"A lemma claim, made under {', '.join(map(prose, claim.under))}.", "")
        links = [self._claim_link(name) for name in claim.theorems]
        means = [[prose(each.means), prose(each.over)] for each in claim.examinations]
        yield from table(["means", "what it goes through"], [*means, *(["proof", each] for each in links)])
        rows = [
            [code(each.name), prose(each.sentence), self._counterexamples(claim, each.name)]
            for each in claim.hypotheses
        ]
        yield from table(["hypothesis", "what it says", "smallest case without it"], rows)
        yield from (f"(states {self._cite(claim.requirement)}; source: {linked(claim.source)})", "")

    def _counterexamples(self, claim: language.LemmaClaim, hypothesis: str) -> str:
        """Return the first case of each means in which the claim fails without a hypothesis."""
        examined = (each.cases(hypothesis) for each in claim.examinations if hypothesis in each.needs)
        return "<br>".join(prose(next(case.words for case in cases if not case.holds)) for cases in examined)

    def _under(self, claim: language.Claim, threat: str) -> str:
        if threat in claim.fails_under:
            return "✗"
        return ("declared" if claim.invariant is None else "✓") if threat in claim.under else ""

    def _lemma(self, lemma: language.Invariant) -> Lines:
        under = f" (under {', '.join(lemma.under)})" if lemma.under else ""
        yield from (f"### {prose(lemma.name)}{under}", "", prose(lemma.says), "", *formula(lemma.formula))

    def _cite(self, id: str) -> str:
        return f"{{ref}}`{id} <{self._sentence(id)}>`" if id in self.known else prose(id)

    def _sentence(self, id: str) -> str:
        """Return the label of a normative sentence: a claim and its sentence may have one name."""
        return label(self.family.id, "requirement", id)

    def _action_link(self, action: language.Action, variant: str = "") -> str:
        of_variant = "" if variant == self.family.main[0] else variant
        return f"{{ref}}`{action.name} <{label(self.family.id, of_variant, 'action', action.name)}>`"

    def _claim_link(self, name: str) -> str:
        return f"{{ref}}`{name} <{label(self.family.id, 'claim', name)}>`"


# --------------------------------------------------------------------------------------------------
# What each variant of a protocol asks of parts that nobody can change, in one table.


def services(family: Family) -> Lines:
    """Yield the services with their sources, and then, variant by variant, which are needed and how much is known."""
    if not family.services:
        return
    kinds = list(dict.fromkeys(service.available for service in family.services))
    yield from (f"({label(family.id, 'services')})=", "## Services that variants need", "")
    yield from table(["service", "what it does", "in the public driver", "where"], map(_service, family.services))
    yield from ("What each variant needs of them, by what the public driver has:", "")
    yield from table(["variant", "label", *kinds], _variants(family, kinds))


def _service(service: Service) -> Sequence[str]:
    return code(service.id), prose(service.title), prose(service.available), linked(service.where)


def _variants(family: Family, kinds: Sequence[str]) -> Iterator[Sequence[str]]:
    for name, variant in family.variants.items():
        needed = [service for service in family.services if name in service.needed_by]
        by_kind = (", ".join(code(each.id) for each in needed if each.available == kind) for kind in kinds)
        yield code(name), prose(variant.label), *by_kind


# --------------------------------------------------------------------------------------------------
# What the authors of a published system measured, beside what Carnet makes of it.
#
# ``sources.toml`` beside a protocol's text says both under ``[measured]``: the ``table`` of ``carnet datapath`` with
# its figures, if there is one, and each further ``figure``, with what stands for it ``here``, or a function that
# returns that (``computed = "module:function"``).


TABLES = Path(__file__).parents[2] / "results" / "datapath"


def measured(family: Family) -> Lines:
    """Return the section of a protocol's page, or nothing where nobody measured anything."""
    file = Path(protocols.__path__[0]) / family.id.replace("-", "_") / "sources.toml"
    said: dict[str, Any] = tomllib.loads(file.read_text("utf-8")).get("measured", {}) if file.exists() else {}
    rows = [
        *_measured_rows(said.get("table", "")),
        *map(_figure, said.get("figure", ())),
    ]
    if rows:
        yield from ("## Measured by its authors, and here", "")
        yield from table(["figure", "published", "here"], ([*map(prose, row)] for row in rows))
    if "table" in said:
        command = code(f"carnet datapath --table {said['table']}")
        yield from (f"{command} computes the figures; {{doc}}`/datapath` says which were fitted.", "")


def _figure(said: dict[str, str]) -> list[str]:
    here = said["here"] if "here" in said else pkgutil.resolve_name(f"{__package__}.{said['computed']}")()
    return [said["what"], said["published"], here]


def _measured_rows(name: str) -> Iterator[list[str]]:
    """Yield the rows of a table as it was recorded, with the part that each figure has in it."""
    if name:
        for row in json.loads((TABLES / f"{name}.json").read_text("utf-8"))["rows"]:
            here = "not computed" if row["reproduced"] is None else f"{row['reproduced']:.4g} ({row['role']})"
            unit = "" if row["unit"] == "1" else f", {row['unit']}"
            yield [f"{row['name']}{unit}", f"{row['published']:.4g}", here]
