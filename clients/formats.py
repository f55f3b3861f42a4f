"""The names of what `reverie import` reads. In a module alone: the parser needs them without the readers."""

from typing import Literal, get_args

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

FORMATS: tuple[Format, ...] = get_args(Format)
