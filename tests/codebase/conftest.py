"""No test of this folder may see the developer's own git configuration or repository."""

import pytest


@pytest.fixture(autouse=True)
def _plain_git(git_without_surprises: None) -> None: ...
