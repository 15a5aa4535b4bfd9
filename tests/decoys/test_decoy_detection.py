"""Detection: the area and its interval by definition, and decoys that are plain or well hidden."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tasks.decision.decoy_facts import DetectabilityFact, DetectionFact
from tasks.decoys.classes import ClassTable
from tasks.decoys.decoy_cells import RiskBand, find_decoy_cells
from tasks.decoys.detectability import View, area, detectability, size_p_value
from tasks.decoys.records import ClassRecords
from tests.support.decoy_grid import grid
from tests.support.drawn_decoys import as_classes, drawn_decoys
from tests.support.examples import examples

Z = float(norm.ppf(0.975))


def test_area_by_hand() -> None:
    found = area(np.array([4.0, 3.0, 3.0, 2.0, 1.0]), np.array([True, True, False, False, False]))
    assert found[0] == pytest.approx(5.5 / 6)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=12),
    st.lists(st.integers(0, 6), min_size=2, max_size=12),
)
def test_area_and_interval_follow_their_definition(decoys: list[int], real: list[int]) -> None:
    scores, decoy = np.array(decoys + real, dtype=float), np.arange(len(decoys) + len(real)) < len(decoys)
    wins = np.array([[(x > y) + (x == y) / 2 for y in real] for x in decoys])
    found, low, high = area(scores, decoy)
    value = wins.mean()
    assert found == pytest.approx(value)
    variance = wins.mean(axis=1).var(ddof=1) / len(decoys) + wins.mean(axis=0).var(ddof=1) / len(real)
    assert 0 <= low <= found <= high <= 1
    if 1e-9 < value < 1 - 1e-9 and variance > 1e-12:
        half = Z * math.sqrt(variance) / (value * (1 - value))
        middle = math.log(value / (1 - value))
        assert low == pytest.approx(1 / (1 + math.exp(half - middle)))
        assert high == pytest.approx(1 / (1 + math.exp(-half - middle)))
    else:
        for end in {low, high} - {0.0, 1.0}:
            star = (len(decoys) + len(real)) / 2 - 1
            spread = 1 + star * ((1 - end) / (2 - end) + end / (1 + end))
            assert (end - value) ** 2 == pytest.approx(
                Z * Z * end * (1 - end) * spread / len(decoys) / len(real), rel=1e-6
            )
        assert high - low > 0.05


def test_the_size_test_is_that_of_all_divisions() -> None:
    decoys, released = np.array([1, 4, 5]), np.array([1, 1, 2, 2, 3])
    together = [*decoys.tolist(), *released.tolist()]

    def distance(own: tuple[int, ...]) -> float:
        inside = [together[place] for place in own]
        outside = [together[place] for place in range(8) if place not in own]
        return max(abs(sum(x <= v for x in inside) / 3 - sum(x <= v for x in outside) / 5) for v in range(1, 6))

    all_distances = [distance(own) for own in combinations(range(8), 3)]
    exact = np.mean([found >= distance((0, 1, 2)) - 1e-12 for found in all_distances])
    assert size_p_value(decoys, released, np.random.default_rng(1)) == pytest.approx(exact, abs=0.05)


def hidden(classes: int = 60, seed: int = 1) -> ClassTable:
    return drawn_decoys(find_decoy_cells(grid(), 1), classes, RiskBand(0.05, 1), np.random.default_rng(seed))


def bare(classes: ClassTable) -> ClassRecords:
    return ClassRecords(classes, {}, np.repeat(np.arange(len(classes)), classes.records))


def tried(decoys: ClassRecords, real: ClassRecords | None = None) -> DetectabilityFact:
    return detectability(grid(), decoys, real or bare(grid().classes), {}, np.random.default_rng(3))


def worst_of(found: DetectabilityFact, view: View) -> DetectionFact:
    return max((one for one in found.tried if one.view == view), key=lambda one: one.area)


def test_hidden_decoys_are_not_found_and_the_figure_says_what_it_rests_on() -> None:
    found = tried(bare(hidden()))
    assert [(part.view, part.classifier) for part in found.tried] == [
        *product([View.FILE], ["gradient boosting", "logistic regression"]),
        *product([View.POPULATION], ["gradient boosting", "logistic regression"]),
    ]
    assert found.worst.area == max(part.area for part in found.tried)
    assert found.worst.area < 0.68
    assert (found.decoys, found.real_classes) == (60, len(grid().classes))


def test_decoys_drawn_at_random_are_found_better_than_plausible_ones() -> None:
    found = find_decoy_cells(grid(), 1)
    places = np.random.default_rng(1).permutation(len(found))[:60]
    plain = tried(bare(as_classes(found, np.sort(places), np.full(60, 3))))
    assert plain.worst.low > 0.8
    assert plain.worst.area > tried(bare(hidden())).worst.area + 0.15
    assert plain.size_p_value < 0.01


def test_decoys_that_link_to_few_are_found_by_the_population_alone() -> None:
    found = find_decoy_cells(grid(), 1)
    few = np.sort(np.argsort(found.people, kind="stable")[:40])
    band = RiskBand(float((found.least_linked / found.people[few]).min()), 1e6)
    judged = tried(bare(drawn_decoys(found, 40, band, np.random.default_rng(1), linked_alike=False)))
    assert worst_of(judged, View.POPULATION).area > worst_of(judged, View.FILE).area
    assert worst_of(judged, View.POPULATION).low > 0.9


def records(classes: ClassTable, generator: np.random.Generator, shift: float) -> ClassRecords:
    number = np.repeat(np.arange(len(classes)), classes.records)
    columns: dict[str, np.ndarray] = {
        "code": generator.integers(0, 5, size=len(number)),
        "level": generator.normal(shift, 1.0, size=len(number)),
    }
    columns["level"][generator.random(len(number)) < 0.1] = np.nan
    return ClassRecords(classes, columns, number)


@pytest.mark.slow
def test_values_are_judged_with_their_class() -> None:
    decoys, generator = hidden(), np.random.default_rng(8)
    real = records(grid().classes, generator, 0.0)
    alike, apart = (tried(records(decoys, generator, shift), real) for shift in (0.0, 2.0))
    assert worst_of(alike, View.VALUES).area < 0.68
    assert worst_of(apart, View.VALUES).low > 0.85
    assert apart.worst.view == View.VALUES


def test_vectors_that_never_recur_give_decoys_away_where_real_ones_do() -> None:
    generator = np.random.default_rng(8)
    real, own = records(grid().classes, generator, 0.0), records(hidden(), generator, 0.0)
    for part in (real, own):
        part.columns["level"][:] = np.round(np.nan_to_num(part.columns["level"]))
    own.columns["level"][:] += generator.random(len(own.class_of_record)) / 50
    assert worst_of(tried(own, real), View.VALUES).low > 0.9


def test_the_same_generator_gives_the_same_figures() -> None:
    assert tried(bare(hidden())) == tried(bare(hidden()))
