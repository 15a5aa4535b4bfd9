"""HIPAA Safe Harbor as a generalization: three-digit ZIP codes, ages over 89 in one group, all else as collected.

Source: 45 CFR 164.514(b)(2)(i)(B) and (C). It is a global recoding, the same for everybody, and serves as yardstick and
as the floor of the SH-Friendly game. A Safe Harbor group that no level of the hierarchy has (such as 000) gets an axis
position after the hierarchy's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import HierarchyError, RequestError
from tasks.generalization.game.zip3 import RESTRICTED_LABEL, ZipTable
from tasks.microdata.hierarchy import MISSING, Codes, Hierarchy
from tasks.request.model import SafeHarborRule

OLDEST_AGE_SHOWN = 89
AGE_LABEL = "90+"


@dataclass(frozen=True)
class SafeHarborAxis:
    """Safe Harbor's grouping of one attribute."""

    positions: Codes
    """Axis position of each leaf's group, shape (n_leaves,)."""
    floor: Codes
    """Least level of the hierarchy that is at least as general, shape (n_leaves,)."""
    extra_labels: tuple[str, ...]
    """Labels of groups that the hierarchy lacks; their positions follow its axis."""
    extra_sizes: NDArray[np.int64]
    """Domain values in each of those groups."""


def safe_harbor_axis(hierarchy: Hierarchy, rule: SafeHarborRule, table: ZipTable) -> SafeHarborAxis:
    """Safe Harbor's grouping of an attribute.

    Raises RequestError if the rule is ``age`` and a value of the hierarchy is not a whole number, HierarchyError if a
    group of Safe Harbor's, held by a group of one level, is divided at a higher one.
    """
    labels = np.array(_labels(hierarchy, rule, table), dtype=object)
    names, group = np.unique(labels.astype(str), return_inverse=True)
    positions = np.empty(hierarchy.n_leaves, dtype=np.int32)
    floor = np.empty(hierarchy.n_leaves, dtype=np.int32)
    extra_labels: list[str] = []
    extra_sizes: list[int] = []
    for number, name in enumerate(names):
        leaves = np.flatnonzero(group == number)
        level = _covering_level(hierarchy, leaves, rule)
        position = int(hierarchy.positions[leaves[0], level])
        if hierarchy.sizes[position] == len(leaves):
            position = int(hierarchy.finest[position])
        else:
            position = hierarchy.axis_length + len(extra_labels)
            extra_labels.append(str(name))
            extra_sizes.append(len(leaves))
        positions[leaves] = position
        floor[leaves] = level
    return SafeHarborAxis(positions, floor, tuple(extra_labels), np.array(extra_sizes, dtype=np.int64))


def _labels(hierarchy: Hierarchy, rule: SafeHarborRule, table: ZipTable) -> Sequence[str]:
    """Labels of leaves: Safe Harbor's own where it shows all values of one alike, else the leaf's."""
    stated = [value for value in hierarchy.domain if value != MISSING]
    shown = dict(zip(stated, _shown(stated, rule, hierarchy.name, table), strict=True))
    found = list[str]()
    held = hierarchy.values or [(label,) for label in hierarchy.labels[0]]
    for label, values in zip(hierarchy.labels[0], held, strict=True):
        alike = {shown.get(value, value) for value in values}
        if len(alike) > 1 and AGE_LABEL in alike and rule is SafeHarborRule.AGE:
            raise HierarchyError(
                "a group of ages has some over 89 and some not, and Safe Harbor keeps the former apart",
                where=f"attributes.{hierarchy.name}.level",
                expected="a level with a limit between the ages 89 and 90",
                got="a group across it",
                fix="name a lower level, or add one that has this limit",
            )
        found.append(alike.pop() if len(alike) == 1 and rule is not SafeHarborRule.NONE else label)
    return found


def _shown(leaves: Sequence[str], rule: SafeHarborRule, name: str, table: ZipTable) -> Sequence[str]:
    """Form in which Safe Harbor shows each value of an attribute; a missing one stays as it is."""
    if rule is SafeHarborRule.ZIP:
        shown = {leaf: table.shown(leaf) for leaf in leaves}
        return [
            part if part == RESTRICTED_LABEL else part + "*" * (len(leaf) - len(part)) for leaf, part in shown.items()
        ]
    if rule is SafeHarborRule.AGE:
        try:
            ages = [int(leaf) for leaf in leaves]
        except ValueError:
            raise RequestError(
                "the Safe Harbor rule for ages needs ages in years",
                where=f"attributes.{name}.safe_harbor",
                expected="a hierarchy whose values are whole numbers",
                got="values that are not",
                fix="set safe_harbor: none, or give the ages in years",
            ) from None
        return [AGE_LABEL if age > OLDEST_AGE_SHOWN else leaf for age, leaf in zip(ages, leaves, strict=True)]
    return leaves


def _covering_level(hierarchy: Hierarchy, leaves: NDArray[np.intp], rule: SafeHarborRule) -> int:
    """Least level at which, as at all above, one group holds all these leaves."""
    same = (hierarchy.groups[leaves] == hierarchy.groups[leaves[0]]).all(axis=0)
    level = int(np.argmax(same))
    if not same[level:].all():
        raise HierarchyError(
            "a level of the hierarchy divides a group that Safe Harbor keeps together and a lower level holds",
            where=f"attributes.{hierarchy.name}.hierarchy, level {level + int(np.argmin(same[level:]))}",
            expected=f"levels that hold the groups of safe_harbor: {rule.value} from level {level} on",
            got="levels that cross there",
            fix="put the level below those that hold Safe Harbor's groups, or leave it out",
        )
    return level
