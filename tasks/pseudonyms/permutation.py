"""A keyed permutation of whole numbers of so many digits: FF1, format-preserving encryption.

NIST SP 800-38G (2016), Algorithm 7, with radix 10 and no tweak, on arrays: each of its ten rounds encrypts one AES
block a number, all of them at once. Whoever lacks the key cannot tell it from a permutation drawn at random; whoever
has it can invert it, which nothing here does.
"""

from math import ceil, log2

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB
from numpy.typing import NDArray

DIGITS = 15
"""Digits of a permuted number: the most that every spreadsheet and double holds exactly."""
_RADIX, _ROUNDS, _BLOCK = 10, 10, 16
_NUMBER = np.dtype(">u8")

Numbers = NDArray[np.uint64]


def permuted(numbers: Numbers, key: bytes, digits: int = DIGITS) -> Numbers:
    """FF1 of whole numbers from 0 to 10^digits − 1, which are taken with their leading zeros; shape as given.

    `key` is an AES key of 16, 24 or 32 bytes, `digits` lie between 6 and 18: below, the standard finds the domain too
    small (Revision 1 asks for a million numbers); above, a half would not fit one block as it is laid out here.
    """
    left, right = digits // 2, digits - digits // 2
    encrypted = Cipher(AES(key), ECB()).encryptor().update  # noqa: S305  the standard is made of single blocks
    head = bytes([1, 2, 1, 0, 0, _RADIX, 10, left]) + digits.to_bytes(4) + bytes(4)
    first = np.frombuffer(encrypted(head), dtype=np.uint8)
    width = ceil(ceil(right * log2(_RADIX)) / 8)
    halves = np.divmod(numbers.astype(np.uint64), np.uint64(_RADIX**right))
    a, b = halves
    for turn in range(_ROUNDS):
        blocks = np.zeros((len(numbers), _BLOCK), dtype=np.uint8)
        blocks[:, _BLOCK - width - 1] = turn
        blocks[:, -width:] = b.astype(_NUMBER).view(np.uint8).reshape(-1, 8)[:, -width:]
        made = np.frombuffer(encrypted((blocks ^ first).tobytes()), dtype=np.uint8).reshape(-1, _BLOCK)
        # The first 8 bytes, as d = 8 for all lengths allowed here.
        drawn = np.ascontiguousarray(made[:, :8]).view(_NUMBER).ravel().astype(np.uint64)
        size = np.uint64(_RADIX ** (left if turn % 2 == 0 else right))
        a, b = b, (a + drawn % size) % size
    joined: Numbers = a * np.uint64(_RADIX**right) + b
    return joined
