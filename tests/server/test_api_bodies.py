"""Every call of the API takes what its own description says, and answers anything else with what is wrong.

The bodies are made from the OpenAPI description that the server gives out, so that a new call is tested as soon as it
is declared.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.page_server import Answer, ServedPage, Visit

Schema = dict[str, Any]
HALF_A_PAIR = "\ud800"  # JSON can say it, and no file can keep it
WRONG: dict[str, list[Any]] = {
    "string": [5, True, ["x"], {"x": "y"}, HALF_A_PAIR],
    "integer": ["five", 1.5, [], {"x": 1}],
    "number": ["much", [], {"x": 1}],
    "boolean": ["perhaps", 7, [], {"x": True}],
    "array": [5, True, "x", {"x": 1}],
    "object": [5, "x", ["x"], True],
}
ODD_TEXTS = ["", " ", "\x00", "a" * 3_000, "' OR 1=1 --", "../../etc/passwd", "%", "\u202e", "[]", "{}", "null"]
ODD_NUMBERS = [0, -1, 1, 0.5, 10**30, -(10**30), 1e308, float("nan"), float("inf")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    folder = tmp_path_factory.mktemp("bodies")
    (folder / "project").mkdir()
    (folder / "project" / "lamp.py").write_text("def light():\n    return 'on'\n")
    with ServedPage(folder / "home", folder / "project", "bodies") as page:
        yield page


@pytest.fixture(scope="module")
def visit(served: ServedPage) -> Visit:
    return served.visit()


@pytest.fixture(scope="module")
def described(visit: Visit) -> Any:
    return visit.get("/api/v1/openapi.json").json


class Description:
    """The OpenAPI description, with its references followed."""

    def __init__(self, described: Any) -> None:
        self._parts = described["components"]["schemas"]
        self.calls: dict[str, Schema] = {
            path.rpartition("/")[2]: methods["post"]["requestBody"]["content"]["application/json"]["schema"]
            for path, methods in described["paths"].items()
        }

    def plain(self, schema: Schema) -> Schema:
        """Return a schema without references and without the word for nothing."""
        if "$ref" in schema:
            return self.plain(self._parts[schema["$ref"].rpartition("/")[2]])
        options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
        return self.plain(options[0]) if options else schema

    def good(self, schema: Schema, word: str = "lamp") -> Any:
        """Return a value that a schema takes."""
        schema = self.plain(schema)
        if "enum" in schema or "const" in schema:
            return schema["enum"][0] if "enum" in schema else schema["const"]
        kind = schema["type"]
        if kind == "object":
            return {name: self.good(part, word) for name, part in schema.get("properties", {}).items()}
        if kind == "array":
            return [self.good(schema["items"], word)]
        number = max(schema.get("minimum", 1), 1)
        return {"string": word, "integer": int(number), "number": float(number), "boolean": False}[kind]

    def wrong(self, schema: Schema) -> Iterator[Any]:
        """Return values that a schema does not take, one thing wrong in each."""
        schema = self.plain(schema)
        if "enum" in schema or "const" in schema:
            yield from ("no such word", 5, ["x"])
            return
        kind = schema["type"]
        yield from WRONG[kind]
        if kind == "array":
            yield from ([one] for one in self.wrong(schema["items"]))
        if kind == "object":
            good = self.good(schema)
            yield {**good, "no_such_part": 1}
            for name, part in schema.get("properties", {}).items():
                yield from ({**good, name: one} for one in self.wrong(part))
            for name in schema.get("required", ()):
                yield {key: value for key, value in good.items() if key != name}

    def odd(self, schema: Schema) -> Iterator[Any]:
        """Return values of the right type that hardly anybody would send."""
        schema = self.plain(schema)
        if "enum" in schema or "const" in schema:
            return
        kind = schema["type"]
        if kind == "string":
            yield from ODD_TEXTS
        elif kind in ("integer", "number"):
            yield from ODD_NUMBERS
        elif kind == "array":
            yield []
            yield from ([one] for one in self.odd(schema["items"]))
            yield [self.good(schema["items"])] * 500
        elif kind == "object":
            good = self.good(schema)
            for name, part in schema.get("properties", {}).items():
                yield from ({**good, name: one} for one in self.odd(part))

    def bodies(self, call: str, values: Any) -> Iterator[dict[str, Any]]:
        """Return bodies with one argument each that is one of such values, and what the call needs besides."""
        schema = self.calls[call]
        needed = {name: self.good(schema["properties"][name]) for name in schema.get("required", ())}
        for name, part in schema.get("properties", {}).items():
            yield from ({**needed, name: value} for value in values(part))


@pytest.fixture(scope="module")
def description(described: Any) -> Description:
    return Description(described)


def shown(body: object) -> str:
    return json.dumps(body)[:300]


def test_a_body_made_from_the_schema_is_understood_by_every_call(visit: Visit, description: Description) -> None:
    visit.call("remember", content="The lamp of the pier burns oil.", layer="semantic")
    misread: dict[str, str] = {}
    for call, schema in description.calls.items():
        needed = {name: description.good(schema["properties"][name]) for name in schema.get("required", ())}
        for body in (needed, description.good(schema)):
            answer = visit.post(call, body)
            if answer.status not in (200, 404, 409) and not is_refused_for_its_meaning(answer):
                misread[f"{call} {shown(body)}"] = f"{answer.status} {answer.text[:300]}"
    assert misread == {}


def is_refused_for_its_meaning(answer: Answer) -> bool:
    """Whether the arguments were read, and the call itself says that there is no such thing."""
    return answer.status == 400 and answer.json["error"] == "InvalidInput"


def test_a_value_of_the_wrong_type_a_missing_and_an_unknown_one_are_named(
    visit: Visit, description: Description
) -> None:
    wrongly: dict[str, str] = {}
    for call, schema in description.calls.items():
        good = {name: description.good(schema["properties"][name]) for name in schema.get("required", ())}
        bodies = [
            {**good, "no_such_argument": 1},
            *({name: value for name, value in good.items() if name != missing} for missing in good),
            *description.bodies(call, description.wrong),
        ]
        for body in bodies:
            answer = visit.post(call, body)
            if answer.status != 400 or len(answer.json["message"]) < 10:
                wrongly[f"{call} {shown(body)}"] = f"{answer.status} {answer.text[:300]}"
    assert wrongly == {}


@pytest.mark.slow
def test_no_odd_value_of_the_right_type_makes_a_call_fail(visit: Visit, description: Description) -> None:
    failed: dict[str, str] = {}
    for call in description.calls:
        for body in description.bodies(call, description.odd):
            answer = visit.post(call, body)
            if answer.status >= 500:
                failed[f"{call} {shown(body)}"] = answer.text[:300]
    assert failed == {}


def test_what_a_hook_captures_can_be_sent_by_a_script(visit: Visit) -> None:
    found = visit.call(
        "capture",
        client="script",
        session="s1",
        items=[
            {"text": "We deploy on Thursdays only.", "kind": "decision", "turn": 3},
            {"text": "The staging lamp is called Orla.", "kind": "fact"},
        ],
        said=[{"text": "We deploy on Thursdays only.", "turn": 3}],
    )
    assert (found["mode"], len(found["kept"])) == ("ask", 2)
    [question] = [one for one in visit.call("review")["questions"] if one["id"] == found["question"]]
    assert {one["content"] for one in question["memories"]} == {
        "We deploy on Thursdays only.",
        "The staging lamp is called Orla.",
    }
