"""What the properties of random protocols have in common."""

import os
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from carnet_check.engines.native import compiling


@pytest.fixture(autouse=True, scope="module")
def _code_of_random_protocols(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile random protocols in little time, and keep their code apart from what is of use."""
    with (
        patch.dict(os.environ, {compiling.FOLDER: str(tmp_path_factory.mktemp("code"))}),
        patch.object(compiling, "OPTIONS", ("-O0", *compiling.OPTIONS[1:])),
    ):
        yield
