"""Makes text/ordinary_words.txt: the words of ordinary development prose, which are no names.

    python training/ordinary_words.py

They are counted in this folder's own texts and in the docstrings of the Python that runs this. A word that is written
with a capital inside a sentence more often than without one is a name, and left out.
"""

import ast
import json
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from reverie.text.word_forms import stem

HERE = Path(__file__).parent
TARGET = HERE.parent / "text" / "ordinary_words.txt"
HEADER = """\
# The words of ordinary development prose, by their stems: what is none of them may be a name.
# Made by training/ordinary_words.py; not to be edited.
"""
_WIDTH = 116
_SKIPPED = ("site-packages", "test", "tests", "idlelib", "lib2to3", "idle_test")

# A word that stands alone: no part of an identifier, a path, a call or a quoted name.
_WORD = re.compile(r"(?<![\w./@:#$`'\"=<(\[{-])[A-Za-z][a-z]+(?![\w/@:#$`=(\[_-]|\.\w)")
_ENDS_SENTENCE = tuple('.!?:;\n"-*#)')


def main() -> None:
    """Count the words and write the list."""
    lower, capital = Counter[str](), Counter[str]()
    for text in (*_own_texts(), *_docstrings()):
        for match in _WORD.finditer(text):
            before = text[: match.start()].rstrip(" \t")
            if match[0].islower():
                lower[match[0]] += 1
            elif before and not before.endswith(_ENDS_SENTENCE):
                capital[match[0].lower()] += 1
    ordinary = sorted({stem(word) for word, count in lower.items() if capital[word] <= count})
    TARGET.write_text(HEADER + "\n".join(_lines(ordinary)) + "\n", encoding="utf-8")
    print(f"{len(ordinary):,} stems in {TARGET.name}")


def _own_texts() -> Iterator[str]:
    for file in sorted(HERE.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            values = json.loads(line)
            yield values.get("text") or values.get("content") or ""


def _docstrings() -> Iterator[str]:
    for file in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if not set(_SKIPPED) & set(file.parts):
            try:
                tree = ast.parse(file.read_text("utf-8"))
            except (SyntaxError, UnicodeDecodeError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    yield ast.get_docstring(node) or ""


def _lines(words: list[str]) -> Iterator[str]:
    line = ""
    for word in words:
        if len(line) + len(word) >= _WIDTH:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
    yield line


if __name__ == "__main__":
    main()
