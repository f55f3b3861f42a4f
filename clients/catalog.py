"""The clients that `reverie setup` knows, as data: their files, keys, hook events, and what to tell a person.

The facts are from the clients' documentation of June to October 2026. Nothing here reads or writes a file but
`Machine`, which looks for what is installed.
"""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Scope = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("user", "project")
Format = Literal["json", "toml"]
ServerStyle = Literal["plain", "stdio", "workspace", "local", "codex"]
HookStyle = Literal["claude", "codex", "gemini", "cursor", "vscode"]

SERVER = "reverie"
"""The name of the server in every client's file."""


@dataclass(frozen=True, slots=True)
class ServerFile:
    """Where a client lists its servers: templates of paths by scope, the key, and the style of an entry.

    Of several paths the first that exists is taken, else the first. One that is `optional` is only written where its
    folder exists.
    """

    paths: Mapping[Scope, tuple[str, ...]]
    key: str = "mcpServers"
    style: ServerStyle = "plain"
    format: Format = "json"
    optional: bool = False


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event of a client: `reverie-hook` runs, or with `recalls` the connected server's tool `recall`."""

    name: str
    seconds: int = 5
    matcher: str = ""
    recalls: bool = False


@dataclass(frozen=True, slots=True)
class HookFile:
    """Where a client lists its hooks, in which style, and for which events we have one."""

    paths: Mapping[Scope, tuple[str, ...]]
    style: HookStyle
    events: tuple[HookEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client. `folders` and `programs` show that it is installed; `paste` says where, if it has no file."""

    name: str
    title: str
    servers: tuple[ServerFile, ...] = ()
    hooks: HookFile | None = None
    folders: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    afterwards: str
    hooks_afterwards: str = ""
    paste: str = ""
    good_to_know: str = ""

    def __str__(self) -> str:
        return self.name

    def has_scope(self, scope: Scope) -> bool:
        """Whether it has a file for this scope, or takes a pasted block."""
        return bool(self.paste) or any(scope in file.paths for file in self.servers)


_CLAUDE_EVENTS = (
    HookEvent("SessionStart", matcher="startup|resume|clear|compact"),
    HookEvent("UserPromptSubmit", seconds=3, recalls=True),
    HookEvent("PostToolUseFailure"),
    HookEvent("PreCompact"),
    HookEvent("PostCompact"),
    HookEvent("SessionEnd"),
)

CLIENTS: tuple[Client, ...] = (
    Client(
        name="claude-code",
        title="Claude Code",
        servers=(ServerFile({"user": ("{claude_json}",), "project": ("{project}/.mcp.json",)}, style="stdio"),),
        hooks=HookFile(
            {"user": ("{claude}/settings.json",), "project": ("{project}/.claude/settings.local.json",)},
            "claude",
            _CLAUDE_EVENTS,
        ),
        folders=("{claude}", "{claude_json}"),
        programs=("claude",),
        afterwards="Start a new session of Claude Code.",
        good_to_know="`.mcp.json` has to be approved once; it sets `CLAUDE_PROJECT_DIR`, which Reverie reads",
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        servers=(ServerFile({"user": ("{config}/Claude/claude_desktop_config.json",)}),),
        folders=("{config}/Claude",),
        afterwards="Quit Claude Desktop and start it again.",
        good_to_know="it starts servers outside any project: set `REVERIE_PROJECT` in the entry's `env`",
    ),
    Client(
        name="cursor",
        title="Cursor",
        servers=(ServerFile({"user": ("{home}/.cursor/mcp.json",), "project": ("{project}/.cursor/mcp.json",)}),),
        hooks=HookFile(
            {"user": ("{home}/.cursor/hooks.json",), "project": ("{project}/.cursor/hooks.json",)},
            "cursor",
            (
                HookEvent("sessionStart"),
                HookEvent("postToolUseFailure"),
                HookEvent("preCompact"),
                HookEvent("sessionEnd"),
            ),
        ),
        folders=("{home}/.cursor",),
        programs=("cursor",),
        afterwards="Restart Cursor.",
        good_to_know="Reverie reads `WORKSPACE_FOLDER_PATHS` if it is set",
    ),
    Client(
        name="vscode",
        title="VS Code",
        servers=(
            ServerFile(
                {"user": ("{config}/Code/User/mcp.json",), "project": ("{project}/.vscode/mcp.json",)},
                key="servers",
                style="workspace",
            ),
        ),
        hooks=HookFile(
            {"user": ("{home}/.copilot/hooks/reverie.json",), "project": ("{project}/.github/hooks/reverie.json",)},
            "vscode",
            (HookEvent("SessionStart"), HookEvent("PreCompact")),
        ),
        folders=("{config}/Code",),
        programs=("code",),
        afterwards="Restart VS Code, or start the server from the file with its own link.",
        good_to_know="the key is `servers`; it reads Claude Code's hooks too, so none are written if those are there",
    ),
    Client(
        name="codex",
        title="Codex",
        servers=(
            ServerFile(
                {"user": ("{codex}/config.toml",), "project": ("{project}/.codex/config.toml",)},
                key="mcp_servers",
                style="codex",
                format="toml",
            ),
        ),
        hooks=HookFile(
            {"user": ("{codex}/hooks.json",), "project": ("{project}/.codex/hooks.json",)},
            "codex",
            (
                HookEvent("SessionStart"),
                HookEvent("UserPromptSubmit", seconds=3, recalls=True),
                HookEvent("PostToolUse", matcher="Bash"),  # no event for failures alone: the hook looks
                HookEvent("PreCompact"),
                HookEvent("PostCompact"),
                HookEvent("SessionEnd", seconds=3),  # the longest that it grants
            ),
        ),
        folders=("{codex}",),
        programs=("codex",),
        afterwards="Start a new session of Codex.",
        hooks_afterwards="Codex runs a hook only after you have trusted it: open /hooks there and trust Reverie's.",
        good_to_know="it clears the environment of servers; the entry's `env_vars` lists what they may see",
    ),
    Client(
        name="gemini",
        title="Gemini CLI",
        servers=(
            ServerFile(
                {"user": ("{home}/.gemini/settings.json",), "project": ("{project}/.gemini/settings.json",)},
            ),
        ),
        hooks=HookFile(
            {"user": ("{home}/.gemini/settings.json",), "project": ("{project}/.gemini/settings.json",)},
            "gemini",
            (
                HookEvent("SessionStart"),
                HookEvent("BeforeAgent", seconds=3),
                HookEvent("AfterTool", matcher="run_shell_command"),
                HookEvent("PreCompress"),
                HookEvent("SessionEnd"),
            ),
        ),
        folders=("{home}/.gemini",),
        programs=("gemini",),
        afterwards="Start a new session of Gemini CLI, in a folder that it trusts: elsewhere it starts no servers.",
        good_to_know=(
            "it starts no servers in a folder that it does not trust (`/permissions` there), and removes variables "
            "with KEY in their name unless the entry's `env` lists them"
        ),
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        servers=(ServerFile({"user": ("{home}/.codeium/windsurf/mcp_config.json",)}),),
        folders=("{home}/.codeium/windsurf",),
        programs=("windsurf",),
        afterwards="Restart Windsurf, or refresh its list of servers.",
        good_to_know="its hooks cannot put anything into context, so none are written",
    ),
    Client(
        name="zed",
        title="Zed",
        servers=(ServerFile({"user": ("{zed}/settings.json",)}, key="context_servers"),),
        folders=("{zed}",),
        programs=("zed", "zeditor"),
        afterwards="Zed starts the server when the file is saved; no restart is needed.",
        good_to_know="tools and prompts only",
    ),
    Client(
        name="opencode",
        title="opencode",
        servers=(
            ServerFile(
                {
                    "user": ("{dot_config}/opencode/opencode.json", "{dot_config}/opencode/opencode.jsonc"),
                    "project": ("{project}/opencode.json", "{project}/opencode.jsonc"),
                },
                key="mcp",
                style="local",
            ),
        ),
        folders=("{dot_config}/opencode",),
        programs=("opencode",),
        afterwards="Start a new session of opencode.",
        good_to_know="it waits five seconds for the list of tools",
    ),
    Client(
        name="cline",
        title="Cline",
        servers=(
            ServerFile({"user": ("{home}/.cline/data/settings/cline_mcp_settings.json",)}),
            ServerFile(
                {
                    "user": (
                        "{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                    )
                },
                optional=True,
            ),
        ),
        folders=("{home}/.cline", "{config}/Code/User/globalStorage/saoudrizwan.claude-dev"),
        programs=("cline",),
        afterwards="Start a new task in Cline.",
        good_to_know="the second file is that of the extension in VS Code",
    ),
    Client(
        name="continue",
        title="Continue",
        servers=(
            ServerFile(
                {
                    "user": ("{home}/.continue/mcpServers/reverie.json",),
                    "project": ("{project}/.continue/mcpServers/reverie.json",),
                }
            ),
        ),
        folders=("{home}/.continue",),
        programs=("cn",),
        afterwards="Reload Continue.",
        good_to_know="a file of its own",
    ),
    Client(
        name="jetbrains",
        title="JetBrains AI Assistant",
        folders=("{config}/JetBrains",),
        afterwards="Apply the settings page; the IDE starts the server.",
        paste="Settings, Tools, AI Assistant, Model Context Protocol (MCP), Add, As JSON",
        good_to_know="no file to write: `reverie setup jetbrains` prints the block",
    ),
)

PASTED = ServerFile({})
"""The form of a block that a person pastes into a settings page."""

NAMES: tuple[str, ...] = tuple(client.name for client in CLIENTS)


def client_named(name: str) -> Client:
    """Return the client of this name, which has to be one of NAMES."""
    return next(client for client in CLIENTS if client.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where clients keep their files here, and where our executables are; `hook` is empty if there is none."""

    home: Path
    project: Path
    platform: str
    executable: str
    hook: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def paths(self, templates: tuple[str, ...]) -> list[Path]:
        """Fill in templates of paths."""
        folders = self._folders()
        return [Path(re.sub(r"\{(\w+)\}", lambda found: str(folders[found[1]]), template)) for template in templates]

    def path(self, templates: tuple[str, ...]) -> Path:
        """Return the first that exists, else the first."""
        paths = self.paths(templates)
        return next((path for path in paths if os.path.exists(path)), paths[0])

    def has(self, client: Client) -> bool:
        """Whether a client seems to be installed."""
        if any(map(os.path.exists, self.paths(client.folders))):
            return True
        return any(shutil.which(program, path=self.environment.get("PATH", "")) for program in client.programs)

    def _folders(self) -> dict[str, Path]:
        roaming = self._given("APPDATA", self.home / "AppData" / "Roaming")
        dot_config = self.home / ".config"
        if self.platform not in ("win32", "darwin"):
            dot_config = self._given("XDG_CONFIG_HOME", dot_config)
        config = {"win32": roaming, "darwin": self.home / "Library" / "Application Support"}.get(
            self.platform, dot_config
        )
        claude = self._given("CLAUDE_CONFIG_DIR", self.home / ".claude")
        has_own = claude != self.home / ".claude"
        return {
            "home": self.home,
            "project": self.project,
            "config": config,
            "dot_config": dot_config,
            "claude": claude,
            "claude_json": (claude if has_own else self.home) / ".claude.json",
            "codex": self._given("CODEX_HOME", self.home / ".codex"),
            "zed": roaming / "Zed" if self.platform == "win32" else dot_config / "zed",
        }

    def _given(self, variable: str, default: Path) -> Path:
        given = Path(self.environment.get(variable, "") or ".")
        return given if given.is_absolute() else default


def project_root(folder: Path) -> Path:
    """Return the nearest folder above that holds a repository; the folder itself if there is none."""
    return next((one for one in (folder, *folder.parents) if os.path.exists(one / ".git")), folder)
