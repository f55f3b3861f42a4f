"""A third list of orders and honest notes, by another author, who did not work on the model.

It lies beside this file, one JSON object a line. It was scored once with the third classifier before it was read
by whoever made that (decision 0012 has the score).
"""

import json
from pathlib import Path

HOSTILE: dict[str, list[str]] = {}
HONEST: dict[str, list[str]] = {}

for _line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines():
    _row = json.loads(_line)
    (HOSTILE if _row["label"] == "order" else HONEST).setdefault(_row["class"], []).append(_row["text"])
