"""The master to ask of, which stands with the tests of the queries."""

from tests.query.conftest import fake  # noqa: F401
