"""The Coq files of the tree that is tested, compiled once."""

import pytest

from tests.coq.coq_files import Library, shared


@pytest.fixture(scope="session")
def library() -> Library:
    """Return the compiled copy."""
    return shared()
