"""Blocks of consecutive attributes, as the papers mask them."""

from collections.abc import Iterable

from tasks.masking.microaggregation import AttributeBlock


def consecutive_blocks(sizes_and_ks: Iterable[tuple[int, int]]) -> tuple[AttributeBlock, ...]:
    """Blocks of adjacent attributes, given the number of attributes and the k of each.

    >>> consecutive_blocks([(2, 3), (1, 8)])
    (AttributeBlock(attributes=(0, 1), k=3), AttributeBlock(attributes=(2,), k=8))
    """
    blocks, start = [], 0
    for size, k in sizes_and_ks:
        blocks.append(AttributeBlock(tuple(range(start, start + size)), k))
        start += size
    return tuple(blocks)
