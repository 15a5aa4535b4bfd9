"""Later versions and later recipients: what stays as it was, so that no comparison of copies separates the decoys.

A recipient who holds two versions compares them; recipients who come later compare with those who came before. So

* a holder's decoys and kept classes stay its own in every version, and no other holder ever gets one of the same
  origin;
* a newcomer takes a seat that was planned in the first version: its kept classes are missing from every copy already.
  Without a seat there are none: all that others hold is no longer any recipient's own;
* in a later version, real classes of the same origin as a decoy of any recipient are withheld from all copies, so that
  a decoy's cell holds its decoys and nothing else, now as before.

What cannot be kept as it was is counted: kept classes that the new data lacks or has with other records. A decoy never
goes and never changes, so of the classes that stand alone and are as they were, P(decoy) = n_d / (n_d + unchanged kept
classes) to a holder of both versions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.class_table import ClassTable, checked_classes
from tasks.decoys.lineage import Lineage
from tasks.decoys.manifest import Holder, Manifest, Version, hierarchies_digest
from tasks.decoys.same_origin import of_same_origin
from tasks.microdata.hierarchy import Codes, Hierarchy

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Delivery:
    """Classes of one holder's copy of one version; shows none of them."""

    recipient: str | None
    """None for a seat."""
    generalization: int
    released: Flags = field(repr=False)
    """Whether each real class of its file is in the copy."""
    decoys: ClassTable = field(repr=False)
    missing: int
    """Records of the real classes that are not."""
    kept: int
    """Kept classes that the version still has, n_r."""
    unchanged: int
    """Those of them with as many records as in the first version."""

    @property
    def share_within(self) -> float:
        """P(decoy) of a class that stands alone in this version: n_d / (n_d + n_r)."""
        return len(self.decoys) / (len(self.decoys) + self.kept)

    @property
    def share_between(self) -> float:
        """P(decoy) of a class that stands alone and is as it was in the first version."""
        return len(self.decoys) / (len(self.decoys) + self.unchanged)


def deliveries(manifest: Manifest, axes: Sequence[Lineage], version: int = -1) -> tuple[Delivery, ...]:
    """Classes of every holder's copy of a version, seats included, in the order of the holders.

    Parameters
    ----------
    manifest : Manifest
    axes : sequence of Lineage
    version : int
        Number of the version; the last where not given.
    """
    files = manifest.versions[version].files
    return tuple(_delivery(manifest, holder, files, axes) for holder in manifest.holders)


def _delivery(manifest: Manifest, holder: Holder, files: Sequence[ClassTable], axes: Sequence[Lineage]) -> Delivery:
    real = files[holder.generalization]
    taken = np.concatenate([cells for one in manifest.holders for cells in (one.kept.cells, one.decoys.cells)])
    released = ~of_same_origin(real.cells, taken, axes)
    own, before = _matches(real.cells, holder.kept.cells)
    released[own] = True
    return Delivery(
        recipient=holder.recipient,
        generalization=holder.generalization,
        released=released,
        decoys=holder.decoys,
        missing=int(real.records[~released].sum()),
        kept=len(own),
        unchanged=int((real.records[own] == holder.kept.records[before]).sum()),
    )


def _matches(cells: Codes, others: Codes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of equal cells of two tables in which no cell occurs twice."""
    _, number = np.unique(np.concatenate([cells, others]), axis=0, return_inverse=True)
    number = number.ravel()
    _, ours, theirs = np.intersect1d(
        number[: len(cells)], number[len(cells) :], assume_unique=True, return_indices=True
    )
    return ours, theirs


def extend(
    manifest: Manifest,
    axes: Sequence[Lineage],
    hierarchies: Sequence[Hierarchy],
    *,
    newcomers: Mapping[str, int] | None = None,
    version: Version | None = None,
    budget: int | None = None,
) -> tuple[Manifest, tuple[Delivery, ...]]:
    """The manifest with further recipients, a further version, or both, and what all copies are made of.

    Parameters
    ----------
    manifest : Manifest
    axes : sequence of Lineage
    hierarchies : sequence of Hierarchy
        Those of the first version.
    newcomers : mapping of str to int, optional
        Ids of further recipients, and the generalization of each.
    version : Version, optional
        Release id and real classes of a further version, in the generalizations of the first.
    budget : int, optional
        Most records that any one copy of the new version may miss.

    Raises
    ------
    ParameterError
        If the hierarchies are others, a newcomer holds copies already or has no seat, the version's release or
        generalizations do not go with the first, or the budget is exceeded; says what would do.
    """
    if hierarchies_digest(hierarchies) != manifest.hierarchies:
        raise ParameterError(
            "the hierarchies are not those of the first version",
            where="hierarchies",
            expected="the same values and groups, in the same order, in every version of a release with decoys",
            got="others",
            fix="use the hierarchies of the first version, or make a release of its own for new recipients",
        )
    versions = manifest.versions
    if version is not None:
        versions = (*versions, _checked_version(manifest, version, axes))
    grown = replace(manifest, holders=_seated(manifest, newcomers or {}), versions=versions)
    made = deliveries(grown, axes)
    worst = max(delivery.missing for delivery in made)
    if budget is not None and worst > budget:
        raise ParameterError(
            "copies of the new version would miss more records than the budget allows",
            where=f"{len(made)} holders",
            expected=f"at most {budget} records missing from any copy",
            got=str(worst),
            fix=f"allow {worst} records, or make a release of its own, for recipients who hold none of this one",
        )
    return grown, made


def _checked_version(manifest: Manifest, version: Version, axes: Sequence[Lineage]) -> Version:
    first = manifest.versions[0].files
    if version.release in {one.release for one in manifest.versions}:
        _refuse_version("release id", "one that the manifest does not hold yet", "one that it holds")
    if len(version.files) != len(first):
        _refuse_version("files", f"{len(first)} generalizations, as in the first version", str(len(version.files)))
    files = tuple(checked_classes(table, axes, f"file {n}") for n, table in enumerate(version.files, start=1))
    for number, table in enumerate(files):
        if len(np.unique(table.cells, axis=0)) < len(table):
            _refuse_version(f"file {number + 1}", "each cell once", "cells that occur twice")
        decoys = [holder.decoys.cells for holder in manifest.holders if holder.generalization == number]
        if not decoys:
            continue
        levels = {tuple(row) for row in _levels(table.cells, axes).tolist()}
        others = sum(tuple(row) not in levels for row in _levels(np.concatenate(decoys), axes).tolist())
        if others:
            _refuse_version(
                f"file {number + 1}",
                "the generalization of the first version, so that decoys look like real classes in both",
                f"other levels than {others} of the decoys have",
            )
    return Version(version.release, files)


def _levels(cells: Codes, axes: Sequence[Lineage]) -> Codes:
    return np.column_stack([line.levels[cells[:, axis]] for axis, line in enumerate(axes)])


def _refuse_version(where: str, expected: str, got: str) -> NoReturn:
    raise ParameterError(
        "the version does not go with those before it",
        where=where,
        expected=expected,
        got=got,
        fix="generalize it as the first version, or make a release of its own for recipients who hold none of this one",
    )


def _seated(manifest: Manifest, newcomers: Mapping[str, int]) -> tuple[Holder, ...]:
    holders = list(manifest.holders)
    for recipient, generalization in newcomers.items():
        if recipient in manifest.recipients:
            raise ParameterError(
                "a recipient who is to be added holds copies already",
                where="newcomers",
                expected="recipients who hold none",
                got="an id that the manifest has",
                fix="leave it out; it gets its copies of later versions by itself",
            )
        seats = [n for n, one in enumerate(holders) if one.recipient is None and one.generalization == generalization]
        if not seats:
            free = sum(one.recipient is None for one in manifest.holders)
            raise ParameterError(
                "there is no seat for a further recipient",
                where=f"newcomers, generalization {generalization + 1}",
                expected=f"a free seat for each of {len(newcomers)} newcomers",
                got=f"{free} seats, over all generalizations",
                fix="plan more seats in the first version of the next release; in this one all real classes are held "
                "by somebody, and a newcomer's decoys could be told by comparing copies",
            )
        holders[seats[0]] = replace(holders[seats[0]], recipient=recipient)
    return tuple(holders)
