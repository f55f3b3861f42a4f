"""Symbols of every language but Python, from tree-sitter's syntax trees."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any

from reverie.codebase.symbols import Symbol, SymbolKind, first_sentence, short_signature


@dataclass(frozen=True, slots=True)
class Grammar:
    """How one language's syntax tree names what is defined."""

    module: str
    language: str = "language"
    definitions: Mapping[str, SymbolKind] = field(default_factory=dict)
    containers: frozenset[str] = frozenset()  # what holds further definitions under its name
    comments: frozenset[str] = frozenset({"comment", "line_comment", "block_comment"})


_JAVASCRIPT: Mapping[str, SymbolKind] = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "variable_declarator": "constant",
    "field_definition": "attribute",
    "assignment_expression": "function",
}
_TYPESCRIPT: Mapping[str, SymbolKind] = {
    **_JAVASCRIPT,
    "abstract_class_declaration": "class",
    "interface_declaration": "type",
    "type_alias_declaration": "type",
    "enum_declaration": "type",
    "function_signature": "function",
    "abstract_method_signature": "method",
    "public_field_definition": "attribute",
    "internal_module": "type",
    "module": "type",
}
_JAVASCRIPT_CONTAINERS = frozenset({"class_declaration", "abstract_class_declaration", "internal_module", "module"})
_C: Mapping[str, SymbolKind] = {
    "function_definition": "function",
    "declaration": "function",  # prototypes only: see tree_symbols
    "struct_specifier": "type",
    "union_specifier": "type",
    "enum_specifier": "type",
    "type_definition": "type",
    "preproc_def": "constant",
    "preproc_function_def": "function",
}
_CPP: Mapping[str, SymbolKind] = {
    **_C,
    "class_specifier": "class",
    "namespace_definition": "type",
    "alias_declaration": "type",
    "concept_definition": "type",
    "field_declaration": "method",  # those with parameters
}

GRAMMARS: Mapping[str, Grammar] = {
    "javascript": Grammar("tree_sitter_javascript", "language", _JAVASCRIPT, _JAVASCRIPT_CONTAINERS),
    "typescript": Grammar("tree_sitter_typescript", "language_typescript", _TYPESCRIPT, _JAVASCRIPT_CONTAINERS),
    "tsx": Grammar("tree_sitter_typescript", "language_tsx", _TYPESCRIPT, _JAVASCRIPT_CONTAINERS),
    "go": Grammar(
        "tree_sitter_go",
        "language",
        {
            "function_declaration": "function",
            "method_declaration": "method",
            "type_spec": "type",
            "type_alias": "type",
            "const_spec": "constant",
            "var_spec": "constant",
        },
    ),
    "rust": Grammar(
        "tree_sitter_rust",
        "language",
        {
            "function_item": "function",
            "function_signature_item": "function",
            "struct_item": "type",
            "enum_item": "type",
            "union_item": "type",
            "trait_item": "type",
            "type_item": "type",
            "const_item": "constant",
            "static_item": "constant",
            "macro_definition": "function",
        },
        frozenset({"trait_item", "impl_item", "mod_item"}),
    ),
    "java": Grammar(
        "tree_sitter_java",
        "language",
        {
            "class_declaration": "class",
            "interface_declaration": "type",
            "enum_declaration": "type",
            "record_declaration": "class",
            "annotation_type_declaration": "type",
            "method_declaration": "method",
            "constructor_declaration": "method",
            "variable_declarator": "attribute",
        },
        frozenset({"class_declaration", "interface_declaration", "enum_declaration", "record_declaration"}),
    ),
    "c": Grammar("tree_sitter_c", "language", _C),
    "cpp": Grammar(
        "tree_sitter_cpp",
        "language",
        _CPP,
        frozenset({"class_specifier", "struct_specifier", "namespace_definition"}),
    ),
    "c_sharp": Grammar(
        "tree_sitter_c_sharp",
        "language",
        {
            "class_declaration": "class",
            "record_declaration": "class",
            "struct_declaration": "type",
            "interface_declaration": "type",
            "enum_declaration": "type",
            "delegate_declaration": "type",
            "method_declaration": "method",
            "constructor_declaration": "method",
            "property_declaration": "attribute",
            "variable_declarator": "attribute",
        },
        frozenset({"class_declaration", "record_declaration", "struct_declaration", "interface_declaration"}),
    ),
    "ruby": Grammar(
        "tree_sitter_ruby",
        "language",
        {
            "class": "class",
            "module": "type",
            "method": "method",
            "singleton_method": "method",
            "assignment": "constant",
        },
        frozenset({"class", "module"}),
    ),
    "php": Grammar(
        "tree_sitter_php",
        "language_php",
        {
            "function_definition": "function",
            "class_declaration": "class",
            "interface_declaration": "type",
            "trait_declaration": "type",
            "enum_declaration": "type",
            "method_declaration": "method",
            "const_element": "constant",
        },
        frozenset({"class_declaration", "interface_declaration", "trait_declaration", "enum_declaration"}),
    ),
}

LANGUAGE_OF: Mapping[str, str] = {
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    # A C header is nearly always readable as C++, and a C++ header never as C.
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp"), "cpp"),
    ".cs": "c_sharp",
    **dict.fromkeys((".rb", ".rake", ".gemspec"), "ruby"),
    **dict.fromkeys((".php", ".phtml"), "php"),
}

PARSED_SUFFIXES = frozenset({".py", ".pyi", ".pyw", *LANGUAGE_OF})
"""The files whose definitions are read."""


def grammar_for(suffix: str) -> Grammar | None:
    """Return the grammar for files that end so."""
    language = LANGUAGE_OF.get(suffix)
    return GRAMMARS[language] if language else None


@cache
def parser_for(module: str, language: str) -> Any:
    """Load a grammar and return a parser for it."""
    from tree_sitter import Language, Parser

    return Parser(Language(getattr(import_module(module), language)()))


_DEEPEST = 60
_PARSING = Lock()  # a parser has one state, and recalls come from several threads
_NOT_A_NAME = tuple("(#*[{")  # pointers to functions, private fields, destructuring
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "class", "function"})
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
_COMMENT_MARKS = re.compile(r"^\s*(?:/\*+!?|\*+/|\*(?!/)|//[/!]?|#+|--)\s?|\s*\*+/\s*$")
_TAG = re.compile(r"</?\w+[^>]*>")
# What stands between a definition and its comment without being part of either.
_TRANSPARENT = frozenset({"export_statement", "decorated_definition", "template_declaration", "type_declaration"})
_NEVER_ENTERED = frozenset({"statement_block", "compound_statement", "parameter_list", "formal_parameters"})


def tree_symbols(source: bytes, grammar: Grammar) -> tuple[Symbol, ...]:
    """Return what a file defines; what the grammar cannot read is left out."""
    with _PARSING:
        tree = parser_for(grammar.module, grammar.language).parse(source)
    found = _Reader(source, grammar)
    return tuple(found.walk(tree.root_node, "", 0))


class _Reader:
    """Walks one syntax tree; functions are not entered, classes and namespaces are."""

    def __init__(self, source: bytes, grammar: Grammar) -> None:
        self._source = source
        self._grammar = grammar

    def walk(self, node: Any, prefix: str, depth: int) -> Iterator[Symbol]:
        for child in node.named_children:
            kind = self._grammar.definitions.get(child.type)
            name = self._name(child, prefix) if kind or child.type in self._grammar.containers else ""
            if name[:1] in _NOT_A_NAME:
                name = ""
            inner = prefix
            if name:
                if kind:
                    yield self._symbol(child, name, prefix, kind)
                inner = f"{prefix}{name}."
            if depth < _DEEPEST and self._is_entered(child, kind, name):
                yield from self.walk(child, inner, depth + 1)

    def _is_entered(self, node: Any, kind: SymbolKind | None, name: str) -> bool:
        if node.type in self._grammar.containers:
            return True
        if name and kind:
            return False
        # The body of a class is a block of its own kind; one of these belongs to a function or a namespace.
        return node.type not in _NEVER_ENTERED or node.parent.type in self._grammar.containers

    def _symbol(self, node: Any, name: str, prefix: str, kind: SymbolKind) -> Symbol:
        owner = self._receiver(node)
        qualified = f"{owner}.{name}" if owner else f"{prefix}{name}"
        whole = node.parent if node.parent is not None and node.parent.type in _TRANSPARENT else node
        # A node that takes its line break along ends at the start of the next line.
        span = (whole.start_point[0] + 1, whole.end_point[0] + (1 if whole.end_point[1] else 0))
        last = qualified.rpartition(".")[2]
        settled = self._settled(node, last, prefix, kind)
        return Symbol(last, qualified, settled, span, self._signature(node), self._doc(whole))

    def _settled(self, node: Any, name: str, prefix: str, kind: SymbolKind) -> SymbolKind:
        value = node.child_by_field_name("value")
        if value is not None and value.type in _FUNCTION_VALUES:
            return "class" if value.type == "class" else "method" if prefix else "function"
        if kind == "function" and prefix:
            return "method"
        return "function" if kind == "method" and not prefix and not self._receiver(node) else kind

    def _name(self, node: Any, prefix: str) -> str:
        """Return what a node defines, or nothing if it only looks like a definition."""
        match node.type:
            case "variable_declarator":
                return self._variable(node, prefix)
            case "assignment_expression":
                return self._exported(node)
            case "assignment":  # Ruby: constants begin with a capital
                left = self._text(node.child_by_field_name("left"))
                return left if left[:1].isupper() and left.isidentifier() else ""
            case "impl_item":
                return _plain_type(self._text(node.child_by_field_name("type")))
            case "function_definition" | "declaration" | "field_declaration":
                return self._declared(node)
            case "type_definition":
                return self._identifier(node.child_by_field_name("declarator"))
            case "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier":
                return self._text(node.child_by_field_name("name")) if node.child_by_field_name("body") else ""
            case "singleton_method" | "method":
                return self._text(node.child_by_field_name("name"))
            case "field_definition" | "public_field_definition":
                return self._text(node.child_by_field_name("property") or node.child_by_field_name("name"))
            case "const_element":
                return self._text(node.named_children[0]) if node.named_children else ""
            case _:
                name = self._text(node.child_by_field_name("name"))
                return name.strip("\"'").replace("::", ".") if len(name) < 200 else ""

    def _variable(self, node: Any, prefix: str) -> str:
        name = node.child_by_field_name("name")
        if name is None or name.type not in ("identifier", "simple_identifier"):
            return ""
        text = self._text(name)
        declaration = node.parent
        modifiers = self._text(declaration.parent)[:80] if declaration is not None and prefix else ""
        if prefix and declaration.type in ("field_declaration", "variable_declaration"):
            # Java and C#: of the fields only the constants are for others to use.
            kept = _CONSTANT.fullmatch(text) or " const " in f" {modifiers} "
            return text if kept else ""
        return text

    def _exported(self, node: Any) -> str:
        """Return the name in `exports.name = function …` and `Class.prototype.name = …`."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or left.type != "member_expression" or right.type not in _FUNCTION_VALUES:
            return ""
        parts = [part for part in self._text(left).split(".") if part not in ("module", "exports", "prototype")]
        return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else ""

    def _declared(self, node: Any) -> str:
        """Return the function that a C declarator wraps in pointers, parentheses and scopes."""
        declarator = node.child_by_field_name("declarator")
        if declarator is None:  # PHP has function_definition too, with a plain name
            return self._text(node.child_by_field_name("name"))
        while declarator is not None and declarator.type not in ("function_declarator",):
            declarator = declarator.child_by_field_name("declarator")
        if declarator is None:
            return ""
        return self._identifier(declarator.child_by_field_name("declarator")).replace("::", ".")

    def _identifier(self, node: Any) -> str:
        while node is not None and node.child_by_field_name("declarator") is not None:
            node = node.child_by_field_name("declarator")
        text = self._text(node)
        return text if len(text) < 200 and "\n" not in text else ""

    def _receiver(self, node: Any) -> str:
        """Return the type that a Go method belongs to."""
        receiver = node.child_by_field_name("receiver") if node.type == "method_declaration" else None
        if receiver is None:
            return ""
        words = re.findall(r"[A-Za-z_]\w*", self._text(receiver).partition("[")[0])
        return words[-1] if words else ""

    def _signature(self, node: Any) -> str:
        body = node.child_by_field_name("body")
        if body is None:
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            body = value.child_by_field_name("body") if value is not None else None
        end = body.start_byte if body is not None else node.end_byte
        text = self._source[node.start_byte : end].decode("utf-8", "replace")
        if body is None:
            text = text.partition("\n")[0]
        return short_signature(text).removesuffix("=>").rstrip(" {;=")

    def _doc(self, node: Any) -> str:
        """Return the first line of the comment right above."""
        comments: list[str] = []
        line, above = node.start_point[0], node.prev_sibling
        while above is not None and above.type in self._grammar.comments and above.end_point[0] >= line - 1:
            comments.insert(0, self._text(above))
            line, above = above.start_point[0], above.prev_sibling
        lines = (_COMMENT_MARKS.sub("", part) for comment in comments for part in comment.splitlines())
        return first_sentence("\n".join(_TAG.sub("", line) for line in lines))

    def _text(self, node: Any) -> str:
        if node is None:
            return ""
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _plain_type(text: str) -> str:
    return re.split(r"[<\s]", text.strip(), maxsplit=1)[0].rpartition("::")[2]
