"""Removing memories for good: from every table and version, and from what quotes them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from reverie.errors import StoreDamaged
from reverie.memory import Memory
from reverie.storage.database import open_generation, write_ahead_log_to
from reverie.storage.filters import at_most, differs, equals, has_any, one_of
from reverie.storage.journal import GONE, REDACTED, Event, Row, text_digest
from reverie.storage.lance_table import Table
from reverie.storage.rows import FIELDS, from_table
from reverie.storage.schema import MEMORY_TABLES, PASSAGE_TABLES
from reverie.storage.store import MemoryStore
from reverie.storage.vector_search import remove_stored_indexes

BLANK = "[purged]"

_MAY_BE_NULL = {"layer": ("branch", "session", "source_ref", "status_reason"), "events": ("batch", "reason")}
"""The columns of free text that have nulls."""

_PURGED_TABLES = (*MEMORY_TABLES, *PASSAGE_TABLES, "accesses", "questions", "dreams")
_AT_ONCE = timedelta(0)
_WORTH_BLANKING = 8  # a title of a letter or two stands in every report
_WORDS_OF_A_PART = 8  # so many words in a row are recognised as part of a text
_MOST_GENERATIONS = 20  # of dreams on dreams
_IDS_AT_ONCE = 500
_WORDS_OF_A_QUOTE = 4  # fewer may stand in anybody's text
_SENTENCE_MARKS = ".!?…"
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Reach:
    """What else a purge of some memories removes, and what it restores."""

    along: tuple[Memory, ...] = ()  # written by dreams from what is purged
    back: tuple[Memory, ...] = ()  # replaced by one of those
    pinned: tuple[Memory, ...] = ()  # written by dreams from what is purged, but pinned: they stay


async def reach_of(store: MemoryStore, memories: Sequence[Memory]) -> Reach:
    """Return what else a purge of these memories touches."""
    ids = {memory.id for memory in memories}
    quotes = Quotes(text for memory in memories for text in (memory.content, memory.title))
    dreamt = [memory for memory in await store.find(equals("source", "dream")) if memory.id not in ids]
    found = {memory.id: memory for memory in dreamt if quotes.in_text(f"{memory.title}\n{memory.content}")}
    for _ in range(_MOST_GENERATIONS):
        ground = ids | found.keys()
        more = {m.id: m for m in dreamt if m.id not in found and not ground.isdisjoint(m.derived_from)}
        if not more:
            break
        found |= more
    along = [memory for memory in found.values() if not memory.pinned]
    replaced = await store.find(one_of("superseded_by", [memory.id for memory in along])) if along else []
    back = [m for m in replaced if m.status == "superseded" and m.id not in ids and m.id not in found]
    pinned = [memory for memory in found.values() if memory.pinned]
    return Reach(tuple(along), tuple(back), tuple(pinned))


async def purge(store: MemoryStore, memories: Sequence[Memory], *, actor: str, at: datetime) -> Reach:
    """Remove these memories and every trace but the fact that they were purged. Call it inside `changing()`.

    Raises:
        StoreError: if it cannot be done; what was begun is finished by purging again.
    """
    if not memories:
        return Reach()
    reach = await reach_of(store, memories)
    gone = [*memories, *reach.along]
    store.purged_texts.add(memory.content for memory in gone)  # first: a purge cut short is finished by another
    if reach.back:
        values = {"status": "active", "superseded_by": None, "expired_at": None, "status_reason": None}
        reason = "what had taken its place was purged"
        await store.change(reach.back, values, action="restored", actor=actor, at=at, reason=reason)
    database = store.database
    # Nobody else writes to the tables meanwhile: then files that no version names are left over from a write that
    # was cut short, and can go as well.
    async with database.maintenance_lock.held(), database.write_ahead_log.paused(), store.journal.flushed():
        tables = {name: database.raw_table(name) for name in _PURGED_TABLES}
        ids = [memory.id for memory in gone]
        rows = await store.journal.rows()
        quotes = Quotes([*_texts_of(gone), *_texts_in(rows, set(ids))])
        only_journalled = await _only_in_journal(rows, tables, ids, quotes)
        events = [store.event("purged", memory, actor=actor, at=at, state=GONE) for memory in gone]
        events += [_purged_event(store, memory_id, actor, at) for memory_id in only_journalled]
        await store.journal.write(events)
        await store.vectors.remove_stored()  # they have the ids and the hashed words; maintenance writes them anew
        await _delete(tables, ids)
        await _redact_rows(store, tables, quotes, actor=actor, at=at)
        await _redact_events(store, rows, {*ids, *only_journalled}, quotes, actor=actor, at=at)
        await store.journal.blank([*ids, *only_journalled])
        await _redact_questions(tables["questions"], quotes)
        await _redact_reports(tables["dreams"], quotes)
        for table in (*tables.values(), database.raw_table("events")):
            await _rewrite(table)
    await _purge_leftovers(store, ids)
    return reach


class Quotes:
    """Finds texts, their sentences and long parts of them in other texts; case, spaces and punctuation aside."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._parts: set[tuple[str, ...]] = set()
        for text in texts:
            for sentence in (text, *_SENTENCE_END.split(text)):
                words = tuple(word.casefold() for word in _WORD.findall(sentence))
                if len(" ".join(words)) < _WORTH_BLANKING:
                    continue
                last = max(len(words) - _WORDS_OF_A_PART, 0)
                self._parts |= {words[start : start + _WORDS_OF_A_PART] for start in range(last + 1)}
        self._lengths = sorted({len(part) for part in self._parts}, reverse=True)

    def in_text(self, text: str) -> bool:
        """Whether a text repeats so much of one of them that it must come from there."""
        words = [word.casefold() for word in _WORD.findall(text)]
        return any(
            length >= _WORDS_OF_A_QUOTE and tuple(words[start : start + length]) in self._parts
            for length in self._lengths
            for start in range(len(words) - length + 1)
        )

    def without(self, text: str) -> str:
        """Return a text with what it repeats blanked."""
        found = list(_WORD.finditer(text))
        words = [match.group().casefold() for match in found]
        quoted = [False] * len(words)
        for length in self._lengths:
            for start in range(len(words) - length + 1):
                if tuple(words[start : start + length]) in self._parts:
                    quoted[start : start + length] = [True] * length
        if not any(quoted):
            return text
        kept, end, index = list[str](), 0, 0
        while index < len(words):
            first = index
            while index < len(words) and quoted[index]:
                index += 1
            if index == first:
                index += 1
                continue
            kept += [text[end : found[first].start()], BLANK]
            end = found[index - 1].end()
            end += len(text[end:]) - len(text[end:].lstrip(_SENTENCE_MARKS))
        return "".join(kept) + text[end:]

    def without_in(self, value: Any) -> Any:
        """Return a JSON value with what its texts repeat blanked."""
        match value:
            case str():
                return self.without(value)
            case list():
                return [self.without_in(item) for item in value]
            case dict():
                return {self.without(name): self.without_in(item) for name, item in value.items()}
            case _:
                return value


def _texts_of(memories: Iterable[Memory]) -> list[str]:
    return [text for memory in memories for text in (memory.content, memory.title)]


def _texts_in(rows: Iterable[Row], ids: set[str]) -> list[str]:
    """Return what memories said earlier, as the journal has it."""
    sides = [json.loads(row[side]) for row in rows if row["memory_id"] in ids for side in ("before", "after")]
    return [side[name] for side in sides for name in ("content", "title") if name in side]


async def _only_in_journal(
    rows: Sequence[Row], tables: Mapping[str, Table], ids: Sequence[str], quotes: Quotes
) -> list[str]:
    """Return memories that only the journal has, such as what an undone dream wrote, and that quote the purged."""
    living: set[str] = set(ids)
    for layer in MEMORY_TABLES:
        living |= set((await tables[layer].rows(["id"])).column("id").to_pylist())
    gone = [row for row in rows if row["memory_id"] and row["memory_id"] not in living]
    grounds: dict[str, set[str]] = {}
    found: set[str] = set()
    for row in gone:
        sides = [json.loads(row[side]) for side in ("before", "after")]
        grounds.setdefault(row["memory_id"], set()).update(one for s in sides for one in s.get("derived_from", ()))
        if any(quotes.in_text(f"{side.get('title', '')}\n{side.get('content', '')}") for side in sides):
            found.add(row["memory_id"])
    for _ in range(_MOST_GENERATIONS):
        ground = found | set(ids)
        more = {memory_id for memory_id, on in grounds.items() if not ground.isdisjoint(on)} - found
        if not more:
            break
        found |= more
    return sorted(found)


def _purged_event(store: MemoryStore, memory_id: str, actor: str, at: datetime) -> Event:
    return Event(
        id=store.new_id(),
        at=at,
        action="purged",
        memory_id=memory_id,
        actor=actor,
        session=store.session,
        state=GONE,
    )


async def _delete(tables: Mapping[str, Table], ids: Sequence[str]) -> None:
    for start in range(0, len(ids), _IDS_AT_ONCE):
        part = ids[start : start + _IDS_AT_ONCE]
        for layer in MEMORY_TABLES:  # all of them: a move that was cut short leaves a second row
            await tables[layer].delete(one_of("id", part))
        for side in (*PASSAGE_TABLES, "accesses"):
            await tables[side].delete(one_of("memory_id", part))
        await tables["questions"].delete(has_any("memory_ids", part))


async def _redact_rows(
    store: MemoryStore, tables: Mapping[str, Table], quotes: Quotes, *, actor: str, at: datetime
) -> None:
    """Remove quotations from the status reasons of other memories."""
    for layer in MEMORY_TABLES:
        reasons = (await tables[layer].rows(["id", "status_reason"])).to_pylist()
        quoting = {row["id"]: row["status_reason"] for row in reasons if row["status_reason"]}
        for memory_id, reason in quoting.items():
            redacted = quotes.without(reason)
            if redacted == reason:
                continue
            [memory] = from_table(await tables[layer].rows(FIELDS, equals("id", memory_id)))
            # The event has no `before`: that is what must not be kept.
            event = store.event(REDACTED, memory, actor=actor, at=at, after={"status_reason": redacted})
            await store.journal.write([event])
            await tables[layer].update(equals("id", memory_id), {"status_reason": redacted, "updated_at": at})


async def _redact_events(
    store: MemoryStore, rows: Sequence[Row], gone: set[str], quotes: Quotes, *, actor: str, at: datetime
) -> None:
    """Remove quotations from the events of other memories, and record which events were reworded."""
    for row in rows:
        texts = None if row["memory_id"] in gone else _reworded(row, quotes)
        if texts is None:
            continue
        reworded = {"event": row["id"], "digest": text_digest({**row, **texts})}
        event = Event(
            id=store.new_id(),
            at=at,
            action=REDACTED,
            memory_id="",
            actor=actor,
            session=store.session,
            reason=json.dumps(reworded),
        )
        await store.journal.write([event])
        await store.journal.reword(row["id"], texts)


def _reworded(row: Row, quotes: Quotes) -> dict[str, Any] | None:
    """Return the texts of an event without quotations; None if it has none."""
    texts: dict[str, Any] = {"reason": row["reason"] and quotes.without(row["reason"])}
    for side in ("before", "after"):
        values = json.loads(row[side])
        if values.get("status_reason"):
            values["status_reason"] = quotes.without(values["status_reason"])
        texts[side] = json.dumps(values, ensure_ascii=False)
    return texts if any(texts[name] != row[name] for name in texts) else None


async def _redact_questions(questions: Table, quotes: Quotes) -> None:
    for row in (await questions.rows(["id", "body"])).to_pylist():
        body = _without_in_json(row["body"], quotes)
        if body != row["body"]:
            await questions.update(equals("id", row["id"]), {"body": body})


async def _redact_reports(dreams: Table, quotes: Quotes) -> None:
    for row in (await dreams.rows(["id", "report"])).to_pylist():
        report = _without_in_json(row["report"], quotes)
        if report != row["report"]:
            await dreams.update(equals("id", row["id"]), {"report": report})


def _without_in_json(text: str, quotes: Quotes) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return quotes.without(text)
    redacted = quotes.without_in(value)
    return text if redacted == value else json.dumps(redacted, ensure_ascii=False)


async def _purge_older_generations(store: MemoryStore, ids: Sequence[str]) -> None:
    """Purge the tables that a re-embedding left when it was killed after the switch.

    Of those only memories and events that came late are ever looked at again; everything else is in the new tables.
    """
    home = store.database.home
    await store.database.drop_replaced()
    newest = (await store.database.raw_table("events").rows(["number"])).column("number").to_pylist()
    for number in await home.older_than(store.database.generation):
        try:
            tables = await open_generation(home, number)
        except StoreDamaged:
            continue  # empty: a session opened just as the tables were switched
        if home.state is None:  # in a bucket the log is carried over when the new tables are opened
            await (await write_ahead_log_to(home, number, tables)).flush()
        await remove_stored_indexes(home, number)
        await _delete(tables, ids)
        await tables["events"].delete(at_most("number", max(newest, default=0)))
        for name in (*PASSAGE_TABLES, "accesses", "questions", "dreams"):
            await tables[name].delete(differs("id", ""))
        for name in (*_PURGED_TABLES, "events"):
            await _rewrite(tables[name])


async def _purge_leftovers(store: MemoryStore, ids: Sequence[str]) -> None:
    """Remove what a re-embedding that was cut short left; one under way removes it itself."""
    home = store.database.home
    async with home.lock("reembed").held_if_free() as free:
        if free:
            await _purge_older_generations(store, ids)
            await home.drop_staging()


async def _rewrite(table: Table) -> None:
    """Write a table out again without its deleted rows, rebuild what is derived, drop every older version.

    Other processes that were reading an older version find it gone and read the newest instead.
    """
    if table.name in MEMORY_TABLES or table.name == "events":
        await table.rewrite_nulls(_MAY_BE_NULL["events" if table.name == "events" else "layer"])
    # LanceDB rewrites a large fragment for the sake of one deleted row only if there is another to merge it
    # with: touching a row puts it in a fragment of its own.
    await table.touch_one()
    indexed = await table.indexed_columns()
    if "search_text" in indexed:
        await table.index_text()
    if "vector" in indexed:
        await table.index_vectors()
    await table.tidy(_AT_ONCE, every_file=True)
