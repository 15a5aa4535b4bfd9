"""Detection: the area and its interval by definition, and decoys that are plain or well hidden."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tasks.core.errors import ParameterError
from tasks.decoys.area import area
from tasks.decoys.candidates import RiskBand, find_candidates
from tasks.decoys.detectability import Detectability, Values, View, detectability
from tasks.decoys.generalized_release import Classes
from tasks.decoys.plausibility import as_classes
from tasks.decoys.size_test import size_test
from tests.support.decoy_grid import grid
from tests.support.drawn_decoys import drawn_decoys
from tests.support.examples import examples

Z = float(norm.ppf(0.975))


def test_area_by_hand() -> None:
    found = area(np.array([4.0, 3.0, 3.0, 2.0, 1.0]), np.array([True, True, False, False, False]))
    assert found.value == pytest.approx(5.5 / 6)
    assert (found.decoys, found.real) == (2, 3)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=12),
    st.lists(st.integers(0, 6), min_size=2, max_size=12),
)
def test_area_and_interval_follow_their_definition(decoys: list[int], real: list[int]) -> None:
    scores, decoy = np.array(decoys + real, dtype=float), np.arange(len(decoys) + len(real)) < len(decoys)
    wins = np.array([[(x > y) + (x == y) / 2 for y in real] for x in decoys])
    found = area(scores, decoy)
    value = wins.mean()
    assert found.value == pytest.approx(value)
    variance = wins.mean(axis=1).var(ddof=1) / len(decoys) + wins.mean(axis=0).var(ddof=1) / len(real)
    assert 0 <= found.low <= found.value <= found.high <= 1
    if 1e-9 < value < 1 - 1e-9 and variance > 1e-12:
        half = Z * math.sqrt(variance) / (value * (1 - value))
        middle = math.log(value / (1 - value))
        assert found.low == pytest.approx(1 / (1 + math.exp(half - middle)))
        assert found.high == pytest.approx(1 / (1 + math.exp(-half - middle)))
    else:
        for end in {found.low, found.high} - {0.0, 1.0}:
            star = (len(decoys) + len(real)) / 2 - 1
            spread = 1 + star * ((1 - end) / (2 - end) + end / (1 + end))
            assert (end - value) ** 2 == pytest.approx(
                Z * Z * end * (1 - end) * spread / len(decoys) / len(real), rel=1e-6
            )
        assert found.high - found.low > 0.05


def test_too_little_to_measure_is_refused() -> None:
    with pytest.raises(ParameterError, match="too little to measure"):
        area(np.arange(4.0), np.array([True, False, False, False]))


def test_the_size_test_is_that_of_all_divisions() -> None:
    decoys, released = np.array([1, 4, 5]), np.array([1, 1, 2, 2, 3])
    together = [*decoys.tolist(), *released.tolist()]

    def distance(own: tuple[int, ...]) -> float:
        inside = [together[place] for place in own]
        outside = [together[place] for place in range(8) if place not in own]
        return max(abs(sum(x <= v for x in inside) / 3 - sum(x <= v for x in outside) / 5) for v in range(1, 6))

    all_distances = [distance(own) for own in combinations(range(8), 3)]
    exact = np.mean([found >= distance((0, 1, 2)) - 1e-12 for found in all_distances])
    found = size_test(decoys, released, np.random.default_rng(1))
    assert found.distance == pytest.approx(distance((0, 1, 2)))
    assert found.p_value == pytest.approx(exact, abs=0.05)
    with pytest.raises(ParameterError, match="no sizes to compare"):
        size_test(decoys[:0], released, np.random.default_rng(1))


def hidden(classes: int = 60, seed: int = 1) -> Classes:
    release = grid()
    return drawn_decoys(release, find_candidates(release, 1), classes, RiskBand(0.05, 1), np.random.default_rng(seed))


def tried(decoys: Classes, seed: int = 3, **values: Values) -> Detectability:
    return detectability(grid(), decoys, np.random.default_rng(seed), **values)


def test_hidden_decoys_are_not_found_and_the_figure_says_what_it_rests_on() -> None:
    found = tried(hidden())
    assert [(part.view, part.classifier.value) for part in found.detections] == [
        *product([View.FILE], ["gradient boosting", "logistic regression"]),
        *product([View.POPULATION], ["gradient boosting", "logistic regression"]),
    ]
    assert found.worst.area.value == max(part.area.value for part in found.detections)
    assert found.worst.area.value < 0.68
    assert found.worst_of(View.VALUES) is None
    assert found.real_classes == len(grid().classes)
    assert found.baseline_share == 60 / (60 + found.real_classes)
    assert found.worst.area.decoys == 60


def test_decoys_drawn_at_random_are_found_better_than_plausible_ones() -> None:
    release, found = grid(), find_candidates(grid(), 1)
    places = np.random.default_rng(1).permutation(len(found))[:60]
    careless = as_classes(found, np.sort(places), np.full(60, 3))
    plain = tried(careless)
    assert plain.worst.area.low > 0.8
    assert plain.worst.area.value > tried(hidden()).worst.area.value + 0.15
    assert plain.worst_of(View.POPULATION).top_share > 3 * plain.baseline_share
    assert plain.sizes.p_value < 0.01
    assert release.classes.sizes.mean() < 3


def test_decoys_that_link_to_few_are_found_by_the_population_alone() -> None:
    release, found = grid(), find_candidates(grid(), 1)
    few = np.sort(np.argsort(found.people, kind="stable")[:40])
    band = RiskBand(float(found.risk_factor[few].min()), 1e6)
    decoys = drawn_decoys(release, found, 40, band, np.random.default_rng(1), linked_alike=False)
    judged = tried(decoys)
    assert judged.worst_of(View.POPULATION).area.value > judged.worst_of(View.FILE).area.value
    assert judged.worst_of(View.POPULATION).area.low > 0.9


def records(classes: Classes, generator: np.random.Generator, shift: float) -> Values:
    number = np.repeat(np.arange(len(classes)), classes.sizes)
    columns = {
        "code": generator.integers(0, 5, size=len(number)),
        "level": generator.normal(shift, 1.0, size=len(number)),
    }
    columns["level"][generator.random(len(number)) < 0.1] = np.nan
    return Values(columns, number)


def test_values_are_judged_with_their_class() -> None:
    decoys, generator = hidden(), np.random.default_rng(8)
    real = records(grid().classes, generator, 0.0)
    alike = tried(decoys, real_values=real, decoy_values=records(decoys, generator, 0.0))
    apart = tried(decoys, real_values=real, decoy_values=records(decoys, generator, 2.0))
    assert alike.worst_of(View.VALUES).area.value < 0.68
    assert apart.worst_of(View.VALUES).area.low > 0.85
    assert apart.worst.view is View.VALUES


def test_vectors_that_never_recur_give_decoys_away_where_real_ones_do() -> None:
    decoys, generator = hidden(), np.random.default_rng(8)
    real = records(grid().classes, generator, 0.0)
    real.columns["level"][:] = np.round(np.nan_to_num(real.columns["level"]))
    own = records(decoys, generator, 0.0)
    own.columns["level"][:] = (
        np.round(np.nan_to_num(own.columns["level"])) + generator.random(len(own.class_of_record)) / 50
    )
    assert tried(decoys, real_values=real, decoy_values=own).worst_of(View.VALUES).area.low > 0.9


def test_the_same_generator_gives_the_same_figures() -> None:
    assert tried(hidden()) == tried(hidden())


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ParameterError, match="too few classes") as refusal:
        tried(hidden(9))
    assert "larger draw" in refusal.value.fix
    decoys, generator = hidden(10), np.random.default_rng(8)
    real, own = records(grid().classes, generator, 0.0), records(decoys, generator, 0.0)
    with pytest.raises(ParameterError, match="one kind of class only"):
        tried(decoys, real_values=real)
    with pytest.raises(ParameterError, match="columns of the real records"):
        tried(decoys, real_values=real, decoy_values=Values({"code": own.columns["code"]}, own.class_of_record))
    with pytest.raises(ParameterError, match="do not fit their classes"):
        tried(decoys, real_values=real, decoy_values=Values(own.columns, own.class_of_record[::-1] * 0))
