"""One sign of prompt injection: a pattern, and a quick search for it near the words that it needs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

REACH = 300
"""How far a match can reach from a word that it needs, in characters, unless the sign says otherwise."""
_SHORT = 3
_STEP = 64


@dataclass(frozen=True, slots=True)
class InjectionSign:
    """A pattern of prompt injection, and the reason that is shown when it matches.

    Every match contains one of the words in `needs`; if `needs` is two lists with `&` between them, one of each. The
    pattern is tried only near these words, which makes the search cheap.
    """

    reason: str
    pattern: str
    strong: bool = True
    needs: str = ""
    reach: int = REACH

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first needed."""
        return _compiled(self.pattern)

    def found_in(self, text: str, positions: dict[str, list[int]]) -> Iterator[re.Match[str]]:
        """Yield the matches in a plain text; `positions` caches the positions of words for the next sign."""
        words, others = _lists(self.needs)
        for start, end in _stretches(text, words, positions, self.reach):
            if not others or any(text.find(other, start, end) >= 0 for other in others):
                yield from self.compiled.finditer(text, start, end)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _lists(needs: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    words, _, others = needs.partition("&")
    return tuple(words.split()), tuple(others.split())


def _stretches(
    text: str, words: tuple[str, ...], positions: dict[str, list[int]], reach: int
) -> list[tuple[int, int]]:
    found = [position for word in words if word in text for position in _positions(text, word, positions)]
    stretches: list[tuple[int, int]] = []
    for position in sorted(found):
        if stretches and position - reach <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], position + reach + _STEP)
        else:
            stretches.append((max(0, position - reach), position + reach + _STEP))
    return stretches


def _positions(text: str, word: str, positions: dict[str, list[int]]) -> list[int]:
    known = positions.get(word)
    if known is None:
        known = positions[word] = []
        at = text.find(word)
        while at >= 0:
            if len(word) > _SHORT or not (word.isascii() and word.isalpha()) or _is_whole(text, at, at + len(word)):
                known.append(at)
                at = text.find(word, at + max(_STEP, len(word)))  # a nearer one lies in the same stretch
            else:
                at = text.find(word, at + len(word))
    return known


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether a short word is not part of a longer one, as `ai` is of `main`."""
    return not text[start - 1 : start].isalpha() and not text[end : end + 1].rstrip("s").isalpha()


AI = (
    r"(?:ai|a\.i\.|llms?|ais|chatbots?|(?:ai |large )?language models?|ai models?"
    r"|ai (?:coding )?(?:assistants?|agents?)"
    r"|coding (?:assistants?|agents?)|assistants?|chatgpt|gpt-?\d?|claude(?: code)?|copilot|codex|gemini|cursor)"
)
LOOT = (
    r"(?:\.env\b|env(?:ironment)? (?:vars?|variables?)|api[- _]?keys?|access (?:keys?|tokens?)|tokens?|secrets?"
    r"|credentials?|passwords?|private keys?|ssh keys?|id_rsa|id_ed25519|~/\.ssh|~/\.aws|\.aws/credentials|cookies"
    r"|session (?:ids?|data)|conversations?|chat (?:history|logs?)|memor(?:y|ies)|system prompt|source code"
    r"|code ?base"
    r"|clipboard|personal (?:data|information)|contents? of|wallets?|seed phrases?|git ?config"
    r"|user'?s? (?:data|e-?mail|address|name|phone|files))"
)
ABOVE = r"(?:user|operator|owner|developer|(?:system )?admin(?:istrator)?|system|maintainer|security team)"
