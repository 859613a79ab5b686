"""What the properties of random protocols have in common."""

import os
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from carnet_check.engines.native.compiling import FOLDER


@pytest.fixture(autouse=True, scope="module")
def _folder_for_code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is compiled of random protocols apart from what is of use."""
    with patch.dict(os.environ, {FOLDER: str(tmp_path_factory.mktemp("code"))}):
        yield
