"""What names stand for beside the claims: to find that out changes no profiler or tracer of the run."""

import cProfile
import pstats
import sys
from pathlib import Path
from types import FrameType

from carnet_check.loading.families import load
from carnet_check.suggestion.scope import scope_of_claims
from carnet_check.suggestion.source_text import AuthorNames
from tests.unit.model_check.command import FIXTURES

DEPOT = load(str(FIXTURES / "depot.py"))


def _after() -> None:
    """Run after the names were looked at."""


def test_the_local_names_beside_the_claims_are_found() -> None:
    assert {"draft", "variant"} <= scope_of_claims(DEPOT, "chief").keys()


ONCE = """
from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, relation

class Thing(Individual):
    \"\"\"A thing.\"\"\"

BELT = Role("belt")
seen = relation("seen", Thing, kind=Kind.STATE, of=BELT)

def once(variant="main"):
    d = Draft("once", "Made once", variant)
    d.threat("anyone", "nothing is assumed")

    @d.action(by=BELT, says="see {t}", source="example")
    def see(step: Step, t: Thing) -> None:
        step.insert(seen(t))

    @d.claim(name="blind", sentence="Nothing is seen.", requirement="R", source="example", under=("anyone",))
    def blind(t: Thing) -> Formula:
        return ~seen(t)

    return d

main = once()
other = once("other")
"""


def test_the_function_of_a_draft_that_was_made_once_is_called_again(tmp_path: Path) -> None:
    """What is pasted beside the claims stands in the function, where the module's name of the draft is not bound."""
    (tmp_path / "once.py").write_text(ONCE, encoding="utf-8")
    source = load(f"{tmp_path / 'once.py'}:main")
    names = AuthorNames.beside_claims(source, source.protocol())
    assert names.draft == "d"
    assert names.scope["variant"] == "main"


def test_a_profiler_goes_on_after_the_names_were_looked_at() -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        scope = scope_of_claims(DEPOT, "chief")
        _after()
    finally:
        profiler.disable()
    assert "draft" in scope
    assert any(name == _after.__name__ for _, _, name in pstats.Stats(profiler).stats)  # type: ignore[attr-defined] # typeshed leaves it out


def test_a_profile_function_stays_in_place() -> None:
    calls: list[str] = []

    def watch(frame: FrameType, event: str, argument: object) -> None:
        calls.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        scope = scope_of_claims(DEPOT, "chief")
        assert sys.getprofile() is watch
        _after()
    finally:
        sys.setprofile(before)
    assert "draft" in scope
    assert _after.__name__ in calls
