"""Checks log what they saw, and every requirement and every defence is cited at the line that enforces it."""

import ast
import csv
import hashlib
import pkgutil
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.recorder import step
from carnet_ref.systems.gpu_travelling import enforcement
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import ChecksWithout, defence_names
from carnet_ref.transport.frames import ProtocolError, RecordChecks
from carnet_spec.language import Family
from carnet_spec.protocols.gpu_travelling import FAMILY
from docs._ext.carnet_pages.citations import CHECKS, PACKAGE, CitationError, citations, citations_in, places
from docs._ext.carnet_pages.known_attacks import UNREPLAYED

SECURE = enforcement.Checks()
FENCED = step("fenced", "orchestrator")


def test_a_step_takes_along_what_was_checked_for_it_and_nothing_else() -> None:
    with enforcement.checking("orchestrator"):
        SECURE.require(
            "fence-ack", "REQ-HOME-02", True, saw=enforcement.ReceivedMessage("gpu", b"report"), otherwise=""
        )
        first = enforcement.log_step(FENCED, b"message")
        SECURE.require("scrub-ack", "REQ-SCRUB-03", True, saw=(1, 2), otherwise="")
        second = enforcement.log_step(step("scrubbed", "orchestrator"))
    (made,) = first.checks
    assert (made.by, made.defence, made.requirement) == ("orchestrator", "fence-ack", "REQ-HOME-02")
    assert (made.action, made.sender, made.holds) == ("fenced", "gpu", True)
    assert made.saw == hashlib.sha256(b"report").hexdigest()
    assert first.sent == (hashlib.sha256(b"message").hexdigest(),)
    assert [(check.defence, check.action) for check in second.checks] == [("scrub-ack", "scrubbed")]


def test_a_check_that_fails_is_logged_and_made_for_no_step() -> None:
    with enforcement.checking("gpu") as log:
        with pytest.raises(ProtocolError, match=r"too late \(REQ-HOME-02\)"):
            SECURE.require("fence-ack", "REQ-HOME-02", False, saw=b"late", otherwise="too late")
        assert not SECURE.passes("lease", "REQ-RETURN-04", False, saw=(1.5, 1.0))
        (effect,) = enforcement.unattributed_checks(log)
    assert isinstance(effect, RecordChecks)
    assert [(check.defence, check.holds, check.action) for check in effect.checks] == [
        ("fence-ack", False, ""),
        ("lease", False, ""),
    ]


def test_what_fails_does_not_count_for_the_step_that_is_taken_nevertheless() -> None:
    with enforcement.checking("gpu"):
        SECURE.passes("lease", "REQ-RETURN-04", False, saw=1)
        SECURE.passes("fence-ack", "REQ-HOME-02", True, saw=2)
        note = enforcement.log_step(FENCED)
    assert [(check.defence, check.action) for check in note.checks] == [("lease", ""), ("fence-ack", "fenced")]


def test_what_was_checked_for_no_step_is_told_once_and_what_is_left_out_not_at_all() -> None:
    with enforcement.checking("gpu") as log:
        SECURE.passes("lease", "REQ-RETURN-04", True, saw=1)
        assert len(enforcement.unattributed_checks(log)) == 1
        assert not enforcement.unattributed_checks(log)
    with enforcement.checking("gpu"):
        ChecksWithout(frozenset({"fence-ack"})).require("fence-ack", "REQ-HOME-02", False, saw=b"", otherwise="")
        assert not enforcement.log_step(FENCED).checks


def test_a_verification_is_logged_with_its_sender_whether_it_holds_or_fails() -> None:
    with enforcement.checking("gpu"):
        opened = SECURE.verify("session-orders", "REQ-SESSION-01", lambda: "plain", saw=b"x", sender=str.upper)
        (made,) = enforcement.log_step(FENCED).checks
    assert (opened, made.sender, made.holds, made.saw) == ("plain", "PLAIN", True, enforcement.digest_of(b"x"))

    def refuse() -> str:
        raise AuthenticationError("no")

    with enforcement.checking("gpu") as log:
        with pytest.raises(AuthenticationError):
            SECURE.verify("session-orders", "REQ-SESSION-01", refuse, saw=b"x")
        (effect,) = enforcement.unattributed_checks(log)
    assert isinstance(effect, RecordChecks)
    assert [check.holds for check in effect.checks] == [False]
    with enforcement.checking("gpu") as log:
        with pytest.raises(ProtocolError, match="expected int, found str"):
            SECURE.expect("fence-ack", "REQ-HOME-02", "text", int, saw=b"x")
        (effect,) = enforcement.unattributed_checks(log)
    assert isinstance(effect, RecordChecks)
    assert not effect.checks[0].holds


def test_two_roles_in_one_process_keep_their_checks_apart() -> None:
    with enforcement.checking("gpu"):
        SECURE.passes("lease", "REQ-RETURN-04", True, saw=1)
        with enforcement.checking("holder") as inner:
            SECURE.passes("grant-once", "REQ-GRANT-05", True, saw=2)
        assert [check.by for check in inner.made] == ["holder"]
        assert [check.defence for check in enforcement.log_step(FENCED).checks] == ["lease"]


@pytest.mark.parametrize(("one", "other"), [((1, 2), (12,)), (("1",), (1,)), (b"1", "1"), (None, 0), ((), "")])
def test_different_things_have_different_digests(one: bytes, other: bytes) -> None:
    assert enforcement.digest_of(one) != enforcement.digest_of(other)
    assert enforcement.digest_of(one) == enforcement.digest_of(one)


def test_every_check_says_what_it_saw() -> None:
    """A digest of nothing connects a check with nothing."""
    silent = []
    for file in sorted((PACKAGE / "systems").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = ast.unparse(node.func.value).rpartition(".")[2].removeprefix("_")
            if node.func.attr in CHECKS and owner == "checks" and "saw" not in {word.arg for word in node.keywords}:
                silent.append(f"{file.name}:{node.lineno}")
    assert not silent


SYSTEM = PACKAGE / "systems" / "gpu_travelling"
CITED = places(citations(FAMILY.id))


def normative(family: Family) -> frozenset[str]:
    """Return the requirements that the steps of a protocol's main variants enforce, and one claim that has a place."""
    wholes = [family.draft_of(name).whole() for name in family.with_layers(family.main)]
    enforced = {id for whole in wholes for action in whole.actions for id in action.enforces if id.startswith("REQ-")}
    stated = {
        id for whole in wholes for claim in whole.claims for id in re.findall(r"REQ-[A-Z0-9-]+", claim.requirement)
    }
    return frozenset({*enforced, *stated, "CLAIM-NO-SILENT-RESET"})


def relied_on(family: Family) -> frozenset[str]:
    """Return the defences without which a main variant has other steps; the rest are those of variants alone."""
    actions = [action for name in family.with_layers(family.main) for action in family.draft_of(name).actions]
    parts = [each for action in actions for group in (action.guards, action.updates) for each in group]
    named = {action.shortcut_of for action in actions} | {part.defence for part in parts} | {p.unless for p in parts}
    return frozenset(name for name in defence_names() if name in named)


REQUIREMENTS = sorted(normative(FAMILY))
DEFENCES = sorted(relied_on(FAMILY))


def cited(package: Path) -> list[tuple[str, str]]:
    """Return what each line of a package cites, and the class and function that it is in."""
    return [(each.id, ".".join(each.place.split(".")[-2:])) for each in citations_in(package)]


with (PACKAGE.parents[1] / "docs" / "results" / "places" / f"{FAMILY.id}.csv").open(newline="") as kept:
    KEPT = [(row["id"], ".".join(row["place"].split(".")[-2:])) for row in csv.DictReader(kept)]


def test_nothing_is_cited_that_is_not_there_and_no_line_that_enforced_something_is_lost() -> None:
    assert len(REQUIREMENTS) > 40
    assert len(DEFENCES) > 40
    assert sorted(set(CITED) - {*REQUIREMENTS, *DEFENCES}) == []
    assert Counter(cited(SYSTEM)) == Counter(KEPT), "python -m docs._ext.carnet_pages.records make places"


def test_every_requirement_and_every_defence_has_a_place() -> None:
    assert [id for id in (*REQUIREMENTS, *DEFENCES) if id not in CITED] == []


def test_a_defence_of_a_variant_that_has_no_place_is_listed_with_the_reason() -> None:
    without_place = defence_names() - set(CITED)
    assert without_place == {each.name for each in UNREPLAYED if each.why} & without_place
    assert "channel-update" in without_place
    assert not without_place & set(DEFENCES)


def test_every_place_can_be_found() -> None:
    places = sorted({place for named in CITED.values() for place in named})
    assert [place for place in places if not can_be_found(place)] == []


def can_be_found(place: str) -> bool:
    try:
        return callable(pkgutil.resolve_name(place))
    except (ImportError, AttributeError):
        return False


def test_a_line_that_is_taken_away_is_missed(tmp_path: Path) -> None:
    """What is missed is what the line cites, and nothing else."""
    cited_at: dict[tuple[str, int], set[str]] = {}
    for each in citations(FAMILY.id):
        cited_at.setdefault((each.file, each.line), set()).add(each.id)
    wrong: list[str] = []
    for number, ((name, line), ids) in enumerate(sorted(cited_at.items())):
        original = PACKAGE.parent / name
        package = tmp_path / str(number) / SYSTEM.name
        file = package / original.relative_to(SYSTEM)
        file.parent.mkdir(parents=True)
        shutil.copy(original, file)
        before = Counter(cited(package))
        take_line_away(file, line)
        lost = {id for id, _ in before - Counter(cited(package))}
        wrong += [f"{name}:{line}: {sorted(lost)} is missed"] * (not lost or not lost <= ids)
    assert wrong == []


def take_line_away(file: Path, line: int) -> None:
    """Make something else of the citing call, which begins on this line."""
    lines = file.read_text("utf-8").splitlines()
    lines[line - 1] = re.sub(
        r"@enforces\(|(self\.)?_?checks\.(require|expect|passes|verify)\(", _uncited, lines[line - 1]
    )
    file.write_text("\n".join(lines), "utf-8")


def _uncited(found: re.Match[str]) -> str:
    return "@unmarked(" if found[0].startswith("@") else "unchecked("


WRONG: dict[str, str] = {
    "a name that is computed": 'checks.require(name, "REQ-HOME-02", True, otherwise="")',
    "an id that is computed": 'self.checks.passes("lease", f"REQ-{n}", True)',
    "an id that is none": '@enforces("Home 2")\ndef f(): ...',
    "nothing": "@enforces()\ndef f(): ...",
}


@pytest.mark.parametrize("source", WRONG.values(), ids=WRONG)
def test_a_citation_that_cannot_be_read_is_refused(source: str, tmp_path: Path) -> None:
    (tmp_path / "role.py").write_text(source, "utf-8")
    with pytest.raises(CitationError, match="line 1: expected ids and names as literal strings, found "):
        citations_in(tmp_path)


def test_other_checklists_and_ablations_cite_nothing(tmp_path: Path) -> None:
    (tmp_path / "ablations").mkdir()
    (tmp_path / "ablations" / "role.py").write_text('@enforces("REQ-HOME-02")\ndef f(): ...', "utf-8")
    (tmp_path / "appraisal.py").write_text('steps.require(True, "chain", "yes", "no")', "utf-8")
    assert citations_in(tmp_path) == ()


def test_a_citation_says_where_it_is(tmp_path: Path) -> None:
    package = tmp_path / "role"
    package.mkdir()
    source = 'class Role:\n    @enforces("REQ-A-01", "a-defence")\n    def step(self): ...\n'
    (package / "steps.py").write_text(source, "utf-8")
    found = citations_in(package)
    assert [(each.id, each.place, each.file, each.line) for each in found] == [
        ("REQ-A-01", "role.steps.Role.step", "role/steps.py", 2),
        ("a-defence", "role.steps.Role.step", "role/steps.py", 2),
    ]
    assert [each.is_requirement for each in found] == [True, False]
