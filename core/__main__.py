"""`python -m reverie`, `reverie` and `reverie-mcp`: a relay if a client starts it, else the command line.

The relay is started without importing the command line: a client waits for its first answer.
"""

import os
import sys


def main() -> int:
    """Run the command that the arguments name; return its exit code."""
    try:
        if _is_for_a_client(sys.argv[1:]):
            from reverie.server.relay import serve

            return serve(os.environ)
        from reverie.cli.main import main as run_command

        return run_command()
    except KeyboardInterrupt:  # while the command itself was being imported
        return 130


def _is_for_a_client(arguments: list[str]) -> bool:
    """Return whether a client wants to speak MCP on stdin: `serve`, or no command and no terminal."""
    if sys.stdin is None:
        return False
    return arguments == ["serve"] or (not arguments and not sys.stdin.isatty())


if __name__ == "__main__":
    raise SystemExit(main())
