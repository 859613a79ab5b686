"""The cache: an entry is believed only where it lies and as what it is, and it is the answer to one text alone."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from carnet_check import cache
from carnet_check.cache import LARGEST, AnswerCache, NotAnAnswerError, _canonical, _digest, open_folder, source_digest
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import cached_answer, keep_answer
from carnet_check.errors import UsageError

WHO = ("solver", "1.0")
PROVED = SolverAnswer("step/lend/secrecy", SolverOutcome.PROVED, ("inv:owned", "guard:fresh"), 3.0, 1)
NAMES = ("axiom:one", "inv:owned", "guard:fresh")


@pytest.fixture
def answers(tmp_path: Path) -> AnswerCache:
    found = AnswerCache(tmp_path, WHO)
    keep_answer(found, PROVED, "text", 7)
    return found


def asked(answers: AnswerCache, text: str = "text", budget: int = 7) -> SolverAnswer | None:
    return cached_answer(answers, "another/id", text, budget, NAMES)


def entry(folder: Path) -> Path:
    (file,) = folder.glob("*/*.json")
    return file


def test_an_answer_is_known_again_and_what_is_unknown_is_asked_again(answers: AnswerCache, tmp_path: Path) -> None:
    assert asked(answers) == SolverAnswer("another/id", SolverOutcome.PROVED, PROVED.core, 0.0, 1)
    assert answers.used.notes == ("1 of 1 answer came from the cache",)
    folder = tmp_path / "unknown"
    folder.mkdir()
    keep_answer(AnswerCache(folder, WHO), SolverAnswer("id", SolverOutcome.UNKNOWN, reason="memory"), "text", 7)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("changed", ["text", "budget", "version", "solver"])
def test_an_answer_is_to_one_text_by_one_solver_with_one_budget(answers: AnswerCache, changed: str) -> None:
    who = {"version": ("solver", "1.1"), "solver": ("other", "1.0")}.get(changed, WHO)
    other = AnswerCache(answers.folder, who)
    assert asked(other, "texts" if changed == "text" else "text", 8 if changed == "budget" else 7) is None
    assert other.used.notes == ("0 of 1 answer came from the cache",)


def rewritten(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Return what changes an entry and gives it the checksum that it should have then."""

    def change_it(file: Path) -> None:
        found = json.loads(file.read_text())
        del found["sum"]
        change(found)
        file.write_text(_canonical({**found, "sum": _digest(_canonical(found))}))

    return change_it


def moved(file: Path) -> None:
    """Put the answer to something else in its place."""
    other = AnswerCache(file.parents[1], WHO)
    before = set(file.parents[1].glob("*/*.json"))
    keep_answer(other, SolverAnswer("id", SolverOutcome.PROVED), "a weaker text", 7)
    (stranger,) = set(file.parents[1].glob("*/*.json")) - before
    stranger.replace(file)


def linked(file: Path) -> None:
    content = file.with_name("elsewhere")
    file.replace(content)
    file.symlink_to(content)


def piped(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def with_answer(**changes: object) -> Callable[[Path], None]:
    return rewritten(lambda found: found["answer"].update(changes))


BAD: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "cut off": (lambda file: file.write_bytes(file.read_bytes()[:-40]), "it is not written as an answer is"),
    "empty": (lambda file: file.write_bytes(b""), "it is not written as an answer is"),
    "not text": (lambda file: file.write_bytes(b"\xff\xfe"), "it is not written as an answer is"),
    "a list": (lambda file: file.write_text("[]"), "it is not written as an answer is"),
    "deep": (lambda file: file.write_text("[" * 100_000), "it is not written as an answer is"),
    "one letter": (lambda file: file.write_text(file.read_text().replace("fresh", "fresk")), "its checksum is not"),
    "large": (lambda file: file.write_bytes(b" " * (LARGEST + 1)), "it is larger than 16 MiB"),
    "another's": (moved, "it is the answer to something else"),
    "another format": (rewritten(lambda found: found.update(format="carnet-answer/0")), "the answer to something else"),
    "no answer": (rewritten(lambda found: found.pop("answer")), "it is not written as an answer is"),
    "another word": (with_answer(outcome="PROVED"), "it is not written as an answer is"),
    "unknown": (with_answer(outcome="unknown"), "it is not definite"),
    "a foreign core": (with_answer(core=["inv:nobody"]), "its core names what is no hypothesis"),
    "no core": (with_answer(core="inv:owned"), "its core names what is no hypothesis"),
    "a link": (linked, "too many levels of symbolic links"),
    "a pipe": (piped, "it is no plain file"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_entry_that_is_not_what_its_place_says_is_not_believed(name: str, answers: AnswerCache) -> None:
    spoil, why = BAD[name]
    file = entry(answers.folder)
    spoil(file)
    assert asked(answers) is None
    told, ignored = answers.used.notes
    assert told == "0 of 1 answer came from the cache"
    assert ignored.startswith(f"the cache is not believed where '{file}': ")
    assert why in ignored
    assert "\n" not in ignored


def test_an_entry_that_is_not_believed_is_written_anew_and_complaints_are_one_line(answers: AnswerCache) -> None:
    entry(answers.folder).write_text("{")
    assert asked(answers) is None
    keep_answer(answers, PROVED, "text", 7)
    assert asked(answers) is not None
    answers.used.wrong[:] = [f"{number}" for number in range(10)]
    assert answers.used.notes[1] == "the cache is not believed where 0; 1; 2 (and 7 more)"


@pytest.mark.timeout(10)
def test_nothing_is_written_to_a_pipe_that_nobody_reads(answers: AnswerCache) -> None:
    piped(entry(answers.folder))
    keep_answer(answers, PROVED, "text", 7)
    assert "cannot be written: it is no plain file" in " ".join(answers.used.notes)


def test_a_run_goes_on_where_nothing_can_be_written(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    answers = AnswerCache(place, WHO)
    keep_answer(answers, PROVED, "text", 7)
    assert asked(answers) is None
    assert "cannot be written: not a directory" in answers.used.notes[1]


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    assert open_folder(folder) == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    for mode in (0o770, 0o707):
        folder.chmod(mode)
        with pytest.raises(UsageError, match="expected a cache that no other user may write to"):
            open_folder(folder)
    with pytest.raises(UsageError, match="expected a folder for answers, and"):
        open_folder(Path(__file__))


def test_somebody_elses_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(UsageError, match="expected a cache that no other user may write to"):
        open_folder(tmp_path)


def test_answers_are_bound_to_the_code_that_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here/engines", "command", "spec/language", "spec/protocols"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "module.py").touch()
    monkeypatch.setattr("carnet_check.__file__", str(tmp_path / "here" / "__init__.py"))
    monkeypatch.setattr("carnet_command.__file__", str(tmp_path / "command" / "__init__.py"))
    monkeypatch.setattr("carnet_spec.__file__", str(tmp_path / "spec" / "__init__.py"))
    seen = [source_digest.__wrapped__()]
    for name in ("here/engines", "command", "spec/language"):
        (tmp_path / name / "module.py").write_text("changed = 1")
        seen.append(source_digest.__wrapped__())
    assert len(set(seen)) == 4
    (tmp_path / "spec/protocols/module.py").write_text("changed = 1")
    assert source_digest.__wrapped__() == seen[-1], "a specification is part of the text that is asked"
    (tmp_path / "spec/language/module.py").unlink()
    with pytest.raises(UsageError, match="expected Carnet's source code in"):
        source_digest.__wrapped__()


def test_what_no_reader_expects_is_not_swallowed(answers: AnswerCache) -> None:
    def broken(_: Mapping[str, Any]) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        answers.get("text", "7", broken)
    assert issubclass(NotAnAnswerError, Exception)


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_an_answer_in_a_folder_that_others_may_write_to_is_not_believed(answers: AnswerCache, mode: int) -> None:
    entry(answers.folder).parent.chmod(mode)
    assert asked(answers) is None
    assert "somebody else may write into its folder" in answers.used.notes[1]


# -- what this very code made before ---------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder in which what was made is kept, which is not that of who runs the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache._user_folder.cache_clear()
    yield tmp_path / "carnet" / "memoized"
    cache._user_folder.cache_clear()


def made(value: object, what: str = "numbers", text: str = "text") -> object:
    return cache.memoize(what, text, lambda: value, lambda kept: kept)


def test_what_was_made_is_not_made_again_and_keeps_the_order_of_its_names(home: Path) -> None:
    assert made({"b": 1, "a": [2]}) == {"b": 1, "a": [2]}
    again = made("not looked at")
    assert again == {"b": 1, "a": [2]}
    assert isinstance(again, dict)
    assert list(again) == ["b", "a"]
    assert made(3, what="others") == made(3, text="other text") == 3


def test_what_other_sources_made_is_not_believed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(cache.GENERATIONS + 2):
        monkeypatch.setattr(cache, "specification_digest", lambda number=number: str(number))
        cache._user_folder.cache_clear()
        assert made(number) == number
    assert len(list(home.iterdir())) == cache.GENERATIONS


@pytest.mark.parametrize("content", ["", "{", '{"answer": {"made": "2"}}'])
def test_a_damaged_entry_is_made_anew(home: Path, content: str) -> None:
    made(1)
    (file,) = home.glob("*/*/*.json")
    file.write_text(content)
    assert made(2) == 2
    assert made(3) == 2


def test_what_cannot_be_read_is_made_anew(home: Path) -> None:
    made("one")
    assert cache.memoize("numbers", "text", lambda: "2", int) == 2


@pytest.mark.parametrize("how", ["others may write", "no folder", "a relative folder"])
def test_where_nothing_is_believed_all_is_made(home: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "others may write":
        home.mkdir(parents=True)
        home.chmod(0o777)
    elif how == "no folder":
        home.parent.write_text("a file")
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert [made(1), made(2)] == [1, 2]
    assert not list(home.glob("*")) if home.is_dir() else True
