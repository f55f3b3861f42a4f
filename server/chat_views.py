"""Views inside a chat (MCP Apps): the review queue and a memory's card, as `ui://` resources that two tools name.

A client that knows them shows the page of a tool's result in a sandboxed frame; others go on with the text. A page is
one document without any address in it: its policy names the hashes of its own script and style, and nothing else.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

from mcp.server.apps import Apps, ResourceCsp

VIEWS: Final[Mapping[str, tuple[str, str, str]]] = {
    "review": ("ui://reverie/review", "review", "Open questions"),
    "inspect": ("ui://reverie/memory", "memory", "A memory"),
}
"""The tools whose result has a view: its address, which view it is, and its title."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title><style>{style}</style></head>
<body data-view="{view}"><main id="main"></main><script type="module">{script}</script></body></html>
"""

_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def chat_views() -> Apps:
    """Return the extension with every view as a resource."""
    apps = Apps()
    for address, view, title in VIEWS.values():
        apps.add_html_resource(
            address,
            page_of(view, title),
            name=f"{view}-view",
            title=title,
            csp=ResourceCsp(connect_domains=[], resource_domains=[], frame_domains=[], base_uri_domains=[]),
            prefers_border=True,
        )
    return apps


def meta_of(tool: str) -> dict[str, Any]:
    """Return what a tool's `_meta` says of its view; nothing if it has none."""
    return {"ui": {"resourceUri": VIEWS[tool][0]}} if tool in VIEWS else {}


@cache
def page_of(view: str, title: str) -> str:
    """Return the document of a view, with its script and style inside."""
    folder = files("reverie.server").joinpath("app_view")
    script, style = (folder.joinpath(name).read_text("utf-8") for name in ("view.js", "view.css"))
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    return _PAGE.format(policy=escape(policy), title=escape(title), style=style, view=escape(view), script=script)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
