"""`python -m reverie` runs the `reverie` command."""

if __name__ == "__main__":
    try:
        from reverie.cli.main import main

        raise SystemExit(main())
    except KeyboardInterrupt:  # while the command itself was being imported
        raise SystemExit(130) from None
