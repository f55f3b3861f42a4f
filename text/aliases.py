"""Which names mean the same thing: spellings of one name, and the short names of a person.

`beat-collector`, `beat_collector` and `BeatCollector` are one, `k8s` is Kubernetes; `Alice` and `@alice` are Alice
Johnson as long as only one Alice is known. What could be two things stays two.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from reverie.text.word_lists import is_software, usual_name

_JOINTS: Final = re.compile(r"[-_\s]+")
_IS_PERSON: Final = re.compile(r"[^\W\d_a-z][^\W\d_]+(?:[ '-][^\W\d_]+)+")
_IS_WORD: Final = re.compile(r"[^\W\d_]+")
_HANDLE_JOINTS: Final = ("", ".", "-", "_")


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing that texts name: its name, every spelling with its number, and how often it is named in all."""

    name: str
    spellings: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many memories name it; one that uses two of its names counts twice."""
        return sum(self.spellings.values())

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its other names, the most frequent first."""
        return tuple(name for name in _by_frequency(self.spellings) if name != self.name)


def entities_of(counts: Mapping[str, int]) -> list[Entity]:
    """Join the names of one project, each with the number of memories that use it; the most named come first."""
    by_key: dict[str, dict[str, int]] = {}
    for name, count in counts.items():
        by_key.setdefault(key_of(name), {})[name] = count
    for short, full in _short_names(by_key).items():
        by_key[full] |= by_key.pop(short)
    found = [Entity(_best(spellings), spellings) for spellings in by_key.values()]
    return sorted(found, key=lambda entity: (-entity.count, entity.name.casefold()))


def entity_named(name: str, counts: Mapping[str, int]) -> Entity:
    """Return the entity of a project that a name means, in any of its spellings; one of its own if there is none."""
    given = name.strip()
    wanted = {given: 0} if given not in counts else {}
    return next(entity for entity in entities_of({**counts, **wanted}) if given in entity.spellings)


def key_of(name: str) -> str:
    """Return what all spellings of one name have in common."""
    bare = name.strip().removesuffix("()").strip("`")
    if "/" in bare:
        return bare.removeprefix("./").rstrip("/")
    if bare.startswith("@"):
        return bare.casefold()
    usual = usual_name(bare) if is_software(bare) or is_software(bare.capitalize()) else bare.casefold()
    return _JOINTS.sub("", usual) or usual


def _short_names(by_key: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """Return the keys of given names, surnames and handles that belong to exactly one person, with that one's key."""
    people: dict[str, list[str]] = {}
    for key, spellings in by_key.items():
        full = next((name for name in spellings if _IS_PERSON.fullmatch(name) and not is_software(name)), None)
        if full is not None and all(part[:1].isupper() for part in (full.split()[0], full.split()[-1])):
            for short in _shortened(full):
                people.setdefault(short, []).append(key)
    joined: dict[str, str] = {}
    for key, spellings in by_key.items():
        word = key.removeprefix("@")
        owners = set(people.get(key, ())) - {key}
        if len(owners) == 1 and _may_be_a_person(spellings):
            joined[key] = owners.pop()
        elif key.startswith("@") and not owners and word in by_key and _may_be_a_person(by_key[word]):
            joined[key] = word
    return {short: joined.get(full, full) for short, full in joined.items()}


def _shortened(full: str) -> Iterator[str]:
    """Yield the keys by which a person is called: Alice, Johnson, @alice, @ajohnson, @alice.johnson …"""
    parts = [part.casefold() for part in full.split()]
    first, last = parts[0], parts[-1]
    yield from (first, last)
    handles = {first, last, first[0] + last, first + last[0]} | {f"{first}{joint}{last}" for joint in _HANDLE_JOINTS}
    yield from (f"@{handle}" for handle in handles)


def _may_be_a_person(spellings: Iterable[str]) -> bool:
    """Whether a short name can be a person's: a handle, or one word that is no software."""
    return any(name.startswith("@") or (_IS_WORD.fullmatch(name) and not is_software(name)) for name in spellings)


def _best(spellings: Mapping[str, int]) -> str:
    """Return the name to show: a person's full one, else the most frequent, and no handle if there is another."""
    plain = {name: count for name, count in spellings.items() if not name.startswith("@")} or spellings
    full = {name: count for name, count in plain.items() if " " in name and name[:1].isupper()}
    return _by_frequency(full or plain)[0]


def _by_frequency(spellings: Mapping[str, int]) -> list[str]:
    return sorted(spellings, key=lambda name: (-spellings[name], name))
