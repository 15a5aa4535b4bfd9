"""Tracing: whose decoys re-identified people, quasi-identifier tuples or the rows of a leaked file hit.

A tuple can come from a class when some combination of values lies in both (``tasks.decoys.classes``). Each distinct
tuple of the incident says one of these things:

=============  ===============================================================================================
ordinary       it can come from a real class that several copies have, or that was withheld: it names nobody
decoy          else, if it can come from decoys of one recipient alone
kept           else, if it can come from a class that one recipient alone keeps: weaker, for the class is real, and
               every earlier holder of the data has it
ambiguous      else, if several recipients could be meant
outside        it can come from no class of any copy
=============  ===============================================================================================

What is random is the design, not the incident: a class counts once, by however many people or rows it is hit, and what
counts for a recipient is how many of its classes are hit (``tasks.decoys.chances``; docs/tracing.md: how to read it).
The chances of decoys and of kept classes are independent and go together by Fisher's method, conservative where they
are discrete; the least of m recipients is corrected by Bonferroni: × m. Source of the idea: Antonatos et al.,
*AnonTokens* (2019), Sections 3 and 7; the probabilities are ours.

A recipient of whom the chance is at most the level is named if two of its decoy classes or more are hit, or one is and
the chance of its kept classes alone is at most the level too (× m). Otherwise it is suspected: a list of the people of
one place hits the one decoy there, whichever recipient it belongs to.

Not covered: who knows decoys can plant them, so the incident must not have been made by the manifest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from scipy import stats

from tasks.core.errors import DataError, ParameterError
from tasks.decoys.chances import DecoyChances, only_keeper, single_hits
from tasks.decoys.classes import Lineage, Rows, canonical_cells
from tasks.decoys.manifest import DecoyManifest
from tasks.decoys.origins import Origins, Placed
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts, Tuples

_SEVERAL = 2
"""Decoy classes that name by themselves."""
_NOBODY = -1

Kind = Literal["people", "rows"]
TraceVerdict = Literal["decoys", "one decoy class", "kept classes", "nothing"]


@dataclass(frozen=True)
class Incident:
    """Leaked records, as distinct cells at any level of generalization; shows none of them."""

    kind: Kind
    """Re-identified people, of whom each counts once, or rows of a file."""
    cells: Codes = field(repr=False)
    """Canonical axis positions, the top where nothing is known; shape (n_cells, n_attributes)."""
    counts: Counts = field(repr=False)
    """People or rows of each cell."""
    unread: Mapping[str, int] = field(default_factory=dict)
    """Rows of each column whose value was missing or in no hierarchy; taken as unknown."""

    @property
    def total(self) -> int:
        """People or rows."""
        return int(self.counts.sum())


def incident_of_cells(
    cells: Codes, axes: Sequence[Lineage], kind: Kind, unread: Mapping[str, int] | None = None
) -> Incident:
    """An incident of cells in axis positions, one row a person or a row of the file; leaf codes are positions too."""
    distinct, counts = np.unique(canonical_cells(cells, axes), axis=0, return_counts=True)
    return Incident(kind, distinct, counts.astype(np.int64), unread or {})


def incident_of_labels(
    frame: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    axes: Sequence[Lineage],
    kind: Kind,
    where: str,
    *,
    outside: Mapping[str, Sequence[str]] | None = None,
) -> Incident:
    """An incident of a table of text whose values are labels of any level of the hierarchies, in the order of the axes.

    Columns that it lacks, and values that no hierarchy has, are unknown: such a row can hit less, never more. `outside`
    has the labels of groups outside a hierarchy, such as Safe Harbor's, in the order of their positions. A DataError
    says that the table has no quasi-identifier, or one twice; a ParameterError that two groups of a column have one
    label.
    """
    columns = list(frame.columns)
    if not set(columns) & set(hierarchies):
        raise DataError(
            "the incident has no quasi-identifier of this release",
            where=where,
            expected=f"at least one of the columns {', '.join(hierarchies)}",
            got=f"{len(columns)} other columns",
            fix="name the columns as in the release",
        )
    twice = [name for name in hierarchies if columns.count(name) > 1]
    if twice:
        raise DataError(
            "the incident has a quasi-identifier twice",
            where=f"{where}, column {', '.join(twice)}",
            expected="each column once",
            got=f"{len(twice)} repeated",
            fix="leave out the column that is not the release's",
        )
    cells = np.tile(np.array([line.top for line in axes], dtype=np.int32), (len(frame), 1))
    unread = {}
    for axis, (name, hierarchy) in enumerate(hierarchies.items()):
        if name in columns:
            positions = _positions(name, (*hierarchy.axis_labels, *(outside or {}).get(name, ())), axes[axis])
            rows, values = pd.factorize(frame[name].astype(object))
            known = np.array([positions.get(str(value).strip(), -1) for value in values] + [-1], dtype=np.int32)[rows]
            unread[name] = int((known < 0).sum())
            cells[known >= 0, axis] = known[known >= 0]
    return incident_of_cells(cells, axes, kind, unread)


def _positions(name: str, labels: Sequence[str], line: Lineage) -> dict[str, int]:
    """Canonical position of the group that each label stands for."""
    positions: dict[str, int] = {}
    for label, position in zip(labels, line.canonical.tolist(), strict=True):
        if positions.setdefault(label, position) != position:
            raise ParameterError(
                "the labels do not go with the groups of the release",
                where=f"column {name}",
                expected="different labels for different groups",
                got="two groups of one label",
                fix="give the groups of the hierarchy different labels",
            )
    return positions


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
    """Its kept classes that were hit, of ``of_kept``."""
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
    ordinary: int
    """Number of them that can come from real classes that several copies have."""
    ambiguous: int
    """Number of them that can only come from decoys or kept classes, of several recipients."""
    outside: int
    """Number of them that can come from no class."""
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

    `axes` are of the hierarchies that the manifest was made with. The population, or the register, has leaf tuples with
    the people of each; where it is gone, decoys are compared with those of other holders alone. A recipient is named at
    a likelihood of chance of `level` at most, between 0 and 1, else a ParameterError.
    """
    if not 0 < level < 1:
        raise ParameterError(
            "an incident cannot be traced on these terms",
            where="level",
            expected="a likelihood of chance between 0 and 1",
            got=f"{level:g}",
            fix="give a level such as 0.01",
        )
    held = [(number, str(one.recipient)) for number, one in enumerate(manifest.holders) if one.recipient is not None]
    classes = {
        "decoys": [manifest.holders[number].decoys for number, _ in held],
        "kept": [manifest.holders[number].kept for number, _ in held],
    }
    files, origins = (
        [manifest.holders[number].generalization for number, _ in held],
        manifest.origins(axes).reading(incident.cells),
    )
    placed = {kind: Placed.of(tables, files) for kind, tables in classes.items()}
    owner = {kind: np.repeat(np.arange(len(held)), [len(one) for one in tables]) for kind, tables in classes.items()}
    points = pd.concat([_points(incident.cells, kind, placed[kind], owner[kind], origins) for kind in classes])
    kept, n = placed["kept"], np.arange(len(incident.cells))
    unkept = _of_nobody(manifest, kept, by_rule=bool(origins.rosters))
    rows, others = origins.incident(incident.cells, unkept)
    withheld = origins.related(unkept, kept)[others]
    in_kept = np.isin(n, points.row[points.kind == "kept"])
    usual = np.isin(n, rows[~withheld])
    ordinary, real = usual | (np.isin(n, rows) & ~in_kept), np.isin(n, rows) | in_kept
    holders = points.groupby("row").holder.agg(["min", "max"]).reindex(n, fill_value=_NOBODY).to_numpy()
    pointed, single = ~ordinary & (holders[:, 0] != _NOBODY), holders[:, 0] == holders[:, 1]
    # A tuple that can come from a kept class says nothing of decoys.
    points = points[pointed[points.row] & ((points.kind == "kept") | ~in_kept[points.row])]
    kept_hit = points.place[points.kind == "kept"].nunique()
    points = points[single[points.row]]
    hit = single_hits(manifest, incident.cells, origins)
    alone = dict([found]) if (found := only_keeper(manifest, hit, axes)) else {}
    loose = incident.cells[~real & ~(pointed & ~single)]
    every = Placed(np.concatenate([unkept.cells, kept.cells]), np.concatenate([unkept.file, kept.file]))
    decoy_chances = DecoyChances(manifest, origins, every, loose, population)
    kept_tell = any(flags.any() for flags in hit) or bool((real & ~ordinary).any())
    with_hits: list[Hits] = []
    certain: set[str] = set()
    for number, (holder, recipient) in enumerate(held):
        mine = points[points.holder == number]
        in_decoys, in_own = (mine[mine.kind == kind] for kind in classes)
        of_kept, kept_chance = len(classes["kept"][number]), 1.0
        if len(in_own):
            several = stats.hypergeom.sf(in_own.place.nunique() - 1, len(kept.file), of_kept, kept_hit)
            kept_chance = min(1.0, 2 * alone.get(recipient, float(several)))
        chances = [decoy_chances.chance(holder)] * bool((~real).any()) + [kept_chance] * kept_tell
        hits = Hits(
            recipient=recipient,
            decoy_hits=int(incident.counts[in_decoys.row.unique()].sum()),
            decoy_classes=in_decoys.place.nunique(),
            of_decoys=len(classes["decoys"][number]),
            kept_hits=int(incident.counts[in_own.row.unique()].sum()),
            kept_classes=in_own.place.nunique(),
            of_kept=of_kept,
            chance=min(1.0, len(held) * float(stats.combine_pvalues(chances).pvalue)) if chances else 1.0,
        )
        if hits.decoy_classes >= _SEVERAL or (hits.decoy_classes and len(held) * kept_chance <= level):
            certain.add(recipient)
        if len(mine):
            with_hits.append(hits)
    with_hits.sort(key=lambda one: (one.chance, one.recipient))
    sure = [one for one in with_hits if one.chance <= level]
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
        hits=tuple(with_hits),
        total=incident.total,
        ordinary=int(incident.counts[ordinary].sum()),
        ambiguous=int(incident.counts[pointed & ~single].sum()),
        outside=int(incident.counts[~ordinary & ~pointed].sum()),
        by_population=decoy_chances.by_population,
    )


def _points(cells: Codes, kind: str, classes: Placed, holder: Rows, origins: Origins) -> pd.DataFrame:
    """Tuples of an incident that can come from classes of one kind, with the class and the recipient who has it."""
    rows, places = origins.incident(cells, classes)
    return pd.DataFrame({"kind": kind, "row": rows, "place": places, "holder": holder[places]})


def _of_nobody(manifest: DecoyManifest, kept: Placed, *, by_rule: bool) -> Placed:
    """Real classes that no single recipient keeps, those in no copy included; by label, in whichever file."""
    tables = [table for version in manifest.versions for table in version.files]
    every, many = Placed.of(tables, range(len(tables))), len(manifest.versions[0].files)
    keys = [np.column_stack([part.file % many * by_rule, part.cells]) for part in (every, kept)]
    own = {key.tobytes() for key in keys[1]}
    left = every.at(np.array([key.tobytes() not in own for key in keys[0]], dtype=bool))
    distinct = np.unique(np.column_stack([left.file * by_rule, left.cells]), axis=0)
    return Placed(distinct[:, 1:].astype(np.int32), distinct[:, 0])
