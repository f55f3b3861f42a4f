"""The tree-sitter grammars: which file needs which, and what their trees call a definition.

Each is loaded when the first file of its language is read (a few tenths of a millisecond).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from reverie.codebase.symbols import SymbolKind


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
