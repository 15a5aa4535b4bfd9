"""Secrets that come in environment variables, which child processes would inherit.

A child's environment can be read for as long as it lives, and stays with whatever it starts in turn. So a command takes
its secrets out of the environment before it does anything else, and keeps them in memory.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

FOR_RUNS = ("RELEASEGATE_LEDGER", "RELEASEGATE_DECOY_KEYS")
"""Secrets that a release needs, in whatever process it runs."""
SECRETS = (
    *FOR_RUNS,
    "RELEASEGATE_KEY_PASSPHRASE",
    "RELEASEGATE_SIGN_PASSPHRASE",
    "RELEASEGATE_API_TOKEN",
    "RELEASEGATE_OIDC_SECRET",
    "RELEASEGATE_NOTIFY_",
)
"""Their names, or how these begin."""
_taken: dict[str, str] = {}


def secret(name: str) -> str:
    """The value of a variable, also where it was taken out of the environment; empty for none."""
    return os.environ.get(name) or _taken.get(name, "")


@contextmanager
def secrets_taken(*others: str) -> Iterator[None]:
    """Take the secrets, and variables whose names begin like `others`, out of the environment for a while."""
    here = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith((*SECRETS, *others))}
    before = dict(_taken)
    _taken.update(here)
    try:
        yield
    finally:
        _taken.clear()
        _taken.update(before)
        os.environ.update(here)


def secrets_for_runs() -> dict[str, str]:
    """Secrets that a process that runs releases needs, by variable."""
    return {name: value for name in FOR_RUNS if (value := secret(name))}


def give(secrets: Mapping[str, str]) -> None:
    """Keep secrets that another process has handed over."""
    _taken.update(secrets)
