"""Bad input of any kind gives one line that says what was expected and what came, and writes nothing."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from carnet_check.certificates.file import BadCertificateFile, read
from carnet_check.cli import main
from tests.fixtures import nvidia_pki
from tests.unit.model_check.command import FIXTURES, TOY, WIDE, carnet, control

BAD = {
    "unknown protocol": (["verify", "gpu-traveling"], "no protocol 'gpu-traveling'", "did you mean 'gpu-travelling'"),
    "unknown command": (["verfy"], "No such command 'verfy'", ""),
    "unknown option": (["verify", TOY, "--fast"], "No such option", "--fast"),
    "unknown claim": (["verify", TOY, "--claim", "secrecies"], "no claim 'secrecies'", "did you mean 'secrecy'"),
    "unknown threat": (["verify", TOY, "--threat", "aliens"], "no threat model 'aliens'", "collusion"),
    "unknown variant": (["verify", TOY, "--variant", "x"], "no variant 'x'", "forgetful"),
    "unknown profile": (["verify", TOY, "--profile", "huge"], "no profile 'huge'", "tiny"),
    "unknown engine": (["verify", TOY, "--engine", "magic"], "'magic' is not one of", "explicit"),
    "declared claim": (["verify", TOY, "--claim", "punctual"], "declared but not stated yet", ""),
    "combination": (["verify", TOY, "--variant", "forgetful", "--threat", "collusion", "--engine", "induction"],
        "expected to be violated", "explicit or native or bmc engine"),
    "zero jobs": (["verify", TOY, "--jobs", "0"], "at least 1, not 0", ""),
    "negative jobs": (["verify", TOY, "--jobs", "-2"], "at least 1, not -2", ""),
    "no number": (["verify", TOY, "--jobs", "two"], "not 'two'", ""),
    "zero states": (["explore", TOY, "--max-states", "0"], "at least 1, not 0", ""),
    "zero holders": (["explore", TOY, "--holders", "0"], "at least 1, not 0", ""),
    "negative rounds": (["explore", TOY, "--rounds", "-1"], "at least 1, not -1", ""),
    "size without value": (["explore", TOY, "--set", "Key"], "NAME=VALUE", "not 'Key'"),
    "size of zero": (["explore", control("sound"), "--set", "Party=0"], "at least 1", "Party=0"),
    "unknown size": (["explore", control("sound"), "--set", "Moon=2"], "no size 'Moon'", "Party"),
    "size that another protocol has": (["explore", TOY, "--holders", "3"], "no size 'holders' in toy", "borrowers"),
    "rounds that a protocol lacks": (["explore", TOY, "--rounds", "7"], "no size 'rounds' in toy", "known: borrowers"),
    "size that nothing depends on": (["explore", TOY, "--set", "nonsense=3"], "no size 'nonsense'", "known: borrowers"),
    "size that the family refuses": (["explore", "gpu-travelling", "--set", "x=3"], "no size 'x'", "; known: holders"),
    "contradicting sizes": (["explore", TOY, "--rounds", "1", "--set", "rounds=2"], "given twice", ""),
    "two claims to attack": (["attack", TOY, "--variant", "forgetful", "--claim", "secrecy", "--claim", "once"],
        "--claim takes one value: expected it once, not 2 times", ""),
    "option with one value, twice": (["verify", TOY, "--jobs", "1", "--jobs=1"], "--jobs takes one value", "2 times"),
    "nothing to attack": (["attack", TOY], "--without DEFENCE[,DEFENCE] (fresh-key", "--variant NAME"),
    "unknown defence": (["attack", TOY, "--without", "fresh-keys"], "no defence 'fresh-keys'", "'fresh-key'"),
    "defence twice": (["attack", TOY, "--variant", "forgetful", "--without", "fresh-key"], "lacks defence", ""),
    "empty defence": (["attack", TOY, "--without", "fresh-key,,"], "separated by commas", ""),
    "claim not made there": (["attack", control("sound"), "--variant", "main", "--threat", "x"], "no threat model", ""),
    "unknown id": (["explain", "nonsense", "--protocol", TOY], "no id 'nonsense'", "toy"),
    "missing file": (["verify", "missing.py"], "expected a Python file", "does not exist"),
    "missing module": (["verify", "no_such_module:draft"], "no module 'no_such_module'", ""),
    "missing name": (["verify", TOY + ":nothing"], "has no 'nothing'", ""),
    "not a protocol": (["verify", TOY + ":lender"], "expected a Family, a Draft", "Agent"),
    "several protocols": (["verify", control("").removesuffix(":")], "several protocols", "wrong_claim"),
    "folder for a file": (["verify", TOY, "--junit", "/"], "is a folder", ""),
    "folder of the file missing": (["verify", TOY, "--junit", "/no/such/place/x.xml"], "does not exist", ""),
    "unwritable folder": (["verify", TOY, "--out", "/proc/carnet"], "can be written to", "/proc/carnet"),
    "file for a folder": (["verify", TOY, "--out", TOY], "can be written to", "not a directory"),
}  # fmt: skip


@pytest.mark.mends("P8")
@pytest.mark.parametrize("name", BAD)
def test_one_line_says_what_was_expected_and_what_came(name: str) -> None:
    arguments, *said = BAD[name]
    ran = carnet(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("carnet: ")
    assert all(text in line for text in said), line


@pytest.mark.parametrize("name", BAD)
def test_with_json_a_failure_is_one_object(name: str) -> None:
    ran = carnet(*BAD[name][0], "--json")
    assert ran.code == 2
    assert ran.json.keys() == {"error"}
    assert ran.json["error"].keys() == {"kind", "message"}
    assert ran.json["error"]["kind"] == "usage"


FILES = {
    "not Python": ("def (\n", "is not:"),
    "not text": ("\0\1\2", "is not"),
    "no protocol in it": ("x = 1\n", "found none"),
    "fails on import": ("1 / 0\n", "ZeroDivisionError"),
    "exits on import": ("raise SystemExit(7)\n", "exits when it is imported"),
    "fails when traced": ("def draft():\n    return undefined\n", "draft.py:2: NameError"),
    "returns something else": ("def draft():\n    return 3\n", "gives a int"),
    "wants too much": ("def draft(a, b):\n    return 3\n", "a variant's name or nothing"),
}


@pytest.mark.mends("P8")
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_holds_no_protocol_is_refused(name: str, tmp_path: Path) -> None:
    content, said = FILES[name]
    file = tmp_path / "draft.py"
    file.write_text(content)
    ran = carnet("verify", str(file))
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert said in line


MISUSE = """
from carnet_spec.language import Draft, Individual, Kind, Role, relation
class Thing(Individual): pass
red = relation("red", Thing, kind=Kind.PUBLIC)
def draft():
    made = Draft("misused", "Misused")
    @made.action(by=Role("someone"), says="{a}", source="here")
    def act(step, a: Thing):
        if red(a):
            step.insert(red(a))
    return made
"""


@pytest.mark.mends("P8")
def test_a_misuse_of_the_language_names_the_line_and_what_to_write(tmp_path: Path) -> None:
    file = tmp_path / "misused.py"
    file.write_text(MISUSE)
    ran = carnet("verify", str(file), "--json")
    assert ran.code == 2
    assert ran.json["error"]["kind"] == "specification"
    assert "misused.py:9: " in ran.json["error"]["message"]
    assert "write & for 'and'" in ran.json["error"]["message"]


MISUSES = {
    'red = relation("red", int, kind=Kind.PUBLIC)': "red: the class int is no sort: declare one",
    'red = relation("red", "Thing", kind=Kind.PUBLIC)': "red: 'Thing' names a sort and is none",
    'red = relation("red", Thing)': "relation lacks 'kind': write relation(name, domain, kind=…)",
    "step.require(a)": "step.require lacks 'formula': write step.require(name, formula)",
    'step.require("a", a)': "act: guard 'a' needs a formula, not a Thing",
    'step.require("a", SOMEONE)': "act: guard 'a' needs a formula, not the role 'someone'",
    "step.insert(red(SOMEONE))": "argument 1 of red must be a Thing, not the role 'someone'",
}


@pytest.mark.mends("P8")
@pytest.mark.parametrize("wrong", MISUSES)
def test_what_was_written_in_place_of_what_is_said_as_the_author_says_it(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "misused.py"
    text = MISUSE.replace("        if red(a):\n            step.insert(red(a))", "        step.insert(red(a))")
    text = text.replace("def draft", 'SOMEONE = Role("someone")\ndef draft')
    kept = 'red = relation("red", Thing, kind=Kind.PUBLIC)' if wrong.startswith("red") else "step.insert(red(a))"
    file.write_text(text.replace(kept, wrong))
    line = file.read_text().splitlines().index(wrong if wrong.startswith("red") else f"        {wrong}") + 1
    ran = carnet("verify", str(file))
    assert (ran.code, ran.err) == (
        2,
        f"carnet: misused.py:{line}: {MISUSES[wrong]}{ran.err.partition(MISUSES[wrong])[2]}",
    )


UNWRITABLE = {
    "as JSON": ("verify", TOY, "--engine", "explicit", "--json"),
    "for people": ("verify", TOY, "--engine", "explicit"),
    "an attack": ("attack", TOY, "--without", "fresh-key", "--json"),
    "an error": ("verify", "no-such-protocol", "--json"),
}
CARNET = [sys.executable, "-c", "from carnet_check.cli import main; main()"]


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("command", UNWRITABLE)
def test_output_that_is_not_written_is_no_verdict(command: str, buffered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", buffered)
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [*CARNET, *UNWRITABLE[command]], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    said = "no protocol" if command == "an error" else "cannot write the output: No space left on device"
    assert (ran.returncode, ran.stderr.splitlines()[-1].partition(said)[:2]) == (2, ("carnet: ", said))
    assert "Traceback" not in ran.stderr


def test_a_closed_output_is_refused_at_once_and_a_closed_error_output_is_not_needed() -> None:
    command = [*CARNET, "explain", "secrecy", "--protocol", TOY]
    shell = 'exec "$@" >&-'
    ran = subprocess.run(["/bin/sh", "-c", shell, "sh", *command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.strip().count("\n")) == (2, 0)
    assert "standard output is closed: send it to a file" in ran.stderr
    shell = 'exec "$@" 2>&-'
    ran = subprocess.run(["/bin/sh", "-c", shell, "sh", *command], capture_output=True, text=True, check=False)
    assert (ran.returncode, "secrecy" in ran.stdout) == (0, True)


def test_output_of_a_protocol_file_stays_off_standard_output(tmp_path: Path) -> None:
    file = tmp_path / "chatty.py"
    file.write_text("print('hello')\nfrom tests.fixtures.controls import sound as draft\n")
    ran = carnet("explain", "one-holder", "--protocol", f"{file}:draft", "--json")
    assert ran.code == 0
    assert ran.json["id"] == "one-holder"


def test_an_unexpected_failure_is_one_line_and_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from carnet_check.loading import families

    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(families, "_family_in", broken)
    families.load.cache_clear()  # another test may have loaded the protocol
    ran = carnet("verify", TOY + ":FAMILY", "--json")
    assert ran.code == 5
    assert ran.json["error"]["kind"] == "internal"
    assert len(ran.err.splitlines()) == 1


def test_a_swallowed_interrupt_still_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from carnet_check.engines.explicit import bounds

    def swallowing(*_: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(bounds.Watch, "report", swallowing)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert carnet("explore", WIDE, "--max-states", "100000", "--json").code == 130
    finally:
        signal.signal(signal.SIGINT, before)


#: The command; tests that run in the background inherit that interrupts are ignored.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from carnet_check.cli import main
main()
"""


@pytest.mark.parametrize("wait", [0.0, 0.5, 3.0], ids="after {} s".format)
@pytest.mark.parametrize("engine", ["verify", "explore"])
def test_an_interrupt_writes_nothing_and_exits_130(engine: str, wait: float, tmp_path: Path) -> None:
    out = tmp_path / "out"
    keep = (
        ["--out", str(out), "--junit", str(tmp_path / "junit.xml"), "--engine", "explicit"]
        if engine == "verify"
        else []
    )
    command = ["-c", INTERRUPTIBLE, engine, WIDE, *keep, "--json"]
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    process.stderr.readline()
    time.sleep(wait)
    os.killpg(process.pid, signal.SIGINT)
    out_text, err_text = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "Traceback" not in err_text
    assert json.loads(out_text)
    assert list(tmp_path.iterdir()) == []


def test_whoever_is_read_by_nobody_says_that_nobody_was_told() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from carnet_check.cli import main; main(prog_name='carnet')", "list"]
    try:
        ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_help_is_quick_because_nothing_slow_is_imported() -> None:
    slow = ("z3", "numpy", "cryptography", "carnet_spec.language")
    check = f"import sys; sys.exit(', '.join(name for name in {slow} if name in sys.modules) or 0)"
    code = f"from carnet_check.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    {check}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "verify" in ran.stdout


@pytest.mark.parametrize("words", [("verify", TOY), ("explore", TOY), ("explore", TOY, "--simulate", "1")])
def test_a_small_search_imports_no_numpy(words: tuple[str, ...]) -> None:
    check = "assert 'numpy' not in sys.modules"
    code = f"import sys\nfrom carnet_check.cli import main\ntry:\n    main({words})\nfinally:\n    {check}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, "AssertionError" in ran.stderr) == (0, False)


def test_other_packages_add_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    import click

    @click.command(help="Say hello.")
    def hello() -> int:
        click.echo("hello")
        return 3

    class Entry:
        name = "hello"

        def load(self) -> click.Command:
            return hello

    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: [Entry()] if group == "carnet.commands" else []
    )
    assert carnet("hello").out == "hello\n"
    assert carnet("hello").code == 3
    assert "Say hello." in carnet("--help").out
    assert main.get_command(click.Context(main), "verify") is not None


STRANGE = ("\x1b", "\u202e", "\x9b", "\x07")


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    return tmp_path / "tickets" / "protocol.py"


COMMANDS = {"verify": (), "attack": ("--without", "fresh-ticket", "--mermaid")}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_text_of_a_protocol_moves_the_cursor(tickets: Path, command: str) -> None:
    strange = "".join(STRANGE).encode("unicode_escape").decode("ascii")
    changed = tickets.read_text("utf-8")
    for said in ("The office issues", "any guest may be", "Tickets"):
        changed = changed.replace(f'"{said}', f'"{strange}{said}')
    assert changed.count(strange) >= 2
    tickets.write_text(changed, "utf-8")
    ran = carnet(command, str(tickets), *COMMANDS[command])
    assert "\\x1b" in ran.out + ran.err
    assert not [each for each in STRANGE if each in ran.out + ran.err]


@pytest.mark.parametrize("name", ["a | b", "a \\ b"])
def test_a_name_that_no_obligation_can_have_is_refused_at_its_line(tickets: Path, name: str) -> None:
    text = tickets.read_text("utf-8")
    tickets.write_text(text.replace('"both corrupt"', repr(name)), "utf-8")
    line = text[: text.index('"both corrupt"')].count("\n") + 1
    for command in (("verify",), ("attack", "--without", "fresh-ticket")):
        ran = carnet(command[0], str(tickets), *command[1:])
        assert ran.code == 2
        assert f"protocol.py:{line}: pass_on: no proof obligation can write '{name}'" in " ".join(ran.err.split())


CERTIFICATES = FIXTURES / "toy.certificates.json.xz"


@pytest.mark.mends("N4")
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii", "utf-8"])
def test_every_encoding_is_written(encoding: str, tmp_path: Path) -> None:
    script = f"from carnet_check.cli import main; main(['verify', {control('sound')!r}])"
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=tmp_path, capture_output=True, check=False
    )
    assert (ran.returncode, b"internal error" in ran.stderr) == (0, False)
    assert b"every verdict as expected" in ran.stdout


def test_what_mutate_cannot_do_is_refused_before_anything_is_said(tmp_path: Path) -> None:
    ran = carnet("mutate", TOY, "--only", "len/", "--out", str(tmp_path / "out"))
    assert (ran.code, ran.out) == (2, "")
    assert "no mutant that begins 'len/'" in ran.err
    assert "lend" in ran.err
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("kept")
    ran = carnet("mutate", TOY, "--out", str(tmp_path / "file"))
    assert (ran.code, ran.out) == (2, "")
    assert (tmp_path / "file").read_text() == "kept"


def test_an_empty_name_is_none_and_a_shard_judges_nothing_strictly(tickets: Path, tmp_path: Path) -> None:
    ran = carnet("verify", TOY, "--cti", "")
    assert (ran.code, "--cti expects the name of a lemma or claim" in ran.err) == (2, True)
    ran = carnet("verify", str(tickets), "--shard", "1/2", "--cache", str(tmp_path / "cache"), "--strict")
    assert ran.code == 2
    assert "a shard has none" in ran.err


@pytest.mark.parametrize(("engine", "named"), [("kernel", False), ("explicit", True)])
def test_no_solver_is_named_where_none_was_asked(engine: str, named: bool) -> None:
    versions = carnet("verify", TOY, "--engine", engine, "--json").json["run"]["versions"]
    assert ("z3" in versions) is named
    assert {"carnet", "python"} <= set(versions)


def test_what_an_engine_needs_is_named() -> None:
    pytest.importorskip("cvc5", reason="the extra 'cvc5' is not installed")
    assert "cvc5" in carnet("verify", TOY, "--engine", "cvc5", "--json").json["run"]["versions"]


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [(lambda data: data[: len(data) // 2], "it is cut off"), (lambda data: data + b"x", "something follows after")],
    ids=["cut off", "longer"],
)
def test_what_is_wrong_with_a_file_of_certificates_is_said_with_what_to_do(spoilt: object, said: str) -> None:
    assert callable(spoilt)
    with pytest.raises(BadCertificateFile, match=f"{said}.*delete it, and `carnet certify` makes it again"):
        read(spoilt(CERTIFICATES.read_bytes()))


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_half_of_a_surrogate_pair_is_refused_in_every_locale(
    whole: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    folder = tmp_path / "spoilt"
    shutil.copytree(whole, folder)
    text = (folder / "index.csv").read_text("utf-8")
    (folder / "index.csv").write_text(re.sub(r'"\[""[^\n]*\]"', r'"[""\\ud800""]"', text, count=1), "utf-8")
    assert (folder / "index.csv").read_text("utf-8") != text
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONIOENCODING", "PYTHONUTF8"}}
    script = "from carnet_check.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", script, "recheck", str(folder), *more],
        env={**environment, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, b"internal" in ran.stderr + ran.stdout) == (1, False)


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def in_ascii(*words: str) -> subprocess.CompletedProcess[str]:
    """Run ``carnet`` where the locale has no character but ASCII's, as in small containers."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    command = [sys.executable, "-c", "from carnet_check.cli import main; main()", *words]
    return subprocess.run(command, env=environment | ASCII, capture_output=True, text=True, check=False)


def test_an_ascii_locale_is_one() -> None:
    """Without this, the tests below would not have noticed anything."""
    script = "import locale; print(locale.getpreferredencoding(False))"
    ran = subprocess.run([sys.executable, "-c", script], env=os.environ | ASCII, capture_output=True, check=True)
    assert ran.stdout.strip() in (b"ANSI_X3.4-1968", b"US-ASCII")


@pytest.mark.parametrize("changed", [False, True])
def test_reference_values_are_accepted_by_their_signature_in_every_locale(changed: bool, tmp_path: Path) -> None:
    world = nvidia_pki.world()
    rim = world.rims()[0]
    (tmp_path / "rim").write_bytes(rim.replace(b'index="9"', b'index="90"', 1) if changed else rim)
    (tmp_path / "roots").write_bytes(nvidia_pki.pem([world.root.certificate, world.rim_root.certificate]))
    roots = ["--trust-anchor", str(tmp_path / "roots"), "--at", f"{nvidia_pki.AT:%Y-%m-%dT%H:%M:%SZ}"]
    ran = in_ascii("attest", "rim", str(tmp_path / "rim"), *roots)
    assert (ran.returncode, ran.stderr) == (int(changed), "")
    assert ("REFUSED at signature" in ran.stdout, "codec" in ran.stdout) == (changed, False)


def test_gpus_travel_in_every_locale() -> None:
    ran = in_ascii("run", "--holders", "2", "--rounds", "2")
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--markdown"])
def test_verify_does_not_write_over_the_protocol(tickets: Path, option: str) -> None:
    before = tickets.read_bytes()
    ran = carnet("verify", str(tickets), option, str(tickets))
    assert (ran.code, tickets.read_bytes()) == (2, before)
    assert f"{option} would write over '{tickets}', which is read" in ran.err


@pytest.mark.parametrize("option", ["--as-test", "--itf"])
def test_attack_does_not_write_over_the_protocol(tickets: Path, option: str) -> None:
    before = tickets.read_bytes()
    there = tickets.parent / ".." / "tickets" / "protocol.py"
    ran = carnet("attack", str(tickets), "--without", "fresh-ticket", option, str(there))
    assert (ran.code, tickets.read_bytes()) == (2, before)
    assert "which is read" in ran.err


def test_two_outputs_are_two_files(tickets: Path, tmp_path: Path) -> None:
    one = str(tmp_path / "one")
    for command in (
        ("verify", str(tickets), "--junit", one, "--sarif", one),
        ("attack", str(tickets), "--without", "fresh-ticket", "--itf", one, "--as-test", one),
    ):
        ran = carnet(*command)
        assert ran.code == 2
        assert "write to one file" in ran.err
        assert not Path(one).exists()


def test_a_result_is_written_over_neither_key_nor_evidence(tmp_path: Path) -> None:
    key, evidence = tmp_path / "key.pem", tmp_path / "evidence"
    key.write_text("a key")
    evidence.write_text("evidence")
    for ear in (key, evidence):
        ran = carnet("attest", "snp", str(evidence), "--ear", str(ear), "--key", str(key))
        assert ran.code == 2
        assert f"--ear would write over '{ear}', which is read" in ran.err
    assert (key.read_text(), evidence.read_text()) == ("a key", "evidence")
