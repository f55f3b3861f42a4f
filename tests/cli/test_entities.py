"""Listing the names in memories, and finding them anew, from the command line."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_names_of_old_memories_are_found_listed_and_taken_back(tmp_path: Path, called: Run) -> None:
    lines = [
        {"id": "m-full", "content": "Alice Johnson owns redis.", "entities": []},
        {"id": "m-short", "content": "Alice is on call.", "entities": []},
    ]
    assert called(tmp_path, "import", "-", stdin="\n".join(map(json.dumps, lines))).returncode == 0
    assert called(tmp_path, "entities").stdout.startswith("No names yet.")
    done = json.loads(called(tmp_path, "reindex", "--json").stdout)
    assert (done["memories"], done["changed"]) == (2, 2)
    assert called(tmp_path, "reindex").stdout == "2 memories read; their names are up to date.\n"
    listed = json.loads(called(tmp_path, "entities", "--json").stdout)["entities"]
    assert listed == [
        {"name": "Alice Johnson", "aliases": ["Alice"], "memories": 2},
        {"name": "redis", "aliases": [], "memories": 1},
    ]
    shown = [line.split() for line in called(tmp_path, "entities").stdout.splitlines()]
    assert shown == [["Alice", "Johnson", "2", "memories", "also", "Alice"], ["redis", "1", "memory"]]
    assert "names: Alice Johnson, redis" in called(tmp_path, "show", "m-full").stdout
    assert called(tmp_path, "restore", "--dream-id", done["batch"], "--yes").returncode == 0
    assert called(tmp_path, "entities").stdout.startswith("No names yet.")
