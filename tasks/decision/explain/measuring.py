"""Figures of generalized outcomes under many terms, each measured once for the terms it depends on.

The risk of an identity depends on the outcome and the stakes; the sequential adversary on the sizes of the outcome's
groups and on its profile; the combined score on the outcome, the maskings and the policy of that score; the loss on the
outcome and the weights; the probability under uncertain terms on the outcome, all terms and the gates that depend on
them; what is linked on the outcome, the maskings and what is known. All but the first are measured only where a gate of
the policy judges them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.adversary import AdversaryProfile
from tasks.adversary.planning.terms import Term
from tasks.assessments.combined import combined_score
from tasks.assessments.combined.combined_score import released_table
from tasks.assessments.identity import score
from tasks.assessments.sequential import sequential
from tasks.assessments.sequential.sequential import sequential_by_coalition
from tasks.assessments.utility.generalization_loss import generalization_loss, released
from tasks.candidate.coalition import Coalition, coalitions_of, worst
from tasks.candidate.groups import Groups, recipient_profile, released_groups
from tasks.candidate.released import released_tuples
from tasks.decision.explain.at_stake import AtStake, Release, at_stake
from tasks.decision.explain.linking import LINKAGE, Linking, MaskedFor, nothing_masked
from tasks.decision.explain.passing import Passings
from tasks.decision.gates import judge_gates
from tasks.decision.record import GateResult
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.setting import follower_of, own_follower, weights_of
from tasks.masking.masked_columns import with_masked
from tasks.microdata.coded import Prepared
from tasks.request.model import Measure, Recipient, ReleaseRequest

SEQUENTIAL = frozenset(measure for measure in Measure if measure.value.startswith("sequential."))
"""Measures of the sequential adversary."""
COMBINED = frozenset(measure for measure in Measure if measure.value.startswith("combined."))
"""Identity and attributes in one score."""
UTILITY = frozenset(measure for measure in Measure if measure.value.startswith("utility."))
"""Measures of the loss by generalization."""

REMEMBERED = LINKAGE | {Measure.PASSING_PROBABILITY}
"""Measures for which a release draws at random: taken from its record, and estimated under other terms."""

Figures = dict[Measure, float]
_Key = tuple[object, ...]
_Deterring = Mapping[Term, float | None]


@dataclass(frozen=True)
class Measured:
    """Figures that one stage measured, and which of them are estimates."""

    figures: Figures
    estimated: frozenset[Measure] = frozenset()


class Measurements:
    """Measurements of outcomes of one table.

    Parameters
    ----------
    table : CountIndex
    prepared : Prepared or None
        The records; needed only where a gate judges the combined score or what is linked.
    masked_for : callable, optional
        Gives the masked columns of a request.
    """

    def __init__(
        self, table: CountIndex, prepared: Prepared | None = None, masked_for: MaskedFor = nothing_masked
    ) -> None:
        self.table, self.prepared, self.masked_for = table, prepared, masked_for
        self.linking = Linking(table, prepared, masked_for)
        self.passings = Passings(table)
        self._figures: dict[_Key, Figures] = {}
        self._deterring: dict[_Key, _Deterring] = {}
        self._coalitions: dict[_Key, tuple[Coalition, ...]] = {}

    def measured(
        self, request: ReleaseRequest, recipient: Recipient, played: Generalization, *, exact: bool = True
    ) -> Iterator[Measured]:
        """Figures of an outcome that gates judge, stage by stage.

        Attacks come last, before them the draws of uncertain terms; both only if no gate is closed by then.

        Parameters
        ----------
        request : ReleaseRequest
        recipient : Recipient
            Of that request.
        played : Generalization
        exact : bool
            Whether sums over records must be added up as the stage does, tuple by tuple. Else equal groups are counted
            first, which is faster by as much as there are fewer of them, and may differ in the last digits; and only
            quick attacks are made.

        Raises
        ------
        StageFailed
            If nothing is left to release, or no attack can be made on it.
        ParameterError
            If the plan of the recipient cannot be solved.
        TooManyAttacks
            If it would take more attacks than may be made for one explanation.
        """
        policy = request.policy
        kept = released_tuples(self.table, played, policy.generalization.minimum_class_size)
        outcome, pooled = _digest(played, kept), self._pooled(request, recipient)
        payoffs = own_follower(request, recipient, self.table.population.total)
        threshold, small_cell = policy.risk_threshold, policy.small_cell

        def identity() -> Figures:
            risk = score.residual_risk(self.table, played, kept, payoffs, threshold, small_cell=small_cell)
            coalitions = self._coalitions_of(request, recipient, played, kept)
            return score.identity_figures(self.table, played, kept, payoffs, risk, coalitions, policy)

        figures = self._once(("identity", outcome, payoffs, threshold, small_cell, *pooled), identity)
        yield Measured(figures)
        judged = {gate.measure for gate in policy.gates}
        if judged & SEQUENTIAL:
            profile = recipient_profile(recipient, played, kept).profile
            planned = partial(self._sequential, request, recipient, profile, played, kept, exact=exact)
            found = self._once(("sequential", outcome, profile, exact, *pooled), planned)
            figures = figures | found
            yield Measured(found)
        if judged & COMBINED:
            masking = tuple(one.model_dump_json() for one in request.masking)
            key = ("combined", outcome, masking, policy.combined.model_dump_json(), *pooled)
            found = self._once(key, partial(self._combined, request, recipient, played, kept))
            figures = figures | found
            yield Measured(found)
        if judged & UTILITY:
            found = self._once(("utility", outcome), partial(self._lost, played, kept))
            figures = figures | found
            yield Measured(found)
        if Measure.PASSING_PROBABILITY in judged:
            anew = not is_shut(request, figures)
            passing = self.passings.passing(request, recipient, played, kept, (outcome, *pooled), anew=anew)
            if passing is not None:
                drawn = {Measure.PASSING_PROBABILITY: passing.figure}
                figures = figures | drawn
                yield Measured(drawn, frozenset(drawn) if passing.estimated else frozenset())
        if judged & LINKAGE:
            anew = not is_shut(request, figures)
            linked = self.linking.linked(request, recipient, played, kept, outcome, anew=anew, exact=exact)
            yield Measured(dict(linked.figures), linked.estimated)

    def remember(self, request: ReleaseRequest, recipient: Recipient, played: Generalization, figures: Figures) -> None:
        """Keep what a decision recorded of its outcome that is not measured again for it: ``REMEMBERED``."""
        kept = released_tuples(self.table, played, request.policy.generalization.minimum_class_size)
        outcome = _digest(played, kept)
        linked = {measure: figure for measure, figure in figures.items() if measure in LINKAGE}
        self.linking.remember(request, recipient, played, kept, outcome, linked)
        if Measure.PASSING_PROBABILITY in figures:
            released = (outcome, *self._pooled(request, recipient))
            self.passings.remember(request, recipient, released, figures[Measure.PASSING_PROBABILITY])

    def deterring(self, request: ReleaseRequest, recipient: Recipient, played: Generalization) -> _Deterring:
        """The least value of each term, the others as they are, at which no record is attacked; None where none is.

        It deters from what coalitions see as well.

        Raises
        ------
        StageFailed, ParameterError
            As ``measured``.
        """
        kept = released_tuples(self.table, played, request.policy.generalization.minimum_class_size)
        profile = recipient_profile(recipient, played, kept).profile
        key = (_digest(played, kept), profile, *self._pooled(request, recipient))
        if key not in self._deterring:
            coalitions = self._coalitions_of(request, recipient, played, kept)
            needed: list[_Deterring] = []
            for copy in (played, *(one.copy for one in coalitions)):
                seen = recipient_profile(recipient, copy, kept).profile
                groups = _counted(released_groups(self.table, copy, kept, seen.prior))
                needed.append({Term(one.term): one.needed for one in sequential.deterrents(seen, groups)})
            self._deterring[key] = {term: _most([one[term] for one in needed]) for term in needed[0]}
        return self._deterring[key]

    def at_stake(
        self, request: ReleaseRequest, recipient: Recipient, played: Generalization, gate: GateResult
    ) -> AtStake:
        """The records that keep a gate closed, by class.

        Raises
        ------
        StageFailed, ParameterError
            As ``measured``.
        """
        kept = released_tuples(self.table, played, request.policy.generalization.minimum_class_size)
        alone = Release(request, recipient, self.table, played, partial(self._scored, request, played))
        pooled = [
            Release(request, recipient, self.table, one.copy, partial(self._scored, request, played, one), one.classes)
            for one in self._coalitions_of(request, recipient, played, kept)
        ]
        return at_stake(alone, gate, pooled)

    def _scored(
        self, request: ReleaseRequest, played: Generalization, coalition: Coalition | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Tuple and combined score of each released record, in the copy alone or as a coalition sees it."""
        kept = released_tuples(self.table, played, request.policy.generalization.minimum_class_size)
        scores = self._scores(request, played, kept, coalition)
        if self.prepared is None:
            raise ValueError("the combined score needs the records")
        tuples = self.prepared.tuple_of_record
        return tuples[kept[tuples]], scores

    def _sequential(
        self,
        request: ReleaseRequest,
        recipient: Recipient,
        profile: AdversaryProfile,
        played: Generalization,
        kept: NDArray[np.bool_],
        *,
        exact: bool,
    ) -> Figures:
        groups = released_groups(self.table, played, kept, profile.prior)
        alone = sequential.gate_figures(sequential.beliefs(profile, groups if exact else _counted(groups)))
        coalitions = self._coalitions_of(request, recipient, played, kept)
        return worst(alone, sequential_by_coalition(self.table, coalitions, kept, recipient))

    def _coalitions_of(
        self, request: ReleaseRequest, recipient: Recipient, played: Generalization, kept: NDArray[np.bool_]
    ) -> tuple[Coalition, ...]:
        """Coalitions that may have the copy; those of the last copy asked about are kept."""
        pooled = self._pooled(request, recipient)
        if not pooled:
            return ()
        key = (_digest(played, kept), *pooled)
        if key not in self._coalitions:
            self._coalitions.clear()
            self._coalitions[key] = coalitions_of(self.table, played, kept, request, recipient)
        return self._coalitions[key]

    def _pooled(self, request: ReleaseRequest, recipient: Recipient) -> _Key:
        """Key of the copies that coalitions may pool; empty where the recipient is in no coalition."""
        others = {one.id: one for members in request.coalitions(recipient) for one in members}
        if not others:
            return ()
        policy, weights = request.policy.generalization, weights_of(request).tobytes()
        k = None if policy.k_anonymity is None else policy.k_anonymity.k
        people = self.table.population.total
        games = tuple((follower_of(request, one, people), request.method_for(one)) for one in others.values())
        return (games, policy.cell_weights, policy.minimum_class_size, k, weights)

    def _combined(
        self, request: ReleaseRequest, recipient: Recipient, played: Generalization, kept: NDArray[np.bool_]
    ) -> Figures:
        figure = combined_score.score_figure(self._scores(request, played, kept), request.policy.combined)
        coalitions = self._coalitions_of(request, recipient, played, kept)
        pooled = combined_score.combined_by_coalition(request, self._hidden(request), coalitions, kept)
        return worst(combined_score.gate_figures(figure), pooled)

    def _scores(
        self,
        request: ReleaseRequest,
        played: Generalization,
        kept: NDArray[np.bool_],
        coalition: Coalition | None = None,
    ) -> NDArray[np.float64]:
        hidden = self._hidden(request)
        if coalition is None:
            table = released_table(request, hidden, played, kept)
        else:
            table = combined_score.pooled_table(request, hidden, coalition, kept)
        return combined_score.scores(table, request.policy.combined)

    def _hidden(self, request: ReleaseRequest) -> Prepared:
        """The records with their masked columns."""
        if self.prepared is None:
            raise ValueError("the combined score needs the records")
        return with_masked(self.prepared, request, self.masked_for(request))

    def _lost(self, played: Generalization, kept: NDArray[np.bool_]) -> Figures:
        return {Measure.UTILITY_LOSS: generalization_loss(released(self.table, played, kept)).file.loss}

    def _once(self, key: _Key, measure: Callable[[], Figures]) -> Figures:
        if key not in self._figures:
            self._figures[key] = measure()
        return self._figures[key]


def _most(values: Sequence[float | None]) -> float | None:
    """The greatest of some values; None where one is None, which no value is enough for."""
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def is_shut(request: ReleaseRequest, figures: Figures) -> bool:
    """Whether a gate on one of the figures is closed."""
    return not all(gate.passed for gate in judge_gates(request.policy.gates, figures) if gate.measured is not None)


def _digest(played: Generalization, kept: NDArray[np.bool_]) -> bytes:
    """Stands for the outcome: every array of it that a figure is taken from."""
    digest = blake2b(digest_size=20)
    for array in (played.cells, played.kept, played.people, played.effective, played.listed, kept):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _counted(groups: Groups) -> Groups:
    """The same groups, equal ones as one with all their records."""
    order = np.lexsort((groups.densities, groups.candidates))
    candidates, densities = groups.candidates[order], groups.densities[order]
    new = (candidates[1:] != candidates[:-1]) | (densities[1:] != densities[:-1])
    first = np.flatnonzero(np.append(True, new))
    records = np.add.reduceat(groups.records[order], first)
    return Groups(candidates[first], densities[first], records, groups.external_size)
