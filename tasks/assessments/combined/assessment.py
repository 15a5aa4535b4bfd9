"""Combined score: probability of finding a record by known attributes, times the sensitivity of the others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.combined.disclosure import MeanContributions, contributions, known_sets, mean_contributions
from tasks.assessments.combined.expected import counted_names, expected_disclosure, highest_expected
from tasks.assessments.combined.facts import CombinedFact, Contribution, ScoreFigure
from tasks.assessments.combined.known_sets import Floats, KnownSet
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition, worst
from tasks.core.fact import Bin
from tasks.generalization.game.count_index import Generalization
from tasks.microdata.coded import (
    Prepared,
    coded_rows,
    group_sensitivities,
    known_probabilities,
    presumed_columns,
    sensitivities,
    value_weights,
)
from tasks.microdata.hierarchy import Codes
from tasks.request.model import CombinedPolicy, Measure, ReleaseRequest

_LARGEST = 8
_FEW_SETS = 0.2
"""Probability above which sets are counted for bounds."""
_ROUNDING = 1 - 1e-12
"""A score is a sum, whose last digits depend on its order: one this near to a bound equals it."""
_EDGES = (0.0, *(float(f"{step}e{power}") for power in range(-6, 19) for step in (1, 2, 5)))


@dataclass(frozen=True)
class ScoreTable:
    """Codes of the records, by attribute, with an adversary's possible knowledge and gain."""

    names: tuple[str, ...]
    codes: NDArray[np.integer]
    """Shape (n_records, n_attributes), column-major."""
    known_probabilities: tuple[float, ...]
    sensitivities: tuple[Floats, ...]
    """Weight of each value of each attribute."""


@dataclass(frozen=True)
class RecordScore:
    """One record's score and the main part of it; for the steward alone."""

    row: int
    """Position of the record in the file, from 0; of a person with several rows, of the first."""
    rank: int
    score: float
    known_set: Contribution | None
    """The known set that adds most; None where the score is 0."""
    attribute: Contribution | None
    """The sensitive attribute that adds most; None where the score is 0."""

    def document(self) -> dict[str, object]:
        """The record's contributions as JSON; its row is counted from 1."""
        known, sensitive = (part and part.model_dump() for part in (self.known_set, self.attribute))
        return {"row": self.row + 1, "rank": self.rank, "score": self.score, "known": known, "sensitive": sensitive}


def scored_names(request: ReleaseRequest, prepared: Prepared) -> tuple[str, ...]:
    """Attributes that are counted or weighed, in the order of the request."""
    return counted_names(request, prepared, known_probabilities(request))


def collected_table(request: ReleaseRequest, prepared: Prepared) -> ScoreTable:
    """The records as collected."""
    return _score_table(request, prepared, prepared.data.codes, np.arange(len(prepared.tuple_of_record)))


def released_table(
    request: ReleaseRequest, prepared: Prepared, generalization: Generalization, kept: NDArray[np.bool_]
) -> ScoreTable:
    """The records as released: an adversary counts the generalized values; suppressed records are absent.

    ``kept``, of shape (n_tuples,), says whether a tuple's records are released.
    """
    return _score_table(request, prepared, generalization.cells, np.flatnonzero(kept[prepared.tuple_of_record]))


def _score_table(request: ReleaseRequest, prepared: Prepared, cells: Codes, rows: NDArray[np.intp]) -> ScoreTable:
    chances, names = known_probabilities(request), scored_names(request, prepared)
    codes = coded_rows(request, prepared, cells, rows, names)
    weights = value_weights(request, prepared, names, codes)
    return ScoreTable(names, codes, tuple(chances[name] for name in names), weights)


def score_collected(request: ReleaseRequest, prepared: Prepared) -> ScoreFigure:
    """Scores of the records as collected, which are the same for every recipient.

    Raises ParameterError if more sets of attributes may be known than can be counted.
    """
    policy = request.policy.combined
    return score_figure(scores(collected_table(request, prepared), policy), policy)


def combine(
    request: ReleaseRequest,
    prepared: Prepared,
    generalization: Generalization,
    kept: NDArray[np.bool_],
    initial: ScoreFigure,
    *,
    expected: float | None = None,
) -> CombinedFact:
    """Score a generalization.

    ``kept``, of shape (n_tuples,), says whether a tuple's records are released; ``initial`` is as ``score_collected``
    gives it; ``expected`` is the highest expected disclosure of a record. Raises ParameterError if more sets of
    attributes may be known than can be counted.
    """
    policy, after = request.policy.combined, released_table(request, prepared, generalization, kept)
    parts = _mean_contributions(after, policy)
    return CombinedFact(
        **policy.model_dump(),
        known_probabilities=dict(zip(after.names, after.known_probabilities, strict=True)),
        sensitivities={
            name: given.attribute
            for name, given in (sensitivities(request) | group_sensitivities(request, prepared.hierarchies)).items()
            if name in request.outbound
        },
        known_sets=len(known_sets(after.known_probabilities, policy.epsilon)),
        initial=initial,
        residual=score_figure(parts.risks + parts.left_out, policy),
        left_out=float(parts.left_out.max()),
        presumed=presumed_columns(request),
        expected=expected,
        by_known_set=_shares(parts.known_sets, parts.risk, after),
        by_attribute=_shares(_alone(parts.attributes), parts.risk, after),
    )


def combined_by_coalition(
    request: ReleaseRequest, prepared: Prepared, coalitions: Iterable[Coalition], kept: NDArray[np.bool_]
) -> tuple[dict[Measure, float], ...]:
    """Gate figures of the records as each coalition sees them: of each attribute the least general group of its copies.

    Parameters and errors are as of ``combine``.
    """
    policy, seen = request.policy.combined, (replace(one.copy, cells=one.cells) for one in coalitions)
    tables = (released_table(request, prepared, one, kept) for one in seen)
    return tuple(gate_figures(score_figure(scores(one, policy), policy)) for one in tables)


def riskiest(
    request: ReleaseRequest, prepared: Prepared, generalization: Generalization, kept: NDArray[np.bool_], top: int
) -> tuple[RecordScore, ...]:
    """The released records that score highest, with why; those of equal score in the order of the file."""
    policy, rows = request.policy.combined, np.flatnonzero(kept[prepared.tuple_of_record])
    after = released_table(request, prepared, generalization, kept)
    reached = scores(after, policy)
    explained = contributions(
        after.codes,
        after.known_probabilities,
        after.sensitivities,
        policy.alpha,
        policy.epsilon,
        rows=np.argsort(-reached, kind="stable")[:top],
        exclusive=policy.exclusive,
    )
    return tuple(
        RecordScore(
            row=prepared.row_of(int(rows[one.row])),
            rank=rank,
            score=float(reached[one.row]),
            known_set=next(iter(_shares(one.known_sets, one.risk, after)), None),
            attribute=next(iter(_shares(_alone(one.attributes), one.risk, after)), None),
        )
        for rank, one in enumerate(explained, start=1)
    )


def scores(table: ScoreTable, policy: CombinedPolicy) -> Floats:
    """The score D of every record, with a bound on what ε leaves out of it; shape (n_records,)."""
    found = _mean_contributions(table, policy)
    return found.risks + found.left_out


def score_figure(risks: Floats, policy: CombinedPolicy) -> ScoreFigure:
    """Scores over all records; the quantile is the least score that its share of the records does not exceed."""
    above = int(np.count_nonzero(risks * _ROUNDING > policy.threshold))
    return ScoreFigure(
        maximum=float(risks.max()),
        mean=float(risks.mean()),
        quantile=float(np.quantile(risks, policy.quantile, method="inverted_cdf")),
        share_above=above / len(risks),
        records=len(risks),
        above=above,
        histogram=_histogram(risks),
    )


def gate_figures(residual: ScoreFigure) -> dict[Measure, float]:
    """Every figure that a gate can use."""
    return {
        Measure.COMBINED_MAXIMUM: residual.maximum,
        Measure.COMBINED_QUANTILE: residual.quantile,
        Measure.COMBINED_ABOVE: residual.share_above,
    }


def _mean_contributions(table: ScoreTable, policy: CombinedPolicy) -> MeanContributions:
    return mean_contributions(
        table.codes,
        table.known_probabilities,
        table.sensitivities,
        policy.alpha,
        policy.epsilon,
        exclusive=policy.exclusive,
    )


def _histogram(risks: Floats) -> tuple[Bin, ...]:
    """Records by score, from the interval of the least to that of the greatest; the first one holds scores of 0 too."""
    place = np.maximum(np.searchsorted(_EDGES, risks * _ROUNDING, side="left") - 1, 0)
    counts = np.bincount(place)
    return tuple(
        Bin(low=_EDGES[index], high=_EDGES[index + 1], records=int(counts[index]))
        for index in range(int(place.min()), len(counts))
    )


def _alone(parts: tuple[tuple[int, float], ...]) -> tuple[tuple[KnownSet, float], ...]:
    return tuple(((attribute,), part) for attribute, part in parts)


def _shares(parts: tuple[tuple[KnownSet, float], ...], total: float, table: ScoreTable) -> tuple[Contribution, ...]:
    return tuple(
        Contribution(attributes=tuple(table.names[place] for place in attributes), share=part / total)
        for attributes, part in parts[:_LARGEST]
        if total > 0
    )


COLLECTED = "combined score as collected"


class CombinedAssessment(Assessment[CombinedFact]):
    """Identity and attribute disclosure in one score; gates use the worst of the copy alone and in any coalition."""

    id = "combined"
    stage = "combined risk"
    fact = CombinedFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[CombinedFact]:
        """Score a candidate; the fact is of the copy alone."""
        initial = candidate.known.get(COLLECTED)
        if not isinstance(initial, ScoreFigure):
            initial = score_collected(candidate.request, candidate.as_collected)
        expected = float(expected_disclosure(candidate).max())
        fact = combine(
            candidate.request,
            candidate.as_masked,
            candidate.generalization,
            candidate.released,
            initial,
            expected=expected,
        )
        return Finding(fact, _worst(candidate, fact.residual, expected))

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone."""
        return _worst(candidate, score_figure(record_scores(candidate), candidate.request.policy.combined))

    def bounds(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Figures never below the gates' own, by the sets that are most likely known alone: an eighth of the work.

        Sets that are left out are bounded (``mean_contributions``), by more the more they are.
        """
        policy = candidate.request.policy
        few = policy.combined.model_copy(update={"epsilon": max(policy.combined.epsilon or 0.0, _FEW_SETS)})
        terms = {"policy": policy.model_copy(update={"combined": few})}
        return self.measures(replace(candidate, request=candidate.request.model_copy(update=terms)))


def record_scores(candidate: Candidate, coalition: Coalition | None = None) -> Floats:
    """Score of each released record, in the copy alone or as a coalition sees it."""
    made = candidate.generalization if coalition is None else replace(coalition.copy, cells=coalition.cells)
    table = released_table(candidate.request, candidate.as_masked, made, candidate.released)
    return scores(table, candidate.request.policy.combined)


def _worst(candidate: Candidate, alone: ScoreFigure, expected: float | None = None) -> dict[Measure, float]:
    """Gate figures of the copy alone or in any coalition, whichever are worse."""
    pooled = combined_by_coalition(candidate.request, candidate.as_masked, candidate.coalitions, candidate.released)
    return {**worst(gate_figures(alone), pooled), Measure.COMBINED_EXPECTED: highest_expected(candidate, expected)}
