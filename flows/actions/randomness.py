"""Random numbers for commands that release nothing.

They follow from public names alone, never from a workspace's key, and reveal nothing of what a release draws.
"""

import hashlib

import numpy as np

_DOMAIN = b"releasegate: no key\0"

NOT_THE_RELEASES_OWN = "masked or shifted with randomness of its own; the release's will differ"
"""Note beside figures of masked columns and shifted dates that were made for them alone."""


def generator_of_its_own(name: str) -> np.random.Generator:
    """The generator of one purpose: the same whenever and wherever it is made."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(_DOMAIN + name.encode()).digest()))
