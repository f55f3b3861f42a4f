"""Every rule of the lifecycle checklist is reached through a tool, or stands on the list of those that are not."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent.parent

RULES = {
    "000-effective-age",
    "000-tiers",
    "000-passing",
    "000-decays-or-not",
    "000-recall-extends",
    "000-nightly",
    "000-cost",
    "000-distance",
    "000-domains",
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
    "003-audit",
    "004-strength",
    "004-actr",
    "004-rank",
    "004-forget",
    "004-multiply",
    "004-point-in-time",
}
NOT_YET_REACHED: dict[str, str] = {}
"""Rules whose functions are right, but which no tool and no command uses, each with the reason."""

THROUGH_A_TOOL = {"tools", "server", "redteam", "bench"}
"""The folders of tests that call a tool, the server or a command; those of the others call a rule's own functions."""


@functools.cache
def marked() -> frozenset[tuple[str, str]]:
    """Return the rule of every `@pytest.mark.rule(...)` that stands on a test, with the folder of the test."""
    return frozenset(_marked())


def _marked() -> Iterator[tuple[str, str]]:
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule":
                        [rule] = mark.args
                        yield ast.literal_eval(rule), path.relative_to(TESTS).parts[0]


def test_every_rule_is_proved_by_a_test():
    assert {rule for rule, _ in marked()} >= RULES


def test_every_rule_is_proved_through_a_tool_or_listed_as_not_yet_reached():
    reached = {rule for rule, folder in marked() if folder in THROUGH_A_TOOL}
    assert RULES - reached == NOT_YET_REACHED.keys()


def test_every_mark_names_a_rule():
    assert {rule for rule, _ in marked()} <= RULES


def test_every_rule_is_explained():
    explained = (TESTS.parent / "docs" / "lifecycle.md").read_text("utf-8")
    assert not [rule for rule in RULES if f"`{rule}`" not in explained]
