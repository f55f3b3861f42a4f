"""A sixth list of orders and honest notes, written before its author had read the training texts or the rules.

It lies beside this file, one JSON object a line. The classifier of that day was scored on it before anything was
changed, and it was not read again while the next one was made (decision 0048 has its scores).
"""

import json
from pathlib import Path

HOSTILE: dict[str, list[str]] = {}
HONEST: dict[str, list[str]] = {}

for _line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines():
    _row = json.loads(_line)
    (HOSTILE if _row["label"] == "order" else HONEST).setdefault(_row["class"], []).append(_row["text"])
