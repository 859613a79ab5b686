"""Checks of the reference implementation, taken away one at a time: ``pytest -m slow tests/faults/test_removals.py``.

``python -m tests.faults.trying --out docs/results/removed-checks.csv`` writes the table that these tests read.
"""

import csv
import functools
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from carnet_ref.crypto.primitives import AesGcm, AuthenticationError
from tests.faults import trying, unverified

SHOWN = trying.ROOT / "docs" / "results" / "removed-checks.csv"
SOURCE = '''\
class Role:
    def take(self, message):
        """Take a message."""
        if message.size > 9:
            raise ProtocolError("too large")
        self.checks.require("fence-ack", "REQ-HOME-02", message.ok, saw=message, otherwise="no")
        found = checks.expect("scrub-ack", "REQ-SCRUB-03", self.open(message), Scrubbed, saw=message)
        if not self.checks.passes("lease", "REQ-RETURN-04", self.now <= self.end, saw=self.now):
            return None
        text = self.checks.verify("session-orders", "REQ-SESSION-01", lambda: self.open(message), saw=message)
        in_turn(lambda at: checks.require("mode-check", "REQ-SETUP-05", self.has(at), saw=message, otherwise="no"))
        verify_p384(self.key, message.signature, b"text", "proof")
        return self._cipher.decrypt(nonce, message.sealed, b"")
'''


@functools.cache
def checks() -> dict[trying.Name, trying.Removable]:
    return {trying.named(check): check for check in trying.removables()}


@pytest.fixture
def found(tmp_path: Path) -> list[trying.Removable]:
    file = tmp_path / "role.py"
    file.write_text(SOURCE)
    return trying.removables_in(file, tmp_path)


def test_every_kind_of_check_is_found_and_named(found: list[trying.Removable]) -> None:
    assert {check.place for check in found} == {"role.Role.take"}
    assert [(check.how, check.cites) for check in found] == [
        ("guard dropped", ()),
        ("call dropped", ("fence-ack", "REQ-HOME-02")),
        ("condition true", ("fence-ack", "REQ-HOME-02")),
        ("any kind taken", ("scrub-ack", "REQ-SCRUB-03")),
        ("condition true", ("scrub-ack", "REQ-SCRUB-03")),
        ("always passes", ("lease", "REQ-RETURN-04")),
        ("condition true", ("lease", "REQ-RETURN-04")),
        ("opened, not looked at", ("session-orders", "REQ-SESSION-01")),
        ("taken unverified", ("session-orders", "REQ-SESSION-01")),
        ("call dropped", ("mode-check", "REQ-SETUP-05")),
        ("condition true", ("mode-check", "REQ-SETUP-05")),
        ("call dropped", ()),
        ("tag not verified", ()),
    ]


def test_a_test_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_good(): pass\ndef test_bad(): assert False\n")
    (found,) = trying.forked(lambda: trying.failing(str(tmp_path / "test_it.py")))
    assert found.endswith("test_it.py::test_bad")


def test_a_check_is_removed_and_nothing_else(found: list[trying.Removable]) -> None:
    lines = SOURCE.splitlines()
    for check in found:
        without = check.removed_from(SOURCE)
        compile(without, "role.py", "exec")
        kept = [line for line in lines if line in without.splitlines()]
        assert len(lines) - len(kept) <= check.lines[1] - check.lines[0] + 1
    removed = {(check.how, check.cites[:1]): check.removed_from(SOURCE) for check in found}
    assert "found = self.open(message)" in removed["any kind taken", ("scrub-ack",)]
    assert "text = (lambda: self.open(message))()" in removed["opened, not looked at", ("session-orders",)]
    assert "if not True:" in removed["always passes", ("lease",)]
    assert "in_turn(lambda at: None)" in removed["call dropped", ("mode-check",)]


def test_a_check_may_stay_and_pass_whatever_it_sees(found: list[trying.Removable]) -> None:
    """Then it is logged as it was, so that only tests can notice."""
    without = {check.cites[0]: check.removed_from(SOURCE) for check in found if check.how in trying.UNSEEN}
    assert '"REQ-HOME-02", True, saw=message, otherwise="no")' in without["fence-ack"]
    assert '"REQ-RETURN-04", True, saw=self.now)' in without["lease"]
    assert "self.open(message), object, saw=message)" in without["scrub-ack"]
    assert (
        f"__import__('{trying.UNVERIFIED}', fromlist=['of']).of(lambda: self.open(message)), saw"
        in without["session-orders"]
    )


def test_what_is_taken_unverified_is_what_was_sealed_whatever_its_tag() -> None:
    cipher, nonce, out = AesGcm(bytes(32)), bytes(12), bytearray(5)
    sealed = cipher.encrypt(nonce, b"hello", b"about")

    def opened(message: bytes, about: bytes) -> bytes:
        return cipher.decrypt(nonce, message, about)

    for message, about in ((sealed, b"about"), (sealed[:-16] + bytes(16), b"about"), (sealed, b"another")):
        assert unverified.of(functools.partial(opened, message, about))() == b"hello"
    assert unverified.of(lambda: cipher.decrypt_into(nonce, sealed[:-16] + bytes(16), out))() == len(out)
    assert out == b"hello"
    with pytest.raises(AuthenticationError):
        cipher.decrypt(nonce, sealed)


def test_no_two_checks_have_one_name() -> None:
    assert len(checks()) == len(trying.removables()) > 200


def test_every_check_has_tests_that_are_asked_about_it() -> None:
    for check in checks().values():
        assert all((trying.ROOT / test).exists() for test in trying.asked_about(check.file)), check.file


def test_only_checks_that_a_run_goes_through_are_tried(found: list[trying.Removable]) -> None:
    first, *_ = found
    assert trying.gone_through(found, {first.file: [first.lines[0]]}) == [first]


# -- the table -----------------------------------------------------------------------------------------------------


def _shown() -> list[list[str]]:
    with SHOWN.open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    assert columns == trying.COLUMNS
    return rows


def _argued() -> dict[tuple[str, str, str], str]:
    listed = tomllib.loads(Path(__file__).with_name("survivors.toml").read_text("utf-8")).get("survivor", [])
    return {(each["check"], each["place"], each["how"]): each["argument"] for each in listed}


def test_a_part_that_is_not_there_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match=r"^nowhere\.py: not in "):
        trying.removables(parts=("wire.py", "nowhere.py"))
    assert {"carnet_ref/device.py", "carnet_ref/wire.py"} <= {check.file for check in trying.removables()}


def test_the_table_is_of_checks_that_are_there() -> None:
    """A check that changed is to be tried again."""
    assert not [row[:2] for row in _shown() if (row[0], row[1], row[3]) not in checks()]
    assert len(_shown()) >= 110


def test_what_nobody_noticed_is_argued_and_nothing_else_is() -> None:
    unnoticed = {(row[0], row[1], row[3]) for row in _shown() if not row[4]}
    argued = _argued()
    assert unnoticed == set(argued)
    assert all(len(argument) > 40 for argument in argued.values())


def test_the_checker_itself_notices_many() -> None:
    assert sum(row[4] == "conform" for row in _shown()) >= 20


# -- trying --------------------------------------------------------------------------------------------------------


def _try(out: Path, *words: str) -> list[list[str]]:
    command = [sys.executable, "-m", "tests.faults.trying", "--out", str(out), *words]
    subprocess.run(command, cwd=trying.ROOT, check=True, timeout=400 * trying.SECONDS)
    with out.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


@pytest.mark.timeout(4 * trying.SECONDS)
def test_without_the_enrolment_check_a_run_does_not_conform(tmp_path: Path) -> None:
    """One check, tried from scratch: without it nothing changes but that its event is missing."""
    (row,) = _try(tmp_path / "table", "--only", "roles/facts.py", "--text", "enrolment-check", "--how", "call dropped")
    assert row[4:] == ["conform", "admit: the check 'enrolment proof' (enrolment-check) was not made"]


@pytest.mark.slow
@pytest.mark.timeout(400 * trying.SECONDS)
def test_every_check_is_noticed_when_it_is_gone(tmp_path: Path) -> None:
    rows = _try(tmp_path / "table")
    assert {(row[0], row[1], row[3]) for row in rows if not row[4]} == set(_argued())
