"""Tracing: whose decoys re-identified people, quasi-identifier tuples or the rows of a leaked file hit.

A tuple can come from a class when some combination of values lies in both (``tasks.decoys.same_origin``). Each distinct
tuple of the incident says one of these things:

=============  ===============================================================================================
ordinary       it can come from a real class that several copies have, or that was withheld: it names nobody
decoy          else, if it can come from decoys of one recipient alone
kept           else, if it can come from a class that one recipient alone keeps: weaker, for the class is real, and
               everybody who had the data before has it
ambiguous      else, if several recipients could be meant
outside        it can come from no class of any copy
=============  ===============================================================================================

**Likelihood of chance.** Let n be the people or rows that can come from no real class, and q the recipient's decoy
cells' share of the people outside all real classes. If the incident did not come from the recipient, people outside the
real classes fall into its decoy cells as the population does, whatever the rest of the incident is: our own file from
before the decoys, another recipient's, or somebody else's:

    chance of as many decoy hits = P(Bin(n, q) ≥ hits)

Real classes that are kept by one recipient were in the data before there were decoys. A file from then has all of them,
so what counts is that an incident has those of one recipient and of nobody else. Where it hits kept classes of several,
of the K kept classes of all recipients C, and c of them the K_i of this one,

    chance of as many of its kept classes = P(Hypergeometric(K, K_i, C) ≥ c)

and where it hits those of one holder alone, how many other real classes it hits tells too: see
``tasks.decoys.only_keeper``. Either is doubled, for it is chosen by what was hit.

Decoys and kept classes go together by Fisher's method where both say something (product x, chance x (1 − ln x)), and
the least of m recipients is corrected by Bonferroni: × m. Source of the idea: Antonatos et al., *AnonTokens* (2019),
Sections 3 and 7; the probabilities are ours.

Without the population, q is bounded by the recipient's part of the people in all recipients' decoy cells, as the
manifest counts them, for these all lie outside the real classes; for tuples more general than decoy cells by 1. The
chances are then upper bounds: nobody is named who would not be with the population, but more hits are needed.

Tuples more general than a class widen q: decoys are counted at the level of the tuples that hit them. Rows of a decoy
class beyond those that were delivered count as none; a file with each row repeated is no stronger evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.decoys.class_table import ClassTable, no_classes
from tasks.decoys.incident import Incident
from tasks.decoys.lineage import Lineage
from tasks.decoys.manifest import Manifest
from tasks.decoys.only_keeper import only_keeper
from tasks.decoys.outside import Outside, People
from tasks.decoys.same_origin import of_same_origin, same_origin_pairs
from tasks.errors import ParameterError
from tasks.microdata.hierarchy import Codes

__all__ = ["Hits", "People", "Trace", "trace"]

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Hits:
    """What speaks for one recipient; counts only."""

    recipient: str
    decoy_hits: int
    """People or rows in its decoy cells."""
    decoy_classes: int
    """Its decoy classes that were hit, of ``of_decoys``."""
    of_decoys: int
    kept_hits: int
    """People or rows of real classes that it alone keeps."""
    kept_classes: int
    """Those classes that were hit, of ``of_kept``."""
    of_kept: int
    chance: float
    """Probability, 0 to 1, that an incident that is not from it hits as much, corrected for all recipients."""


@dataclass(frozen=True)
class Trace:
    """The answer: whom an incident points to, and how likely that is by chance."""

    verdict: Literal["decoys", "kept classes", "nothing"]
    """What the answer rests on; ``nothing`` where there is nothing to say."""
    named: tuple[str, ...]
    """Recipients whom their decoys name, the least likely to be chance first."""
    suspected: tuple[str, ...]
    """Recipients whom kept real classes alone point to: weaker."""
    level: float
    """Greatest chance at which a recipient is named or suspected."""
    hits: tuple[Hits, ...]
    """Of each recipient with a hit, the least likely to be chance first."""
    total: int
    """People or rows of the incident."""
    ordinary: int
    """Of them, those that can come from real classes that several copies have."""
    ambiguous: int
    """Those that can only come from decoys or kept classes, of several recipients."""
    outside: int
    """Those that can come from no class."""
    bounded: bool
    """Whether chances are upper bounds only, for want of the population."""


def trace(
    manifest: Manifest, axes: Sequence[Lineage], incident: Incident, people: People | None, *, level: float = 0.01
) -> Trace:
    """Whom an incident points to.

    Parameters
    ----------
    manifest : Manifest
    axes : sequence of Lineage
        Of the hierarchies that the manifest was made with.
    incident : Incident
    people : callable or None
        Counts the people of the population, or the register, in cells of the hierarchies; None where it is gone, and
        chances are bounded from above.
    level : float
        Greatest likelihood of chance at which somebody is named, between 0 and 1.

    Raises
    ------
    ParameterError
        If the level is outside its range, or nobody has copies yet.
    """
    if not 0 < level < 1 or not manifest.recipients:
        raise ParameterError(
            "an incident cannot be traced on these terms",
            where="level" if manifest.recipients else "manifest",
            expected="a likelihood of chance between 0 and 1, and at least one recipient",
            got=f"{level:g}, and {len(manifest.recipients)} recipients",
            fix="give a level such as 0.01" if manifest.recipients else "trace a release that somebody received",
        )
    ground = _Ground.of(manifest, axes)
    sorted_out = _SortedOut.of(ground, incident, axes)
    outside = Outside(
        np.concatenate([ground.ordinary, ground.kept.cells]), ground.decoys, ground.decoy_of, axes, people
    )
    alone = dict([found]) if (found := only_keeper(manifest, incident.cells, axes)) else {}
    evidence = _Evidence(ground, sorted_out, incident, outside, alone)
    hits = [_hits(evidence, number) for number in range(len(ground.recipients))]
    order = sorted(
        (one for one in hits if one.decoy_hits or one.kept_hits), key=lambda one: (one.chance, one.recipient)
    )
    sure = [one for one in order if one.chance <= level]
    named = tuple(one.recipient for one in sure if one.decoy_hits)
    suspected = tuple(one.recipient for one in sure if not one.decoy_hits)
    return Trace(
        verdict="decoys" if named else "kept classes" if suspected else "nothing",
        named=named,
        suspected=suspected,
        level=level,
        hits=tuple(order),
        total=incident.total,
        ordinary=int(incident.counts[sorted_out.ordinary].sum()),
        ambiguous=int(incident.counts[sorted_out.ambiguous].sum()),
        outside=int(incident.counts[sorted_out.outside].sum()),
        bounded=people is None,
    )


@dataclass(frozen=True)
class _Ground:
    """Decoys, kept and other real classes of all copies."""

    recipients: tuple[str, ...]
    decoys: ClassTable
    decoy_of: NDArray[np.intp]
    """Recipient of each decoy."""
    kept: ClassTable
    kept_of: NDArray[np.intp]
    ordinary: Codes
    """Real classes that no single recipient keeps, those in no copy included."""
    withheld: Flags
    """Whether each of them is in no copy because of a kept class that it shares its origin with."""

    @classmethod
    def of(cls, manifest: Manifest, axes: Sequence[Lineage]) -> "_Ground":
        holders = [holder for holder in manifest.holders if holder.recipient is not None]
        none = no_classes(len(axes))
        decoys = none.with_rows(*[holder.decoys for holder in holders])
        kept = none.with_rows(*[holder.kept for holder in holders])
        files = [table.cells for version in manifest.versions for table in version.files]
        cells = np.unique(np.concatenate(files), axis=0)
        held = {row.tobytes() for row in kept.cells}
        cells = cells[[row.tobytes() not in held for row in cells]]
        return cls(
            recipients=manifest.recipients,
            decoys=decoys,
            decoy_of=np.repeat(np.arange(len(holders)), [len(holder.decoys) for holder in holders]),
            kept=kept,
            kept_of=np.repeat(np.arange(len(holders)), [len(holder.kept) for holder in holders]),
            ordinary=cells,
            withheld=of_same_origin(cells, kept.cells, axes),
        )


@dataclass(frozen=True)
class _SortedOut:
    """What each distinct tuple of an incident says."""

    ordinary: Flags
    ambiguous: Flags
    outside: Flags
    owner: NDArray[np.intp]
    """Recipient whom a decoy or kept tuple points to; −1 for others."""
    by_decoy: Flags
    real: Flags
    """Whether it can come from a real class."""
    decoy_pairs: tuple[NDArray[np.intp], NDArray[np.intp]]
    kept_pairs: tuple[NDArray[np.intp], NDArray[np.intp]]

    @classmethod
    def of(cls, ground: _Ground, incident: Incident, axes: Sequence[Lineage]) -> "_SortedOut":
        cells, n = incident.cells, len(incident.cells)
        rows, others = same_origin_pairs(cells, ground.ordinary, axes)
        usual, withheld = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        usual[rows[~ground.withheld[others]]] = True
        withheld[rows[ground.withheld[others]]] = True
        decoy_pairs = same_origin_pairs(cells, ground.decoys.cells, axes)
        kept_pairs = same_origin_pairs(cells, ground.kept.cells, axes)
        lowest, highest = np.full(n, len(ground.recipients)), np.full(n, -1)
        for (tuples, classes), owners in ((decoy_pairs, ground.decoy_of), (kept_pairs, ground.kept_of)):
            np.minimum.at(lowest, tuples, owners[classes])
            np.maximum.at(highest, tuples, owners[classes])
        meets_kept, meets_any = _flags(kept_pairs[0], n), highest >= 0
        ordinary = usual | (withheld & ~meets_kept)
        single = ~ordinary & meets_any & (lowest == highest)
        return cls(
            ordinary=ordinary,
            ambiguous=~ordinary & meets_any & ~single,
            outside=~ordinary & ~meets_any,
            owner=np.where(single, highest, -1),
            by_decoy=single & ~meets_kept,
            real=usual | withheld | meets_kept,
            decoy_pairs=decoy_pairs,
            kept_pairs=kept_pairs,
        )


def _flags(rows: NDArray[np.intp], n: int) -> Flags:
    flags = np.zeros(n, dtype=bool)
    flags[rows] = True
    return flags


@dataclass(frozen=True)
class _Evidence:
    """All that recipients are judged by."""

    ground: _Ground
    found: _SortedOut
    incident: Incident
    outside: Outside
    alone: dict[str, float]
    """Chance of the recipient whose kept classes alone are hit, if there is one."""


def _hits(evidence: _Evidence, number: int) -> Hits:
    """What speaks for one recipient, by its number."""
    ground, found, incident = evidence.ground, evidence.found, evidence.incident
    mine = found.owner == number
    by_decoy, by_kept = mine & found.by_decoy, mine & ~found.by_decoy
    decoys = np.unique(found.decoy_pairs[1][by_decoy[found.decoy_pairs[0]]])
    kept = np.unique(found.kept_pairs[1][by_kept[found.kept_pairs[0]]])
    decoy_hits = int(incident.counts[by_decoy].sum())
    counted = min(decoy_hits, int(ground.decoys.records[decoys].sum())) if incident.kind == "rows" else decoy_hits
    chances = []
    loose = int(incident.counts[~found.real].sum()) - (decoy_hits - counted)
    if counted:
        chances.append(
            float(stats.binom.sf(counted - 1, loose, evidence.outside.share(number, incident.cells[by_decoy])))
        )
    elif loose:
        chances.append(1.0)
    hit_kept = np.unique(found.kept_pairs[1][(~found.ordinary)[found.kept_pairs[0]]])
    if len(hit_kept):
        n_kept, n_own = len(ground.kept), int((ground.kept_of == number).sum())
        among = float(stats.hypergeom.sf(len(kept) - 1, n_kept, n_own, len(hit_kept)))
        chances.append(min(1.0, 2 * (evidence.alone.get(ground.recipients[number], among) if len(kept) else among)))
    return Hits(
        recipient=ground.recipients[number],
        decoy_hits=decoy_hits,
        decoy_classes=len(decoys),
        of_decoys=int((ground.decoy_of == number).sum()),
        kept_hits=int(incident.counts[by_kept].sum()),
        kept_classes=len(kept),
        of_kept=int((ground.kept_of == number).sum()),
        chance=min(1.0, len(ground.recipients) * _together(chances)),
    )


def _together(chances: Sequence[float]) -> float:
    """Fisher's method for up to two independent chances; conservative where they are discrete."""
    product = float(np.prod(chances)) if chances else 1.0
    if len(chances) < 2 or product == 0.0:
        return product
    return min(1.0, product * (1 - log(product)))
