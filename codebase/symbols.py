"""What a source file defines: functions, classes, methods and constants, with their signatures and spans."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

SymbolKind = Literal["function", "class", "method", "constant", "type", "attribute"]

LONGEST_SIGNATURE = 160
LONGEST_DOC = 120


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition: where it stands, how it is called and what it says of itself."""

    name: str
    qualified: str  # with the classes around it: `Parser.feed`
    kind: SymbolKind
    span: tuple[int, int]  # first and last line, counted from one
    signature: str
    doc: str = ""


def symbols_of(path: str, source: bytes) -> tuple[Symbol, ...]:
    """Return what a file defines, in its order; a language that is not known defines nothing."""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".py", ".pyi", ".pyw"):
        from reverie.codebase.python_symbols import python_symbols

        return python_symbols(source)
    from reverie.codebase.grammars import grammar_for

    grammar = grammar_for(suffix)
    if grammar is None:
        return ()
    from reverie.codebase.tree_symbols import tree_symbols

    return tree_symbols(source, grammar)


def find_symbol(symbols: Sequence[Symbol], wanted: str) -> Symbol | None:
    """Return the symbol with this qualified name, or the only one that ends so."""
    exact = [symbol for symbol in symbols if symbol.qualified == wanted]
    if exact:
        return exact[0]
    ending = [symbol for symbol in symbols if symbol.qualified.endswith(f".{wanted}")]
    return ending[0] if len(ending) == 1 else None


def symbol_digest(symbol: Symbol, source: bytes) -> str:
    """Return the fingerprint of a definition: of its text, then of its signature alone."""
    first, last = symbol.span
    lines = source.decode("utf-8", "replace").splitlines()[first - 1 : last]
    return f"{text_digest(lines)}-{text_digest([symbol.signature])[:8]}"


def text_digest(lines: Sequence[str]) -> str:
    """Return the fingerprint of lines; spaces at their ends and the kind of line break do not count."""
    return hashlib.sha256("\n".join(line.rstrip() for line in lines).encode("utf-8", "replace")).hexdigest()[:24]


def first_sentence(text: str) -> str:
    """Return the first line of a comment or docstring, short enough for a list."""
    line = next((part.strip() for part in text.strip().splitlines() if part.strip()), "")
    return line if len(line) <= LONGEST_DOC else line[: LONGEST_DOC - 1].rstrip() + "…"


def one_line(text: str) -> str:
    """Return a signature on one line, short enough for a list."""
    joined = " ".join(text.split())
    return joined if len(joined) <= LONGEST_SIGNATURE else joined[: LONGEST_SIGNATURE - 1].rstrip() + "…"
