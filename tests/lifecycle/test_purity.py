"""The library takes everything in and gives everything out: no clock, disk, network or dice."""

import ast
import inspect
from pathlib import Path

import pytest

import reverie.lifecycle
from reverie.lifecycle import curves
from reverie.lifecycle import curves as retention

FOLDER = Path(inspect.getfile(reverie.lifecycle)).parent
MODULES = sorted(FOLDER.glob("*.py"))
PURE = {
    "collections",
    "collections.abc",
    "dataclasses",
    "datetime",
    "difflib",
    "functools",  # what a pure function once gave, it gives again
    "math",
    "numpy",  # arithmetic on arrays; see IMPURE_OF_NUMPY
    "numpy.typing",
    "re",
    "statistics",
    "typing",
    "unicodedata",
    "reverie.errors",
    "reverie.memory",
    "reverie.parameters",
    "reverie.time",
    "reverie.settings",
}
IMPURE_OF_NUMPY = {"random", "load", "save", "fromfile", "memmap", "genfromtxt", "loadtxt", "savetxt"}
CLOCKS = {"now", "today", "utcnow", "time"}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_only_what_is_pure(path):
    tree = ast.parse(path.read_text("utf-8"))
    outside = {name for name in imported(tree) if not name.startswith("reverie.lifecycle")}
    assert outside <= PURE


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_of_numpy_a_module_uses_arithmetic_only(path):
    used = {
        node.attr
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np"
    }
    assert not used & IMPURE_OF_NUMPY


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_reads_no_clock(path):
    calls = (node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
    assert not [call.attr for call in calls if isinstance(call, ast.Attribute) and call.attr in CLOCKS]


def test_every_curve_has_the_same_signature():
    assert {tuple(inspect.signature(curve).parameters) for curve in retention.CURVES.values()} == {("trace",)}


def test_values_are_frozen():
    trace = curves.Trace(age_days=0.0, idle_days=0.0)
    with pytest.raises(AttributeError):
        trace.age_days = 1.0
