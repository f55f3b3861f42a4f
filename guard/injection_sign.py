"""A sign of injection: one pattern of giving orders, and the quick search for it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

REACH = 300
"""Signs lie within this distance of any word that they cannot do without, unless they say otherwise."""
_SHORT = 3
_STEP = 64


@dataclass(frozen=True, slots=True)
class InjectionSign:
    """One way of giving orders, under the reason it is told by.

    `needs` are words, one of which must occur in whatever matches; where there are two lists with `&` between them,
    one of each. They are what makes the search cheap: the pattern is tried only near them.
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

    def found_in(self, text: str, places: dict[str, list[int]]) -> Iterator[re.Match[str]]:
        """Yield where the sign stands in a plain text; `places` remembers from sign to sign where words stand."""
        words, others = _lists(self.needs)
        for start, end in _stretches(text, words, places, self.reach):
            if not others or any(text.find(other, start, end) >= 0 for other in others):
                yield from self.compiled.finditer(text, start, end)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _lists(needs: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    words, _, others = needs.partition("&")
    return tuple(words.split()), tuple(others.split())


def _stretches(text: str, words: tuple[str, ...], places: dict[str, list[int]], reach: int) -> list[tuple[int, int]]:
    found = [place for word in words if word in text for place in _places(text, word, places)]
    stretches: list[tuple[int, int]] = []
    for place in sorted(found):
        if stretches and place - reach <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], place + reach + _STEP)
        else:
            stretches.append((max(0, place - reach), place + reach + _STEP))
    return stretches


def _places(text: str, word: str, places: dict[str, list[int]]) -> list[int]:
    known = places.get(word)
    if known is None:
        known = places[word] = []
        at = text.find(word)
        while at >= 0:
            if len(word) > _SHORT or not (word.isascii() and word.isalpha()) or _is_whole(text, at, at + len(word)):
                known.append(at)
                at = text.find(word, at + max(_STEP, len(word)))  # what stands nearer lies within the same stretch
            else:
                at = text.find(word, at + len(word))
    return known


def _is_whole(text: str, start: int, end: int) -> bool:
    """Say whether a short word stands as one: `ai` is in `main` and `contain`, too."""
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
