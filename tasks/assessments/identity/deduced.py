"""Values in a released cell that its class really holds, as a recipient who replays the rule deduces.

A class may be a cell less the people who were released before. The recipient who finds the class knows how an
attribute is distributed over its people, and not only over all people of the cell.
"""

import numpy as np

from tasks.generalization.game.count_index import CountIndex, Generalization, matching_people
from tasks.generalization.kanonymity.classes import Bools, fold
from tasks.microdata.hierarchy import Codes


def deduced_bits(table: CountIndex, generalization: Generalization, kept: Bools, own: Codes) -> dict[str, float]:
    """Information on each attribute that the rule adds to the released cell, mean over the records, in bits.

    Of a record it is Σ p · log2(p / q) over the values of the attribute, p their shares of the people whose own cell it
    is (``own``, of each population tuple) and q of all people who match the cell; 0 where whole cells are released.
    """
    data, population = table.data.counts[kept], table.population
    applied = np.ones(len(population), dtype=np.bool_) if generalization.counted is None else generalization.counted
    number, first = fold(np.concatenate([generalization.cells[kept], own[applied]]))
    cells = np.concatenate([generalization.cells[kept], own[applied]])[first]
    records = np.bincount(number[: len(data)], data, len(first))
    classes, people = number[len(data) :], population.counts[applied]
    size, whole = np.bincount(classes, people, len(first)), matching_people(table, cells)
    bits = {}
    for axis, tree in enumerate(table.hierarchies):
        value = tree.positions[population.codes[applied, axis], 0]
        pair, one = fold(np.column_stack([classes, value]))
        of, single = classes[one], cells[classes[one]].copy()
        single[:, axis] = value[one]
        share = np.bincount(pair, people, len(one)) / size[of]
        gain = share * np.log2(share * whole[of] / matching_people(table, single))
        bits[tree.name] = float(records @ np.bincount(of, gain, len(first)) / max(records.sum(), 1))
    return bits
