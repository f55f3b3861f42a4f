"""SIGKILL at any moment: every acknowledged memory is there after a restart, once, and the store opens."""

import sys
import threading
import time

import pytest

KILLS = 10
KILLS_DURING_UPKEEP = 5

pytestmark = pytest.mark.slow

# The real server, but for a mark on the disk whenever it begins to merge the pieces of a table; and it brings every
# memory to its table at once, so that there soon are pieces to merge.
MARKING = """
import pathlib, sys
from reverie.storage import lance_table as table, write_ahead_log

write_ahead_log._SECONDS_TO_GATHER = 0.0
tidy = table.Table.tidy

async def marked(self, *arguments, **named):
    with pathlib.Path(sys.argv[1]).open("a") as marks:
        marks.write(self.name + "\\\\n")
    return await tidy(self, *arguments, **named)

table.Table.tidy = marked
from reverie.server.stdio import serve
from reverie.settings import load_settings

serve(load_settings)
""".replace("\\\\", "\\")


def note(number):
    return (
        f"Note {number} says that module m{number * 7919 % 997} owns table t{number * 104729 % 9973} since {number}."
    )


def remember_until_it_dies(server, numbers, acknowledged):
    """Remember one note after another until the process is gone."""
    for number in numbers:
        try:
            answer = server.answer(server.ask("tools/call", name="remember", arguments={"content": note(number)}))
        except (BrokenPipeError, ValueError):  # gone, or gone in the middle of a line
            return
        result = answer["result"]
        assert not result.get("isError"), result
        acknowledged[result["structuredContent"]["id"]] = note(number)


def assert_nothing_is_lost(reader, exported, acknowledged):
    memories = {memory["id"]: memory["content"] for memory in exported()}
    assert acknowledged.items() <= memories.items()
    assert len(set(memories.values())) == len(memories)
    counts = reader.call("status")["counts"]
    assert sum(number for layer in counts.values() for number in layer.values()) == len(memories)


def test_a_server_killed_at_any_moment_has_kept_everything_it_acknowledged(wire, exported, chance):
    acknowledged, told = {}, 0
    for _ in range(KILLS):
        server = wire()
        server.shake_hands()
        before = len(acknowledged)
        killer = threading.Timer(chance.uniform(0.5, 4.0), server.process.kill)  # some while it is still opening
        killer.start()
        remember_until_it_dies(server, range(told, told + 10_000), acknowledged)
        killer.join()
        server.process.wait(10)
        told += 10_000
        assert len(acknowledged) >= before
    reader = wire()
    reader.shake_hands()
    assert len(acknowledged) > KILLS  # or the kills came too early to prove anything
    assert_nothing_is_lost(reader, exported, acknowledged)
    for memory_id, content in list(acknowledged.items())[:: max(1, len(acknowledged) // 25)]:
        found = reader.call("recall", query=content, limit=3)["results"]
        assert memory_id in [row["id"] for row in found]
    reader.call("remember", content="After all the kills the store takes new memories.")


def test_a_server_killed_while_it_merges_tables_has_kept_everything(wire, exported, chance, tmp_path):
    acknowledged, told, hit = {}, 1_000_000, 0
    for _ in range(KILLS_DURING_UPKEEP):
        marks = tmp_path / "marks"
        marks.unlink(missing_ok=True)
        server = wire(program=[sys.executable, "-c", MARKING, str(marks)])
        server.shake_hands()
        wait = chance.uniform(0.0, 0.06)

        def kill_in_the_middle(process=server.process, marks=marks, wait=wait):
            deadline = time.monotonic() + 30
            while not marks.exists() and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(wait)
            process.kill()

        killer = threading.Thread(target=kill_in_the_middle)
        killer.start()
        remember_until_it_dies(server, range(told, told + 10_000), acknowledged)
        killer.join()
        server.process.wait(10)
        told += 10_000
        hit += marks.exists()
    assert hit == KILLS_DURING_UPKEEP
    reader = wire()
    reader.shake_hands()
    assert_nothing_is_lost(reader, exported, acknowledged)
    reader.call("remember", content="A merge cut in two leaves the table as it was.")
