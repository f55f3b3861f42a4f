"""Every rule of the lifecycle checklist is proved by a test, and every test's mark names a rule."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent.parent

HERE = {
    "000-effective-age",
    "000-tiers",
    "000-decays-or-not",
    "000-recall-extends",
    "000-nightly",
    "000-cost",
    "001-exponential",
    "001-frequency",
    "001-power",
    "001-stability-growth",
    "001-core",
    "002-layers",
    "002-importance",
    "002-surprise",
    "002-retention",
    "002-trust",
    "002-promotion",
    "002-pin",
    "002-archive",
    "002-compression",
    "002-dream",
    "003-ttl",
    "003-contradiction",
    "003-low-value",
    "003-start",
    "003-http",
    "003-dry-run",
    "004-strength",
    "004-actr",
    "004-rank",
    "004-forget",
    "004-multiply",
}
LATER = {
    "000-distance": "Recall that finds, explains itself and keeps its budget",
    "000-domains": "The house, the store, and a first real conversation over MCP",
    "003-audit": "Safe to leave on: secrets, poison, scope, purge, audit",
    "004-point-in-time": "Recall that finds, explains itself and keeps its budget",
}


def marked() -> Iterator[str]:
    """Yield the rule of every `@pytest.mark.rule(...)` that stands on a test."""
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule":
                        [rule] = mark.args
                        yield ast.literal_eval(rule)


def test_every_rule_is_proved_by_a_test():
    assert set(marked()) >= HERE


def test_every_mark_names_a_rule():
    assert set(marked()) <= HERE | LATER.keys()


def test_every_rule_is_explained():
    explained = (TESTS.parent / "docs" / "lifecycle.md").read_text("utf-8")
    assert not [rule for rule in HERE if f"`{rule}`" not in explained]


def test_no_rule_is_both_proved_and_put_off():
    assert not HERE & LATER.keys()
