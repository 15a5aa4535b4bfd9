"""A later version of a release with decoys: its recipients keep theirs, newcomers take seats."""

from collections.abc import Mapping, Sequence

import numpy as np

from tasks.core.errors import ParameterError
from tasks.decoys.class_table import ClassTable
from tasks.decoys.collusion import Copy
from tasks.decoys.generalized_release import Flags
from tasks.decoys.lineage import Lineage
from tasks.decoys.manifest import Holder, Manifest, Version
from tasks.decoys.offer import real_classes
from tasks.decoys.planting import Asked, check_missing
from tasks.decoys.same_origin import of_same_origin
from tasks.decoys.versions import extend
from tasks.microdata.hierarchy import Hierarchy


def continued(
    manifest: Manifest,
    asked: Sequence[Asked],
    release_id: str,
    hierarchies: Sequence[Hierarchy],
    axes: Sequence[Lineage],
    *,
    budget: int,
) -> tuple[Manifest, dict[str, Flags]]:
    """The manifest with a further version and its newcomers, and the classes that every copy lacks.

    Recipients of the first version who are no longer asked for keep their decoys and kept classes: no other recipient
    gets them.

    Parameters
    ----------
    manifest : Manifest
        Of the version that is continued.
    asked : sequence of Asked
        All recipients of the new version. One who holds decoys keeps them, whatever it asks for now.
    release_id : str
        Of the new version.
    hierarchies : sequence of Hierarchy
    axes : sequence of Lineage
    budget : int
        Most records that any copy may miss.

    Returns
    -------
    manifest : Manifest
    missing : dict of str to array of bool
        By recipient, whether each released class is missing from its copy.

    Raises
    ------
    ParameterError
        If the version does not go with those before it, a newcomer has no seat, or a copy would miss too much.
    """
    file_of = {holder.recipient: holder.generalization for holder in manifest.holders if holder.recipient is not None}
    newcomers = {one.recipient: _file_as(one, asked, file_of) for one in asked if _is_new(one, file_of)}
    for one in asked:
        if one.recipient in newcomers:
            _check_seat(one, manifest, newcomers[one.recipient])
    number = file_of | newcomers
    files = []
    for place, before in enumerate(manifest.versions[-1].files):
        own = [one for one in asked if number.get(one.recipient) == place]
        if len({one.form for one in own}) > 1:
            raise _other_forms(own)
        files.append(real_classes(own[0].release) if own else before)
    grown, made = extend(
        manifest, axes, hierarchies, newcomers=newcomers, version=Version(release_id, tuple(files)), budget=budget
    )
    missing = {one.recipient: ~one.released for one in made if one.recipient is not None}
    for one in asked:
        if one.recipient not in missing:
            missing[one.recipient] = _missing_without(one, grown, axes, budget)
    return grown, {one.recipient: missing[one.recipient] for one in asked}


def _is_new(one: Asked, file_of: Mapping[str, int]) -> bool:
    return bool(one.classes) and one.recipient not in file_of


def _file_as(newcomer: Asked, asked: Sequence[Asked], file_of: Mapping[str, int]) -> int:
    """The file of a recipient of an earlier version whose copy is generalized as the newcomer's."""
    for one in asked:
        if one.recipient in file_of and one.form == newcomer.form:
            return file_of[one.recipient]
    raise ParameterError(
        "a newcomer's copy is generalized as nobody's who has copies already",
        where=f"recipient {newcomer.recipient}",
        expected="the generalization and the stakes of a recipient of the version that is continued",
        got="others",
        fix="give it those of such a recipient, or make a release of its own, without “continues”, for new recipients",
    )


def _check_seat(newcomer: Asked, manifest: Manifest, number: int) -> None:
    """Refuse a newcomer who asks for other than what seats hold; that there are none is for ``extend`` to say."""
    held = [len(one.decoys) for one in manifest.holders if one.recipient is None and one.generalization == number]
    if held and newcomer.classes not in held:
        raise ParameterError(
            "a newcomer asks for more or fewer decoy classes than a seat holds",
            where=f"recipient {newcomer.recipient}",
            expected=f"{held[0]} decoy classes, as were planned for every seat",
            got=str(newcomer.classes),
            fix="ask for as many, or make a release of its own, without “continues”, for new recipients",
        )


def _other_forms(own: Sequence[Asked]) -> ParameterError:
    return ParameterError(
        "recipients whose copies were generalized alike are to get different ones",
        where=", ".join(one.recipient for one in own),
        expected="the generalization of the version that is continued",
        got="several",
        fix="give them the same method and stakes as in the version before",
    )


def _missing_without(one: Asked, manifest: Manifest, axes: Sequence[Lineage], budget: int) -> Flags:
    """Classes that a copy without decoys lacks: those of the origin of any holder's decoys or kept classes."""
    taken = np.concatenate([cells for other in manifest.holders for cells in (other.kept.cells, other.decoys.cells)])
    missing: Flags = of_same_origin(real_classes(one.release).cells, taken, axes)
    check_missing(one, missing, budget)
    return missing


def copy_of(files: Sequence[ClassTable], holder: Holder, missing: Flags) -> Copy:
    """The part of a holder's copy that shows when copies are compared."""
    classes = files[holder.generalization].take(~missing).with_rows(holder.decoys)
    return Copy(classes, np.arange(len(classes)) >= int((~missing).sum()))
