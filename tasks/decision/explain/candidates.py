"""Candidates of one data set under changed terms: no game is solved twice, nothing is measured twice.

Cost c and gain G enter a method only through ``Payoffs.attacked(n)``, which is monotone in n. So a game depends on them
only through n*, the smallest group that is not attacked, as far as the population reaches; terms with equal n* give the
same outcome to the last bit. For a sequential adversary, and for several recipients who share a representation, all
terms are compared. Safe Harbor and k-anonymity depend on no stakes.

Under the two No-Attack rules the payoff is V·(1 − IL/IL_max): the loss L drops out to the last bit, and the benefit V
changes no choice but for payoffs within the tolerance of ties, a billionth of the benefit or less once that is 1 or
more. This last step is not exact to the bit; it serves to look for changes (``exact=False``), and what is found is
solved as it stands. So do, in large games, searches that are cut short, and bounds of the combined score.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tasks.adversary.planning.deterrence import Term
from tasks.assessments.columns.assessment import PLACES, column_places
from tasks.assessments.columns.facts import ColumnsFact
from tasks.assessments.columns.places import distinct_share
from tasks.assessments.registry import (
    ATTRIBUTE,
    COLUMNS,
    COMBINED,
    DATES,
    EVENTS,
    IDENTITY,
    LINKAGE,
    SEQUENTIAL,
    SINGLING_OUT,
    TEXT,
    UTILITY,
)
from tasks.assessments.sequential.assessment import deterrents
from tasks.candidate.assessment import Assessment
from tasks.candidate.candidate import Candidate, Redaction
from tasks.candidate.coalition import Coalition, worst
from tasks.core.errors import ParameterError, RequestError, StageFailed
from tasks.dates.released_dates import NO_DATES, ReleasedDates
from tasks.decision.explain.estimates import Estimates, is_closed, pooled_key
from tasks.decision.explain.result import Figures, Judgement, Measured
from tasks.decision.gates import agreement_gate, judge_gates
from tasks.decision.record import Verdict
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.payoffs import Follower, Payoffs
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.setting import follower_of, generalized_against, table_under, weights_of
from tasks.masking.masked_columns import NOTHING_MASKED, MaskedColumns
from tasks.microdata.coded import Prepared
from tasks.microdata.withheld import NEARLY_UNIQUE
from tasks.request.model import Measure, Recipient, ReleaseRequest

_LEAST_SHARED_BENEFIT = 1.0
_FEWEST_GAMES = 4
_LARGE = 2**22
"""Tuples of the population times strategies from which a game is large."""

Key = tuple[object, ...]
_Result = TypeVar("_Result")


def _maskings(candidate: Candidate) -> tuple[str, ...]:
    return tuple(one.model_dump_json() for one in candidate.request.masking)


def _dates(candidate: Candidate) -> Key:
    """Terms that released dates depend on; empty where all are released as collected."""
    terms = (candidate.request.attributes[name].date for name in candidate.request.dated)
    found = tuple(one.model_dump_json() for one in terms if one)
    return (candidate.recipient.id, *found) if found else ()


def _columns(candidate: Candidate) -> Key:
    """Terms that the places of released columns depend on."""
    excused = (name for name, one in candidate.request.attributes.items() if one.excused)
    return _maskings(candidate), candidate.request.outbound, tuple(excused), *_dates(candidate)


_DEPENDS: tuple[tuple[Assessment[Any], Callable[[Candidate], object]], ...] = (
    (IDENTITY, lambda candidate: candidate.payoffs),
    (SEQUENTIAL, lambda candidate: (candidate.adversary.profile, candidate.recipient.stakes.loss)),
    (COMBINED, _columns),
    (ATTRIBUTE, _columns),
    (SINGLING_OUT, _columns),
    (DATES, lambda candidate: (_dates(candidate), candidate.request.policy.dates.known)),
    (UTILITY, lambda _candidate: None),
)
"""Assessments that draw nothing, with the terms that each depends on besides the outcome of the game."""


def _nothing_masked(_request: ReleaseRequest) -> MaskedColumns:
    return NOTHING_MASKED


def _no_dates(_request: ReleaseRequest, _recipient: Recipient) -> ReleasedDates:
    return NO_DATES


class Candidates:
    """Candidates of one data set; past a bound on ``memory`` (bytes) the oldest games are dropped."""

    def __init__(
        self,
        index: CountIndex,
        prepared: Prepared,
        masked_for: Callable[[ReleaseRequest], MaskedColumns] = _nothing_masked,
        dates_for: Callable[[ReleaseRequest, Recipient], ReleasedDates] = _no_dates,
        *,
        redacted: Callable[[], Redaction] | None = None,
        memory: int = 256 * 2**20,
    ) -> None:
        self.index, self.prepared, self.masked_for, self.dates_for = index, prepared, masked_for, dates_for
        self.redacted = redacted
        self.recount: Callable[[ReleaseRequest], Candidates] | None = None
        """Candidates of a request whose columns or levels are others, where the data are at hand to be counted anew."""
        self.estimates = Estimates()
        self.games_solved = 0
        """Games, including those that an earlier explanation solved."""
        bytes_each = 2 * index.data.codes.nbytes + 3 * index.data.counts.nbytes
        self._most_games = max(_FEWEST_GAMES, memory // max(1, bytes_each))
        self._asked = set[Key]()
        self._games: OrderedDict[Key, Generalization | StageFailed] = OrderedDict()
        self._alike: dict[Key, Key] = {}
        self._figures: dict[Key, Figures] = {}
        self._coalitions: dict[Key, tuple[Coalition, ...]] = {}
        self._columns: dict[Key, ColumnsFact] = {}

    def __getstate__(self) -> dict[str, Any]:
        """With the games solved so far, without the copies made: another process makes its own."""
        return vars(self) | {"_coalitions": {}}

    @property
    def is_large(self) -> bool:
        """Whether a game takes long to solve."""
        return self.index.game_size > _LARGE

    @cached_property
    def _brief(self) -> CountIndex:
        return self.index.briefly()

    def is_solved(self, request: ReleaseRequest, recipient: Recipient) -> bool:
        """Whether no game need be solved for a copy that is not ``exact``."""
        return self._known(request, recipient, exact=False)[1] in self._games

    def is_cut_short(self, request: ReleaseRequest, recipient: Recipient) -> bool:
        """Whether the game of a copy that is not ``exact`` is solved by a search that is cut short."""
        return self._known(request, recipient, exact=False)[2].brief

    def start(self) -> None:
        """Begin another explanation, with bounds of its own, whatever others have found."""
        self._asked = set()
        self.estimates.start()

    def apart(self, work: Callable[[], _Result]) -> Callable[[], _Result]:
        """Do some work at once, with bounds of its own: its games and attacks do not count afterwards."""
        games, asked, attacks = self.games_solved, set(self._asked), self.estimates.work
        result = work()
        self.games_solved, self._asked, self.estimates.work = games, asked, attacks
        return lambda: result

    def of(self, request: ReleaseRequest, recipient: Recipient, *, exact: bool = True) -> Candidate:
        """The recipient's copy under the terms of a request; if not ``exact``, games may be shared as the module says.

        Raises StageFailed if the method leaves some record no strategy, or nothing is left to release.
        """
        table, generalization = self._generalization(request, recipient, exact=exact)
        made = Candidate(
            request=request,
            recipient=recipient,
            prepared=released_alone(self.prepared, request),
            index=table,
            generalization=generalization,
            masked=self.masked_for(request),
            redacted=self.redacted,
        )
        if request.dated:
            made = made.with_dates(self.dates_for(request, recipient))
        pooled = pooled_key(made)
        if pooled:
            key = (made.digest, *pooled)
            if key not in self._coalitions:
                self._coalitions = {key: made.coalitions}
            vars(made)["coalitions"] = self._coalitions[key]
        return made

    def measured(self, candidate: Candidate, *, exact: bool = True) -> Iterator[Measured]:
        """Figures that gates judge, assessment by assessment; if not ``exact``, by quick attacks alone.

        Identity is always measured, others where a gate judges them. Draws of uncertain terms and then attacks come
        last, and only if no gate is closed by then. Raises as ``of`` and ``Estimates.linked``.

        Raises ParameterError if the plan of the recipient cannot be solved.
        """
        request, figures = candidate.request, dict[Measure, float]()
        if not exact:  # what the whole row leaves makes no figure better
            yield Measured(self._alone(IDENTITY, candidate, candidate.payoffs))
        judged, columns = {gate.measure for gate in request.policy.gates}, self.columns(candidate)
        row = {Measure(name): figure for name, figure in columns.whole_row.items()}
        if EVENTS.applies(request):
            row |= EVENTS.figures(candidate)
        for assessment, terms in _DEPENDS:
            if assessment is IDENTITY or judged & assessment.gate_measures:
                bounds = {} if exact or assessment is not COMBINED else self._open_by_bounds(candidate)
                alone = bounds or self._alone(assessment, candidate, terms(candidate))
                found = worst(alone, [{measure: row[measure] for measure in alone.keys() & row.keys()}])
                figures |= found
                yield Measured(found, bounds=frozenset(bounds))
        if Measure.COLUMNS_UNPLACED in judged:
            found = {Measure.COLUMNS_UNPLACED: float(len(columns.unplaced))}
            figures |= found
            yield Measured(found)
        if judged & TEXT.gate_measures:
            found = dict(TEXT.measures(candidate))
            figures |= found
            yield Measured(found)
        if Measure.PASSING_PROBABILITY in judged:
            passing = self.estimates.passing(candidate, anew=not is_closed(request, figures))
            if passing is not None:
                figures |= passing.figures
                yield passing
        if judged & LINKAGE.gate_measures:
            yield self.estimates.linked(candidate, anew=not is_closed(request, figures), exact=exact)

    def _alone(self, assessment: Assessment[Any], candidate: Candidate, terms: object) -> Figures:
        """Figures of one assessment by the terms that it depends on besides the outcome of the game."""
        key = (assessment.id, candidate.digest, terms, *pooled_key(candidate))
        if key not in self._figures:
            self._figures[key] = assessment.measures(candidate)
        return self._figures[key]

    def _open_by_bounds(self, candidate: Candidate) -> Figures:
        """Bounds of the combined score, where they leave every gate open; none where the score is known, or pooled."""
        key = (COMBINED.id, candidate.digest, _columns(candidate))
        if key in self._figures or pooled_key(candidate):
            return {}
        if (bounds := ("bounds", *key)) not in self._figures:
            self._figures[bounds] = COMBINED.bounds(candidate)
        found = self._figures[bounds]
        return {} if is_closed(candidate.request, found) else found

    def columns(self, candidate: Candidate) -> ColumnsFact:
        """The places of the released columns, and the figures of what the whole row leaves; errors as of ``measured``.

        The places are the same whatever the generalization.
        """
        terms = _columns(candidate)
        if terms not in self._columns:
            self._columns[terms] = column_places(candidate.request, candidate.as_collected, candidate.masked)
        places = self._columns[terms]
        if not places.telling(candidate.request.quasi_identifiers):
            return places
        alike = (*terms, candidate.digest)
        if alike in self._columns:
            return self._columns[alike]
        key = (*alike, candidate.payoffs, candidate.adversary.profile)
        if key not in self._columns:
            self._columns[key] = COLUMNS.assess(replace(candidate, known={PLACES: places})).fact
        if not self._columns[key].whole_row:  # classes are as they were, whatever the stakes
            self._columns[alike] = self._columns[key]
        return self._columns[key]

    def judge(
        self, request: ReleaseRequest, recipient_id: str, decided_on: date, *, exact: bool = True, brief: bool = False
    ) -> Judgement:
        """Solve, measure and judge one recipient's release.

        If not ``exact``, the first closed gate ends the measurements, and the others count as closed: enough to know
        whether the release passes. If ``brief``, all is measured of a game that is solved as if it were not exact.
        Raises ``TooManyAttacks`` as ``measured`` does.
        """
        recipient, failure = request.recipient(recipient_id), ""
        figures, estimated, bounds = dict[Measure, float](), set[Measure](), set[Measure]()
        try:
            made = self.of(request, recipient, exact=exact and not brief)
            for part in self.measured(made, exact=exact):
                figures |= part.figures
                estimated |= part.figures.keys() if made.index.brief else part.estimated
                bounds |= part.bounds
                if not exact and is_closed(request, part.figures):
                    break
        except (StageFailed, ParameterError) as error:
            failure = error.what
        if failure or is_closed(request, figures):  # bounds are no figures to be shown
            figures = {measure: figure for measure, figure in figures.items() if measure not in bounds}
        gates = (agreement_gate(recipient.agreement, decided_on), *judge_gates(request.policy.gates, figures))
        verdict = Verdict.AWAITING_REVIEW if request.policy.review.required else Verdict.APPROVED
        if failure or not all(gate.passed for gate in gates):
            verdict = Verdict.BLOCKED
        return Judgement(verdict, gates, figures, failure, frozenset(estimated & figures.keys()))

    def deterring(self, candidate: Candidate, term: Term) -> float | None:
        """The least value of a term at which neither this recipient nor a coalition attacks a record; None for none.

        The other terms stay as they are. Raises as ``measured``.
        """
        views = (candidate, *map(candidate.seen_by, candidate.coalitions))
        facts = [deterrents(seen.adversary.profile, seen.groups.distinct(), (term,)) for seen in views]
        values = [fact.needed for (fact,) in facts if fact.needed is not None]
        return max(values) if len(values) == len(views) else None

    def _generalization(
        self, request: ReleaseRequest, recipient: Recipient, *, exact: bool
    ) -> tuple[CountIndex, Generalization]:
        """The outcome of a game, and the counts that it was solved on."""
        alike, key, table = self._known(request, recipient, exact=exact)
        table = table_under(table, request, self.prepared)
        if key not in self._games or key not in self._asked:
            self.games_solved += 1
            self._asked.add(key)
        if key not in self._games:
            try:
                found: Generalization | StageFailed = generalized_against(
                    table, request, recipient, self._follower(request, recipient)
                )
            except StageFailed as failure:
                found = failure
            except RequestError as refused:  # other terms may meet a fault of the data that the recorded ones do not
                found = StageFailed(**refused.fields())
            self._games[key], self._alike[alike] = found, key
            while len(self._games) > self._most_games:
                self._games.popitem(last=False)
        self._games.move_to_end(key)
        if isinstance(found := self._games[key], StageFailed):
            raise found.with_traceback(None)
        return table, found

    def _follower(self, request: ReleaseRequest, recipient: Recipient) -> Follower:
        return follower_of(request, recipient, self.index.population.total, from_below=self.index.from_below)

    def _known(self, request: ReleaseRequest, recipient: Recipient, *, exact: bool) -> tuple[Key, Key, CountIndex]:
        """Keys of a game by its terms up to ties and by its outcome, and the counts that it is solved on."""
        alike, key = self._game_keys(request, recipient, self._follower(request, recipient))
        if exact:
            return alike, key, self.index
        if self._alike.get(alike) in self._games:
            return alike, self._alike[alike], self.index
        if not self.is_large or not METHODS[request.method_for(recipient)].remainders:
            return alike, key, self.index
        brief = (*alike, "brief")
        return brief, brief, self._brief

    def _game_keys(self, request: ReleaseRequest, recipient: Recipient, follower: Follower) -> tuple[Key, Key]:
        """Keys of the terms that determine the outcome up to ties, and to the last bit."""
        method, demands, budget = (
            request.method_for(recipient),
            request.policy.generalization.k_anonymity,
            request.budget,
        )
        weights = tuple(weights_of(request))
        game: Key = (method, weights, demands and demands.model_dump_json(), budget and budget.model_dump_json())
        if METHODS[method].stakes == "none":
            return game, game
        if not isinstance(follower, Payoffs):
            return (*game, follower), (*game, follower)
        safe = safe_people(follower, self.index.population.total)
        if METHODS[method].stakes == "loss":
            exact = (*game, safe, follower.benefit)
            return (*game, safe) if follower.benefit >= _LEAST_SHARED_BENEFIT else exact, exact
        exact = (*game, safe, follower.benefit, follower.loss)
        return exact, exact


def released_alone(prepared: Prepared, request: ReleaseRequest) -> Prepared:
    """The records as prepared, where a request withholds columns that were to be released."""
    gone = prepared.columns.keys() - set(request.outbound)
    if not gone:
        return prepared
    codes = {name: prepared.columns[name].codes.astype(np.int32) for name in sorted(gone)}
    shared = {name: one for name, one in codes.items() if distinct_share(one) < NEARLY_UNIQUE}
    return replace(
        prepared,
        columns={name: column for name, column in prepared.columns.items() if name not in gone},
        withheld={**prepared.withheld, **shared},
        listed=tuple(one for one in prepared.listed if one.column not in gone),
    )


def safe_people(payoffs: Payoffs, population: int) -> int:
    """Smallest group n* that is not worth attacking; ``population`` + 1 where every group is."""
    sizes = range(1, population + 1)
    return 1 + bisect_left(sizes, True, key=lambda people: not payoffs.attacked(np.array([people]))[0])
