"""A later version of a release with decoys: what stays as it was, so that no comparison of copies separates the decoys.

A recipient who holds two versions compares them; recipients who come later compare with those who came before. So

* a holder's decoys and kept classes stay its own in every version, and no other holder ever gets one of the same
  origin, even where the holder is not asked for any more;
* a newcomer takes a seat that was planned in the first version: its kept classes are missing from every copy already.
  Without a seat there are none: all that others hold is no longer any recipient's own;
* in a later version, real classes of the same origin as a decoy of any recipient are withheld from all copies, so that
  a decoy's cell holds its decoys and nothing else, now as before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tasks.core.errors import ParameterError
from tasks.decoys.classes import Flags, Lineage, of_same_origin
from tasks.decoys.manifest import DecoyManifest, Holder, Version, canonical_table, hierarchies_digest
from tasks.decoys.planning import CopyToMark, check_missing
from tasks.microdata.hierarchy import Codes, Hierarchy


def continued(
    manifest: DecoyManifest,
    copies: Sequence[CopyToMark],
    release_id: str,
    hierarchies: Sequence[Hierarchy],
    axes: Sequence[Lineage],
    *,
    budget: int,
) -> tuple[DecoyManifest, dict[str, Flags]]:
    """The manifest with a further version and its newcomers, and the classes that every copy lacks.

    Parameters
    ----------
    manifest : DecoyManifest
        Of the version that is continued.
    copies : sequence of CopyToMark
        Of all recipients of the new version. One who holds decoys keeps them, whatever it asks for now.
    release_id : str
        Of the new version.
    hierarchies : sequence of Hierarchy
    axes : sequence of Lineage
    budget : int
        Most records that any copy may miss.

    Returns
    -------
    manifest : DecoyManifest
    missing : dict of str to array of bool
        By recipient, whether each released class is missing from its copy.

    Raises
    ------
    ParameterError
        If the version does not go with those before it, a newcomer has no seat, or a copy would miss too much.
    """
    if hierarchies_digest(hierarchies) != manifest.hierarchies:
        raise ParameterError(
            "the hierarchies are not those of the first version",
            where="hierarchies",
            expected="the same values and groups, in the same order, in every version of a release with decoys",
            got="others",
            fix="use the hierarchies of the first version, or make a release of its own for new recipients",
        )
    file_of = {holder.recipient: holder.generalization for holder in manifest.holders if holder.recipient is not None}
    holders = list(manifest.holders)
    for one in copies:
        if one.classes and one.recipient not in manifest.recipients:
            file_of[one.recipient] = _file_as(one, copies, file_of)
            _take_seat(holders, one, file_of[one.recipient])
    files = []
    for number, before in enumerate(manifest.versions[-1].files):
        own = [one for one in copies if file_of.get(one.recipient) == number]
        if len({one.form for one in own}) > 1:
            raise ParameterError(
                "recipients whose copies were generalized alike are to get different ones",
                where=", ".join(one.recipient for one in own),
                expected="the generalization of the version that is continued",
                got="several",
                fix="give them the same method and stakes as in the version before",
            )
        files.append(canonical_table(own[0].release.classes, axes) if own else before)
        decoys = [holder.decoys.cells for holder in holders if holder.generalization == number]
        if own and decoys:
            _check_levels(files[-1].cells, np.concatenate(decoys), axes, f"file {number + 1}")
    version = Version(release_id, tuple(files))
    grown = replace(manifest, holders=tuple(holders), versions=(*manifest.versions, version))
    missing = {one.recipient: missing_from(one, grown, axes) for one in copies}
    for one in copies:
        check_missing(one, missing[one.recipient], budget, "raise policy.decoys.missing_limit")
    return grown, missing


def missing_from(one: CopyToMark, manifest: DecoyManifest, axes: Sequence[Lineage]) -> Flags:
    """Classes that a copy lacks: of the origin of any decoy or kept class, but for those that it keeps itself."""
    cells = canonical_table(one.release.classes, axes).cells
    taken = np.concatenate([cells for other in manifest.holders for cells in (other.kept.cells, other.decoys.cells)])
    missing: Flags = of_same_origin(cells, taken, axes)
    for holder in manifest.holders:
        if holder.recipient == one.recipient:
            own = {cell.tobytes() for cell in holder.kept.cells}
            missing &= [cell.tobytes() not in own for cell in cells]
    return missing


def _file_as(newcomer: CopyToMark, copies: Sequence[CopyToMark], file_of: Mapping[str, int]) -> int:
    """The file of a recipient of an earlier version whose copy is generalized as the newcomer's."""
    for one in copies:
        if one.recipient in file_of and one.form == newcomer.form:
            return file_of[one.recipient]
    raise ParameterError(
        "a newcomer's copy is generalized as nobody's who has copies already",
        where=f"recipient {newcomer.recipient}",
        expected="the generalization and the stakes of a recipient of the version that is continued",
        got="others",
        fix="give it those of such a recipient, or make a release of its own, without “continues”, for new recipients",
    )


def _take_seat(holders: list[Holder], newcomer: CopyToMark, file: int) -> None:
    seats = [n for n, one in enumerate(holders) if one.recipient is None and one.generalization == file]
    if not seats:
        raise ParameterError(
            "there is no seat for a further recipient",
            where=f"recipient {newcomer.recipient}",
            expected="a free seat for each newcomer, in a copy of its generalization",
            got=f"{sum(one.recipient is None for one in holders)} seats, over all generalizations",
            fix="plan more seats in the first version of the next release; in this one all real classes are held "
            "by somebody, and a newcomer's decoys could be told by comparing copies",
        )
    planned = len(holders[seats[0]].decoys)
    if newcomer.classes != planned:
        raise ParameterError(
            "a newcomer asks for more or fewer decoy classes than a seat holds",
            where=f"recipient {newcomer.recipient}",
            expected=f"{planned} decoy classes, as were planned for every seat",
            got=str(newcomer.classes),
            fix="ask for as many, or make a release of its own, without “continues”, for new recipients",
        )
    holders[seats[0]] = replace(holders[seats[0]], recipient=newcomer.recipient)


def _check_levels(real: Codes, decoys: Codes, axes: Sequence[Lineage], where: str) -> None:
    """Refuse a file of other levels than the decoys have, which would then not look like its classes."""
    levels = {tuple(row) for row in _levels(real, axes).tolist()}
    others = sum(tuple(row) not in levels for row in _levels(decoys, axes).tolist())
    if others:
        raise ParameterError(
            "the version does not go with those before it",
            where=where,
            expected="the generalization of the first version, so that decoys look like real classes in both",
            got=f"other levels than {others} of the decoys have",
            fix="generalize it as the first version, or make a release of its own for recipients who hold none of this "
            "one",
        )


def _levels(cells: Codes, axes: Sequence[Lineage]) -> Codes:
    return np.column_stack([line.levels[cells[:, axis]] for axis, line in enumerate(axes)])
