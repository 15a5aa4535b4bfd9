"""The six problems of Torra 2016, slide 39: 400 Census records, their first attributes microaggregated in blocks."""

import numpy as np

from tasks.assessments.linkage.problem.files import Files, files_to_link
from tests.support.blocks import masked_in_blocks
from tests.support.casc_tables import casc_table

BLOCKS = {
    "M4-33": ((2, 3), (2, 3)),
    "M4-28": ((2, 2), (2, 8)),
    "M4-82": ((2, 8), (2, 2)),
    "M5-38": ((3, 3), (2, 8)),
    "M6-385": ((2, 3), (2, 8), (2, 5)),
    "M6-853": ((2, 8), (2, 5), (2, 3)),
}
"""Attributes and k of each block."""
SAMPLES = 8
_RECORDS = 400


def sampled_problem(name: str, seed: int) -> Files:
    """A sample of the records, masked without standardising; the slides do not say which 400 they took."""
    table = casc_table("census")
    chosen = np.sort(np.random.default_rng(seed).choice(len(table), _RECORDS, replace=False))
    blocks = BLOCKS[name]
    original = table[chosen][:, : sum(size for size, _ in blocks)]
    return files_to_link(original, masked_in_blocks(original, blocks))
