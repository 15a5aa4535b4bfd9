"""Records of a copy that a few of its columns single out, in the file and in the population it is a sample of."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.singling_out.facts import ColumnUniquesFact, SingledOutFact, SinglingOutFact, UniquenessFact
from tasks.assessments.singling_out.minimal_uniques import Columns
from tasks.assessments.singling_out.population_uniqueness import ClassSizes, unique_people
from tasks.assessments.singling_out.special_uniques import (
    SpecialUniques,
    correct_match,
    dis_scores,
    sets_of,
    special_uniques,
)
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition, worst
from tasks.generalization.kanonymity.classes import fold
from tasks.microdata.coded import Prepared, coded_rows, knowable_columns, presumed_columns
from tasks.microdata.hierarchy import Codes
from tasks.request.model import Measure, PopulationBasis, ReleaseRequest

_SETS_SHOWN = 5


@dataclass(frozen=True)
class SpecialRecord:
    """One record with its scores and smallest sets; for the steward alone."""

    row: int
    """Position of the record in the file, from 0; of a person with several rows, of the first."""
    score: float
    probability: float
    """DIS-SUDA."""
    sets: tuple[tuple[str, ...], ...]
    """Some of its minimal sample uniques, the smallest first."""
    more: int
    """Further ones."""

    def document(self) -> dict[str, object]:
        """The record's scores and sets as JSON; its row is counted from 1."""
        sets = [list(one) for one in self.sets]
        return {"row": self.row + 1, "score": self.score, "dis": self.probability, "sets": sets, "further": self.more}


@dataclass(frozen=True)
class KnownTable:
    """The columns that may be known, as somebody sees them, with what the search finds in them."""

    names: tuple[str, ...]
    codes: NDArray[np.integer]
    """Shape (n_records, n_columns)."""
    largest: int
    fraction: float

    @cached_property
    def found(self) -> SpecialUniques:
        """Minimal sample uniques; raises ``ParameterError`` if there are too many sets of columns."""
        return special_uniques(self.codes, self.largest)

    @property
    def singled_out(self) -> int:
        """Records that some set singles out."""
        return int(self.found.singled_out.sum())

    def uniqueness(self, columns: Columns) -> UniquenessFact | None:
        """Uniqueness by some columns; None for no column."""
        if not columns:
            return None
        given = ClassSizes.of(np.bincount(fold(self.codes[:, list(columns)])[0]), self.fraction)
        people, uniques, pairs = unique_people(given), given.of_size(1), 2 * given.of_size(2)
        return UniquenessFact(
            columns=tuple(self.names[place] for place in columns),
            uniques=uniques,
            pairs=pairs,
            correct_match=correct_match(uniques, pairs, self.fraction),
            **vars(people),
            population_share=people.share,
        )

    @cached_property
    def worst(self) -> UniquenessFact | None:
        """Uniqueness by the searched set by which most records are alone."""
        return self.uniqueness(self.found.worst)

    @cached_property
    def together(self) -> UniquenessFact | None:
        """Uniqueness by all columns."""
        return self.uniqueness(tuple(range(len(self.names))))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """DIS-SUDA of each record, shape (n_records,)."""
        every = self.together
        if every is None:
            return np.zeros(len(self.codes))
        return dis_scores(self.found.scores, every.uniques, every.pairs, self.fraction, len(self.names))

    @property
    def figures(self) -> dict[Measure, float]:
        """Every figure that a gate can use."""
        population = 0.0 if self.worst is None else self.worst.population_share
        return {
            Measure.SINGLED_OUT: self.singled_out / len(self.codes),
            Measure.SINGLED_OUT_POPULATION: population,
        }


def sampling_fraction(request: ReleaseRequest, released: int, collected: int, people: int) -> float:
    """Released records as a share of the people they are a sample of.

    From the policy, or the size of the population that the request states, else the population table. Where the file is
    the population, or others can know who is in it, whoever is unique in the copy is assumed to be unique.
    """
    stated = request.policy.singling_out.sampling_fraction
    if request.population.basis is PopulationBasis.FILE or request.policy.presence == "known":
        return 1.0
    people = request.population.people(collected) or people
    return min(1.0, released / people) if stated is None else stated * (released / collected)


def known_tables(candidate: Candidate, coalition: Coalition | None = None) -> dict[str, KnownTable]:
    """The released columns that may be known, masked ones as released and, where there are any, as collected."""
    names = knowable_columns(candidate.request)
    cells = candidate.generalization.cells if coalition is None else coalition.cells
    sources = {"as released": candidate.as_masked}
    if set(names).intersection(candidate.masked.names):
        sources["as collected"] = candidate.prepared
    return {values: _table(candidate, prepared, cells, names) for values, prepared in sources.items()}


def _table(candidate: Candidate, prepared: Prepared, cells: Codes, names: tuple[str, ...]) -> KnownTable:
    request, released, collected = candidate.request, len(candidate.rows), len(prepared.tuple_of_record)
    codes = coded_rows(request, prepared, cells, candidate.rows, names)
    fraction = sampling_fraction(request, released, collected, candidate.index.population.total)
    return KnownTable(names, codes, request.policy.singling_out.columns, fraction)


def judged(tables: Mapping[str, KnownTable]) -> tuple[str, KnownTable]:
    """Values of masked columns that single out fewer records, and their table.

    Noise makes released numbers unique that nobody knows, so that they single out nobody whom the originals would not.
    """
    values = min(tables, key=lambda one: tables[one].singled_out)
    return values, tables[values]


def special_records(candidate: Candidate, top: int) -> tuple[SpecialRecord, ...]:
    """The released records that score highest, with the sets that single them out; equal ones in the file's order."""
    _, table = judged(known_tables(candidate))
    scores = table.found.scores
    order = [row for row in np.argsort(-scores, kind="stable")[:top].tolist() if scores[row] > 0]
    sets = sets_of(table.codes, table.largest, order)
    return tuple(
        SpecialRecord(
            row=candidate.prepared.row_of(int(candidate.rows[row])),
            score=float(scores[row]),
            probability=float(table.probabilities[row]),
            sets=tuple(tuple(table.names[place] for place in one) for one in sets[row][:_SETS_SHOWN]),
            more=max(len(sets[row]) - _SETS_SHOWN, 0),
        )
        for row in order
    )


class SinglingOutAssessment(Assessment[SinglingOutFact]):
    """Records that a few columns single out; gates use the worst of the copy alone and in any coalition."""

    id = "singling_out"
    stage = "singling out"
    fact = SinglingOutFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[SinglingOutFact]:
        """Search a candidate; the fact is of the copy alone."""
        tables, policy = known_tables(candidate), candidate.request.policy.singling_out
        values, table = judged(tables)
        known_presence = candidate.request.policy.presence == "known"
        fact = SinglingOutFact(
            columns=policy.columns,
            known=table.names,
            presumed=presumed_columns(candidate.request),
            masked=values if len(tables) > 1 else None,
            sampling_fraction=table.fraction,
            declared_fraction=policy.sampling_fraction is not None and not known_presence,
            known_presence=known_presence,
            records=len(table.codes),
            singled_out=table.singled_out,
            as_released=tables["as released"].singled_out,
            score_maximum=float(table.found.scores.max()),
            dis_maximum=float(table.probabilities.max()),
            by_size=tuple(
                SingledOutFact(columns=size, singled_out=int((table.found.smallest == size).sum()))
                for size in range(1, table.found.largest + 1)
            ),
            by_column=_by_column(table),
            worst=table.worst,
            together=table.together,
        )
        return Finding(fact, _worst(candidate, table))

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone."""
        return _worst(candidate, judged(known_tables(candidate))[1])


def singled_out_records(
    candidate: Candidate, measure: Measure, coalition: Coalition | None = None
) -> tuple[NDArray[np.bool_], str]:
    """Whether each released record is among those that a measure counts, and the columns that single them out.

    The records are those of the copy alone, or as a coalition sees them.
    """
    _, table = judged(known_tables(candidate, coalition))
    if measure is Measure.SINGLED_OUT:
        return table.found.singled_out, f"at most {table.largest} columns"
    numbers = fold(table.codes[:, list(table.found.worst)])[0]
    return np.bincount(numbers)[numbers] == 1, ", ".join(table.names[place] for place in table.found.worst)


def _worst(candidate: Candidate, alone: KnownTable) -> dict[Measure, float]:
    pooled = (judged(known_tables(candidate, one))[1].figures for one in candidate.coalitions)
    return worst(alone.figures, pooled)


def _by_column(table: KnownTable) -> tuple[ColumnUniquesFact, ...]:
    found = table.found
    total, needed = found.scores.sum(), found.only_with
    facts = (
        ColumnUniquesFact(
            column=name,
            score_share=float(found.column_scores[place] / total) if total else 0.0,
            singled_out=int(np.count_nonzero(found.by_column[place])),
            needed=int(needed[place]),
        )
        for place, name in enumerate(table.names)
    )
    return tuple(sorted(facts, key=lambda one: -one.score_share))
