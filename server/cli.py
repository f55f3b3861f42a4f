"""The `reverie` command."""

import argparse
import sys

from reverie.errors import ReverieError
from reverie.settings import load_settings


def main(arguments: list[str] | None = None) -> int:
    """Run one command; without one, serve if a client is on the other end of stdin."""
    parser = argparse.ArgumentParser(prog="reverie", description="Long-term memory for coding assistants.")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("serve", help="serve MCP on stdio")
    given = parser.parse_args(arguments)
    try:
        if given.command == "serve" or (given.command is None and not sys.stdin.isatty()):
            from reverie.server.serve import serve

            return serve(load_settings())
    except ReverieError as error:
        sys.stderr.write(f"reverie: {error}\n")
        return 1
    parser.print_help()
    return 0
