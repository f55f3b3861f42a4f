"""`python -m reverie`: the same door as the `reverie` command."""

from reverie.server.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
