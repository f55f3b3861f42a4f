"""The formats that `reverie import` reads; apart, because the command line's parser needs them without the readers."""

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
