"""The maker of memories that the storage tests have."""

from tests.storage.conftest import make

__all__ = ["make"]
