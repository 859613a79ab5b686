"""The pages on traces and replays say what the tables and the record say, and the tables miss nothing."""

from __future__ import annotations

import csv
import importlib
import json
import pkgutil
import sys
from pathlib import Path

from carnet_check.conformance.checks import silent_defences, undemanded
from carnet_ref.systems.gpu_travelling.correspondence import ELEMENTS, STEPS
from carnet_spec.protocols.gpu_travelling import FAMILY
from tests.faults.trying import UNSEEN

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
pages = importlib.import_module("carnet_traces")
MAIN = [FAMILY.protocol(variant) for variant in FAMILY.main]
PLACES = sorted({*STEPS.values(), *(named.code for named in ELEMENTS.values())})


def test_every_honest_step_of_the_main_variants_is_recorded() -> None:
    assert {action.name for protocol in MAIN for action in protocol.actions if action.by.honest} == set(STEPS)


def test_every_sort_has_a_name_in_traces() -> None:
    assert set(ELEMENTS) == {sort.name for protocol in MAIN for sort in protocol.sorts}


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


def test_an_attack_that_is_not_reproduced_says_where_it_stops() -> None:
    steps = [{"action": name} for name in ("send_fence", "exec_fence", "read_gpu", "fenced")]
    stopped = {"index": 3, "action": "fenced"}
    replay = {"reproduced": False, "recovered": "", "stopped": stopped, "defended": {"stopped": None}}
    row = {"id": "x", "variant": FAMILY.main[0], "removed": ["d"], "claim": "c", "steps": steps, "replay": replay}
    shown = pages.replays([row])
    assert "| no: stops at step 3, `fenced` | every step is taken, and the claim holds |" in shown


def test_the_page_says_which_guards_no_event_stands_for() -> None:
    """They are read off the spec: none has a defence, and each is about what others write."""
    shown = pages.traces()
    believed = undemanded(MAIN[0])
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
