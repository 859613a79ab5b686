"""Pages of records show what was recorded, and records are of the present specification or called stale."""

import csv
import importlib
import json
import pkgutil
import sys
from typing import Any

import pytest

from carnet_check.attacks.hunt import attack_target
from carnet_check.conformance.checks import guards_without_check, silent_defences
from carnet_check.engines.interface import AnswersObligations
from carnet_check.engines.registry import all_able
from carnet_check.loading.families import load, registered_families
from carnet_check.mutation.campaign import Request, arguments_of, list_mutants
from carnet_check.obligations import layers, obligations
from carnet_spec.language import Family, Finding
from docs._ext.carnet_pages import carried_out, discriminating
from docs._ext.carnet_pages.accounts import accounts_page, record, recorded
from docs._ext.carnet_pages.agreement import Recorded, agreement, read
from docs._ext.carnet_pages.correspondence import ELEMENTS, STEPS
from docs._ext.carnet_pages.counted_mutants import mutants, summary
from docs._ext.carnet_pages.counted_proofs import TRUSTED, lines, proofs
from docs._ext.carnet_pages.minimal import claims_of_layers
from docs._ext.carnet_pages.traces import Traces
from tests.coq.coq_files import to_be_proved
from tests.faults.trying import UNSEEN
from tests.repo.tracked import ROOT

SOURCE = load("gpu-travelling")
KEPT: Any = recorded(SOURCE.family.id)
VARIANTS = SOURCE.family.with_layers(SOURCE.family.main[:1])


@pytest.mark.parametrize("name", VARIANTS)
def test_every_claim_is_accounted_for_where_the_fewest_axioms_are_used(name: str) -> None:
    wanted = claims_of_layers(SOURCE.protocol(name), SOURCE.family.default_threat)
    pairs = {(each["layer"], each["claim"]) for each in KEPT["variants"][name]["claims"]}
    assert pairs == {(layer, claim) for layer, claims in wanted.items() for claim in claims}


@pytest.mark.parametrize("name", VARIANTS)
def test_only_what_exists_is_needed_and_only_what_is_needed_makes_a_claim_fall(name: str) -> None:
    protocol, variant = SOURCE.protocol(name), KEPT["variants"][name]
    stated, defences = {axiom.states for axiom in protocol.axioms}, {each.id for each in protocol.defences}
    needed = {each["claim"]: each for each in variant["claims"]}
    for each in variant["claims"]:
        assert set(each["assumptions"]) <= stated
        assert set(each["defences"]) <= defences
        assert set(each["unsure"]) <= {*each["assumptions"], *each["defences"]}
    for fall in variant["falls"]:
        assert fall["assumption"] in needed[fall["claim"]]["assumptions"]
    assert any(fall["attack"] for fall in KEPT["variants"][VARIANTS[0]]["falls"])


def test_the_page_tells_attacks_from_lost_proofs() -> None:
    page = accounts_page([SOURCE.family])
    row = next(line for line in page.splitlines() if line.startswith("| `gpu-genuine` | every"))
    assert "**A1**, A10?" in row
    (fall, *_) = (each for each in KEPT["variants"][VARIANTS[0]]["falls"] if each["attack"])
    assert f"`{fall['claim']}` ({fall['attack']['steps']} steps under {fall['attack']['threat']}" in page


def test_the_page_says_of_how_much_a_need_is_known() -> None:
    variant = KEPT["variants"][VARIANTS[0]]
    elements = [(each["claim"], name) for each in variant["claims"] for name in each["assumptions"] + each["defences"]]
    attacked = {(fall["claim"], fall["assumption"]) for fall in variant["falls"] if fall["attack"]}
    unsure = {(each["claim"], name) for each in variant["claims"] for name in each["unsure"]}
    said = f"Of {len(elements)} elements in these sets an attack shows {len(attacked)} to be needed"
    assert f"{said}; {len(unsure - attacked)} have a *?*." in accounts_page([SOURCE.family])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_same_is_found_out_again() -> None:
    assert record(SOURCE.family) == KEPT


# -- the page of what engines say of obligations shows what was recorded ---------------------------------


RESULTS = ROOT / "docs" / "results"

FAMILY = SOURCE.family
AGREEMENT = RESULTS / "agreement" / "gpu-travelling.csv"


@pytest.fixture
def agreed() -> Recorded:
    return read(AGREEMENT)


def test_what_was_recorded_is_about_every_obligation_of_the_specification_it_names(agreed: Recorded) -> None:
    assert {row["variant"] for row in agreed} == {*FAMILY.with_layers(FAMILY.main)}
    current = [row for row in agreed if row["digest"] == FAMILY.digest(row["variant"])]
    counted = {
        (name, layer.threat.id if layer.threat else "general"): str(len(list(obligations(layer))))
        for name in {row["variant"] for row in current}
        for layer in layers(FAMILY.protocol(name))
    }
    assert {(row["variant"], row["layer"]): row["obligations"] for row in current} == counted


def test_every_engine_was_asked_and_nothing_was_left_open(agreed: Recorded) -> None:
    assert {row["engine"] for row in agreed} == {engine.name for engine in all_able(AnswersObligations)}
    for row in agreed:
        assert int(row["proved"]) + int(row["frame"]) == int(row["obligations"]), row


def test_the_page_of_agreement_shows_what_was_recorded(agreed: Recorded) -> None:
    text = agreement([FAMILY], {FAMILY.id: agreed})
    for engine in {row["engine"] for row in agreed}:
        mine = [row for row in agreed if (row["variant"], row["engine"]) == (FAMILY.main[0], engine)]
        count, proved = (sum(int(row[name]) for row in mine) for name in ("obligations", "proved"))
        assert f"| `{engine}` | {mine[0]['version']} | {count:,} | {proved:,} |" in text


def test_agreement_about_another_specification_is_stale(agreed: Recorded) -> None:
    rows = [{**row, "digest": FAMILY.digest(row["variant"])} for row in agreed]
    assert "Stale" not in agreement([FAMILY], {FAMILY.id: rows})
    rows = [{**row, "digest": "0" * 64} for row in agreed]
    assert "Stale: the run was about digest `000000000000`" in agreement([FAMILY], {FAMILY.id: rows})


# -- the page of mutants shows what was recorded ---------------------------------------------------------


MUTANTS = ROOT / "docs" / "results" / "mutants" / "gpu-travelling.json"
WITH_LAYERS = FAMILY.with_layers(FAMILY.main)


@pytest.fixture
def recorded_mutants() -> dict[str, Any]:
    found = json.loads(MUTANTS.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def test_what_was_recorded_has_every_argument(recorded_mutants: dict[str, Any]) -> None:
    assert [each["variant"] for each in recorded_mutants["variants"]] == [*WITH_LAYERS]
    arguments = {(each.variant, each.mutant): each.argument for each in arguments_of(SOURCE)}
    assert {(each["variant"], each["mutant"]): each["argument"] for each in recorded_mutants["argued"]} == arguments


def test_every_mutant_was_judged(recorded_mutants: dict[str, Any]) -> None:
    of = [mutant.variant for mutant in list_mutants(Request(SOURCE, WITH_LAYERS))]
    for each in recorded_mutants["variants"]:
        assert "unknown" not in each["fates"]
        if each["digest"] == FAMILY.digest(each["variant"]):
            assert sum(each["fates"].values()) + each["refused"] == of.count(each["variant"])


def test_the_page_of_mutants_shows_what_was_recorded(recorded_mutants: dict[str, Any]) -> None:
    text = mutants([FAMILY], {FAMILY.id: recorded_mutants})
    for each in recorded_mutants["variants"]:
        judged = sum(each["fates"].values())
        assert f"| `{each['variant']}` | `{each['digest'][:12]}` | {judged:,} |" in text
    for each in recorded_mutants["argued"]:
        assert f"`{each['variant']}: {each['mutant']}`".replace("|", "\\|") in text


def test_mutants_of_another_specification_are_stale(recorded_mutants: dict[str, Any]) -> None:
    for each in recorded_mutants["variants"]:
        each["digest"] = FAMILY.digest(each["variant"])
    assert "Stale" not in mutants([FAMILY], {FAMILY.id: recorded_mutants})
    recorded_mutants["variants"][0]["digest"] = "0" * 64
    assert "Stale: the run was about digest `000000000000`" in mutants([FAMILY], {FAMILY.id: recorded_mutants})


def test_mutants_are_counted_by_what_noticed_them_and_pairs_apart() -> None:
    main = FAMILY.main[0]

    def judged(name: str, fate: str, by: str | None = None) -> dict[str, Any]:
        return {"mutant": name, "variant": main, "fate": fate, "by": by, "evidence": "", "core": [], "seconds": 1.0}

    pair = {"mutant": "a/guard x and guard y/drop", "variant": main}
    survived = {"mutant": "a/guard z/drop", "variant": main, "argument": "why"}
    judgements = [
        judged("a/guard w/drop", "killed", "failed proof"),
        judged("a/guard x/drop", "equivalent"),
        judged("a/guard z/drop", "survived"),
        judged("a/guard z/negate", "refused"),
        judged(pair["mutant"], "killed", "failed proof"),
    ]
    printed = {"judgements": judgements, "pairs": {"judged": 1, "killed": [pair]}, "survived": [survived]}
    kept = summary(FAMILY, printed, {f"{main}: a/guard z/drop": "question"})
    assert kept["argued"] == [{**survived, "question": "question"}]
    (variant,) = kept["variants"]
    assert (variant["fates"], variant["refused"]) == ({"failed proof": 1, "equivalent": 1, "survived": 1}, 1)
    assert kept["pairs"] == {"judged": 1, "killed": [[main, pair["mutant"]]]}
    page = mutants([FAMILY], {FAMILY.id: kept})
    assert f"| `{main}` | `{variant['digest'][:12]}` | 3 | 1 | 0 | 0 | 0 | 1 | 0 | 1 |" in page
    assert f"| why | `{main}: a/guard z/drop` |" in page


# -- the page that counts proofs -------------------------------------------------------------------------


PROOFS = ROOT / "docs" / "results" / "proofs" / "gpu-travelling.json"


@pytest.fixture
def recorded_proofs() -> dict[str, Any]:
    found = json.loads(PROOFS.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def test_what_was_recorded_has_every_theorem_of_the_specification_it_names(recorded_proofs: dict[str, Any]) -> None:
    assert [each["variant"] for each in recorded_proofs["variants"]] == [*FAMILY.with_layers(FAMILY.main)]
    for each in recorded_proofs["variants"]:
        protocol = FAMILY.protocol(each["variant"])
        if each["digest"] == protocol.digest:
            assert each["theorems"] == len(set(to_be_proved(protocol))) + len(protocol.liveness)


def test_the_page_shows_what_was_recorded(recorded_proofs: dict[str, Any]) -> None:
    text = proofs([FAMILY], {FAMILY.id: recorded_proofs})
    for each in recorded_proofs["variants"]:
        counts = f"{each['obligations']:,} | {each['conditions']:,}"
        assert f"| `{each['variant']}` | `{each['digest'][:12]}` | {counts} |" in text
    assert f"One file of {recorded_proofs['bytes']:,} bytes" in text


def test_another_specification_makes_the_record_stale(recorded_proofs: dict[str, Any]) -> None:
    for each in recorded_proofs["variants"]:
        each["digest"] = FAMILY.digest(each["variant"])
    assert "Stale" not in proofs([FAMILY], {FAMILY.id: recorded_proofs})
    recorded_proofs["variants"][0]["digest"] = "0" * 64
    assert "Stale: the run was about digest `000000000000`" in proofs([FAMILY], {FAMILY.id: recorded_proofs})


def test_all_that_has_to_be_believed_is_counted() -> None:
    text = proofs([], {})
    for parts in TRUSTED.values():
        for path, what in parts.items():
            assert f"| `{path}` | {lines(path)} | {what} |" in text
    assert lines("model_check/coq/Logic.v") == len((ROOT / "model_check/coq/Logic.v").read_text("utf-8").splitlines())


# -- what the recorded verdicts call PROVED is what has a theorem, or is liveness ------------------------


REGISTERED = [(family, name) for family in registered_families() for name in family.with_layers(family.main)]


@pytest.mark.parametrize(
    ("family", "variant"), REGISTERED, ids=[f"{family.id}-{variant}" for family, variant in REGISTERED]
)
def test_what_is_recorded_as_proved_has_its_theorem_or_is_liveness(family: Family, variant: str) -> None:
    results = json.loads((RESULTS / f"{family.id}.json").read_text("utf-8"))["results"]
    rows = [row for row in results if (row["variant"], row["verdict"]) == (variant, "PROVED")]
    claims = {(row["threat"], row["claim"]) for row in rows if row["kind"] == "claim"}
    assert claims == set(to_be_proved(family.protocol(variant)))
    assert {row["kind"] for row in rows} <= {"claim", "liveness"}


# -- what is recorded of attacks that were carried out is about the specification as it is ---------------


RECORDS = ROOT / "docs" / "results" / "replays"
SYSTEMS = ("fastrack", "pipellm", "ring-all-reduce", "tensortee", "teechain", "sgx-lkl", "verifiable-fl")
#: Attacks that stop for want of a key that the adversary does not have.
STOPPED = {"teechain": {"without votes-for-members", "without from-the-chain"}}


def kept(system: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RECORDS / f"{system}.json").read_text("utf-8"))
    return rows


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_finding_and_every_defence_that_is_not_redundant_is_recorded(system: str) -> None:
    family, rows = load(system).family, kept(system)
    attacks = json.loads((RECORDS.parent / "attacks" / f"{system}.json").read_text("utf-8"))
    redundant = {row["removed"][0] for row in attacks if row["verdict"] != "VIOLATED"}
    default = attack_target(load(system)).threat.id
    found = [row["id"] for row in rows if row["id"].startswith("finding") or row["threat"] == default]
    removed = [f"without {each.id}" for each in family.protocol().defences if each.id not in redundant]
    assert found == [*(finding.id for finding in family.findings), *removed]


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_attack_is_reproduced_and_none_with_every_defence(system: str) -> None:
    rows, stopped = kept(system), STOPPED.get(system, set())
    assert {row["id"] for row in rows if not row["replay"]["reproduced"]} == stopped
    assert not any(row["replay"]["defended"]["reproduced"] for row in rows)
    shown = "\n".join(carried_out.shown(load(system).family, rows))
    assert f"Of {len(rows)} attacks, {len(rows) - len(stopped)} are reproduced." in shown
    assert shown.count("| yes | ") == len(rows) - len(stopped)


def test_an_attack_on_another_design_is_stale() -> None:
    family, (row, *_) = load("pipellm").family, kept("pipellm")
    assert carried_out.STALE in "\n".join(carried_out.shown(family, [{**row, "digest": "0"}]))
    now = family.digest(row["variant"], tuple(row["removed"]))
    assert carried_out.STALE not in "\n".join(carried_out.shown(family, [{**row, "digest": now}]))


def test_an_attack_that_is_not_reproduced_says_where_it_stops() -> None:
    family, (row, *_) = load("pipellm").family, kept("pipellm")
    stopped = {"reproduced": False, "stopped": {"index": 1, "action": "speculate"}}
    shown = "\n".join(carried_out.shown(family, [{**row, "replay": {**row["replay"], **stopped}}]))
    assert "| no: stops at step 2, `speculate` | stops after step 4, `read_two` |" in shown


def test_without_a_word_on_threats_each_is_tried_in_turn() -> None:
    """Only a broken backup can do something where the word of every member is not asked for."""
    traces = Traces(load("teechain"), "attacks")
    found = carried_out.attack(traces, Finding("", "", "", "", without=("every-member",)))
    assert found is not None
    assert found.trace.threat == "broken"


# -- the pages on traces and replays say what the tables and the record say ------------------------------


DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
pages = importlib.import_module("carnet_traces")
PROTOCOLS = [FAMILY.protocol(variant) for variant in FAMILY.main]
PLACES = sorted({*STEPS.values(), *(named.code for named in ELEMENTS.values())})


def test_every_honest_step_of_the_main_variants_is_recorded() -> None:
    assert {action.name for protocol in PROTOCOLS for action in protocol.actions if action.by.honest} == set(STEPS)


def test_every_sort_has_a_name_in_traces() -> None:
    assert set(ELEMENTS) == {sort.name for protocol in PROTOCOLS for sort in protocol.sorts}


def test_every_place_in_the_code_exists() -> None:
    assert [place for place in PLACES if not there(place)] == []


def there(place: str) -> bool:
    try:
        return pkgutil.resolve_name(place) is not None
    except (ImportError, AttributeError):
        return False


def test_the_pages_show_every_row() -> None:
    assert all(f"`{name}`" in pages.traces() for name in (*STEPS, *ELEMENTS))
    attacks = json.loads((DOCS / pages.RECORD).read_text("utf-8"))
    shown = pages.replays(attacks)
    assert all(f"| `{attack['id']}` |" in shown for attack in attacks)
    assert f"Of {len(attacks)} attacks, " in shown


def test_a_replay_that_is_not_reproduced_says_where_it_stops() -> None:
    steps = [{"action": name} for name in ("send_fence", "exec_fence", "read_gpu", "fenced")]
    stopped = {"index": 3, "action": "fenced"}
    replay = {"reproduced": False, "recovered": "", "stopped": stopped, "defended": {"stopped": None}}
    row = {"id": "x", "variant": FAMILY.main[0], "removed": ["d"], "claim": "c", "steps": steps, "replay": replay}
    shown = pages.replays([row])
    assert "| no: stops at step 3, `fenced` | every step is taken, and the claim holds |" in shown


def test_the_page_says_which_guards_no_event_stands_for() -> None:
    """They are read off the spec: none has a defence, and each is about what others write."""
    shown = pages.traces()
    believed = guards_without_check(PROTOCOLS[0])
    assert {(action.name, guard.name) for action, guard in believed} >= {("answer_session", "asked")}
    assert not [guard for _, guard in believed if guard.defence]
    assert all(f"| `{action.name}` | {action.by.name} | {guard.name} |" in shown for action, guard in believed)
    assert "| `take_back` | `now` | time passes, within the lease |  |" in shown
    assert "| `evict` | `now` | time passes | lease over |" in shown


def test_the_page_says_which_defences_no_event_stands_for() -> None:
    shown = pages.traces()
    found = silent_defences([FAMILY.protocol(name) for name in FAMILY.with_layers(FAMILY.main[:1])])
    assert {"scrub-workspace", "h2d-half-only", "launch-key-kept", "session-acknowledgements"} <= set(found)
    assert all(f"| `{defence}` | " in shown for defence in found)
    assert "| `engine-retirement` | `gpu_rotate_out`, `gpu_rotate_in` | `" in shown


def test_the_page_names_the_ways_of_removal_that_conformance_cannot_notice() -> None:
    assert pages.UNSEEN == UNSEEN


def test_the_page_counts_the_checks_that_were_removed() -> None:
    with pages.REMOVED.open(encoding="utf-8", newline="") as file:
        found = [row["noticed by"] for row in csv.DictReader(file)]
    told = " ".join(pages.removed())
    assert "checks that an honest run goes through were removed" in told
    assert f"one at a time and in {len(found)} ways" in told
    assert f"`carnet conform` noticed {found.count('conform')}, a role {found.count('a role')}" in told
    assert ("None went unnoticed." in told) is ("" not in found)


# -- each claim says something of its own ----------------------------------------------------------------


ROWS = {row["claim"]: row for row in discriminating.recorded()}
CLAIMS = [
    claim.name
    for variant in (discriminating.MAIN, discriminating.TIMED)
    for claim in discriminating.SOURCE.protocol(variant).claims
]


def in_cell(cell: str) -> set[str]:
    return set(cell.split("; ")) - {""}


def test_every_claim_has_one_design_and_one_row() -> None:
    assert sorted(design.claim for design in discriminating.DESIGNS) == sorted(CLAIMS)
    assert list(ROWS) == [design.claim for design in discriminating.DESIGNS]


def test_the_record_is_of_the_present_designs() -> None:
    recorded_as = {claim: (row["design"], row["threat"]) for claim, row in ROWS.items()}
    assert recorded_as == {design.claim: (design.words, design.threat) for design in discriminating.DESIGNS}


def test_what_falls_with_a_claim_is_implied() -> None:
    """Every other claim made there is accounted for: implied, proved, or looked at in every explored state."""
    wrong: list[str] = []
    for design in discriminating.DESIGNS:
        row, threat = ROWS[design.claim], design.others or design.threat
        parts = [in_cell(row[name]) for name in ("falls with it", "proved", "held in every explored state")]
        made = {each.name for each in design.protocol.claims if threat in each.under} - {design.claim}
        wrong += [
            f"{design.claim}: {each} is not implied"
            for each in parts[0] - {*discriminating.IMPLIED.get(design.claim, ())}
        ]
        wrong += [f"{design.claim}: {each} is unaccounted for" for each in made ^ set().union(*parts)]
        wrong += [f"{design.claim}: in two lists"] * (sum(map(len, parts)) != len(set().union(*parts)))
    assert wrong == []


def test_no_reason_is_given_for_what_never_falls() -> None:
    assert set(discriminating.IMPLIED) <= {claim for claim, row in ROWS.items() if row["falls with it"]}


def test_nothing_can_be_forgotten_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="grant has no never that could be forgotten"):
        discriminating.forgetting(discriminating.SOURCE.protocol(), "grant", ("never",))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("design", discriminating.DESIGNS, ids=lambda design: design.claim)
def test_it_comes_out_again_as_recorded(design: discriminating.Design) -> None:
    assert dict(zip(ROWS[design.claim], discriminating.judge(design).row, strict=True)) == ROWS[design.claim]
