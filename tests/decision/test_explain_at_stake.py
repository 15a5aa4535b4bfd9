"""Records at stake, counted by class by hand, on the table of ``tests.support.explaining`` with a second attribute.

Four leaves a, b (of ab) and c, d (of cd), and two of a second attribute: x and y. People and records:

        a   b   c   d
    x  10  20  30  40      records 1  2  3  4
    y   1   2   3   4              5  6  7  8
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tasks.candidate.candidate import Candidate
from tasks.core.errors import StageFailed
from tasks.decision.explain import at_stake as module
from tasks.decision.explain.at_stake import BY_CLASS, CANDIDATES, EDGES, PEOPLE, RECORDS, RISKS, AtStake, at_stake
from tasks.decision.gates import judge_gates
from tasks.decision.record import GateResult
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.request.model import Gate, Measure, Method, ReleaseRequest
from tests.support.examples import examples
from tests.support.explaining import MAXIMUM, ROWS, asked, candidates, prepared, table
from tests.support.worlds import WITHOUT_TERMS, World, worlds

SECOND = [["x", "*"], ["y", "*"]]
LEAVES = [(one, other) for other in "xy" for one in "abcd"]
COUNTED = dict(zip(LEAVES, (10, 20, 30, 40, 1, 2, 3, 4), strict=True))
HELD = dict(zip(LEAVES, range(1, 9), strict=True))


def whole() -> CountIndex:
    return table((ROWS, SECOND), COUNTED, HELD)


def released(of: CountIndex, levels: list[tuple[int, int]]) -> Generalization:
    """The file with each tuple at some levels, in the order a x, a y, b x, …; nobody knows a rule."""
    at = np.array(levels, dtype=np.int32)
    trees = of.hierarchies
    cells = np.column_stack([tree.positions[of.data.codes[:, i], at[:, i]] for i, tree in enumerate(trees)])
    canonical = np.column_stack([tree.finest[cells[:, i]] for i, tree in enumerate(trees)])
    people = of.people.count(canonical)
    return Generalization(Method.COMMON, at, canonical, kept=np.ones(len(at)), people=people, effective=people)


def gate(measure: Measure, threshold: float) -> GateResult:
    comparison = "at_least" if measure is Measure.SMALLEST_CLASS else "at_most"
    policy = Gate.model_validate({"measure": measure, comparison: threshold, "because": "b"})
    return judge_gates([policy], {measure: threshold + (1 if comparison == "at_most" else -1)})[0]


def found(
    measure: Measure,
    threshold: float,
    levels: list[tuple[int, int]] | None = None,
    request: ReleaseRequest | None = None,
) -> AtStake:
    of = whole()
    generalization = released(of, levels or [(0, 0)] * 8)
    asking = request or asked(weights=(1.0, 1.0))
    return at_stake(
        Candidate(asking, asking.recipients[1], prepared(of, ()), of, generalization), gate(measure, threshold)
    )


def test_every_measure_of_risk_is_one_or_the_other() -> None:
    stages: tuple[str, ...] = ("transparent.", "prosecutor.", "journalist.", "sequential.", "combined.", "linkage.")
    stages = (*stages, "singling_out.", "attribute.")
    assert {measure for measure in Measure if measure.value.startswith(stages)} | {Measure.SMALLEST_CLASS} == RISKS
    assert {Measure.LINKED_MASKED} == RISKS - BY_CLASS


def test_risks_above_a_threshold_by_levels_people_and_attribute() -> None:
    """Above 0.09 are groups of fewer than 12: a x (10) and all of y (1 to 4), with 1 + 5 + 6 + 7 + 8 records.

    Without the second attribute a y would have 11 people, and 10 without the first; b y 22 or 10. a x has 10 more
    by the first one (100) than by the second (11).
    """
    told = found(Measure.JOURNALIST_MAXIMUM, 0.09)
    assert (told.records, told.released, told.counted) == (27, 36, PEOPLE)
    assert told.condition == "with a risk above 0.09"
    assert [(pattern.kind, pattern.records) for pattern in told.patterns] == [({"q0": 0, "q1": 0}, 27)]
    assert [(*band.kind, band.records) for band in told.bands] == [
        (1, 1, 5), (2, 2, 6), (3, 4, 15), (5, 10, 1),
    ]  # fmt: skip
    assert [(part.kind, part.records) for part in told.attributes] == [("q1", 26), ("q0", 1)]


def test_patterns_have_the_levels_of_the_cells_that_leave() -> None:
    """a and b of y are released as ab (3 people), c and d of y as they are; all of x with x withheld (11 to 44)."""
    levels = [(0, 1), (1, 0), (0, 1), (1, 0), (0, 1), (0, 0), (0, 1), (0, 0)]
    told = found(Measure.TRANSPARENT_MAXIMUM, 0.2, levels)
    assert [(pattern.kind, pattern.records) for pattern in told.patterns] == [
        ({"q0": 0, "q1": 0}, 15),
        ({"q0": 1, "q1": 0}, 11),
    ]
    assert sum(band.records for band in told.bands) == told.records == 26


def test_attempts_that_pay() -> None:
    """A group is safe from 25 people: all but c x and d x."""
    told = found(Measure.TRANSPARENT_ATTACKED, 0.0)
    assert (told.records, told.condition) == (36 - 3 - 4, "worth attacking")
    assert found(Measure.TRANSPARENT_EXPECTED, 1.0).members == told.members
    assert found(Measure.TRANSPARENT_MEAN, 0.01).members != told.members


@pytest.mark.parametrize(
    ("measure", "threshold", "records"),
    [
        (Measure.PROSECUTOR_MAXIMUM, 0.3, 1 + 2 + 3),
        (Measure.SMALLEST_CLASS, 5, 1 + 2 + 3 + 4),
        (Measure.LINKED_INFORMED, 0.2, 1 + 2 + 3 + 4),
        (Measure.CERTAIN_UNINFORMED, 0.0, 1),
    ],
)
def test_what_follows_from_the_classes_of_the_file(measure: Measure, threshold: float, records: int) -> None:
    told = found(measure, threshold)
    assert (told.records, told.counted) == (records, RECORDS)
    assert sum(part.records for part in told.attributes) == records


def test_who_holds_one_attribute_alone_is_faced_with_larger_classes() -> None:
    """Known is the second attribute: 10 records of x and 26 of y."""
    document = asked(weights=(1.0, 1.0)).model_dump(exclude_unset=True)
    document["policy"]["linkage"] = {"known": ["q1"]}
    told = found(Measure.LINKED_UNINFORMED, 0.05, request=ReleaseRequest.model_validate(document))
    assert told.records == 10
    assert [band.kind for band in told.bands] == [(5, 10)]


def test_scores_above_a_threshold_are_counted_by_tuple(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of a x and d y score 1.5, all others 1.0, which is not above 1.0 but for rounding."""
    of = whole()
    tuples = np.repeat(np.arange(8), of.data.counts)
    high = np.isin(tuples, [0, 7])
    scores = np.where(high, 1.5, 1.0 + 1e-15)
    monkeypatch.setattr(module, "record_scores", lambda _candidate, _coalition: scores)
    told = found(Measure.COMBINED_MAXIMUM, 1.0)
    assert told.records == int(of.data.counts[[0, 7]].sum()) == 9
    assert told.condition == "with a score above 1"
    above = found(Measure.COMBINED_ABOVE, 0.0, request=asked(weights=(1.0, 1.0), combined={"threshold": 1.2}))
    assert above.members == told.members


def test_the_one_that_plans_is_told_by_candidates() -> None:
    """Nothing deters: whoever pays access tries every group worth an attempt, n < 25."""
    asking = asked(weights=(1.0, 1.0), adversary={"prior": 0.99, "discount": 1})
    told = found(Measure.SEQUENTIAL_ATTACKED, 0.0, request=asking)
    assert told.counted == CANDIDATES
    assert told.condition == "on which an attempt is made"
    assert told.records >= found(Measure.TRANSPARENT_ATTACKED, 0.0).records


def test_nothing_that_is_suppressed_is_counted() -> None:
    asking = asked(weights=(1.0, 1.0), minimum_class_size=4)
    told = found(Measure.JOURNALIST_MAXIMUM, 0.09, request=asking)
    assert (told.records, told.released) == (26, 30)


def test_groups_that_no_attribute_sets_apart() -> None:
    told = found(Measure.TRANSPARENT_MAXIMUM, 0.001, [(2, 1)] * 8)
    assert [(part.kind, part.records) for part in told.attributes] == [("", 36)]
    assert [pattern.kind for pattern in told.patterns] == [{"q0": 2, "q1": 1}]


def test_bands_touch() -> None:
    assert list(EDGES) == sorted(set(EDGES))


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    world=worlds(max_attributes=2), method=st.sampled_from(WITHOUT_TERMS), threshold=st.sampled_from([0.05, 0.2, 0.6])
)
def test_every_breakdown_adds_up(world: World, method: Method, threshold: float) -> None:
    """Against records counted one by one."""

    of = table(world.rows, world.people, world.records)
    terms = {name: getattr(world.payoffs, name) for name in ("benefit", "loss", "gain", "cost")}
    asking = asked(method.value, (MAXIMUM,), weights=(1.0,) * len(world.rows), **terms)
    try:
        candidate = candidates(of).of(asking, asking.recipients[1])
        told = at_stake(candidate, gate(Measure.TRANSPARENT_MAXIMUM, threshold))
    except StageFailed:
        assume(False)
        return
    slow = sum(
        int(records)
        for records, people in zip(of.data.counts.tolist(), candidate.generalization.effective.tolist(), strict=True)
        if 1 / max(people, 1) > threshold
    )
    assert told.records == slow
    for parts in (told.patterns, told.bands, told.attributes):
        assert sum(part.records for part in parts) == slow
