"""DecoyCells as the assignment takes them: in the sizes of real classes that look alike, and as plausible as these."""

from typing import Any

import numpy as np
import pytest

from tasks.core.errors import ParameterError
from tasks.decoys.assignment import AssignmentProblem, Demand, Offer, assign
from tasks.decoys.classes import ClassTable, half_octaves, lineages, same_origin_pairs
from tasks.decoys.collusion import collusion
from tasks.decoys.decoy_cells import DecoyCells, RiskBand, find_decoy_cells, offered, ranked
from tasks.decoys.linked_release import LinkedRelease
from tests.support.assigned_copies import copies
from tests.support.decoy_grid import TREES, grid, overlapping_grid

BAND = RiskBand(0.05, 2)
AXES = lineages(TREES)


def bins(table: ClassTable) -> dict[tuple[int, int], int]:
    pairs = list(zip(table.records.tolist(), half_octaves(table.people).tolist(), strict=True))
    return {pair: pairs.count(pair) for pair in pairs}


def number_of(found: DecoyCells, table: ClassTable) -> np.ndarray:
    known = {tuple(cell): number for number, cell in enumerate(found.cells.tolist())}
    return np.array([known[tuple(cell)] for cell in table.cells.tolist()])


def offer(found: DecoyCells, seed: int = 1, *, most: int, ratio: int = 1, **terms: Any) -> ClassTable:
    generator = np.random.default_rng(seed)
    order = ranked(found, terms.pop("band", BAND), generator, ratio=ratio, **terms)
    return offered(found, order, generator, most=most, ratio=ratio)


@pytest.mark.parametrize("release", [grid(1), grid(2), overlapping_grid()], ids=["k1", "k2", "overlapping"])
@pytest.mark.parametrize("ratio", [1, 3])
def test_what_is_offered_looks_like_real_classes(release: LinkedRelease, ratio: int) -> None:
    found = find_decoy_cells(release, int(release.classes.records.min()))
    made = offer(found, most=50, ratio=ratio)
    assert len(made) == 50
    chosen = number_of(found, made)
    assert len(set(chosen.tolist())) == len(made)
    assert (found.usable & found.in_band(BAND))[chosen].all()
    assert (made.people == found.people[chosen]).all()
    assert (made.records <= found.pool[chosen]).all()
    assert (made.records >= found.minimum).all()
    real = bins(release.classes)
    assert all(ratio * count <= real.get(pair, 0) for pair, count in bins(made).items())
    ours, theirs = same_origin_pairs(made.cells, made.cells, AXES)
    assert (ours == theirs).all()


def test_the_same_generator_offers_the_same_and_another_others() -> None:
    found = find_decoy_cells(grid(), 1)
    first, same, other = (offer(found, seed, most=10).cells.tolist() for seed in (1, 1, 2))
    assert first == same
    assert first != other


def test_barred_cells_are_not_offered() -> None:
    found = find_decoy_cells(grid(), 1)
    gone = {tuple(cell) for cell in offer(found, most=30).cells.tolist()}
    again = offer(found, most=30, barred=np.array([tuple(cell) in gone for cell in found.cells.tolist()]))
    assert len(again) == 30
    assert not gone & {tuple(cell) for cell in again.cells.tolist()}


@pytest.mark.parametrize("ratio", [1, 2, 4])
def test_as_many_as_are_asked_for_can_be_assigned(ratio: int) -> None:
    release, demands = grid(), [Demand(0, 2)] * 20
    made = offer(find_decoy_cells(release, 1), most=40, ratio=ratio)
    problem = AssignmentProblem((release.classes,), (Offer(0, made),), AXES)
    found = assign(problem, demands, ratio, np.random.default_rng(1))
    assert found.status == "optimal"
    learned = collusion(copies(problem, demands, found), AXES, np.random.default_rng(1), subsets=20)
    assert max(one.worst_informed for one in learned[1:]) <= 1 / (1 + ratio) + 1e-12


class TestRefusals:
    def test_band_without_candidates(self) -> None:
        with pytest.raises(ParameterError, match="no decoy") as refused:
            offer(find_decoy_cells(grid(), 1), band=RiskBand(900, 1000), most=1)
        assert "raise decoys.maximum_risk_factor: a decoy's factor is " in refused.value.fix
        assert "; 0 of these between the two factors" in refused.value.got

    def test_ratio_that_no_bin_has_classes_for(self) -> None:
        with pytest.raises(ParameterError, match="no decoy") as refused:
            offer(find_decoy_cells(grid(), 1), most=1, ratio=10_000)
        assert "lower policy.decoys.kept_per_decoy" in refused.value.fix

    def test_nothing_usable(self) -> None:
        found = find_decoy_cells(grid(), 1)
        with pytest.raises(ParameterError, match="no decoy") as refused:
            offer(found, most=1, barred=np.ones(len(found), dtype=bool))
        assert "; 0 of groups that the copy has" in refused.value.got
