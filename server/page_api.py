"""The page's JSON API: every tool and what the page needs besides, as `POST /api/v1/NAME`, described by OpenAPI.

Nothing is implemented here: a call reads its arguments by the tool's schema and runs the tool's own function.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from reverie import __version__
from reverie.errors import (
    AmbiguousId,
    InvalidInput,
    MemoryNotFound,
    MoveRefused,
    RateLimited,
    ReverieError,
    StoreBusy,
    StoreError,
)
from reverie.recall.results import structured, text_only_fields
from reverie.server.app import SERVED
from reverie.server.page_access import KEY_HEADER, LONGEST_BODY, Visitor
from reverie.server.schemas import ToolSchema, UnreadableArguments, schema_of
from reverie.tools.catalog import FOR_COMMANDS, AnyTool, Progress, call_any
from reverie.tools.page_catalog import FOR_PAGE

PREFIX: Final = "/api/v1"

CALLS: Final[Mapping[str, AnyTool]] = {
    **SERVED,
    **{tool.name: tool for tool in (*FOR_COMMANDS, *FOR_PAGE)},
}

_STATUSES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (MemoryNotFound, 404),
    (AmbiguousId, 409),
    (MoveRefused, 409),
    (InvalidInput, 400),
    (UnreadableArguments, 400),
    (RateLimited, 429),
    (StoreBusy, 503),
    (StoreError, 500),
)

log = logging.getLogger("reverie.page")


@cache
def schemas() -> Mapping[str, ToolSchema]:
    """Derive the schema of every call, once."""
    return {name: schema_of(tool) for name, tool in CALLS.items()}


async def answer_call(request: Request, progress: Progress) -> Response:
    """Run the call that a request names, with its arguments, in the session of whoever asks."""
    visitor: Visitor = request.scope["visitor"]
    name = request.path_params["name"]
    if name not in CALLS:
        return failure(404, "UnknownCall", f"There is no call {name!r}. {PREFIX}/openapi.json lists them.")
    try:
        arguments = await _arguments(request)
        asked = schemas()[name].read(arguments)
        async with visitor.client.engine.calling():
            # A person looks, from a page that shows where each memory belongs: an id may name any of them.
            session = replace(await visitor.client.session(), all_projects=True)
            result = await call_any(CALLS[name], session, asked, progress)
        return JSONResponse(structured(result))
    except (ReverieError, UnreadableArguments) as error:
        status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
        return failure(status, type(error).__name__, str(error))
    except Exception:
        log.exception("A call of the page failed.")
        return failure(500, "Unexpected", f"{name} failed. `reverie engine log` may say why.")


async def _arguments(request: Request) -> dict[str, Any]:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LONGEST_BODY:
            raise UnreadableArguments("The body is too long.")
    try:
        given = json.loads(bytes(body) or b"{}")
    except (ValueError, RecursionError):
        raise UnreadableArguments("The body is not JSON.") from None
    if not isinstance(given, dict):
        raise UnreadableArguments("The body is not a JSON object.")
    return given


def failure(status: int, error: str, message: str) -> Response:
    """Return an error as the page shows it: its class, and what happened and what to try."""
    return JSONResponse({"error": error, "message": message}, status)


@cache
def openapi() -> Mapping[str, Any]:
    """Describe the API, from the declarations of the tools alone."""
    parts: dict[str, Any] = {
        "Error": {
            "type": "object",
            "properties": {"error": {"type": "string"}, "message": {"type": "string"}},
            "required": ["error", "message"],
        }
    }
    paths = {f"{PREFIX}/{name}": {"post": _operation(tool, parts)} for name, tool in CALLS.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Reverie",
            "version": __version__,
            "description": (
                "The calls of Reverie's page. Follow a link of `reverie page --print` once; send the cookie that it "
                f"sets, and what stands after `#key=` in its answer as the header {KEY_HEADER}."
            ),
        },
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": KEY_HEADER}},
        },
        "security": [{"key": []}],
    }


def _operation(tool: AnyTool, parts: dict[str, Any]) -> dict[str, Any]:
    reference = "#/components/schemas/{model}"
    taken = schemas()[tool.name].arguments.model_json_schema(ref_template=reference)
    given = TypeAdapter(tool.result).json_schema(ref_template=reference, mode="serialization")
    for name in text_only_fields(tool.result):
        del given["properties"][name]
    for schema in (taken, given):
        parts |= schema.pop("$defs", {})
    return {
        "operationId": tool.name,
        "summary": tool.title,
        "description": tool.description,
        "x-reads": tool.reads,
        "x-destroys": tool.destroys,
        "requestBody": {"content": {"application/json": {"schema": taken}}, "required": False},
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": given}}},
            "default": {
                "description": "What happened, and what to try.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
