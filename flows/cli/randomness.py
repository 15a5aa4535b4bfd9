"""Random numbers for commands that release nothing.

They follow from public names alone, never from a workspace's key: what is masked or drawn with them is not what a
release masks or draws, and reveals nothing of it.
"""

import hashlib

import numpy as np

_DOMAIN = b"releasegate: no key\0"

NOT_THE_RELEASES_OWN = "masked with randomness of its own; the release's will differ"
"""Note beside figures of masked columns that were made for them alone."""


def generator_of_its_own(name: str) -> np.random.Generator:
    """The generator of one purpose: the same whenever and wherever it is made.

    Parameters
    ----------
    name : str
        The purpose.
    """
    return np.random.default_rng(int.from_bytes(hashlib.sha256(_DOMAIN + name.encode()).digest()))
