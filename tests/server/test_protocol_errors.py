"""What there is not is the protocol's own error, without a traceback; progress rises from first to last."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS


def test_an_unknown_prompt_is_an_error_of_the_protocol(server: Any) -> None:
    for name, arguments in (("no_such_prompt", {}), ("session_start", {"mood": "bright"})):
        with pytest.raises(MCPError) as refusal:
            server.run(server.client.get_prompt, name, arguments)
        assert refusal.value.code == INVALID_PARAMS
    assert "no argument 'mood'" in str(refusal.value)
    assert "Traceback" not in server.stderr


@pytest.mark.parametrize("item", ["nothing-like-it", "short", "%20", "a" * 200])
def test_an_unknown_item_is_an_error_of_the_protocol(server: Any, item: str) -> None:
    with pytest.raises(MCPError) as refusal:
        server.run(server.client.read_resource, f"memory://item/{item}")
    assert refusal.value.code == INVALID_PARAMS
    assert "Traceback" not in server.stderr


def test_progress_rises_with_every_notification(server: Any, module_folder: Path) -> None:
    code = module_folder / "code"
    code.mkdir()
    for number in range(150):
        (code / f"part_{number}.py").write_text(
            f'"""Part {number}."""\n\ndef part_{number}():\n    return {number}\n'
        )
    heard: dict[str, list[float]] = {"index_codebase": [], "consolidate": []}
    for tool, arguments in (("index_codebase", {"path": str(code)}), ("consolidate", {})):

        async def hear(progress: float, total: float | None, _message: str | None, tool: str = tool) -> None:
            assert total is not None
            assert progress <= total
            heard[tool].append(progress)

        async def call(tool: str = tool, arguments: dict[str, Any] = arguments, hear: Any = hear) -> Any:
            return await server.client.call_tool(tool, arguments, progress_callback=hear)

        assert not server.run(call).is_error
    for told in heard.values():
        assert len(told) > 2
        assert all(before < after for before, after in pairwise(told))
