"""Microaggregation: records in groups of at least k, each value the mean of its group.

Means are kept, variances shrink. Groups have k to 2k − 1 records.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks.masking.live_points import LivePoints
from tasks.masking.masked import Floats, Ints, Masked, checked_values, checked_whole, random_order, refused


@dataclass(frozen=True)
class IndividualRanking:
    """Microaggregation by individual ranking: each attribute by itself, k consecutive values in a group.

    Parameters
    ----------
    k : int
        Records of a group, from 2; the last group of an attribute takes what remains, up to 2k − 1.

    Raises
    ------
    ParameterError
        If k is not whole or less than 2.

    Notes
    -----
    Masked values are in the order of the originals. Which of several equal values fall into one group is drawn.
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_whole("k", self.k, 2))

    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:
        """Mask each attribute of an array of shape (n_records, n_attributes).

        Raises
        ------
        ParameterError
            If the values are not a table of at least k records of finite numbers up to ±1e140.
        """
        original = checked_values(values, fewest=self.k, squared=True)
        masked = np.empty_like(original)
        rank_group = np.minimum(np.arange(len(original)) // self.k, len(original) // self.k - 1)
        for column in range(original.shape[1]):
            groups = np.empty_like(rank_group)
            groups[random_order(original[:, column], generator)] = rank_group
            masked[:, column] = group_means(original[:, [column]], groups)[:, 0]
        return Masked(masked, {"method": "microaggregation by individual ranking", "k": self.k})


@dataclass(frozen=True)
class AttributeBlock:
    """Attributes that are microaggregated together.

    Parameters
    ----------
    attributes : tuple of int
        Their positions, counted from 0.
    k : int
        Records of a group, from 2.

    Raises
    ------
    ParameterError
        If there is no attribute, one is named twice, or a number is not whole or too small.
    """

    attributes: tuple[int, ...]
    k: int

    def __post_init__(self) -> None:
        attributes = tuple(checked_whole("attributes", attribute, 0) for attribute in self.attributes)
        if not attributes or len(set(attributes)) < len(attributes):
            shown = ", ".join(map(str, attributes)) or "none"
            raise refused("a block's attributes do not fit", "attributes", "at least one, none of them twice", shown)
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "k", checked_whole("k", self.k, 2))


@dataclass(frozen=True)
class Mdav:
    """Microaggregation by MDAV, in blocks of attributes.

    Parameters
    ----------
    blocks : tuple of AttributeBlock
        Every attribute of the file in exactly one of them.
    standardised : bool
        Whether distances are between values divided by the standard deviation of their attribute, or between the
        values as they are, where the attribute with the largest variance decides the groups of its block.

    Raises
    ------
    ParameterError
        If there is no block, or an attribute is in two of them.

    Notes
    -----
    The method draws nothing: who holds the original file can run it again (see `mdav_groups`).
    """

    blocks: tuple[AttributeBlock, ...]
    standardised: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(self.blocks))
        attributes = [attribute for block in self.blocks for attribute in block.attributes]
        if not attributes or len(set(attributes)) < len(attributes):
            shown = " and ".join(_shown(block) for block in self.blocks) or "none"
            raise refused("the blocks of attributes do not fit", "blocks", "each attribute in one block", shown)
        if not isinstance(self.standardised, bool):
            got = type(self.standardised).__name__
            raise refused("a parameter is outside its range", "standardised", "true or false", got)

    def groups(self, values: ArrayLike) -> Ints:
        """Group of each record in each block, array of shape (n_records, n_blocks).

        Raises
        ------
        ParameterError
            If the values are not a table of finite numbers up to ±1e140, have fewer records than a group needs,
            attributes that are in no block or a block's attributes not among them, or, where they are standardised,
            an attribute that does not vary.
        """
        return self._groups(self._checked(values))

    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:  # noqa: ARG002 - the common signature
        """Mask an array of shape (n_records, n_attributes); nothing is drawn from the generator.

        Raises
        ------
        ParameterError
            Where `groups` does.
        """
        original = self._checked(values)
        groups = self._groups(original)
        masked = np.empty_like(original)
        for number, block in enumerate(self.blocks):
            masked[:, block.attributes] = group_means(original[:, block.attributes], groups[:, number])
        described = {
            "method": "microaggregation by MDAV",
            "blocks": "; ".join(_shown(block) for block in self.blocks),
            "distances": "between standardised values" if self.standardised else "between the values as they are",
        }
        return Masked(masked, described)

    def _checked(self, values: ArrayLike) -> Floats:
        largest_k = max(block.k for block in self.blocks)
        original = checked_values(values, fewest=largest_k, squared=True, varying=self.standardised)
        attributes = sorted(attribute for block in self.blocks for attribute in block.attributes)
        if attributes != list(range(original.shape[1])):
            got = f"{len(attributes)} attributes in blocks, {original.shape[1]} in the values"
            raise refused("blocks and values do not fit", "blocks", "every attribute of the values in one block", got)
        return original

    def _groups(self, original: Floats) -> Ints:
        compared = (original - original.mean(axis=0)) / original.std(axis=0) if self.standardised else original
        return np.stack([mdav_groups(compared[:, block.attributes], block.k) for block in self.blocks], axis=1)


def mdav_groups(points: Floats, k: int) -> Ints:
    """Group of each point under MDAV-generic with the Euclidean distance (Domingo-Ferrer and Torra 2005, Algorithm 1).

    While at least 3k points are left: take r, farthest from their mean, with the k − 1 nearest to it; then s, farthest
    from r, with the k − 1 nearest to it. Of 2k to 3k − 1 points take r with the k − 1 nearest to it; the others, or
    fewer than 2k, are the last group.

    Parameters
    ----------
    points : array of shape (n_points, n_dimensions)
        At least k points, up to ±1e140.
    k : int
        Smallest group.

    Returns
    -------
    array of shape (n_points,)
        Groups in the order in which they are formed, from 0. Of equally distant points the lower row is taken.

    Notes
    -----
    The paper's s is sought before r's group is taken, here after; this can matter only where k − 1 points or more are
    exactly as far from r as s. Time is quadratic at worst, and in few dimensions about n/k times a search of a few
    leaves.
    """
    left, groups = LivePoints(points), np.empty(len(points), dtype=np.int64)
    formed = 0

    def form(centre: int) -> None:
        nonlocal formed
        groups[left.take(points[centre], k)] = formed
        formed += 1

    while len(left) >= 3 * k:
        r = left.farthest_from_mean()
        form(r)
        form(left.farthest(points[r]))
    if len(left) >= 2 * k:
        form(left.farthest_from_mean())
    groups[left.rows()] = formed
    return groups


def group_means(values: Floats, groups: Ints) -> Floats:
    """Mean of each record's group, array of the shape of the values.

    Rounding is kept from moving a mean out of the values of its group.
    """
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(groups[order]) > 0))
    sizes = np.diff(np.append(starts, len(groups)))
    ordered = values[order]
    means = np.add.reduceat(ordered, starts, axis=0) / sizes[:, None]
    lowest, highest = (extreme.reduceat(ordered, starts, axis=0) for extreme in (np.minimum, np.maximum))
    result = np.empty_like(values)
    result[order] = np.repeat(np.clip(means, lowest, highest), sizes, axis=0)
    return result


def _shown(block: AttributeBlock) -> str:
    positions = ", ".join(str(attribute + 1) for attribute in block.attributes)
    return f"attributes {positions} with k = {block.k}"
