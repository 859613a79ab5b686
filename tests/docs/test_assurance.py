"""The assurance case links what exists, and refuses to be built around a gap."""

import ast
import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from carnet_spec.compositions import compositions
from carnet_spec.language import Draft, Family, Formula, SpecificationError, implies
from carnet_spec.language.composition import BuiltBond
from carnet_spec.language.notation import show_lines
from carnet_spec.language.requirements import Level, NormativeText
from docs._ext import carnet_pages
from docs._ext.carnet_pages import is_implemented, registered_families, specification, write
from docs._ext.carnet_pages.accounts import accounts_page
from docs._ext.carnet_pages.assurance import VERIFIES, Case, assurance, cases, need_id, places, refuse_gaps
from docs._ext.carnet_pages.bond_status import BondStatus, Judgement
from docs._ext.carnet_pages.bonds import compositions_page
from docs._ext.carnet_pages.counted_proofs import TRUSTED
from docs._ext.carnet_pages.junit import JUNIT, Ran, TestRun, kept, read
from docs._ext.carnet_pages.mended import FAULTS, RECORDS, Fault, gaps, marks, mended, read_faults
from docs._ext.carnet_pages.records.recorders import commands
from docs._ext.carnet_pages.sources import addresses, cited, linked, nowhere, unknown
from tests.faults.seeding import there_is
from tests.fixtures import toy
from tests.repo.tracked import ROOT

TEXT = NormativeText(
    """# Keys

**REQ-TOY-1** The lender MUST make a new key for every loan. (Source: folklore, 1)

**REQ-TOY-2** A key MUST stay secret. (Source: folklore, 9)

**A1** The lender is never corrupt. (Source: convention)
"""
)
FAMILY = replace(toy.FAMILY, text=TEXT)
LENT = Ran("pytest", "tests.test_toy", "test_new", ("toy-REQ-TOY-1", "toy-REQ-TOY-2"))
TESTS = TestRun((LENT,), {"toy/main": toy.FAMILY.protocol().digest})
CODE = {"REQ-TOY-1": ["toy.lend"], "REQ-TOY-2": ["toy.Loan"]}


def found(text: NormativeText = TEXT, tests: TestRun = TESTS, code: Any = CODE) -> dict[str, Case]:
    families = [replace(toy.FAMILY, text=text)]
    return {case.requirement.id: case for case in cases(families, tests, {"toy": code})}


def test_a_requirement_is_linked_to_steps_claims_tests_and_code() -> None:
    one, two = found()["REQ-TOY-1"], found()["REQ-TOY-2"]
    assert (list(one.steps), one.tests, one.code) == (["step-toy-lend"], (LENT,), ("toy.lend",))
    assert (list(two.claims), two.tests) == (["claim-toy-secrecy"], (LENT,))
    assert found()["A1"].assumed == ("axiom lender honest",)


def test_what_is_whole_is_not_refused() -> None:
    refuse_gaps(found().values())


MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "a test": ({"tests": TestRun()}, "REQ-TOY-1: no test that passed verifies it"),
    "a test that passed": ({"tests": TestRun((replace(LENT, passed=False),))}, "REQ-TOY-1: no test that passed"),
    "a place": ({"code": {}}, "REQ-TOY-2: no place in code enforces it"),
    "an obligation": (
        {"text": NormativeText("# Keys\n\n**REQ-TOY-7** A key MUST shine. (Source: none)\n")},
        "REQ-TOY-7: no obligation",
    ),
    "where it is assumed": (
        {"text": NormativeText("# Keys\n\n**A7** Keys shine. (Source: none)\n")},
        "A7: no axiom",
    ),
}


@pytest.mark.parametrize("what", MISSING)
def test_a_gap_is_refused_by_name(what: str) -> None:
    change, says = MISSING[what]
    with pytest.raises(SpecificationError, match=says):
        refuse_gaps(found(**change).values())


def test_a_sentence_that_is_cited_and_not_written_is_refused() -> None:
    """The text is the only place of sentences, so an id that is cited nowhere in it is a gap as well."""
    half = NormativeText(TEXT.text.replace("**REQ-TOY-2** A key MUST stay secret. (Source: folklore, 9)", ""))
    with pytest.raises(SpecificationError, match="REQ-TOY-2: cited by toy, and no sentence has this id"):
        cases([replace(toy.FAMILY, text=half)], TESTS, {"toy": CODE}, complete=True)


def of_another_design(variant: str) -> Draft:
    """Write the toy protocol down, with a lemma that is a claim in a design beside the main one."""
    draft = toy.draft(variant)
    if variant == "forgetful":

        @draft.claim(name="kept", sentence="", requirement="REQ-TOY-7", source="none", under=("none",))
        def _(a: toy.Agent, k: toy.Key) -> Formula:
            return implies(toy.holds(a, k), toy.knows(a, k))

    return draft


MORE = NormativeText(f"{TEXT.text}\n\n**REQ-TOY-7** Who holds a key MUST know it. (Source: none)\n")
WITH_MORE = replace(toy.FAMILY, text=MORE, draft=of_another_design)
SLOW: dict[str, tuple[str, ...]] = {"toy-REQ-TOY-7": ("tests/test_toy.py::test_long",)}


def of_progress(variant: str) -> Draft:
    """Write the toy protocol down, with what happens in the end."""
    draft, away = toy.draft(variant), toy.phase == toy.Phase.AWAY
    draft.eventually("leaves", ~away, away, sentence="", fair=("lend",), requirement="REQ-TOY-7")
    return draft


def test_what_happens_in_the_end_is_an_obligation() -> None:
    (case,) = (
        each
        for each in cases([replace(WITH_MORE, draft=of_progress)], TESTS, {"toy": CODE})
        if each.requirement.id == "REQ-TOY-7"
    )
    assert [*case.claims] == ["liveness-toy-leaves"]
    assert case.main


def with_more(slow: dict[str, tuple[str, ...]]) -> dict[str, Case]:
    return {case.requirement.id: case for case in cases([WITH_MORE], TESTS, {"toy": CODE}, slow=slow)}


def test_what_another_design_asks_for_is_proved_and_need_not_be_built() -> None:
    whole = with_more(SLOW)
    refuse_gaps(whole.values())
    assert [*whole["REQ-TOY-7"].claims] == ["claim-toy-kept"]
    assert [case.requirement.id for case in whole.values() if case.built] == ["REQ-TOY-1", "REQ-TOY-2", "A1"]
    with pytest.raises(SpecificationError, match="REQ-TOY-7: no obligation"):
        refuse_gaps([replace(whole["REQ-TOY-7"], claims={})])


def test_what_another_design_asks_for_is_verified_by_a_recorded_or_by_a_slow_test() -> None:
    with pytest.raises(SpecificationError, match="REQ-TOY-7: no test that passed verifies it, and no slow test"):
        refuse_gaps(with_more({}).values())
    with pytest.raises(SpecificationError, match=r"REQ-TOY-1: no test that passed verifies it$"):
        refuse_gaps([replace(with_more(SLOW)["REQ-TOY-1"], tests=(), slow=("tests/test_toy.py::test_long",))])


def test_the_page_says_what_the_reference_implementation_lacks_and_which_slow_test_verifies_it() -> None:
    pages = assurance([WITH_MORE], list(with_more(SLOW).values()), [], TESTS)
    need = pages["assurance/requirements.md"].partition("REQ-TOY-7")[2]
    assert "The reference implementation does not have it: no main variant asks for it, but `forgetful`." in need
    assert "Verified by slow tests, which no recorded run has: `tests/test_toy.py::test_long`." in need
    row = "| Who holds a key MUST know it. | {need}`claim-toy-kept` | `test_long` (slow) | not implemented |"
    assert f"| {{need}}`toy-REQ-TOY-7` {row}" in pages["assurance.md"]


@pytest.mark.mends("N25")
def test_the_matrix_names_what_proves_verifies_and_enforces() -> None:
    many = [replace(LENT, name=f"test_new[{row}]") for row in ("a key", "another", "a third")]
    whole = found(tests=TestRun((*many, replace(LENT, verifies=("toy-REQ-TOY-2",)))))
    shown = assurance([FAMILY], list(whole.values()), [], TESTS)["assurance.md"]
    (row,) = (line for line in shown.splitlines() if line.startswith("| {need}`toy-REQ-TOY-1`"))
    assert "| {need}`step-toy-lend` |" in row
    assert "<details><summary>3 tests</summary>{need}`test-test-toy-test-new-a-key`<br>" in row
    assert row.endswith("| {need}`code-toy-lend` |")


@pytest.mark.mends("N25")
def test_a_test_is_called_by_what_it_says() -> None:
    assert replace(LENT, name="test_a_bad_gpu_is_never_lent[a fake]").title == "A bad gpu is never lent: a fake"
    assert LENT.title == "New"
    pages = assurance([FAMILY], list(found().values()), [], TESTS)
    assert "```{test-case} New\n:id: test-test-toy-test-new" in pages["assurance/tests.md"]


# -- the registered protocols ---------------------------------------------------------------------


@functools.cache
def enforcing() -> dict[str, Any]:
    results = [json.loads(path.read_text("utf-8")) for path in (ROOT / "docs" / "results").glob("*.json")]
    return {family.id: places([family], results) for family in registered_families() if is_implemented(family)}


@functools.cache
def marked_tests() -> dict[str, tuple[str, ...]]:
    return {id: tuple(tests) for id, tests in marks(ROOT / "tests", VERIFIES).items()}


def recorded_cases(families: list[Family]) -> dict[str, Case]:
    ran = read(ROOT / "docs" / JUNIT)
    return {case.id: case for case in cases(families, ran, enforcing(), slow=marked_tests(), complete=True)}


@functools.cache
def registered_cases() -> dict[str, Case]:
    return recorded_cases(registered_families())


NORMATIVE = [
    need_id(family.id, each.id)
    for family in registered_families()
    for each in family.text.requirements().values()
    if each.level is not Level.ASSUMPTION
]


def asked_by_main_variants() -> list[str]:
    return [id for id in NORMATIVE if registered_cases()[id].main]


def asked_by_other_variants() -> list[str]:
    return [id for id in NORMATIVE if not registered_cases()[id].main]


def test_the_case_of_the_registered_protocols_is_whole() -> None:
    assert len(NORMATIVE) > 60
    cited = {id for id, case in registered_cases().items() if case.requirement.level is not Level.ASSUMPTION}
    assert set(NORMATIVE) == cited
    refuse_gaps(registered_cases().values())


@pytest.mark.parametrize("what", ["obligation", "test", "place"])
def test_no_requirement_can_lose_anything_unnoticed(what: str) -> None:
    lost: dict[str, Any] = {
        "obligation": {"steps": {}, "claims": {}},
        "test": {"tests": (), "slow": ()},
        "place": {"code": ()},
    }
    asked = asked_by_main_variants() if what == "place" else NORMATIVE
    for id in (id for id in asked if what == "obligation" or registered_cases()[id].implemented):
        with pytest.raises(SpecificationError, match=f"{id}: no {what}"):
            refuse_gaps([replace(registered_cases()[id], **lost[what])])


def test_no_sentence_can_be_lost_unnoticed() -> None:
    def less(text: NormativeText) -> NormativeText:
        return replace(text, text=re.sub(r"\*\*((REQ|CLAIM|LIVE)-[A-Z0-9-]+)\*\*", "", text.text))

    with pytest.raises(SpecificationError) as refused:
        recorded_cases(
            [replace(family, text=less(family.text), draft=family.draft_of) for family in registered_families()]
        )
    said = (
        f"{case.requirement.id}: cited by {case.family}," for case in map(registered_cases().get, NORMATIVE) if case
    )
    assert [missing for missing in said if missing not in str(refused.value)] == []


def test_a_test_that_is_marked_is_in_the_recorded_run_or_verifies_what_other_variants_ask_for() -> None:
    marked = marked_tests()
    main = set(asked_by_main_variants())
    assert set(marked) <= main | set(asked_by_other_variants())
    for id in main & set(marked):
        ran = {f"{test.classname.replace('.', '/')}.py::{test.name.partition('[')[0]}" for test in ran_for(id)}
        assert set(marked[id]) <= ran, id
    for id in asked_by_other_variants():
        assert registered_cases()[id].slow == tuple(marked.get(id, ()))
        assert set(registered_cases()[id].variants).isdisjoint(registered_families()[0].main)


def ran_for(id: str) -> tuple[Ran, ...]:
    return registered_cases()[id].tests


@pytest.mark.mends("N25")
def test_most_requirements_are_verified_by_more_than_one_test() -> None:
    """A proof that breaks without the requirement is one; a role that refuses is another."""
    kinds = {id: {test.name.partition("[")[0] for test in ran_for(id)} for id in asked_by_main_variants()}
    required = {id: names for id, names in kinds.items() if "-REQ-" in id}
    assert sum(len(names) > 1 for names in required.values()) * 4 >= 3 * len(required)


def test_recorded_tests_exist() -> None:
    recorded = {f"{ran.classname.replace('.', '/')}.py::{ran.name}" for id in NORMATIVE for ran in ran_for(id)}
    assert recorded
    assert [test for test in sorted(recorded) if not there_is(test)] == []


@pytest.mark.skipif(util.find_spec("sphinx_needs") is None, reason="needs the docs extra; CI builds all pages anyway")
def test_a_gap_ends_the_build(tmp_path: Path) -> None:
    """There is no report of the tests in this folder, and no recorded proof."""
    write(tmp_path, {"index.md": "# Nothing"})
    extensions = Path(carnet_pages.__file__).parents[1]
    head = f"import sys\nsys.path.insert(0, {str(extensions)!r})\nextensions = ['myst_parser', 'carnet_pages']\n"
    (tmp_path / "conf.py").write_text(head)
    done = sphinx(tmp_path, tmp_path / "html")
    assert done.returncode != 0
    assert "gpu-travelling-REQ-KEY-01: no test that passed verifies it" in done.stderr


def sphinx(source: Path, to: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "-b", "html", str(source), str(to)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


# -- the report of a run --------------------------------------------------------------------------

PRINTED = """<testsuites><testsuite name="pytest" time="3">
<testcase classname="tests.test_a" name="test_b[REQ-A]" time="1.5"><properties>
<property name="verifies" value="REQ-A, REQ-B"/></properties></testcase>
<testcase classname="tests.test_a" name="test_c"><properties><property name="verifies" value="REQ-A"/></properties>
<failure message="no"/></testcase>
<testcase classname="tests.test_a" name="test_d"/>
</testsuite></testsuites>"""


def test_of_a_run_is_kept_what_verifies_something(tmp_path: Path) -> None:
    tree = kept(ElementTree.fromstring(PRINTED), {"main": "abc"}, "pytest")
    (tmp_path / "tests.xml").write_text(ElementTree.tostring(tree, "unicode"))
    again = read(tmp_path / "tests.xml")
    assert [(case.name, case.verifies) for case in again.of("REQ-A")] == [("test_b[REQ-A]", ("REQ-A", "REQ-B"))]
    assert [case.name for case in again.cases] == ["test_b[REQ-A]", "test_c"]
    assert again.digests == {"main": "abc"}
    assert "1.5" not in ElementTree.tostring(tree, "unicode")


def test_where_nothing_is_recorded_nothing_ran(tmp_path: Path) -> None:
    assert read(tmp_path / "tests.xml") == TestRun()


# -- attacks --------------------------------------------------------------------------------------


def run(**changes: Any) -> dict[str, Any]:
    return {
        "protocol": "toy",
        "variant": "main",
        "removed": ["fresh-key"],
        "threat": "collusion",
        "claim": "secrecy",
        "verdict": "VIOLATED",
        "detail": "3 steps",
        "finding": None,
        "rerun": "carnet attack toy",
        "digest": toy.FAMILY.digest("main", ("fresh-key",)),
        **changes,
    }


def attacks(*runs: dict[str, Any]) -> str:
    return assurance([FAMILY], list(found().values()), runs, TESTS)["assurance/attacks.md"]


def test_an_attack_is_shown_with_what_it_breaks_and_its_command() -> None:
    shown = attacks(run())
    digest = toy.FAMILY.protocol("main", ("fresh-key",)).digest[:12]
    row = f"`fresh-key`<br>Every loan has a key of its own. | secrecy falls under collusion | 3 steps | `{digest}` |"
    assert row in shown
    known = attacks(run() | {"finding": "one-key"})
    assert "| `one-key`<br>A key lent twice has two owners<br>`carnet attack toy` |" in known


def test_what_is_redundant_or_undecided_or_stale_says_so() -> None:
    assert "| redundant |" in attacks(run(verdict="PROVED"))
    assert "| **not decided** |" in attacks(run(verdict="UNKNOWN"))
    assert "**stale**" in attacks(run(digest="0" * 64))


def test_every_defence_and_every_finding_is_recorded() -> None:
    asked = [command for _, command in commands(toy.FAMILY)]
    assert ["carnet", "attack", "toy", "--without", "fresh-key"] in asked
    assert asked[-1][3:] == ["--variant", "forgetful", "--threat", "collusion", "--claim", "secrecy"]


def test_each_protocol_has_its_own_requirements_on_the_pages() -> None:
    """Once the last protocol's were written for every protocol, because they were chosen when the page was."""
    other = replace(FAMILY, id="other", title="Another")
    pages = assurance([FAMILY, other], cases([FAMILY, other], TESTS, {}), [], TESTS)
    ids = re.findall(r"^:id: (.+)$", pages["assurance/requirements.md"], re.MULTILINE)
    assert ids == [f"{protocol}-{id}" for protocol in (FAMILY.id, "other") for id in TEXT.requirements()]


@pytest.mark.mends("N5")
@pytest.mark.skipif(util.find_spec("sphinx_needs") is None, reason="needs the docs extra; CI builds all pages anyway")
def test_the_pages_build_and_their_links_lead_somewhere(tmp_path: Path) -> None:
    source = tmp_path / "source"
    pages = assurance([FAMILY], list(found().values()), [run()], TESTS)
    beside = {"mended": mended([], {}, ""), "accounts": accounts_page([]), "proofs": "# Proofs, counted\n"}
    beside |= {"agreement": "# What the engines say\n", "mutants": "# Mutants\n", "gallery": "# Gallery\n"}
    write(source, pages | {f"assurance/{name}.md": text for name, text in beside.items()})
    settings = (ROOT / "docs" / "conf.py").read_text("utf-8").partition("# The assurance case")[2]
    used = "myst_parser", "sphinx_needs", "sphinx_test_reports"
    (source / "conf.py").write_text(
        f'extensions = {list(used)}\nroot_doc = "assurance"\n# The assurance case{settings}'
    )
    report = source / JUNIT
    report.parent.mkdir()
    report.write_text(
        '<testsuites><testsuite name="pytest"><testcase classname="tests.test_toy" name="test_new"><properties>'
        '<property name="verifies" value="toy-REQ-TOY-1, toy-REQ-TOY-2"/></properties></testcase></testsuite>'
        "</testsuites>"
    )
    done = sphinx(source, tmp_path / "html")
    assert (done.stderr, done.returncode) == ("", 0)
    page = (tmp_path / "html" / "assurance" / "requirements.html").read_text("utf-8")
    assert "REQ-TOY-1" in page
    assert "evidence.html#step-toy-lend" in page
    assert "tests.html#test-test-toy-test-new" in page


def test_the_findings_page_tells_of_every_finding_and_each_was_found() -> None:
    told = (ROOT / "docs" / "findings.md").read_text("utf-8")
    kept = json.loads((ROOT / "docs" / "results" / "attacks" / "gpu-travelling.json").read_text("utf-8"))
    runs = {each["finding"]: each for each in kept if each["finding"]}
    (family,) = (family for family in registered_families() if family.id == "gpu-travelling")
    assert set(runs) == {finding.id for finding in family.findings}
    for id, each in runs.items():
        assert re.search(rf"\b{id}\b", told), id
        assert each["verdict"] == "VIOLATED", id


# -- every citation on the generated pages has its address or is said to have none -----------------------


FAMILIES = [family for family in registered_families() if family.text.text]
PAGES = ("requirements", "actions", "claims", "index")


def sources(family: Family) -> Iterator[str]:
    """Yield every source of the normative text, of services, and of steps and claims of all variants."""
    yield from (each.source for each in family.text.requirements().values())
    yield from (service.where for service in family.services)
    for name in family.variants:
        draft = family.draft_of(name).whole()
        yield from (action.source for action in draft.actions)
        yield from (claim.source for claim in draft.claims)


@functools.cache
def all_sources() -> list[str]:
    return sorted({source for family in FAMILIES for source in sources(family)})


def test_every_citation_has_an_address_or_is_said_to_have_none() -> None:
    assert {source: unknown(source) for source in all_sources() if unknown(source)} == {}


def test_no_address_and_no_excuse_is_left_over() -> None:
    used = {name for source in all_sources() for name in cited(source)}
    assert set(addresses()) - used == set()
    assert [name for name in nowhere() if not any(name in source for source in all_sources())] == []


def test_what_the_table_lacks_is_noticed() -> None:
    assert unknown("RFC 9999 section 1") == ["RFC 9999"]
    assert unknown("deck, Outlook; somewhere_else.c") == ["somewhere_else.c"]
    assert unknown("hearsay") == ["hearsay"]


def test_an_address_is_one_that_lasts() -> None:
    urls = addresses().values()
    assert [url for url in urls if not re.match(r"https://[\w./?=-]+$", url) or "blob/main" in url] == []


@pytest.mark.mends("N11")
def test_a_page_leads_to_what_it_cites() -> None:
    strange: dict[str, set[str]] = {}
    for family in FAMILIES:
        pages = specification([family], {})
        for page in PAGES:
            text = pages[f"{family.id}/{page}.md"]
            links = set(re.findall(r"\[[^\]]+\]\((https://[^)]+)\)", " ".join(text.split())))
            anchors = {"", *re.findall(r"#section-[\d.]+", text)}
            strange[f"{family.id}/{page}"] = links - {
                f"{url}{rest}" for url in addresses().values() for rest in anchors
            }
            stepless = page == "actions" and not family.protocol().actions
            if not links and not stepless and (page != "index" or family.services):
                strange[f"{family.id}/{page}"] = {"no link"}
    assert {page: links for page, links in strange.items() if links} == {}


@pytest.mark.mends("N11")
def test_the_evidence_for_a_requirement_leads_to_its_source() -> None:
    listed = [case for family in FAMILIES for case in cases([family], TestRun(), {})]
    text = assurance(FAMILIES, listed, [], TestRun())["assurance/requirements.md"]
    assert [case.id for case in listed if f"Source: {linked(case.requirement.source)}." not in text] == []
    assert text.count("](https://") > 20


def test_a_section_is_part_of_the_address() -> None:
    assert linked("RFC 5116 section 5.1.1; SP 800-38D section 8") == (
        "[RFC 5116 section 5.1.1](https://www.rfc-editor.org/rfc/rfc5116#section-5.1.1); "
        "[SP 800-38D](https://doi.org/10.6028/NIST.SP.800-38D) section 8"
    )


def test_what_is_around_a_citation_stays_as_it_was() -> None:
    assert linked("deck, *Setup*; nvtrust: a report") == (
        r"deck, \*Setup\*; [nvtrust](https://github.com/NVIDIA/nvtrust): a report"
    )


def test_the_longest_citation_counts() -> None:
    assert linked("DEMY (arXiv 2507.02770): requests").startswith("[DEMY (arXiv 2507.02770)](")
    assert cited("conf_compute_keystore_gh100.c") == ["conf_compute_keystore_gh100.c"]


# -- what has to be believed is complete -----------------------------------------------------------------


BASES = (ROOT / "spec", ROOT / "model_check")
COMMON = "To believe `--engine kernel`, without Coq"
#: Files or folders that are imported and need not be believed, or are on the list by name, each with why.
HARMLESS: dict[str, str] = {
    "carnet_check/certificates/file.py": "finds and reads certificates, which the kernel judges",
    "carnet_check/coq": "asks the program from Coq, which says for itself whether it accepts",
    "carnet_check/engines/interface.py": "what a task and an outcome are",
    "carnet_check/engines/runner.py": "in how many processes work is done",
    "carnet_check/errors.py": "errors",
    "carnet_check/exports/tptp.py": "writes the same obligations for E",
    "carnet_check/loading": "finds the specification, whose digest is shown, and instances of it",
    "carnet_check/results.py": "verdicts and their order",
    "carnet_check/commands/common.py": "options of commands",
    "carnet_command/exit_codes.py": "exit codes",
    "carnet_command/garbage.py": "how often Python looks for objects that nobody has any more",
    "carnet_command/files.py": "reads files, and says why it cannot",
    "carnet_command/interrupts.py": "ends what is interrupted",
    "carnet_command/progress.py": "says how far work is",
    "carnet_command/text.py": "words",
    "carnet_spec": "the language, and the protocols that are written in it",
}
CODE_OF_VERDICTS: dict[str, tuple[str, ...]] = {
    COMMON: ("carnet_check.engines.kernel.engine",),
    "To believe `carnet recheck`, without Coq": ("carnet_check.commands.recheck", "carnet_check.certificates.folder"),
}


def file_of(module: str) -> Path | None:
    places = (base / module.replace(".", "/") for base in BASES)
    every = (file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    return next((file for file in every if file.is_file()), None)


def imported(file: Path) -> Iterator[str]:
    """Yield the modules of Carnet that a file imports, in functions too."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def reached(*modules: str) -> set[str]:
    """Return the files that these modules import, and what those import, unless they are harmless."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        file = file_of(waiting.pop())
        if file is None or name_of(file) in found:
            continue
        found.add(name_of(file))
        if not _within(name_of(file), HARMLESS):
            waiting += imported(file)
    return found


def name_of(file: Path) -> str:
    base = next(base for base in BASES if file.is_relative_to(base))
    return file.relative_to(base).as_posix()


def _within(file: str, listed: dict[str, str] | set[str]) -> bool:
    return any(file == each or file.startswith(f"{each}/") for each in listed)


def believed(heading: str) -> set[str]:
    parts = {*TRUSTED[COMMON], *TRUSTED[heading]}
    return {path.removeprefix("model_check/").removeprefix("spec/") for path in parts}


@pytest.mark.parametrize("heading", CODE_OF_VERDICTS)
def test_whatever_is_imported_is_to_be_believed_or_harmless(heading: str) -> None:
    listed = believed(heading)
    strange = sorted(each for each in reached(*CODE_OF_VERDICTS[heading]) if not _within(each, listed | set(HARMLESS)))
    assert strange == []


def test_nothing_is_called_harmless_that_is_to_be_believed_or_imported_nowhere() -> None:
    every = set().union(*(reached(*modules) for modules in CODE_OF_VERDICTS.values()))
    for each in HARMLESS:
        assert any(_within(file, {each}) for file in every), each
        assert not any(_within(file, {each}) for heading in CODE_OF_VERDICTS for file in believed(heading)), each


def test_all_that_is_to_be_believed_is_imported() -> None:
    for heading, modules in CODE_OF_VERDICTS.items():
        files = reached(*modules, "carnet_check.engines.kernel.engine")
        for each in believed(heading):
            assert any(_within(file, {each}) for file in files), each


def test_the_page_names_what_is_to_be_believed() -> None:
    text = (ROOT / "docs" / "assurance" / "proofs.md").read_text("utf-8")
    for heading in CODE_OF_VERDICTS:
        for each in TRUSTED[heading]:
            assert f"`{Path(each).name}`" in text or each.partition("/")[2] in text, each


# -- every fault that was mended is held by a test, and every mark names a fault -------------------------


ADR = ROOT / "docs" / RECORDS
FAULT = Fault("X1", "high", "it said the wrong thing")
SMALL = Fault("X2", "low", "it left a file behind")


def test_every_fault_is_held_by_a_test_and_every_mark_names_a_fault() -> None:
    answered = (ROOT / "SECURITY.md").read_text("utf-8")
    assert gaps(read_faults(ROOT / "docs" / FAULTS), marks(ROOT / "tests"), answered, ADR) == []


def test_a_fault_that_no_test_holds_ends_the_build() -> None:
    with pytest.raises(SpecificationError, match="fault X1: no test"):
        mended([FAULT], {}, "")


def test_a_small_fault_may_be_answered_in_words_and_others_may_not() -> None:
    assert gaps([SMALL], {}, "**X2** stays, because.", ADR) == []
    assert gaps([FAULT], {}, "**X1** stays, because.", ADR) == ["fault X1: no test is marked as mending it"]


def test_a_fault_may_be_answered_by_a_decision_record_that_there_is(tmp_path: Path) -> None:
    decided = Fault("X3", "met by authors", "it could not say so", "0001-it-stays")
    assert gaps([decided], {}, "", tmp_path) == ["fault X3: there is no decision record 0001-it-stays"]
    (tmp_path / "0001-it-stays.md").write_text("# 1. It stays")
    text = mended([decided], {}, "", tmp_path)
    assert "| it could not say so | decided: {doc}`/adr/0001-it-stays` |" in text


def test_a_mark_of_no_fault_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_it.py").write_text("@pytest.mark.mends('X9')\ndef test_that() -> None: ...\n")
    held = marks(folder)
    assert held == {"X9": ["tests/test_it.py::test_that"]}
    assert gaps([], held, "", ADR) == ["tests/test_it.py::test_that: marked as mending X9, which no fault is called"]


def test_the_page_names_the_tests() -> None:
    text = mended([FAULT], {"X1": ["tests/test_it.py::test_that"]}, "")
    assert "| X1 | high | it said the wrong thing | `tests/test_it.py::test_that` |" in text


# -- the page on compositions shows every bond -----------------------------------------------------------


FOUND = compositions()


def implied(bond: BuiltBond) -> Judgement:
    return Judgement(bond.bond.name, BondStatus.IMPLIED)


def refused(bond: BuiltBond) -> Judgement:
    return Judgement(bond.bond.name, BondStatus.OPEN, ("it is not so",))


PAGE = compositions_page(FOUND, implied)


def test_every_bond_is_shown_with_both_formulas() -> None:
    for composition in FOUND:
        for bond in composition.build():
            assert f"\n### {bond.bond.name}\n" in PAGE
            for term in (*bond.assumed.values(), *bond.read.values()):
                assert "\n".join(show_lines(term)) in PAGE


def test_every_bond_is_drawn_as_an_arrow() -> None:
    drawn = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", PAGE, re.DOTALL)]
    assert len(drawn) == len(FOUND)
    for svg, composition in zip(drawn, FOUND, strict=True):
        assert len(svg.findall(".//{*}line")) == len(composition.bonds)
        assert len(svg.findall("{*}rect")) == 2


def test_every_assumption_that_is_left_open_is_listed_with_its_reason() -> None:
    for composition in FOUND:
        for each in composition.left_open:
            row = next(line for line in PAGE.splitlines() if line.endswith(f"| {each.why} |"))
            assert all(f"`{id} <" in row for id in each.ids)


def test_a_bond_that_does_not_hold_ends_the_build() -> None:
    with pytest.raises(ValueError, match="ring-of-travelling, bond 'certificates tell': it is not so"):
        compositions_page(FOUND, refused)
