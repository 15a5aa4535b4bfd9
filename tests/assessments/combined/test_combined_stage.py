"""The combined stage on the tiny request, by hand.

Its quasi-identifiers are known for certain, its one sensitive attribute is not known and weighs 1, so that a record's
score is the sum of 1/count over the eight sets of known attributes:

    record        –    zip  age  sex  zip,age zip,sex age,sex all   score
    1, 2          1/6  1/3  1/3  1/3  1/2     1/2     1/3     1/2   3
    3             1/6  1/3  1    1/3  1       1       1       1     35/6
    4             1/6  1    1/3  1/3  1       1       1/3     1     31/6
    5, 6          1/6  1/2  1    1/3  1       1/2     1       1     11/2

Safe Harbor makes 370** of 37010 and 37011 and 90+ of 90 and 93:

    1, 2, 4       1/6  1/4  1/3  1/3  1/3     1/3     1/3     1/3   29/12
    3             1/6  1/4  1    1/3  1       1       1       1     23/4
    5, 6          1/6  1/2  1/2  1/3  1/2     1/2     1/2     1/2   7/2
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.combined.assessment import (
    RecordScore,
    combine,
    gate_figures,
    riskiest,
    score_collected,
    score_figure,
)
from tasks.assessments.combined.facts import CombinedFact
from tasks.candidate.groups import released_tuples
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.request.load import LoadedRequest
from tasks.request.model import CombinedPolicy, Measure
from tests.support.examples import examples
from tests.support.tiny import Change, changed, larger, tiny_prepared, tiny_request

SAFE_HARBOR = changed("policy", "generalization", "method", to="safe-harbor")


def policy(**terms: Any) -> Change:
    return changed("policy", "combined", to=terms)


def sensitivity(**terms: Any) -> Change:
    return changed("attributes", "diagnosis", "sensitivity", to=terms)


def known(name: str, probability: float) -> Change:
    return changed("attributes", name, "known_probability", to=probability)


def setting(loaded: LoadedRequest) -> tuple[Any, ...]:
    request, prepared = loaded.request, tiny_prepared(loaded)
    table, recipient = game_table(request, prepared), request.recipients[0]
    generalization = generalize(table, request.method_for(recipient), payoffs_of(recipient), weights_of(request))
    kept = released_tuples(table, generalization, request.policy.generalization.minimum_class_size)
    return request, prepared, generalization, kept


def combined(loaded: LoadedRequest) -> CombinedFact:
    request, prepared, generalization, kept = setting(loaded)
    return combine(request, prepared, generalization, kept, score_collected(request, prepared))


def scored(folder: Path, *changes: Change) -> CombinedFact:
    return combined(tiny_request(folder, SAFE_HARBOR, *changes))


def riskiest_of(folder: Path, top: int, *changes: Change) -> tuple[RecordScore, ...]:
    return riskiest(*setting(tiny_request(folder, SAFE_HARBOR, *changes)), top)


def minimum(size: int) -> Change:
    return changed("policy", "generalization", "minimum_class_size", to=size)


def test_before_and_after(tmp_path: Path) -> None:
    found = scored(tmp_path, policy(threshold=3.4, quantile=0.5))
    before, after = found.initial, found.residual
    assert (before.maximum, before.mean, before.quantile) == pytest.approx((35 / 6, 28 / 6, 31 / 6))
    assert (before.records, before.above, before.share_above) == (6, 4, 4 / 6)
    assert (after.maximum, after.mean, after.quantile) == pytest.approx((23 / 4, 20 / 6, 29 / 12))
    assert (after.records, after.above, after.share_above) == (6, 3, 1 / 2)
    assert gate_figures(found.residual) == pytest.approx(
        {Measure.COMBINED_MAXIMUM: 23 / 4, Measure.COMBINED_QUANTILE: 29 / 12, Measure.COMBINED_ABOVE: 1 / 2}
    )


def test_what_was_scored_is_recorded(tmp_path: Path) -> None:
    fact = scored(tmp_path, policy(alpha=2.0, epsilon=0.1, threshold=0.5, quantile=0.9), known("age", 0.25))
    assert (fact.alpha, fact.epsilon, fact.exclusive, fact.threshold, fact.quantile) == (2, 0.1, False, 0.5, 0.9)
    assert fact.known_probabilities == {"zip": 1, "age": 0.25, "sex": 1, "diagnosis": 0}
    assert fact.sensitivities == {"diagnosis": 1}
    assert fact.known_sets == 8
    assert scored(tmp_path, policy(epsilon=0.25), known("age", 0.25)).known_sets == 4, "epsilon must be exceeded"


def test_suppressed_records_are_neither_scored_nor_counted(tmp_path: Path) -> None:
    """Record 3 is gone, so there are five, and both men of 37201 are all men: 1/5 + 7/3 three times, 1/5 + 7/2."""
    fact = scored(tmp_path, minimum(2), policy(threshold=3))
    after = fact.residual
    assert (after.maximum, after.mean) == pytest.approx((3.7, (3 * (1 / 5 + 7 / 3) + 2 * 3.7) / 5))
    assert (after.records, after.above, after.share_above) == (5, 2, 2 / 5)
    assert fact.initial.records == 6
    assert fact.initial.maximum == pytest.approx(35 / 6)


def test_the_weight_is_that_of_the_attribute_times_that_of_the_value(tmp_path: Path) -> None:
    """Records 1, 3, 5 and 6 have the flu, 2 and 4 a cold."""
    fact = scored(tmp_path, sensitivity(attribute=0.5, values={"flu": 0.2}, default=0.8))
    flu = (29 / 12 + 23 / 4 + 7 / 2 + 7 / 2) * 0.1
    assert fact.residual.mean == pytest.approx((flu + 2 * 29 / 12 * 0.4) / 6)
    assert fact.residual.maximum == pytest.approx(29 / 12 * 0.4)
    assert fact.sensitivities == {"diagnosis": 0.5}


def test_the_factor_on_the_consequence(tmp_path: Path) -> None:
    assert scored(tmp_path, policy(alpha=3)).residual.maximum == pytest.approx(3 * 23 / 4)


def test_the_exclusive_form_is_an_expectation(tmp_path: Path) -> None:
    """Zip and sex are known for certain, age in half of all cases: 1/2 of each of the last two sets but one."""
    found = scored(tmp_path, policy(exclusive=True), known("age", 0.5)).residual
    assert found.maximum == pytest.approx(1)
    assert found.mean == pytest.approx((3 * 1 / 3 + 1 + 2 * 1 / 2) / 6)


def test_epsilon_leaves_out_what_is_seldom_known_and_bounds_it(tmp_path: Path) -> None:
    """With age known in a tenth of all cases, the four sets without it are left; the record is alone by all three."""
    found = scored(tmp_path, policy(epsilon=0.1), known("age", 0.1))
    assert found.known_sets == 4
    assert found.left_out == pytest.approx(4 * 0.1)
    assert found.residual.maximum == pytest.approx(1 / 6 + 1 / 4 + 1 / 3 + 1 + 0.4)


def test_a_sensitive_value_that_may_be_known_is_counted_and_then_no_secret(tmp_path: Path) -> None:
    """Nothing else is sensitive, so that the sets with it add nothing, and the others are as they were."""
    found = scored(tmp_path, known("diagnosis", 1.0))
    assert found.known_sets == 16
    assert found.residual.maximum == pytest.approx(23 / 4)


def test_a_quasi_identifier_that_is_sensitive_weighs_by_its_released_group(tmp_path: Path) -> None:
    """Nobody knows the ZIP code; age and sex are known. 370** weighs as its heaviest value, 1; 372** as 37201, 0.4.

    After: three women of 88, each 1/6 + 3/3; the man of 89, 1/6 + 1 + 1/3 + 1; two men over 89, each
    0.4 (1/6 + 1/2 + 1/3 + 1/2).
    """
    weights = {"attribute": 1.0, "values": {"37010": 1.0, "37201": 0.4}, "default": 0.2}
    zips = changed("attributes", "zip", "sensitivity", to=weights)
    others = changed("attributes", "diagnosis", to={"role": "insensitive", "known_probability": 0})
    fact = scored(tmp_path, zips, known("zip", 0.0), others)
    assert fact.sensitivities == {"zip": 1}
    assert fact.residual.maximum == pytest.approx(2.5)
    assert fact.residual.mean == pytest.approx((3 * 7 / 6 + 2.5 + 2 * 0.4 * 1.5) / 6)
    assert fact.initial.mean == pytest.approx((2 * 7 / 6 + 0.2 * 7 / 6 + 2.5 + 2 * 0.4 * 2.5) / 6)
    assert [part.attributes for part in fact.by_attribute] == [("zip",)]


def test_what_makes_the_score(tmp_path: Path) -> None:
    """Of 20 in all, nothing known gives 6/6, the ZIP code 4/4 + 2/2, the sex 3/3 + 3/3, every other set 3."""
    fact = scored(tmp_path)
    shares = {part.attributes: part.share for part in fact.by_known_set}
    assert shares == pytest.approx(
        {
            (): 1 / 20,
            ("zip",): 2 / 20,
            ("age",): 3 / 20,
            ("sex",): 2 / 20,
            ("zip", "age"): 3 / 20,
            ("zip", "sex"): 3 / 20,
            ("age", "sex"): 3 / 20,
            ("zip", "age", "sex"): 3 / 20,
        }
    )
    assert [part.share for part in fact.by_known_set] == sorted(shares.values(), reverse=True)
    (whole,) = fact.by_attribute
    assert (whole.attributes, whole.share) == (("diagnosis",), pytest.approx(1))


def test_only_the_largest_parts_are_listed(tmp_path: Path) -> None:
    data = "id,zip,age,sex,diagnosis,ward\n" + "".join(
        f"{row},37010,88,F,flu,{row % 2}\n" for row in range(4)
    )  # fmt: skip
    ward = changed("attributes", "ward", to={"role": "insensitive", "known_probability": 0.5})
    fact = combined(tiny_request(tmp_path, SAFE_HARBOR, ward, data=data, population=larger(2)))
    assert fact.known_sets == 16
    assert len(fact.by_known_set) == 8
    # Half of the time the ward is known, and then two records are left of four: all sixteen sets give the same.
    assert [part.share for part in fact.by_known_set] == pytest.approx([1 / 16] * 8)


def test_the_records_that_score_highest(tmp_path: Path) -> None:
    """Records of equal score come in the order of the file, each with a rank of its own."""
    found = riskiest_of(tmp_path, 4)
    assert [(one.row, one.rank) for one in found] == [(2, 1), (4, 2), (5, 3), (0, 4)]
    assert [one.score for one in found] == pytest.approx([23 / 4, 7 / 2, 7 / 2, 29 / 12])
    first = found[0]
    assert first.known_set is not None
    assert first.attribute is not None
    assert first.known_set.share == pytest.approx(4 / 23)
    assert set(first.known_set.attributes) not in [set(), {"zip"}, {"sex"}], "all others find the record alone"
    assert (first.attribute.attributes, first.attribute.share) == (("diagnosis",), pytest.approx(1))
    assert first.document() == {
        "row": 3,
        "rank": 1,
        "score": first.score,
        "known": {"attributes": first.known_set.attributes, "share": first.known_set.share},
        "sensitive": {"attributes": ("diagnosis",), "share": first.attribute.share},
    }


def test_rows_are_those_of_the_file_where_some_are_suppressed(tmp_path: Path) -> None:
    found = riskiest_of(tmp_path, 100, minimum(2))
    assert [(one.row, one.rank) for one in found] == [(4, 1), (5, 2), (0, 3), (1, 4), (3, 5)]


def test_no_record_is_asked_for(tmp_path: Path) -> None:
    assert riskiest_of(tmp_path, 0) == ()


def test_nothing_sensitive_scores_nothing(tmp_path: Path) -> None:
    harmless = changed("attributes", "diagnosis", to={"role": "insensitive"})
    found = scored(tmp_path, harmless)
    assert set(gate_figures(found.residual).values()) == {0}
    assert found.by_known_set == found.by_attribute == ()
    assert [(one.low, one.records) for one in found.residual.histogram] == [(0, 6)]
    assert found.sensitivities == {}
    top = riskiest_of(tmp_path, 2, harmless)
    assert [(one.row, one.rank, one.score) for one in top] == [(0, 1, 0), (1, 2, 0)]
    assert top[0].known_set is top[0].attribute is None
    assert top[0].document() == {"row": 1, "rank": 1, "score": 0, "known": None, "sensitive": None}


def test_a_missing_value_is_nothing_to_learn_and_still_a_value_to_know(tmp_path: Path) -> None:
    """Without its diagnosis record 3 gives nothing away; known to be missing, it is one of its kind."""
    data = "id,zip,age,sex,diagnosis\n1,37010,88,F,flu\n2,37010,88,F,\n3,37010,88,F,\n"
    loaded = tiny_request(tmp_path, SAFE_HARBOR, known("diagnosis", 0.5), policy(threshold=2.6), data=data)
    fact = combined(loaded)
    assert fact.residual.maximum == pytest.approx(8 / 3)
    assert (fact.residual.above, fact.residual.records) == (1, 3)
    assert fact.residual.mean == pytest.approx(8 / 9)


def test_sets_of_many_attributes_are_left_out_by_epsilon(tmp_path: Path) -> None:
    """Of 18 notes, each known in half of all cases, at most one is known with more than 0.4."""
    names = [f"note{number}" for number in range(18)]
    data = "id,zip,age,sex,diagnosis," + ",".join(names) + "\n1,37010,88,F,flu," + ",".join("x" * 18) + "\n"
    notes = [changed("attributes", name, to={"role": "insensitive", "known_probability": 0.5}) for name in names]
    fact = combined(tiny_request(tmp_path, *notes, policy(epsilon=0.4), data=data))
    assert fact.known_sets == 8 * 19
    assert fact.left_out == pytest.approx(8 * 1.5**18 - 80)
    assert fact.residual.maximum == pytest.approx(8 * 1.5**18), "the bound is exact for a record alone"
    assert sum(part.share for part in fact.by_known_set) == pytest.approx(8 / 80)


SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 7.0]), min_size=1, max_size=12)


@given(risks=SCORES, threshold=st.sampled_from([0.0, 0.5, 1.0, 6.9, 7.0]), quantile=st.sampled_from([0.25, 0.5, 1.0]))
@settings(max_examples=examples(60), deadline=None)
def test_figures_over_records(risks: list[float], threshold: float, quantile: float) -> None:
    """The quantile is one of the scores: the least that at least its share of the records does not exceed."""
    figure = score_figure(np.array(risks), CombinedPolicy(threshold=threshold, quantile=quantile))
    within = [score for score in risks if sum(other <= score for other in risks) >= quantile * len(risks)]
    assert figure.quantile == min(within)
    assert figure.above == sum(score > threshold for score in risks)
    assert figure.share_above == figure.above / len(risks)
    assert (figure.maximum, figure.records) == (max(risks), len(risks))
    assert sum(one.records for one in figure.histogram) == len(risks)
    for one in figure.histogram:
        assert one.records == sum(one.low < score <= one.high or score == one.low == 0 for score in risks)
    for one, other in zip(figure.histogram, figure.histogram[1:], strict=False):
        assert one.high == other.low


@pytest.mark.parametrize("largest", [1e-9, 4e11, 6e11, 1e18])
def test_no_score_is_too_large_to_be_counted(largest: float) -> None:
    """With a factor of 10^9 and a million known sets."""
    figure = score_figure(np.array([0.3, largest]), CombinedPolicy())
    assert sum(one.records for one in figure.histogram) == 2
    assert figure.histogram[-1 if largest > 1 else 0].low < largest <= figure.histogram[-1 if largest > 1 else 0].high
