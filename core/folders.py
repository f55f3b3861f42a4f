"""The platform's folders for data and for sockets, and where clients say which folder they work in.

Imports next to nothing: `reverie serve` starts with it, and a client waits for that.
"""

import os
import sys
from collections.abc import Mapping

CLIENT_FOLDERS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS")
"""Variables in which clients name the folder they work in; the last is Cursor's and may list several."""

LONGEST_SOCKET_PATH = 100
"""104 bytes on macOS, 108 on Linux, with the zero that ends them."""

_LONGEST_NAME = 24


def data_folder(environment: Mapping[str, str]) -> str:
    """Return the platform's folder for data that belongs to the user."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return os.path.join(environment.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "reverie")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "reverie")
    shared = environment.get("XDG_DATA_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    return os.path.join(shared if os.path.isabs(shared) else os.path.join(home, ".local", "share"), "reverie")


def runtime_folder(environment: Mapping[str, str]) -> str:
    """Return the folder for sockets: on this machine, and the same however a client was started."""
    given = environment.get("REVERIE_RUNTIME", "").strip()
    if os.path.isabs(given) and len(os.fsencode(given)) + _LONGEST_NAME <= LONGEST_SOCKET_PATH:
        return given
    if sys.platform == "win32":
        return os.path.join(data_folder(environment), "run")
    user = os.getuid()
    if os.path.isdir(f"/run/user/{user}"):
        return f"/run/user/{user}/reverie"
    return f"/tmp/reverie-{user}"  # noqa: S108 - whoever uses it insists that it is ours and closed to others
