"""The transparency attack on every policy: disclosure to an intruder who knows the rule, and to one who does not.

A policy that generalizes each record by its own best strategy gives away more than the n_p people who match a cell: its
own-cell preimage n_T is smaller for some. Where preimages are whole cells (recursive partition, one common strategy,
Safe Harbor) the two are the same. Payoffs and expected re-identifications of both are ``tasks.risk``'s; here are the
links within the file.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.assessments.linkage.closest import closest_linkage
from tasks.assessments.linkage.figure import Flags, Linkage
from tasks.assessments.linkage.generalized import likely_linkage, matching_linkage, own_cell_linkage
from tasks.assessments.linkage.generalized_files import GeneralizedRelease, generalized_files, generalized_release
from tasks.assessments.linkage.hierarchy_distance import AxisGroups, axis_groups
from tasks.generalization.game import Floats, Follower
from tasks.generalization.play import CountIndex, Generalization
from tasks.microdata.tuples import Counts
from tasks.request.model import Method


@dataclass(frozen=True)
class PolicyLinkage:
    """Linkage of a policy's file, by the intruder's knowledge."""

    method: Method
    records: int
    """Released records."""
    smallest_claimed: int
    """Least n_p of a released record."""
    smallest_effective: int
    """Least n_T of a released record."""
    gap_records: int
    """Released records whose n_T is below n_p."""
    newly_attacked: int
    """Released records that an attempt pays on by n_T and not by n_p."""
    closest: Linkage
    """Linkage by an intruder who only compares."""
    matching: Linkage
    """Linkage by an intruder who knows that a cell holds its owner's values."""
    likely: Linkage
    """Linkage by an intruder who also knows the population."""
    own_cell: Linkage
    """Linkage by an intruder who knows the rule."""

    @property
    def gap_share(self) -> float:
        """Share of released records whose n_T is below n_p, 0 to 1."""
        return self.gap_records / self.records


def table_groups(table: CountIndex, numbers: Sequence[Floats | None] | None = None) -> tuple[AxisGroups, ...]:
    """Groups of each quasi-identifier of a table, Safe Harbor's own included.

    Parameters
    ----------
    table : CountIndex
    numbers : sequence of arrays or None, optional
        For each quasi-identifier of amounts the number of each leaf (``leaf_numbers``), None for the others; all are
        compared by their hierarchy where not given.

    Raises
    ------
    ParameterError
        If numbers are not one finite number a leaf.
    """
    values = [None] * len(table.hierarchies) if numbers is None else numbers
    axes = zip(table.hierarchies, table.safe_harbor, values, strict=True)
    return tuple(axis_groups(hierarchy, extra, own) for hierarchy, extra, own in axes)


def played_release(
    table: CountIndex, played: Generalization, kept: Flags | None = None, groups: Sequence[AxisGroups] | None = None
) -> GeneralizedRelease:
    """The file that a generalization releases.

    Parameters
    ----------
    table : CountIndex
    played : Generalization
    kept : array of shape (n_tuples,), optional
        Whether each tuple's records are released; all are where not given.
    groups : sequence of AxisGroups, optional
        As ``table_groups`` gives them.

    Raises
    ------
    ParameterError
        If no record is released.
    """
    groups = table_groups(table) if groups is None else groups
    return generalized_release(groups, table.data.codes, played.cells, table.data.counts, kept)


def policy_linkage(
    table: CountIndex,
    played: Generalization,
    payoffs: Follower,
    kept: Flags | None = None,
    persons: Counts | None = None,
) -> PolicyLinkage:
    """Attack the file that a policy releases, with all quasi-identifiers known.

    Parameters
    ----------
    table : CountIndex
    played : Generalization
    payoffs : Follower
        The recipient.
    kept : array of shape (n_tuples,), optional
        Whether each tuple's records are released; all are where not given.
    persons : array of shape (n_tuples,), optional
        Individuals of each tuple to look for; all who are released where not given.

    Raises
    ------
    ParameterError
        If no record is released or the individuals are not among the released.
    """
    release = played_release(table, played, kept)
    files = generalized_files(release, persons=persons)
    records = np.where(release.kept, release.records, 0)
    newly = payoffs.attacked(played.effective) & ~payoffs.attacked(played.people)
    return PolicyLinkage(
        method=played.method,
        records=release.released_records,
        smallest_claimed=int(played.people[release.kept].min()),
        smallest_effective=int(played.effective[release.kept].min()),
        gap_records=int(records[played.effective < played.people].sum()),
        newly_attacked=int(records[newly].sum()),
        closest=closest_linkage(files),
        matching=matching_linkage(files),
        likely=likely_linkage(files, played.people),
        own_cell=own_cell_linkage(files),
    )
