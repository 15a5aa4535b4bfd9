"""A released file under one set of terms after the other: its figures, and whether it passes the gates.

Its cells are fixed, so that all that depends on the terms depends on how many records are in groups of each size. A set
that is drawn has a verdict in the worst case of the terms without a distribution. Where figures only get worse as a
term grows, or only better, that is its worst end. Detection where penalties are limited is not so, and is bounded
(``RangedProfile``). A verdict in the best case is that of values that were tried.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.derived_profile import derive_profile
from tasks.adversary.profile import AdversaryProfile, RangedProfile
from tasks.assessments.identity.uncertain.terms import (
    DEPENDENT,
    GAME,
    SEQUENTIAL,
    WORSE_WHEN_LARGER,
    RecipientTerm,
    check_deterrence,
    influences,
    is_drawn,
    is_monotone,
    is_planned_against,
    quantiles,
    with_terms,
)
from tasks.assessments.sequential.assessment import gate_figures, judged_belief
from tasks.candidate.candidate import Candidate
from tasks.candidate.groups import densest_group, groups
from tasks.core.errors import ParameterError
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.payoffs import Floats, Follower
from tasks.generalization.game.sequential_follower import SequentialFollower
from tasks.generalization.setting import own_follower
from tasks.microdata.tuples import Counts
from tasks.request.measures import LARGER_IS_BETTER, is_possible
from tasks.request.model import Gate, Measure, Recipient, ReleaseRequest, UncertainTerm


@dataclass(frozen=True, eq=False)
class FileGroups:
    """Released records by the group that an informed recipient finds them in."""

    table: CountIndex
    people: Counts
    """People of each distinct group whose own cell it is, n_T; shape (n_groups,)."""
    listed: Counts | None
    """People among these who are in the register; None without one."""
    records: Counts
    """Released records of each."""
    kept: float
    """Mean share of information kept over the records that came in; suppressed records keep nothing."""
    total: int
    """Records that came in."""

    def game_figures(self, follower: Follower) -> dict[Measure, float]:
        """Figures that depend on the adversary in the game.

        Raises ParameterError if the adversary is sequential and its plan cannot be solved.
        """
        attacked = follower.attacked(self.people)
        charged = follower.publisher(np.zeros(len(self.people)), self.people)
        return {
            Measure.TRANSPARENT_ATTACKED: float(self.records[attacked].sum() / self.records.sum()),
            Measure.TRANSPARENT_EXPECTED: float(self.records @ follower.reidentified(self.people)),
            Measure.PUBLISHER_PAYOFF: follower.benefit * self.kept + float(self.records @ charged / self.total),
        }

    def sequential_figures(self, profile: AdversaryProfile, loss: float) -> dict[Measure, float]:
        """Figures that depend on the sequential adversary.

        Raises ParameterError if the adversary's plan cannot be solved.
        """
        found = groups(self.table, self.people, self.listed, self.records, profile.prior)
        return gate_figures((judged_belief(profile, found),), loss)


def file_groups(
    table: CountIndex, generalization: Generalization, kept: NDArray[np.bool_], collected: int | None = None
) -> FileGroups:
    """The file of a generalization.

    ``kept``, of shape (n_tuples,), says whether a tuple's records are released; ``collected`` is the number of records
    that came in, where the table has those alone that are released.
    """
    total = table.data.total if collected is None else collected
    columns = [one[kept] for one in (generalization.effective, generalization.listed) if one is not None]
    distinct, place = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    records = table.data.counts[kept]
    return FileGroups(
        table=table,
        people=distinct[:, 0],
        listed=None if generalization.listed is None else distinct[:, 1],
        records=np.rint(np.bincount(place.ravel(), weights=records)).astype(np.int64),
        kept=float(records @ generalization.kept[kept] / total),
        total=total,
    )


Values = Mapping[RecipientTerm, float]
Seen = tuple[FileGroups, tuple[int | None, int]]
"""A file as somebody sees it, and its densest group as ``tasks.candidate.groups.densest_group`` gives it."""


@dataclass(frozen=True, eq=False)
class TermOutcomes:
    """Results for some sets of terms, in the worst case and in the best; first axis of length n_sets."""

    worst: Floats
    """Figures by measure, shape (n_sets, n_measures); NaN where the adversary's plan could not be solved."""
    approved: NDArray[np.bool_]
    """Whether all gates pass even in the worst case, shape (n_sets,)."""
    possible: NDArray[np.bool_]
    """Whether they pass in the best."""


@dataclass(frozen=True, eq=False)
class UncertainRelease:
    """A released file and the uncertain terms of its recipient; other gates pass, or not, whatever the terms are."""

    request: ReleaseRequest
    recipient: Recipient
    uncertain: Mapping[RecipientTerm, UncertainTerm]
    seen: Sequence[Seen]
    """The file alone, and as each coalition sees it."""

    def __post_init__(self) -> None:
        check_deterrence(self.recipient, self.uncertain)
        if RecipientTerm.PRIOR in self.uncertain:
            lowest = with_terms(self.recipient, {RecipientTerm.PRIOR: self.uncertain[RecipientTerm.PRIOR].ends[0]})
            for _, densest in self.seen:
                _ = derive_profile(lowest, *densest)  # raises where the register implies more

    @cached_property
    def drawn(self) -> dict[RecipientTerm, UncertainTerm]:
        """Terms with a distribution, in the order given."""
        return {name: term for name, term in self.uncertain.items() if is_drawn(term)}

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """Gates whose figures depend on the terms."""
        return tuple(gate for gate in self.request.policy.gates if gate.measure in DEPENDENT)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Their measures."""
        return tuple(gate.measure for gate in self.gates)

    @cached_property
    def profile(self) -> AdversaryProfile:
        """The adversary under the declared terms."""
        return derive_profile(self.recipient, *self.seen[0][1]).profile

    @cached_property
    def _freest(self) -> AdversaryProfile:
        """The same with penalties as few as they may be: what is monotone depends on these."""
        fewest = self.uncertain.get(RecipientTerm.MAX_PENALTIES)
        terms = {} if fewest is None else {RecipientTerm.MAX_PENALTIES: fewest.ends[0]}
        return derive_profile(with_terms(self.recipient, terms), *self.seen[0][1]).profile

    def sets(self, probabilities: Floats) -> list[dict[RecipientTerm, float]]:
        """Sets of the drawn terms at some probabilities, shape (n_sets, n_drawn)."""
        columns = [quantiles(term, probabilities[:, place]) for place, term in enumerate(self.drawn.values())]
        return [dict(zip(self.drawn, map(float, row), strict=True)) for row in zip(*columns, strict=True)]

    def outcomes(self, sets: Sequence[Values]) -> TermOutcomes:
        """Figures and verdicts of some sets of the drawn terms."""
        corners = list(self._corners())
        worst = np.array([self.bound({**values, **corners[0]}, self.ranging - self.drawn.keys()) for values in sets])
        worst = worst.reshape(len(sets), len(self.measures))
        approved = self._passing(worst)
        possible = approved.copy()
        for corner in corners[1:]:
            left = np.flatnonzero(~possible).tolist()
            figures = [self.figures({**sets[place], **corner}) for place in left]
            possible[left] = self._passing(np.array(figures).reshape(len(left), len(self.measures)))
        return TermOutcomes(worst, approved, possible)

    def _passing(self, figures: Floats) -> NDArray[np.bool_]:
        """Whether figures, shape (n_sets, n_measures), pass all gates."""
        columns = zip(self.gates, figures.T, strict=True)
        passed = [[passes(gate, float(value)) for value in column] for gate, column in columns]
        return np.asarray(np.all(np.reshape(passed, figures.T.shape), axis=0), dtype=np.bool_)

    def bound(self, values: Values, terms: Collection[RecipientTerm]) -> list[float]:
        """Figures that are no better at any values of some terms, where ``values`` has their worst ends."""
        reach = None
        if {RecipientTerm.DETECTION, RecipientTerm.DETECTION_SLOPE} & set(terms):
            highest = {name: term.ends[1] for name, term in self.uncertain.items() if name in terms}
            profile = derive_profile(with_terms(self.recipient, {**values, **highest})).profile
            reach = (profile.detection_intercept, profile.detection_slope)
        return self.figures(values, reach)

    def figures(self, values: Values, reach: tuple[float, float] | None = None) -> list[float]:
        """Figures of the gates' measures under one set of all uncertain terms; NaN where no plan could be solved.

        They are the worst of the file alone and of each coalition. ``reach``: as ``RangedProfile.highest``.
        """
        recipient = with_terms(self.recipient, values)
        figures = []
        for file, densest in self.seen:
            found = dict.fromkeys(self.measures, np.nan)
            if GAME & found.keys():
                with suppress(ParameterError):
                    follower = own_follower(
                        self.request, recipient, file.table.population.total, from_below=file.table.from_below
                    )
                    if isinstance(follower, SequentialFollower):
                        follower = replace(follower, profile=_ranged(follower.profile, reach))
                    found |= file.game_figures(follower)
            if SEQUENTIAL & found.keys():
                with suppress(ParameterError):
                    profile = _ranged(derive_profile(recipient, *densest).profile, reach)
                    found |= file.sequential_figures(profile, recipient.stakes.loss)
            figures.append([found[measure] for measure in self.measures])
        signs = np.array([-1.0 if measure in LARGER_IS_BETTER else 1.0 for measure in self.measures])
        return [float(one) for one in (np.array(figures) * signs).max(axis=0) * signs]

    def monotone(self, measure: Measure, terms: Collection[RecipientTerm] | None = None) -> bool:
        """Whether a measure is worst where some terms (all uncertain ones) are worst, and best where they are best."""
        return all(
            is_monotone(term, measure, self._freest, planned=is_planned_against(self.request))
            or measure not in influences(self.request, self.recipient, term)
            for term in (self.uncertain if terms is None else terms)
        )

    @cached_property
    def extremes(self) -> tuple[dict[RecipientTerm, float], dict[RecipientTerm, float]]:
        """All uncertain terms at their worst ends, and at their best."""
        ends = {name: one.ends[:: -1 if name in WORSE_WHEN_LARGER else 1] for name, one in self.uncertain.items()}
        return {name: one[0] for name, one in ends.items()}, {name: one[1] for name, one in ends.items()}

    @cached_property
    def ranging(self) -> frozenset[RecipientTerm]:
        """Terms of which no end is known to be worst for all measures."""
        return frozenset(
            name for name in self.uncertain if not all(self.monotone(measure, (name,)) for measure in self.measures)
        )

    def _corners(self) -> Iterator[dict[RecipientTerm, float]]:
        """Terms without a distribution: all at their worst ends, then sets that may be better."""
        worst, best = (
            {name: one[name] for name, term in self.uncertain.items() if not is_drawn(term)} for one in self.extremes
        )
        yield worst
        if worst:
            places = {
                name: self.uncertain[name].ends for name in self.uncertain if name in self.ranging and name in worst
            }
            for values in product(*((low, (low + high) / 2, high) for low, high in places.values())):
                yield best | dict(zip(places, values, strict=True))


def uncertain_release(candidate: Candidate, *, collected: int | None = None) -> UncertainRelease | None:
    """File and gates that depend on the uncertain terms; None where no term is uncertain.

    Coalitions are covered, as by the gates. All other gates have the same result for every set of terms. ``collected``
    is as of ``file_groups``.
    """
    recipient, released, index = candidate.recipient, candidate.released, candidate.index
    if recipient.uncertain is None:
        return None
    copies = [(candidate.generalization, collected), *((one.copy, None) for one in candidate.coalitions)]
    return UncertainRelease(
        request=candidate.request,
        recipient=recipient,
        uncertain={RecipientTerm(name): term for name, term in recipient.uncertain.given.items()},
        seen=[(file_groups(index, made, released, came), densest_group(made, released)) for made, came in copies],
    )


def _ranged(profile: AdversaryProfile, highest: tuple[float, float] | None) -> AdversaryProfile:
    return profile if highest is None else RangedProfile(**vars(profile), highest=highest)


def passes(gate: Gate, figure: float) -> bool:
    """Whether a figure passes a gate; one that is missing or impossible does not."""
    kept = figure <= gate.threshold if gate.at_most is not None else figure >= gate.threshold
    return kept and is_possible(gate.measure, figure)
