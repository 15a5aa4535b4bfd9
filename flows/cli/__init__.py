"""The command line: ``releasegate``."""

from flows.cli.app import main

__all__ = ["main"]
