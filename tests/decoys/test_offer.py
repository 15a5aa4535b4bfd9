"""Candidates as the assignment takes them: in the sizes of real classes that look alike, and as plausible as these."""

from dataclasses import replace

import numpy as np
import pytest

from tasks.core.errors import ParameterError
from tasks.decoys.assignment import assign
from tasks.decoys.candidates import Candidates, RiskBand, find_candidates
from tasks.decoys.class_table import ClassTable, half_octaves
from tasks.decoys.collusion import collusion
from tasks.decoys.detectability import View, detectability
from tasks.decoys.generalized_release import GeneralizedRelease, recoded_by_class
from tasks.decoys.injection import available
from tasks.decoys.lineage import lineages
from tasks.decoys.offer import decoy_classes, offered, real_classes
from tasks.decoys.removal import Ground, Wanted
from tasks.decoys.same_origin import of_same_origin, same_origin_pairs
from tasks.generalization.play import play, population_cells
from tasks.generalization.suppression import class_sizes
from tasks.generalization.transparency import cell_numbers
from tasks.request.model import Method
from tests.support import adult
from tests.support.assigned_copies import copies
from tests.support.decoy_grid import TREES, grid, overlapping_grid, world
from tests.support.offers import Offer, ground_of
from tests.support.recoded import recoded_alike

BAND = RiskBand(0.05, 2)
AXES = lineages(TREES)


def bins(table: ClassTable) -> dict[tuple[int, int], int]:
    pairs = list(zip(table.records.tolist(), half_octaves(table.people).tolist(), strict=True))
    return {pair: pairs.count(pair) for pair in pairs}


def number_of(found: Candidates, table: ClassTable) -> np.ndarray:
    known = {tuple(cell): number for number, cell in enumerate(found.cells.tolist())}
    return np.array([known[tuple(cell)] for cell in table.cells.tolist()])


@pytest.mark.parametrize("release", [grid(1), grid(2), overlapping_grid()], ids=["k1", "k2", "overlapping"])
@pytest.mark.parametrize("ratio", [1, 3])
def test_what_is_offered_looks_like_real_classes(release: GeneralizedRelease, ratio: int) -> None:
    found = find_candidates(release, int(release.classes.sizes.min()))
    made = offered(release, found, BAND, np.random.default_rng(1), most=50, ratio=ratio)
    assert len(made) == 50
    chosen = number_of(found, made)
    assert len(set(chosen.tolist())) == len(made)
    assert set(chosen.tolist()) <= set(available(release, found).tolist())
    assert found.in_band(BAND)[chosen].all()
    assert (made.people == found.people[chosen]).all()
    assert (made.records <= found.pool[chosen]).all()
    assert (made.records >= found.minimum).all()
    real = bins(real_classes(release))
    assert all(ratio * count <= real.get(pair, 0) for pair, count in bins(made).items())
    ours, theirs = same_origin_pairs(made.cells, made.cells, AXES)
    assert (ours == theirs).all()


def test_the_same_generator_offers_the_same_and_another_others() -> None:
    def drawn(seed: int) -> list[int]:
        found = find_candidates(grid(), 1)
        return offered(grid(), found, BAND, np.random.default_rng(seed), most=10).cells.ravel().tolist()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_people_who_are_decoys_already_and_barred_cells_are_not_offered() -> None:
    release, found = grid(), find_candidates(grid(), 1)
    first = offered(release, found, BAND, np.random.default_rng(1), most=30)
    gone = {tuple(cell) for cell in first.cells.tolist()}
    taken = np.array([tuple(cell) in gone for cell in release.own.tolist()])
    barred = np.array([tuple(cell) in gone for cell in found.cells.tolist()])
    for again in (
        offered(release, found, BAND, np.random.default_rng(1), most=30, taken=taken),
        offered(release, found, BAND, np.random.default_rng(1), most=30, barred=barred),
    ):
        assert len(again) == 30
        assert not gone & {tuple(cell) for cell in again.cells.tolist()}


@pytest.mark.parametrize("ratio", [1, 2, 4])
def test_as_many_as_are_asked_for_can_be_assigned(ratio: int) -> None:
    release = grid()
    offer = Offer(release, find_candidates(release, 1), BAND, 40)
    place = ground_of([offer], AXES, np.random.default_rng(1), ratio=ratio)
    found = assign(place, [Wanted(2)] * 20, ratio, np.random.default_rng(1))
    assert found.status == "optimal"
    assert sum(len(share.decoys) for share in found.shares) == 40
    learned = collusion(copies(place, found), AXES, np.random.default_rng(1), subsets=20)
    assert max(one.worst_informed for one in learned[1:]) <= 1 / (1 + ratio) + 1e-12


def assigned(place: Ground, n_recipients: int, decoys: int) -> ClassTable:
    found = assign(place, [Wanted(decoys)] * n_recipients, 1, np.random.default_rng(1))
    shares = [place.candidates[0].take(share.decoys) for share in found.shares]
    return shares[0].with_rows(*shares[1:])


def partition() -> GeneralizedRelease:
    """Adult-TN as the game's partition generalizes it, in classes of two and more."""
    table = adult.table()
    game = (table, Method.NO_ATTACK_PARTITION, adult.PAYOFFS, adult.weights())
    cells, own = play(*game).cells, population_cells(*game)
    return recoded_by_class(
        table.data,
        table.population,
        table.hierarchies,
        cells=cells,
        kept=class_sizes(cell_numbers(cells, table.axis_sizes), table.data.counts) >= 2,
        own=own,
        overlapping=False,
        axis_sizes=table.axis_sizes,
    )


@pytest.mark.slow
def test_decoys_of_the_games_partition_cannot_be_told_unless_more_is_offered() -> None:
    table, release = adult.table(), partition()
    axes = lineages(table.hierarchies, [axis.positions for axis in table.safe_harbor])
    found, judged = find_candidates(release, 2), []
    for most in (80, 400):
        place = ground_of([Offer(release, found, RiskBand(0.1, 1), most)], axes, np.random.default_rng(1))
        decoys = decoy_classes(found, assigned(place, 20, 4), axes)
        judged.append(detectability(release, decoys, np.random.default_rng(2)))
        table_of_decoys = ClassTable(decoys.cells, decoys.sizes, decoys.people)
        assert (decoys.sizes <= found.pool[number_of(found, table_of_decoys)]).all()
    blending, cheap = (one.worst_of(View.POPULATION).area for one in judged)
    assert blending.low < 0.55
    assert judged[0].sizes.p_value > 0.01
    assert cheap.low > blending.value
    assert judged[1].sizes.p_value < 0.01


def test_no_decoy_of_one_file_is_of_the_origin_of_a_real_class_of_another() -> None:
    data, population = world()
    fine, coarse = grid(1), recoded_alike(data, population, TREES, (1, 0), minimum=2)
    offers = [Offer(fine, find_candidates(fine, 1), BAND, 20), Offer(coarse, find_candidates(coarse, 2), BAND, 20)]
    place = ground_of(offers, AXES, np.random.default_rng(1))
    assert place.usable.all()
    assert len(place.candidates[0]) == 20
    alone = ground_of(offers[:1], AXES, np.random.default_rng(1))
    assert of_same_origin(alone.candidates[0].cells, place.files[1].cells, AXES).any()
    found = assign(place, [Wanted(1, 0), Wanted(1, 1)], 1, np.random.default_rng(1))
    assert len({share.generalization for share in found.shares}) == 2


def test_decoys_are_found_again_among_the_candidates() -> None:
    release = overlapping_grid()
    found = find_candidates(release, 1)
    place = ground_of([Offer(release, found, BAND, 12)], AXES, np.random.default_rng(1))
    classes = decoy_classes(found, place.candidates[0], AXES)
    assert (classes.sizes == place.candidates[0].records).all()
    assert (classes.people == place.candidates[0].people).all()
    chosen = number_of(found, place.candidates[0])
    assert (classes.effective == found.effective[chosen]).all()
    with pytest.raises(ParameterError, match="not among the candidates"):
        decoy_classes(found, real_classes(release), AXES)


class TestRefusals:
    @pytest.mark.parametrize(("most", "ratio"), [(0, 1), (5, 0)])
    def test_numbers(self, most: int, ratio: int) -> None:
        with pytest.raises(ParameterError, match="outside its range"):
            offered(grid(), find_candidates(grid(), 1), BAND, np.random.default_rng(1), most=most, ratio=ratio)

    def test_barred(self) -> None:
        found = find_candidates(grid(), 1)
        with pytest.raises(ParameterError, match="does not fit the candidates"):
            offered(grid(), found, BAND, np.random.default_rng(1), most=1, barred=np.zeros(3, dtype=bool))

    def test_band_without_candidates(self) -> None:
        with pytest.raises(ParameterError, match="no candidate") as refused:
            offered(grid(), find_candidates(grid(), 1), RiskBand(900, 1000), np.random.default_rng(1), most=1)
        assert "widen the band" in refused.value.fix
        assert ", 0 of them in the band" in refused.value.got

    def test_ratio_that_no_bin_has_classes_for(self) -> None:
        with pytest.raises(ParameterError, match="no candidate") as refused:
            offered(grid(), find_candidates(grid(), 1), BAND, np.random.default_rng(1), most=1, ratio=10_000)
        assert "lower the ratio" in refused.value.fix

    def test_nothing_usable(self) -> None:
        found = find_candidates(grid(), 1)
        full = replace(found, originals=np.ones(len(found), dtype=np.int64))
        with pytest.raises(ParameterError, match="no candidate") as refused:
            offered(grid(), full, BAND, np.random.default_rng(1), most=1)
        assert refused.value.got.startswith("0 usable")
