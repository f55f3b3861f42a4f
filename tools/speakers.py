"""Who said a line of a talk, and whether a question asks for what somebody else said.

Talks are often kept line by line, each with its speaker in front: `Caroline: …`, `user: …`. A question that names
Caroline is nearly always answered by her own lines, not by those that speak to her; one that says "I" by the user's.
A question that names several, or none, says nothing about who answers it, and a memory without a speaker is anyone's.
"""

import re
from collections.abc import Iterable

from reverie.memory import Memory

USER = frozenset({"user", "human"})
ASSISTANT = frozenset({"assistant", "ai", "bot"})

_SPEAKER = re.compile(r"([^\W\d_][\w .'-]{0,30}?):\s+")
_OF_THE_USER = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b", re.IGNORECASE)
_OF_THE_ASSISTANT = re.compile(
    r"\bdid you\b|\byou(?:'ve| have| had)? (?:recommended|suggested|mentioned|said|told|gave|given|advised|explained"
    r"|proposed|provided|listed|wrote|written|showed|shown)\b",
    re.IGNORECASE,
)


def parted(text: str) -> tuple[str, str]:
    """Return who says a text and what is said; the speaker is empty where none stands in front."""
    found = _SPEAKER.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def said_by_others(query: str, memories: Iterable[Memory]) -> frozenset[str]:
    """Return the ids of those memories that somebody says whom the question does not ask about.

    There are none unless one of the memories is said by somebody it does ask about. Roles are held against roles and
    names against names: "I" does not speak against `Caroline:`, nor her name against `user:`.
    """
    spoken = [(memory, name) for memory in memories if (name := parted(memory.content)[0])]
    roles = {name for _, name in spoken if name.lower() in USER | ASSISTANT}
    names = {name for _, name in spoken} - roles
    asked_roles = {role for role in roles if role.lower() in _roles_asked(query)}
    asked_names = {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", query)}
    others = (roles - asked_roles if asked_roles else set()) | (names - asked_names if asked_names else set())
    turns = [f"\n{name}:" for name in asked_roles | asked_names]
    return frozenset(
        memory.id
        for memory, name in spoken
        if name in others and not any(turn in memory.content for turn in turns)  # several may speak in one memory
    )


def _roles_asked(query: str) -> frozenset[str]:
    user = USER if _OF_THE_USER.search(query) else frozenset[str]()
    return user | ASSISTANT if _OF_THE_ASSISTANT.search(query) else user
