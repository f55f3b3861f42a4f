"""The fixtures of the server's tests, for commands as a user runs them."""

from tests.server.conftest import called, module_start, start, start_here

__all__ = ["called", "module_start", "start", "start_here"]
