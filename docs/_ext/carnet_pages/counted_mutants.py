"""What became of every mutant of a specification, as recorded.

The command that a reader would type judges all mutants and pairs. What was found lies in ``FOUND``, where an
interrupted run goes on. It is kept beside the record, too: much of it can be checked again when the specification
changes.
"""

import json
import lzma
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from carnet_check.cache import source_digest
from carnet_check.loading.families import Source, load
from carnet_check.mutation import campaign
from carnet_spec.language import Family

from .markdown import Lines, code, page, prose, table
from .verdicts import freshness

ROOT = Path(__file__).parents[3]
FOUND = ROOT / "docs" / "_build" / "mutants"
NOTICED = ("failed proof", "attack", "lost goal", "lost attack")  #: By what a mutant is killed.
OTHER = ("equivalent", "stronger", "survived")
Recorded = Mapping[str, Any]


# -- the page ---------------------------------------------------------------------------------------------------------


def mutants(families: Sequence[Family], recorded: Mapping[str, Recorded]) -> str:
    """Return the page: how many mutants of each variant were noticed by what, and why others may survive."""
    return page(
        "# Mutants",
        "Every small change to a specification is made, one at a time, and something has to notice each. "
        "{doc}`../../how-to/judge-a-specification-by-mutants` says what the words mean and how it is done.",
        "" if recorded else "No run is recorded.",
        *(_of(family, recorded[family.id]) for family in families if family.id in recorded),
    )


def _of(family: Family, run: Recorded) -> Lines:
    yield from (f"## {prose(family.title)}", "")
    for each in run["variants"]:
        now = family.digest(each["variant"]) if each["variant"] in family.variants else None
        if each["digest"] != now:
            yield from (freshness(each["digest"], now), "")
    yield from table(["variant", "digest", "mutants", *NOTICED, *OTHER], map(_variant, run["variants"]))
    total = sum(sum(each["fates"].values()) for each in run["variants"])
    alone = sum(each["fates"].get("survived", 0) for each in run["variants"])
    said = f"Of {total:,} mutants {alone} survive ({alone / total:.1%}); below is why each may. None is unknown."
    yield from (said, "")
    yield from _pairs(run["pairs"])
    yield from (f"### Survivors of {prose(family.title)} that are argued for", "")
    yield from table(["why", "mutants"], _argued(run["argued"]))


def _variant(each: Recorded) -> tuple[str, ...]:
    fates = each["fates"]
    counts = (sum(fates.values()), *(fates.get(name, 0) for name in (*NOTICED, *OTHER)))
    return (code(each["variant"]), code(each["digest"][:12]), *(f"{count:,}" for count in counts))


def _pairs(pairs: Recorded) -> Lines:
    said = f"Where one part alone can be dropped, {pairs['judged']:,} pairs of parts were dropped together"
    if not pairs["killed"]:
        yield from (f"{said}. None of them is noticed, so there is no minimal cut set of two parts.", "")
        return
    yield from (f"{said}; {len(pairs['killed']):,} of them are noticed, and so are minimal cut sets:", "")
    yield from table(["variant", "minimal cut set"], ((code(variant), code(name)) for variant, name in pairs["killed"]))


def _argued(argued: Sequence[Recorded]) -> Iterator[tuple[str, ...]]:
    for argument in dict.fromkeys(each["argument"] for each in argued):
        same = [f"{each['variant']}: {each['mutant']}" for each in argued if each["argument"] == argument]
        yield prose(argument), "<br>".join(map(code, same))


# -- the record -------------------------------------------------------------------------------------------------------


def judged(family: Family, kept: Path) -> dict[str, Any]:
    """Return what became of the mutants of a protocol.

    Raises SystemExit if a survivor is not argued for, or something is unknown; nothing is kept.

    Args:
        family: the protocol.
        kept: what was found the last time, compressed. Where the question is the same now, or what showed the answer
            shows it still, no mutant is judged anew. It is replaced by what is found this time.
    """
    found = FOUND / family.id / campaign.RECORD_FILE
    before = found.with_name(campaign.EARLIER_FILE)
    if kept.exists() and not before.exists():
        # A record is about a specification, and is not stale when code changes; nor is what is kept of it.
        header, _, entries = lzma.decompress(kept.read_bytes()).decode().partition("\n")
        about = json.loads(header) | {"code": source_digest()}
        before.parent.mkdir(parents=True, exist_ok=True)
        before.write_text(f"{json.dumps(about, sort_keys=True)}\n{entries}", "utf-8")
    source, record = load(family.id), kept.with_name(f"{family.id}.json")
    questions = argument_questions(source)
    renew_arguments(source, json.loads(record.read_text("utf-8"))["argued"] if record.exists() else [], questions)
    command = ["carnet", "mutate", family.id, "--pairs", "--out", str(found.parent), "--json"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {ran.returncode}, so nothing is recorded")
    kept.write_bytes(lzma.compress(_witnesses(found).encode()))
    return summary(family, json.loads(ran.stdout), questions)


def _witnesses(found: Path) -> str:
    """Return the lines of a campaign's record that may answer for a changed specification, without times."""
    header, *lines = found.read_text("utf-8").splitlines()
    entries = [entry for entry in map(json.loads, lines) if entry["kind"] in ("mutant", "pair", "weaknesses")]
    for entry in entries:
        entry["value"].pop("seconds", None)
    return "\n".join([header, *sorted(json.dumps(entry, sort_keys=True) for entry in entries), ""])


def argument_questions(source: Source) -> dict[str, str]:
    """Return the digest of what proofs of each argued mutant are asked, by the mutant's key.

    It covers the axioms, the claims, the lemmas and the action of the mutant. A mutant without its action has none.
    """
    asked = campaign.questions_of(campaign.Request(source, source.family.with_layers(source.family.main)))
    actions = {(name, action.name): action for name in asked for action in source.protocol(name).actions}
    found = {}
    for each in campaign.arguments_of(source):
        action = actions.get((each.variant, each.mutant.partition("/")[0]))
        if action is not None:
            found[each.key] = asked[each.variant].digest(action)
    return found


def renew_arguments(source: Source, argued: Sequence[Recorded], questions: Mapping[str, str]) -> None:
    """Give an argument the digest of the specification as it is, if proofs of its mutant are asked the same as before.

    ``argued`` are the arguments in the last record, with the questions of then; ``questions`` are those of now. Whether
    such a mutant still survives is found out by judging it. An argument expires where the action of its mutant has
    changed, or a claim, a lemma or an axiom: somebody has to look at it again.
    """
    place = campaign.place_beside(source)
    if place is None:
        return
    then = {f"{each['variant']}: {each['mutant']}": each["question"] for each in argued}
    text = place.read_text("utf-8")
    for argument in campaign.arguments_of(source):
        if argument.key not in questions or then.get(argument.key) != questions[argument.key]:
            continue
        about = f'mutant = "{argument.mutant}"\nvariant = "{argument.variant}"\ndigest = "'
        digest = source.protocol(argument.variant).digest
        text = text.replace(f"{about}{argument.digest}", f"{about}{digest}")
    place.write_text(text, "utf-8")


def summary(family: Family, printed: Recorded, questions: Mapping[str, str]) -> dict[str, Any]:
    """Return what is kept of what ``carnet mutate --json`` printed, with the question of each argued mutant."""
    pairs = printed["pairs"]
    alone = printed["judgements"][: len(printed["judgements"]) - pairs["judged"]]
    return {
        "variants": [_counted(family, name, alone) for name in dict.fromkeys(each["variant"] for each in alone)],
        "pairs": {"judged": pairs["judged"], "killed": [[each["variant"], each["mutant"]] for each in pairs["killed"]]},
        "argued": [
            {**each, "question": questions[f"{each['variant']}: {each['mutant']}"]} for each in printed["survived"]
        ],
    }


def _counted(family: Family, variant: str, judgements: Sequence[Recorded]) -> dict[str, Any]:
    """Count the mutants of a variant by what noticed them, or else by what they are."""
    fates = Counter(each["by"] or each["fate"] for each in judgements if each["variant"] == variant)
    refused = fates.pop("refused", 0)
    digest = family.digest(variant)
    return {"variant": variant, "digest": digest, "fates": dict(sorted(fates.items())), "refused": refused}
