"""Tracing: whose decoys re-identified people, quasi-identifier tuples or the rows of a leaked file hit.

A tuple can come from a class when some combination of values lies in both (``tasks.decoys.same_origin``). Each distinct
tuple of the incident says one of these things:

=============  ===============================================================================================
ordinary       it can come from a real class that several copies have, or that was withheld: it names nobody
decoy          else, if it can come from decoys of one recipient alone
kept           else, if it can come from a class that one recipient alone keeps: weaker, for the class is real, and
               every earlier holder of the data has it
ambiguous      else, if several recipients could be meant
outside        it can come from no class of any copy
=============  ===============================================================================================

**Likelihood of chance.** What is random is the design: which of the cells outside all real classes became whose decoys,
and which real classes whose kept ones, was drawn and is secret. The incident is taken as it is, however it came about:
people of one town, of one age, or one person a hundred times. So a class counts once, by however many people or rows it
is hit, and what counts for a recipient is how many of its classes are hit.

*Decoys.* If the incident did not come from the recipient, its decoy d is hit as likely as any cell that could have been
drawn in its place: with h of N comparable cells hit, d among them, by a chance of h/N, cells weighed by how much they
are like real classes (``tasks.decoys.comparable``). Of n decoys of the recipient, each with a chance of its own,

    chance of as many decoy classes = P(Poisson-binomial(h₁/N₁, …, h_n/N_n) ≥ decoy classes hit)

*Kept classes* were in the data before there were decoys. A file from then has all of them, so what counts is that an
incident has those of one recipient alone. Where it hits kept classes of several, of the K kept classes of all
recipients C, and c of them the K_i of this one,

    chance of as many of its kept classes = P(Hypergeometric(K, K_i, C) ≥ c)

and where it hits those of one holder alone, how many other real classes it hits is evidence too: see
``tasks.decoys.only_keeper``. Either is doubled, for it is chosen by what was hit. Where none of its kept classes are
hit, the chance is 1.

*Together.* Decoys say something if the incident has a tuple that can come from no real class, kept classes if it has
one that can come from a single one; neither depends on the draws. Where both do, they go together by Fisher's method
(product x, chance x (1 − ln x)). The least of m recipients is corrected by Bonferroni: × m. Source of the idea:
Antonatos et al., *AnonTokens* (2019), Sections 3 and 7; the probabilities are ours.

**Who is named.** A recipient of whom the chance is at most the level is named if two of its decoy classes or more are
hit, or one is and the chance of its kept classes alone is at most the level too (× m). Otherwise it is suspected: a
list of the people of one place hits the one decoy there, whichever recipient it belongs to, and a person who chooses
lists by what they hit can find such a place.

**Without the population** the comparable cells are not known. Then the decoys of all holders of the same file are what
is compared: whose each of them is was drawn. Of D decoys of all, n of them this recipient's, H hit,

    chance of as many decoy classes = P(Hypergeometric(D, n, H) ≥ decoy classes hit)

With few recipients that is never small, so more must be hit, or kept classes must speak.

**Not covered.** Who knows decoys can plant them: the incident must not have been made by the manifest. A list of a
place where two decoys of one recipient lie hits both, which happens as rarely as the formula says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.core.errors import ParameterError
from tasks.decoys.class_table import ClassTable, no_classes
from tasks.decoys.decoy_chance import DecoyChance
from tasks.decoys.incident import Incident
from tasks.decoys.lineage import Lineage
from tasks.decoys.manifest import Manifest
from tasks.decoys.only_keeper import classes_alone, only_keeper
from tasks.decoys.same_origin import of_same_origin, same_origin_pairs
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples

_SEVERAL = 2
"""Decoy classes that name by themselves."""
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Hits:
    """Evidence for one recipient; counts only."""

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

    verdict: Literal["decoys", "one decoy class", "kept classes", "nothing"]
    """Basis of the answer; ``nothing`` where there is no evidence."""
    named: tuple[str, ...]
    """Recipients whom their decoys name, the least likely to be chance first."""
    suspected: tuple[str, ...]
    """Recipients whom one decoy class or kept real classes point to: weaker."""
    level: float
    """Greatest chance at which a recipient is named or suspected."""
    hits: tuple[Hits, ...]
    """Hits of each recipient that has any, the least likely to be chance first."""
    total: int
    """People or rows of the incident."""
    ordinary: int
    """Number of them that can come from real classes that several copies have."""
    ambiguous: int
    """Those that can only come from decoys or kept classes, of several recipients."""
    outside: int
    """Those that can come from no class."""
    by_population: bool
    """Whether decoys were compared with cells of the population; else only with those of other holders."""


def trace(
    manifest: Manifest, axes: Sequence[Lineage], incident: Incident, population: Tuples | None, *, level: float = 0.01
) -> Trace:
    """Whom an incident points to.

    Parameters
    ----------
    manifest : Manifest
    axes : sequence of Lineage
        Of the hierarchies that the manifest was made with.
    incident : Incident
    population : Tuples or None
        Leaf tuples of the population, or the register, with the people of each; None where it is gone, and decoys are
        compared with those of other holders alone.
    level : float
        Greatest likelihood of chance at which a recipient is named, between 0 and 1.

    Raises
    ------
    ParameterError
        If the level is outside its range, or no recipient has copies yet.
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
    hit = classes_alone(manifest, incident.cells, axes)
    alone = dict([found]) if (found := only_keeper(manifest, hit)) else {}
    loose = incident.cells[~sorted_out.real & ~sorted_out.ambiguous]
    real = np.concatenate([ground.ordinary, ground.kept.cells])
    decoys = DecoyChance.of(manifest, axes, real, loose, population)
    tells = any(flags.any() for flags in hit) or bool((sorted_out.real & ~sorted_out.ordinary).any())
    evidence = _Evidence(ground, sorted_out, incident, decoys, alone, tells)
    judged = [_judged(evidence, number) for number in range(len(ground.recipients))]
    order = sorted(
        (one for one in judged if one.hits.decoy_hits or one.hits.kept_hits),
        key=lambda one: (one.hits.chance, one.hits.recipient),
    )
    sure = [one for one in order if one.hits.chance <= level]
    named = tuple(one.hits.recipient for one in sure if one.names(level))
    suspected = tuple(one.hits for one in sure if not one.names(level))
    return Trace(
        verdict=_verdict(named, suspected),
        named=named,
        suspected=tuple(one.recipient for one in suspected),
        level=level,
        hits=tuple(one.hits for one in order),
        total=incident.total,
        ordinary=int(incident.counts[sorted_out.ordinary].sum()),
        ambiguous=int(incident.counts[sorted_out.ambiguous].sum()),
        outside=int(incident.counts[sorted_out.outside].sum()),
        by_population=population is not None,
    )


def _verdict(
    named: Sequence[str], suspected: Sequence[Hits]
) -> Literal["decoys", "one decoy class", "kept classes", "nothing"]:
    if named:
        return "decoys"
    if any(one.decoy_classes for one in suspected):
        return "one decoy class"
    return "kept classes" if suspected else "nothing"


@dataclass(frozen=True)
class _Ground:
    """Decoys, kept and other real classes of all copies."""

    recipients: tuple[str, ...]
    holders: tuple[int, ...]
    """Number of each recipient among the holders of the manifest."""
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
        numbers = tuple(number for number, holder in enumerate(manifest.holders) if holder.recipient is not None)
        holders = [manifest.holders[number] for number in numbers]
        none = no_classes(len(axes))
        decoys = none.with_rows(*[holder.decoys for holder in holders])
        kept = none.with_rows(*[holder.kept for holder in holders])
        files = [table.cells for version in manifest.versions for table in version.files]
        cells = np.unique(np.concatenate(files), axis=0)
        held = {row.tobytes() for row in kept.cells}
        cells = cells[[row.tobytes() not in held for row in cells]]
        return cls(
            recipients=manifest.recipients,
            holders=numbers,
            decoys=decoys,
            decoy_of=np.repeat(np.arange(len(holders)), [len(holder.decoys) for holder in holders]),
            kept=kept,
            kept_of=np.repeat(np.arange(len(holders)), [len(holder.kept) for holder in holders]),
            ordinary=cells,
            withheld=of_same_origin(cells, kept.cells, axes),
        )


@dataclass(frozen=True)
class _SortedOut:
    """Origins of each distinct tuple of an incident."""

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
    decoys: DecoyChance
    alone: dict[str, float]
    """Chance of the recipient whose kept classes alone are hit, if there is one."""
    tells_kept: bool
    """Whether the incident could show which real class it hits, so that kept classes are evidence."""


@dataclass(frozen=True)
class _Judged:
    """Evidence for one recipient."""

    hits: Hits
    kept_chance: float
    """Chance of the hits of its kept classes alone."""

    def names(self, level: float) -> bool:
        """Whether it rests on more than one decoy class."""
        classes = self.hits.decoy_classes
        return classes >= _SEVERAL or (classes > 0 and self.kept_chance <= level)


def _judged(evidence: _Evidence, number: int) -> _Judged:
    """Evidence for one recipient, by its number."""
    ground, found, incident = evidence.ground, evidence.found, evidence.incident
    mine = found.owner == number
    by_decoy, by_kept = mine & found.by_decoy, mine & ~found.by_decoy
    decoys = np.unique(found.decoy_pairs[1][by_decoy[found.decoy_pairs[0]]])
    kept = np.unique(found.kept_pairs[1][by_kept[found.kept_pairs[0]]])
    kept_chance = _kept_chance(evidence, number, len(kept))
    chances = [evidence.decoys.chance(ground.holders[number])] if (~found.real).any() else []
    chances += [kept_chance] if evidence.tells_kept else []
    m = len(ground.recipients)
    hits = Hits(
        recipient=ground.recipients[number],
        decoy_hits=int(incident.counts[by_decoy].sum()),
        decoy_classes=len(decoys),
        of_decoys=int((ground.decoy_of == number).sum()),
        kept_hits=int(incident.counts[by_kept].sum()),
        kept_classes=len(kept),
        of_kept=int((ground.kept_of == number).sum()),
        chance=min(1.0, m * _together(chances)),
    )
    return _Judged(hits, min(1.0, m * kept_chance))


def _kept_chance(evidence: _Evidence, number: int, n_kept: int) -> float:
    """Chance of as many of a recipient's kept classes; 1 where none is hit."""
    ground, found = evidence.ground, evidence.found
    if not n_kept:
        return 1.0
    recipient = ground.recipients[number]
    if recipient in evidence.alone:
        return min(1.0, 2 * evidence.alone[recipient])
    hit = np.unique(found.kept_pairs[1][(~found.ordinary)[found.kept_pairs[0]]])
    n_own = int((ground.kept_of == number).sum())
    return min(1.0, 2 * float(stats.hypergeom.sf(n_kept - 1, len(ground.kept), n_own, len(hit))))


def _together(chances: Sequence[float]) -> float:
    """Fisher's method for up to two independent chances; conservative where they are discrete."""
    product = float(np.prod(chances)) if chances else 1.0
    if len(chances) < 2 or product == 0.0:
        return product
    return min(1.0, product * (1 - log(product)))
