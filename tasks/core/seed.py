"""Results that a release repeats bit by bit: seeds that nobody without the key can predict, and one thread.

A seed is ``HMAC-SHA256(key, release id, purpose)``; the record holds a commitment to it, never the seed.
"""

import hashlib
import hmac
import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the service derives seeds and does without numpy
    import numpy as np
    from threadpoolctl import ThreadpoolController


def derive_seed(key_file: Path, release_id: str, purpose: str) -> bytes:
    """Seed of one purpose within one release, 32 bytes."""
    message = f"{release_id}\0{purpose}".encode()
    return hmac.new(key_file.read_bytes(), message, hashlib.sha256).digest()


def seed_commitment(key_file: Path, release_id: str) -> str:
    """SHA-256 that binds the record to the key without telling it."""
    return hashlib.sha256(derive_seed(key_file, release_id, "commitment")).hexdigest()


def masking_generator(key_file: Path, name: str) -> "np.random.Generator":
    """The generator of one masking, by the name that its values and terms determine; the same in every release."""
    import numpy as np  # noqa: PLC0415

    return np.random.default_rng(int.from_bytes(derive_seed(key_file, "masking", name)))


def one_thread() -> AbstractContextManager[object]:
    """Context in which OpenMP and BLAS use one thread.

    Several threads add up in an order that varies, and the last bits with it: then ties, clusters and neighbours
    differ.
    """
    limits: AbstractContextManager[object] = _pools(len(sys.modules)).limit(limits=1)
    return limits


@lru_cache(maxsize=1)
def _pools(_modules: int) -> "ThreadpoolController":
    """Thread pools of the libraries that are loaded; found anew, which takes milliseconds, once more modules are."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415

    return ThreadpoolController()
