"""Everything here runs compiled programs in processes of their own: the first one must not compile inside a test's limits."""

import pytest


@pytest.fixture(autouse=True)
def _compiled(compiled_paths):
    """See `compiled_paths`."""
