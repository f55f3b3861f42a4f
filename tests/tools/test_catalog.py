"""Every tool is declared once, and what is derived from the declaration is true."""

import importlib
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import pytest

from reverie.errors import InvalidInput
from reverie.memory import Status
from reverie.recall.results import Recalled, lean
from reverie.tools.catalog import FOR_COMMANDS, PIN, RECALL, REMEMBER, TOOLS, AnyTool, Progress, call
from reverie.tools.requests import (
    ForgetRequest,
    HiddenStatus,
    MoveRequest,
    PinRequest,
    RecallRequest,
    RememberRequest,
    Request,
    ReviewDecision,
    ReviewRequest,
    ReviseRequest,
    arguments_of,
)
from reverie.tools.results import Result
from reverie.tools.session import Session

every_tool = pytest.mark.parametrize("tool", [*TOOLS, *FOR_COMMANDS], ids=lambda tool: tool.name)


@every_tool
def test_a_function_takes_and_returns_what_is_declared(tool: AnyTool) -> None:
    function = getattr(importlib.import_module(tool.module), tool.function.partition(":")[2])
    hints = get_type_hints(function)
    taken = [hints.pop("session"), hints.pop("request")]
    assert taken == [Session, tool.request]
    assert hints.pop("return") is tool.result
    assert (hints.get("progress") == Progress) is tool.reports_progress


@every_tool
def test_a_request_says_what_each_field_means(tool: AnyTool) -> None:
    assert [argument.name for argument in arguments_of(tool.request) if not argument.help.text] == []


@every_tool
def test_a_default_is_a_value_that_the_field_takes(tool: AnyTool) -> None:
    for argument in arguments_of(tool.request):
        if not argument.is_required:
            argument.validate(argument.default)


def test_names_are_their_own_and_each_result_has_a_tool() -> None:
    every = (*TOOLS, *FOR_COMMANDS)
    assert len({tool.name for tool in every}) == len({tool.function for tool in every}) == len(every)
    assert {tool.result for tool in TOOLS} == set(get_args(Result))
    assert all(is_dataclass(tool.result) and fields(tool.result) for tool in TOOLS)


def test_what_is_hidden_is_a_status() -> None:
    assert set(get_args(HiddenStatus)) < set(get_args(Status))


@pytest.mark.parametrize(
    ("request_type", "arguments", "says"),
    [
        (RememberRequest, {"content": " "}, "content: there is no text to remember"),
        (RememberRequest, {"content": "x" * 100_001}, "content: 100,001 characters"),
        (
            RememberRequest,
            {"content": "x", "importance": 1.01},
            "importance: 1.01 is out of range. Give a number from 0",
        ),
        (RememberRequest, {"content": "x", "valence": float("nan")}, "valence: nan is out of range"),
        (RememberRequest, {"content": "x", "layer": "attic"}, "layer: 'attic' is unknown. It takes: working"),
        (RememberRequest, {"content": "x", "tier": "whale"}, "tier: 'whale' is unknown"),
        (RememberRequest, {"content": "x", "tags": ["a", " "]}, "tags: a tag is empty"),
        (RememberRequest, {"content": "x", "files": ["f"] * 101}, "files: 101 files are too many"),
        (RememberRequest, {"content": "x", "title": "t" * 201}, "title: 201 characters is too long"),
        (ReviseRequest, {"id": "x", "content": "x", "reason": "\ud800"}, "reason: holds a broken character"),
        (RecallRequest, {"query": ""}, "query: there is nothing to look for"),
        (RecallRequest, {"query": "x", "limit": 0}, "limit: 0 is out of range. Give a number from 1 to 100"),
        (RecallRequest, {"query": "x", "layers": ["semantic", "attic"]}, "layers: 'attic' is unknown"),
        (ForgetRequest, {"min_strength": -1}, "min_strength: -1 is out of range"),
        (MoveRequest, {"id": "x", "to": "attic"}, "to: 'attic' is unknown"),
        (ReviewRequest, {"limit": 51}, "limit: 51 is out of range"),
        (ReviewRequest, {"decisions": [{"mood": "bright"}]}, "decisions: 'mood' is unknown. Give: question_id"),
        (ReviewRequest, {"decisions": [{"text": 5}]}, "decisions: a part is not a text"),
    ],
)
def test_a_wrong_value_is_named_when_a_request_is_made(
    request_type: type[Request], arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        request_type(**arguments)
    assert says in str(refused.value)


def test_a_request_is_a_value() -> None:
    tags: list[Any] = ["a", "b"]
    given = RememberRequest(content="x", tags=tags)  # type: ignore[arg-type]
    tags.clear()
    assert given == RememberRequest(content="x", tags=("a", "b"))
    assert hash(given)


def test_an_answer_may_be_given_as_a_mapping() -> None:
    answer: Any = {"question_id": "q1", "verdict": "holds"}
    assert ReviewRequest(decisions=(answer,)).decisions == (ReviewDecision(question_id="q1", verdict="holds"),)


@pytest.mark.anyio
async def test_a_request_of_another_tool_is_not_taken(session: Session) -> None:
    with pytest.raises(TypeError, match="remember takes a RememberRequest, not a PinRequest"):
        await call(REMEMBER, session, PinRequest(id="x"))  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_a_call_imports_the_function_and_runs_it(session: Session) -> None:
    kept = await call(REMEMBER, session, RememberRequest(content="The lamp burns oil."))
    assert (await call(PIN, session, PinRequest(id=kept.id))).pinned
    found = await call(RECALL, session, RecallRequest(query="lamp"))
    assert [row.id for row in found.results] == [kept.id]


def test_the_text_of_a_recall_is_no_part_of_its_structure() -> None:
    found = Recalled(
        results=[], fits="none", total_matches=0, filtered={}, tokens=0, index_state="ready", scope={}, text="x"
    )
    assert "text" not in lean(found)
