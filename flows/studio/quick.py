"""Quick figures of a request on trial: risk and information kept of a recipient's copy, group sizes, and other designs.

They are those of a release, with two differences: the search for remainder classes ends after its first pass, so that
information kept may be a little less; and attacks, and what released columns reveal, are left to the run.
"""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flows.studio.columns import stamps
from flows.studio.project import Project, ReadRequest
from tasks.assessments.registry import IDENTITY, SEQUENTIAL
from tasks.core.errors import BadInput, ParameterError, RequestError, StageFailed
from tasks.core.guard import guarded
from tasks.decision.explain.candidates import Candidates
from tasks.decision.gates import judge_gates
from tasks.decision.record import GateResult
from tasks.decision.written_figures import RecordCounts
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.demands import demands_of
from tasks.generalization.game.payoffs import Floats
from tasks.generalization.setting import game_table
from tasks.microdata.coded import Prepared
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_data
from tasks.request.document import Location
from tasks.request.edit import set_value
from tasks.request.load import LoadedRequest
from tasks.request.model import Measure, Method, ReleaseRequest

_KEPT = 2
_POINTS_KEPT = 256
_CELLS_KEPT = 2**26
"""Bytes of cells before k-anonymity that are kept, so that another k only joins them anew."""
_SIZES = (3, 5, 11, 20, 50)
"""Sizes of classes that are tried with k-anonymity."""


@dataclass(frozen=True)
class QuickFigures:
    """Figures of one recipient's copy."""

    recipient: str
    method: str
    figures: Mapping[Measure, float]
    gates: tuple[GateResult, ...]
    """The policy's gates on measures that are quick."""
    later: tuple[str, ...]
    """Titles of the policy's other gates, which a run judges."""
    records: RecordCounts
    failure: str
    """Why the method gives no file; empty where it does."""

    @property
    def passes(self) -> bool:
        """Whether no quick gate closes."""
        return not self.failure and all(gate.passed for gate in self.gates)


@dataclass(frozen=True)
class LevelGroups:
    """Groups of one level of a hierarchy, by the records of the file in them."""

    level: int
    groups: int
    """Groups that have a record."""
    smallest: int
    """Records of the smallest of these."""
    in_small: int
    """Records in groups of fewer than the fewest that a class may have."""


@dataclass(frozen=True)
class Design:
    """Another way to generalize for a recipient."""

    name: str
    changes: Mapping[Location, Any]
    """Changes of the document that choose it."""
    is_present: bool


@dataclass(frozen=True)
class DesignPoint:
    """A design with its figures."""

    design: Design
    payoff: float
    """Publisher's mean payoff per record, in the currency of the stakes."""
    kept: float
    """Share of the information kept, 0 to 1."""
    risk: float
    """Highest risk of a record, 0 to 1, by the measure that the policy's gates judge."""
    passes: bool
    """Whether no quick gate closes."""
    is_efficient: bool
    """Whether no other design pays more at the same risk or less, or as much at less."""


@dataclass(frozen=True)
class DesignSearch:
    """Designs tried so far."""

    points: tuple[DesignPoint, ...]
    failed: tuple[str, ...]
    """Names of designs that give no file."""
    left: int
    """Designs that are still to be tried."""
    measure: Measure
    """Measure of the risk."""
    limit: float | None
    """The policy's limit of it; None where it sets none."""


@dataclass
class _Counted:
    """Counted data, and the games on them by the demands that classes must meet."""

    prepared: Prepared
    games: dict[str, Candidates]

    def candidates(self, request: ReleaseRequest) -> Candidates:
        """Candidates of a request whose demands on classes may differ in their k from those before."""
        terms = request.policy.generalization.k_anonymity
        demands = "" if terms is None else terms.model_dump_json(exclude={"k"})
        if demands not in self.games:
            index = self._index(request).demanding(demands_of(request, self.prepared))
            self.games[demands] = Candidates(index, self.prepared)
        return self.games[demands]

    def _index(self, request: ReleaseRequest) -> CountIndex:
        """The counts, with whatever was played on them under other demands."""
        if not self.games:
            most = 1 + _CELLS_KEPT // self.prepared.population.codes.nbytes
            return replace(game_table(request, self.prepared).briefly(), proven=False, most_made=most)
        index = next(iter(self.games.values())).index
        return index if index.budget == request.budget else index.within(request.budget)


class Quick:
    """Quick figures of requests; data that were counted are kept, and games that were played on them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted: OrderedDict[object, _Counted] = OrderedDict()
        self._points: OrderedDict[object, tuple[float, float, float, bool] | None] = OrderedDict()

    def figures(self, loaded: LoadedRequest, recipient: str) -> QuickFigures:
        """Figures of a recipient's copy. Raises a ReleasegateError if data and request do not fit each other."""
        request = loaded.request
        with self._lock, guarded("quick figures"):
            return _figures(self._of(loaded), request, recipient)

    def tree(self, loaded: LoadedRequest, name: str) -> Hierarchy:
        """The hierarchy of a quasi-identifier; errors as of ``figures``."""
        with self._lock, guarded("quick figures"):
            return self._of(loaded).prepared.hierarchies[name]

    def levels(
        self, loaded: LoadedRequest, name: str, fewest: int, other: Hierarchy | None = None
    ) -> list[LevelGroups]:
        """Groups of each level of a quasi-identifier's hierarchy, or of another one in its place, the finest first.

        Of another one missing values are left out. Errors are those of ``figures``.
        """
        with self._lock, guarded("quick figures"):
            prepared = self._of(loaded).prepared
        own, data = prepared.hierarchies[name], prepared.data
        tree, leaves = own, data.codes[:, loaded.request.quasi_identifiers.index(name)]
        if other is not None:
            tree, leaves = other, other.encode(own.labels[0])[leaves]
        known, found = leaves >= 0, list[LevelGroups]()
        finest = (loaded.request.attributes[name].level or 0) if other is None else 0
        for level in range(tree.n_levels):
            held = np.bincount(tree.groups[leaves[known], level], weights=data.counts[known]).astype(np.int64)
            held = held[held > 0]
            found.append(LevelGroups(level + finest, len(held), int(held.min()), int(held[held < fewest].sum())))
        return found

    def designs(self, project: Project, read: ReadRequest, recipient: int, seconds: float) -> DesignSearch:
        """Try other designs for the recipient at a position until some seconds have passed; errors as of ``figures``.

        A next call goes on where this one has stopped.
        """
        if read.trial is None:
            raise RequestError("the request has mistakes", expected="none", fix="correct them first")
        measure = risk_measure(read.trial.request)
        until, known = time.monotonic() + seconds, dict[str, tuple[float, float, float, bool] | None]()
        designs = list(possible_designs(read, recipient))
        for design in designs:
            key = (read.sha256, stamps(read.trial), recipient, design.name)
            if key not in self._points:
                if time.monotonic() > until and known:
                    continue
                self._points[key] = self._point(project, read, recipient, design)
                while len(self._points) > _POINTS_KEPT:
                    self._points.popitem(last=False)
            known[design.name] = self._points[key]
        tried = [(design, known[design.name]) for design in designs if design.name in known]
        made = [(design, point) for design, point in tried if point is not None]
        risks, payoffs = (np.array([point[at] for _, point in made]) for at in (2, 0))
        return DesignSearch(
            tuple(
                DesignPoint(design, *point, is_efficient=_is_efficient(risks, payoffs, place))
                for place, (design, point) in enumerate(made)
            ),
            tuple(design.name for design, point in tried if point is None),
            len(designs) - len(tried),
            measure,
            min((one.threshold for one in read.trial.request.policy.gates if one.measure is measure), default=None),
        )

    def _point(
        self, project: Project, read: ReadRequest, recipient: int, design: Design
    ) -> tuple[float, float, float, bool] | None:
        loaded = project.trial(changed(read.data, design.changes))
        if loaded is None:
            return None
        found = self.figures(loaded, loaded.request.recipients[recipient].id)
        if found.failure:
            return None
        of = found.figures
        return (
            of[Measure.PUBLISHER_PAYOFF],
            of[Measure.INFORMATION_KEPT],
            of[risk_measure(loaded.request)],
            found.passes,
        )

    def _of(self, loaded: LoadedRequest) -> _Counted:
        """The data of a request, counted; called while locked."""
        key = (loaded.path, stamps(loaded), _counts_by(loaded.request))
        if key not in self._counted:
            prepared = prepare(loaded, read_data(loaded))
            self._counted[key] = _Counted(prepared, {})
            while len(self._counted) > _KEPT:
                self._counted.popitem(last=False)
        self._counted.move_to_end(key)
        return self._counted[key]


def _counts_by(request: ReleaseRequest) -> str:
    """All of a request that counting its data depends on."""
    kept = {"dataset", "attributes", "tables", "population", "external_data", "masking"}
    policy = request.policy.model_dump(
        mode="json", include={"missing": True, "events": True, "dates": True, "generalization": {"memory_limit_mb"}}
    )
    demands = request.policy.generalization.k_anonymity
    classes = (
        [] if demands is None else [one.model_dump(mode="json") for one in (*demands.diversity, *demands.closeness)]
    )
    return json.dumps([request.model_dump(mode="json", include=kept), policy, classes])


def _figures(counted: _Counted, request: ReleaseRequest, recipient: str) -> QuickFigures:
    one = request.recipient(recipient)
    figures, failure, released = dict[Measure, float](), "", None
    try:
        candidate = counted.candidates(request).of(request, one)
        released = int(candidate.index.data.counts[candidate.released].sum())
        figures |= IDENTITY.measures(candidate)
        if any(gate.measure in SEQUENTIAL.gate_measures for gate in request.policy.gates):
            figures |= SEQUENTIAL.measures(candidate)
    except (StageFailed, ParameterError) as error:
        failure = error.in_one_line()
    quick = [gate for gate in request.policy.gates if gate.measure in figures]
    later = [gate for gate in request.policy.gates if gate.measure not in figures]
    return QuickFigures(
        recipient=recipient,
        method=request.method_for(one).value,
        figures=figures,
        gates=judge_gates(quick, figures),
        later=tuple(gate.title for gate in judge_gates(later, {})),
        records=RecordCounts(counted.prepared.data.total, released),
        failure=failure,
    )


def risk_measure(request: ReleaseRequest) -> Measure:
    """The highest risk of a record that the policy judges: the prosecutor's where presence may be known."""
    judged = {gate.measure for gate in request.policy.gates}
    return Measure.PROSECUTOR_MAXIMUM if Measure.PROSECUTOR_MAXIMUM in judged else Measure.TRANSPARENT_MAXIMUM


def possible_designs(read: ReadRequest, recipient: int) -> Iterator[Design]:
    """Methods under the terms of the policy, and k-anonymity with several sizes of classes; the present one first."""
    if read.trial is None:
        return
    request = read.trial.request
    one = request.recipients[recipient]
    present, terms = request.method_for(one), request.policy.generalization.k_anonymity
    demanded = None if terms is None else terms.k
    place, demands = ("recipients", recipient, "method"), ("policy", "generalization", "k_anonymity")
    yield Design(design_name(present, demanded), {}, is_present=True)
    for method in Method:
        if method not in (present, Method.K_ANONYMITY):
            yield Design(design_name(method, demanded), {place: method.value}, is_present=False)
    if not isinstance(read.value(("policy",)), dict) or len(request.recipients) > 1:
        return  # an enrolled policy, and what other recipients get, are not this recipient's to change
    for k in _SIZES:
        if not (present is Method.K_ANONYMITY and k == demanded):
            changes: dict[Location, Any] = {place: Method.K_ANONYMITY.value, (*demands, "k"): k}
            yield Design(design_name(Method.K_ANONYMITY, k), changes, is_present=False)


def design_name(method: Method, k: int | None) -> str:
    """A design in words.

    >>> design_name(Method.K_ANONYMITY, 11), design_name(Method.NO_ATTACK, None)
    ('k-anonymity, k = 11', 'no-attack')
    """
    if k is None:
        return method.value
    return f"{method.value}, k = {k}" if method is Method.K_ANONYMITY else f"{method.value}, then k = {k}"


def changed(data: Mapping[str, Any], changes: Mapping[Location, Any]) -> dict[str, Any]:
    """Values of a document with changes, as ``edited`` makes them in its text; BadInput for a place within a value."""
    whole: dict[str, Any] = json.loads(json.dumps(data))
    try:
        for location, value in changes.items():
            set_value(whole, location, value)
    except (TypeError, LookupError, AttributeError):
        raise BadInput(
            "the request cannot be changed here",
            expected="mappings and lists where a request has them",
            got="a document of a different form",
            fix="correct it as text first",
        ) from None
    return whole


def _is_efficient(risks: Floats, payoffs: Floats, place: int) -> bool:
    """Whether no point has at most its risk and at least its payoff, one of them strictly."""
    better = (risks <= risks[place]) & (payoffs >= payoffs[place])
    strictly = (risks < risks[place]) | (payoffs > payoffs[place])
    return not bool((better & strictly).any())
