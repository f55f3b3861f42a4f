"""What could be done in a project that is new to memory: said once, with the first answer to a session there."""

import asyncio
from pathlib import Path

from reverie.embeddings.tokens import count_tokens
from reverie.memory import GLOBAL_PROJECT
from reverie.storage.filters import one_of
from reverie.tools.requests import Request
from reverie.tools.session import Session

_RULES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".github/copilot-instructions.md")
_OF_CODE = (".git", "pyproject.toml", "package.json", "Cargo.toml", "go.mod", "pom.xml", "Gemfile", "composer.json")


async def first_steps(session: Session) -> str:
    """Return what could be done in this project, if nothing is remembered for it and it was not said before.

    Raises:
        StoreError: if the store cannot be read or written.
    """
    root, project = session.here.root, session.here.project
    if root is None or project == GLOBAL_PROJECT:
        return ""
    offers = await asyncio.to_thread(_offers, root)
    if not offers or await session.store.count(one_of("project", session.names_of(project))):
        return ""
    if not await session.store.projects.is_told_first(project):
        return ""
    return f"\nThis project is new to memory. {' '.join(offers)}"


def with_first_steps(text: str, steps: str, request: Request) -> str:
    """Return an answer with what could be done, if its budget has room for both."""
    budget = getattr(request, "max_tokens", None)
    return text + steps if budget is None or count_tokens(text + steps) <= budget else text


def _offers(root: Path) -> list[str]:
    offers = []
    if any((root / name).exists() for name in _OF_CODE):
        offers.append("index_codebase would read its tree and signatures.")
    rules = [name for name in _RULES if (root / name).is_file()]
    if rules:
        named = ", ".join(rules)
        offers.append(f"It has {named}: `reverie import {rules[0]}` would keep what stands there as memories.")
    return offers
