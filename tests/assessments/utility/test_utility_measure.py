"""Utility of a release: the tiny request by hand, numbers before and after masking, and what cannot be measured."""

from collections import Counter
from collections.abc import Callable, Collection
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.assessments.utility.features import both_versions
from tasks.assessments.utility.masking_curve import masking_curve
from tasks.masking.registry import METHODS
from tasks.request.model import PARAMETER_OF, Masking, MaskingName, Measure
from tests.support.numeric import STRENGTH, drawn, masking, numeric_request
from tests.support.stages import Made, made
from tests.support.tiny import Change, changed, tiny_request

SAFE_HARBOR = changed("policy", "generalization", "method", to="safe-harbor")
SWAP = masking("rank-swapping", "dose", p=10)
GROUPS = masking("individual-ranking", "income", "dose", k=3)
Release = Callable[..., Made]


@pytest.fixture
def release(tmp_path: Path) -> Release:
    def make(*maskings: dict[str, Any], records: int = 60, changes: Collection[Change] = (), frame: Any = None) -> Made:
        frame = drawn(records) if frame is None else frame
        return made(numeric_request(tmp_path, *changes, maskings=maskings, frame=frame))

    return make


def utility(**terms: Any) -> Change:
    return changed("policy", "utility", to=terms)


def smallest(size: int) -> Change:
    return changed("policy", "generalization", to={"method": "safe-harbor", "minimum_class_size": size})


def test_safe_harbor_by_hand(tmp_path: Path) -> None:
    """Classes of 3, 1 and 2 records: 370** 88 F, 370** 89 M, 372** 90+ M; six ages from 88 to 93, three ZIP codes."""
    found = made(tiny_request(tmp_path, SAFE_HARBOR)).measured()
    fact = found.fact
    assert (fact.records, fact.suppressed) == (6, 0)
    losses = {one.name: one.loss for one in fact.attributes}
    assert losses == pytest.approx({"zip": 4 / 6 * 1 / 2, "age": 2 / 6 * 3 / 5, "sex": 0})
    penalties = {one.name: one.certainty_penalty for one in fact.attributes}
    assert penalties == pytest.approx({"zip": 4 / 6 * 2 / 3, "age": 2 / 6 * 4 / 6, "sex": 0})
    assert fact.file.loss == pytest.approx((4 / 3 * 6 / 5) ** (1 / 3) - 1)
    assert fact.file.certainty_penalty == pytest.approx((2 * 4 / 9 + 2 / 9) / 4)
    assert fact.file.discernibility == 3**2 + 1**2 + 2**2
    assert (fact.file.average_class_size, fact.file.original_class_size) == (2, pytest.approx(6 / 5))
    assert fact.file.discernibility_share == pytest.approx((14 - 8) / (36 - 8))
    assert found.measures == {Measure.UTILITY_LOSS: fact.file.loss}
    assert (fact.numeric, fact.curves, fact.marginals) == ((), (), ())


def test_suppressed_records_by_hand(tmp_path: Path) -> None:
    """The one man of 89 years is left out; what is left has other shares of ZIP codes, ages and sexes."""
    fact = made(tiny_request(tmp_path, smallest(2))).measured().fact
    assert (fact.records, fact.suppressed) == (5, 1)
    shifts = {one.name: one.total_variation for one in fact.marginals}
    assert shifts == pytest.approx({"zip": 1 / 10, "age": 1 / 6, "sex": 1 / 10})
    assert {one.most_missed for one in fact.marginals} == {0.0}, "of values that eleven people have"
    shown = made(tiny_request(tmp_path, smallest(2), changed("policy", "small_cell", to=1))).measured().fact
    missed = {one.name: one.most_missed for one in shown.marginals}
    assert missed == {"zip": pytest.approx(1 / 3), "age": 1, "sex": pytest.approx(1 / 3)}
    losses = {one.name: one.loss for one in fact.attributes}
    assert losses == pytest.approx({"zip": (3 / 2 + 1) / 6, "age": (2 * 3 / 5 + 1) / 6, "sex": 1 / 6})
    assert fact.file.discernibility == 3**2 + 2**2 + 6
    assert fact.file.average_class_size == 6 / 3


@pytest.mark.parametrize("size", [1, 14])
def test_numbers_before_and_after(size: int, release: Release) -> None:
    """Of the released records alone, as they leave."""
    one = release(GROUPS, masking("additive-noise", "visits", noise=0.4), changes=[smallest(size)])
    fact, columns = one.measured().fact, one.columns
    rows = one.kept[one.prepared.tuple_of_record]
    assert fact.suppressed == 60 - rows.sum()
    assert (fact.suppressed > 0) is (size > 1)
    before, after = columns.original[rows], columns.masked[rows]
    for place, told in enumerate(fact.numeric):
        x, y = before[:, place], after[:, place]
        assert told.name == columns.names[place]
        assert told.mean == pytest.approx((y.mean() - x.mean()) / x.std(), abs=1e-12)
        assert told.deviation_ratio == pytest.approx(y.std() / x.std())
        assert told.displacement == pytest.approx(abs(x - y).mean() / (sqrt(2) * x.std()))
        steps = sorted({*x, *y})
        assert told.distribution == pytest.approx(max(abs((x <= at).mean() - (y <= at).mean()) for at in steps))
    correlations = {
        one.attributes: (one.before, one.after) for one in fact.associations if one.measure == "correlation"
    }
    assert correlations.keys() == {("income", "dose"), ("income", "visits"), ("dose", "visits")}
    for (first, second), pair in correlations.items():
        i, j = columns.names.index(first), columns.names.index(second)
        expected = np.corrcoef(before[:, i], before[:, j])[0, 1], np.corrcoef(after[:, i], after[:, j])[0, 1]
        assert pair == pytest.approx(expected)
    shifts = {one.name: one.total_variation for one in fact.marginals if one.name in columns.names}
    for place, name in enumerate(columns.names):
        was, now = Counter(columns.original[:, place]), Counter(after[:, place])
        shares = [abs(was[value] / 60 - now[value] / rows.sum()) for value in was | now]
        assert shifts[name] == pytest.approx(sum(shares) / 2)


def test_swapping_alone_keeps_every_share(release: Release) -> None:
    fact = release(SWAP).measured().fact
    (told,) = fact.numeric
    assert (told.mean, told.distribution) == (pytest.approx(0, abs=1e-12), 0)
    assert told.deviation_ratio == pytest.approx(1)
    assert told.displacement is not None
    assert told.displacement > 0
    assert [one.total_variation for one in fact.marginals] == [0]


# What analyses find.


def test_analyses_are_made_of_both_files(release: Release) -> None:
    one = release(GROUPS, records=400, changes=[utility(target="ward", clusters=3, records=300)])
    fact = one.measured().fact
    assert fact.not_measured == ()
    assert fact.clustering is not None
    assert (fact.clustering.clusters, fact.clustering.records) == (3, 300)
    assert 0 <= fact.clustering.jaccard <= fact.clustering.f_measure <= 1
    assert fact.classification is not None
    assert (fact.classification.target, fact.classification.classes) == ("ward", 3)
    for one_method in fact.classification.classifiers:
        assert 0 <= one_method.released_low <= one_method.released <= one_method.released_high <= 1
        assert one_method.trained + fact.classification.tested == 300


def test_a_class_that_follows_from_a_number_is_told_before_and_less_so_after(release: Release) -> None:
    """And not from itself: without the number nothing tells it."""
    frame = drawn(400)
    middle = sorted(float(text) for text in frame["dose"])[200]
    frame["ward"] = ["A" if float(text) < middle else "B" for text in frame["dose"]]
    terms = utility(target="ward", records=400)
    swapped = release(masking("rank-swapping", "dose", p=60), frame=frame, changes=[terms]).measured().fact
    assert swapped.classification is not None
    (tree,) = (one for one in swapped.classification.classifiers if "tree" in one.name.lower())
    assert tree.original > 0.95
    assert tree.released < 0.85
    frame["dose"] = [str(row % 7) for row in range(400)]
    blind = release(frame=frame.assign(income=frame["visits"]), changes=[terms]).measured().fact
    assert blind.classification is not None
    assert all(one.original < 0.75 for one in blind.classification.classifiers)


def test_features_are_those_of_the_released_records(release: Release) -> None:
    one = release(SWAP, changes=[smallest(14)])
    rows = one.candidate.rows
    assert rows.tolist() == np.flatnonzero(one.kept[one.prepared.tuple_of_record]).tolist()
    before, after = both_versions(one.candidate, rows)
    assert before.matrix.shape[0] == after.matrix.shape[0] == len(rows)
    lesser, _ = both_versions(one.candidate, rows, without="ward")
    assert lesser.matrix.shape[1] == before.matrix.shape[1] - 3
    unmasked, masked = release(changes=[smallest(14)]).candidate, one.candidate
    for side in both_versions(unmasked, rows)[0].matrix, both_versions(masked, rows)[0].matrix:
        assert side == pytest.approx(before.matrix)


def test_a_number_with_a_gap_is_taken_as_a_category(release: Release) -> None:
    frame = drawn(60)
    frame["visits"] = frame["visits"].where(frame["visits"] != "3")
    one = release(frame=frame)
    before, after = both_versions(one.candidate, one.candidate.rows)
    values = frame["visits"].nunique(dropna=False)
    full, _ = both_versions(release().candidate, one.candidate.rows)
    assert before.matrix.shape[1] == full.matrix.shape[1] - 1 + values
    assert np.isfinite(before.matrix).all()
    assert np.isfinite(after.matrix).all()


@pytest.mark.parametrize(
    ("changes", "measure", "reason"),
    [
        ((), "classification accuracy", "policy.utility.target names no attribute to predict"),
        ((utility(clusters=60),), "k-means agreement", "the number of clusters is outside its range"),
        ((utility(target="diagnosis"),), "classification accuracy", "expected"),
    ],
)
def test_what_cannot_be_measured_is_named_with_its_reason(
    changes: tuple[Change, ...], measure: str, reason: str, tmp_path: Path
) -> None:
    fact = made(tiny_request(tmp_path, *changes)).measured().fact
    told = {one.measure: one.reason for one in fact.not_measured}
    assert reason in told[measure]
    assert (fact.classification is None) is ("classification accuracy" in told)
    assert (fact.clustering is None) is ("k-means agreement" in told)
    for value in ("flu", "cold"):
        assert value not in told[measure]


# Risk against utility of a masking.


def numbers(n_records: int) -> np.ndarray:
    return np.random.default_rng(3).lognormal(0, 1, (n_records, 2))


def curve(method: MaskingName, n_records: int = 200, **terms: Any) -> Any:
    parameter = PARAMETER_OF[method]
    asked = Masking(attributes=("a", "b"), method=method, **({parameter: STRENGTH[parameter]} | terms))
    return masking_curve(asked, numbers(n_records), np.random.default_rng(1))


@pytest.mark.parametrize("method", list(MaskingName))
def test_more_masking_costs_utility_and_lowers_risk(method: MaskingName) -> None:
    found = curve(method)
    parameter = PARAMETER_OF[method]
    assert (found.method, found.parameter, found.people, found.attributes) == (method.value, parameter, 200, ("a", "b"))
    strengths = [point.strength for point in found.points]
    assert strengths == sorted({*METHODS[method].strengths.tried, STRENGTH[parameter]} & set(strengths))
    assert [point.strength for point in found.points if point.chosen] == [STRENGTH[parameter]]
    assert all(0 <= point.uninformed <= point.informed <= 1 for point in found.points)
    weakest, strongest = found.points[0], found.points[-1]
    if parameter == "buckets":
        weakest, strongest = strongest, weakest
    assert weakest.displacement < strongest.displacement
    assert weakest.uninformed > strongest.uninformed
    assert weakest.informed >= strongest.informed
    displaced = [point.displacement for point in found.points]
    falls = sum(one > other * 1.1 for one, other in pairwise(displaced))
    assert falls <= (len(displaced) if parameter == "buckets" else 1)


def test_strengths_that_so_few_records_cannot_bear_are_left_out() -> None:
    """Of too few ranks to swap within, of more groups than records, of one group for everybody."""
    groups = curve(MaskingName.MDAV, 30)
    assert [point.strength for point in groups.points] == [2, 3, 5, 10]
    swaps = curve(MaskingName.RANK_SWAPPING, 30)
    assert [point.strength for point in swaps.points] == [4, 6, 8, 10, 14, 20, 30]
    assert [point.strength for point in curve(MaskingName.BUCKET_SWAPPING, 30).points] == [2, 5, 10, 20]


def test_a_curve_for_each_masking(release: Release) -> None:
    one = release(SWAP, masking("mdav", "visits", "income", k=4))
    curves = one.measured().fact.curves
    assert [(each.attributes, each.parameter, each.people) for each in curves] == [
        (("dose",), "p", 60),
        (("visits", "income"), "k", 60),
    ]
    assert [point.strength for point in curves[1].points if point.chosen] == [4]
    assert one.measured().fact == one.measured().fact
