"""The fixtures of the server's tests, for commands as a user runs them."""

from tests.server.conftest import called

__all__ = ["called"]
