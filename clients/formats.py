"""The formats that `reverie import` reads. Apart, because the parser of commands needs them without the readers."""

from typing import Literal

Format = Literal[
    "jsonl",
    "markdown",
    "claude-memory",
    "basic-memory",
    "okf",
    "memory-server",
    "mem0",
    "agentmemory",
    "mcp-memory-service",
    "chatgpt",
    "claude",
    "claude-memories",
]
