"""A fourth list of orders and honest notes, written before the texts `e` and the combinations by their author.

It lies beside this file, one JSON object a line. It was not read again while the classifier was trained, and was
scored once before its misses were seen (decision 0012 has the score). Somebody else's list is likely to be harder.
"""

import json
from pathlib import Path

HOSTILE: dict[str, list[str]] = {}
HONEST: dict[str, list[str]] = {}

for _line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines():
    _row = json.loads(_line)
    (HOSTILE if _row["label"] == "order" else HONEST).setdefault(_row["class"], []).append(_row["text"])
