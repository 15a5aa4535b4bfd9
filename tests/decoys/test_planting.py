"""The plan of a first version, on a release of which everything can be counted by hand."""

from typing import Any

import numpy as np
import pytest

from tasks.core.errors import ParameterError
from tasks.decoys.classes import joined, lineages
from tasks.decoys.collusion import MarkedCopy, collusion
from tasks.decoys.decoy_cells import RiskBand
from tasks.decoys.linked_release import missing_tuples
from tasks.decoys.planning import CopyToMark, DecoyPlan, missing_limit, plan
from tests.support.decoy_grid import TREES, grid
from tests.support.planted import AXES, COARSE, FINE, RECORDS, asks, policy, release

UNIVERSITY = asks("university", 0)


def planned(*asked: CopyToMark, minimum: int = 1, seed: int = 1, **terms: Any) -> DecoyPlan:
    return plan(asked, AXES, policy(**terms), minimum, np.random.default_rng(seed))


def missing(*asked: CopyToMark, **terms: Any) -> dict[str, int]:
    """Records that each copy misses."""
    made = planned(*asked, **terms)
    return {one.recipient: int(one.release.classes.records[made.missing(one)].sum()) for one in asked}


def test_who_holds_what() -> None:
    made = planned(UNIVERSITY, asks("clinic", 1), asks("registry", 2))
    assert made.holders == ("clinic", "registry")
    assert len(made.files) == 1
    assert [len(share.decoys) for share in made.found.shares] == [1, 2]
    assert [len(share.kept) for share in made.found.shares] == [1, 2]
    decoys = np.concatenate([made.decoys(number).cells for number in range(2)])
    assert {(x >= 6, y < 2) for x, y in decoys.tolist()} == {(True, True)}
    assert len({tuple(cell) for cell in decoys.tolist()}) == 3


def test_each_copy_misses_what_others_keep_and_those_without_decoys_all_of_it() -> None:
    """Of three kept classes of 2 records, the clinic has one of its own and the registry two."""
    asked = (UNIVERSITY, asks("clinic", 1), asks("registry", 2))
    assert missing(*asked) == {"university": 6, "clinic": 4, "registry": 2}
    made = planned(*asked)
    for one, share in zip(asked[1:], made.found.shares, strict=True):
        assert np.flatnonzero(made.missing(one)).tolist() == share.removed.tolist()


def test_a_seat_costs_its_kept_classes_now_and_is_of_the_recipient_who_gets_most() -> None:
    asked = (UNIVERSITY, asks("clinic", 1), asks("registry", 2))
    made = planned(*asked, seats=1)
    assert made.holders == ("clinic", "registry")
    assert [len(share.decoys) for share in made.found.shares] == [1, 2, 2]
    assert missing(*asked, seats=1) == {"university": 10, "clinic": 8, "registry": 6}


def test_more_seats_than_there_are_cells() -> None:
    """Six empty cells: two recipients with two decoys each leave room for one seat."""
    planned(asks("clinic", 2), asks("registry", 2), seats=1)
    with pytest.raises(ParameterError):
        planned(asks("clinic", 2), asks("registry", 2), seats=2)


@pytest.mark.parametrize(("limit", "most"), [(0.14, None), (0.15, 6), (0.1, 4), (0.0, 0)])
def test_the_budget_holds_for_copies_without_decoys_too(limit: float, most: int | None) -> None:
    """Of 42 records, 0.15 are 6.3; the university misses 6, and 5.88 allows 5."""
    asked = (UNIVERSITY, asks("clinic", 1), asks("registry", 2))
    if most == 6:
        assert missing(*asked, missing_limit=limit)["university"] == 6
        return
    with pytest.raises(ParameterError) as caught:
        planned(*asked, missing_limit=limit)
    if most is None:
        assert (caught.value.where, caught.value.expected, caught.value.got) == (
            "the copy of university",
            "at most 5 records",
            "6",
        )
    else:
        assert f"at most {most} records" in str(caught.value.expected)


@pytest.mark.parametrize(
    ("share", "records", "most"), [(0.29, 100, 29), (0.07, 100, 7), (0.1, 42, 4), (1.0, 42, 42), (0.0, 42, 0)]
)
def test_the_limit_is_the_share_that_was_asked_for(share: float, records: int, most: int) -> None:
    """0.29 of 100 is 29, though 0.29 × 100 is less in binary."""
    counts = np.zeros((9, 3), dtype=int)
    counts[0, 0], counts[1, 0] = records - 3, 3
    assert missing_limit([asks("a", 0, records=counts)], policy(missing_limit=share)) == most


def test_the_limit_is_of_the_smallest_copy() -> None:
    fewer = RECORDS.copy()
    fewer[0] = 0
    assert missing_limit([asks("a", 1), asks("b", 0, records=fewer)], policy(missing_limit=0.5)) == 18


def test_two_generalizations_share_the_cells_and_what_is_kept() -> None:
    """The fine copy keeps one class of 2, so the coarse one goes without its three's 6; it keeps 6, three fine ones."""
    asked = (asks("clinic", 1), asks("registry", 1, COARSE), UNIVERSITY)
    made = planned(*asked)
    assert [share.file for share in made.found.shares] == [0, 1]
    assert missing(*asked) == {"clinic": 6, "registry": 6, "university": 8}
    fine, coarse = (made.decoys(number).cells[0].tolist() for number in range(2))
    # The coarse empty cells are the last three of x at y0 and at y1: the fine decoy lies in the other one.
    assert {fine[1], coarse[1]} == {0, 1}
    with pytest.raises(ParameterError, match="the copy of university"):
        planned(*asked, missing_limit=0.19)


def test_a_cell_that_another_generalization_fills_is_no_decoy() -> None:
    """Some fine cells are empty whose threes are not: in the coarse copy a decoy there would have relatives."""
    scattered = np.full((9, 3), 2)
    scattered[4, 0] = scattered[7, 1] = 0
    assert missing(asks("clinic", 1, records=scattered)) == {"clinic": 0}
    with pytest.raises(ParameterError, match="no decoy can be made that looks like a real class"):
        planned(asks("clinic", 1, records=scattered), asks("registry", 0, COARSE, scattered))


def test_bands_of_their_own_are_offers_of_their_own_and_lose_the_same() -> None:
    wide = asks("registry", 1, band=RiskBand(0.1, 2))
    made = planned(asks("clinic", 1), wide, UNIVERSITY)
    assert [one.offer for one in made.demands] == [0, 1]
    assert [share.file for share in made.found.shares] == [0, 0]
    assert missing(asks("clinic", 1), wide, UNIVERSITY) == {"clinic": 2, "registry": 2, "university": 4}
    first, second = (made.decoys(number).cells[0].tolist() for number in (0, 1))
    assert first != second


SIZED = RECORDS.copy()
SIZED[:4] = SIZED[6:, 2] = 3


def test_kept_classes_are_of_the_sizes_of_decoys() -> None:
    """15 classes of 3 records, 6 of 2."""
    kept = set()
    for seed in range(12):
        made = planned(asks("clinic", 1, records=SIZED), minimum=2, seed=seed)
        assert made.found.status == "optimal"
        (share,) = made.found.shares
        sizes = made.problem.files[0].records[share.kept]
        kept.update(sizes.tolist())
        assert sizes.tolist() == made.decoys(0).records.tolist()
    assert kept == {2, 3}


def test_the_same_generator_gives_the_same_plan_and_others_do_not() -> None:
    def cells(seed: int) -> Any:
        made = planned(asks("clinic", 1), asks("registry", 2), seed=seed)
        return [
            (made.decoys(number).cells.tolist(), share.kept.tolist()) for number, share in enumerate(made.found.shares)
        ]

    assert cells(1) == cells(1)
    assert len({str(cells(seed)) for seed in range(6)}) > 1


def test_classes_below_the_minimum_are_neither_kept_nor_made() -> None:
    """With k 3 nothing but the classes of 3 is released, and decoys have 3 records."""
    one = CopyToMark("clinic", "fine", release(FINE, SIZED, minimum=3), 1, asks("clinic", 1).band)
    made = planned(one, minimum=3)
    assert made.problem.files[0].records.tolist() == [3] * 15
    assert made.decoys(0).records.tolist() == [3]


def test_nobody_left_who_is_to_have_decoys_is_refused() -> None:
    with pytest.raises(ParameterError, match="no copy is left that decoys could be placed in"):
        planned(UNIVERSITY)


def test_tuples_of_missing_classes() -> None:
    """The first coarse class holds (x00, y00), (x01, y00) and (x02, y00); suppressed tuples are not missing again."""
    coarse = release(COARSE)
    flags = np.zeros(len(coarse.classes), dtype=bool)
    flags[0] = True
    gone = coarse.data.codes[missing_tuples(coarse, flags)].tolist()
    assert gone == [[0, 0], [1, 0], [2, 0]]
    few = RECORDS.copy()
    few[0, 0] = 1
    suppressed = release(FINE, few, minimum=2)
    everything = missing_tuples(suppressed, np.ones(len(suppressed.classes), dtype=bool))
    assert suppressed.data.codes[~everything].tolist() == [[0, 0]]


def test_decoys_riskier_than_any_real_class_can_be_chosen_and_are_seen_with_the_population() -> None:
    """The paper's own mechanism, factors of 1 to 108: without the population the plan holds, with it all are told."""
    made = grid()
    band = RiskBand(1.01, 108)
    asked = [CopyToMark(name, "alike", made, 2, band) for name in ("clinic", "registry")]
    found = plan(asked, lineages(TREES), policy(kept_per_decoy=2), 1, np.random.default_rng(1))
    least, held = int(made.classes.people.min()), []
    for number, one in enumerate(asked):
        decoys, kept = found.decoys(number), made.classes.take(found.found.shares[number].kept)
        assert (decoys.people < least).all()
        assert sorted(kept.records.tolist()) == sorted(2 * decoys.records.tolist())
        real = made.classes.take(~found.missing(one))
        held.append(MarkedCopy(joined([real, decoys]), np.arange(len(real) + 2) >= len(real)))
    together = collusion(held, lineages(TREES), np.random.default_rng(1))[1]
    assert together.worst == pytest.approx(1 / 3)
    assert together.worst_informed == 1
