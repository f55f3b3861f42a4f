"""What a command and the engine send each other: requests, results and errors come back as they were."""

import inspect
import json
import random
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from reverie import errors
from reverie.errors import AmbiguousId, BudgetSpent, InvalidInput, ReverieError, SettingError, WrongEmbedder
from reverie.server.engine_client import decoded, error_from, error_to_send, plain
from reverie.tools import catalog, requests
from reverie.tools.catalog import FOR_COMMANDS, FOR_HOOKS, TOOLS, AnyTool
from reverie.tools.session import Session

EVERY = (*TOOLS, *FOR_COMMANDS, *FOR_HOOKS)
every_tool = pytest.mark.parametrize("tool", EVERY, ids=lambda tool: tool.name)


def sent(value: Any) -> Any:
    """Return what arrives on the other side."""
    return json.loads(json.dumps(plain(value)))


def made_up(hint: Any, dice: random.Random) -> Any:
    """Return some value of a type."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return made_up(parts[0], dice)
    if origin is Literal:
        return dice.choice(parts)
    if origin in (Union, UnionType):
        return made_up(dice.choice(parts), dice)
    if origin in (list, tuple):
        return origin(made_up(parts[0], dice) for _ in range(dice.randrange(4)))
    if origin is dict:
        return {made_up(parts[0], dice): made_up(parts[1], dice) for _ in range(dice.randrange(4))}
    if is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return hint(**{one.name: made_up(hints[one.name], dice) for one in fields(hint)})
    text = "".join(dice.choice('aé\n"\\ \x00\u2028\U0001f600中\ud800') for _ in range(dice.randrange(6)))
    values = {
        NoneType: None,
        bool: dice.random() < 0.5,
        int: dice.randrange(-(2**70), 2**70),
        float: dice.choice([0.0, -1.5, 0.1, 1e300, 5e-324, dice.random()]),
        str: text,
        Any: dice.choice([None, text, 3, 0.1, [text, {"a": None}], {"b": [1.5, True]}]),
    }
    return values[hint]


@every_tool
def test_whatever_a_result_holds_it_comes_back_equal(tool: AnyTool) -> None:
    dice = random.Random(tool.name)  # noqa: S311 - no secrets here
    for _ in range(50):
        result = made_up(tool.result, dice)
        assert decoded(tool.result, sent(result)) == result


REQUESTS = {
    "remember": [
        {"content": "The lamp burns oil.", "layer": "semantic", "files": ["lamp.py"], "tags": ["a", "b"]},
        {"content": "The lamp burns gas.", "layer": "semantic", "importance": 1, "tier": "elephant"},
    ],
    "recall": [{"query": "what burns in the lamp", "explain": True}, {"query": "nothing of this", "layers": []}],
    "brief": [{}, {"max_tokens": 50}],
    "inspect": [{"ids": ["{new}", "{old}"]}],
    "status": [{}],
    "list": [{}, {"all_projects": True, "sort": "weakest", "layer": ["semantic"]}],
    "named": [{"ids": ["{new}"], "to_change": True}],
    "entities": [{}, {"limit": 1, "all_projects": True}],
    "pin": [{"id": "{new}"}, {"id": "{new}", "pinned": False}],
    "demote": [{"id": "{new}"}],
    "promote": [{"id": "{new}", "to": "procedural"}],
    "revise": [{"id": "{new}", "content": "The lamp burns oil again.", "reason": "winter"}],
    "forget": [{"ids": ["{new}"], "dry_run": True}, {"ids": ["{old}"], "reason": "gone"}],
    "restore": [{"ids": ["{old}"]}],
    "index_codebase": [{"path": "{folder}"}],
    "consolidate": [{"dry_run": True}, {"steps": ["sweep", "dedupe"], "budget_cents": 0}],
    "undo_plan": [{"dream_id": "{dream}"}],
    "review": [{}, {"limit": 0}],
    "context": [{}, {"query": "what burns in the lamp", "shown": ["{new}"]}],
    "capture": [{"client": "codex", "session": "s"}],
    "transcript": [{"client": "codex", "session": "s", "summary": "The user said: we deploy on Thursdays only."}],
}


@pytest.mark.anyio
async def test_real_requests_and_results_of_every_tool_come_back_equal(
    session: Session, repo: Any, open_session: Any
) -> None:
    repo.write("lamp.py", "def light():\n    return 'oil'\n")
    repo.commit()
    session = await open_session(folder=repo.root)
    assert set(REQUESTS) == {tool.name for tool in EVERY}
    known = {"folder": str(repo.root)}
    tools = {tool.name: tool for tool in EVERY}
    for name, calls in REQUESTS.items():
        tool = tools[name]
        for arguments in calls:
            filled = json.loads(_filled(json.dumps(arguments), known))
            request = tool.request(**filled)
            assert decoded(tool.request, sent(request)) == request
            result: Any = await catalog.call_any(tool, session, request)
            assert decoded(tool.result, sent(result)) == result
            if name == "remember":
                known |= {"old": known.get("new", ""), "new": result.id}
            elif name == "consolidate":
                known["dream"] = result.dream_id
            elif name == "revise":
                known["new"] = result.id


def _filled(text: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def test_the_answers_of_a_review_come_back_as_such() -> None:
    decision = requests.ReviewDecision(question_id="q", verdict="merge", text="both")
    request = requests.ReviewRequest(decisions=(decision,))
    assert decoded(requests.ReviewRequest, sent(request)) == request


def test_what_a_hook_captured_comes_back_as_such() -> None:
    item = requests.CapturedText(text="The user said: “use uv”", kind="preference", turn=3)
    request = requests.CaptureRequest(client="codex", session="s", items=(item,))
    assert decoded(requests.CaptureRequest, sent(request)) == request


@pytest.mark.parametrize("value", [[], "text", None, {"nothing": 1}])
def test_what_is_no_result_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, KeyError)):
        decoded(catalog.REMEMBER.result, value)


@pytest.mark.parametrize(
    "error",
    [
        InvalidInput("ids", "no id was given", "Use recall."),
        AmbiguousId("abc", ["abcd", "abce"]),
        SettingError("REVERIE_TIER", "cat", "goldfish"),
        BudgetSpent(1.0, 2.0, 3.0),
        WrongEmbedder("one", "another"),
        ReverieError("plain"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_with_its_class_message_and_facts(error: ReverieError) -> None:
    back = error_from(sent(error_to_send(error)))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


def test_an_error_of_a_class_that_is_unknown_here_keeps_its_message() -> None:
    for name in ("NoSuchError", "Sequence", "__file__"):
        back = error_from({"error": name, "message": "It broke."})
        assert (type(back), str(back)) == (ReverieError, "It broke.")


def test_every_class_of_error_can_be_sent() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ReverieError)]
    assert len(kinds) > 10
    for kind in kinds:
        assert type(error_from({"error": kind.__name__, "message": "m"})) is kind
