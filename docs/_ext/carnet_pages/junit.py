"""The recorded run of the tests: a JUnit file, in which each test says what requirements it verifies.

A test says so with the mark ``verifies("toy-REQ-ONE", "toy-CLAIM-TWO")``, or, where only the test knows, with
``record_property("verifies", "toy-REQ-ONE, toy-CLAIM-TWO")``. ``toy`` is the protocol: another one may use the same
ids. The record holds these tests alone, and the digests of the specifications that they were about.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from .markdown import label

JUNIT = "results/tests.xml"  #: Beside ``conf.py``.
VERIFIES = "verifies"
#: What the names of a suite's properties begin with that give digests; ``protocol/variant`` follows.
DIGEST = "spec_digest "
FAILED = ("failure", "error", "skipped")


@dataclass(frozen=True, slots=True)
class Ran:
    """A test that was run."""

    suite: str
    classname: str
    name: str
    verifies: tuple[str, ...]
    passed: bool = True

    @property
    def id(self) -> str:
        """The id of its need."""
        return label("test", self.classname.removeprefix("tests."), self.name)

    @property
    def title(self) -> str:
        """What it says, as a sentence; after a colon the row of its table."""
        name, _, row = self.name.removeprefix("test_").partition("[")
        said = name.replace("_", " ")
        return said[:1].upper() + said[1:] + (f": {row.removesuffix(']')}" if row else "")


@dataclass(frozen=True, slots=True)
class TestRun:
    """What ran, and the specifications that it was about: digests by ``protocol/variant``."""

    __test__ = False
    cases: tuple[Ran, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    def of(self, id: str) -> tuple[Ran, ...]:
        """Return the tests that verify a requirement, by the id of its need, and passed."""
        return tuple(case for case in self.cases if case.passed and id in case.verifies)


def read(path: Path) -> TestRun:
    """Return what a JUnit file says; nothing ran where there is none.

    Raises xml.etree.ElementTree.ParseError if it is not XML.
    """
    if not path.is_file():
        return TestRun()
    root = ElementTree.parse(path).getroot()
    found = [case for suite in root.iter("testsuite") for case in _cases(suite)]
    properties = [each for suite in root.iter("testsuite") for each in _properties(suite)]
    return TestRun(tuple(found), {name[len(DIGEST) :]: value for name, value in properties if name.startswith(DIGEST)})


def kept(printed: ElementTree.Element, digests: Mapping[str, str], command: str) -> ElementTree.Element:
    """Return what is kept of what pytest wrote: the tests that verify something, without times and places."""
    cases = [case for case in printed.iter("testcase") if _verified(case)]
    failed = {kind: sum(case.find(kind) is not None for case in cases) for kind in FAILED}
    counts = {"errors": failed["error"], "failures": failed["failure"], "skipped": failed["skipped"]}
    suite = ElementTree.Element("testsuite", {"name": "pytest", **{name: str(each) for name, each in counts.items()}})
    suite.set("tests", str(len(cases)))
    about = ElementTree.SubElement(suite, "properties")
    for name, value in {"command": command, **{f"{DIGEST}{name}": value for name, value in digests.items()}}.items():
        ElementTree.SubElement(about, "property", {"name": name, "value": value})
    suite.extend(map(_case, cases))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return root


def _case(printed: ElementTree.Element) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {name: printed.get(name, "") for name in ("classname", "name")})
    properties = ElementTree.SubElement(case, "properties")
    ElementTree.SubElement(properties, "property", {"name": VERIFIES, "value": ", ".join(_verified(printed))})
    case.extend(part for kind in FAILED for part in printed.findall(kind))
    return case


def _cases(suite: ElementTree.Element) -> Iterator[Ran]:
    for case in suite.findall("testcase"):
        failed = any(case.find(kind) is not None for kind in FAILED)
        place = suite.get("name", ""), case.get("classname", ""), case.get("name", "")
        yield Ran(*place, _verified(case), passed=not failed)


def _verified(case: ElementTree.Element) -> tuple[str, ...]:
    said: Iterable[str] = (value for name, value in _properties(case) if name == VERIFIES)
    return tuple(id for value in said for id in value.replace(",", " ").split())


def _properties(element: ElementTree.Element) -> list[tuple[str, str]]:
    return [(each.get("name", ""), each.get("value", "")) for each in element.findall("properties/property")]
