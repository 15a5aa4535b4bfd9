"""The decoys of a release: planned or continued, their records invented, and what became of each copy.

Pure but for the generators that are passed in; ``tasks.decoys.task`` reads and writes.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from tasks.candidate.released import released_tuples
from tasks.core.errors import ParameterError
from tasks.decision.decoy_facts import ChoiceFact, DecoyFact, DetectabilityFact, StatisticsFact
from tasks.decoys.candidates import RiskBand, find_candidates
from tasks.decoys.class_table import ClassTable
from tasks.decoys.collusion import planned_share
from tasks.decoys.continuing import continued, copy_of
from tasks.decoys.detectability import LEAST_DECOYS
from tasks.decoys.findings import (
    CopyColumns,
    attempt_fact,
    choice_fact,
    classes_left,
    collusion_facts,
    detectability_fact,
    statistics_fact,
    with_cells,
)
from tasks.decoys.generalized_release import Classes, Flags, GeneralizedRelease, recoded_by_class
from tasks.decoys.inventing import Row, Source, invent, rows_of, tried
from tasks.decoys.lineage import Lineage, lineages
from tasks.decoys.manifest import Holder, Manifest, manifest_of
from tasks.decoys.offer import offered
from tasks.decoys.outbound import OutboundColumns, at_rows, joined, outbound_columns, refuse_own_values
from tasks.decoys.planting import Asked, Plan, missing_limit, missing_tuples, of_others, plan
from tasks.generalization.play import CountIndex, Generalization, overlapping, population_cells
from tasks.generalization.setting import follower_of, weights_of
from tasks.masking.masked_columns import MaskedColumns
from tasks.microdata.coded import Prepared
from tasks.microdata.hierarchy import Codes, check_trees
from tasks.request.model import DecoyTerms, Recipient, ReleaseRequest

_TRIALS = (30, 60)
"""Fewest and most decoy classes that detection is measured on."""
_CELLS_A_TRIAL = 10
"""Cells of the band for each of them: decoys that use up the cells there are stand out more than a release's few."""

Generators = Callable[[str], np.random.Generator]
"""Gives the generator of one purpose; the same purpose, the same numbers."""


@dataclass(frozen=True)
class Copies:
    """All copies of a release before decoys; shows none of the data."""

    request: ReleaseRequest
    prepared: Prepared = field(repr=False)
    table: CountIndex = field(repr=False)
    frame: pd.DataFrame = field(repr=False)
    masked: MaskedColumns = field(repr=False)
    played: dict[str, Generalization] = field(repr=False)
    """Releases by each recipient's method, in the order of the request."""

    def __post_init__(self) -> None:
        check_trees("decoys are placed in groups that lie inside one another", self.table.hierarchies)

    @cached_property
    def axes(self) -> tuple[Lineage, ...]:
        """Lineage of each attribute, groups outside the hierarchies included."""
        outside = [axis.positions if axis.extra_labels else None for axis in self.table.safe_harbor]
        return lineages(self.table.hierarchies, outside)

    @cached_property
    def columns(self) -> OutboundColumns:
        """The columns beside the quasi-identifiers."""
        return outbound_columns(self.frame, self.request, self.masked)

    @property
    def minimum(self) -> int:
        """Smallest class, released or decoy, k."""
        policy = self.request.policy.generalization
        return max(policy.minimum_class_size, policy.k_anonymity.k if policy.k_anonymity else 1)

    @cached_property
    def asked(self) -> tuple[Asked, ...]:
        """The recipients, those whose copies are generalized alike with one release."""
        releases: dict[str, GeneralizedRelease] = {}
        asked = []
        for name, played in self.played.items():
            recipient = self.request.recipient(name)
            own = self._own(recipient, played)
            form = _digest(played.cells, self._kept(played), own)
            if form not in releases:
                releases[form] = self._release(played, own)
            # Who asks for none may hold some of a version before; detection is then measured on the usual band.
            terms = recipient.decoys or DecoyTerms(classes=1)
            band = RiskBand(terms.minimum_risk_factor, terms.maximum_risk_factor)
            asked.append(Asked(name, form, releases[form], terms.classes if recipient.decoys else 0, band))
        return tuple(asked)

    def _own(self, recipient: Recipient, played: Generalization) -> Codes:
        weights, policy = weights_of(self.request), self.request.policy.generalization
        game = follower_of(self.request, recipient, self.table.population.total)
        return population_cells(self.table, played.method, game, weights, policy.cell_weights)

    def _kept(self, played: Generalization) -> Flags:
        return released_tuples(self.table, played, self.request.policy.generalization.minimum_class_size)

    def _release(self, played: Generalization, own: Codes) -> GeneralizedRelease:
        overlap = overlapping(self.table, played.method)
        return recoded_by_class(
            self.table.data,
            self.table.population,
            self.table.hierarchies,
            cells=played.cells,
            kept=self._kept(played),
            own=own,
            overlapping=overlap,
            axis_sizes=None if overlap else self.table.axis_sizes,
            listed=self.table.listed,
        )


def _digest(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Planted:
    """The decoys of a release, with the facts reported of them; shows none."""

    manifest: Manifest = field(repr=False)
    missing: dict[str, Flags] = field(repr=False)
    """By recipient, whether each data tuple's records are missing from its copy for others' kept classes."""
    facts: dict[str, DecoyFact]
    """By recipient with decoys; the commitment is not in them yet."""


def plant(copies: Copies, release_id: str, before: Manifest | None, generators: Generators) -> Planted:
    """Give every recipient who is to have decoys some, or those that it has.

    Parameters
    ----------
    copies : Copies
        At least one recipient asks for decoys, or holds some.
    release_id : str
    before : Manifest, optional
        Of the version that this one continues.
    generators : callable

    Raises
    ------
    ParameterError
        If decoys cannot be had on these terms; says what would make them feasible.
    StageFailed
        If the search for an assignment came to no end.
    """
    refuse_own_values(copies.columns)
    if before is None:
        return _first(copies, release_id, generators)
    budget = missing_limit(copies.asked, copies.request.policy.decoys)
    manifest, missing = continued(
        before, copies.asked, release_id, copies.table.hierarchies, copies.axes, budget=budget
    )
    return _found(copies, manifest, missing, None, generators)


def _first(copies: Copies, release_id: str, generators: Generators) -> Planted:
    policy = copies.request.policy.decoys
    made = plan(copies.asked, copies.axes, policy, copies.minimum, generators("plan"))
    manifest = manifest_of(
        made.place,
        made.found,
        made.holders,
        release_id,
        copies.table.hierarchies,
        rows=_rows(copies, made, generators("values")),
    )
    return _found(copies, manifest, made.missing_classes, choice_fact(made.found), generators)


def _rows(copies: Copies, made: Plan, generator: np.random.Generator) -> list[tuple[Row, ...]]:
    """Decoy records of each share, seats included."""
    request = copies.request
    rows: list[tuple[Row, ...]] = [()] * len(made.found.shares)
    for file, (one, candidates) in enumerate(zip(made.files, made.candidates, strict=True)):
        shares = [number for number, share in enumerate(made.found.shares) if share.generalization == file]
        if candidates is None or not shares:
            continue
        tables = [made.place.candidates[file].take(made.found.shares[number].decoys) for number in shares]
        source = Source(one.release, copies.prepared.tuple_of_record, copies.columns)
        common = request.policy.decoys.common_from
        invented = invent(source, candidates, tables, copies.axes, generator, common_from=common)
        for number, part in zip(shares, invented, strict=True):
            rows[number] = rows_of(
                part, copies.columns, request.outbound, request.quasi_identifiers, copies.table.axis_labels
            )
    return rows


def _found(
    copies: Copies,
    manifest: Manifest,
    missing: dict[str, Flags],
    choice: ChoiceFact | None,
    generators: Generators,
) -> Planted:
    asked = {one.recipient: one for one in copies.asked}
    holders = {one.recipient: one for one in manifest.holders if one.recipient in asked}
    files = manifest.versions[-1].files
    held = [copy_of(files, holder, missing[name]) for name, holder in holders.items() if name is not None]
    learned = collusion_facts(held, copies.axes, generators("collusion"))
    detected: dict[tuple[str, float, float], DetectabilityFact | None] = {}
    facts = {}
    for name, holder in holders.items():
        one = asked[str(name)]
        if one.file not in detected:
            detected[one.file] = _detected(copies, one, manifest, generators)
        facts[one.recipient] = _fact(copies, one, holder, missing[one.recipient], manifest.ratio).model_copy(
            update={
                "recipients": len(holders),
                "choice": choice,
                "collusion": learned,
                "detectability": detected[one.file],
            }
        )
    return Planted(
        manifest,
        {one.recipient: missing_tuples(one.release, missing[one.recipient]) for one in copies.asked},
        facts,
    )


def _detected(copies: Copies, one: Asked, manifest: Manifest, generators: Generators) -> DetectabilityFact | None:
    """Whether decoys drawn on the same terms can be distinguished; None where too few cells are left to draw from."""
    generator = generators("detection")
    candidates = find_candidates(one.release, copies.minimum)
    inside = int(candidates.in_band(one.band).sum())
    others = [table for place, table in enumerate(manifest.versions[-1].files) if place != _place(one, manifest)]
    barred = of_others(candidates, others, copies.axes)
    most = int(np.clip(inside // _CELLS_A_TRIAL, *_TRIALS))
    try:
        table = offered(one.release, candidates, one.band, generator, most=most, ratio=manifest.ratio, barred=barred)
    except ParameterError:
        return None
    if min(len(table), len(one.release.classes)) < LEAST_DECOYS:
        return None
    source = Source(one.release, copies.prepared.tuple_of_record, copies.columns)
    common = copies.request.policy.decoys.common_from
    invented = invent(source, candidates, [table], copies.axes, generator, common_from=common)[0]
    return detectability_fact(tried(source, invented, generator), len(table))


def _place(one: Asked, manifest: Manifest) -> int:
    return next(holder.generalization for holder in manifest.holders if holder.recipient == one.recipient)


def _fact(copies: Copies, one: Asked, holder: Holder, missing: Flags, ratio: int) -> DecoyFact:
    return DecoyFact(
        count=len(holder.rows),
        commitment_sha256="0" * 64,
        classes=len(holder.decoys),
        kept_per_decoy=ratio,
        planned_probability=planned_share(ratio),
        missing=int(one.release.classes.sizes[missing].sum()),
        attempts=attempt_fact(classes_left(one.release.classes, missing), _as_classes(one, holder.decoys)),
        statistics=_statistics(copies, one, holder, missing),
    )


def _as_classes(one: Asked, decoys: ClassTable) -> Classes:
    return Classes(
        cells=decoys.cells,
        sizes=decoys.records,
        people=decoys.people,
        effective=one.release.owning(decoys.cells, one.release.population.counts),
    )


def _statistics(copies: Copies, one: Asked, holder: Holder, missing: Flags) -> StatisticsFact:
    """The copy against the same copy without decoys and with no class missing."""
    request, of_record = copies.request, copies.prepared.tuple_of_record
    names, columns = request.quasi_identifiers, copies.columns
    kept = one.release.kept[of_record]
    left = kept & ~missing_tuples(one.release, missing)[of_record]
    cells = one.release.cells[of_record]
    decoys = np.repeat(holder.decoys.cells, holder.decoys.records, axis=0)
    whole, rest = np.flatnonzero(kept), np.flatnonzero(left)
    before = with_cells(at_rows(columns.values, whole), cells[whole], names)
    after = joined(
        with_cells(at_rows(columns.values, rest), cells[rest], names),
        with_cells(columns.read(holder.rows), decoys, names),
    )
    return statistics_fact(CopyColumns(before, after), request.policy.utility.target)


def without(played: Generalization, missing: Flags) -> Flags:
    """Tuples that a copy lacks: those its method withholds, and those missing for others' kept classes."""
    return missing if played.withheld is None else missing | played.withheld
