"""The symbols of a source file: functions, classes, methods and constants, with signatures and lines.

Python is read by its own parser, other languages by tree-sitter (tree_sitter_symbols.py).
"""

import ast
import hashlib
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from reverie.text.shorten import cut, first_line, one_line

SymbolKind = Literal["function", "class", "method", "constant", "type", "attribute"]

LONGEST_SIGNATURE = 160
LONGEST_DOC = 120


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition: its lines, name, signature and docstring."""

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
        return python_symbols(source)
    from reverie.codebase.tree_sitter_symbols import grammar_for

    grammar = grammar_for(suffix)
    if grammar is None:
        return ()
    from reverie.codebase.tree_sitter_symbols import tree_symbols

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
    return cut(first_line(text), LONGEST_DOC)


def short_signature(text: str) -> str:
    """Return a signature on one line, short enough for a list."""
    return cut(one_line(text), LONGEST_SIGNATURE)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITION = re.compile(r"^(?P<indent>[ \t]*)(?:async[ \t]+)?(?P<word>def|class)[ \t]+(?P<name>\w+)(?P<rest>[^\n]*)")
_DOCSTRING = re.compile(
    r"(?:\ufeff?(?:[ \t]*(?:#[^\n]*)?\r?\n)*)[rRuU]?(?P<quotes>\"{3}|'{3}|\"|')(?P<text>.*?)(?P=quotes)", re.DOTALL
)
_DOCSTRING_WITHIN = 4_000  # bytes: a licence may stand before it
_SHOWN_DEFAULT = 24


def python_symbols(source: bytes) -> tuple[Symbol, ...]:
    """Return what a module defines; one that this Python cannot parse is read by its indentation."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user's invalid escapes are not ours to report
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return tuple(_by_indentation(source.decode("utf-8", "replace")))
    return tuple(_in_body(tree.body, "", in_class=False))


def module_doc(source: bytes) -> str:
    """Return the first sentence of a module's docstring, without parsing the module for it."""
    found = _DOCSTRING.match(source[:_DOCSTRING_WITHIN].decode("utf-8", "replace"))
    return first_sentence(found["text"]) if found else ""


def _in_body(body: list[ast.stmt], prefix: str, *, in_class: bool) -> Iterator[Symbol]:
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield _function(node, prefix, in_class=in_class)
        elif isinstance(node, ast.ClassDef):
            yield _class(node, prefix)
            yield from _in_body(node.body, f"{prefix}{node.name}.", in_class=True)
        elif isinstance(node, ast.If | ast.Try):
            # `if TYPE_CHECKING:` and `try: … except ImportError:` define as well as any other line.
            handlers = [part for handler in getattr(node, "handlers", []) for part in handler.body]
            yield from _in_body([*node.body, *handlers, *node.orelse], prefix, in_class=in_class)
        else:
            yield from _assigned(node, prefix, in_class=in_class)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str, *, in_class: bool) -> Symbol:
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    kind: SymbolKind = "method" if in_class else "function"
    signature = short_signature(f"{word} {node.name}({_parameters(node.args)}){returns}")
    return Symbol(node.name, prefix + node.name, kind, _span(node), signature, _doc(node))


def _class(node: ast.ClassDef, prefix: str) -> Symbol:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    signature = short_signature(f"class {node.name}({bases})" if bases else f"class {node.name}")
    return Symbol(node.name, prefix + node.name, "class", _span(node), signature, _doc(node))


def _assigned(node: ast.stmt, prefix: str, *, in_class: bool) -> Iterator[Symbol]:
    kind: SymbolKind = "attribute" if in_class else "constant"
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        name = node.target.id
        yield Symbol(
            name, prefix + name, kind, _span(node), short_signature(f"{name}: {ast.unparse(node.annotation)}")
        )
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                signature = short_signature(f"{target.id} = {_short(node.value)}")
                yield Symbol(target.id, prefix + target.id, kind, _span(node), signature)


def _parameters(arguments: ast.arguments) -> str:
    for default in (*arguments.defaults, *(part for part in arguments.kw_defaults if part is not None)):
        if isinstance(default, ast.Constant) and isinstance(default.value, str | bytes):
            default.value = default.value[:_SHOWN_DEFAULT]
    return ast.unparse(arguments)


def _short(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return repr(value.value)[:_SHOWN_DEFAULT]
    return "…"


def _span(node: ast.stmt) -> tuple[int, int]:
    decorators = [decorator.lineno for decorator in getattr(node, "decorator_list", [])]
    return min([node.lineno, *decorators]), node.end_lineno or node.lineno


def _doc(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    return first_sentence(ast.get_docstring(node, clean=False) or "")


def _by_indentation(text: str) -> Iterator[Symbol]:
    """Read definitions line by line, as in Python 2 and in templates; a block ends where the indent returns."""
    lines = text.splitlines()
    around: list[tuple[int, str, bool]] = []
    for number, line in enumerate(lines, 1):
        found = _DEFINITION.match(line)
        if not found:
            continue
        indent = len(found["indent"].expandtabs())
        around = [outer for outer in around if outer[0] < indent]
        if around and not around[-1][2]:
            continue  # inside a function
        is_class = found["word"] == "class"
        prefix = "".join(f"{name}." for _, name, _ in around)
        kind: SymbolKind = "class" if is_class else "method" if around else "function"
        span = (number, _block_end(lines, number, indent))
        signature = short_signature(f"{found['word']} {found['name']}{found['rest']}".rstrip(" :"))
        yield Symbol(found["name"], prefix + found["name"], kind, span, signature)
        around.append((indent, found["name"], is_class))


def _block_end(lines: list[str], start: int, indent: int) -> int:
    last = start
    for number in range(start, len(lines)):
        line = lines[number].expandtabs()
        if line.strip():
            if len(line) - len(line.lstrip()) <= indent:
                break
            last = number + 1
    return last
