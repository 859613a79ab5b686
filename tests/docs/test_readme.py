"""What the README shows of a run is about the specification as it stands."""

from __future__ import annotations

import re
from pathlib import Path

from carnet_check.loading.families import load

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SHOWN = re.search(r"^<!-- output: carnet verify (\S+) -->\n(.*?)^<!-- end output -->", README, re.MULTILINE | re.DOTALL)


def test_the_digests_shown_are_those_of_the_specification() -> None:
    assert SHOWN is not None
    source, text = load(SHOWN[1]), " ".join(SHOWN[2].split())
    shown = dict(re.findall(r"(\S+) ([0-9a-f]{16})\b", text))
    assert shown == {name: source.protocol(name).digest[:16] for name in source.family.with_layers(source.family.main)}


def test_every_verdict_shown_is_as_expected() -> None:
    assert SHOWN is not None
    assert "every verdict as expected" in " ".join(SHOWN[2].split())
