"""Decoys of many recipients: none shared, in their bands, of sizes that fit; and refusals that say what would do."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from tasks.decoys.candidates import RiskBand, find_candidates
from tasks.decoys.generalized_release import GeneralizedRelease
from tasks.decoys.injection import DecoysWanted, Injection, SizeRule, available, inject
from tasks.decoys.merged_rows import merge_rows
from tasks.decoys.plausibility import as_classes, log_plausibility, seen, supported
from tasks.decoys.size_test import size_test
from tasks.errors import ParameterError
from tests.support.decoy_grid import grid, overlapping_grid

BAND = RiskBand(0.1, 1)


def wanted(recipients: int, classes: int, band: RiskBand = BAND) -> list[DecoysWanted]:
    return [DecoysWanted(f"recipient {number}", classes, band) for number in range(recipients)]


def draw(
    release: GeneralizedRelease, minimum: int, asked: list[DecoysWanted], seed: int = 5, **options: object
) -> Injection:
    return inject(release, find_candidates(release, minimum), asked, np.random.default_rng(seed), **options)


@pytest.mark.parametrize("minimum", [1, 2])
@pytest.mark.parametrize("rule", list(SizeRule))
def test_decoys_are_disjoint_in_band_and_of_fitting_size(minimum: int, rule: SizeRule) -> None:
    release = grid(minimum)
    found = find_candidates(release, minimum)
    injection = draw(release, minimum, wanted(6, 4), sizes=rule)
    assert [part.recipient for part in injection.decoys] == [f"recipient {number}" for number in range(6)]
    chosen = np.concatenate([part.candidates for part in injection.decoys])
    assert len(set(chosen.tolist())) == len(chosen) == 24
    together = injection.together
    assert (together.cells == found.cells[chosen]).all()
    assert (together.people == found.people[chosen]).all()
    assert found.in_band(BAND)[chosen].all()
    assert (together.sizes >= minimum).all()
    assert (together.sizes <= found.pool[chosen]).all()
    assert np.isin(together.sizes, release.classes.sizes).all()
    assert not release.originals(together.cells).any()


def test_the_same_generator_gives_the_same_decoys_and_another_others() -> None:
    def drawn(seed: int) -> list[int]:
        together = draw(grid(), 1, wanted(3, 4), seed).together
        return [*together.cells.ravel().tolist(), *together.sizes.tolist()]

    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(6)


def test_people_who_are_decoys_already_are_not_drawn_again() -> None:
    release, found = grid(), find_candidates(grid(), 1)
    usable = available(release, found)
    taken = np.zeros(len(release.population), dtype=bool)
    spared = usable[found.in_band(BAND)[usable]][:10]
    numbers = {tuple(cell) for cell in found.cells[spared].tolist()}
    for row, cell in enumerate(release.own.tolist()):
        taken[row] = tuple(cell) not in numbers
    again = draw(release, 1, wanted(2, 5), taken=taken)
    assert sorted(np.concatenate([part.candidates for part in again.decoys]).tolist()) == sorted(spared.tolist())
    with pytest.raises(ParameterError, match="not enough decoy classes"):
        draw(release, 1, wanted(2, 6), taken=taken)
    with pytest.raises(ParameterError, match="what is taken does not fit"):
        draw(release, 1, wanted(2, 5), taken=taken[1:])


def test_cells_that_overlap_are_never_both_decoys() -> None:
    release = overlapping_grid()
    cells = draw(release, 1, wanted(5, 8)).together.cells
    inside = [
        set(
            np.flatnonzero(
                np.all(
                    [
                        tree.positions[codes, tree.axis_levels[place]] == place
                        for tree, codes, place in zip(
                            release.hierarchies, release.population.codes.T, cell, strict=True
                        )
                    ],
                    axis=0,
                )
            ).tolist()
        )
        for cell in cells
    ]
    assert sum(map(len, inside)) == len(set().union(*inside))
    assert len({len(members) for members in inside}) > 1


def test_no_group_that_the_release_does_not_have() -> None:
    cells = np.array([[0, 0], [0, 3], [3, 0], [4, 4]], dtype=np.int32)
    released = np.array([[0, 3], [4, 0]], dtype=np.int32)
    assert supported(cells, released).tolist() == [True, True, False, False]


def test_too_many_decoys_are_refused_with_what_would_do() -> None:
    release, found = grid(2), find_candidates(grid(2), 2)
    narrow = RiskBand(0.45, 0.55)
    held = np.count_nonzero(found.in_band(narrow)[available(release, found)])
    assert held > 8
    with pytest.raises(ParameterError, match="not enough decoy classes") as refusal:
        draw(release, 2, wanted(4, held // 4 + 1, narrow))
    assert refusal.value.got.startswith(f"{held} cells in the bands asked for")
    assert f"at most {held // 4} classes" in refusal.value.fix
    draw(release, 2, wanted(4, held // 4, narrow))
    match = re.search(r"band to ([\d.e-]+) to ([\d.e-]+) for", refusal.value.fix)
    assert match is not None
    draw(release, 2, wanted(4, held // 4 + 1, RiskBand(float(match[1]), float(match[2]))))
    with pytest.raises(ParameterError) as refusal:
        draw(release, 2, wanted(4, len(found)))
    assert "widen" not in refusal.value.fix
    assert "smaller minimum class size" in refusal.value.fix


def test_unclear_wishes_are_refused() -> None:
    for asked in ([], wanted(1, 0), [*wanted(1, 1), *wanted(1, 1)]):
        with pytest.raises(ParameterError, match="not clear"):
            draw(grid(), 1, asked)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_decoys_are_found_for_all_bands_whenever_there_are_enough(data: st.DataObject) -> None:
    release, found = grid(2), find_candidates(grid(2), 2)
    factors = found.risk_factor[available(release, found)]
    ends = np.quantile(factors, np.linspace(0, 1, 40))
    asked = []
    for number in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, 37))
        stop = min(start + data.draw(st.integers(1, 3)), 39)
        classes = data.draw(st.integers(1, 20))
        asked.append(DecoysWanted(str(number), classes, RiskBand(float(ends[start]), float(ends[stop]))))
    slots = [want for want in asked for _ in range(want.classes)]
    edges = csr_array(np.array([want.band.holds(factors) for want in slots], dtype=np.int8))
    feasible = (maximum_bipartite_matching(edges, perm_type="column") >= 0).all()
    if not feasible:
        with pytest.raises(ParameterError, match="not enough decoy classes"):
            draw(release, 2, asked)
        return
    injection = draw(release, 2, asked)
    for want, part in zip(asked, injection.decoys, strict=True):
        assert len(part.candidates) == want.classes
        assert want.band.holds(found.risk_factor[part.candidates]).all()
    chosen = np.concatenate([part.candidates for part in injection.decoys])
    assert len(set(chosen.tolist())) == len(chosen)


def test_plausible_cells_are_where_released_classes_are() -> None:
    release, found = grid(), find_candidates(grid(), 1)
    usable = available(release, found)
    weights = log_plausibility(release, found, usable, np.random.default_rng(2))
    people = np.log(found.people[usable])
    real = np.log(release.classes.people).mean()
    odds = np.exp(weights)
    assert people.mean() < real - 0.15
    assert abs(np.average(people, weights=odds) - real) < 0.05


def test_too_few_cells_are_drawn_alike() -> None:
    release, found = grid(), find_candidates(grid(), 1)
    assert not log_plausibility(release, found, np.arange(5), np.random.default_rng(2)).any()


def test_what_is_seen_of_a_class() -> None:
    release = grid()
    found = find_candidates(release, 1)
    chosen = np.array([0, 7])
    matrix, names = seen(release, as_classes(found, chosen, np.array([1, 2])))
    assert names == ("x, place", "x, width", "y, place", "y, width", "people")
    assert matrix[:, [0, 2]].tolist() == found.cells[chosen].tolist()
    assert not matrix[:, [1, 3]].any()
    assert np.allclose(matrix[:, 4], np.log1p(found.people[chosen]))
    assert seen(release, release.classes, links=False)[1] == names[:4]
    assert seen(overlapping_grid(), overlapping_grid().classes)[1][-1] == "people whose own cell it is"


@pytest.mark.parametrize("rule", list(SizeRule))
def test_sizes_cannot_be_told_from_released_ones(rule: SizeRule) -> None:
    release = grid()
    together = draw(release, 1, wanted(10, 10), sizes=rule).together
    assert size_test(together.sizes, release.classes.sizes, np.random.default_rng(3)).p_value > 0.05


def test_an_injection_shows_nothing() -> None:
    injection = draw(grid(), 1, wanted(2, 3))
    assert "array" not in repr(injection)
    assert "array" not in repr(injection.decoys[0])
    assert "array" not in repr(injection.together)


def test_merged_rows_are_all_rows_in_an_order_that_tells_nothing() -> None:
    cells = np.arange(40, dtype=np.int32).reshape(20, 2)
    own = np.arange(100, 110, dtype=np.int32).reshape(5, 2)
    columns, own_columns = {"v": np.arange(20.0)}, {"v": np.arange(50.0, 55.0)}
    places = np.arange(20) * 3
    merged = merge_rows((cells, columns), (own, own_columns), places, np.random.default_rng(1))
    assert merged.decoy.sum() == 5
    for cell, value, source in zip(merged.cells.tolist(), merged.columns["v"].tolist(), merged.source, strict=True):
        if source < 0:
            assert cell == [100 + 2 * (value - 50), 101 + 2 * (value - 50)]
        else:
            assert source == 3 * value
            assert cell == [2 * value, 2 * value + 1]
    assert "array" not in repr(merged)
    generator = np.random.default_rng(4)
    where = [
        np.flatnonzero(merge_rows((cells, columns), (own, own_columns), places, generator).decoy) for _ in range(400)
    ]
    share = np.bincount(np.concatenate(where), minlength=25) / 400
    assert np.abs(share - 0.2).max() < 0.09


def test_decoys_of_other_columns_are_not_merged() -> None:
    cells, own = np.zeros((3, 1), dtype=np.int32), np.zeros((1, 1), dtype=np.int32)
    real = {"v": np.zeros(3)}
    for other in ({"w": np.zeros(1)}, {"v": np.zeros(1, dtype=np.int64)}, {"v": np.zeros(2)}):
        with pytest.raises(ParameterError, match="do not fit the real rows"):
            merge_rows((cells, real), (own, other), np.arange(3), np.random.default_rng(1))
