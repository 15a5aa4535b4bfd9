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
are like real classes (``tasks.decoys.decoy_chance``). Of n decoys of the recipient, each with a chance of its own,

    chance of as many decoy classes = P(Poisson-binomial(h₁/N₁, …, h_n/N_n) ≥ decoy classes hit)

*Kept classes* were in the data before there were decoys. A file from then has all of them, so what counts is that an
incident has those of one recipient alone (``tasks.decoys.kept_chance``). Where none of its kept classes are hit, the
chance is 1.

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
from scipy import stats

from tasks.core.errors import ParameterError
from tasks.decoys.class_table import Flags, Rows, joined
from tasks.decoys.decoy_chance import DecoyChances
from tasks.decoys.incident import Incident
from tasks.decoys.kept_chance import only_keeper, single_hits
from tasks.decoys.lineage import Lineage
from tasks.decoys.manifest import DecoyManifest
from tasks.decoys.same_origin import of_same_origin, same_origin_pairs
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples

_SEVERAL = 2
"""Decoy classes that name by themselves."""

TraceVerdict = Literal["decoys", "one decoy class", "kept classes", "nothing"]


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

    verdict: TraceVerdict
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
    manifest: DecoyManifest,
    axes: Sequence[Lineage],
    incident: Incident,
    population: Tuples | None,
    *,
    level: float = 0.01,
) -> Trace:
    """Whom an incident points to.

    Parameters
    ----------
    manifest : DecoyManifest
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
        If the level is outside its range.
    """
    if not 0 < level < 1:
        raise ParameterError(
            "an incident cannot be traced on these terms",
            where="level",
            expected="a likelihood of chance between 0 and 1",
            got=f"{level:g}",
            fix="give a level such as 0.01",
        )
    classes = _Classes.of(manifest, axes)
    origins = _Origins.of(classes, incident.cells, axes)
    hit = single_hits(manifest, incident.cells, axes)
    alone = dict([found]) if (found := only_keeper(manifest, hit)) else {}
    loose = incident.cells[~origins.real & ~origins.ambiguous]
    decoy_chances = DecoyChances(manifest, axes, np.concatenate([classes.ordinary, classes.kept]), loose, population)
    decoys_tell = bool((~origins.real).any())
    kept_tell = any(flags.any() for flags in hit) or bool((origins.real & ~origins.ordinary).any())
    kept_hit = np.unique(origins.kept_pairs[1][~origins.ordinary[origins.kept_pairs[0]]])
    judged: list[Hits] = []
    certain: set[str] = set()
    for number, (holder, recipient) in enumerate(classes.recipients):
        by_decoy = (origins.owner == number) & origins.by_decoy
        by_kept = (origins.owner == number) & ~origins.by_decoy
        decoys = np.unique(origins.decoy_pairs[1][by_decoy[origins.decoy_pairs[0]]])
        kept = np.unique(origins.kept_pairs[1][by_kept[origins.kept_pairs[0]]])
        of_kept, kept_chance = int((classes.kept_of == number).sum()), 1.0
        if len(kept):
            several = float(stats.hypergeom.sf(len(kept) - 1, len(classes.kept), of_kept, len(kept_hit)))
            kept_chance = min(1.0, 2 * alone.get(recipient, several))
        chances = [decoy_chances.chance(holder)] * decoys_tell + [kept_chance] * kept_tell
        hits = Hits(
            recipient=recipient,
            decoy_hits=int(incident.counts[by_decoy].sum()),
            decoy_classes=len(decoys),
            of_decoys=int((classes.decoy_of == number).sum()),
            kept_hits=int(incident.counts[by_kept].sum()),
            kept_classes=len(kept),
            of_kept=of_kept,
            chance=min(1.0, len(classes.recipients) * _together(chances)),
        )
        if len(decoys) >= _SEVERAL or (len(decoys) and len(classes.recipients) * kept_chance <= level):
            certain.add(recipient)
        if hits.decoy_hits or hits.kept_hits:
            judged.append(hits)
    judged.sort(key=lambda one: (one.chance, one.recipient))
    sure = [one for one in judged if one.chance <= level]
    named = tuple(one.recipient for one in sure if one.recipient in certain)
    suspected = [one for one in sure if one.recipient not in certain]
    verdict: TraceVerdict = "decoys" if named else "kept classes" if suspected else "nothing"
    if not named and any(one.decoy_classes for one in suspected):
        verdict = "one decoy class"
    return Trace(
        verdict=verdict,
        named=named,
        suspected=tuple(one.recipient for one in suspected),
        level=level,
        hits=tuple(judged),
        total=incident.total,
        ordinary=int(incident.counts[origins.ordinary].sum()),
        ambiguous=int(incident.counts[origins.ambiguous].sum()),
        outside=int(incident.counts[origins.outside].sum()),
        by_population=population is not None,
    )


def _together(chances: Sequence[float]) -> float:
    """Fisher's method for up to two independent chances; conservative where they are discrete."""
    product = float(np.prod(chances))
    return min(1.0, product * (1 - log(product))) if len(chances) > 1 and product else product


@dataclass(frozen=True)
class _Classes:
    """Decoys, kept and other real classes of all copies that recipients hold."""

    recipients: tuple[tuple[int, str], ...]
    """Number among the holders of the manifest, and id, of each recipient."""
    decoys: Codes
    decoy_of: Rows
    """Recipient of each decoy."""
    kept: Codes
    kept_of: Rows
    ordinary: Codes
    """Real classes that no single recipient keeps, those in no copy included."""
    withheld: Flags
    """Whether each of them is in no copy because of a kept class that it shares its origin with."""

    @classmethod
    def of(cls, manifest: DecoyManifest, axes: Sequence[Lineage]) -> "_Classes":
        held = [(number, one) for number, one in enumerate(manifest.holders) if one.recipient is not None]
        decoys, kept = joined([one.decoys for _, one in held]), joined([one.kept for _, one in held])
        cells = np.unique(
            np.concatenate([table.cells for version in manifest.versions for table in version.files]), axis=0
        )
        own = {cell.tobytes() for cell in kept.cells}
        cells = cells[[cell.tobytes() not in own for cell in cells]]
        return cls(
            recipients=tuple((number, str(one.recipient)) for number, one in held),
            decoys=decoys.cells,
            decoy_of=np.repeat(np.arange(len(held)), [len(one.decoys) for _, one in held]),
            kept=kept.cells,
            kept_of=np.repeat(np.arange(len(held)), [len(one.kept) for _, one in held]),
            ordinary=cells,
            withheld=of_same_origin(cells, kept.cells, axes),
        )


@dataclass(frozen=True)
class _Origins:
    """Origins of each distinct tuple of an incident."""

    ordinary: Flags
    ambiguous: Flags
    outside: Flags
    owner: Rows
    """Recipient whom a decoy or kept tuple points to; −1 for others."""
    by_decoy: Flags
    real: Flags
    """Whether it can come from a real class."""
    decoy_pairs: tuple[Rows, Rows]
    kept_pairs: tuple[Rows, Rows]

    @classmethod
    def of(cls, classes: _Classes, cells: Codes, axes: Sequence[Lineage]) -> "_Origins":
        n = np.arange(len(cells))
        rows, others = same_origin_pairs(cells, classes.ordinary, axes)
        usual, withheld = (np.isin(n, rows[classes.withheld[others] == flag]) for flag in (False, True))
        decoy_pairs = same_origin_pairs(cells, classes.decoys, axes)
        kept_pairs = same_origin_pairs(cells, classes.kept, axes)
        lowest, highest = np.full(len(n), len(classes.recipients)), np.full(len(n), -1)
        for (tuples, places), owners in ((decoy_pairs, classes.decoy_of), (kept_pairs, classes.kept_of)):
            np.minimum.at(lowest, tuples, owners[places])
            np.maximum.at(highest, tuples, owners[places])
        in_kept, in_any = np.isin(n, kept_pairs[0]), highest >= 0
        ordinary = usual | (withheld & ~in_kept)
        single = ~ordinary & in_any & (lowest == highest)
        return cls(
            ordinary=ordinary,
            ambiguous=~ordinary & in_any & ~single,
            outside=~ordinary & ~in_any,
            owner=np.where(single, highest, -1),
            by_decoy=single & ~in_kept,
            real=usual | withheld | in_kept,
            decoy_pairs=decoy_pairs,
            kept_pairs=kept_pairs,
        )
