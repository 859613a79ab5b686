"""A claims file is read as it is written; one that names nothing, contradicts itself or has unknown keys is refused."""

import re

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.systems.verifiable_fl.claims_file import SCHEMA, ClaimsError, parse_claims
from carnet_ref.systems.verifiable_fl.evidence import Level, point_of
from tests.repo.tracked import ROOT

D = "ab" * 48
GOOD = f"""
level = 1

[trust]
at = 2026-01-01T00:00:00Z

[[exclave]]
name = "a"
kind = "tdx"
measurement = "{D}"
level = 3

[[exclave]]
name = "b"
kind = "nvidia-gpu"
measurement = "550.90.07 96.00.9F.00.01"

[[source]]
name = "raw"
by = "a"
digest = "{D}"

[[task]]
name = "clean"
by = ["a"]
code = ["{D}"]
gives = "data"
reads = {{ raw = ["source"] }}
count = 2

[[task]]
name = "train"
by = ["b"]
code = ["{D}"]
gives = "model"
reads = {{ data = ["clean"] }}

[order]
task = "clean"
by = ["a", "a"]

[result]
task = "train"
digest = "{D}"
over = ["data"]
"""
POINT = point_of(ec.derive_private_key(7, ec.SECP256R1()))
SHORT = ec.derive_private_key(7, ec.SECP256R1()).public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


def keyed(*points: bytes) -> str:
    """Return claims with one more exclave for each of these keys."""
    rows = [f'[[exclave]]\nname = "k{n}"\nkind = "key"\nmeasurement = "{p.hex()}"\n' for n, p in enumerate(points)]
    return GOOD.replace("[[source]]", "\n".join([*rows, "[[source]]"]), 1)


def test_claims_are_read_as_they_are_written() -> None:
    claims = parse_claims(GOOD.encode())
    assert claims.level is Level.LINKED
    assert list(claims.exclaves) == ["a", "b"]
    assert [each.level for each in claims.exclaves.values()] == [Level.EXCLAVE, Level.LINKED]
    assert claims.sources == {("a", "raw"): {D}}
    assert claims.tasks["clean"].count == 2
    assert claims.tasks["train"].reads == {"data": {"clean"}}
    assert claims.order is not None
    assert claims.order.by == ("a", "a")
    assert claims.result is not None
    assert claims.result.digest == D
    assert claims.result.over == {"data"}


def test_a_key_is_read_as_it_is_written() -> None:
    assert parse_claims(keyed(POINT).encode()).exclaves["k0"].measurement == POINT.hex()


BAD: dict[str, str | bytes] = {
    "nothing": "",
    "no TOML": "level = ",
    "no UTF-8": b"level = 1 # \xff",
    "an unknown key": GOOD.replace("level = 1", "level = 1\ncolour = 2"),
    "an unknown table": GOOD + "[colours]\nred = 1\n",
    "an unknown key of a task": GOOD.replace("count = 2", "counts = 2"),
    "a level that is none": GOOD.replace("level = 1", "level = 4"),
    "a level that promises nothing": GOOD.replace("level = 1", "level = 0"),
    "no level": GOOD.replace("level = 1", ""),
    "a level that no GPU reaches": GOOD.replace("96.00.9F.00.01", '96.00.9F.00.01"\nlevel = 2 #"'),
    "a level of an exclave that is none": GOOD.replace("level = 3", "level = 4"),
    "a time without a zone": GOOD.replace("00:00Z", "00:00"),
    "roots that are none": GOOD.replace("00:00Z", '00:00Z\nroots = "x"'),
    "no trust": GOOD.replace("[trust]", "[result2]"),
    "no exclave": re.sub(r"\[\[exclave\]\](\n.+)+", "", GOOD),
    "no task": re.sub(r"\[\[task\]\](\n.+)+", "", GOOD),
    "an exclave twice": GOOD.replace('name = "b"', 'name = "a"'),
    "a kind that is none": GOOD.replace('"tdx"', '"sgx"'),
    "a measurement that is none": GOOD.replace(f'measurement = "{D}"', 'measurement = "ab"'),
    "registers without a space": GOOD.replace(f'measurement = "{D}"', f'measurement = "{D}{D}"'),
    "more registers than there are": GOOD.replace(f'measurement = "{D}"', f'measurement = "{" ".join([D] * 6)}"'),
    "no register": GOOD.replace(f'measurement = "{D}"', 'measurement = " "'),
    "one version alone": GOOD.replace("550.90.07 ", ""),
    "versions that are none": GOOD.replace("550.90.07 96.00.9F.00.01", "1 2"),
    "versions below zero": GOOD.replace("550.90.07 96.00.9F.00.01", "-1 -1"),
    "versions and more": GOOD.replace("9F.00.01", "9F.00.01 1"),
    "a time before all others": GOOD.replace("2026-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00"),
    "a time after all others": GOOD.replace("2026-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"),
    "roots, and a time before all others": GOOD.replace(
        "2026-01-01T00:00:00Z", '0001-01-01T00:00:00+01:00\nroots = "x"'
    ),
    "a key under two names": keyed(POINT, POINT),
    "a key written short": keyed(SHORT),
    "a key that is no point": keyed(bytes(65)),
    "a key that is cut": keyed(POINT[:-1]),
    "a task twice": GOOD.replace('name = "train"', 'name = "clean"'),
    "a task called end": GOOD.replace('name = "train"', 'name = "end"'),
    "a task of a stranger": GOOD.replace('by = ["b"]', 'by = ["c"]'),
    "a task of nobody": GOOD.replace('by = ["b"]', "by = []"),
    "code that is none": GOOD.replace(f'code = ["{D}"]', 'code = ["ab"]'),
    "an input from a task that is not there": GOOD.replace('["clean"]', '["cleans"]'),
    "an input from a task that gives another": GOOD.replace('gives = "data"', 'gives = "dates"'),
    "a source that nobody names": GOOD.replace('name = "raw"', 'name = "rare"'),
    "a source of a stranger": GOOD.replace('by = "a"', 'by = "c"'),
    "an order of a task that is not there": GOOD.replace('[order]\ntask = "clean"', '[order]\ntask = "cleans"'),
    "an order with a stranger": GOOD.replace('["a", "a"]', '["a", "b"]'),
    "an order longer than the count": GOOD.replace('["a", "a"]', '["a", "a", "a"]'),
    "a result of a task that is not there": GOOD.replace('[result]\ntask = "train"', '[result]\ntask = "trains"'),
    "a result of a task that is never done": GOOD.replace("count = 2", "count = 0")
    .replace('over = ["data"]\n', "")
    .replace('[order]\ntask = "clean"\nby = ["a", "a"]\n', "")
    .replace('[result]\ntask = "train"', '[result]\ntask = "clean"'),
    "a result that the order does not lead to": GOOD.replace('reads = { data = ["clean"] }', "reads = {}").replace(
        'over = ["data"]\n', ""
    ),
    "a result that the order leads to over another input": GOOD.replace('over = ["data"]', 'over = ["raw"]'),
    "a result over an input that nothing reads": GOOD.replace('over = ["data"]', 'over = ["dates"]'),
    "a result over no input": GOOD.replace('over = ["data"]', "over = []"),
    "a result over inputs, without an order": GOOD.replace('[order]\ntask = "clean"\nby = ["a", "a"]\n', ""),
    "a count that is none": GOOD.replace("count = 2", "count = -2"),
    "a list in place of a table": GOOD.replace("[order]", "[[order]]"),
    "a table in place of a list": re.sub(r"\[\[source\]\]", "[source]", GOOD),
}


def test_each_bad_file_differs_from_the_good_one_in_what_its_name_says() -> None:
    assert len({GOOD, *BAD.values()}) == len(BAD) + 1


@pytest.mark.mends("R508")
@pytest.mark.parametrize("name", BAD)
def test_a_file_that_claims_nothing_is_refused_in_one_line(name: str) -> None:
    text = BAD[name]
    with pytest.raises(ClaimsError) as caught:
        parse_claims(text if isinstance(text, bytes) else text.encode())
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("claims")


def test_the_documentation_has_every_key_of_the_schema() -> None:
    page = (ROOT / "docs" / "how-to" / "audit-a-run.md").read_text("utf-8")
    for table, keys in SCHEMA.items():
        for name, key in keys.items():
            place = f"{table}.{name}" if table else name
            must = "may be left out" if key.optional else "always"
            assert f"| `{place}` | {key.value} | {must} | {key.says} |" in page
