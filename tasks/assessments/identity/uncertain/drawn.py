"""One set of terms after the other on the released file: its figures, and whether it passes the gates.

Terms without a distribution are looked at where they are worst and where they are best, so a set that is drawn has a
verdict in the worst case and one in the best.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.adversary import AdversaryProfile
from tasks.adversary.profile import derive_profile
from tasks.assessments.identity.uncertain.distributions import Distribution, Drawn, Points, Uncertain
from tasks.assessments.identity.uncertain.file import ReleasedFile
from tasks.assessments.identity.uncertain.terms import (
    DEPENDENT,
    GAME,
    SEQUENTIAL,
    Term,
    check_deterrence,
    check_ends,
    influences,
    is_monotone,
    is_planned_against,
    larger_is_worse,
    with_terms,
)
from tasks.assessments.measures import is_possible
from tasks.core.errors import ParameterError
from tasks.generalization.game import Floats
from tasks.generalization.setting import own_follower
from tasks.request.model import Gate, Measure, Recipient, ReleaseRequest
from tasks.request.policy import LARGER_IS_BETTER

Values = Mapping[Term, float]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Results for some sets of terms, in the worst case and in the best; first axis of length n_sets."""

    worst: Floats
    """Figures by measure, shape (n_sets, n_measures); NaN where the adversary's plan could not be solved."""
    best: Floats
    approved: NDArray[np.bool_]
    """Whether all gates pass even in the worst case, shape (n_sets,)."""
    possible: NDArray[np.bool_]
    """Whether they pass in the best."""


@dataclass(frozen=True, eq=False)
class Case:
    """A released file, the gates that apply to it, and the uncertain terms of its recipient."""

    request: ReleaseRequest
    recipient: Recipient
    file: ReleasedFile
    gates: Sequence[Gate]
    declared: Mapping[Measure, float]
    """Figures of the file under the declared terms; they stand for measures that do not depend on the terms."""
    uncertain: Mapping[Term, Uncertain]
    densest: tuple[int | None, int] = (None, 1)
    """As ``tasks.candidate.groups.densest_group`` gives it: where the prior comes from if it is not declared."""
    pooled: tuple[tuple[ReleasedFile, tuple[int | None, int]], ...] = ()
    """The file as each coalition sees it, and the densest of its groups."""

    def __post_init__(self) -> None:
        for term, known in self.uncertain.items():
            check_ends(term, known.ends)
        check_deterrence(self.recipient, self.uncertain)

    @cached_property
    def drawn(self) -> dict[Term, Distribution]:
        """Terms with a distribution, in the order given."""
        return {term: known for term, known in self.uncertain.items() if isinstance(known, Drawn | Points)}

    @cached_property
    def ranges(self) -> dict[Term, Uncertain]:
        """Terms of which only the ends are known."""
        return {term: known for term, known in self.uncertain.items() if term not in self.drawn}

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Measures of the gates that depend on the terms."""
        return tuple(gate.measure for gate in self.dependent)

    @cached_property
    def dependent(self) -> tuple[Gate, ...]:
        """Gates whose figures depend on the terms."""
        return tuple(gate for gate in self.gates if gate.measure in DEPENDENT)

    @cached_property
    def fixed_passed(self) -> bool:
        """Whether the gates pass that do not depend on the terms; one without a figure does not."""
        return all(
            passes(gate, self.declared.get(gate.measure, np.nan))
            for gate in self.gates
            if gate.measure not in DEPENDENT
        )

    @cached_property
    def profile(self) -> AdversaryProfile:
        """The adversary under the declared terms."""
        return derive_profile(self.recipient, *self.densest).profile

    def quantiles(self, probabilities: Floats) -> list[dict[Term, float]]:
        """Sets of the drawn terms at some probabilities, shape (n_sets, n_drawn)."""
        columns = {term: known.ppf(probabilities[:, place]) for place, (term, known) in enumerate(self.drawn.items())}
        return [{term: float(column[row]) for term, column in columns.items()} for row in range(len(probabilities))]

    def outcomes(self, sets: Sequence[Values]) -> Outcomes:
        """Figures and verdicts of some sets of the drawn terms."""
        corners = list(self._corners())
        found = np.array([[self.figures({**values, **corner}) for corner in corners] for values in sets])
        found = found.reshape(len(sets), len(corners), len(self.measures))
        passed = self._passed(found)
        worse = found * self._signs
        return Outcomes(
            worst=np.max(worse, axis=1) * self._signs,
            best=np.fmin.reduce(worse, axis=1) * self._signs,
            approved=np.asarray(passed.all(axis=1)),
            possible=np.asarray(passed.any(axis=1)),
        )

    def figures(self, values: Values) -> list[float]:
        """Figures of the gates' measures under one set of all uncertain terms; NaN where no plan could be solved.

        They are the worst of the file alone and of each coalition.
        """
        recipient = with_terms(self.recipient, values)
        seen = ((self.file, self.densest), *self.pooled)
        found = np.array([self._figures_of(file, densest, recipient) for file, densest in seen])
        worst: list[float] = ((found * self._signs).max(axis=0) * self._signs).tolist()
        return worst

    def _figures_of(self, file: ReleasedFile, densest: tuple[int | None, int], recipient: Recipient) -> list[float]:
        found = dict.fromkeys(self.measures, np.nan)
        if GAME & found.keys():
            with suppress(ParameterError):
                found |= file.game_figures(own_follower(self.request, recipient, file.table.population.total))
        if SEQUENTIAL & found.keys():
            with suppress(ParameterError):
                found |= file.sequential_figures(derive_profile(recipient, *densest).profile)
        return [found[measure] for measure in self.measures]

    def monotone(self, measure: Measure, terms: Collection[Term] | None = None) -> bool:
        """Whether a measure is worst where some terms (all uncertain ones) are worst, and best where they are best."""
        return all(
            is_monotone(term, measure, self.profile, planned=is_planned_against(self.request))
            or measure not in influences(self.request, self.recipient, term)
            for term in (self.uncertain if terms is None else terms)
        )

    @cached_property
    def extremes(self) -> tuple[dict[Term, float], dict[Term, float]]:
        """All uncertain terms at their worst ends, and at their best."""
        worst, best = {}, {}
        for term, known in self.uncertain.items():
            worst[term], best[term] = known.ends[::-1] if larger_is_worse(term) else known.ends
        return worst, best

    def _corners(self) -> Iterator[dict[Term, float]]:
        """Worst and best of the ranges; of those that have none, ends and middle."""
        if not self.ranges:
            yield {}
            return
        sided = [term for term in self.ranges if all(self.monotone(measure, (term,)) for measure in self.measures)]
        places = {
            term: (low, (low + high) / 2, high)
            for term, (low, high) in ((term, known.ends) for term, known in self.ranges.items())
            if term not in sided
        }
        for extreme in self.extremes if sided else self.extremes[:1]:
            for values in product(*places.values()):
                yield {term: extreme[term] for term in sided} | dict(zip(places, values, strict=True))

    @cached_property
    def _signs(self) -> Floats:
        return np.array([-1.0 if measure in LARGER_IS_BETTER else 1.0 for measure in self.measures])

    def _passed(self, figures: Floats) -> NDArray[np.bool_]:
        passed = np.full(figures.shape[:-1], self.fixed_passed)
        for place, gate in enumerate(self.dependent):
            values = figures[..., place]
            passed &= np.reshape([passes(gate, float(value)) for value in values.ravel()], values.shape)
        return passed


def passes(gate: Gate, figure: float) -> bool:
    """Whether a figure passes a gate; one that is missing or impossible does not."""
    if not is_possible(gate.measure, figure):
        return False
    return figure <= gate.threshold if gate.at_most is not None else figure >= gate.threshold
