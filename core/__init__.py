"""Reverie: long-term memory for coding assistants."""

from reverie.version import __version__

__all__ = ["__version__"]
